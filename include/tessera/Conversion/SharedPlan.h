//===- SharedPlan.h - What lies in the shared SRAM ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses the buffers of a program that a memory too small for all of them
// keeps, so that much less is moved to and from the larger one. Free of IR.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_SHAREDPLAN_H
#define TESSERA_CONVERSION_SHAREDPLAN_H

#include "tessera/Conversion/MemoryPlan.h"
#include <optional>
#include <span>

namespace tessera {

struct SharedPlan {
  /// Of each buffer, in the problem's order; nothing if it lies elsewhere.
  std::vector<std::optional<uint64_t>> offsets;
  uint64_t peakBytes = 0; ///< One past the highest byte in use.

  /// As MemoryPlanSolution::verify, of the buffers that have a place.
  Status verify(const MemoryPlanProblem &problem) const;
};

/// Places buffers while there is room: first those that are accessed most often
/// for the points of the program that they live through (a byte of memory saves
/// most traffic with these), of equals the earlier ones. `accesses` are each
/// buffer's readers and writers.
SharedPlan planShared(const MemoryPlanProblem &problem,
                      std::span<const uint32_t> accesses);

} // namespace tessera

#endif // TESSERA_CONVERSION_SHAREDPLAN_H
