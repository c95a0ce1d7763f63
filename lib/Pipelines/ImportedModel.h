//===- ImportedModel.h - A model as imported --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The module straight after import, with the context that owns it: what the
// compiler starts from and what the host reference runs.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PIPELINES_IMPORTEDMODEL_H
#define TESSERA_LIB_PIPELINES_IMPORTEDMODEL_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "tessera/Pipelines/Compiler.h"
#include <memory>
#include <string>

namespace tessera {

struct ImportedModel {
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The dispatches, inlined, with the result of each; null unless asked for.
  mlir::OwningOpRef<mlir::ModuleOp> dispatches;
};

/// Binds symbolic dimensions to `options.dims` and the shapes of given inputs,
/// then imports.
Result<std::shared_ptr<ImportedModel>>
importForCompilation(const std::string &path, const CompileOptions &options);

/// Fills DispatchInfo::operators: an operator belongs to the dispatch that
/// lists its model node, or all of them if it came from several ("a+b"). Where
/// a node became several dispatches (padding, say, and the convolution), one
/// takes it, so that sums hold: for a contraction one whose kernel uses the
/// matrix engine if there is one; of several the one that is expected to take
/// longest, and of equal ones the first.
void linkDispatchesToOperators(Object &object);

} // namespace tessera

#endif // TESSERA_LIB_PIPELINES_IMPORTEDMODEL_H
