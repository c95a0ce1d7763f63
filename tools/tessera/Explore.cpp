//===- Explore.cpp - Many schedules of one program ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Explore.h"
#include <fmt/format.h>

namespace tessera::tool {

Status exploreSchedules(const Object &object, const Architecture &arch,
                        std::span<const HostTensor> inputs,
                        const SimulationOptions &given,
                        const SimulationResult &expected, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    std::vector<std::string> findings;
    SimulationOptions options;
    options.timingOnly = given.timingOnly;
    options.checks = given.checks;
    options.findings = &findings;
    options.explore = true;
    options.seed = given.seed + i;
    Result<SimulationResult> result = simulate(object, arch, inputs, options);
    auto violation = [&](const Status &status) {
      return status.withContext(fmt::format(
          "schedule with seed {} ({} explored before)", options.seed, i));
    };
    if (!findings.empty())
      return violation(Status(StatusCode::Internal, findings.front()));
    if (!result)
      return violation(result.status());
    for (size_t o = 0; o < result->outputs.size(); ++o)
      if (result->outputs[o].bytes != expected.outputs[o].bytes)
        return violation(
            Status(StatusCode::Internal,
                   fmt::format("output '{}' differs from that of the ordinary "
                               "schedule: the program depends on an order that "
                               "nothing ensures",
                               result->outputs[o].name)));
  }
  return Status::success();
}

} // namespace tessera::tool
