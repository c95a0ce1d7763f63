//===- ImportFused.cpp - Operators that ONNX Runtime fuses ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Models saved after ONNX Runtime's optimiser, or by exporters for it, name
// operators of the domain com.microsoft. Each is written here as the standard
// operators that it was fused from.
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

//===-- Activations -------------------------------------------------------===//

/// FastGelu and BiasGelu: of the sum with a bias, if there is one.
Status tessera::onnx::importBiasedGelu(NodeImport &node) {
  Expansion e(node);
  std::string x = node.node.inputs[0];
  if (node.hasInput(1))
    x = e("Add", {x, node.node.inputs[1]});
  bool fast = node.node.opType == "FastGelu";
  e.result(0, e("Gelu", {x},
                {{"approximate",
                  attributeOf(std::string(fast ? "tanh" : "none"))}}));
  return e.status;
}

/// x * sigmoid(alpha * x).
Status tessera::onnx::importQuickGelu(NodeImport &node) {
  Expansion e(node);
  TESSERA_ASSIGN_OR_RETURN(float alpha, node.floatAttribute("alpha", 1.702f));
  e.result(0,
           e("Swish", {node.node.inputs[0]}, {{"alpha", attributeOf(alpha)}}));
  return e.status;
}

/// What the attribute 'activation' does to `value`; `parameters` are its own.
static tessera::Result<std::string> activate(NodeImport &node, Expansion &e,
                                             const std::string &value,
                                             ArrayRef<float> parameters) {
  TESSERA_ASSIGN_OR_RETURN(std::string name,
                           node.stringAttribute("activation", ""));
  struct Known {
    StringRef name;
    std::vector<std::string> parameters;
  };
  const Known known[] = {{"Relu", {}},
                         {"Tanh", {}},
                         {"Sigmoid", {}},
                         {"LeakyRelu", {"alpha"}},
                         {"HardSigmoid", {"alpha", "beta"}}};
  if (name.empty())
    return value;
  if (name == "Clip" && parameters.size() == 2)
    return e("Clip", {value, e.scalar(parameters[0], node.inputType(0)),
                      e.scalar(parameters[1], node.inputType(0))});
  for (const Known &activation : known) {
    if (activation.name != name ||
        parameters.size() > activation.parameters.size())
      continue;
    NewAttributes attributes;
    for (size_t i = 0; i < parameters.size(); ++i)
      attributes[activation.parameters[i]] = attributeOf(parameters[i]);
    return e(name, {value}, attributes);
  }
  return NodeImport::error(fmt::format(
      "attribute 'activation' is '{}' with {} parameters; accepted are Relu, "
      "Tanh, Sigmoid, LeakyRelu, HardSigmoid, and Clip with two",
      name, parameters.size()));
}

//===-- Products ----------------------------------------------------------===//

static std::string swapLast(Expansion &e, const std::string &value) {
  size_t rank = e.shape(value).size();
  if (!e.ok() || rank < 2)
    return value;
  std::vector<int64_t> order(rank);
  for (size_t i = 0; i < rank; ++i)
    order[i] = i;
  std::swap(order[rank - 2], order[rank - 1]);
  return e.transpose(value, order);
}

/// alpha * A' * B'.
Status tessera::onnx::importFusedMatMul(NodeImport &node) {
  Expansion e(node);
  TESSERA_ASSIGN_OR_RETURN(float alpha, node.floatAttribute("alpha", 1));
  std::string factors[2];
  for (size_t i = 0; i < 2; ++i) {
    std::string side = i == 0 ? "A" : "B";
    TESSERA_ASSIGN_OR_RETURN(bool batch,
                             node.flagAttribute("transBatch" + side, false));
    if (batch)
      return {StatusCode::Unsupported,
              "attribute 'transBatch" + side + "' is 1; accepted is 0"};
    TESSERA_ASSIGN_OR_RETURN(bool swaps,
                             node.flagAttribute("trans" + side, false));
    factors[i] = node.node.inputs[i];
    if (swaps)
      factors[i] = swapLast(e, factors[i]);
  }
  std::string result = e("MatMul", {factors[0], factors[1]});
  if (alpha != 1)
    result = e("Mul", {result, e.scalar(alpha, node.inputType(0))});
  e.result(0, result);
  return e.status;
}

