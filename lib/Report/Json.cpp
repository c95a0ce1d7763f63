//===- Json.cpp - A run as JSON -------------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryJson.h"
#include "tessera/Report/RunReport.h"
#include <nlohmann/json.hpp>

using namespace tessera;
using namespace tessera::report;
using Json = nlohmann::ordered_json;

static constexpr int schemaVersion = 1;

static Json causesToJson(const sim::EngineCycles &cycles) {
  Json json = Json::object();
  for (size_t cause = 0; cause < sim::numStallCauses; ++cause)
    json[std::string(sim::stallCauseName(sim::StallCause(cause)))] =
        cycles.byCause[cause];
  return json;
}

/// Cycles lost, by cause, over all engines.
static Json stallsToJson(const sim::EngineTable &engines) {
  sim::EngineCycles sum;
  for (const sim::EngineCycles &engine : engines)
    sum += engine;
  Json json = causesToJson(sum);
  json.erase(std::string(sim::stallCauseName(sim::StallCause::Busy)));
  return json;
}

static Json mappingToJson(const MappingInfo &mapping) {
  if (mapping.plan.empty())
    return nullptr;
  return {{"plan", mapping.plan}, {"expected_cycles", mapping.cycles}};
}

static Json dispatchToJson(const DispatchReport &dispatch) {
  return {{"name", dispatch.name},
          {"ops", dispatch.ops},
          {"runs", dispatch.runs},
          {"cycles", dispatch.cycles},
          {"kernel_cycles", dispatch.kernelCycles},
          {"bound_cycles", dispatch.boundCycles},
          {"memory_cycles", dispatch.memoryCycles},
          {"limiter", limiterName(dispatch.limiter)},
          {"matrix_utilization", dispatch.matrixUtilization},
          {"macs", dispatch.macs},
          {"vector_ops", dispatch.vectorOps},
          {"dram_bytes", dispatch.dramBytesRead + dispatch.dramBytesWritten},
          {"spm_bytes", dispatch.spmBytes},
          {"live_bytes", dispatch.liveBytes},
          {"mapping", mappingToJson(dispatch.mapping)},
          {"runner_up", mappingToJson(dispatch.runnerUp)},
          {"stalls", stallsToJson(dispatch.engines)}};
}

static Json nodeToJson(const NodeReport &node) {
  return {{"name", node.name},
          {"kind", node.kind},
          {"dispatches", node.dispatches},
          {"cycles", node.cycles},
          {"bound_cycles", node.boundCycles},
          {"macs", node.macs},
          {"vector_ops", node.vectorOps},
          {"dram_bytes", node.dramBytes}};
}

static Json outputToJson(const OutputCheck &output) {
  return {{"name", output.name},
          {"max_abs_err", output.maxAbsError},
          {"max_rel_err", output.maxRelError},
          {"tolerance", output.tolerance},
          {"reason", output.reason},
          {"ok", output.ok}};
}

std::string report::toJson(const RunReport &report) {
  Json json;
  json["schema"] = schemaVersion;
  json["arch"] = report.arch;
  json["model"] = report.model;
  json["format"] = report.format;
  json["machine"] = {
      {"clock_ghz", report.machine.clockGhz},
      {"cores", report.machine.cores},
      {"matrix_macs_per_cycle", report.machine.matrixMacsPerCycle},
      {"vector_ops_per_cycle", report.machine.vectorOpsPerCycle},
      {"dram_bytes_per_cycle", report.machine.dramBytesPerCycle},
      {"network", report.machine.network},
      {"routers_per_row", report.machine.routersPerRow},
      {"network_cycles_per_cycle", report.machine.networkCyclesPerCycle},
      {"spm_bytes", report.machine.spmBytes},
      {"dram_bytes", report.machine.dramBytes},
      {"shared_bytes", report.machine.sharedBytes}};
  json["footprint"] = {{"weights", report.footprint.weights},
                       {"code", report.footprint.code},
                       {"inputs", report.footprint.inputs},
                       {"outputs", report.footprint.outputs},
                       {"arena", report.footprint.arena}};
  json["runs"] = report.runs;
  json["cycles"] = report.cycles;
  json["time_us"] = report.timeMicroseconds;
  json["compile_s"] = report.compileSeconds;
  json["simulate_s"] = report.simulateSeconds;
  json["matrix"] = {{"utilization", report.matrixUtilization},
                    {"macs", report.macs},
                    {"executed_macs", report.executedMacs}};
  json["vector"] = {{"utilization", report.vectorUtilization}};
  json["dram"] = {{"bytes_read", report.dramBytesRead},
                  {"bytes_written", report.dramBytesWritten},
                  {"bandwidth_gbps", report.dramBandwidthGbps},
                  {"peak_gbps", report.dramPeakGbps},
                  {"utilization", report.dramUtilization},
                  {"row_hit_rate", report.dramRowHitRate
                                       ? Json(*report.dramRowHitRate)
                                       : Json(nullptr)}};
  json["noc"] = {{"byte_hops", report.nocByteHops}};
  json["shared"] = {{"bytes_read", report.sharedBytesRead},
                    {"bytes_written", report.sharedBytesWritten}};
  json["host"] = {{"bytes_read", report.hostBytesRead},
                  {"bytes_written", report.hostBytesWritten}};
  json["tlb"] = {{"hits", report.tlbHits},
                 {"misses", report.tlbMisses},
                 {"walks", report.pageWalks}};
  json["spm"] = {{"peak_bytes", report.spmPeakBytes}};
  if (report.memory)
    json["memory"] = memoryToJson(*report.memory);
  json["instructions"] = report.instructions;
  json["drawn_indices"] = report.drawnIndices;
  json["packets"] = report.packets;
  json["bound"] = {{"cycles", report.boundCycles},
                   {"efficiency", report.boundEfficiency},
                   {"limiter", limiterName(report.limiter)},
                   {"matrix_cycles", report.bound.matrix},
                   {"vector_cycles", report.bound.vector},
                   {"either_cycles", report.bound.either},
                   {"dram_cycles", report.bound.dram}};
  json["roofline"] = {{"cycles", report.rooflineCycles},
                      {"efficiency", report.rooflineEfficiency}};
  json["layerwise"] = {{"cycles", report.layerwiseCycles}};
  json["critical_path"] = {{"cycles", report.criticalPathCycles}};
  json["stalls"] = stallsToJson(report.engines);
  for (size_t engine = 0; engine < report.engines.size(); ++engine)
    json["engines"][std::string(sim::engineName(sim::Engine(engine)))] =
        causesToJson(report.engines[engine]);
  json["dispatches"] = Json::array();
  for (const DispatchReport &dispatch : report.dispatches)
    json["dispatches"].push_back(dispatchToJson(dispatch));
  json["nodes"] = Json::array();
  for (const NodeReport &node : report.nodes)
    json["nodes"].push_back(nodeToJson(node));
  json["outside_dispatches"] = {{"cycles", report.outsideCycles},
                                {"dram_bytes", report.outsideBytes}};
  json["explanation"] = report.explanation;
  json["outputs"] = Json::array();
  for (const OutputCheck &output : report.outputs)
    json["outputs"].push_back(outputToJson(output));
  if (report.accuracy)
    json["accuracy"] = {{"correct", report.accuracy->correct},
                        {"total", report.accuracy->total}};
  // Names come from models: bytes that are no UTF-8 are replaced, not thrown
  // at.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}
