//===- DecoderInputs.h - Tokens and positions as tensors --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TESSERA_DECODERINPUTS_H
#define TESSERA_TOOLS_TESSERA_DECODERINPUTS_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tessera::tool {

/// The bytes of a tensor of i64 or i32.
inline std::vector<std::byte> numberBytes(std::string_view type,
                                          std::span<const int64_t> numbers) {
  size_t width = type == "i64" ? 8 : 4;
  std::vector<std::byte> bytes(numbers.size() * width);
  for (size_t i = 0; i < numbers.size(); ++i)
    for (size_t b = 0; b < width; ++b)
      bytes[i * width + b] = std::byte(uint64_t(numbers[i]) >> 8 * b & 255);
  return bytes;
}

/// Those of `count` tokens from `first` on.
inline std::vector<int64_t> positionsFrom(uint64_t first, size_t count) {
  std::vector<int64_t> positions(count);
  for (size_t i = 0; i < count; ++i)
    positions[i] = int64_t(first + i);
  return positions;
}

} // namespace tessera::tool

#endif // TESSERA_TOOLS_TESSERA_DECODERINPUTS_H
