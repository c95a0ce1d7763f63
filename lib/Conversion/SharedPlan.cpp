//===- SharedPlan.cpp - What lies in the shared SRAM ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/SharedPlan.h"
#include <algorithm>
#include <cassert>
#include <numeric>

using namespace tessera;

Status SharedPlan::verify(const MemoryPlanProblem &problem) const {
  MemoryPlanProblem placed{problem.memory, problem.capacity, {}};
  MemoryPlanSolution solution;
  solution.peakBytes = peakBytes;
  for (size_t i = 0; i < offsets.size(); ++i)
    if (offsets[i]) {
      placed.buffers.push_back(problem.buffers[i]);
      solution.offsets.push_back(*offsets[i]);
    }
  return solution.verify(placed);
}

SharedPlan tessera::planShared(const MemoryPlanProblem &problem,
                               std::span<const uint32_t> accesses) {
  assert(problem.check().ok() && accesses.size() == problem.buffers.size());
  SharedPlan plan;
  plan.offsets.resize(problem.buffers.size());
  std::vector<size_t> order(problem.buffers.size());
  std::iota(order.begin(), order.end(), size_t(0));
  auto points = [&](size_t i) {
    return uint64_t(problem.buffers[i].end) - problem.buffers[i].begin + 1;
  };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return accesses[a] * points(b) > accesses[b] * points(a);
  });
  std::vector<size_t> placed; // By ascending offset.
  for (size_t index : order) {
    const MemoryPlanProblem::Buffer &buffer = problem.buffers[index];
    uint64_t offset = 0;
    for (size_t other : placed) {
      const MemoryPlanProblem::Buffer &occupied = problem.buffers[other];
      if (!buffer.overlapsInTime(occupied))
        continue;
      if (offset + buffer.totalBytes() <= *plan.offsets[other])
        break;
      uint64_t end = *plan.offsets[other] + occupied.totalBytes();
      end = (end + buffer.alignment - 1) & ~(buffer.alignment - 1);
      offset = std::max(offset, end);
    }
    uint64_t end = offset + buffer.totalBytes();
    if (end > problem.capacity)
      continue;
    plan.offsets[index] = offset;
    plan.peakBytes = std::max(plan.peakBytes, end);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), offset,
                                   [&](uint64_t value, size_t other) {
                                     return value < *plan.offsets[other];
                                   }),
                  index);
  }
  return plan;
}
