//===- OnnxToGraph.h - From an ONNX model to a module -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_IMPORT_ONNXTOGRAPH_H
#define TESSERA_LIB_IMPORT_ONNXTOGRAPH_H

#include "tessera/Import/Import.h"
#include "tessera/Import/OnnxModel.h"
#include "llvm/ADT/SmallVector.h"

namespace tessera::onnx {

/// The shapes of the model's inputs with every dimension bound.
Result<std::vector<llvm::SmallVector<int64_t>>>
bindInputShapes(const Model &model, const ImportOptions &options);

/// Builds the module; errors do not name the file.
Result<mlir::OwningOpRef<mlir::ModuleOp>>
convertToGraph(mlir::MLIRContext &context, const Model &model,
               const ImportOptions &options);

ModelDescription descriptionOf(const Model &model);

} // namespace tessera::onnx

#endif // TESSERA_LIB_IMPORT_ONNXTOGRAPH_H
