//===- ImportFusedQuantized.cpp - Quantised operators of ONNX Runtime -----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ONNX Runtime's quantiser writes operators of the domain com.microsoft for
// what the standard has no quantised form of. Each means: dequantise, compute
// in floats, quantise. Products of integers stay exact.
//
//===----------------------------------------------------------------------===//

#include "Expansion.h"
#include "TensorBuilders.h"
#include <fmt/format.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

namespace {

/// Operands of a quantised operator: each is followed by its scale and its zero
/// point, which may be absent.
class Quantized {
public:
  explicit Quantized(NodeImport &node) : node(node), e(node) {}

  /// The operand at `index` as floats.
  std::string read(size_t index) {
    return e("DequantizeLinear",
             {name(index), name(index + 1), zero(index + 2)});
  }
  /// Sets the result; its scale is the operand at `scale`. Without a zero point
  /// it has the type of `like`.
  void write(const std::string &value, size_t scale, size_t like) {
    NewAttributes attributes;
    std::string zeroPoint = zero(scale + 1);
    if (zeroPoint.empty())
      attributes["output_dtype"] = attributeOf(int64_t(node.inputType(like)));
    e.result(0,
             e("QuantizeLinear", {value, name(scale), zeroPoint}, attributes));
  }
  std::string name(size_t index) {
    if (node.hasInput(index))
      return node.node.inputs[index];
    if (e.ok())
      e.status = NodeImport::error(fmt::format("operand {} is missing", index));
    return "";
  }
  std::string zero(size_t index) {
    return node.hasInput(index) ? node.node.inputs[index] : "";
  }

  NodeImport &node;
  Expansion e;
};

} // namespace

/// QLinearAdd and QLinearMul.
Status tessera::onnx::importQLinearBinary(NodeImport &node) {
  Quantized q(node);
  std::string op = node.node.opType == "QLinearAdd" ? "Add" : "Mul";
  q.write(q.e(op, {q.read(0), q.read(3)}), 6, 0);
  return q.e.status;
}

/// QLinearSigmoid, QLinearLeakyRelu and QLinearSoftmax.
Status tessera::onnx::importQLinearUnary(NodeImport &node) {
  Quantized q(node);
  StringRef op =
      StringRef(node.node.opType).drop_front(StringRef("QLinear").size());
  std::string x = q.read(0);
  NewAttributes attributes;
  if (op == "LeakyRelu") {
    TESSERA_ASSIGN_OR_RETURN(float alpha, node.floatAttribute("alpha", 0.01f));
    attributes["alpha"] = attributeOf(alpha);
  }
  if (op != "Softmax") {
    q.write(q.e(op, {x}, attributes), 3, 0);
    return q.e.status;
  }
  // Before version 13 all dimensions from the axis on are one row.
  std::vector<int64_t> shape = q.e.shape(x);
  TESSERA_RETURN_IF_ERROR(q.e.status);
  TESSERA_ASSIGN_OR_RETURN(int64_t axis, node.intAttribute("axis", -1));
  TESSERA_ASSIGN_OR_RETURN(int64_t version, node.intAttribute("opset", 13));
  int64_t rank = shape.size();
  TESSERA_ASSIGN_OR_RETURN(axis, node.axis(axis, rank, rank - 1));
  std::string result;
  if (version < 13) {
    int64_t columns = product(ArrayRef(shape).drop_front(axis));
    x = q.e.reshape(x, {product(shape) / columns, columns});
    result = q.e.reshape(
        q.e("Softmax", {x}, {{"axis", attributeOf(int64_t(1))}}), shape);
  } else {
    result = q.e("Softmax", {x}, {{"axis", attributeOf(axis)}});
  }
  q.write(result, 3, 0);
  return q.e.status;
}

