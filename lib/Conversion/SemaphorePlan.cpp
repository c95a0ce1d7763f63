//===- SemaphorePlan.cpp - Number a kernel's semaphores -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/SemaphorePlan.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>

using namespace tessera;

Status SemaphorePlanProblem::check() const {
  if (available > isa::maxSemaphores)
    return {StatusCode::InvalidArgument,
            fmt::format("{} semaphores; at most {}", available,
                        isa::maxSemaphores)};
  for (const Request &request : requests)
    if (request.begin > request.end)
      return {StatusCode::InvalidArgument,
              fmt::format("semaphore lifetime {} to {} is empty", request.begin,
                          request.end)};
  return Status::success();
}

Status
SemaphorePlanSolution::verify(const SemaphorePlanProblem &problem) const {
  auto wrong = [](std::string what) {
    return Status(StatusCode::Internal, "plan of semaphores: " + what);
  };
  if (semaphores.size() != problem.requests.size())
    return wrong(fmt::format("{} numbers for {} requests", semaphores.size(),
                             problem.requests.size()));
  for (size_t i = 0; i < semaphores.size(); ++i) {
    const auto &a = problem.requests[i];
    if (semaphores[i] >= problem.available || semaphores[i] >= used)
      return wrong(fmt::format("s{} does not exist", semaphores[i]));
    for (size_t j = 0; j < i; ++j) {
      const auto &b = problem.requests[j];
      if (semaphores[i] != semaphores[j])
        continue;
      if (a.waiter != b.waiter)
        return wrong(fmt::format("s{} has two waiting queues", semaphores[i]));
      if (a.begin <= b.end && b.begin <= a.end)
        return wrong(fmt::format("s{} has two uses at once", semaphores[i]));
    }
  }
  return Status::success();
}

Result<SemaphorePlanSolution>
tessera::planSemaphores(const SemaphorePlanProblem &problem) {
  TESSERA_RETURN_IF_ERROR(problem.check());
  size_t count = problem.requests.size();
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    uint32_t beginA = problem.requests[a].begin;
    uint32_t beginB = problem.requests[b].begin;
    return beginA != beginB ? beginA < beginB : a < b;
  });

  // Taking requests by their begin and any semaphore that is free then needs as
  // many as are in use at the busiest point: optimal for each queue.
  struct InUse {
    isa::Queue waiter;
    uint32_t end;
  };
  std::vector<InUse> inUse;
  std::vector<size_t> numbers(count);
  for (size_t index : order) {
    const auto &request = problem.requests[index];
    auto reusable =
        std::find_if(inUse.begin(), inUse.end(), [&](const InUse &s) {
          return s.waiter == request.waiter && s.end < request.begin;
        });
    numbers[index] = reusable - inUse.begin();
    if (reusable == inUse.end())
      inUse.push_back({request.waiter, request.end});
    else
      reusable->end = request.end;
  }
  if (inUse.size() > problem.available)
    return Status(StatusCode::ResourceExhausted,
                  fmt::format("{} semaphores are needed, {} are available",
                              inUse.size(), problem.available));
  SemaphorePlanSolution solution;
  solution.used = inUse.size();
  solution.semaphores.assign(numbers.begin(), numbers.end());
  return solution;
}
