//===- NodeImport.cpp - One ONNX node being imported ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeImport.h"
#include "ConstantMath.h"
#include "TensorBuilders.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

//===-- Values ------------------------------------------------------------===//

/// From this size on a constant is a dense resource, which shares its bytes and
/// is never hashed.
static constexpr size_t resourceBytes = 1024;

Type tessera::onnx::storedType(MLIRContext *context, int32_t elementType) {
  Builder builder(context);
  switch (elementType) {
  case Float:
    return builder.getF32Type();
  case Float16:
    return builder.getF16Type();
  case BFloat16:
    return builder.getBF16Type();
  case Int8:
  case Uint8:
    return builder.getI8Type();
  case Int4:
  case Uint4:
  case Float8E4M3FN: // Their bits, for movement and conversions.
  case Float8E4M3FNUZ:
  case Float8E5M2:
  case Float8E5M2FNUZ:
    return builder.getI8Type();
  case Int32:
    return builder.getI32Type();
  case Int64:
    return builder.getI64Type();
  case Bool:
    return builder.getI1Type();
  default:
    return Type();
  }
}

Value GraphValues::buildConstant(const Tensor &tensor, StringRef name) {
  SmallVector<int64_t> shape(tensor.shape.begin(), tensor.shape.end());
  auto type = RankedTensorType::get(
      shape, storedType(constants.getContext(), tensor.elementType));
  ArrayRef<char> bytes(tensor.data->data(), tensor.data->size());
  Location loc = NameLoc::get(constants.getStringAttr(name));
  ElementsAttr value;
  if (tensor.elementType == Bool) {
    SmallVector<bool> truths;
    for (char byte : bytes)
      truths.push_back(byte != 0);
    value = DenseElementsAttr::get(type, ArrayRef<bool>(truths));
  } else if (bytes.size() < resourceBytes) {
    value = DenseElementsAttr::getFromRawBuffer(type, bytes);
  } else {
    std::shared_ptr<const std::string> owner = tensor.data;
    AsmResourceBlob blob = UnmanagedAsmResourceBlob::allocateWithAlign(
        bytes, elementBytes(tensor.elementType),
        [owner](void *, size_t, size_t) mutable { owner.reset(); });
    value = DenseResourceElementsAttr::get(type, name, std::move(blob));
  }
  return arith::ConstantOp::create(constants, loc, type, value);
}

GraphValue &GraphValues::operator[](const std::string &name) {
  for (GraphValues *values = this; values; values = values->outer)
    if (auto found = values->byName.find(name); found != values->byName.end())
      return found->second;
  return byName[name];
}

tessera::Result<Value> GraphValues::materialize(const std::string &name) {
  GraphValue &entry = (*this)[name];
  if (entry.value)
    return entry.value;
  if (!entry.constant ||
      !storedType(constants.getContext(), entry.constant->elementType))
    return NodeImport::error(fmt::format(
        "'{}' has elements of type {}; accepted are float, float16, bfloat16, "
        "int8, uint8, int32, int64 and bool",
        name,
        entry.constant ? elementTypeName(entry.constant->elementType)
                       : "unknown"));
  if (entry.constant->elementCount() == 0)
    return NodeImport::error(fmt::format(
        "'{}' has no elements; accepted are extents of at least 1", name));
  entry.elementType = entry.constant->elementType;
  entry.value = buildConstant(*entry.constant, name);
  return entry.value;
}

//===-- Operands ----------------------------------------------------------===//

tessera::Result<Value> NodeImport::storedInput(size_t index) {
  if (!hasInput(index))
    return error(fmt::format("operand {} is missing", index));
  return values.materialize(node.inputs[index]);
}

int32_t NodeImport::inputType(size_t index) const {
  if (!hasInput(index))
    return Undefined;
  const GraphValue &entry = values[node.inputs[index]];
  return entry.constant ? entry.constant->elementType : entry.elementType;
}

tessera::Result<Value> NodeImport::input(size_t index) {
  TESSERA_ASSIGN_OR_RETURN(Value value, storedInput(index));
  int32_t type = inputType(index);
  if (type == Float)
    return value;
  if (type != Float16 && type != BFloat16)
    return error(fmt::format("operand {} has elements of type {}; accepted are "
                             "float, float16 and bfloat16",
                             index, elementTypeName(type)));
  if (narrowType == Undefined)
    narrowType = type;
  return buildElementwise(b, value, b.getF32Type(),
                          [](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                            return arith::ExtFOp::create(b, b.getF32Type(),
                                                         e[0]);
                          });
}

