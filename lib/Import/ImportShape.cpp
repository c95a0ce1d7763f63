//===- ImportShape.cpp - ONNX operators that move elements
//------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reshapes work on integer constants too: exporters compute shapes with them.
//
//===----------------------------------------------------------------------===//

#include "ConstantMath.h"
#include "NodeImport.h"
#include "TensorBuilders.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

static Tensor makeTensor(int32_t type, ArrayRef<int64_t> shape,
                         const void *data, size_t bytes) {
  Tensor tensor;
  tensor.elementType = type;
  tensor.shape.assign(shape.begin(), shape.end());
  tensor.data = std::make_shared<const std::string>(
      static_cast<const char *>(data), bytes);
  return tensor;
}

/// The result is operand 0 in another shape with as many elements.
static Status reshapeInput(NodeImport &node, ArrayRef<int64_t> shape) {
  constexpr size_t maxRank = 32;
  if (shape.size() > maxRank)
    return NodeImport::error(
        fmt::format("the result has {} dimensions; accepted "
                    "are up to {}",
                    shape.size(), maxRank));
  if (const Tensor *constant = node.constantInput(0)) {
    Tensor reshaped = *constant;
    reshaped.shape.assign(shape.begin(), shape.end());
    node.setConstant(0, std::move(reshaped));
    return Status::success();
  }
  TESSERA_ASSIGN_OR_RETURN(Value value, node.storedInput(0));
  node.setResult(0, buildReshape(node.b, value, shape), node.inputType(0));
  return Status::success();
}

Status tessera::onnx::importIdentity(NodeImport &node) {
  if (!node.hasInput(0))
    return NodeImport::error("operand 0 is missing");
  // Dropout's last operand turns training on.
  if (node.hasInput(2)) {
    const Tensor *training = node.constantInput(2);
    const Tensor *ratio = node.hasInput(1) ? node.constantInput(1) : nullptr;
    // Training drops nothing if the ratio is 0.
    bool dropsNothing = ratio && ratio->numbers() &&
                        ratio->elementCount() == 1 &&
                        ratio->numbers()->front() == 0;
    if (!training || training->elementType != Bool ||
        training->elementCount() != 1 ||
        (training->data->front() != 0 && !dropsNothing))
      return NodeImport::error("operand 2 (training_mode): accepted is a "
                               "constant false, or a ratio of 0");
  }
  if (node.node.opType == "Dropout" && node.opset < 7) {
    TESSERA_ASSIGN_OR_RETURN(bool isTest, node.flagAttribute("is_test", false));
    if (!isTest)
      return NodeImport::error("trains; accepted is inference (is_test 1)");
  }
  node.forwardInput();
  // Without training the mask keeps everything.
  if (node.node.opType == "Dropout" && node.hasOutput(1)) {
    TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> shape, node.inputShape(0));
    TESSERA_RETURN_IF_ERROR(checkShape(shape));
    node.setResult(1, buildFilled(node.b, shape, 1, node.b.getI1Type()), Bool);
  }
  return Status::success();
}

Status tessera::onnx::importConstant(NodeImport &node) {
  const std::map<std::string, onnx::Attribute> &attributes =
      node.node.attributes;
  if (attributes.size() != 1)
    return NodeImport::error(fmt::format("has {} attributes; accepted is one "
                                         "value",
                                         attributes.size()));
  const auto &[name, value] = *attributes.begin();
  using Kind = onnx::Attribute::Kind;
  if (name == "value" && value.kind == Kind::Tensor)
    node.setConstant(0, value.tensorValue);
  else if (name == "value_float" && value.kind == Kind::Float)
    node.setConstant(0, makeTensor(Float, {}, &value.floatValue, 4));
  else if (name == "value_int" && value.kind == Kind::Int)
    node.setConstant(0, makeTensor(Int64, {}, &value.intValue, 8));
  else if (name == "value_floats" && value.kind == Kind::Floats)
    node.setConstant(0,
                     makeTensor(Float, value.floats.size(), value.floats.data(),
                                value.floats.size() * 4));
  else if (name == "value_ints" && value.kind == Kind::Ints)
    node.setConstant(0, makeTensor(Int64, value.ints.size(), value.ints.data(),
                                   value.ints.size() * 8));
  else
    return NodeImport::error(fmt::format("attribute '{}' is {}", name,
                                         attributeKindName(value.kind)));
  return Status::success();
}

Status tessera::onnx::importFlatten(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> shape, node.inputShape(0));
  TESSERA_ASSIGN_OR_RETURN(int64_t axis, node.intAttribute("axis", 1));
  int64_t rank = shape.size();
  TESSERA_ASSIGN_OR_RETURN(axis, node.axis(axis, rank, rank));
  return reshapeInput(node, {product(ArrayRef(shape).take_front(axis)),
                             product(ArrayRef(shape).drop_front(axis))});
}

