//===- Semaphore.h - Timeline semaphores ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A 64-bit timeline that only grows. Failure is a payload beside the value: the
// first operation that should have signalled the semaphore and failed leaves
// its Status, and every later wait for a value not yet reached returns it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_SEMAPHORE_H
#define TESSERA_RUNTIME_SEMAPHORE_H

#include "tessera/runtime/Device.h"

namespace tessera::runtime {

struct SemaphoreState;

struct SemaphoreOptions {
  /// The host may satisfy waits on this semaphore: by signal(), or by work that
  /// another thread has yet to submit. Such a wait is never called a deadlock.
  bool hostMaySignal = false;
  std::string label = "semaphore";
};

class Semaphore {
public:
  Semaphore() = default;
  /// ResourceExhausted when every index of the device's table is taken.
  static Result<Semaphore> create(const Device &device,
                                  SemaphoreOptions options = {});

  /// Who has seen a value has seen what was written before its signal.
  Result<uint64_t> value() const;
  /// Raises the value from the host. FailedPrecondition unless hostMaySignal;
  /// InvalidArgument unless it grows, and where it would overtake a value that
  /// work in flight is to signal.
  Status signal(uint64_t value);

  /// Until the value is ≥ `value`. DeadlineExceeded exactly at the deadline;
  /// the failure of the work that should have signalled; Deadlock, with the
  /// chain of waits, once no event can occur any more. An idle device's clock
  /// stands still: a bounded wait that only the host could satisfy returns
  /// DeadlineExceeded at once.
  Status wait(uint64_t value, Deadline deadline = Deadline::infinite()) const;

  uint32_t index() const;
  const std::string &label() const;
  explicit operator bool() const { return state != nullptr; }

private:
  friend class Queue;
  std::shared_ptr<SemaphoreState> state;
  std::shared_ptr<DeviceState> device;
};

/// A point of a timeline to wait for or to signal. An empty semaphore counts as
/// satisfied and is signalled to nobody.
struct TimelinePoint {
  Semaphore semaphore;
  uint64_t value = 0;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SEMAPHORE_H
