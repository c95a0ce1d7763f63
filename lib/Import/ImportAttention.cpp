//===- ImportAttention.cpp - ONNX Attention and RotaryEmbedding -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Expansion.h"
#include "TensorBuilders.h"
#include <cmath>
#include <fmt/format.h>
#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

//===-- Attention ---------------------------------------------------------===//

namespace {
class Attention {
public:
  explicit Attention(NodeImport &node)
      : node(node), e(node), inputs(node.node.inputs), type(node.inputType(0)) {
  }
  Status import();

private:
  /// [batch, heads, length, size] of operand `index`, which may have its heads
  /// side by side in the last of three dimensions.
  tessera::Result<std::string> heads(size_t index, StringRef attribute);
  /// Each key head as often as there are query heads to it.
  std::string repeatHeads(const std::string &value);
  /// What is added to the scores before the softmax; empty if nothing. Sets
  /// `mayBeEmpty` if a query may have no key left.
  tessera::Result<std::string> bias();
  /// The bias of the keys outside of each query's window.
  tessera::Result<std::string> window();

  NodeImport &node;
  Expansion e;
  const std::vector<std::string> &inputs;
  int32_t type;
  bool isFlat = false, mayBeEmpty = false;
  int64_t batch = 0, queryHeads = 0, keyHeads = 0, queries = 0, keys = 0,
          past = 0;
};
} // namespace

tessera::Result<std::string> Attention::heads(size_t index,
                                              StringRef attribute) {
  std::vector<int64_t> shape = e.shape(inputs[index]);
  TESSERA_RETURN_IF_ERROR(e.status);
  if (shape.size() == 4)
    return inputs[index];
  TESSERA_ASSIGN_OR_RETURN(int64_t count, node.intAttribute(attribute, 0));
  if (shape.size() != 3 || count < 1 || shape[2] % count != 0)
    return NodeImport::error(fmt::format(
        "operand {} has the shape {} and '{}' is {}: accepted are four "
        "dimensions, or three of which the last holds the heads",
        index, shapeText(shape), attribute.str(), count));
  return e.transpose(
      e.reshape(inputs[index], {shape[0], shape[1], count, shape[2] / count}),
      {0, 2, 1, 3});
}

std::string Attention::repeatHeads(const std::string &value) {
  std::vector<int64_t> shape = e.shape(value);
  if (!e.ok() || keyHeads == queryHeads)
    return value;
  int64_t times = queryHeads / keyHeads;
  std::string split =
      e.reshape(value, {shape[0], keyHeads, 1, shape[2], shape[3]});
  std::string wide =
      e("Expand",
        {split, e.integers({shape[0], keyHeads, times, shape[2], shape[3]})});
  return e.reshape(wide, {shape[0], queryHeads, shape[2], shape[3]});
}

/// Whether a row of a mask is false or minus infinity throughout.
static bool hidesARow(const Tensor &mask) {
  std::optional<std::vector<double>> numbers = mask.numbers();
  if (!numbers || mask.shape.empty())
    return true;
  double hidden =
      mask.elementType == Bool ? 0 : -std::numeric_limits<double>::infinity();
  size_t columns = mask.shape.back();
  for (size_t row = 0; row + columns <= numbers->size(); row += columns)
    if (llvm::all_of(ArrayRef(*numbers).slice(row, columns),
                     [&](double number) { return number == hidden; }))
      return true;
  return false;
}

