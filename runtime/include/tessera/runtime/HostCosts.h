//===- HostCosts.h - What the host takes ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host in the device's time. A call that costs something returns so much
// later; the device runs on meanwhile, and where it is idle its clock goes on.
// Threads of VirtualThreads work at the same time, each at its own calls; all
// others share one host processor. docs/runtime/device.md says what costs what.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_HOSTCOSTS_H
#define TESSERA_RUNTIME_HOSTCOSTS_H

#include <cstdint>

namespace tessera::runtime {

/// Nanoseconds of device time. 0: the host is infinitely fast.
struct HostCosts {
  /// Each operation submitted, until its doorbell; a reservation costs it when
  /// it is made and when it is published.
  uint64_t submitNs = 0;
  /// Each look at a semaphore's value and each signal of the host's.
  uint64_t accessNs = 0;
  /// From the interrupt until the thread that waited goes on; not of waits that
  /// found what they wait for, nor of those that came to their deadline.
  uint64_t wakeNs = 0;
  /// From the moment that a host call's waits are met until its function
  /// begins. What the function's own calls cost comes before its signals.
  uint64_t hostCallNs = 0;

  bool operator==(const HostCosts &) const = default;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_HOSTCOSTS_H
