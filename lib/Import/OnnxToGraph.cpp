//===- OnnxToGraph.cpp - From an ONNX model to a module -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nodes are imported one after the other. A node that cannot be imported does
// not end the import: its results count as missing, nodes that need them are
// only looked up in the table of operators, and at the end every problem is
// reported at once.
//
//===----------------------------------------------------------------------===//

#include "OnnxToGraph.h"
#include "BooleanBoundary.h"
#include "FormCheck.h"
#include "NodeImport.h"
#include "ShapeInputs.h"
#include "WideBoundary.h"
#include "dialects/Graph/GraphDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>
#include <set>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

static Status invalid(std::string message) {
  return {StatusCode::InvalidArgument, std::move(message)};
}

// The versions of the standard operators whose meaning is known.
static constexpr int64_t minOpset = 1, maxOpset = 28;

static Status checkOpset(const Model &model) {
  auto found = model.opsets.find("");
  if (found == model.opsets.end())
    return invalid("names no version of the standard operators");
  if (found->second < minOpset || found->second > maxOpset)
    return invalid(fmt::format("uses version {} of the standard operators; "
                               "accepted are {} to {}",
                               found->second, minOpset, maxOpset));
  return Status::success();
}

namespace {
/// Problems with inputs and nodes, in the model's order.
class Problems {
public:
  void add(const ValueInfo &input) {
    lines.push_back(fmt::format(
        "input '{}': has elements of type {}; accepted are float, float16, "
        "bfloat16, float8 types, int8, uint8, int32, int64 and bool",
        input.name, elementTypeName(input.elementType)));
  }
  void add(const Status &status) { lines.push_back(status.message()); }
  void add(const Node &node, const Status &status) {
    // One line for each problem of an inner graph.
    llvm::SmallVector<StringRef> parts;
    StringRef(status.message()).split(parts, '\n');
    for (StringRef part : parts)
      lines.push_back(fmt::format("node '{}' ({}): {}", node.displayName(),
                                  node.opType, part.str()));
    if (status.code() == StatusCode::Unsupported)
      code = StatusCode::Unsupported;
  }
  Status status() {
    if (lines.empty())
      return Status::success();
    if (lines.size() == 1)
      return {code, lines.front()};
    std::string text = fmt::format("{} problems:", lines.size());
    // The lists of what is accepted are long: given once.
    std::string lists;
    for (StringRef domain : {"", "com.microsoft"}) {
      std::string known = knownOperators(domain);
      std::string operators = "; accepted are " + known;
      bool listed = false;
      for (std::string &line : lines)
        if (StringRef(line).ends_with(operators)) {
          line.resize(line.size() - operators.size());
          listed = true;
        }
      if (listed)
        lists +=
            fmt::format("\n  known operators{}: {}",
                        domain.empty() ? "" : " of " + domain.str(), known);
    }
    for (const std::string &line : lines)
      text += "\n  " + line;
    return {code, text + lists};
  }

private:
  std::vector<std::string> lines;
  StatusCode code = StatusCode::InvalidArgument;
};
} // namespace

/// Verifies the module and turns diagnostics into a Status: what the importer
/// builds must be valid, so this is an error of ours.
/// A result that is not what the file declares it to be means a damaged file or
/// a misread one. Symbolic and missing dimensions accept any size.
static Status checkDeclaration(const ValueInfo &output, Value value,
                               int32_t elementType) {
  if (output.elementType != Undefined && elementType != Undefined &&
      output.elementType != elementType)
    return invalid(fmt::format(
        "output '{}': is declared to have elements of type {}, the graph gives "
        "{}",
        output.name, elementTypeName(output.elementType),
        elementTypeName(elementType)));
  // Some exporters write a shape without dimensions where they know none.
  if (!output.shape || output.shape->empty())
    return Status::success();
  ArrayRef<int64_t> shape = cast<ShapedType>(value.getType()).getShape();
  bool agrees = shape.size() == output.shape->size();
  for (size_t i = 0; agrees && i < shape.size(); ++i)
    agrees = !(*output.shape)[i].size ||
             int64_t(*(*output.shape)[i].size) == shape[i];
  if (agrees)
    return Status::success();
  std::string declared;
  for (const Dimension &dim : *output.shape)
    declared +=
        (declared.empty() ? "" : ", ") + (dim.size ? std::to_string(*dim.size)
                                          : dim.symbol.empty() ? "?"
                                                               : dim.symbol);
  return invalid(
      fmt::format("output '{}': is declared as [{}], the graph gives [{}]",
                  output.name, declared, fmt::join(shape, ", ")));
}

/// The type that an element of the model has for its user.
static Type signatureType(Builder &builder, int32_t elementType) {
  switch (elementType) {
  case Uint8:
    return builder.getIntegerType(8, /*isSigned=*/false);
  case Int64:
    return builder.getI64Type();
  case Float8E4M3FN:
    return builder.getType<Float8E4M3FNType>();
  case Float8E4M3FNUZ:
    return builder.getType<Float8E4M3FNUZType>();
  case Float8E5M2:
    return builder.getType<Float8E5M2Type>();
  case Float8E5M2FNUZ:
    return builder.getType<Float8E5M2FNUZType>();
  default:
    return storedType(builder.getContext(), elementType);
  }
}

static Status verifyModule(ModuleOp module) {
  std::string text;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &d) {
    if (text.empty())
      text = d.str();
    return success();
  });
  if (failed(verify(module)))
    return {StatusCode::Internal,
            "the importer built an invalid module: " + text};
  return Status::success();
}

