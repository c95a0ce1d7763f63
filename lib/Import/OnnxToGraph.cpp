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
#include "NodeImport.h"
#include "ShapeInputs.h"
#include "dialects/Graph/GraphDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
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
static constexpr int64_t minOpset = 7, maxOpset = 28;

static tessera::Result<int64_t> readOpset(const Model &model) {
  auto found = model.opsets.find("");
  if (found == model.opsets.end())
    return invalid("names no version of the standard operators");
  if (found->second < minOpset || found->second > maxOpset)
    return invalid(fmt::format("uses version {} of the standard operators; "
                               "accepted are {} to {}",
                               found->second, minOpset, maxOpset));
  return found->second;
}

/// The values that some node or the model's user reads.
static std::set<std::string> valuesInUse(const Model &model) {
  std::set<std::string> used;
  for (const Node &node : model.nodes)
    used.insert(node.inputs.begin(), node.inputs.end());
  for (const ValueInfo &output : model.outputs)
    used.insert(output.name);
  return used;
}

/// Whether the node is one that the importer knows, in form.
static Status checkNode(const Node &node, const std::set<std::string> &used) {
  if (!node.domain.empty())
    return invalid(fmt::format("an operator of the domain '{}'; accepted are "
                               "standard operators",
                               node.domain));
  const Operator *op = findOperator(node.opType);
  if (!op)
    return {StatusCode::Unsupported,
            fmt::format("unknown operator; accepted are {}", knownOperators())};
  size_t inputs = node.inputs.size();
  while (inputs > 0 && node.inputs[inputs - 1].empty())
    --inputs;
  if (inputs < op->minInputs || inputs > op->maxInputs)
    return invalid(op->minInputs == op->maxInputs
                       ? fmt::format("has {} operands; accepted are {}", inputs,
                                     op->minInputs)
                       : fmt::format("has {} operands; accepted are {} to {}",
                                     inputs, op->minInputs, op->maxInputs));
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (i >= op->maxOutputs && used.count(node.outputs[i]))
      return {
          StatusCode::Unsupported,
          fmt::format("output {} ('{}') cannot be computed; accepted are {}", i,
                      node.outputs[i], op->maxOutputs)};
  if (node.outputs.empty() || node.outputs[0].empty())
    return invalid("has no output");
  llvm::SmallVector<StringRef> accepted;
  op->attributes.split(accepted, ' ', -1, /*KeepEmpty=*/false);
  for (const auto &[name, attribute] : node.attributes)
    if (!llvm::is_contained(accepted, name))
      return invalid(
          fmt::format("attribute '{}' is unknown; accepted are {}", name,
                      accepted.empty() ? "none" : llvm::join(accepted, ", ")));
  return Status::success();
}

namespace {
/// Problems with inputs and nodes, in the model's order.
class Problems {
public:
  void add(const ValueInfo &input) {
    lines.push_back(fmt::format(
        "input '{}': has elements of type {}; accepted are float, float16, "
        "bfloat16, int8, uint8, int32 and bool",
        input.name, elementTypeName(input.elementType)));
  }
  void add(const Node &node, const Status &status) {
    lines.push_back(fmt::format("node '{}' ({}): {}", node.displayName(),
                                node.opType, status.message()));
    if (status.code() == StatusCode::Unsupported)
      code = StatusCode::Unsupported;
  }
  Status status() const {
    if (lines.empty())
      return Status::success();
    if (lines.size() == 1)
      return {code, lines.front()};
    std::string text = fmt::format("{} problems:", lines.size());
    // The list of what is accepted is long: given once.
    std::string operators = "; accepted are " + knownOperators();
    bool listed = false;
    for (std::string line : lines) {
      if (StringRef(line).ends_with(operators)) {
        line.resize(line.size() - operators.size());
        listed = true;
      }
      text += "\n  " + line;
    }
    if (listed)
      text += "\n  known operators: " + knownOperators();
    return {code, text};
  }

private:
  std::vector<std::string> lines;
  StatusCode code = StatusCode::InvalidArgument;
};
} // namespace

static void importNodes(const Model &model, int64_t opset, GraphValues &values,
                        OpBuilder &builder, Problems &problems) {
  std::set<std::string> used = valuesInUse(model);
  used.erase(""); // An omitted operand.
  for (const Node &node : model.nodes) {
    auto fail = [&](const Status &status) {
      problems.add(node, status);
      for (const std::string &output : node.outputs)
        values.byName[output].missing = true;
    };
    if (Status status = checkNode(node, used); !status.ok()) {
      fail(status);
      continue;
    }
    if (llvm::any_of(node.inputs, [&](const std::string &name) {
          return !name.empty() && values.byName[name].missing;
        })) {
      for (const std::string &output : node.outputs)
        values.byName[output].missing = true;
      continue;
    }
    ImplicitLocOpBuilder b(
        NameLoc::get(builder.getStringAttr(node.displayName())), builder);
    NodeImport import(node, opset, values, b);
    if (Status status = findOperator(node.opType)->import(import); !status.ok())
      fail(status);
  }
}

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
    declared += (declared.empty() ? "" : ", ") +
                (dim.size ? std::to_string(*dim.size)
                          : dim.symbol.empty() ? "?" : dim.symbol);
  return invalid(fmt::format(
      "output '{}': is declared as [{}], the graph gives [{}]", output.name,
      declared, fmt::join(shape, ", ")));
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

tessera::Result<OwningOpRef<ModuleOp>>
tessera::onnx::convertToGraph(MLIRContext &context, const Model &model,
                              const ImportOptions &options) {
  TESSERA_ASSIGN_OR_RETURN(int64_t opset, readOpset(model));
  TESSERA_ASSIGN_OR_RETURN(std::vector<SmallVector<int64_t>> shapes,
                           bindInputShapes(model, options));

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
    values.byName[name].constant = std::make_shared<const Tensor>(tensor);
  Problems problems;
  std::set<std::string> deciding = inputsThatDecideShapes(model);
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    const ValueInfo &input = model.inputs[i];
    GraphValue &entry = values.byName[input.name];
    entry.elementType = input.elementType;
    if (deciding.count(input.name))
      entry.constant = givenValue(input, i, shapes[i], options);
    if (entry.constant)
      continue;
    entry.value = body->getArgument(i);
    if (!storedType(&context, input.elementType)) {
      problems.add(input);
      entry.missing = true;
    }
  }
  importNodes(model, opset, values, builder, problems);
  TESSERA_RETURN_IF_ERROR(problems.status());

  SmallVector<Value> results;
  SmallVector<int32_t> resultTypes;
  for (const ValueInfo &output : model.outputs) {
    tessera::Result<Value> value = values.materialize(output.name);
    if (!value.ok())
      return value.status().withContext("output");
    results.push_back(*value);
    resultTypes.push_back(values.byName[output.name].elementType);
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
    return TypeAttr::get(
        elementType == Uint8   ? builder.getIntegerType(8, /*isSigned=*/false)
        : elementType == Int64 ? builder.getI64Type()
                               : storedType(&context, elementType));
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
  TESSERA_RETURN_IF_ERROR(verifyModule(*module));
  return module;
}
