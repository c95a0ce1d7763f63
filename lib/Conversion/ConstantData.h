//===- ConstantData.h - The object's read-only data -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lays out constants one after the other, equal contents once.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_CONSTANTDATA_H
#define TESSERA_LIB_CONVERSION_CONSTANTDATA_H

#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include <cstdint>
#include <map>
#include <vector>

namespace tessera {

class ConstantData {
public:
  /// Offset of the constant's row-major elements; nullopt if the attribute
  /// holds no bytes of its own (a resource that was not loaded, an unknown
  /// kind).
  std::optional<uint64_t> add(mlir::ElementsAttr value);

  std::vector<uint8_t> takeBytes() { return std::move(bytes); }

private:
  uint64_t addBytes(llvm::ArrayRef<char> contents);

  std::vector<uint8_t> bytes;
  /// Offsets of the constants with a given size and hash.
  std::map<std::pair<size_t, uint64_t>, std::vector<uint64_t>> known;
};

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_CONSTANTDATA_H