/// The attributes that the standard operator has too.
static NewAttributes without(const NewAttributes &all, StringRef prefix) {
  NewAttributes kept;
  for (const auto &[name, attribute] : all)
    if (!StringRef(name).starts_with(prefix))
      kept[name] = attribute;
  return kept;
}

/// activation(conv(x, w) + bias + z).
Status tessera::onnx::importFusedConv(NodeImport &node) {
  Expansion e(node);
  Expansion::Names operands{node.node.inputs[0], node.node.inputs[1]};
  if (node.hasInput(2))
    operands.push_back(node.node.inputs[2]);
  std::string result =
      e("Conv", operands, without(node.node.attributes, "activation"));
  if (node.hasInput(3))
    result = e("Add", {result, node.node.inputs[3]});
  ArrayRef<float> parameters;
  if (auto found = node.node.attributes.find("activation_params");
      found != node.node.attributes.end())
    parameters = found->second.floats;
  TESSERA_RETURN_IF_ERROR(e.status);
  TESSERA_ASSIGN_OR_RETURN(result, activate(node, e, result, parameters));
  e.result(0, result);
  return e.status;
}

Status tessera::onnx::importFusedGemm(NodeImport &node) {
  Expansion e(node);
  std::string result =
      e("Gemm", node.node.inputs, without(node.node.attributes, "activation"));
  std::vector<float> parameters;
  for (StringRef name : {"activation_alpha", "activation_beta"})
    if (node.hasAttribute(name)) {
      TESSERA_ASSIGN_OR_RETURN(float value, node.floatAttribute(name, 0));
      parameters.push_back(value);
    }
  TESSERA_RETURN_IF_ERROR(e.status);
  TESSERA_ASSIGN_OR_RETURN(result, activate(node, e, result, parameters));
  e.result(0, result);
  return e.status;
}

/// A product with constant weights of 4 or 8 bits, each block of a row with a
/// scale of its own.
Status tessera::onnx::importMatMulNBits(NodeImport &node) {
  Expansion e(node);
  TESSERA_ASSIGN_OR_RETURN(int64_t rows, node.intAttribute("N", 0));
  TESSERA_ASSIGN_OR_RETURN(int64_t columns, node.intAttribute("K", 0));
  TESSERA_ASSIGN_OR_RETURN(int64_t bits, node.intAttribute("bits", 4));
  TESSERA_ASSIGN_OR_RETURN(int64_t block, node.intAttribute("block_size", 0));
  constexpr int64_t most = int64_t(1) << 30;
  if ((bits != 4 && bits != 8) || block < 1 || block > most || rows < 1 ||
      rows > most || columns < 1 || columns > most)
    return NodeImport::error(fmt::format(
        "has weights [{}, {}] of {} bits in blocks of {}; accepted are 4 and 8 "
        "bits and extents of 1 to 2^30",
        rows, columns, bits, block));
  if (node.hasInput(4))
    return {StatusCode::Unsupported,
            "operand 4 (g_idx) reorders the blocks; accepted is none"};
  int64_t blocks = (columns + block - 1) / block, padded = blocks * block;
  TESSERA_RETURN_IF_ERROR(checkShape({rows, padded}));
  const Tensor *packed = node.constantInput(1);
  if (!packed || packed->elementType != Uint8 ||
      packed->data->size() != size_t(rows * blocks) * (block * bits / 8))
    return NodeImport::error("operand 1: accepted is a constant uint8 tensor "
                             "of [N, blocks, bytes of a block]");
  // Two numbers in each byte, the first in its low half.
  auto unpack = [&](const Tensor &from, int64_t perRow) {
    std::vector<int64_t> numbers;
    size_t rowBytes = from.data->size() / rows;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < perRow; ++i) {
        uint8_t byte = (*from.data)[row * rowBytes + i * bits / 8];
        numbers.push_back(bits == 8    ? byte
                          : i % 2 == 0 ? byte & 15
                                       : byte >> 4);
      }
    return numbers;
  };
  int32_t type = bits == 8 ? Uint8 : Uint4;
  std::string weights = node.constant(
      tensorOf(type, {rows, padded}, ArrayRef(unpack(*packed, padded))));
  std::vector<int64_t> zeros(rows * blocks, int64_t(1) << (bits - 1));
  if (node.hasInput(3)) {
    const Tensor *given = node.constantInput(3);
    if (!given || given->elementType != Uint8 ||
        given->data->size() != size_t(rows * ((blocks * bits + 7) / 8)))
      return NodeImport::error("operand 3 (zero_points): accepted is a "
                               "constant uint8 tensor with one number for "
                               "each block");
    zeros = unpack(*given, blocks);
  }
  std::string zeroPoint =
      node.constant(tensorOf(type, {rows, blocks}, ArrayRef(zeros)));
  std::string scales = e.reshape(node.node.inputs[2], {rows, blocks});
  std::string matrix = e(
      "DequantizeLinear", {weights, scales, zeroPoint},
      {{"axis", attributeOf(int64_t(1))}, {"block_size", attributeOf(block)}});
  if (padded != columns)
    matrix = e.slice(matrix, 1, 0, columns);
  std::string result =
      e("MatMul", {node.node.inputs[0], e.transpose(matrix, {1, 0})});
  if (node.hasInput(5))
    result = e("Add", {result, node.node.inputs[5]});
  e.result(0, result);
  return e.status;
}

