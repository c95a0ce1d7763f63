//===- LocalBuffers.cpp - Buffers in SPM and ACC --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalBuffers.h"

using namespace mlir;
using namespace tessera;

MemRefType tessera::withRowPitch(MemRefType type, const TargetModel &target) {
  ArrayRef<int64_t> shape = type.getShape();
  uint64_t element = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  if (shape.empty() || type.getNumElements() == shape.back())
    return type;
  uint64_t pitch = target.rowPitch(shape.back() * element, element);
  if (pitch == shape.back() * element || pitch % element != 0)
    return type;
  SmallVector<int64_t> strides(shape.size(), 1);
  int64_t stride = pitch / element;
  for (size_t dim = shape.size() - 1; dim-- > 0; stride *= shape[dim])
    strides[dim] = stride;
  return MemRefType::get(shape, type.getElementType(),
                         StridedLayoutAttr::get(type.getContext(), 0, strides),
                         type.getMemorySpace());
}

uint64_t tessera::allocatedBytes(MemRefType type, const TargetModel &target) {
  auto [strides, offset] = type.getStridesAndOffset();
  int64_t elements = 1;
  for (auto [extent, stride] : llvm::zip_equal(type.getShape(), strides))
    elements += (extent - 1) * stride;
  return target.allocatedBytes(
      elements * llvm::divideCeil(type.getElementTypeBitWidth(), 8));
}
