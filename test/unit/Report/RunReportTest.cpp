//===----------------------------------------------------------------------===//

#include "tessera/Report/RunReport.h"
#include "tessera/Support/File.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace tessera;
using namespace tessera::report;
using testing::HasSubstr;
using Json = nlohmann::json;

namespace {
/// Two runs of a model of two dispatches on `tiny`: a matrix product and a
/// softmax.
class RunReportTest : public testing::Test {
protected:
  RunReportTest() : arch(*loadArchitecture("tiny")) {
    OperatorRecord product;
    product.name = product.kind = "matmul";
    product.format = NumericFormat::BF16;
    product.m = product.k = product.n = 64;
    OperatorRecord softmax;
    softmax.name = softmax.kind = "softmax";
    softmax.elements = 4096;
    softmax.aluOps = 3;
    softmax.sfuOps = 1;
    object.workload = {product, softmax};
    object.compulsoryBytes = 24576;
    object.dispatches = {{"matmul_kernel", {"fc", "bias"}, 0, {0}},
                         {"softmax_kernel", {"probabilities"}, 2, {1}}};

    statistics.cycles = 20000;
    statistics.cores.resize(1);
    sim::CoreStatistics &core = statistics.cores[0];
    core.macs[size_t(NumericFormat::BF16)] = 600000;
    core.spmPeakBytes = 4096;
    core.instructions = 77;
    using sim::Engine, sim::StallCause;
    for (sim::EngineCycles &engine : core.engines)
      engine.byCause[size_t(StallCause::NoKernel)] = 20000;
    auto charge = [&](Engine engine, StallCause cause, uint64_t cycles) {
      core.engines[size_t(engine)].byCause[size_t(cause)] += cycles;
      core.engines[size_t(engine)].byCause[size_t(StallCause::NoKernel)] -=
          cycles;
    };
    charge(Engine::Matrix, StallCause::Busy, 8192);
    charge(Engine::Matrix, StallCause::WaitLoad, 1000);
    charge(Engine::Vector, StallCause::Busy, 4000);
    for (uint64_t run = 0; run < 2; ++run) {
      sim::CommandBufferRecord buffer;
      buffer.firstFetchCycle = 1000 + run * 9000;
      buffer.endCycle = buffer.firstFetchCycle + 8000;
      buffer.dramBytesRead = 20000;
      buffer.dramBytesWritten = 12000;
      statistics.commandBuffers.push_back(buffer);
      for (uint32_t packet : {0u, 2u}) {
        sim::DispatchRecord dispatch;
        dispatch.commandIndex = packet;
        dispatch.startCycle = buffer.firstFetchCycle + packet * 2500;
        dispatch.endCycle = dispatch.startCycle + (packet ? 3000 : 5000);
        dispatch.dramBytesRead = packet ? 100000 : 16000;
        statistics.dispatches.push_back(dispatch);
      }
    }
  }

  RunFacts facts() {
    RunFacts facts{object, arch, statistics, "model.onnx", {}, {}, 1.5, 2.5};
    facts.outputs = {{"probabilities", 1e-7, 2e-6, 1e-5, "f32 softmax", true}};
    facts.accuracy = Accuracy{352, 360};
    return facts;
  }
  RunReport report() {
    Result<RunReport> result = makeRunReport(facts());
    EXPECT_TRUE(result.ok()) << result.status().message();
    return *result;
  }

  Architecture arch;
  Object object;
  sim::Statistics statistics;
};
} // namespace

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