//===-- Normalisations ----------------------------------------------------===//

/// The normalisation of a sum, which is output 3 itself.
Status tessera::onnx::importSkipNormalization(NodeImport &node) {
  Expansion e(node);
  bool centers = node.node.opType == "SkipLayerNormalization";
  TESSERA_ASSIGN_OR_RETURN(float epsilon,
                           node.floatAttribute("epsilon", 1e-12f));
  const std::vector<std::string> &inputs = node.node.inputs;
  std::string sum = e("Add", {inputs[0], inputs[1]});
  size_t bias = centers ? 4 : 3;
  if (node.hasInput(bias))
    sum = e("Add", {sum, inputs[bias]});
  NewAttributes attributes{{"epsilon", attributeOf(epsilon)}};
  if (centers) {
    Expansion::Names operands{sum, inputs[2]};
    if (node.hasInput(3))
      operands.push_back(inputs[3]);
    Expansion::Names results =
        e.many("LayerNormalization", operands, 3, attributes);
    for (size_t i = 0; i < 3; ++i)
      e.result(i, results[i]);
  } else {
    if (node.hasOutput(1) || node.hasOutput(2))
      return {StatusCode::Unsupported,
              "shows the deviation of its rows; accepted are outputs 0 and 3"};
    e.result(0, e("RMSNormalization", {sum, inputs[2]}, attributes));
  }
  e.result(3, sum);
  return e.status;
}

/// The normalised sum of word, position and segment embeddings.
Status tessera::onnx::importEmbedNormalization(NodeImport &node) {
  Expansion e(node);
  const std::vector<std::string> &inputs = node.node.inputs;
  TESSERA_ASSIGN_OR_RETURN(float epsilon,
                           node.floatAttribute("epsilon", 1e-12f));
  TESSERA_RETURN_IF_ERROR(node.intAttribute("mask_index_type", 0).status());
  std::vector<int64_t> ids = e.shape(inputs[0]);
  TESSERA_RETURN_IF_ERROR(e.status);
  if (ids.size() != 2)
    return NodeImport::error(
        fmt::format("operand 0 has the shape {}; accepted is [batch, length]",
                    shapeText(ids)));
  std::string sum = e("Gather", {inputs[2], inputs[0]});
  std::string positions = node.hasInput(8) ? e("Gather", {inputs[3], inputs[8]})
                                           : e.slice(inputs[3], 0, 0, ids[1]);
  sum = e("Add", {sum, positions});
  if (node.hasInput(1) != node.hasInput(4))
    return NodeImport::error("has only one of segments and their embedding");
  if (node.hasInput(1))
    sum = e("Add", {sum, e("Gather", {inputs[4], inputs[1]})});
  e.result(0, e("LayerNormalization", {sum, inputs[5], inputs[6]},
                {{"epsilon", attributeOf(epsilon)}}));
  e.result(2, sum);
  if (!node.hasOutput(1))
    return e.status;
  // How many tokens of each batch count.
  NewAttributes toWord{{"to", attributeOf(int64_t(Int32))}};
  std::string lengths =
      node.hasInput(7)
          ? e("ReduceSum", {e("Cast", {inputs[7]}, toWord), e.integers(1)},
              {{"keepdims", attributeOf(int64_t(0))}})
          : node.constant(
                tensorOf(Int32, ids[0],
                         ArrayRef<int64_t>(std::vector<int64_t>(ids[0], 0))));
  e.result(1, lengths);
  return e.status;
}

