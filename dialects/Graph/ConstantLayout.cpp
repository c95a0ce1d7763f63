//===- ConstantLayout.cpp - Constants' elements in another order ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Graph/ConstantLayout.h"
#include <cstring>

using namespace mlir;
using namespace tessera;

SmallVector<char> graph::transposeBytes(ArrayRef<char> source, size_t width,
                                        ArrayRef<int64_t> from,
                                        ArrayRef<int64_t> permutation) {
  size_t rank = from.size();
  SmallVector<size_t> strides(rank, width);
  for (size_t i = rank; i-- > 1;)
    strides[i - 1] = strides[i] * from[i];
  SmallVector<char> result(source.size());
  SmallVector<int64_t> index(rank, 0);
  size_t offset = 0;
  for (size_t at = 0; at < result.size(); at += width) {
    std::memcpy(result.data() + at, source.data() + offset, width);
    // The next index of the result, last dimension fastest.
    for (size_t i = rank; i-- > 0;) {
      int64_t dim = permutation[i];
      offset += strides[dim];
      if (++index[i] < from[dim])
        break;
      offset -= strides[dim] * from[dim];
      index[i] = 0;
    }
  }
  return result;
}
