//===- Npy.h - NumPy array files --------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NumPy's .npy format, versions 1 to 3, C order, little endian. The types that
// ml_dtypes adds have no portable name there: bfloat16 ("V2", also written by
// NumPy for it) and the 8-bit floats ("V1", "f1") are read as their bits in
// unsigned integers, and users of bits write U16 and U8.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_NPY_H
#define TESSERA_SUPPORT_NPY_H

#include "tessera/Support/Status.h"
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

enum class NpyType : uint8_t {
  Bool,
  I8,
  U8,
  I16,
  U16,
  I32,
  U32,
  I64,
  U64,
  F16,
  F32,
  F64,
};

/// Bytes of one element.
unsigned npyTypeBytes(NpyType type);
/// NumPy's name, e.g. "float32".
std::string_view npyTypeName(NpyType type);

struct NpyArray {
  NpyType type = NpyType::F32;
  std::vector<uint64_t> shape; ///< Empty: a scalar.
  std::vector<uint8_t> data;   ///< Row-major, little endian, packed.
  bool operator==(const NpyArray &) const = default;
};

/// Parses a whole file's bytes; `name` starts every error.
Result<NpyArray> parseNpy(std::span<const uint8_t> bytes,
                          std::string_view name);
/// The file's bytes, version 1; the same array always gives the same bytes.
/// `data` must have the size that type and shape say.
std::vector<uint8_t> formatNpy(const NpyArray &array);

Result<NpyArray> readNpy(const std::string &path);
Status writeNpy(const std::string &path, const NpyArray &array);

} // namespace tessera

#endif // TESSERA_SUPPORT_NPY_H
