//===- Interference.h - Models that run at the same time --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_REPORT_INTERFERENCE_H
#define TESSERA_REPORT_INTERFERENCE_H

#include "tessera/Support/Status.h"
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::report {

/// One of several models on one device. Cycles are core cycles.
struct SharedRun {
  std::string model;
  uint64_t aloneCycles = 0; ///< From its first fetch to its completion.
  /// The same with the others; also since the first of all fetches.
  uint64_t togetherCycles = 0, endCycle = 0;
  /// Of its intermediate results, meant for shared SRAM and, together, kept in
  /// DRAM since the models before it left no room.
  uint64_t displacedBytes = 0;
  double slowdown() const {
    return aloneCycles ? double(togetherCycles) / double(aloneCycles) : 0;
  }
};

struct InterferenceReport {
  std::string arch;
  double clockGhz = 1;
  std::vector<SharedRun> runs; ///< In the order given.

  uint64_t makespan() const; ///< From the first fetch to the last completion.
  uint64_t sumAlone() const; ///< What one after the other takes.
};

/// The document of `--json` of a run with `--concurrent`, schema 1, with a line
/// feed at its end.
std::string toJson(const InterferenceReport &report);
/// An aligned table and a line on what sharing gains or costs.
std::string formatSummary(const InterferenceReport &report);

} // namespace tessera::report

#endif // TESSERA_REPORT_INTERFERENCE_H
