//===- Interference.cpp - Models that run at the same time ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/Interference.h"
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tessera::report {

uint64_t InterferenceReport::makespan() const {
  uint64_t end = 0;
  for (const SharedRun &run : runs)
    end = std::max(end, run.endCycle);
  return end;
}

uint64_t InterferenceReport::sumAlone() const {
  uint64_t sum = 0;
  for (const SharedRun &run : runs)
    sum += run.aloneCycles;
  return sum;
}

std::string toJson(const InterferenceReport &report) {
  nlohmann::ordered_json json;
  json["schema"] = 1;
  json["arch"] = report.arch;
  json["concurrent"] = nlohmann::ordered_json::array();
  for (const SharedRun &run : report.runs)
    json["concurrent"].push_back(
        {{"model", run.model},
         {"cycles_alone", run.aloneCycles},
         {"cycles", run.togetherCycles},
         {"end_cycle", run.endCycle},
         {"time_us", double(run.togetherCycles) / (report.clockGhz * 1e3)},
         {"slowdown", run.slowdown()},
         {"displaced_bytes", run.displacedBytes}});
  json["makespan_cycles"] = report.makespan();
  json["sum_alone_cycles"] = report.sumAlone();
  return json.dump(2, ' ', false,
                   nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

std::string formatSummary(const InterferenceReport &report) {
  size_t width = 5;
  for (const SharedRun &run : report.runs)
    width = std::max(width, run.model.size());
  std::string text = fmt::format("{} models at the same time on {}\n\n",
                                 report.runs.size(), report.arch);
  text += fmt::format("{:<{}}  {:>12}  {:>12}  {:>9}\n", "model", width,
                      "alone", "together", "slowdown");
  for (const SharedRun &run : report.runs)
    text += fmt::format("{:<{}}  {:>12}  {:>12}  {:>8.2f}x\n", run.model, width,
                        run.aloneCycles, run.togetherCycles, run.slowdown());
  for (const SharedRun &run : report.runs)
    if (run.displacedBytes != 0)
      text +=
          fmt::format("\n{} keeps {} bytes of intermediate results in DRAM: "
                      "the shared SRAM was taken.\n",
                      run.model, run.displacedBytes);
  uint64_t sum = report.sumAlone(), all = report.makespan();
  text += fmt::format(
      "\nAll are done after {} cycles; one after the other they take {}: "
      "sharing "
      "the device {} {:.1f} %.\n",
      all, sum, all <= sum ? "saves" : "costs",
      sum ? 100.0 * std::abs(double(sum) - double(all)) / double(sum) : 0.0);
  return text;
}

} // namespace tessera::report
