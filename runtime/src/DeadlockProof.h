//===- DeadlockProof.h - Why a wait can never end ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// When the device is quiescent and a wait is not met, the work in flight tells
// why: a chain of waits that ends in failed work, in a semaphore that nothing
// will signal, or in itself.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_SRC_DEADLOCKPROOF_H
#define TESSERA_RUNTIME_SRC_DEADLOCKPROOF_H

#include "tessera/Support/Status.h"
#include <cstdint>

namespace tessera::runtime {

struct QueueState;
struct SemaphoreState;

struct Verdict {
  enum class Kind : uint8_t {
    Deadlock,      ///< A cycle, or nobody will ever signal.
    Failed,        ///< Work that it depends on has failed.
    HostMaySignal, ///< The host can still satisfy the chain.
  };
  Kind kind = Kind::Deadlock;
  Status status; ///< Empty for HostMaySignal.
};

/// Of a wait for `semaphore` ≥ `value` on a quiescent device.
Verdict judge(SemaphoreState &semaphore, uint64_t value);
/// Of a wait for the oldest work of a queue, which has some in flight.
Verdict judge(const QueueState &queue);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SRC_DEADLOCKPROOF_H