tessera::Result<std::string> Attention::window() {
  TESSERA_ASSIGN_OR_RETURN(bool causal, node.flagAttribute("is_causal", false));
  TESSERA_ASSIGN_OR_RETURN(int64_t left,
                           node.intAttribute("left_window_size", -1));
  TESSERA_ASSIGN_OR_RETURN(int64_t right,
                           node.intAttribute("right_window_size", -1));
  if (left < -1 || right < -1)
    return NodeImport::error(fmt::format(
        "has a window of {} positions before and {} after; accepted are -1 for "
        "all, and 0 or more",
        left, right));
  if (causal)
    right = 0;
  if (left < 0 && right < 0)
    return std::string();
  // With a cache around the operator, the queries are the last ones of it: each
  // batch has an offset of its own.
  bool shifts = node.hasInput(6);
  std::vector<int64_t> distance; // From query to key.
  for (int64_t query = 0; query < queries; ++query)
    for (int64_t key = 0; key < keys; ++key)
      distance.push_back(key - query - (shifts ? 0 : past));
  std::vector<double> added;
  for (int64_t steps : distance)
    added.push_back((left < 0 || steps >= -left) &&
                            (right < 0 || steps <= right)
                        ? 0
                        : -std::numeric_limits<double>::infinity());
  if (!shifts) {
    std::string result = node.constant(
        tensorOf(Float, {queries, keys}, ArrayRef<double>(added)));
    if (type != Float)
      result = e("Cast", {result}, {{"to", attributeOf(int64_t(type))}});
    return result;
  }
  auto word = [&](int64_t value) {
    return node.constant(tensorOf(Int64, {}, ArrayRef<int64_t>{value}));
  };
  std::string offset = e(
      "Sub",
      {e.reshape(e("Cast", {inputs[6]}, {{"to", attributeOf(int64_t(Int64))}}),
                 {batch, 1, 1, 1}),
       word(queries)});
  std::string steps =
      e("Sub", {node.constant(tensorOf(Int64, {1, 1, queries, keys},
                                       ArrayRef<int64_t>(distance))),
                offset});
  std::string inside;
  if (right >= 0)
    inside = e("LessOrEqual", {steps, word(right)});
  if (left >= 0) {
    std::string near = e("GreaterOrEqual", {steps, word(-left)});
    inside = inside.empty() ? near : e("And", {inside, near});
  }
  return e("Where", {inside, e.scalar(0, type),
                     e.scalar(-std::numeric_limits<double>::infinity(), type)});
}

tessera::Result<std::string> Attention::bias() {
  constexpr double lowest = -std::numeric_limits<double>::infinity();
  std::string result;
  if (node.hasInput(3)) {
    result = inputs[3];
    std::vector<int64_t> shape = e.shape(result);
    TESSERA_RETURN_IF_ERROR(e.status);
    if (shape.size() < 2)
      return NodeImport::error(fmt::format("operand 3 has the shape {}; "
                                           "accepted are 2 to 4 dimensions",
                                           shapeText(shape)));
    if (node.inputType(3) == Bool)
      result = e("Where", {result, e.scalar(0, type), e.scalar(lowest, type)});
    // A mask may end early: what is beyond it is not attended to.
    if (shape.back() < keys) {
      std::vector<int64_t> pads(2 * shape.size(), 0);
      pads.back() = keys - shape.back();
      result = e("Pad", {result, e.integers(pads), e.scalar(lowest, type)});
    }
  }
  // A constant mask tells whether it leaves every query a key.
  mayBeEmpty = !result.empty();
  if (const Tensor *mask = node.constantInput(3))
    mayBeEmpty = hidesARow(*mask);
  TESSERA_ASSIGN_OR_RETURN(std::string outside, window());
  if (!outside.empty())
    result = result.empty() ? outside : e("Add", {result, outside});
  // How many keys of each batch count.
  if (node.hasInput(6)) {
    mayBeEmpty = true;
    std::vector<int64_t> positions(keys);
    for (int64_t i = 0; i < keys; ++i)
      positions[i] = i;
    std::string counts = e.reshape(inputs[6], {batch, 1, 1, 1});
    std::string inside = e("Less", {e.integers(positions), counts});
    std::string limit =
        e("Where", {inside, e.scalar(0, type), e.scalar(lowest, type)});
    result = result.empty() ? limit : e("Add", {result, limit});
  }
  TESSERA_RETURN_IF_ERROR(e.status);
  return result;
}

