//===- ImportTfIdf.cpp - ONNX TfIdfVectorizer -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How often each n-gram of a pool occurs in a row of integers. The n-grams of
// one length are counted together: every window is compared with all of them.
//
//===----------------------------------------------------------------------===//

#include "Expansion.h"
#include "TensorBuilders.h"
#include <fmt/format.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

namespace {

class TfIdf {
public:
  explicit TfIdf(NodeImport &node) : node(node), e(node) {}
  Status import();

private:
  Status readPool();
  /// The counts [batch, n-grams] of those of the given length.
  std::string count(int64_t length);

  NodeImport &node;
  Expansion e;
  /// By length, from 1.
  std::vector<std::vector<std::vector<int64_t>>> pool;
  std::vector<int64_t> indexes; ///< The output position of each n-gram.
  int64_t shortest = 0, longest = 0, skips = 0;
  int64_t batch = 1, columns = 0;
  std::string tokens;
};

} // namespace

Status TfIdf::readPool() {
  TESSERA_ASSIGN_OR_RETURN(shortest, node.intAttribute("min_gram_length", 0));
  TESSERA_ASSIGN_OR_RETURN(longest, node.intAttribute("max_gram_length", 0));
  TESSERA_ASSIGN_OR_RETURN(skips, node.intAttribute("max_skip_count", 0));
  TESSERA_ASSIGN_OR_RETURN(std::optional<std::vector<int64_t>> given,
                           node.intsAttribute("pool_int64s"));
  TESSERA_ASSIGN_OR_RETURN(std::optional<std::vector<int64_t>> starts,
                           node.intsAttribute("ngram_counts"));
  TESSERA_ASSIGN_OR_RETURN(std::optional<std::vector<int64_t>> positions,
                           node.intsAttribute("ngram_indexes"));
  if (!given || !starts || !positions)
    return NodeImport::error("needs the attributes 'pool_int64s', "
                             "'ngram_counts' and 'ngram_indexes'");
  constexpr int64_t most = 1 << 10;
  if (shortest < 1 || longest < shortest || longest > most || skips < 0 ||
      skips > most)
    return NodeImport::error(
        fmt::format("counts n-grams of {} to {} tokens with up to {} skipped; "
                    "accepted are 1 to 1024 and 0 to 1024",
                    shortest, longest, skips));
  size_t grams = 0;
  for (size_t i = 0; i < starts->size(); ++i) {
    int64_t begin = (*starts)[i],
            end = i + 1 < starts->size() ? (*starts)[i + 1]
                                         : static_cast<int64_t>(given->size());
    int64_t length = static_cast<int64_t>(i) + 1;
    if (begin < 0 || end < begin || end > static_cast<int64_t>(given->size()) ||
        (end - begin) % length != 0)
      return NodeImport::error("attribute 'ngram_counts' does not divide the "
                               "pool into n-grams");
    auto &own = pool.emplace_back();
    for (int64_t at = begin; at < end; at += length)
      own.emplace_back(given->begin() + at, given->begin() + at + length);
    grams += own.size();
  }
  indexes = *positions;
  if (grams != indexes.size())
    return NodeImport::error(
        fmt::format("attribute 'ngram_indexes' has {} positions for {} n-grams",
                    indexes.size(), grams));
  for (int64_t index : indexes)
    if (index < 0 || index >= (int64_t(1) << 24))
      return NodeImport::error(fmt::format(
          "attribute 'ngram_indexes' holds {}; accepted are 0 to 2^24 - 1",
          index));
  return Status::success();
}

