//===- PageTest.cpp - Tests of the page and its series --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/Page.h"
#include "RunReportFixture.h"
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

using namespace tessera;
using namespace tessera::report;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

static sim::Statistics at(uint64_t cycle) {
  sim::Statistics statistics;
  statistics.cycles = cycle;
  statistics.busBytesRead = 8 * cycle;
  statistics.channelBytes = {8 * cycle};
  statistics.cores.resize(2);
  statistics.cores[1].engines[size_t(sim::Engine::Matrix)].byCause[0] = cycle;
  return statistics;
}

TEST(Activity, KeepsEverySecondSampleWhenItIsFull) {
  Activity activity(8);
  uint64_t cycle = 0, step = activity.step();
  for (int i = 0; i < 100; ++i) {
    activity.add(at(cycle));
    cycle += activity.step();
  }
  EXPECT_LE(activity.samples().size(), 8u);
  EXPECT_GE(activity.samples().size(), 4u);
  EXPECT_EQ(activity.samples().front().cycle, 0u);
  EXPECT_GT(activity.step(), step);
  for (size_t i = 1; i < activity.samples().size(); ++i) {
    EXPECT_EQ(activity.samples()[i].cycle - activity.samples()[i - 1].cycle,
              activity.step());
    EXPECT_EQ(activity.samples()[i].dramBytesRead,
              8 * activity.samples()[i].cycle);
  }
  size_t size = activity.samples().size();
  activity.add(at(activity.samples().back().cycle));
  EXPECT_EQ(activity.samples().size(), size) << "no time has passed";
}

/// What the page's script gets.
static Json dataOf(const std::string &page) {
  static constexpr std::string_view begin =
      "<script id=\"data\" type=\"application/json\">";
  size_t from = page.find(begin) + begin.size();
  return Json::parse(page.substr(from, page.find("</script>", from) - from));
}

TEST_F(RunReportTest, PageHoldsTheRun) {
  Activity activity;
  for (uint64_t cycle = 0; cycle <= 20000; cycle += 500)
    activity.add(at(cycle));
  RunFacts run = facts();
  run.model = "</script><b>.onnx";
  RunReport record = *makeRunReport(run);
  std::string entry = pageEntry(record, {run, activity, "tessera run <x>"});
  std::string page = makePage(record.model, {&entry, 1});
  EXPECT_THAT(page, testing::StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(page, HasSubstr("<title>&lt;/script>&lt;b>.onnx</title>"));
  EXPECT_THAT(page, Not(HasSubstr("</script><b>")));
  EXPECT_THAT(page, Not(HasSubstr("@DATA@")));
  EXPECT_THAT(page, HasSubstr("uPlot"));
  Json data = dataOf(page)["runs"][0];
  EXPECT_EQ(data["run"], Json::parse(toJson(record)));
  EXPECT_EQ(data["command"], "tessera run <x>");
  EXPECT_THAT(std::string(data["architecture"]), HasSubstr("name: tiny\n"));
  // The first run begins in cycle 1,000; the last one ends in cycle 18,000.
  EXPECT_EQ(data["spans"].size(), 4u);
  EXPECT_EQ(data["spans"][0], (Json{0, 0, 100, 4900, 5000, 0}));
  const Json &series = data["activity"];
  ASSERT_EQ(series["cycle"].size(), 35u);
  EXPECT_EQ(series["cycle"][0], 0);
  EXPECT_EQ(series["cycle"][34], 17000);
  EXPECT_EQ(series["dram_read"].size(), 34u);
  EXPECT_EQ(series["dram_read"][0], 4000);
  // One of two matrix engines is always busy.
  EXPECT_EQ(series["engines"][size_t(sim::Engine::Matrix)][5], 500);
  EXPECT_EQ(series["busy"][0][size_t(sim::Engine::Matrix)],
            std::string(34, '0'));
  EXPECT_EQ(series["busy"][1][size_t(sim::Engine::Matrix)],
            std::string(34, 'Z'));
  EXPECT_EQ(page, makePage(record.model, {&entry, 1}));
}

TEST_F(RunReportTest, PageOfSeveralRuns) {
  std::string document = toJson(report());
  std::vector<std::string> entries = {pageEntry("a.json", document),
                                      pageEntry("b.json", document)};
  Json data = dataOf(makePage("two", entries));
  ASSERT_EQ(data["runs"].size(), 2u);
  EXPECT_EQ(data["runs"][1]["name"], "b.json");
  EXPECT_EQ(data["runs"][1]["run"]["cycles"], 16000);
}
