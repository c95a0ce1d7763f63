//===- RunReportTest.cpp - JSON and summary -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunReportFixture.h"
#include "tessera/Support/File.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace tessera;
using namespace tessera::report;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

TEST_F(RunReportTest, TotalsOfAllRuns) {
  RunReport run = report();
  EXPECT_EQ(run.runs, 2u);
  EXPECT_EQ(run.cycles, 16000u);
  EXPECT_DOUBLE_EQ(run.timeMicroseconds, 16);
  EXPECT_EQ(run.format, "bf16");
  EXPECT_EQ(run.macs, 2u * 64 * 64 * 64);
  EXPECT_EQ(run.executedMacs, 600000u);
  EXPECT_DOUBLE_EQ(run.matrixUtilization, 2.0 * 64 * 64 * 64 / 64 / 16000);
  EXPECT_DOUBLE_EQ(run.vectorUtilization, 4000.0 / 16000);
  EXPECT_EQ(run.dramBytesRead, 40000u);
  EXPECT_DOUBLE_EQ(run.dramBandwidthGbps, 64000.0 / 16000);
  EXPECT_NEAR(run.dramPeakGbps, 19.2, 1e-9);
  EXPECT_FALSE(run.dramRowHitRate);
  // 8·8 blocks of 64 cycles, a run.
  EXPECT_EQ(run.boundCycles, 2u * 4096);
  EXPECT_EQ(run.limiter, Limiter::Matrix);
  EXPECT_DOUBLE_EQ(run.boundEfficiency, 8192.0 / 16000);
  EXPECT_DOUBLE_EQ(run.rooflineEfficiency, 1);
  // Softmax: 4,096 / 8 · max(3, 4).
  EXPECT_EQ(run.layerwiseCycles, 2u * (4096 + 2048));
}

TEST_F(RunReportTest, DispatchesAreFoundByTheirPacket) {
  RunReport run = report();
  ASSERT_EQ(run.dispatches.size(), 2u);
  EXPECT_EQ(run.dispatches[0].runs, 2u);
  EXPECT_EQ(run.dispatches[0].cycles, 10000u);
  EXPECT_EQ(run.dispatches[0].boundCycles, 8192u);
  EXPECT_EQ(run.dispatches[0].limiter, Limiter::Matrix);
  EXPECT_DOUBLE_EQ(run.dispatches[0].matrixUtilization, 0.8192);
  EXPECT_EQ(run.dispatches[1].cycles, 6000u);
  EXPECT_EQ(run.dispatches[1].limiter, Limiter::Dram)
      << "200,000 bytes take longer than 4,096 vector cycles";
}

TEST_F(RunReportTest, JsonHasTheFieldsOfTheSchema) {
  std::string text = toJson(report());
  Json json = Json::parse(text);
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["arch"], "tiny");
  EXPECT_EQ(json["cycles"], 16000);
  EXPECT_EQ(json["compile_s"], 1.5);
  EXPECT_EQ(json["simulate_s"], 2.5);
  EXPECT_EQ(json["bound"]["limiter"], "matrix");
  EXPECT_EQ(json["stalls"]["wait_load"], 1000);
  EXPECT_FALSE(json["stalls"].contains("busy"));
  EXPECT_EQ(json["engines"]["matrix"]["busy"], 8192);
  EXPECT_EQ(json["dispatches"][0]["ops"], (Json{"fc", "bias"}));
  EXPECT_EQ(json["outputs"][0]["ok"], true);
  EXPECT_TRUE(json["dram"]["row_hit_rate"].is_null());
  EXPECT_EQ(text, toJson(report())) << "the same facts, the same bytes";
  EXPECT_EQ(text.back(), '\n');
}

/// Collects "a.b", "list[].c"; maps keyed by cause end at the map, and give the
/// causes by themselves.
static void collectFields(const Json &json, const std::string &path,
                          std::vector<std::string> &fields) {
  bool causes = path == "stalls" || path == "dispatches[].stalls" ||
                path.starts_with("engines.");
  if (json.is_object()) {
    if (causes)
      fields.push_back(path);
    for (const auto &[key, value] : json.items())
      collectFields(value, causes || path.empty() ? key : path + "." + key,
                    fields);
  } else if (json.is_array() && !json.empty() && json[0].is_object()) {
    for (const Json &item : json)
      collectFields(item, path + "[]", fields);
  } else {
    fields.push_back(path);
  }
}

TEST_F(RunReportTest, EveryJsonFieldIsDocumented) {
  std::vector<std::string> fields;
  collectFields(Json::parse(toJson(report())), "", fields);
  EXPECT_GT(fields.size(), 60u);
  std::string page = *readTextFile(TESSERA_SOURCE_DIR "/docs/report.md");
  for (const std::string &field : fields)
    EXPECT_NE(page.find("| `" + field + "` |"), std::string::npos) << field;
}