//===-- Attention ---------------------------------------------------------===//

namespace {

/// Attention, QAttention and MultiHeadAttention: queries, keys and values with
/// the heads side by side, a mask of keys, and a softmax over what is left.
class FusedAttention {
public:
  explicit FusedAttention(NodeImport &node)
      : node(node), e(node), inputs(node.node.inputs), type(node.inputType(0)) {
  }
  Status importPacked();
  Status importSeparate();

private:
  /// 0 for keys that count and the filter value for others, in a shape that
  /// broadcasts to [batch, heads, queries, keys]. Empty without a mask.
  tessera::Result<std::string> mask(size_t index, int64_t batch,
                                    int64_t queries, int64_t keys);
  Status finish(std::string query, std::string key, std::string value,
                size_t maskIndex, size_t biasIndex, Expansion::Names past);

  NodeImport &node;
  Expansion e;
  const std::vector<std::string> &inputs;
  int32_t type;
};

} // namespace

tessera::Result<std::string> FusedAttention::mask(size_t index, int64_t batch,
                                                  int64_t queries,
                                                  int64_t keys) {
  if (!node.hasInput(index))
    return std::string();
  std::vector<int64_t> shape = e.shape(inputs[index]);
  TESSERA_RETURN_IF_ERROR(e.status);
  std::string counts = inputs[index], isKept;
  if (shape == std::vector<int64_t>{batch} && keys != 1) {
    // The number of keys, the others behind them.
    std::vector<int64_t> positions(keys);
    for (int64_t i = 0; i < keys; ++i)
      positions[i] = i;
    isKept =
        e("Less",
          {node.constant(tensorOf(Int32, keys, ArrayRef(positions))),
           e.reshape(e("Cast", {counts}, {{"to", attributeOf(int64_t(Int32))}}),
                     {batch, 1, 1, 1})});
  } else if (shape == std::vector<int64_t>{batch, keys}) {
    isKept = e("Cast", {e.reshape(counts, {batch, 1, 1, keys})},
               {{"to", attributeOf(int64_t(Bool))}});
  } else if (shape == std::vector<int64_t>{batch, queries, keys}) {
    isKept = e("Cast", {e.reshape(counts, {batch, 1, queries, keys})},
               {{"to", attributeOf(int64_t(Bool))}});
  } else {
    return Status(StatusCode::Unsupported,
                  fmt::format("a mask has the shape {}; accepted are [{}], "
                              "[{}, {}] and [{}, {}, {}]",
                              shapeText(shape), batch, batch, keys, batch,
                              queries, keys));
  }
  TESSERA_ASSIGN_OR_RETURN(float filter,
                           node.floatAttribute("mask_filter_value", -10000));
  std::string result =
      e("Where", {isKept, e.scalar(0, type), e.scalar(filter, type)});
  TESSERA_RETURN_IF_ERROR(e.status);
  return result;
}

