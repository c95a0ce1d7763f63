//===- TensorValues.h - The elements of a tensor as numbers -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TESSERA_TENSORVALUES_H
#define TESSERA_TOOLS_TESSERA_TENSORVALUES_H

#include "tessera/Pipelines/Compiler.h"
#include <cstdint>

namespace tessera::tool {

/// Reads elements of any type that outputs have as doubles; exact but for
/// 64-bit integers. The tensor must outlive it.
class TensorValues {
public:
  explicit TensorValues(const HostTensor &tensor);

  const std::string &type() const { return tensor.type; }
  size_t size() const { return width ? tensor.bytes.size() / width : 0; }
  bool isFloat() const {
    return tensor.type[0] == 'f' || tensor.type == "bf16";
  }
  /// Of the format in which the tensor is stored; 0 for f32 and wider.
  double unitRoundoff() const;
  bool equalBits(const TensorValues &other, size_t i) const;
  double operator[](size_t i) const;

private:
  const std::byte *at(size_t i) const {
    return tensor.bytes.data() + i * width;
  }
  const HostTensor &tensor;
  uint64_t width;
};

} // namespace tessera::tool

#endif // TESSERA_TOOLS_TESSERA_TENSORVALUES_H