Status tessera::onnx::importReshape(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> from, node.inputShape(0));
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> to, node.integerInput(1));
  TESSERA_ASSIGN_OR_RETURN(bool allowZero,
                           node.flagAttribute("allowzero", false));
  int64_t elements = product(from), known = 1;
  std::optional<size_t> open;
  std::string text = shapeText(to);
  auto mismatch = [&] {
    return NodeImport::error(
        fmt::format("{} does not reshape to {}", shapeText(from), text));
  };
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] == -1) {
      if (open)
        return NodeImport::error(
            fmt::format("the shape {} has -1 twice; accepted is once", text));
      open = i;
      continue;
    }
    if (to[i] == 0 && !allowZero) {
      if (i >= from.size())
        return mismatch();
      to[i] = from[i];
    }
    constexpr int64_t most = int64_t(1) << 48;
    if (to[i] < 0 || (known && to[i] > most / known))
      return mismatch();
    known *= to[i];
  }
  if (open) {
    if (known == 0 || elements % known != 0)
      return mismatch();
    to[*open] = elements / known;
  } else if (known != elements) {
    return mismatch();
  }
  return reshapeInput(node, to);
}

/// Axes from the attribute (before operator set 13) or operand 1, each in
/// 0..rank - 1 and given once; nothing if absent.
static tessera::Result<std::optional<std::vector<int64_t>>>
readAxes(NodeImport &node, int64_t rank) {
  std::optional<std::vector<int64_t>> axes;
  if (node.opset < 13) {
    TESSERA_ASSIGN_OR_RETURN(axes, node.intsAttribute("axes"));
  } else if (node.hasInput(1)) {
    TESSERA_ASSIGN_OR_RETURN(axes, node.integerInput(1));
  }
  if (!axes)
    return axes;
  for (int64_t &axis : *axes) {
    TESSERA_ASSIGN_OR_RETURN(axis, node.axis(axis, rank, rank - 1));
  }
  std::sort(axes->begin(), axes->end());
  if (std::adjacent_find(axes->begin(), axes->end()) != axes->end())
    return NodeImport::error("names an axis twice");
  return axes;
}

Status tessera::onnx::importSqueeze(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> shape, node.inputShape(0));
  TESSERA_ASSIGN_OR_RETURN(std::optional<std::vector<int64_t>> axes,
                           readAxes(node, shape.size()));
  SmallVector<int64_t> result;
  for (size_t i = 0; i < shape.size(); ++i) {
    bool remove = axes ? std::binary_search(axes->begin(), axes->end(), i)
                       : shape[i] == 1;
    if (remove && shape[i] != 1)
      return NodeImport::error(
          fmt::format("axis {} has the extent {}; accepted "
                      "is 1",
                      i, shape[i]));
    if (!remove)
      result.push_back(shape[i]);
  }
  return reshapeInput(node, result);
}

Status tessera::onnx::importUnsqueeze(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> shape, node.inputShape(0));
  size_t added = 0;
  if (node.opset < 13) {
    TESSERA_ASSIGN_OR_RETURN(std::optional<std::vector<int64_t>> axes,
                             node.intsAttribute("axes"));
    added = axes ? axes->size() : 0;
  } else if (node.hasInput(1)) {
    TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> axes, node.integerInput(1));
    added = axes.size();
  }
  TESSERA_ASSIGN_OR_RETURN(std::optional<std::vector<int64_t>> axes,
                           readAxes(node, shape.size() + added));
  if (!axes)
    return NodeImport::error("has no axes");
  SmallVector<int64_t> result(shape.begin(), shape.end());
  for (int64_t axis : *axes)
    result.insert(result.begin() + axis, 1);
  return reshapeInput(node, result);
}

