//===- RunReport.cpp - One run, reported ----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/RunReport.h"
#include "tessera/ISA/Descriptor.h"
#include "tessera/Report/Bottleneck.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <map>

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

/// Operations of an operator that only the vector engines do.
static uint64_t vectorOps(const OperatorRecord &op) {
  return op.macs() ? 0 : op.elements * (uint64_t(op.aluOps) + op.sfuOps);
}

static MachineReport describeMachine(const Architecture &arch,
                                     std::string_view format) {
  MachineReport machine;
  machine.clockGhz = arch.clockGhz;
  machine.cores = arch.cores.count;
  for (auto [engineFormat, scale] : arch.matrix.macsScale)
    if (formatName(engineFormat) == format)
      machine.matrixMacsPerCycle = scale * arch.matrix.rows * arch.matrix.cols *
                                   arch.matrix.count * arch.cores.count;
  machine.vectorOpsPerCycle =
      double(arch.vector.lanes) * arch.vector.aluSlots * arch.cores.count;
  machine.dramBytesPerCycle = dramCeilingBytesPerCycle(arch);
  switch (arch.noc.topology) {
  case NocTopology::Mesh:
    machine.network = "mesh";
    break;
  case NocTopology::Ring:
    machine.network = "ring";
    break;
  case NocTopology::Crossbar:
    machine.network = "crossbar";
    break;
  }
  machine.routersPerRow = std::max(1u, arch.cores.meshX);
  machine.networkCyclesPerCycle = arch.noc.clockGhz / arch.clockGhz;
  machine.spmBytes = arch.spm.bytes;
  machine.dramBytes = arch.dram.bytes;
  machine.sharedBytes = arch.shared.bytes;
  return machine;
}

static FootprintReport measureFootprint(const Object &object) {
  FootprintReport footprint;
  footprint.weights = object.rodata.size();
  footprint.code =
      object.mapPrograms.size() + object.args.size() + object.commands.size();
  for (const KernelCode &kernel : object.kernels)
    footprint.code +=
        kernel.text.size() + kernel.descriptors.size() * isa::descriptorBytes;
  for (const TensorSignature &input : object.inputs)
    footprint.inputs += input.bytes;
  for (const TensorSignature &output : object.outputs)
    footprint.outputs += output.bytes;
  footprint.arena = object.arenaBytes + object.sharedArenaBytes;
  return footprint;
}

static Result<std::vector<DispatchReport>>
makeDispatches(const RunFacts &facts) {
  std::vector<DispatchReport> dispatches;
  const Architecture &arch = facts.arch;
  for (const DispatchInfo &info : facts.object.dispatches) {
    DispatchReport report;
    report.name = info.name;
    report.ops = info.nodes;
    report.mapping = info.mapping;
    report.runnerUp = info.runnerUp;
    report.liveBytes = info.liveBytes;
    std::vector<OperatorRecord> operators;
    for (uint32_t index : info.operators)
      operators.push_back(facts.object.workload[index]);
    for (const sim::DispatchRecord &record : facts.statistics.dispatches) {
      if (record.commandIndex != info.packet)
        continue;
      ++report.runs;
      report.cycles += record.cycles();
      report.kernelCycles += record.haltCycle - record.runCycle;
      report.spmBytes = std::max(report.spmBytes, record.spmPeakBytes);
      report.dramBytesRead += record.dramBytesRead;
      report.dramBytesWritten += record.dramBytesWritten;
      report.engines += record.engines;
    }
    TESSERA_ASSIGN_OR_RETURN(Bounds bounds, computeBounds(operators, 0, arch));
    double floor = bounds.bound.cycles() * double(report.runs);
    report.boundCycles = roundUp(floor);
    double memory = double(report.dramBytesRead + report.dramBytesWritten) /
                    dramCeilingBytesPerCycle(arch);
    report.memoryCycles = roundUp(memory);
    report.limiter = memory > floor ? Limiter::Dram : bounds.bound.limiter();
    for (const OperatorRecord &op : operators) {
      report.macs += op.macs() * report.runs;
      report.vectorOps += vectorOps(op) * report.runs;
    }
    report.matrixUtilization =
        ratio(peakCycles(operators, arch) * double(report.runs),
              double(report.cycles));
    dispatches.push_back(std::move(report));
  }
  return dispatches;
}

/// Shares of `total` in the ratio of `weights` (equal ones if all are 0), in
/// whole numbers that add up.
static std::vector<uint64_t> divide(uint64_t total,
                                    const std::vector<double> &weights) {
  double sum = 0;
  for (double weight : weights)
    sum += weight;
  std::vector<uint64_t> shares;
  double before = 0;
  uint64_t given = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    before += sum > 0 ? weights[i] / sum : 1.0 / double(weights.size());
    uint64_t until = i + 1 == weights.size()
                         ? total
                         : std::min(total, uint64_t(before * double(total)));
    until = std::max(until, given);
    shares.push_back(until - given);
    given = until;
  }
  return shares;
}