/// QLinearAveragePool and QLinearGlobalAveragePool.
Status tessera::onnx::importQLinearPool(NodeImport &node) {
  Quantized q(node);
  TESSERA_ASSIGN_OR_RETURN(bool last,
                           node.flagAttribute("channels_last", false));
  std::string x = q.read(0);
  size_t rank = q.e.shape(x).size();
  TESSERA_RETURN_IF_ERROR(q.e.status);
  if (rank < 3)
    return NodeImport::error("the input has no spatial dimension");
  std::vector<int64_t> toFirst{0, static_cast<int64_t>(rank) - 1}, toLast{0};
  for (size_t i = 1; i + 1 < rank; ++i) {
    toFirst.push_back(i);
    toLast.push_back(i + 1);
  }
  toLast.push_back(1);
  if (last)
    x = q.e.transpose(x, toFirst);
  NewAttributes attributes = node.node.attributes;
  attributes.erase("channels_last");
  std::string result =
      q.e(StringRef(node.node.opType).drop_front(StringRef("QLinear").size()),
          {x}, attributes);
  if (last)
    result = q.e.transpose(result, toLast);
  q.write(result, 3, 0);
  return q.e.status;
}

/// The result's scale and zero point come first, then the parts.
Status tessera::onnx::importQLinearConcat(NodeImport &node) {
  Quantized q(node);
  TESSERA_ASSIGN_OR_RETURN(int64_t axis, node.intAttribute("axis", 0));
  size_t count = node.node.inputs.size();
  if (count % 3 != 2)
    return NodeImport::error(fmt::format(
        "has {} operands; accepted are two and three for each part", count));
  Expansion::Names parts;
  for (size_t i = 2; i < count; i += 3)
    parts.push_back(q.read(i));
  q.write(q.e("Concat", parts, {{"axis", attributeOf(axis)}}), 0, 2);
  return q.e.status;
}

/// alpha * A' * B' + C, where the integers of C have the scale of the product.
/// Quantised again if the result has a scale.
Status tessera::onnx::importQGemm(NodeImport &node) {
  Quantized q(node);
  TESSERA_ASSIGN_OR_RETURN(float alpha, node.floatAttribute("alpha", 1));
  std::string factors[2];
  for (size_t i = 0; i < 2; ++i) {
    TESSERA_ASSIGN_OR_RETURN(
        bool swaps, node.flagAttribute(i == 0 ? "transA" : "transB", false));
    factors[i] = q.name(3 * i);
    if (swaps)
      factors[i] = q.e.transpose(factors[i], {1, 0});
  }
  std::string sums =
      q.e("MatMulInteger", {factors[0], factors[1], q.zero(2), q.zero(5)});
  if (node.hasInput(6))
    sums = q.e("Add", {sums, q.name(6)});
  std::string scale = q.e("Mul", {q.name(1), q.name(4)});
  if (alpha != 1)
    scale = q.e("Mul", {scale, q.e.scalar(alpha)});
  std::string result =
      q.e("Mul",
          {q.e("Cast", {sums}, {{"to", attributeOf(int64_t(Float))}}), scale});
  if (node.hasInput(7))
    q.write(result, 7, 0);
  else
    q.e.result(0, result);
  return q.e.status;
}

/// The product of integers times the scales of both, plus a bias of floats.
static void scaleProduct(Quantized &q, const Expansion::Names &operands,
                         const std::string &scales, size_t bias) {
  std::string sums = q.e("MatMulInteger", operands);
  std::string result =
      q.e("Mul",
          {q.e("Cast", {sums}, {{"to", attributeOf(int64_t(Float))}}), scales});
  if (q.node.hasInput(bias))
    result = q.e("Add", {result, q.name(bias)});
  q.e.result(0, result);
}

Status tessera::onnx::importMatMulIntegerToFloat(NodeImport &node) {
  Quantized q(node);
  scaleProduct(q, {q.name(0), q.name(1), q.zero(4), q.zero(5)},
               q.e("Mul", {q.name(2), q.name(3)}), 6);
  return q.e.status;
}

Status tessera::onnx::importDynamicQuantizeMatMul(NodeImport &node) {
  Quantized q(node);
  Expansion::Names left = q.e.many("DynamicQuantizeLinear", {q.name(0)}, 3);
  scaleProduct(q, {left[0], q.name(1), left[2], q.zero(3)},
               q.e("Mul", {left[1], q.name(2)}), 4);
  return q.e.status;
}
