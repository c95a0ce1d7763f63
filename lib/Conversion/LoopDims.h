//===- LoopDims.h - Iteration spaces of several operands -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dimensions of an instruction's iteration space with the stride of each
// operand along them, and their reduction to the few that a descriptor can
// hold.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_LOOPDIMS_H
#define TESSERA_LIB_CONVERSION_LOOPDIMS_H

#include <cstdint>
#include <vector>

namespace tessera {

struct LoopDim {
  int64_t extent = 1;
  /// Only dimensions of the same kind are merged (M, N, K; parallel, reduced).
  unsigned kind = 0;
  std::vector<int64_t> strides; ///< Of each operand, elements; 0: not indexed.
  bool windowed = false;        ///< Neither dropped nor merged.
};

/// Drops dimensions of extent 1 and merges neighbours of one kind that every
/// operand walks through as if they were one. The order of the elements stays.
std::vector<LoopDim> simplifyDims(const std::vector<LoopDim> &dims);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_LOOPDIMS_H
