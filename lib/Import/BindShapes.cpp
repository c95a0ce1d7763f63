//===- BindShapes.cpp - Symbolic dimensions of ONNX inputs ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A symbolic dimension takes its value from `--dim` or from the shape of an
// input that the user gave; all sources must agree.
//
//===----------------------------------------------------------------------===//

#include "OnnxToGraph.h"
#include "TensorBuilders.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

using namespace tessera;
using namespace tessera::onnx;

static Status invalid(std::string message) {
  return {StatusCode::InvalidArgument, std::move(message)};
}

static std::string symbolsText(const std::set<std::string> &symbols) {
  if (symbols.empty())
    return "the model has no symbolic dimensions";
  return fmt::format("the model has {}", fmt::join(symbols, ", "));
}

/// The shape that the user gave for the input, if any.
static Result<const std::vector<uint64_t> *>
givenShape(const ValueInfo &input, uint32_t position,
           const ImportOptions &options) {
  auto byName = options.inputShapes.find(input.name);
  auto byPosition = options.inputShapesByPosition.find(position);
  const std::vector<uint64_t> *shape = nullptr;
  if (byName != options.inputShapes.end())
    shape = &byName->second;
  if (byPosition != options.inputShapesByPosition.end()) {
    if (shape && *shape != byPosition->second)
      return invalid(
          fmt::format("input '{}' is given twice, by name and by its "
                      "position {}, with different shapes",
                      input.name, position));
    shape = &byPosition->second;
  }
  return shape;
}

/// Takes the values of symbolic dimensions from a given shape.
static Status bindFrom(const ValueInfo &input,
                       const std::vector<uint64_t> &given,
                       std::map<std::string, uint64_t> &bound) {
  const std::vector<Dimension> &declared = *input.shape;
  auto mismatch = [&](std::string why) {
    return invalid(fmt::format("input '{}': given is the shape [{}], {}",
                               input.name, fmt::join(given, ", "), why));
  };
  if (given.size() != declared.size())
    return mismatch(
        fmt::format("the model has {} dimensions", declared.size()));
  for (size_t i = 0; i < declared.size(); ++i) {
    if (declared[i].size) {
      if (*declared[i].size != given[i])
        return mismatch(fmt::format("dimension {} of the model is {}", i,
                                    *declared[i].size));
    } else if (!declared[i].symbol.empty()) {
      auto [entry, fresh] = bound.try_emplace(declared[i].symbol, given[i]);
      if (!fresh && entry->second != given[i])
        return mismatch(fmt::format("but dimension '{}' is {}",
                                    declared[i].symbol, entry->second));
    }
  }
  return Status::success();
}

Result<std::vector<llvm::SmallVector<int64_t>>>
tessera::onnx::bindInputShapes(const Model &model,
                               const ImportOptions &options) {
  std::set<std::string> symbols, names;
  for (const ValueInfo &input : model.inputs) {
    names.insert(input.name);
    if (!input.kind.empty())
      return invalid(fmt::format("input '{}' is {}; accepted are tensors",
                                 input.name, input.kind));
    if (!input.shape)
      return invalid(fmt::format("input '{}' has no shape", input.name));
    for (const Dimension &dimension : *input.shape)
      if (!dimension.size && !dimension.symbol.empty())
        symbols.insert(dimension.symbol);
  }
  for (const auto &[name, value] : options.dims)
    if (!symbols.count(name))
      return invalid(fmt::format("--dim {}={}: no such dimension; {}", name,
                                 value, symbolsText(symbols)));
  for (const auto &[name, shape] : options.inputShapes)
    if (!names.count(name))
      return invalid(fmt::format("no input is called '{}'; the model has {}",
                                 name, fmt::join(names, ", ")));
  for (const auto &[position, shape] : options.inputShapesByPosition)
    if (position >= model.inputs.size())
      return invalid(fmt::format("there is no input {}; the model has {}",
                                 position, model.inputs.size()));

  std::map<std::string, uint64_t> bound = options.dims;
  std::vector<const std::vector<uint64_t> *> given;
  for (uint32_t i = 0; i < model.inputs.size(); ++i) {
    TESSERA_ASSIGN_OR_RETURN(const std::vector<uint64_t> *shape,
                             givenShape(model.inputs[i], i, options));
    if (shape)
      TESSERA_RETURN_IF_ERROR(bindFrom(model.inputs[i], *shape, bound));
    given.push_back(shape);
  }

  std::vector<llvm::SmallVector<int64_t>> shapes;
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    const ValueInfo &input = model.inputs[i];
    llvm::SmallVector<int64_t> shape;
    for (size_t dim = 0; dim < input.shape->size(); ++dim) {
      const Dimension &dimension = (*input.shape)[dim];
      std::optional<uint64_t> size = dimension.size;
      if (given[i])
        size = (*given[i])[dim];
      if (!size && dimension.symbol.empty())
        return invalid(
            fmt::format("input '{}': dimension {} has neither a size "
                        "nor a name; give the input",
                        input.name, dim));
      if (!size) {
        auto entry = bound.find(dimension.symbol);
        if (entry == bound.end())
          return invalid(fmt::format(
              "input '{}': dimension {} is the symbolic '{}', which nothing "
              "fixes; give --dim {}=<size> or the input",
              input.name, dim, dimension.symbol, dimension.symbol));
        size = entry->second;
      }
      // Beyond this no shape is accepted anyway, and it fits the type.
      shape.push_back(
          static_cast<int64_t>(std::min<uint64_t>(*size, uint64_t(1) << 62)));
    }
    // Without elements it is a constant that is known.
    bool empty = llvm::is_contained(shape, 0);
    Status status =
        empty && shape.size() <= 32 ? Status::success() : checkShape(shape);
    if (!status.ok())
      return status.withContext(fmt::format("input '{}'", input.name));
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

ModelDescription tessera::onnx::descriptionOf(const Model &model) {
  ModelDescription description;
  description.format = "onnx";
  auto convert = [](const ValueInfo &info) {
    ModelDescription::Tensor tensor;
    tensor.name = info.name;
    tensor.type = signatureTypeName(info.elementType);
    if (info.shape)
      for (const Dimension &dimension : *info.shape)
        tensor.shape.push_back(dimension.size ? std::to_string(*dimension.size)
                               : dimension.symbol.empty() ? "?"
                                                          : dimension.symbol);
    return tensor;
  };
  for (const ValueInfo &input : model.inputs)
    description.inputs.push_back(convert(input));
  for (const ValueInfo &output : model.outputs)
    description.outputs.push_back(convert(output));
  for (const Node &node : model.nodes)
    ++description.operators[(node.domain.empty() ? "" : node.domain + ".") +
                            node.opType];
  for (const auto &[name, tensor] : model.initializers) {
    description.parameters += tensor.elementCount();
    description.parameterBytes += tensor.data->size();
  }
  return description;
}
