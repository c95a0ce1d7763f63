//===- Mapping.cpp - How dispatches were mapped ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/Mapping.h"
#include "Text.h"
#include "tessera/Report/Bounds.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <vector>

using namespace tessera;
using namespace tessera::report;

/// By how much the expected cycles are off, in percent of the simulated ones.
static double deviation(const DispatchReport &report) {
  double simulated = double(report.kernelCycles) / double(report.runs);
  return 100 * (double(report.mapping.cycles) / simulated - 1);
}

static Result<std::string> describe(const DispatchInfo &info,
                                    const Object &object,
                                    const Architecture &arch,
                                    const DispatchReport *report) {
  std::vector<OperatorRecord> operators;
  for (uint32_t index : info.operators)
    operators.push_back(object.workload[index]);
  TESSERA_ASSIGN_OR_RETURN(Bounds bounds, computeBounds(operators, 0, arch));
  std::string text =
      fmt::format("{} [{}]\n", info.name, fmt::join(info.nodes, ", "));
  auto line = [&](std::string_view name, std::string_view value) {
    text += fmt::format("  {:<10} {}\n", name, value);
  };
  line("plan", info.mapping.plan.empty() ? "not planned" : info.mapping.plan);
  line("bound",
       fmt::format("{} cycles, limited by {}",
                   groupedText(uint64_t(std::ceil(bounds.bound.cycles()))),
                   limiterName(bounds.bound.limiter())));
  if (!info.mapping.plan.empty())
    line("expected",
         fmt::format("{} cycles", groupedText(info.mapping.cycles)));
  if (report && report->runs) {
    std::string value =
        fmt::format("{} cycles, {} with start and end", //
                    groupedText(report->kernelCycles / report->runs),
                    groupedText(report->cycles / report->runs));
    if (!info.mapping.plan.empty() && report->kernelCycles)
      value += fmt::format("; expected {:+.1f} %", deviation(*report));
    line("simulated", value);
  }
  if (!info.runnerUp.plan.empty())
    line("runner-up",
         fmt::format("{} cycles expected: {}",
                     groupedText(info.runnerUp.cycles), info.runnerUp.plan));
  return text;
}

Result<std::string> report::explainMapping(const Object &object,
                                           const Architecture &arch,
                                           const RunReport *run) {
  std::string text;
  std::vector<double> deviations;
  for (size_t i = 0; i < object.dispatches.size(); ++i) {
    const DispatchReport *report =
        run && i < run->dispatches.size() ? &run->dispatches[i] : nullptr;
    TESSERA_ASSIGN_OR_RETURN(
        std::string part, describe(object.dispatches[i], object, arch, report));
    text += part;
    if (report && report->kernelCycles && !report->mapping.plan.empty())
      deviations.push_back(std::abs(deviation(*report)));
  }
  if (!deviations.empty()) {
    std::sort(deviations.begin(), deviations.end());
    text +=
        fmt::format("expected cycles are off by {:.1f} % (median), {:.1f} % "
                    "(at most) in {} dispatches\n",
                    deviations[deviations.size() / 2], deviations.back(),
                    deviations.size());
  }
  return text;
}
