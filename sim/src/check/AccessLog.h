//===- AccessLog.h - Collects what dispatches read and write ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CHECK_ACCESSLOG_H
#define TESSERA_SIM_CHECK_ACCESSLOG_H

#include "core/Core.h"
#include "tessera/sim/KernelAccesses.h"
#include <map>
#include <vector>

namespace tessera::sim {

class AccessLog {
public:
  /// An instruction of the task's dispatch moves this tensor of device memory.
  void add(const CoreTask &task, const isa::Descriptor &td, bool writes);
  /// What came since the last time, in the order of queues and packets.
  std::vector<KernelAccesses> take();

private:
  std::map<DispatchPlace, KernelAccesses> dispatches;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_CHECK_ACCESSLOG_H