/// A model's node may be several operators: one entry for all of a name, in the
/// order of the first ones. Its kind is that of the one with the largest bound.
static std::vector<NodeReport> mergedByName(std::span<const NodeReport> parts) {
  std::vector<NodeReport> nodes;
  std::map<std::string_view, size_t> places;
  std::vector<uint64_t> largest;
  for (const NodeReport &part : parts) {
    auto [place, isNew] = places.try_emplace(part.name, nodes.size());
    if (isNew) {
      nodes.push_back({part.name, part.kind, {}, 0, 0, 0, 0, 0});
      largest.push_back(part.boundCycles);
    }
    NodeReport &node = nodes[place->second];
    if (part.boundCycles > largest[place->second]) {
      largest[place->second] = part.boundCycles;
      node.kind = part.kind;
    }
    node.cycles += part.cycles;
    node.boundCycles += part.boundCycles;
    node.macs += part.macs;
    node.vectorOps += part.vectorOps;
    node.dramBytes += part.dramBytes;
    for (const std::string &dispatch : part.dispatches)
      if (std::find(node.dispatches.begin(), node.dispatches.end(), dispatch) ==
          node.dispatches.end())
        node.dispatches.push_back(dispatch);
  }
  return nodes;
}

static Result<std::vector<NodeReport>>
makeNodes(const RunFacts &facts, std::span<const DispatchReport> dispatches) {
  const std::vector<OperatorRecord> &workload = facts.object.workload;
  std::vector<NodeReport> nodes(workload.size());
  std::vector<double> floors(workload.size());
  for (size_t i = 0; i < workload.size(); ++i) {
    nodes[i].name = workload[i].name;
    nodes[i].kind = workload[i].kind;
    TESSERA_ASSIGN_OR_RETURN(Bounds bounds,
                             computeBounds({&workload[i], 1}, 0, facts.arch));
    floors[i] = bounds.layerwise;
  }
  std::vector<NodeReport> others;
  for (size_t d = 0; d < dispatches.size(); ++d) {
    const DispatchReport &dispatch = dispatches[d];
    uint64_t traffic = dispatch.dramBytesRead + dispatch.dramBytesWritten;
    const std::vector<uint32_t> &own = facts.object.dispatches[d].operators;
    std::vector<uint32_t> operators = own;
    // A dispatch without operators prepares or finishes its nodes' work.
    for (uint32_t i = 0; own.empty() && i < workload.size(); ++i)
      if (std::find(dispatch.ops.begin(), dispatch.ops.end(),
                    workload[i].name) != dispatch.ops.end())
        operators.push_back(i);
    if (operators.empty()) {
      NodeReport other;
      other.name = dispatch.ops.empty()
                       ? dispatch.name
                       : fmt::format("{}", fmt::join(dispatch.ops, "+"));
      other.dispatches = {dispatch.name};
      other.cycles = dispatch.cycles;
      other.dramBytes = traffic;
      others.push_back(std::move(other));
      continue;
    }
    std::vector<double> weights;
    for (uint32_t index : operators)
      weights.push_back(floors[index]);
    std::vector<uint64_t> shares = divide(dispatch.cycles, weights);
    std::vector<uint64_t> bytes = divide(traffic, weights);
    for (size_t i = 0; i < operators.size(); ++i) {
      NodeReport &node = nodes[operators[i]];
      const OperatorRecord &op = workload[operators[i]];
      node.cycles += shares[i];
      node.dramBytes += bytes[i];
      node.dispatches.push_back(dispatch.name);
      if (own.empty())
        continue;
      node.boundCycles += roundUp(floors[operators[i]] * double(dispatch.runs));
      node.macs += op.macs() * dispatch.runs;
      node.vectorOps += vectorOps(op) * dispatch.runs;
    }
  }
  nodes.insert(nodes.end(), others.begin(), others.end());
  return mergedByName(nodes);
}

/// Every cycle and byte of a dispatch belongs to one node; what no dispatch
/// answers for is said apart.
static Status balance(RunReport &report) {
  uint64_t nodeCycles = 0, nodeBytes = 0, cycles = 0, bytes = 0;
  for (const NodeReport &node : report.nodes)
    nodeCycles += node.cycles, nodeBytes += node.dramBytes;
  for (const DispatchReport &dispatch : report.dispatches) {
    cycles += dispatch.cycles;
    bytes += dispatch.dramBytesRead + dispatch.dramBytesWritten;
  }
  if (nodeCycles != cycles || nodeBytes != bytes)
    return Status(
        StatusCode::Internal,
        fmt::format("the report's own books do not balance: {} cycles "
                    "and {} bytes of nodes, {} and {} of dispatches",
                    nodeCycles, nodeBytes, cycles, bytes));
  uint64_t allBytes = report.dramBytesRead + report.dramBytesWritten;
  report.outsideCycles = report.cycles - std::min(report.cycles, cycles);
  report.outsideBytes = allBytes - std::min(allBytes, bytes);
  return Status::success();
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
  report.machine = describeMachine(arch, report.format);
  report.footprint = measureFootprint(facts.object);
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
  for (const sim::CoreStatistics &core : statistics.cores) {
    report.instructions += core.instructions;
    report.drawnIndices += core.drawnIndices;
  }

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
  TESSERA_ASSIGN_OR_RETURN(report.nodes, makeNodes(facts, report.dispatches));
  TESSERA_RETURN_IF_ERROR(balance(report));
  report.outputs = facts.outputs;
  report.accuracy = facts.accuracy;
  report.explanation = explain(report);
  return report;
}
