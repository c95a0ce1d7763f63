//===- ImportedModel.cpp - Models as imported, and their reference --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ImportedModel.h"
#include "tessera/Import/Import.h"
#include "tessera/Pipelines/Registration.h"
#include "tessera/Reference/Reference.h"

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
  TESSERA_ASSIGN_OR_RETURN(ModelDeclaration declaration,
                           readDeclaration(*context, path));
  ModelDescription description;
  description.format = declaration.format;
  for (const ModelDeclaration::Tensor &tensor : declaration.inputs)
    description.inputs.push_back({tensor.name, tensor.type, tensor.shape});
  for (const ModelDeclaration::Tensor &tensor : declaration.outputs)
    description.outputs.push_back({tensor.name, tensor.type, tensor.shape});
  description.operators = declaration.operators;
  description.parameterBytes = declaration.parameterBytes;
  return description;
}

Result<std::vector<HostTensor>>
tessera::runReference(const CompiledModel &model,
                      std::span<const HostTensor> inputs) {
  TESSERA_ASSIGN_OR_RETURN(HostReference reference,
                           HostReference::compile(*model.imported->module));
  std::vector<std::span<const std::byte>> bytes;
  for (const HostTensor &input : inputs)
    bytes.emplace_back(input.bytes);
  TESSERA_ASSIGN_OR_RETURN(auto results, reference.run(bytes));
  if (model.imported->dispatches) {
    TESSERA_ASSIGN_OR_RETURN(
        HostReference each,
        HostReference::compile(*model.imported->dispatches));
    TESSERA_ASSIGN_OR_RETURN(auto all, each.run(bytes));
    for (size_t i = results.size(); i < all.size(); ++i)
      results.push_back(std::move(all[i]));
  }
  const std::vector<TensorSignature> &signature = model.object.outputs;
  if (results.size() != signature.size())
    return Status(
        StatusCode::Internal,
        "the reference gives another number of outputs than the object");
  std::vector<HostTensor> outputs;
  for (size_t i = 0; i < results.size(); ++i)
    outputs.push_back({signature[i].name, signature[i].type, signature[i].shape,
                       std::move(results[i])});
  return outputs;
}