const Tensor *NodeImport::constantInput(size_t index) const {
  if (!hasInput(index))
    return nullptr;
  return values[node.inputs[index]].constant.get();
}

tessera::Result<std::vector<int64_t>> NodeImport::integerInput(size_t index) {
  const Tensor *constant = constantInput(index);
  if (!constant)
    return error(fmt::format("operand {} decides the shape, but is computed by "
                             "the model; accepted is a constant",
                             index));
  std::optional<std::vector<int64_t>> integers = constant->integers();
  if (!integers)
    return error(fmt::format("operand {} has elements of type {}; accepted are "
                             "int64 and int32",
                             index, elementTypeName(constant->elementType)));
  return *integers;
}

tessera::Result<float> NodeImport::scalarInput(size_t index) {
  const Tensor *constant = constantInput(index);
  std::optional<std::vector<double>> numbers;
  if (constant && constant->elementCount() == 1 &&
      (constant->elementType == Float || constant->elementType == Float16 ||
       constant->elementType == BFloat16))
    numbers = constant->numbers();
  if (!numbers)
    return error(fmt::format("operand {}: accepted is a constant with one "
                             "float element",
                             index));
  return static_cast<float>(numbers->front());
}

tessera::Result<std::vector<int64_t>> NodeImport::inputShape(size_t index) {
  if (const Tensor *constant = constantInput(index))
    return std::vector<int64_t>(constant->shape.begin(), constant->shape.end());
  TESSERA_ASSIGN_OR_RETURN(Value value, storedInput(index));
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  return std::vector<int64_t>(shape.begin(), shape.end());
}

//===-- Attributes --------------------------------------------------------===//

const onnx::Attribute *NodeImport::find(StringRef name) const {
  auto found = node.attributes.find(name.str());
  return found == node.attributes.end() ? nullptr : &found->second;
}

bool NodeImport::hasAttribute(StringRef name) const {
  return find(name) != nullptr;
}

tessera::Result<const onnx::Attribute *>
NodeImport::find(StringRef name, onnx::Attribute::Kind kind) {
  const onnx::Attribute *attribute = find(name);
  if (attribute && attribute->kind != kind)
    return error(fmt::format("attribute '{}' is {}; accepted is {}", name.str(),
                             attributeKindName(attribute->kind),
                             attributeKindName(kind)));
  return attribute;
}

tessera::Result<int64_t> NodeImport::intAttribute(StringRef name,
                                                  int64_t byDefault) {
  TESSERA_ASSIGN_OR_RETURN(const onnx::Attribute *found,
                           find(name, onnx::Attribute::Kind::Int));
  return found ? found->intValue : byDefault;
}

tessera::Result<bool> NodeImport::flagAttribute(StringRef name,
                                                bool byDefault) {
  TESSERA_ASSIGN_OR_RETURN(int64_t value, intAttribute(name, byDefault));
  if (value != 0 && value != 1)
    return error(fmt::format("attribute '{}' is {}; accepted are 0 and 1",
                             name.str(), value));
  return value == 1;
}

tessera::Result<float> NodeImport::floatAttribute(StringRef name,
                                                  float byDefault) {
  TESSERA_ASSIGN_OR_RETURN(const onnx::Attribute *found,
                           find(name, onnx::Attribute::Kind::Float));
  return found ? found->floatValue : byDefault;
}

tessera::Result<std::string> NodeImport::stringAttribute(StringRef name,
                                                         StringRef byDefault) {
  TESSERA_ASSIGN_OR_RETURN(const onnx::Attribute *found,
                           find(name, onnx::Attribute::Kind::String));
  return found ? found->stringValue : byDefault.str();
}

tessera::Result<std::optional<std::vector<int64_t>>>
NodeImport::intsAttribute(StringRef name) {
  TESSERA_ASSIGN_OR_RETURN(const onnx::Attribute *found,
                           find(name, onnx::Attribute::Kind::Ints));
  return found ? std::optional(found->ints) : std::nullopt;
}

tessera::Result<int64_t> NodeImport::axis(int64_t axis, int64_t rank,
                                          int64_t last) {
  if (axis < -rank || axis > last)
    return error(fmt::format("axis {} of a tensor with {} dimensions; accepted "
                             "are {} to {}",
                             axis, rank, -rank, last));
  return axis < 0 ? axis + rank : axis;
}

