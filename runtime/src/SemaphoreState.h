//===- SemaphoreState.h - State behind Semaphore ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_SRC_SEMAPHORESTATE_H
#define TESSERA_RUNTIME_SRC_SEMAPHORESTATE_H

#include "Hardware.h"
#include <set>

namespace tessera::runtime {

struct SemaphoreState {
  ~SemaphoreState();

  std::shared_ptr<Hardware> hardware;
  uint32_t index = 0; ///< In the device's table.
  std::string label;
  bool hostMaySignal = false;
  uint64_t hostSignalled = 0;  ///< Last value sent; it may still be on its way.
  Status failure;              ///< The first one stays.
  std::set<uint64_t> promised; ///< Values that submitted work will signal.

  Result<uint64_t> value() const;
  /// Takes the failure unless there is one already.
  void fail(const Status &status);
};

/// With index, label and value 0.
Result<std::shared_ptr<SemaphoreState>>
makeSemaphore(const std::shared_ptr<Hardware> &hardware, std::string label);

/// Semaphore::wait() with the lock held; `lock` may be given up meanwhile.
Status waitForSemaphore(SemaphoreState &semaphore, uint64_t value,
                        Deadline deadline, Hardware::Lock &lock);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SRC_SEMAPHORESTATE_H
