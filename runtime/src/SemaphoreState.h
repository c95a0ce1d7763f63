//===- SemaphoreState.h - State behind Semaphore ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_SRC_SEMAPHORESTATE_H
#define TESSERA_RUNTIME_SRC_SEMAPHORESTATE_H

#include "Hardware.h"
#include <deque>

namespace tessera::runtime {

struct Submission;

struct SemaphoreState {
  ~SemaphoreState();

  std::shared_ptr<Hardware> hardware;
  uint64_t serial = 0;     ///< Unique in the device's life.
  uint32_t index = 0;      ///< In the device's table.
  uint64_t generation = 0; ///< Of the hardware, when it was made.
  std::string label;
  bool hostMaySignal = false;
  bool isDeallocations = false; ///< Of a queue: frontiers name only these.
  uint64_t hostSignalled = 0; ///< Last value sent; it may still be on its way.
  Status failure;             ///< The first one stays.

  /// Work in flight that will signal a value; by value, growing.
  struct Producer {
    uint64_t value = 0;
    const Submission *work = nullptr;
  };
  std::deque<Producer> producers;

  /// DeviceLost once the device has been reset.
  Status checkAlive() const;
  Result<uint64_t> value() const;
  /// Whether the value is known to be ≥ `target`. Asks the device only if it
  /// was not at the last look.
  Result<bool> reached(uint64_t target) const;
  bool promised(uint64_t value) const;
  /// Whether the host may raise it from `current` to `value`: InvalidArgument
  /// if work in flight but `self` promises a value between, which it could not
  /// signal any more.
  Status checkOvertakes(uint64_t current, uint64_t value,
                        const Submission *self = nullptr) const;
  void addProducer(uint64_t value, const Submission &work);
  void removeProducer(uint64_t value);
  /// The value may have become smaller: a new life, a reset.
  void forget() { seen = 0; }
  /// Takes the failure unless there is one already.
  void fail(const Status &status);

private:
  mutable uint64_t seen = 0; ///< The largest value read; it only grows.
};

RaceDetector::Point racePoint(const SemaphoreState &semaphore, uint64_t value);

/// With index, label and value 0.
Result<std::shared_ptr<SemaphoreState>>
makeSemaphore(const std::shared_ptr<Hardware> &hardware, std::string label);

/// Semaphore::wait() with the lock held; it may be given up meanwhile.
Status waitForSemaphore(SemaphoreState &semaphore, uint64_t value,
                        Deadline deadline);

/// A value written from the host; what it releases is published.
Status signalFromHost(SemaphoreState &semaphore, uint64_t value);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SRC_SEMAPHORESTATE_H
