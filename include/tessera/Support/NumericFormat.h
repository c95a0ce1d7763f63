//===- NumericFormat.h - Element formats ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The element formats that descriptors, architecture files and objects name.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_NUMERICFORMAT_H
#define TESSERA_SUPPORT_NUMERICFORMAT_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera {

/// The values are part of the descriptor encoding: never renumber.
enum class NumericFormat : uint8_t {
  F32 = 0,
  BF16 = 1,
  F16 = 2,
  F8E4M3FN = 3,
  F8E5M2 = 4,
  I8 = 5,
  U8 = 6,
  I4 = 7,
  I32 = 8,
};
inline constexpr unsigned numNumericFormats = 9;

/// Width of one element in bits.
unsigned bitWidth(NumericFormat format);
/// "f32", "bf16", "f16", "f8E4M3FN", "f8E5M2", "i8", "u8", "i4", "i32".
std::string_view formatName(NumericFormat format);
std::optional<NumericFormat> formatFromName(std::string_view name);
bool isFloat(NumericFormat format);

} // namespace tessera

#endif // TESSERA_SUPPORT_NUMERICFORMAT_H
