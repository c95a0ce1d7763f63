//===- CoreOrder.h - Which core takes which place ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRANSFORMS_COREORDER_H
#define TESSERA_LIB_TRANSFORMS_COREORDER_H

#include <cstdint>
#include <optional>

namespace tessera {

/// Core c of n takes place c / q + c mod q * n / q in the grid of those that
/// share loops (TilePlan::interleave). Of `size` neighbours `stride` places
/// apart, the distance between the numbers of the cores; nothing if that is not
/// the same between all of them.
inline std::optional<int64_t> coreStride(int64_t size, int64_t stride,
                                         int64_t cores, int64_t interleave) {
  if (interleave == 1 || size == cores)
    return stride;
  int64_t part = cores / interleave; // Places between cores side by side.
  if (stride == 1 && size == part)
    return interleave;
  if (stride == part && size == interleave)
    return 1;
  return std::nullopt;
}

} // namespace tessera

#endif // TESSERA_LIB_TRANSFORMS_COREORDER_H
