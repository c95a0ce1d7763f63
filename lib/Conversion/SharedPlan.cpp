//===- SharedPlan.cpp - What lies in the shared SRAM ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/SharedPlan.h"
#include "FirstFit.h"
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
  FirstFit places(problem.buffers);
  for (size_t index : order) {
    uint64_t offset = places.findOffset(index);
    uint64_t end = offset + problem.buffers[index].totalBytes();
    if (end > problem.capacity)
      continue;
    places.place(index, offset);
    plan.offsets[index] = offset;
    plan.peakBytes = std::max(plan.peakBytes, end);
  }
  return plan;
}
