//===- GraphConstants.cpp - The elements of constants
//-----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Graph/GraphConstants.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Matchers.h"
#include <cstring>

using namespace mlir;
using namespace tessera;

ElementsAttr graph::getConstant(Value value) {
  ElementsAttr constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return nullptr;
  return constant;
}

std::optional<SmallVector<char>> graph::getBytes(ElementsAttr constant) {
  ShapedType type = constant.getShapedType();
  if (!type.hasStaticShape() || !type.getElementType().isIntOrFloat() ||
      type.getElementTypeBitWidth() % 8 != 0)
    return std::nullopt;
  size_t width = type.getElementTypeBitWidth() / 8;
  size_t count = type.getNumElements();
  ArrayRef<char> raw;
  if (auto dense = dyn_cast<DenseElementsAttr>(constant)) {
    raw = dense.getRawData();
  } else if (auto resource = dyn_cast<DenseResourceElementsAttr>(constant)) {
    const AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return std::nullopt;
    raw = blob->getData();
  } else {
    return std::nullopt;
  }
  if (raw.size() == width * count)
    return SmallVector<char>(raw);
  // One element that stands for all.
  if (raw.size() != width)
    return std::nullopt;
  SmallVector<char> bytes(width * count);
  for (size_t i = 0; i < count; ++i)
    std::memcpy(bytes.data() + i * width, raw.data(), width);
  return bytes;
}

std::optional<SmallVector<float>> graph::getFloats(ElementsAttr constant) {
  if (!constant.getElementType().isF32())
    return std::nullopt;
  std::optional<SmallVector<char>> bytes = getBytes(constant);
  if (!bytes)
    return std::nullopt;
  SmallVector<float> elements(bytes->size() / sizeof(float));
  if (!elements.empty())
    std::memcpy(elements.data(), bytes->data(), bytes->size());
  return elements;
}

ElementsAttr graph::makeConstant(RankedTensorType type, ArrayRef<char> bytes,
                                 StringRef name) {
  if (bytes.size() < resourceBytes)
    return DenseElementsAttr::getFromRawBuffer(type, bytes);
  return DenseResourceElementsAttr::get(
      type, name,
      HeapAsmResourceBlob::allocateAndCopyWithAlign(bytes, alignof(double)));
}

ElementsAttr graph::makeConstant(RankedTensorType type,
                                 ArrayRef<float> elements, StringRef name) {
  return makeConstant(
      type,
      ArrayRef<char>(reinterpret_cast<const char *>(elements.data()),
                     elements.size() * sizeof(float)),
      name);
}
