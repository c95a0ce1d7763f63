//===- TileProblem.h --------------------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a dispatch's body to the planner's problem.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRANSFORMS_TILEPROBLEM_H
#define TESSERA_LIB_TRANSFORMS_TILEPROBLEM_H

#include "TilePlanner.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tessera {

/// Arguments of a dispatch's body.
using SharedTensors = llvm::SmallDenseSet<mlir::Value>;

/// One loop nest of a dispatch: a root with the producers that run on its
/// tiles.
struct TileNest {
  mlir::linalg::LinalgOp root;
  /// The operation whose reduction loops may be tiled; null if there is none.
  mlir::linalg::LinalgOp reducer;
  TileProblem problem;
  /// The keys of the attention that it is; nothing if it is none.
  std::optional<unsigned> keyDim;
  /// The problem's dimension of each loop of the root and of the reducer.
  llvm::SmallVector<unsigned> rootDims, reducerDims;
};

/// Operations of one body, by the engine work that an element costs: additions,
/// comparisons and so on, and special functions. Casts between widths are free.
struct BodyOperations {
  unsigned alu = 0, sfu = 0;
};
BodyOperations countOperations(mlir::Block &body);

/// The device's format of an element type; F32 for what it does not know.
NumericFormat formatOf(mlir::Type type);

/// Describes the nest with this root. Everything that the root reads from
/// inside the dispatch belongs to it. `shared` are the dispatch's arguments that
/// the shared SRAM holds.
TileNest buildTileNest(mlir::linalg::LinalgOp root, llvm::StringRef name,
                       const SharedTensors &shared = {});

} // namespace tessera

#endif // TESSERA_LIB_TRANSFORMS_TILEPROBLEM_H
