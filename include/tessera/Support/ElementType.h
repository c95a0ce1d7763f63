//===- ElementType.h - Types of tensor elements, by name --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_ELEMENTTYPE_H
#define TESSERA_SUPPORT_ELEMENTTYPE_H

#include <cstdint>
#include <string_view>

namespace tessera {

/// Bytes of an element as tensors of models store it: of a NumericFormat by its
/// name, and of "bool", "i16", "u16", "u32", "i64", "u64", "f64", "f8E4M3FNUZ"
/// and "f8E5M2FNUZ". 0 for an unknown type.
uint64_t elementBytes(std::string_view type);

} // namespace tessera

#endif // TESSERA_SUPPORT_ELEMENTTYPE_H
