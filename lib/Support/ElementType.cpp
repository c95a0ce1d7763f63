//===- ElementType.cpp - Types of tensor elements, by name ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/ElementType.h"
#include "tessera/Support/NumericFormat.h"

uint64_t tessera::elementBytes(std::string_view type) {
  if (std::optional<NumericFormat> format = formatFromName(type))
    return (bitWidth(*format) + 7) / 8;
  if (type == "bool" || type == "f8E4M3FNUZ" || type == "f8E5M2FNUZ")
    return 1;
  if (type == "i16" || type == "u16")
    return 2;
  if (type == "u32")
    return 4;
  if (type == "i64" || type == "u64" || type == "f64")
    return 8;
  return 0;
}
