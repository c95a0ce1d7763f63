//===----------------------------------------------------------------------===//

#include "tessera/Report/RunReport.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

using namespace tessera;
using namespace tessera::report;

static double ratio(double a, double b) { return b == 0 ? 0 : a / b; }
static uint64_t roundUp(double cycles) { return uint64_t(std::ceil(cycles)); }

/// The format of most multiply-accumulates.
static std::string mainFormat(const Object &object) {
  std::array<uint64_t, numNumericFormats> macs{};
  for (const OperatorRecord &op : object.workload)
    macs[size_t(op.format)] += op.macs();
  auto most = std::max_element(macs.begin(), macs.end());
  if (*most == 0)
    return "none";
  return std::string(formatName(NumericFormat(most - macs.begin())));
}

/// Cycles of a matrix engine at its peak for the operators' contractions.
static double peakCycles(std::span<const OperatorRecord> operators,
                         const Architecture &arch) {
  double cycles = 0;
  for (const OperatorRecord &op : operators)
    if (auto found = arch.matrix.macsScale.find(op.format);
        found != arch.matrix.macsScale.end())
      cycles += double(op.macs()) /
                (found->second * arch.matrix.rows * arch.matrix.cols);
  return cycles / (double(arch.cores.count) * arch.matrix.count);
}

static Result<std::vector<DispatchReport>>
makeDispatches(const RunFacts &facts) {
  std::vector<DispatchReport> dispatches;
  const Architecture &arch = facts.arch;
  for (const DispatchInfo &info : facts.object.dispatches) {
    DispatchReport report;
    report.name = info.name;
    report.ops = info.nodes;
    std::vector<OperatorRecord> operators;
    for (uint32_t index : info.operators)
      operators.push_back(facts.object.workload[index]);
    for (const sim::DispatchRecord &record : facts.statistics.dispatches) {
      if (record.commandIndex != info.packet)
        continue;
      ++report.runs;
      report.cycles += record.cycles();
      report.dramBytesRead += record.dramBytesRead;
      report.dramBytesWritten += record.dramBytesWritten;
      for (size_t engine = 0; engine < sim::numEngines; ++engine)
        report.engines[engine] += record.engines[engine];
    }
    TESSERA_ASSIGN_OR_RETURN(Bounds bounds, computeBounds(operators, 0, arch));
    double floor = bounds.bound.cycles() * double(report.runs);
    report.boundCycles = roundUp(floor);
    double memory = double(report.dramBytesRead + report.dramBytesWritten) /
                    dramCeilingBytesPerCycle(arch);
    report.limiter = memory > floor ? Limiter::Dram : bounds.bound.limiter();
    for (const OperatorRecord &op : operators)
      report.macs += op.macs() * report.runs;
    report.matrixUtilization =
        ratio(peakCycles(operators, arch) * double(report.runs),
              double(report.cycles));
    dispatches.push_back(std::move(report));
  }
  return dispatches;
}

Result<RunReport> report::makeRunReport(const RunFacts &facts) {
  const Architecture &arch = facts.arch;
  const sim::Statistics &statistics = facts.statistics;
  if (statistics.commandBuffers.empty())
    return Status(StatusCode::FailedPrecondition,
                  fmt::format("{}: no run has completed", facts.model));
  RunReport report;
  report.arch = arch.name;
  report.model = facts.model;
  report.format = mainFormat(facts.object);
  report.clockGhz = arch.clockGhz;
  report.runs = statistics.commandBuffers.size();
  for (const sim::CommandBufferRecord &run : statistics.commandBuffers) {
    report.cycles += run.cycles();
    report.dramBytesRead += run.dramBytesRead;
    report.dramBytesWritten += run.dramBytesWritten;
  }
  double cycles = double(report.cycles);
  double runs = double(report.runs);
  report.timeMicroseconds = cycles / arch.clockGhz / 1000;
  report.compileSeconds = facts.compileSeconds;
  report.simulateSeconds = facts.simulateSeconds;

  for (const OperatorRecord &op : facts.object.workload)
    report.macs += op.macs() * report.runs;
  report.executedMacs = statistics.totalMacs();
  report.matrixUtilization =
      ratio(peakCycles(facts.object.workload, arch) * runs, cycles);
  report.vectorUtilization = ratio(double(statistics.busy(sim::Engine::Vector)),
                                   double(arch.cores.count) * cycles);

  report.dramBandwidthGbps =
      ratio(double(report.dramBytesRead + report.dramBytesWritten),
            cycles / arch.clockGhz);
  report.dramPeakGbps = arch.dram.peakBytesPerNs();
  report.dramUtilization = ratio(report.dramBandwidthGbps, report.dramPeakGbps);
  if (statistics.dramRowHits && statistics.dramColumnAccesses)
    report.dramRowHitRate = ratio(double(*statistics.dramRowHits),
                                  double(*statistics.dramColumnAccesses));
  report.sharedBytesRead = statistics.sharedBytesRead;
  report.sharedBytesWritten = statistics.sharedBytesWritten;
  report.hostBytesRead = statistics.hostBytesRead;
  report.hostBytesWritten = statistics.hostBytesWritten;
  report.nocByteHops = statistics.nocByteHops;
  report.tlbHits = statistics.tlbHits;
  report.tlbMisses = statistics.tlbMisses;
  report.pageWalks = statistics.pageWalks;
  report.spmPeakBytes = statistics.spmPeakBytes();
  report.spmBytes = arch.spm.bytes;
  report.packets = statistics.packets;
  for (const sim::CoreStatistics &core : statistics.cores)
    report.instructions += core.instructions;

  TESSERA_ASSIGN_OR_RETURN(
      Bounds bounds,
      computeBounds(facts.object.workload, facts.object.compulsoryBytes, arch));
  report.bound = bounds.bound;
  report.limiter = bounds.bound.limiter();
  report.boundCycles = roundUp(bounds.bound.cycles() * runs);
  report.rooflineCycles = roundUp(bounds.roofline.cycles() * runs);
  report.layerwiseCycles = roundUp(bounds.layerwise * runs);
  report.criticalPathCycles = roundUp(bounds.criticalPath * runs);
  report.boundEfficiency = ratio(bounds.bound.cycles() * runs, cycles);
  report.rooflineEfficiency =
      ratio(bounds.roofline.cycles(), bounds.bound.cycles());

  report.engines = statistics.engineTotals();
  TESSERA_ASSIGN_OR_RETURN(report.dispatches, makeDispatches(facts));
  report.outputs = facts.outputs;
  report.accuracy = facts.accuracy;
  return report;
}
