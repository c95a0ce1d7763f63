//===- Translation.cpp - The importers as translations --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `tessera-translate --import-onnx` and `--import-mlir`: what the compiler sees
// after import, for tests and for people.
//
//===----------------------------------------------------------------------===//

#include "mlir/Tools/mlir-translate/Translation.h"
#include "MlirImport.h"
#include "OnnxToGraph.h"
#include "mlir/IR/DialectRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace tessera;

/// NAME=SIZE, …
static tessera::Result<ImportOptions>
optionsFrom(const llvm::cl::list<std::string> &dims) {
  ImportOptions options;
  for (StringRef text : dims) {
    auto [name, size] = text.split('=');
    uint64_t value;
    if (name.empty() || size.getAsInteger(10, value))
      return Status(StatusCode::InvalidArgument,
                    "--dim " + text.str() + ": accepted is NAME=SIZE");
    options.dims[name.str()] = value;
  }
  return options;
}

static tessera::Result<OwningOpRef<ModuleOp>>
translate(const llvm::MemoryBuffer &buffer, bool onnxFile, MLIRContext *context,
          const llvm::cl::list<std::string> &dims) {
  TESSERA_ASSIGN_OR_RETURN(ImportOptions options, optionsFrom(dims));
  std::string name = buffer.getBufferIdentifier().str();
  if (!onnxFile) {
    auto module = parseMlir(*context, buffer.getBuffer().str(), name);
    if (!module.ok())
      return module;
    if (Status status = normalizeMlir(**module, options); !status.ok())
      return status.withContext(name);
    return module;
  }
  auto bytes = llvm::arrayRefFromStringRef(buffer.getBuffer());
  TESSERA_ASSIGN_OR_RETURN(
      onnx::Model model,
      onnx::parseOnnxModel(std::span(bytes.data(), bytes.size()), name,
                           llvm::sys::path::parent_path(name).str()));
  auto module = onnx::convertToGraph(*context, model, options);
  if (!module.ok())
    return module.status().withContext(name);
  return module;
}

void tessera::registerImportTranslations() {
  static llvm::cl::list<std::string> dims(
      "dim", llvm::cl::desc("The size of a symbolic dimension of the model"),
      llvm::cl::value_desc("NAME=SIZE"));
  auto add = [](StringRef name, StringRef description, bool onnxFile) {
    TranslateToMLIRRegistration registration(
        name, description,
        [onnxFile](llvm::SourceMgr &sources,
                   MLIRContext *context) -> OwningOpRef<Operation *> {
          context->loadAllAvailableDialects();
          auto module =
              translate(*sources.getMemoryBuffer(1), onnxFile, context, dims);
          if (module.ok())
            return OwningOpRef<Operation *>(module->release());
          emitError(UnknownLoc::get(context)) << module.status().message();
          return nullptr;
        },
        [](DialectRegistry &registry) { registerImportDialects(registry); });
  };
  add("import-onnx", "Import an ONNX model", true);
  add("import-mlir", "Import TOSA or linalg on tensors", false);
}
