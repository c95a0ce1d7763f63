//===- Import.cpp - From a model file to a graph-level module -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Import/Import.h"
#include "MlirImport.h"
#include "OnnxToGraph.h"
#include "dialects/Check/CheckDialect.h"
#include "dialects/Graph/GraphDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MLProgram/IR/MLProgram.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "tessera/Support/File.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace tessera;

void tessera::registerImportDialects(DialectRegistry &registry) {
  registry
      .insert<arith::ArithDialect, cf::ControlFlowDialect, check::CheckDialect,
              func::FuncDialect, graph::GraphDialect, linalg::LinalgDialect,
              math::MathDialect, ml_program::MLProgramDialect, scf::SCFDialect,
              tensor::TensorDialect, tosa::TosaDialect>();
  func::registerInlinerExtension(registry);
}

namespace {
enum class Format { Onnx, Text, Bytecode };
} // namespace

/// Parses the bytes of the ONNX file at `path` and frees them.
static tessera::Result<onnx::Model> parseOnnx(std::string bytes,
                                              const std::string &path) {
  return onnx::parseOnnxModel(
      std::span(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()),
      path, llvm::sys::path::parent_path(path).str());
}

/// By the name's ending; a file with another ending by its first bytes.
static Format formatOf(StringRef path, StringRef bytes) {
  constexpr StringLiteral bytecodeMagic("ML\xefR");
  if (bytes.starts_with(bytecodeMagic))
    return Format::Bytecode;
  if (path.ends_with(".onnx"))
    return Format::Onnx;
  if (path.ends_with(".mlir"))
    return Format::Text;
  if (path.ends_with(".mlirbc"))
    return Format::Bytecode;
  // An ONNX file starts with its version, field 1.
  return bytes.starts_with("\x08") ? Format::Onnx : Format::Text;
}

static void loadDialects(MLIRContext &context) {
  DialectRegistry registry;
  registerImportDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
}

tessera::Result<OwningOpRef<ModuleOp>>
tessera::importModel(MLIRContext &context, const std::string &path,
                     const ImportOptions &options) {
  loadDialects(context);
  TESSERA_ASSIGN_OR_RETURN(std::string bytes, readTextFile(path));
  if (formatOf(path, bytes) == Format::Onnx) {
    TESSERA_ASSIGN_OR_RETURN(onnx::Model model,
                             parseOnnx(std::move(bytes), path));
    auto module = onnx::convertToGraph(context, model, options);
    if (!module.ok())
      return module.status().withContext(path);
    return module;
  }
  auto module = parseMlir(context, std::move(bytes), path);
  if (!module.ok())
    return module;
  if (Status status = normalizeMlir(**module, options); !status.ok())
    return status.withContext(path);
  return module;
}

tessera::Result<ModelDescription>
tessera::readDescription(MLIRContext &context, const std::string &path) {
  loadDialects(context);
  TESSERA_ASSIGN_OR_RETURN(std::string bytes, readTextFile(path));
  Format format = formatOf(path, bytes);
  if (format == Format::Onnx) {
    TESSERA_ASSIGN_OR_RETURN(onnx::Model model,
                             parseOnnx(std::move(bytes), path));
    return onnx::descriptionOf(model);
  }
  TESSERA_ASSIGN_OR_RETURN(OwningOpRef<ModuleOp> module,
                           parseMlir(context, std::move(bytes), path));
  return descriptionOf(*module, format == Format::Bytecode);
}
