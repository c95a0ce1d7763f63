//===- Float8.h - Floats of eight bits ---------------------------*- C++
//-*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lanes have no floats of eight bits: a tensor of them holds their bits in i8,
// and conversions from and to f32 are arithmetic on bits, exact in one way and
// with one rounding, to nearest even, in the other.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_IMPORT_FLOAT8_H
#define TESSERA_LIB_IMPORT_FLOAT8_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Types.h"
#include <cstdint>
#include <optional>

namespace tessera::onnx {

struct Float8Format {
  int mantissaBits, bias;
  int largest;  ///< Bits of the largest finite number.
  int overflow; ///< Of what is larger: an infinity, or NaN.
  int nan;
  /// The bits of -0 are NaN, so that there is one zero.
  bool oneZero;
};

/// The format of an element type of the file; nothing for other types.
std::optional<Float8Format> float8Format(int32_t elementType);

/// The f32 that the bits (i8) stand for.
mlir::Value buildFromFloat8(mlir::ImplicitLocOpBuilder &b, mlir::Value bits,
                            const Float8Format &format);
/// The bits (i8) of the nearest number of the format. What is too large becomes
/// the largest finite one if `saturate`, infinities too.
mlir::Value buildToFloat8(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                          const Float8Format &format, bool saturate);

} // namespace tessera::onnx

#endif // TESSERA_LIB_IMPORT_FLOAT8_H