TEST_F(RunReportTest, NamesThatAreNoTextDoNotBreakTheJson) {
  RunFacts bad = facts();
  bad.model = "caf\xe9.onnx";
  EXPECT_FALSE(Json::parse(toJson(*makeRunReport(bad))).is_discarded());
}

TEST_F(RunReportTest, NodesAddUpToTheDispatches) {
  OperatorRecord bias = object.workload[1];
  bias.name = "bias";
  bias.kind = "elementwise";
  bias.sfuOps = 0; // 4,096 / 8 · 3 = 1,536 cycles against the product's 4,096.
  object.workload.push_back(bias);
  object.dispatches[0].operators = {0, 2};
  object.dispatches.push_back(
      {"copy_kernel", {"pad", "transpose"}, 5, {}, {}, {}});
  sim::DispatchRecord copy;
  copy.commandIndex = 5;
  copy.endCycle = 111;
  copy.dramBytesRead = 640;
  statistics.dispatches.push_back(copy);
  RunReport run = report();
  ASSERT_EQ(run.nodes.size(), 4u);
  EXPECT_EQ(run.nodes[0].cycles, 10000u * 4096 / (4096 + 1536));
  EXPECT_EQ(run.nodes[2].name, "bias");
  EXPECT_EQ(run.nodes[2].vectorOps, 2u * 4096 * 3);
  EXPECT_EQ(run.nodes[2].dispatches,
            (std::vector<std::string>{"matmul_kernel"}));
  EXPECT_EQ(run.nodes[3].name, "pad+transpose");
  EXPECT_EQ(run.nodes[3].cycles, 111u);
  // 32,000 bytes of the product and its bias, shared as its cycles are.
  EXPECT_EQ(run.nodes[0].dramBytes, 32000u * 4096 / (4096 + 1536));
  EXPECT_EQ(run.nodes[3].dramBytes, 640u);
  uint64_t nodes = 0, dispatches = 0, nodeBytes = 0, dispatchBytes = 0;
  for (const NodeReport &node : run.nodes)
    nodes += node.cycles, nodeBytes += node.dramBytes;
  for (const DispatchReport &dispatch : run.dispatches) {
    dispatches += dispatch.cycles;
    dispatchBytes += dispatch.dramBytesRead + dispatch.dramBytesWritten;
  }
  EXPECT_EQ(nodes, dispatches);
  EXPECT_EQ(nodeBytes, dispatchBytes);
  // More than the run's own: these dispatches overlap.
  EXPECT_EQ(run.outsideCycles, 0u);
  EXPECT_EQ(run.outsideBytes, 0u);
}

TEST_F(RunReportTest, PreparationCountsForItsNode) {
  object.dispatches.push_back(
      {"pad_kernel", {"matmul"}, 5, {}, {"d0 64", 100}, {}, 0});
  sim::DispatchRecord pad;
  pad.commandIndex = 5;
  pad.endCycle = 70;
  pad.dramBytesRead = 8;
  statistics.dispatches.push_back(pad);
  uint64_t before = 10000;
  RunReport run = report();
  ASSERT_EQ(run.nodes.size(), 2u);
  EXPECT_EQ(run.nodes[0].cycles, before + 70);
  EXPECT_EQ(run.nodes[0].macs, 2u * 64 * 64 * 64);
  EXPECT_EQ(run.nodes[0].dispatches,
            (std::vector<std::string>{"matmul_kernel", "pad_kernel"}));
  EXPECT_EQ(run.dispatches[2].boundCycles, 0u);
}

TEST_F(RunReportTest, ControlCharactersDoNotReachTheTerminal) {
  object.dispatches[0].name = "a\x1b[2Jb\nc";
  object.dispatches[0].nodes = {"\x1b]0;title\x07"};
  RunFacts run = facts();
  run.model = "\x1b[31mred\n.onnx";
  std::string text = formatSummary(*makeRunReport(run));
  for (char c : text)
    EXPECT_TRUE(c == '\n' || uint8_t(c) >= 0x20) << int(c);
  EXPECT_THAT(text, HasSubstr("a?[2Jb?c"));
  EXPECT_THAT(text, HasSubstr("?]0;title? loses most"));
}

