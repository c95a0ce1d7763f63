//===- RunReport.h - One run, reported --------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One typed record of a run, from which the JSON and the terminal summary are
// made. docs/report.md documents every field with its unit.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_REPORT_RUNREPORT_H
#define TESSERA_REPORT_RUNREPORT_H

#include "tessera/Object/Object.h"
#include "tessera/Report/Bounds.h"
#include "tessera/Support/Status.h"
#include "tessera/sim/MemoryStatistics.h"
#include "tessera/sim/Statistics.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::report {

/// One output compared with the reference.
struct OutputCheck {
  std::string name;
  double maxAbsError = 0, maxRelError = 0;
  double tolerance = 0; ///< Absolute; the largest of any element.
  std::string reason;   ///< Why that tolerance.
  bool ok = false;
  uint64_t elements = 0, departing = 0; ///< All, and those beyond it.
  double rmsError = 0;                  ///< Of the finite ones.
  bool operator==(const OutputCheck &) const = default;
};

/// Predictions compared with labels.
struct Accuracy {
  uint64_t correct = 0, total = 0;
  bool operator==(const Accuracy &) const = default;
};

/// What a report is made of. The references live at least as long as the call.
struct RunFacts {
  const Object &object;
  const Architecture &arch;
  /// Counted since the device's reset, the runs of `object` alone.
  const sim::Statistics &statistics;
  std::string model; ///< As the user named it.
  /// Empty without verification.
  std::vector<OutputCheck> outputs;
  std::optional<Accuracy> accuracy;
  /// Wall-clock seconds.
  double compileSeconds = 0, simulateSeconds = 0;
};

/// What the architecture can do at best, and when a cycle is.
struct MachineReport {
  double clockGhz = 1;
  uint32_t cores = 1;
  double matrixMacsPerCycle = 0;    ///< In the run's main format; 0 without.
  double vectorOpsPerCycle = 0;     ///< Arithmetic ones.
  double dramBytesPerCycle = 0;     ///< The ceiling: refresh taken off.
  std::string network;              ///< "mesh", "ring" or "crossbar".
  uint32_t routersPerRow = 1;       ///< Of a mesh.
  double networkCyclesPerCycle = 1; ///< Its clock in the cores'.
  uint64_t spmBytes = 0;            ///< Of one core.
  uint64_t dramBytes = 0, sharedBytes = 0;
};

/// Bytes of DRAM that a program keeps while it runs.
struct FootprintReport {
  uint64_t weights = 0; ///< And other constants.
  uint64_t code = 0;    ///< Kernels, arguments and packets.
  uint64_t inputs = 0, outputs = 0;
  uint64_t arena = 0; ///< All intermediate tensors; these share places.
};

struct DispatchReport {
  std::string name;
  std::vector<std::string> ops; ///< Model nodes.
  uint64_t runs = 0;
  uint64_t cycles = 0; ///< From start to completion signal, all runs.
  /// From the first instruction to the last halt, all runs.
  uint64_t kernelCycles = 0;
  uint64_t boundCycles =
      0; ///< Floor of its operators without memory, all runs.
  uint64_t memoryCycles = 0; ///< Its traffic at the DRAM's ceiling.
  /// Of its bound, or Dram if its traffic at the ceiling takes longer.
  Limiter limiter = Limiter::None;
  double matrixUtilization = 0;
  /// What the compiler chose and expected, of one run; docs/report.md.
  MappingInfo mapping, runnerUp;
  uint64_t spmBytes = 0;  ///< Highest use of a core's scratchpad.
  uint64_t liveBytes = 0; ///< Of the arena, while it runs.
  uint64_t macs = 0;      ///< Useful ones.
  uint64_t vectorOps = 0; ///< Of operators that only the vector engines do.
  uint64_t dramBytesRead = 0, dramBytesWritten = 0;
  sim::EngineTable engines;
};

/// The part of the dispatches' cycles that a model node answers for. A
/// dispatch's cycles are shared among its operators in the ratio of their
/// bounds, in whole cycles that add up: so do all nodes'.
struct NodeReport {
  std::string name;                    ///< Or the dispatch's, without nodes.
  std::string kind;                    ///< As OperatorRecord; "" without one.
  std::vector<std::string> dispatches; ///< That execute it.
  uint64_t cycles = 0, boundCycles = 0;
  uint64_t macs = 0, vectorOps = 0;
  uint64_t dramBytes = 0; ///< Shared among a dispatch's nodes as its cycles.
};

struct RunReport {
  std::string arch, model;
  std::string format; ///< That most multiply-accumulates have; else "none".
  MachineReport machine;
  FootprintReport footprint;
  uint64_t runs = 0;   ///< Executions of the whole model.
  uint64_t cycles = 0; ///< Of all runs; each from first fetch to last signal.
  double timeMicroseconds = 0;
  double compileSeconds = 0, simulateSeconds = 0;

  uint64_t macs = 0;         ///< Useful: those of the model's operators.
  uint64_t executedMacs = 0; ///< With what tiles add.
  double matrixUtilization = 0, vectorUtilization = 0;

  uint64_t dramBytesRead = 0, dramBytesWritten = 0;
  double dramBandwidthGbps = 0, dramPeakGbps = 0, dramUtilization = 0;
  std::optional<double> dramRowHitRate;
  uint64_t sharedBytesRead = 0, sharedBytesWritten = 0;
  uint64_t hostBytesRead = 0, hostBytesWritten = 0;
  uint64_t nocByteHops = 0;
  uint64_t tlbHits = 0, tlbMisses = 0, pageWalks = 0;
  uint64_t spmPeakBytes = 0, spmBytes = 0;
  uint64_t instructions = 0, packets = 0;
  /// Of gathers and scatters, drawn at random in a run without data.
  uint64_t drawnIndices = 0;

  /// Floors of all runs, in whole cycles.
  uint64_t boundCycles = 0, rooflineCycles = 0;
  /// No floors; docs/report.md.
  uint64_t layerwiseCycles = 0, criticalPathCycles = 0;
  Limiter limiter = Limiter::None;
  Floor bound;                   ///< Terms of one run.
  double boundEfficiency = 0;    ///< Bound ÷ cycles.
  double rooflineEfficiency = 0; ///< Roofline ÷ bound.

  /// Engine-cycles over all cores since reset.
  sim::EngineTable engines;
  std::vector<DispatchReport> dispatches; ///< In the order of the program.
  std::vector<NodeReport> nodes;          ///< In the order of the model.
  /// What no dispatch, and so no node, answers for: with these the nodes add up
  /// to the run's cycles and bytes (0 where dispatches overlap).
  uint64_t outsideCycles = 0, outsideBytes = 0;
  std::vector<OutputCheck> outputs;
  std::optional<Accuracy> accuracy;
  /// Channel by channel, link by link; if the simulation was asked for it.
  std::optional<sim::MemoryStatistics> memory;
  /// What limits the run, in sentences.
  std::vector<std::string> explanation;
};

/// FailedPrecondition if the statistics hold no completed run, or as
/// computeBounds says.
Result<RunReport> makeRunReport(const RunFacts &facts);

/// The document of `--json`, schema 1, with a line feed at its end. All but
/// `compile_s` and `simulate_s` depends on the inputs alone.
std::string toJson(const RunReport &report);

struct SummaryOptions {
  bool color = false;
  size_t topDispatches = 8;
  bool verbose = false; ///< All dispatches, and the memory side.
};
/// A few aligned lines for people.
std::string formatSummary(const RunReport &report,
                          const SummaryOptions &options = {});

} // namespace tessera::report

#endif // TESSERA_REPORT_RUNREPORT_H
