//===- Tile.h - The tile dialect -------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One core's kernel on tiles in SPM and ACC; TileOps.td says what each
// operation means.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_TILE_TILE_H
#define TESSERA_DIALECTS_TILE_TILE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include <optional>

#include "dialects/Tile/TileDialect.h.inc"
#include "dialects/Tile/TileEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Tile/TileAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/Tile/TileOps.h.inc"

namespace tessera::tile {

/// The space of a buffer; nullopt if the type carries none of this dialect's.
std::optional<Space> getSpace(mlir::Type type);

/// The buffer or argument of which `memref` is a view.
mlir::Value getBase(mlir::Value memref);

/// Smallest and largest value of `expr`, a sum of dimensions times constants
/// and constants, over the box [0, bounds). nullopt if it is none or uses
/// symbols.
std::optional<std::pair<int64_t, int64_t>>
getRange(mlir::AffineExpr expr, llvm::ArrayRef<int64_t> bounds);

} // namespace tessera::tile

#endif // TESSERA_DIALECTS_TILE_TILE_H
