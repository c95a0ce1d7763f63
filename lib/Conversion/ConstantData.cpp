//===- ConstantData.cpp - The object's read-only data ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConstantData.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "tessera/Conversion/MemoryPlan.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"
#include <cstring>

using namespace mlir;
using namespace tessera;

std::optional<uint64_t> ConstantData::add(ElementsAttr value) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return std::nullopt;
    return addBytes(blob->getData());
  }
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense)
    return std::nullopt;
  ArrayRef<char> raw = dense.getRawData();
  if (!dense.isSplat())
    return addBytes(raw);
  std::vector<char> expanded;
  expanded.reserve(raw.size() * dense.getNumElements());
  for (int64_t i = 0; i < dense.getNumElements(); ++i)
    expanded.insert(expanded.end(), raw.begin(), raw.end());
  return addBytes(expanded);
}

uint64_t ConstantData::addBytes(ArrayRef<char> contents) {
  ArrayRef<uint8_t> data(reinterpret_cast<const uint8_t *>(contents.data()),
                         contents.size());
  std::vector<uint64_t> &candidates =
      known[{data.size(), llvm::xxh3_64bits(data)}];
  for (uint64_t offset : candidates)
    if (std::memcmp(bytes.data() + offset, data.data(), data.size()) == 0)
      return offset;
  uint64_t offset = llvm::alignTo(bytes.size(), deviceAlignment(data.size()));
  bytes.resize(offset);
  bytes.insert(bytes.end(), data.begin(), data.end());
  candidates.push_back(offset);
  return offset;
}
