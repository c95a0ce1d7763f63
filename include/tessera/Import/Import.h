//===- Import.h - From a model file to a graph-level module -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The front doors. Whatever the file's format, the result is a module with one
// function `@main` from tensors to tensors, with static shapes, in the dialects
// linalg, tensor, arith, math and graph. Its arguments and results carry
// `graph.name` and `graph.type`; the location of an operation that comes from
// an ONNX node is a NameLoc of the node's name. Constants of 1 KiB and more are
// dense resources that share the file's bytes.
//
// Errors are one line, "file: node 'x' (Conv): what is wrong; what is
// accepted"; if several nodes cannot be imported, a line for each follows the
// first.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IMPORT_IMPORT_H
#define TESSERA_IMPORT_IMPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tessera/Import/ModelDescription.h"
#include "tessera/Support/Progress.h"
#include "tessera/Support/Status.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mlir {
class DialectRegistry;
class MLIRContext;
} // namespace mlir

namespace tessera {

struct ImportOptions {
  /// Values of symbolic dimensions by name (`--dim`).
  std::map<std::string, uint64_t> dims;
  /// Shapes of inputs that the user gave, by the input's name or position; they
  /// bind symbolic dimensions and must agree with the model.
  std::map<std::string, std::vector<uint64_t>> inputShapes;
  std::map<uint32_t, std::vector<uint64_t>> inputShapesByPosition;
  /// The bytes of small inputs by their position: an ONNX input that decides
  /// shapes is a constant with this value.
  std::map<uint32_t, std::string> inputBytesByPosition;
  std::map<std::string, std::string> inputBytes; ///< Likewise, by name.
  /// Hears of the nodes of an ONNX model.
  ProgressFunction progress;
};

/// Registers every dialect that importModel() needs in its context.
void registerImportDialects(mlir::DialectRegistry &registry);

/// Imports `path` (.onnx, .mlir or .mlirbc, told apart by the file's name, else
/// by its first bytes). Diagnostics of the context's own handlers are not used.
Result<mlir::OwningOpRef<mlir::ModuleOp>>
importModel(mlir::MLIRContext &context, const std::string &path,
            const ImportOptions &options);

/// Reads what `path` declares.
Result<ModelDescription> readDescription(mlir::MLIRContext &context,
                                         const std::string &path);

/// Registers `--import-onnx` with tessera-translate.
void registerImportTranslations();

} // namespace tessera

#endif // TESSERA_IMPORT_IMPORT_H
