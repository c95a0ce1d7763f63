//===- LoopDims.cpp - Iteration spaces of several operands ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopDims.h"
#include <cstddef>

using namespace tessera;

/// Whether the outer dimension's step equals one pass over the inner one.
static bool canMerge(const LoopDim &outer, const LoopDim &inner) {
  if (outer.kind != inner.kind || outer.windowed || inner.windowed)
    return false;
  for (size_t i = 0; i < outer.strides.size(); ++i)
    if (outer.strides[i] != inner.strides[i] * inner.extent)
      return false;
  return true;
}

std::vector<LoopDim> tessera::simplifyDims(const std::vector<LoopDim> &dims) {
  std::vector<LoopDim> result;
  for (const LoopDim &dim : dims) {
    if (dim.extent == 1 && !dim.windowed)
      continue;
    if (!result.empty() && canMerge(result.back(), dim)) {
      result.back().extent *= dim.extent;
      result.back().strides = dim.strides;
    } else {
      result.push_back(dim);
    }
  }
  return result;
}
