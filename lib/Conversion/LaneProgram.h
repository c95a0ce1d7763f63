//===- LaneProgram.h - Bodies of tile.map as lane programs ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instruction selection and register allocation for the vector engine's lanes.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_LANEPROGRAM_H
#define TESSERA_LIB_CONVERSION_LANEPROGRAM_H

#include "mlir/IR/BuiltinAttributes.h"
#include "tessera/ISA/MapProgram.h"
#include "tessera/Support/NumericFormat.h"

namespace mlir {
class Block;
}

namespace tessera {

/// The format in which elements of `type` lie in memory, if there is one.
std::optional<NumericFormat> elementFormatOf(mlir::Type type);

/// The bits of a number in the format of its type, as `fill` takes them.
uint32_t elementBits(mlir::TypedAttr value);

/// The lane program of `body`, whose arguments are the inputs' elements and
/// whose terminator yields the outputs'. Emits an error at the operation that
/// has no lane operation or that runs out of registers.
mlir::FailureOr<isa::MapProgram> buildLaneProgram(mlir::Block &body);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_LANEPROGRAM_H
