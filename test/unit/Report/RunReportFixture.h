//===- RunReportFixture.h - Two runs of a small model -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_REPORT_RUNREPORTFIXTURE_H
#define TESSERA_TEST_UNIT_REPORT_RUNREPORTFIXTURE_H

#include "tessera/Report/RunReport.h"
#include <gtest/gtest.h>

namespace tessera::report {

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
    object.dispatches = {{"matmul_kernel",
                          {"fc", "bias"},
                          0,
                          {0},
                          {"m 8 of 64", 4000},
                          {},
                          8192},
                         {"softmax_kernel",
                          {"probabilities"},
                          2,
                          {1},
                          {"m 64 of 64", 900},
                          {},
                          4096}};

    statistics.cycles = 20000;
    statistics.cores.resize(1);
    sim::CoreStatistics &core = statistics.cores[0];
    core.macs[size_t(NumericFormat::BF16)] = 600000;
    core.spmPeakBytes = 4096;
    core.instructions = 77;
    using sim::Engine, sim::StallCause;
    for (size_t engine = 0; engine < core.engines.size(); ++engine)
      core.engines[engine].byCause[size_t(StallCause::NoKernel)] = 20000;
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
        dispatch.runCycle = dispatch.startCycle + 100;
        dispatch.haltCycle = dispatch.endCycle - 100;
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

} // namespace tessera::report

#endif // TESSERA_TEST_UNIT_REPORT_RUNREPORTFIXTURE_H