//===-- Results -----------------------------------------------------------===//

void NodeImport::setResult(size_t index, Value value) {
  if (narrowType == Undefined)
    return setResult(index, value, Float);
  Type narrow = storedType(b.getContext(), narrowType);
  // One operand always broadcasts.
  value = *buildElementwise(
      b, value, narrow, [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
        return arith::TruncFOp::create(b, narrow, e[0]);
      });
  setResult(index, value, narrowType);
}

void NodeImport::setResult(size_t index, Value value, int32_t elementType) {
  GraphValue &entry = values.define(node.outputs[index]);
  entry.value = value;
  entry.elementType = elementType;
}

void NodeImport::setConstant(size_t index, Tensor tensor) {
  GraphValue &entry = values.define(node.outputs[index]);
  entry.elementType = tensor.elementType;
  entry.constant = std::make_shared<const Tensor>(std::move(tensor));
}

void NodeImport::forwardInput() {
  GraphValue input = values[node.inputs[0]];
  values.define(node.outputs[0]) = input;
}

void NodeImport::reshapeResult(size_t index, ArrayRef<int64_t> shape) {
  GraphValue &entry = values[node.outputs[index]];
  if (entry.constant) {
    Tensor reshaped = *entry.constant;
    reshaped.shape.assign(shape.begin(), shape.end());
    entry.constant = std::make_shared<const Tensor>(std::move(reshaped));
    return;
  }
  entry.value = buildReshape(b, entry.value, shape);
}

//===-- Operators made of others ------------------------------------------===//

onnx::Attribute tessera::onnx::attributeOf(int64_t value) {
  Attribute attribute;
  attribute.kind = Attribute::Kind::Int;
  attribute.intValue = value;
  return attribute;
}

onnx::Attribute tessera::onnx::attributeOf(float value) {
  Attribute attribute;
  attribute.kind = Attribute::Kind::Float;
  attribute.floatValue = value;
  return attribute;
}

onnx::Attribute tessera::onnx::attributeOf(std::string value) {
  Attribute attribute;
  attribute.kind = Attribute::Kind::String;
  attribute.stringValue = std::move(value);
  return attribute;
}

onnx::Attribute tessera::onnx::attributeOf(std::vector<int64_t> values) {
  Attribute attribute;
  attribute.kind = Attribute::Kind::Ints;
  attribute.ints = std::move(values);
  return attribute;
}

std::string NodeImport::nameOf(GraphValue value) {
  // No file has such a name. Nodes that an expansion makes have its name and
  // make values themselves: only the number tells them apart.
  std::string name =
      fmt::format("{}\n{}", node.displayName(), values.freshNumber());
  values.define(name) = std::move(value);
  return name;
}

std::string NodeImport::constant(Tensor tensor) {
  GraphValue value;
  value.elementType = tensor.elementType;
  value.constant = std::make_shared<const Tensor>(std::move(tensor));
  return nameOf(std::move(value));
}

std::string NodeImport::constant(ArrayRef<int64_t> integers) {
  int64_t count = integers.size();
  return constant(tensorOf(Int64, count, integers));
}

tessera::Result<std::vector<std::string>>
NodeImport::expand(StringRef opType, std::vector<std::string> inputs,
                   NewAttributes attributes, size_t outputs) {
  // The version that all expansions are written for.
  static const std::map<std::string, int64_t> opsets{{"", 21}};
  std::vector<Node> nodes(1);
  Node &made = nodes.front();
  made.name = node.displayName();
  made.opType = opType.str();
  made.inputs = std::move(inputs);
  made.attributes = std::move(attributes);
  for (size_t i = 0; i < outputs; ++i)
    made.outputs.push_back(nameOf({}));
  ImportScope inner{scope.model, opsets, scope.depth + 1};
  Status problem = Status::success();
  bool good = importNodes(nodes, {}, inner, values, b,
                          [&](const Node &, const Status &status) {
                            if (problem.ok())
                              problem = status;
                          });
  if (!good)
    return problem.withContext(opType.str());
  return made.outputs;
}

tessera::Result<std::string> NodeImport::emit(StringRef opType,
                                              std::vector<std::string> inputs,
                                              NewAttributes attributes) {
  TESSERA_ASSIGN_OR_RETURN(
      std::vector<std::string> outputs,
      expand(opType, std::move(inputs), std::move(attributes)));
  return outputs.front();
}