Status FusedAttention::finish(std::string query, std::string key,
                              std::string value, size_t maskIndex,
                              size_t biasIndex, Expansion::Names past) {
  TESSERA_ASSIGN_OR_RETURN(int64_t heads, node.intAttribute("num_heads", 0));
  TESSERA_ASSIGN_OR_RETURN(bool causal,
                           node.flagAttribute("unidirectional", false));
  TESSERA_ASSIGN_OR_RETURN(float scale, node.floatAttribute("scale", 0));
  std::vector<int64_t> q = e.shape(query), k = e.shape(key);
  TESSERA_RETURN_IF_ERROR(e.status);
  if (heads < 1 || q.size() != 3 || q[2] % heads != 0)
    return NodeImport::error(
        fmt::format("queries {} do not have {} heads (attribute 'num_heads')",
                    shapeText(q), heads));
  int64_t keys = k.size() == 4 ? k[2] : k[1];
  if (!past.empty()) {
    std::vector<int64_t> before = e.shape(past[0]);
    TESSERA_RETURN_IF_ERROR(e.status);
    if (before.size() != 4)
      return NodeImport::error(fmt::format(
          "past keys {} do not have four dimensions", shapeText(before)));
    keys += before[2];
  }
  TESSERA_ASSIGN_OR_RETURN(std::string added,
                           mask(maskIndex, q[0], q[1], keys));
  if (node.hasInput(biasIndex))
    added = added.empty() ? inputs[biasIndex]
                          : e("Add", {added, inputs[biasIndex]});
  NewAttributes attributes{{"q_num_heads", attributeOf(heads)},
                           {"kv_num_heads", attributeOf(heads)},
                           {"is_causal", attributeOf(int64_t(causal))}};
  if (scale != 0)
    attributes["scale"] = attributeOf(scale);
  Expansion::Names operands{query, key, value, added};
  operands.insert(operands.end(), past.begin(), past.end());
  Expansion::Names results = e.many("Attention", operands, 3, attributes);
  for (size_t i = 0; i < results.size(); ++i)
    if (node.node.opType == "MultiHeadAttention" || i == 0)
      e.result(i, results[i]);
  return e.status;
}

Status FusedAttention::importPacked() {
  std::vector<int64_t> shape = e.shape(inputs[0]), weights = e.shape(inputs[1]);
  TESSERA_RETURN_IF_ERROR(e.status);
  // Of integers there are scales before the mask, and zero points behind it.
  bool isQuantized = node.node.opType == "QAttention";
  size_t mask = isQuantized ? 5 : 3, past = isQuantized ? 8 : 4;
  if (node.hasInput(past) || node.hasOutput(1))
    return {StatusCode::Unsupported,
            "keeps keys and values of earlier steps; accepted is none"};
  TESSERA_ASSIGN_OR_RETURN(bool rotates,
                           node.flagAttribute("do_rotary", false));
  if (rotates)
    return {StatusCode::Unsupported,
            "attribute 'do_rotary' is 1; accepted is 0"};
  TESSERA_ASSIGN_OR_RETURN(std::optional<std::vector<int64_t>> sizes,
                           node.intsAttribute("qkv_hidden_sizes"));
  if (shape.size() != 3 || weights.size() != 2)
    return NodeImport::error(
        fmt::format("input {} and weights {}: accepted are [batch, length, "
                    "size] and a matrix",
                    shapeText(shape), shapeText(weights)));
  if (!sizes || sizes->empty())
    sizes = std::vector<int64_t>(3, weights[1] / 3);
  if (sizes->size() != 3 ||
      (*sizes)[0] + (*sizes)[1] + (*sizes)[2] != weights[1])
    return NodeImport::error(fmt::format(
        "weights {} do not hold queries, keys and values", shapeText(weights)));
  std::string all;
  if (isQuantized) {
    type = Float;
    Expansion::Names operands{inputs[0], inputs[1],
                              node.hasInput(6) ? inputs[6] : "",
                              node.hasInput(7) ? inputs[7] : ""};
    all = e("Mul", {e("Cast", {e("MatMulInteger", operands)},
                      {{"to", attributeOf(int64_t(Float))}}),
                    e("Mul", {inputs[3], inputs[4]})});
  } else {
    all = e("MatMul", {inputs[0], inputs[1]});
  }
  if (node.hasInput(2))
    all = e("Add", {all, inputs[2]});
  Expansion::Names parts = e.many("Split", {all, e.integers(*sizes)}, 3,
                                  {{"axis", attributeOf(int64_t(2))}});
  constexpr size_t none = 100;
  return finish(parts[0], parts[1], parts[2], mask, isQuantized ? none : 5, {});
}

