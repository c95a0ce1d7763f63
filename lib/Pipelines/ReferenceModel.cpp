//===- ReferenceModel.cpp - The reference of a compiled model -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ImportedModel.h"
#include "tessera/Reference/Reference.h"
#include <optional>

using namespace tessera;

struct ReferenceModel::Programs {
  HostReference model;
  std::optional<HostReference> dispatches;
  std::vector<TensorSignature> signature; ///< Of the outputs.
};

Result<ReferenceModel> ReferenceModel::compile(const CompiledModel &model) {
  TESSERA_ASSIGN_OR_RETURN(HostReference whole,
                           HostReference::compile(*model.imported->module));
  auto programs = std::make_unique<Programs>(
      Programs{std::move(whole), std::nullopt, model.object.outputs});
  if (model.imported->dispatches) {
    TESSERA_ASSIGN_OR_RETURN(
        programs->dispatches,
        HostReference::compile(*model.imported->dispatches));
  }
  return ReferenceModel(std::move(programs));
}

Result<std::vector<HostTensor>>
ReferenceModel::run(std::span<const HostTensor> inputs,
                    HostRounding rounding) const {
  std::vector<std::span<const std::byte>> bytes;
  for (const HostTensor &input : inputs)
    bytes.emplace_back(input.bytes);
  TESSERA_ASSIGN_OR_RETURN(auto results, programs->model.run(bytes, rounding));
  if (programs->dispatches) {
    TESSERA_ASSIGN_OR_RETURN(auto all,
                             programs->dispatches->run(bytes, rounding));
    for (size_t i = results.size(); i < all.size(); ++i)
      results.push_back(std::move(all[i]));
  }
  const std::vector<TensorSignature> &signature = programs->signature;
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

ReferenceModel::ReferenceModel(std::unique_ptr<Programs> programs)
    : programs(std::move(programs)) {}
ReferenceModel::ReferenceModel(ReferenceModel &&) noexcept = default;
ReferenceModel &ReferenceModel::operator=(ReferenceModel &&) noexcept = default;
ReferenceModel::~ReferenceModel() = default;