/// What is in the way of a model whose shapes are not known, for the reason
/// given: the nodes that cannot be imported whatever these are, too.
static Status problemsWithoutShapes(const Model &model, const Status &reason) {
  Problems problems;
  problems.add(reason);
  std::set<std::string> deciding = inputsThatDecideShapes(model);
  ComputedNames computed;
  for (const ValueInfo &input : model.inputs) {
    if (input.elementType == String)
      problems.add(input);
    // Those are constants, once they are given.
    if (!deciding.count(input.name))
      computed.insert(input.name);
  }
  auto report = [&](const Node &node, const Status &status) {
    problems.add(node, status);
  };
  FormCheck form(model, report);
  std::set<std::string> outputs;
  for (const ValueInfo &output : model.outputs)
    outputs.insert(output.name);
  form.checkNodes(model.nodes, outputs, computed);
  return problems.status();
}

tessera::Result<OwningOpRef<ModuleOp>>
tessera::onnx::convertToGraph(MLIRContext &context, const Model &model,
                              const ImportOptions &options) {
  TESSERA_RETURN_IF_ERROR(checkOpset(model));
  auto bound = bindInputShapes(model, options);
  if (!bound.ok())
    return problemsWithoutShapes(model, bound.status());
  std::vector<SmallVector<int64_t>> shapes = std::move(*bound);

  OpBuilder builder(&context);
  Location loc = NameLoc::get(builder.getStringAttr(
      model.graphName.empty() ? "main" : model.graphName));
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  SmallVector<Type> inputTypes;
  for (size_t i = 0; i < shapes.size(); ++i) {
    Type element = storedType(&context, model.inputs[i].elementType);
    // An argument that nothing reads, or an input that is refused below.
    if (!element)
      element = model.inputs[i].elementType == Int64
                    ? Type(builder.getI64Type())
                    : Type(builder.getF32Type());
    inputTypes.push_back(RankedTensorType::get(shapes[i], element));
  }
  auto function = func::FuncOp::create(builder, loc, "main",
                                       builder.getFunctionType(inputTypes, {}));
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  // Everything goes before the terminator, a constant just before its first
  // use.
  auto end = func::ReturnOp::create(builder, loc);
  builder.setInsertionPoint(end);

  GraphValues values(builder);
  for (const auto &[name, tensor] : model.initializers)
    values[name].constant = std::make_shared<const Tensor>(tensor);
  Problems problems;
  std::set<std::string> deciding = inputsThatDecideShapes(model);
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    const ValueInfo &input = model.inputs[i];
    GraphValue &entry = values[input.name];
    entry.elementType = input.elementType;
    if (llvm::is_contained(shapes[i], 0) &&
        elementBytes(input.elementType) != 0) {
      Tensor empty;
      empty.name = input.name;
      empty.elementType = input.elementType;
      empty.shape.assign(shapes[i].begin(), shapes[i].end());
      empty.data = std::make_shared<const std::string>();
      entry.constant = std::make_shared<const Tensor>(std::move(empty));
    } else if (deciding.count(input.name))
      entry.constant = givenValue(input, i, shapes[i], options);
    if (entry.constant)
      continue;
    entry.value = body->getArgument(i);
    if (!storedType(&context, input.elementType)) {
      problems.add(input);
      entry.missing = true;
    }
  }
  ImportScope scope{model, model.opsets, 0, &options.progress};
  std::set<std::string> outputs;
  for (const ValueInfo &output : model.outputs)
    outputs.insert(output.name);
  importNodes(model.nodes, outputs, scope, values, builder,
              [&](const Node &node, const Status &status) {
                problems.add(node, status);
              });
  TESSERA_RETURN_IF_ERROR(problems.status());

  SmallVector<Value> results;
  SmallVector<int32_t> resultTypes;
  for (const ValueInfo &output : model.outputs) {
    tessera::Result<Value> value = values.materialize(output.name);
    // Without elements there is nothing to compute.
    if (const auto &constant = values[output.name].constant;
        constant && constant->elementCount() == 0 &&
        storedType(&context, constant->elementType)) {
      SmallVector<int64_t> shape(constant->shape.begin(),
                                 constant->shape.end());
      value =
          tensor::EmptyOp::create(builder, loc, shape,
                                  storedType(&context, constant->elementType))
              .getResult();
    }
    if (!value.ok())
      return value.status().withContext("output");
    results.push_back(*value);
    resultTypes.push_back(values[output.name].elementType);
    TESSERA_RETURN_IF_ERROR(
        checkDeclaration(output, *value, resultTypes.back()));
  }
  end->setOperands(results);
  function.setType(
      builder.getFunctionType(inputTypes, ValueRange(results).getTypes()));
  auto name = [&](const std::string &text) {
    return builder.getStringAttr(text);
  };
  auto type = [&](int32_t elementType) {
    return TypeAttr::get(signatureType(builder, elementType));
  };
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    function.setArgAttr(i, graph::nameAttrName, name(model.inputs[i].name));
    function.setArgAttr(i, graph::typeAttrName,
                        type(model.inputs[i].elementType));
  }
  for (size_t i = 0; i < model.outputs.size(); ++i) {
    function.setResultAttr(i, graph::nameAttrName, name(model.outputs[i].name));
    function.setResultAttr(i, graph::typeAttrName, type(resultTypes[i]));
  }
  storeBooleansAsBytes(function);
  storeIntegersAsPairs(function);
  TESSERA_RETURN_IF_ERROR(verifyModule(*module));
  return module;
}