Status Attention::import() {
  std::vector<int64_t> shape = e.shape(inputs[0]);
  isFlat = shape.size() == 3;
  TESSERA_ASSIGN_OR_RETURN(std::string query, heads(0, "q_num_heads"));
  TESSERA_ASSIGN_OR_RETURN(std::string key, heads(1, "kv_num_heads"));
  TESSERA_ASSIGN_OR_RETURN(std::string value, heads(2, "kv_num_heads"));
  if (node.hasInput(4) != node.hasInput(5))
    return NodeImport::error("has only one of past key and value");
  if (node.hasInput(4)) {
    past = e.shape(inputs[4])[2];
    key = e.concat({inputs[4], key}, 2);
    value = e.concat({inputs[5], value}, 2);
  }
  e.result(1, key);
  e.result(2, value);
  std::vector<int64_t> q = e.shape(query), k = e.shape(key), v = e.shape(value);
  TESSERA_RETURN_IF_ERROR(e.status);
  batch = q[0];
  queryHeads = q[1];
  keyHeads = k[1];
  queries = q[2];
  keys = k[2];
  if (k[0] != batch || v[0] != batch || v[1] != keyHeads || v[2] != keys ||
      q[3] != k[3] || queryHeads % keyHeads != 0)
    return NodeImport::error(
        fmt::format("queries {}, keys {} and values {} do not fit each other",
                    shapeText(q), shapeText(k), shapeText(v)));
  TESSERA_ASSIGN_OR_RETURN(
      float scale,
      node.floatAttribute("scale", 1 / std::sqrt(static_cast<float>(q[3]))));
  TESSERA_ASSIGN_OR_RETURN(float softcap, node.floatAttribute("softcap", 0));
  TESSERA_ASSIGN_OR_RETURN(int64_t mode,
                           node.intAttribute("qk_matmul_output_mode", 0));
  TESSERA_ASSIGN_OR_RETURN(int64_t precision,
                           node.intAttribute("softmax_precision", 0));
  if (precision != 0 && precision != Float && precision != type)
    return {StatusCode::Unsupported,
            fmt::format("computes the softmax in {}; accepted are float and "
                        "the operands' type",
                        elementTypeName(precision))};
  if (mode < 0 || mode > 3)
    return NodeImport::error(fmt::format(
        "attribute 'qk_matmul_output_mode' is {}; accepted are 0 to 3", mode));
  // The definition gives both factors the root of the scale, so that scores of
  // a narrow format stay in range; in f32 the scores get all of it, which costs
  // no operations over queries and keys.
  bool rootsFirst = type != Float;
  if (rootsFirst) {
    std::string root = e.scalar(std::sqrt(scale), type);
    query = e("Mul", {query, root});
    key = e("Mul", {key, root});
  }
  std::string transposed = e.transpose(repeatHeads(key), {0, 1, 3, 2});
  std::string scores = e("MatMul", {query, transposed});
  if (!rootsFirst && scale != 1)
    scores = e("Mul", {scores, e.scalar(scale, type)});
  // Shown on demand: the scores, capped, with the bias, and the weights.
  std::string stages[4] = {scores};
  if (softcap != 0) {
    std::string cap = e.scalar(softcap, type);
    scores = e("Mul", {e("Tanh", {e("Div", {scores, cap})}), cap});
  }
  stages[1] = scores;
  TESSERA_ASSIGN_OR_RETURN(std::string added, bias());
  if (!added.empty())
    scores = e("Add", {scores, added});
  stages[2] = scores;
  std::string weights =
      e("Softmax", {scores}, {{"axis", attributeOf(int64_t(-1))}});
  std::string output = e("MatMul", {weights, repeatHeads(value)});
  // A query without any key has zeros.
  if (mayBeEmpty) {
    std::string most = e("ReduceMax", {added, e.integers(-1)});
    std::string isEmpty =
        e("Equal",
          {most, e.scalar(-std::numeric_limits<double>::infinity(), type)});
    output = e("Where", {isEmpty, e.scalar(0, type), output});
    if (mode == 3 && node.hasOutput(3))
      weights = e("Where", {isEmpty, e.scalar(0, type), weights});
  }
  stages[3] = weights;
  if (isFlat)
    output = e.reshape(e.transpose(output, {0, 2, 1, 3}),
                       {batch, queries, queryHeads * v[3]});
  e.result(0, output);
  e.result(3, stages[mode]);
  return e.status;
}

