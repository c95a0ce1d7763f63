//===- ImportGroupQuery.cpp - com.microsoft GroupQueryAttention -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Causal attention with a cache, as generation with ONNX Runtime has it: new
// keys and values, rotated if asked for, are written into the cache, each
// batch's behind those that it has, and the queries look at what the cache then
// holds.
//
//===----------------------------------------------------------------------===//

#include "Expansion.h"
#include "TensorBuilders.h"
#include <fmt/format.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

namespace {
class GroupQuery {
public:
  explicit GroupQuery(NodeImport &node)
      : node(node), e(node), inputs(node.node.inputs) {}
  Status import();

private:
  enum Operand {
    Query,
    Key,
    Value,
    PastKey,
    PastValue,
    LastKey, ///< [batch]: the place of the newest key.
    Total,
    Cosines,
    Sines,
    Positions,
    Bias
  };
  Status checkOptions();
  Status readShapes();
  /// [batch, length]: where the new tokens stand.
  std::string positions();
  std::string rotated(const std::string &value, int64_t heads);
  /// [batch, heads, length, size].
  std::string inHeads(const std::string &value, int64_t heads) {
    return e.transpose(e.reshape(value, {batch, length, heads, size}),
                       {0, 2, 1, 3});
  }
  std::string cached(size_t past, const std::string &fresh);

  NodeImport &node;
  Expansion e;
  const std::vector<std::string> &inputs;
  std::string query, key, value, begin;
  int64_t queryHeads = 0, keyHeads = 0, batch = 0, length = 0, size = 0;
  int64_t before = 0; ///< Places in the cache that is given.
  int64_t total = 0; ///< Tokens of the longest sequence, the new ones included.
  bool isPrompt = false;
};
} // namespace

/// What would need other arithmetic is refused.
Status GroupQuery::checkOptions() {
  for (size_t operand = Bias + 1; operand < inputs.size(); ++operand)
    if (node.hasInput(operand))
      return {
          StatusCode::Unsupported,
          fmt::format("has operand {} (sinks, scales of a quantised cache); "
                      "accepted are the first {}",
                      operand, Bias + 1)};
  struct Option {
    const char *name;
    int64_t accepted;
  };
  for (auto [name, accepted] :
       {Option{"local_window_size", -1}, Option{"smooth_softmax", 0},
        Option{"qk_output", 0}}) {
    TESSERA_ASSIGN_OR_RETURN(int64_t given, node.intAttribute(name, accepted));
    if (given != accepted && given != -1)
      return {StatusCode::Unsupported,
              fmt::format("attribute '{}' is {}; accepted is {}", name, given,
                          accepted)};
  }
  if (node.hasInput(PastKey) != node.hasInput(PastValue))
    return NodeImport::error("has only one of past key and value");
  return Status::success();
}

Status GroupQuery::readShapes() {
  TESSERA_ASSIGN_OR_RETURN(queryHeads, node.intAttribute("num_heads", 0));
  TESSERA_ASSIGN_OR_RETURN(keyHeads, node.intAttribute("kv_num_heads", 0));
  std::vector<int64_t> shape = e.shape(inputs[Query]);
  TESSERA_RETURN_IF_ERROR(e.status);
  bool isPacked = !node.hasInput(Key);
  int64_t parts = queryHeads + (isPacked ? 2 * keyHeads : 0);
  if (shape.size() != 3 || queryHeads < 1 || keyHeads < 1 ||
      queryHeads % keyHeads != 0 || shape[2] % parts != 0)
    return NodeImport::error(fmt::format(
        "queries {} with {} heads to {} of the keys: accepted are [batch, "
        "length, heads side by side], and a multiple of the heads of the keys",
        shapeText(shape), queryHeads, keyHeads));
  batch = shape[0];
  length = shape[1];
  size = shape[2] / parts;
  query = inputs[Query];
  if (isPacked) {
    Expansion::Names split = e.many(
        "Split",
        {query,
         e.integers({queryHeads * size, keyHeads * size, keyHeads * size})},
        3, {{"axis", attributeOf(int64_t(2))}});
    query = split[0];
    key = split[1];
    value = split[2];
  } else if (node.hasInput(Value)) {
    key = inputs[Key];
    value = inputs[Value];
  } else {
    return NodeImport::error("has keys without values");
  }
  for (const std::string &each : {key, value}) {
    std::vector<int64_t> own = e.shape(each);
    if (e.ok() && own != std::vector<int64_t>{batch, length, keyHeads * size})
      return NodeImport::error(
          fmt::format("keys or values {}; accepted are {}", shapeText(own),
                      shapeText({batch, length, keyHeads * size})));
  }
  TESSERA_RETURN_IF_ERROR(e.status);
  if (node.hasInput(PastKey)) {
    std::vector<int64_t> past = e.shape(inputs[PastKey]);
    TESSERA_RETURN_IF_ERROR(e.status);
    if (past.size() != 4 || past != e.shape(inputs[PastValue]) ||
        past[0] != batch || past[1] != keyHeads || past[3] != size)
      return NodeImport::error(fmt::format(
          "past keys {}; accepted are [{}, {}, length, {}], and values alike",
          shapeText(past), batch, keyHeads, size));
    before = past[2];
  }
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> given,
                           node.integerInput(Total));
  if (given.size() != 1 || given[0] < length || given[0] > before + length)
    return NodeImport::error(fmt::format(
        "operand {}: accepted is the length of the longest sequence, {} to {}",
        int(Total), length, before + length));
  total = given[0];
  isPrompt = total == length;
  std::vector<int64_t> last = e.shape(inputs[LastKey]);
  if (e.ok() && product(last) != batch)
    return NodeImport::error(
        fmt::format("operand {} has the shape {}; accepted is [{}]",
                    int(LastKey), shapeText(last), batch));
  return e.status;
}

