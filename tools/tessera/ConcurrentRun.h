//===- ConcurrentRun.h - Several models on one device -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TESSERA_CONCURRENTRUN_H
#define TESSERA_TOOLS_TESSERA_CONCURRENTRUN_H

#include "TensorFiles.h"
#include "tessera/Object/Object.h"
#include "tessera/Report/Interference.h"
#include <span>

namespace tessera::tool {

/// One of the models, with its inputs.
struct ConcurrentModel {
  std::string name;
  const Object &object;
  std::vector<HostTensor> inputs;
};

/// Runs each model alone on a device of its own, then all of them at the same
/// time on one device: each in a context of its own, submitted to a queue of
/// its own before any time has passed. Internal if an output together is not,
/// bit by bit, the output alone; with `timingOnly` there are none.
Result<report::InterferenceReport>
runConcurrently(std::span<const ConcurrentModel> models,
                const Architecture &arch, bool timingOnly);

} // namespace tessera::tool

#endif // TESSERA_TOOLS_TESSERA_CONCURRENTRUN_H
