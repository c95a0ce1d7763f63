//===- ImportedModel.cpp - Models as imported, and their reference --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ImportedModel.h"
#include "tessera/Import/Import.h"
#include "tessera/Pipelines/Registration.h"

using namespace mlir;
using namespace tessera;

static std::unique_ptr<MLIRContext> createContext() {
  DialectRegistry registry;
  registerTesseraDialects(registry);
  registerImportDialects(registry);
  // One thread: diagnostics and printed IR come in program order.
  return std::make_unique<MLIRContext>(registry,
                                       MLIRContext::Threading::DISABLED);
}

Result<std::shared_ptr<ImportedModel>>
tessera::importForCompilation(const std::string &path,
                              const CompileOptions &options) {
  auto imported = std::make_shared<ImportedModel>();
  imported->context = createContext();
  ImportOptions importOptions{options.dims,
                              options.inputShapes,
                              options.inputShapesByPosition,
                              options.inputBytesByPosition,
                              options.inputBytes,
                              options.progress};
  TESSERA_ASSIGN_OR_RETURN(
      imported->module, importModel(*imported->context, path, importOptions));
  return imported;
}

Result<ModelDescription> tessera::describeModel(const std::string &path) {
  std::unique_ptr<MLIRContext> context = createContext();
  return readDescription(*context, path);
}
