//===- ElementFunctions.h - What operators do to one element ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arithmetic of ONNX's element-wise operators on scalars inside of a
// linalg.generic. Floats are f32. Integers are signless: the ONNX type says
// whether they have a sign.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_IMPORT_ELEMENTFUNCTIONS_H
#define TESSERA_LIB_IMPORT_ELEMENTFUNCTIONS_H

#include "TensorBuilders.h"
#include "tessera/Import/OnnxModel.h"

namespace tessera::onnx {

/// Whether `opType` compares, with results of Bool.
bool isComparison(llvm::StringRef opType);

/// `x op y` for operands of an element type; null if the operator does not
/// accept the type.
mlir::Value buildBinary(llvm::StringRef opType, int32_t type,
                        mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                        mlir::Value y);

/// x to a power, for floats.
mlir::Value buildPower(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                       mlir::Value exponent);
/// x to a power, for signed integers, modulo 2^32; to a negative one the
/// quotient, rounded towards zero, of 1 and x to its magnitude (0 for x = 0).
mlir::Value buildIntegerPower(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                              mlir::Value exponent);
/// x to a constant power with few operations; null if there is none.
mlir::Value buildConstantPower(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                               double exponent);

/// An operator of one operand without attributes; null if it does not accept
/// the type.
mlir::Value buildUnary(llvm::StringRef opType, int32_t type,
                       mlir::ImplicitLocOpBuilder &b, mlir::Value x);

/// The conversion of ONNX's Cast. Both types are stored ones. To a float of
/// eight bits, numbers that are too large become the largest if `saturate`.
mlir::Value buildCast(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                      int32_t from, int32_t to, bool saturate = true);

mlir::Value buildSigmoid(mlir::ImplicitLocOpBuilder &b, mlir::Value x);
/// log(1 + exp(x)), without overflow.
mlir::Value buildSoftplus(mlir::ImplicitLocOpBuilder &b, mlir::Value x);
/// x times the normal distribution's integral, exact or by tanh.
mlir::Value buildGelu(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                      bool approximate);

} // namespace tessera::onnx

#endif // TESSERA_LIB_IMPORT_ELEMENTFUNCTIONS_H