void NodeImport::forward(size_t index, const std::string &name) {
  GraphValue value = values[name];
  values.define(node.outputs[index]) = std::move(value);
}

tessera::Result<std::vector<int64_t>>
NodeImport::shapeOfName(const std::string &name) {
  const GraphValue &entry = values[name];
  if (entry.constant)
    return std::vector<int64_t>(entry.constant->shape.begin(),
                                entry.constant->shape.end());
  TESSERA_ASSIGN_OR_RETURN(Value value, values.materialize(name));
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  return std::vector<int64_t>(shape.begin(), shape.end());
}

tessera::Result<const Graph *> NodeImport::graphAttribute(StringRef name) {
  TESSERA_ASSIGN_OR_RETURN(const onnx::Attribute *found,
                           find(name, onnx::Attribute::Kind::Graph));
  if (!found)
    return error(fmt::format("has no attribute '{}'", name.str()));
  return found->graphValue.get();
}

/// Of graphs and calls inside of each other; a function may call itself.
static constexpr unsigned maxDepth = 32;

/// Adds a problem of a node of an inner graph, a line for each.
static void addProblem(Status &problems, const Node &at, const Status &status) {
  std::string text = problems.message();
  SmallVector<StringRef> lines;
  StringRef(status.message()).split(lines, '\n');
  for (StringRef line : lines)
    text += fmt::format("{}node '{}' ({}): {}", text.empty() ? "" : "\n",
                        at.displayName(), at.opType, line.str());
  bool isUnsupported = status.code() == StatusCode::Unsupported ||
                       problems.code() == StatusCode::Unsupported;
  problems = {isUnsupported ? StatusCode::Unsupported : status.code(),
              std::move(text)};
}

Status NodeImport::importBody(const Function &function,
                              llvm::function_ref<Node(const Node &)> resolve) {
  if (scope.depth >= maxDepth)
    return error(
        fmt::format("nests graphs and calls deeper than {}", maxDepth));
  // Nothing around the function is visible inside of it.
  GraphValues inner(values.constantBuilder());
  for (size_t i = 0; i < function.inputs.size(); ++i)
    if (hasInput(i))
      inner.define(function.inputs[i]) = values[node.inputs[i]];
  std::vector<Node> nodes;
  for (const Node &original : function.nodes) {
    nodes.push_back(resolve(original));
    // An operand that the caller omits is omitted inside as well.
    for (std::string &input : nodes.back().inputs)
      if (auto found = llvm::find(function.inputs, input);
          found != function.inputs.end() &&
          !hasInput(found - function.inputs.begin()))
        input.clear();
  }
  ImportScope innerScope{scope.model, function.opsets, scope.depth + 1};
  std::set<std::string> results(function.outputs.begin(),
                                function.outputs.end());
  Status problems = Status::success();
  bool good = importNodes(nodes, results, innerScope, inner, b,
                          [&](const Node &at, const Status &status) {
                            addProblem(problems, at, status);
                          });
  if (!good)
    return problems;
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (hasOutput(i))
      values.define(node.outputs[i]) = inner[function.outputs[i]];
  return Status::success();
}

tessera::Result<std::vector<GraphValue>>
NodeImport::importGraph(const Graph &graph, ArrayRef<GraphValue> inputs) {
  if (scope.depth >= maxDepth)
    return error(
        fmt::format("nests graphs and calls deeper than {}", maxDepth));
  if (inputs.size() != graph.inputs.size())
    return error(fmt::format("has a graph with {} inputs; accepted are {} here",
                             graph.inputs.size(), inputs.size()));
  GraphValues inner(values.constantBuilder(), &values);
  for (const auto &[name, tensor] : graph.initializers) {
    GraphValue &value = inner.define(name);
    value.elementType = tensor.elementType;
    value.constant = std::make_shared<const Tensor>(tensor);
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    inner.define(graph.inputs[i].name) = inputs[i];
  ImportScope innerScope{scope.model, scope.opsets, scope.depth + 1};
  Status problems = Status::success();
  std::set<std::string> results;
  for (const ValueInfo &output : graph.outputs)
    results.insert(output.name);
  bool good = importNodes(graph.nodes, results, innerScope, inner, b,
                          [&](const Node &at, const Status &status) {
                            addProblem(problems, at, status);
                          });
  if (!good)
    return problems;
  std::vector<GraphValue> outputs;
  for (const ValueInfo &output : graph.outputs)
    outputs.push_back(inner[output.name]);
  return outputs;
}