Status tessera::onnx::importTranspose(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> own, node.inputShape(0));
  int64_t rank = own.size();
  TESSERA_ASSIGN_OR_RETURN(std::optional<std::vector<int64_t>> given,
                           node.intsAttribute("perm"));
  SmallVector<int64_t> permutation;
  if (given)
    permutation.assign(given->begin(), given->end());
  else
    for (int64_t i = rank; i-- > 0;)
      permutation.push_back(i);
  SmallVector<int64_t> sorted(permutation);
  llvm::sort(sorted);
  bool valid = static_cast<int64_t>(sorted.size()) == rank;
  for (int64_t i = 0; valid && i < rank; ++i)
    valid = sorted[i] == i;
  if (!valid)
    return NodeImport::error(
        fmt::format("attribute 'perm' is {}; accepted is a "
                    "permutation of 0 to {}",
                    shapeText(permutation), rank - 1));
  // Weights are transposed by the compiler, which shares the copies; parts of
  // shapes must stay known.
  constexpr uint64_t fewElements = 4096;
  if (const Tensor *constant = node.constantInput(0);
      constant && (constant->elementCount() <= fewElements ||
                   !storedType(node.b.getContext(), constant->elementType))) {
    SmallVector<int64_t> shape, strides = rowMajorStrides(own);
    for (int64_t dim : permutation)
      shape.push_back(own[dim]);
    node.setConstant(
        0, gatherElements(*constant, shape, [&](ArrayRef<int64_t> index) {
          int64_t position = 0;
          for (int64_t i = 0; i < rank; ++i)
            position += index[i] * strides[permutation[i]];
          return position;
        }));
    return Status::success();
  }
  TESSERA_ASSIGN_OR_RETURN(Value input, node.storedInput(0));
  node.setResult(0, buildTranspose(node.b, input, permutation),
                 node.inputType(0));
  return Status::success();
}

/// The constants one after the other along the axis; `shape` is the result's.
static Tensor concatenate(ArrayRef<const Tensor *> parts, int64_t axis,
                          ArrayRef<int64_t> shape) {
  Tensor result;
  result.elementType = parts.front()->elementType;
  result.shape.assign(shape.begin(), shape.end());
  uint64_t width = elementBytes(result.elementType);
  int64_t outer = product(shape.take_front(axis));
  int64_t inner = product(shape.drop_front(axis + 1));
  std::string bytes;
  for (int64_t i = 0; i < outer; ++i)
    for (const Tensor *part : parts) {
      uint64_t run = part->shape[axis] * inner * width;
      bytes.append(*part->data, i * run, run);
    }
  result.data = std::make_shared<const std::string>(std::move(bytes));
  return result;
}

Status tessera::onnx::importConcat(NodeImport &node) {
  if (!node.hasAttribute("axis"))
    return NodeImport::error("has no attribute 'axis'");
  TESSERA_ASSIGN_OR_RETURN(int64_t axis, node.intAttribute("axis", 0));
  SmallVector<const Tensor *> constants;
  SmallVector<std::vector<int64_t>> shapes;
  SmallVector<int64_t> shape;
  for (size_t i = 0; i < node.node.inputs.size(); ++i) {
    TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> own, node.inputShape(i));
    if (node.inputType(i) != node.inputType(0))
      return NodeImport::error(fmt::format("joins elements of types {} and {}",
                                           elementTypeName(node.inputType(0)),
                                           elementTypeName(node.inputType(i))));
    if (i == 0) {
      shape.assign(own.begin(), own.end());
      int64_t rank = own.size();
      TESSERA_ASSIGN_OR_RETURN(axis, node.axis(axis, rank, rank - 1));
    } else {
      bool fits = own.size() == shape.size();
      for (size_t dim = 0; fits && dim < own.size(); ++dim)
        fits = static_cast<int64_t>(dim) == axis || own[dim] == shape[dim];
      if (!fits)
        return NodeImport::error(
            fmt::format("operands {} and {} do not join along axis {}",
                        shapeText(shapes.front()), shapeText(own), axis));
      shape[axis] += own[axis];
    }
    shapes.push_back(std::move(own));
    if (const Tensor *constant = node.constantInput(i))
      constants.push_back(constant);
  }
  // Parts of shapes, most of all.
  if (constants.size() == shapes.size()) {
    node.setConstant(0, concatenate(constants, axis, shape));
    return Status::success();
  }
  TESSERA_RETURN_IF_ERROR(checkShape(shape));
  SmallVector<Value> inputs;
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i][axis] == 0)
      continue; // Adds nothing.
    TESSERA_ASSIGN_OR_RETURN(Value input, node.storedInput(i));
    inputs.push_back(input);
  }
  node.setResult(
      0,
      inputs.size() == 1
          ? inputs.front()
          : tensor::ConcatOp::create(node.b, axis, inputs).getResult(),
      node.inputType(0));
  return Status::success();
}

Status tessera::onnx::importShape(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> shape, node.inputShape(0));
  int64_t rank = shape.size();
  TESSERA_ASSIGN_OR_RETURN(int64_t start, node.intAttribute("start", 0));
  TESSERA_ASSIGN_OR_RETURN(int64_t end, node.intAttribute("end", rank));
  // Counted from the end if negative, and clamped: never an error.
  auto clamp = [&](int64_t at) {
    at = std::clamp<int64_t>(at, -rank, rank);
    return at < 0 ? at + rank : at;
  };
  start = clamp(start);
  end = std::max(start, clamp(end));
  node.setConstant(0, makeTensor(Int64, end - start, shape.data() + start,
                                 (end - start) * 8));
  return Status::success();
}
