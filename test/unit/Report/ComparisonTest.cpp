//===- ComparisonTest.cpp - Tests of runs beside each other ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/Comparison.h"
#include "RunReportFixture.h"
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

using namespace tessera;
using namespace tessera::report;
using testing::HasSubstr;
using Json = nlohmann::json;

TEST_F(RunReportTest, ComparisonFindsPartsByTheirNodes) {
  RunDocument before = *readRunDocument("some/before.json", toJson(report()));
  // Half as long; the softmax runs in a kernel of another name, and another
  // dispatch is new.
  for (sim::CommandBufferRecord &run : statistics.commandBuffers)
    run.endCycle -= 4000;
  for (sim::DispatchRecord &record : statistics.dispatches)
    if (record.commandIndex == 2u)
      record.endCycle -= 2000;
  object.dispatches[1].name = "fast_softmax";
  object.dispatches.push_back({"copy", {}, 3, {}, {}, {}, 0});
  sim::DispatchRecord copy;
  copy.commandIndex = 3;
  copy.endCycle = 50;
  statistics.dispatches.push_back(copy);
  RunDocument after = *readRunDocument("after.json", toJson(report()));
  std::string text = formatComparison(std::vector{before, after});
  EXPECT_THAT(text, testing::ContainsRegex("cycles +16,000 +8,000 +2\\.00x\n"));
  EXPECT_THAT(text,
              testing::ContainsRegex("probabilities +6,000 +2,000 +3\\.00x\n"));
  EXPECT_THAT(text,
              testing::ContainsRegex("fc, bias +10,000 +10,000 +1\\.00x\n"));
  EXPECT_THAT(text, testing::ContainsRegex("copy +- +50 +-\n"));
  EXPECT_THAT(text, testing::ContainsRegex("before\\.json +after\\.json"));
}

TEST_F(RunReportTest, ComparisonRefusesOtherDocuments) {
  Json good = Json::parse(toJson(report()));
  auto message = [](const std::string &text) {
    Result<RunDocument> result = readRunDocument("x.json", text);
    return result.ok() ? "accepted" : result.status().message();
  };
  EXPECT_EQ(message(good.dump()), "accepted");
  EXPECT_EQ(message("{"), "x.json: is no JSON object; a file that tessera run "
                          "--json wrote is accepted");
  EXPECT_THAT(message("[]"), HasSubstr("is no JSON object"));
  EXPECT_THAT(message("{\"schema\":2}"), HasSubstr("no report of schema 1"));
  // Whatever is missing or of another type is an error, never a crash.
  const Json flat = good.flatten(); // items() refers to it.
  for (const auto &[key, value] : flat.items()) {
    Json bad = good;
    bad[Json::json_pointer(key)] = Json::object();
    (void)message(bad.dump());
    bad[Json::json_pointer(key)] = nullptr;
    (void)message(bad.dump());
  }
  for (const char *path : {"/cycles", "/bound/efficiency", "/arch", "/nodes",
                           "/dispatches/0/cycles", "/nodes/1/name"}) {
    Json bad = good;
    bad[Json::json_pointer(path)] = nullptr;
    EXPECT_THAT(message(bad.dump()), testing::StartsWith("x.json: ")) << path;
  }
}
