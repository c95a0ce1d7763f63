//===- Simulation.h - An object on the simulated device ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TESSERA_SIMULATION_H
#define TESSERA_TOOLS_TESSERA_SIMULATION_H

#include "ProgramText.h"
#include "tessera/Pipelines/Compiler.h"
#include "tessera/Report/Activity.h"
#include "tessera/sim/MemoryStatistics.h"
#include "tessera/sim/Statistics.h"
#include "tessera/sim/Trace.h"
#include <span>
#include <string>
#include <vector>

namespace tessera::tool {

struct SimulationOptions {
  bool timingOnly = false;
  sim::TraceObserver *observer = nullptr; ///< May be none.
  uint64_t seed = 0;
  bool explore = false;  ///< Runs the schedule that `seed` names.
  bool activity = false; ///< Takes samples of the counters over time.
  bool profile = false;  ///< Counts cycles by instruction.
  sim::CheckOptions checks;
  /// Gets the text of what the checks found, also of a run that fails.
  std::vector<std::string> *findings = nullptr;
};

struct SimulationResult {
  std::vector<HostTensor> outputs; ///< Empty if timingOnly.
  sim::Statistics statistics;
  sim::MemoryStatistics memory;
  report::Activity activity; ///< If it was asked for.
  KernelAddresses kernels;   ///< The object's kernels in device memory.
  double seconds = 0;        ///< Wall time of the simulation.
};

/// Loads the object through the runtime, runs it once and reads the outputs.
/// Inputs and weights are in device memory before time starts to count.
Result<SimulationResult> simulate(const Object &object,
                                  const Architecture &arch,
                                  std::span<const HostTensor> inputs,
                                  const SimulationOptions &options);

} // namespace tessera::tool

#endif // TESSERA_TOOLS_TESSERA_SIMULATION_H