TEST_F(RunReportTest, OperatorsOfOneNodeAreOneEntry) {
  OperatorRecord part = object.workload[1];
  part.kind = "reduce";
  part.elements = 16;
  object.workload.push_back(part);
  object.dispatches[1].operators = {1, 2};
  RunReport run = report();
  ASSERT_EQ(run.nodes.size(), 2u);
  EXPECT_EQ(run.nodes[1].name, "softmax");
  EXPECT_EQ(run.nodes[1].kind, "softmax") << "of the largest";
  EXPECT_EQ(run.nodes[1].cycles, 6000u);
  EXPECT_EQ(run.nodes[1].dispatches,
            (std::vector<std::string>{"softmax_kernel"}));
}

TEST_F(RunReportTest, MemoryInUse) {
  object.rodata.resize(640);
  object.arenaBytes = 16384;
  object.inputs = {{"image", "f32", {4, 8}, 128}};
  object.commands.resize(192);
  for (sim::DispatchRecord &dispatch : statistics.dispatches)
    dispatch.spmPeakBytes = dispatch.commandIndex == 0u ? 3072 : 1024;
  statistics.dispatches.back().spmPeakBytes = 2048;
  RunReport run = report();
  EXPECT_EQ(run.footprint.weights, 640u);
  EXPECT_EQ(run.footprint.code, 192u);
  EXPECT_EQ(run.footprint.inputs, 128u);
  EXPECT_EQ(run.footprint.outputs, 0u);
  EXPECT_EQ(run.footprint.arena, 16384u);
  EXPECT_EQ(run.dispatches[0].spmBytes, 3072u);
  EXPECT_EQ(run.dispatches[1].spmBytes, 2048u) << "the larger of two runs";
  EXPECT_EQ(run.dispatches[0].liveBytes, 8192u);
  EXPECT_EQ(run.machine.network, "mesh");
}

TEST_F(RunReportTest, VerboseSummaryTellsOfTheMemorySide) {
  RunReport run = report();
  sim::MemoryStatistics memory;
  memory.atomBytes = 64;
  memory.usefulBytes = 30000, memory.overFetchBytes = 2000;
  memory.channels.resize(1);
  memory.channels[0].reads = 300, memory.channels[0].writes = 200;
  memory.channels[0].rowHits = 480, memory.channels[0].rowMisses = 20;
  memory.links = {{"router 0", "core 0", 3, 1600, 6400, 5},
                  {"core 0", "router 0", 0, 0, 0, 0}};
  run.memory = memory;
  SummaryOptions options;
  EXPECT_THAT(formatSummary(run, options), Not(HasSubstr("Memory side")));
  options.verbose = true;
  options.topDispatches = 1;
  std::string text = formatSummary(run, options);
  EXPECT_THAT(text, HasSubstr("Longest dispatches (2 of 2)"));
  EXPECT_THAT(text, HasSubstr("480 hits, 20 misses, 0 conflicts"));
  // 1,600 of 16,000 cycles.
  EXPECT_THAT(text, HasSubstr("router 0 to core 0: 10.0 % busy, 6.2 KiB, "
                              "blocked for 5 cycles"));
  EXPECT_THAT(text, HasSubstr("2.0 KiB fetched beside it"));
}

TEST_F(RunReportTest, DrawnIndicesAreWarnedOf) {
  EXPECT_THAT(formatSummary(report()), Not(HasSubstr("warning")));
  statistics.cores.resize(2);
  statistics.cores[0].drawnIndices = 1000;
  statistics.cores[1].drawnIndices = 24;
  RunReport run = report();
  EXPECT_EQ(run.drawnIndices, 1024u);
  EXPECT_THAT(formatSummary(run),
              HasSubstr("  warning       1,024 indices of gathers and scatters "
                        "drawn by lot: without data their cycles are an "
                        "estimate\n"));
}

TEST_F(RunReportTest, NothingRun) {
  statistics.commandBuffers.clear();
  EXPECT_EQ(makeRunReport(facts()).status().message(),
            "model.onnx: no run has completed");
}

TEST_F(RunReportTest, Summary) {
  std::string text = formatSummary(report());
  EXPECT_THAT(text, testing::StartsWith("model.onnx on tiny (bf16)\n"));
  EXPECT_THAT(text, HasSubstr("  accuracy      97.78 %  (352 of 360)\n"));
  EXPECT_THAT(text, HasSubstr("  time          16.000 us  16,000 cycles at 1 "
                              "GHz, 2 runs\n"));
  EXPECT_THAT(text, HasSubstr("limited by matrix: efficiency 51.2 %"));
  EXPECT_THAT(text, HasSubstr("ok  probabilities: max error 1e-07 absolute"));
  EXPECT_THAT(text, HasSubstr("  wait_load "));
  EXPECT_THAT(text, HasSubstr("Longest dispatches (2 of 2)"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << "no colour unless told";
  SummaryOptions colored;
  colored.color = true;
  EXPECT_NE(formatSummary(report(), colored).find('\x1b'), std::string::npos);
}