Status FusedAttention::importSeparate() {
  Expansion::Names parts(inputs.begin(), inputs.begin() + 1);
  for (size_t i : {1, 2}) {
    if (!node.hasInput(i))
      return {
          StatusCode::Unsupported,
          "has queries, keys and values in one operand; accepted are three"};
    parts.push_back(inputs[i]);
  }
  // One bias for all three, side by side.
  if (node.hasInput(3)) {
    int64_t at = 0;
    for (std::string &part : parts) {
      std::vector<int64_t> shape = e.shape(part);
      TESSERA_RETURN_IF_ERROR(e.status);
      if (shape.size() != 3)
        return {StatusCode::Unsupported,
                "adds a bias to four dimensions; accepted are three"};
      part = e("Add", {part, e.slice(inputs[3], 0, at, at + shape[2])});
      at += shape[2];
    }
  }
  Expansion::Names past;
  if (node.hasInput(6) != node.hasInput(7))
    return NodeImport::error("has only one of past key and value");
  if (node.hasInput(6))
    past = {inputs[6], inputs[7]};
  return finish(parts[0], parts[1], parts[2], 4, 5, past);
}

Status tessera::onnx::importPackedAttention(NodeImport &node) {
  return FusedAttention(node).importPacked();
}

Status tessera::onnx::importMultiHeadAttention(NodeImport &node) {
  return FusedAttention(node).importSeparate();
}

/// As the standard operator, but for the order of operands; positions may be
/// one first position for all.
Status tessera::onnx::importFusedRotaryEmbedding(NodeImport &node) {
  Expansion e(node);
  const std::vector<std::string> &inputs = node.node.inputs;
  std::vector<int64_t> shape = e.shape(inputs[0]), at = e.shape(inputs[1]),
                       table = e.shape(inputs[2]);
  TESSERA_RETURN_IF_ERROR(e.status);
  for (StringRef name : {"is_packed_batching", "scale"})
    if (node.hasAttribute(name)) {
      auto found = node.node.attributes.find(name.str());
      if (found->second.intValue != 0 ||
          (name == "scale" && found->second.floatValue != 1))
        return {StatusCode::Unsupported,
                fmt::format("attribute '{}' is not its default", name.str())};
    }
  TESSERA_ASSIGN_OR_RETURN(int64_t heads, node.intAttribute("num_heads", 0));
  TESSERA_ASSIGN_OR_RETURN(int64_t rotated,
                           node.intAttribute("rotary_embedding_dim", 0));
  TESSERA_ASSIGN_OR_RETURN(bool interleaved,
                           node.flagAttribute("interleaved", false));
  if ((shape.size() != 3 && shape.size() != 4) || table.size() != 2)
    return NodeImport::error(fmt::format("input {} and angles {}: accepted are "
                                         "three or four dimensions, and two",
                                         shapeText(shape), shapeText(table)));
  if (shape.size() == 3 && heads == 0)
    heads = shape[2] / (2 * table[1]);
  int64_t length = shape[shape.size() - 2];
  std::string positions = inputs[1];
  if (at != std::vector<int64_t>{shape[0], length}) {
    std::vector<int64_t> steps(length);
    for (int64_t i = 0; i < length; ++i)
      steps[i] = i;
    positions = e("Add", {e.reshape(positions, {1, 1}), e.integers(steps)});
    positions = e("Expand", {positions, e.integers({shape[0], length})});
  }
  e.result(0, e("RotaryEmbedding", {inputs[0], inputs[2], inputs[3], positions},
                {{"num_heads", attributeOf(heads)},
                 {"rotary_embedding_dim", attributeOf(rotated)},
                 {"interleaved", attributeOf(int64_t(interleaved))}}));
  return e.status;
}
