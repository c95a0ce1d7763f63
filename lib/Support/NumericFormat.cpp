//===- NumericFormat.cpp - Element formats --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/NumericFormat.h"
#include <cassert>

using namespace tessera;

namespace {
struct FormatInfo {
  std::string_view name;
  unsigned bits;
  bool isFloat;
};
} // namespace

/// Indexed by the enum's value.
static constexpr FormatInfo formatTable[numNumericFormats] = {
    {"f32", 32, true},     {"bf16", 16, true},  {"f16", 16, true},
    {"f8E4M3FN", 8, true}, {"f8E5M2", 8, true}, {"i8", 8, false},
    {"u8", 8, false},      {"i4", 4, false},    {"i32", 32, false},
};

static const FormatInfo &info(NumericFormat format) {
  assert(unsigned(format) < numNumericFormats && "not a format");
  return formatTable[unsigned(format)];
}

unsigned tessera::bitWidth(NumericFormat format) { return info(format).bits; }

std::string_view tessera::formatName(NumericFormat format) {
  return info(format).name;
}

std::optional<NumericFormat> tessera::formatFromName(std::string_view name) {
  for (unsigned i = 0; i < numNumericFormats; ++i)
    if (formatTable[i].name == name)
      return NumericFormat(i);
  return std::nullopt;
}

bool tessera::isFloat(NumericFormat format) { return info(format).isFloat; }
