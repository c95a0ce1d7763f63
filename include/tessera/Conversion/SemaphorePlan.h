//===- SemaphorePlan.h - Number a kernel's semaphores ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The planner that maps the semaphores which a kernel asks for to the few that
// a core has. A core's semaphore has one waiting queue, so only requests of the
// same queue may share one, and only one after the other.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_SEMAPHOREPLAN_H
#define TESSERA_CONVERSION_SEMAPHOREPLAN_H

#include "tessera/ISA/Instruction.h"
#include "tessera/Support/Status.h"
#include <cstdint>
#include <vector>

namespace tessera {

struct SemaphorePlanProblem {
  struct Request {
    isa::Queue waiter = isa::Queue::Seq;
    /// First and last point of the program, inclusive, between which the
    /// semaphore is in use; it is 0 before and after.
    uint32_t begin = 0, end = 0;
  };
  uint32_t available = 0; ///< At most isa::maxSemaphores.
  std::vector<Request> requests;

  Status check() const;
};

struct SemaphorePlanSolution {
  std::vector<uint8_t> semaphores; ///< Of each request, in order.
  uint32_t used = 0;

  /// Internal if a number is out of range, if two requests share a semaphore at
  /// the same time, or if a semaphore has two waiting queues.
  Status verify(const SemaphorePlanProblem &problem) const;
};

/// The fewest semaphores. ResourceExhausted with the numbers if that is too
/// many.
Result<SemaphorePlanSolution>
planSemaphores(const SemaphorePlanProblem &problem);

} // namespace tessera

#endif // TESSERA_CONVERSION_SEMAPHOREPLAN_H