std::string TfIdf::count(int64_t length) {
  const auto &grams = pool[length - 1];
  int64_t number = grams.size();
  std::string total;
  // A single token has nothing to skip.
  for (int64_t skip = 0; skip <= (length == 1 ? 0 : skips); ++skip) {
    int64_t step = skip + 1, windows = columns - (length - 1) * step;
    if (windows < 1)
      break;
    std::string matches;
    for (int64_t i = 0; i < length; ++i) {
      std::string token =
          e.reshape(e.slice(tokens, 1, i * step, i * step + windows),
                    {batch, windows, 1});
      std::vector<int64_t> wanted;
      for (const auto &gram : grams)
        wanted.push_back(gram[i]);
      std::string equal =
          e("Equal", {token, e.reshape(e.integers(wanted), {1, 1, number})});
      matches = matches.empty() ? equal : e("And", {matches, equal});
    }
    std::string counts =
        e("ReduceSum",
          {e("Cast", {matches}, {{"to", attributeOf(int64_t(Float))}}),
           e.integers(1)},
          {{"keepdims", attributeOf(int64_t(0))}});
    total = total.empty() ? counts : e("Add", {total, counts});
  }
  if (!total.empty())
    return total;
  return node.constant(
      tensorOf(Float, {batch, number},
               ArrayRef(std::vector<double>(batch * number, 0))));
}

Status TfIdf::import() {
  TESSERA_RETURN_IF_ERROR(readPool());
  TESSERA_ASSIGN_OR_RETURN(std::string mode, node.stringAttribute("mode", ""));
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    return NodeImport::error(fmt::format(
        "attribute 'mode' is '{}'; accepted are TF, IDF and TFIDF", mode));
  std::vector<int64_t> shape = e.shape(node.node.inputs[0]);
  TESSERA_RETURN_IF_ERROR(e.status);
  if (shape.size() != 1 && shape.size() != 2)
    return NodeImport::error(fmt::format(
        "input {}: accepted are one or two dimensions", shapeText(shape)));
  columns = shape.back();
  batch = shape.size() == 2 ? shape[0] : 1;
  tokens = e.reshape(
      e("Cast", {node.node.inputs[0]}, {{"to", attributeOf(int64_t(Int64))}}),
      {batch, columns});
  // Lengths that do not count are zeros; positions take what is theirs.
  Expansion::Names parts;
  for (size_t i = 0; i < pool.size(); ++i) {
    if (pool[i].empty())
      continue;
    int64_t length = static_cast<int64_t>(i) + 1, number = pool[i].size();
    parts.push_back(length < shortest || length > longest
                        ? node.constant(tensorOf(
                              Float, {batch, number},
                              ArrayRef(std::vector<double>(batch * number, 0))))
                        : count(length));
  }
  if (parts.empty())
    return NodeImport::error("has an empty pool");
  int64_t width = 1 + *llvm::max_element(indexes);
  std::vector<int64_t> sources(width, static_cast<int64_t>(indexes.size()));
  for (size_t i = 0; i < indexes.size(); ++i)
    sources[indexes[i]] = i;
  parts.push_back(node.constant(
      tensorOf(Float, {batch, 1}, ArrayRef(std::vector<double>(batch, 0)))));
  std::string result = e("Gather", {e.concat(parts, 1), e.integers(sources)},
                         {{"axis", attributeOf(int64_t(1))}});
  if (mode != "TF") {
    std::vector<double> weights(width, 1);
    if (auto found = node.node.attributes.find("weights");
        found != node.node.attributes.end()) {
      if (found->second.floats.size() != indexes.size())
        return NodeImport::error("attribute 'weights' does not have one number "
                                 "for each n-gram");
      for (size_t i = 0; i < indexes.size(); ++i)
        weights[indexes[i]] = found->second.floats[i];
    }
    std::string weight =
        node.constant(tensorOf(Float, {width}, ArrayRef(weights)));
    if (mode == "IDF")
      result = e("Cast", {e("Greater", {result, e.scalar(0)})},
                 {{"to", attributeOf(int64_t(Float))}});
    result = e("Mul", {result, weight});
  }
  e.result(0, shape.size() == 2 ? result : e.reshape(result, width));
  return e.status;
}

Status tessera::onnx::importTfIdf(NodeImport &node) {
  return TfIdf(node).import();
}