std::string GroupQuery::positions() {
  if (node.hasInput(Positions) &&
      product(e.shape(inputs[Positions])) == batch * length)
    return e.reshape(inputs[Positions], {batch, length});
  std::vector<int64_t> steps(length);
  for (int64_t i = 0; i < length; ++i)
    steps[i] = i;
  return e("Add", {e.reshape(begin, {batch, 1}), e.integers(steps)});
}

std::string GroupQuery::rotated(const std::string &value, int64_t heads) {
  std::vector<int64_t> angles = e.shape(inputs[Cosines]);
  if (!e.ok())
    return value;
  bool interleaved = false;
  if (auto flag = node.flagAttribute("rotary_interleaved", false); flag.ok())
    interleaved = *flag;
  else
    e.status = flag.status();
  return e("RotaryEmbedding",
           {value, inputs[Cosines], inputs[Sines], positions()},
           {{"num_heads", attributeOf(heads)},
            {"interleaved", attributeOf(int64_t(interleaved))},
            {"rotary_embedding_dim", attributeOf(2 * angles.back())}});
}

/// The cache with `fresh` [batch, heads, length, size] in it.
std::string GroupQuery::cached(size_t past, const std::string &fresh) {
  int64_t places = std::max(before, total);
  if (places == length)
    return fresh;
  if (isPrompt) // From the first place on.
    return e.concat({fresh, e.slice(inputs[past], 2, length, places)}, 2);
  std::string cache = inputs[past];
  if (places > before)
    cache = e("Pad", {cache, e.integers({0, 0, 0, 0, 0, 0, places - before, 0}),
                      e.scalar(0, node.inputType(Query))});
  return e("TensorScatter", {cache, fresh, begin},
           {{"axis", attributeOf(int64_t(2))}});
}

Status GroupQuery::import() {
  TESSERA_RETURN_IF_ERROR(checkOptions());
  TESSERA_RETURN_IF_ERROR(readShapes());
  TESSERA_ASSIGN_OR_RETURN(bool rotates,
                           node.flagAttribute("do_rotary", false));
  TESSERA_ASSIGN_OR_RETURN(float scale, node.floatAttribute("scale", 0));
  TESSERA_ASSIGN_OR_RETURN(float softcap, node.floatAttribute("softcap", 0));
  std::string count = // Of the keys of each batch.
      e("Add", {e.reshape(e("Cast", {inputs[LastKey]},
                            {{"to", attributeOf(int64_t(Int64))}}),
                          {batch}),
                e.number(1)});
  begin = isPrompt ? e.integers(std::vector<int64_t>(batch, 0))
                   : e("Sub", {count, e.number(length)});
  if (rotates) {
    if (!node.hasInput(Cosines) || !node.hasInput(Sines))
      return NodeImport::error("rotates without angles");
    query = rotated(query, queryHeads);
    key = rotated(key, keyHeads);
  }
  key = inHeads(key, keyHeads);
  value = inHeads(value, keyHeads);
  std::string keys = cached(PastKey, key), values = cached(PastValue, value);
  e.result(1, keys);
  e.result(2, values);
  NewAttributes attributes{{"is_causal", attributeOf(int64_t(1))},
                           {"softcap", attributeOf(softcap)}};
  if (scale != 0)
    attributes["scale"] = attributeOf(scale);
  // In a prompt all start at the first place; what is behind a shorter one's
  // end comes after all of its queries.
  Expansion::Names operands{inHeads(query, queryHeads), isPrompt ? key : keys,
                            isPrompt ? value : values,
                            node.hasInput(Bias) ? inputs[Bias] : ""};
  if (!isPrompt)
    operands.insert(operands.end(), {"", "", count});
  std::string result = e("Attention", operands, attributes);
  e.result(0, e.reshape(e.transpose(result, {0, 2, 1, 3}),
                        {batch, length, queryHeads * size}));
  return e.status;
}

Status tessera::onnx::importGroupQueryAttention(NodeImport &node) {
  return GroupQuery(node).import();
}