Status tessera::onnx::importAttention(NodeImport &node) {
  return Attention(node).import();
}

//===-- RotaryEmbedding ---------------------------------------------------===//

Status tessera::onnx::importRotaryEmbedding(NodeImport &node) {
  Expansion e(node);
  const std::vector<std::string> &inputs = node.node.inputs;
  TESSERA_ASSIGN_OR_RETURN(bool interleaved,
                           node.flagAttribute("interleaved", false));
  TESSERA_ASSIGN_OR_RETURN(int64_t count, node.intAttribute("num_heads", 0));
  TESSERA_ASSIGN_OR_RETURN(int64_t rotated,
                           node.intAttribute("rotary_embedding_dim", 0));
  std::vector<int64_t> shape = e.shape(inputs[0]);
  TESSERA_RETURN_IF_ERROR(e.status);
  std::string x; // [batch, length, heads, size]
  bool isFlat = shape.size() == 3;
  if (isFlat) {
    if (count < 1 || shape[2] % count != 0)
      return NodeImport::error(
          fmt::format("input {} does not have {} heads (attribute 'num_heads')",
                      shapeText(shape), count));
    x = e.reshape(inputs[0], {shape[0], shape[1], count, shape[2] / count});
  } else if (shape.size() == 4) {
    x = e.transpose(inputs[0], {0, 2, 1, 3});
  } else {
    return NodeImport::error(fmt::format(
        "input {}: accepted are three or four dimensions", shapeText(shape)));
  }
  std::vector<int64_t> full = e.shape(x);
  TESSERA_RETURN_IF_ERROR(e.status);
  int64_t size = full[3];
  if (rotated == 0)
    rotated = size;
  if (rotated < 2 || rotated > size || rotated % 2 != 0)
    return NodeImport::error(fmt::format(
        "rotates {} of {} elements; accepted are even numbers up to that",
        rotated, size));
  int64_t half = rotated / 2;
  std::string tables[2];
  for (size_t i = 0; i < 2; ++i) {
    tables[i] = inputs[1 + i];
    if (node.hasInput(3))
      tables[i] = e("Gather", {tables[i], inputs[3]});
    std::vector<int64_t> own = e.shape(tables[i]);
    TESSERA_RETURN_IF_ERROR(e.status);
    if (own != std::vector<int64_t>{full[0], full[1], half})
      return NodeImport::error(fmt::format(
          "operand {} gives angles of shape {}; accepted are {}", 1 + i,
          shapeText(own), shapeText({full[0], full[1], half})));
    tables[i] = e.reshape(tables[i], {full[0], full[1], 1, half});
  }
  std::string head = rotated == size ? x : e.slice(x, 3, 0, rotated);
  std::string first, second;
  if (interleaved) {
    auto every = [&](int64_t begin) {
      return e("Slice", {head, e.integers(begin), e.integers(rotated),
                         e.integers(3), e.integers(2)});
    };
    first = every(0);
    second = every(1);
  } else {
    first = e.slice(head, 3, 0, half);
    second = e.slice(head, 3, half, rotated);
  }
  const std::string &cos = tables[0], &sin = tables[1];
  std::string real =
      e("Sub", {e("Mul", {cos, first}), e("Mul", {sin, second})});
  std::string imaginary =
      e("Add", {e("Mul", {sin, first}), e("Mul", {cos, second})});
  std::string result;
  if (interleaved) {
    std::vector<int64_t> pairs{full[0], full[1], full[2], half, 1};
    result = e.reshape(
        e.concat({e.reshape(real, pairs), e.reshape(imaginary, pairs)}, 4),
        {full[0], full[1], full[2], rotated});
  } else {
    result = e.concat({real, imaginary}, 3);
  }
  if (rotated != size)
    result = e.concat({result, e.slice(x, 3, rotated, size)}, 3);
  e.result(0, isFlat ? e.reshape(result, shape)
                     : e.transpose(result, {0, 2, 1, 3}));
  return e.status;
}
