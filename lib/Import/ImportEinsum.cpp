//===- ImportEinsum.cpp - ONNX Einsum -------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands are multiplied from the left to the right, two at a time: each time
// as a batch of matrix products over the labels that nothing later needs.
//
//===----------------------------------------------------------------------===//

#include "Expansion.h"
#include "TensorBuilders.h"
#include <fmt/format.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

namespace {

/// A tensor with a label for each dimension. Dimensions of an ellipsis have
/// digits, counted from the last one.
struct Term {
  std::string value, labels;
};

class Einsum {
public:
  explicit Einsum(NodeImport &node) : node(node), e(node) {}
  Status import();

private:
  Status parse();
  Status spell(StringRef text, size_t rank, std::string &labels);
  void takeDiagonals(Term &term);
  /// Sums over what is not in `needed`.
  void reduce(Term &term, StringRef needed);
  Term multiply(Term left, Term right, StringRef needed);
  /// The term's dimensions in the order of `labels`, which has all of them.
  std::string arrange(const Term &term, StringRef labels);
  int64_t extent(char label) { return extents[label]; }

  NodeImport &node;
  Expansion e;
  std::vector<Term> terms;
  std::string output;
  std::map<char, int64_t> extents;
};

} // namespace

Status Einsum::spell(StringRef text, size_t rank, std::string &labels) {
  size_t dots = text.find("...");
  StringRef before = text, after;
  if (dots != StringRef::npos) {
    before = text.take_front(dots);
    after = text.drop_front(dots + 3);
  }
  auto good = [](StringRef part) {
    return llvm::all_of(part, [](char c) { return llvm::isAlpha(c); });
  };
  size_t named = before.size() + after.size();
  if (!good(before) || !good(after) ||
      (dots == StringRef::npos ? rank != named : rank < named))
    return NodeImport::error(
        fmt::format("'{}' does not describe a tensor with {} dimensions",
                    text.str(), rank));
  labels = before.str();
  if (rank - named > 10)
    return NodeImport::error("has an ellipsis of more than 10 dimensions");
  for (size_t i = rank - named; i-- > 0;)
    labels += static_cast<char>('0' + i);
  labels += after;
  return Status::success();
}

Status Einsum::parse() {
  TESSERA_ASSIGN_OR_RETURN(std::string equation,
                           node.stringAttribute("equation", ""));
  std::erase(equation, ' ');
  auto [left, right] = StringRef(equation).split("->");
  bool isExplicit = StringRef(equation).contains("->");
  SmallVector<StringRef> parts;
  left.split(parts, ',');
  if (parts.size() != node.node.inputs.size())
    return NodeImport::error(
        fmt::format("the equation '{}' is about {} operands, not {}", equation,
                    parts.size(), node.node.inputs.size()));
  size_t ellipsis = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> shape, node.inputShape(i));
    Term term{node.node.inputs[i], ""};
    TESSERA_RETURN_IF_ERROR(spell(parts[i], shape.size(), term.labels));
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      char label = term.labels[dim];
      int64_t &known = extents.try_emplace(label, 1).first->second;
      if (llvm::isDigit(label))
        ellipsis = std::max<size_t>(ellipsis, label - '0' + 1);
      if (shape[dim] != known && known != 1 && shape[dim] != 1)
        return NodeImport::error(fmt::format(
            "the extents {} and {} have the same label", known, shape[dim]));
      known = std::max(known, shape[dim]);
    }
    terms.push_back(std::move(term));
  }
  if (isExplicit) {
    size_t named = right.size() - (right.contains("...") ? 3 : 0);
    TESSERA_RETURN_IF_ERROR(
        spell(right, named + (right.contains("...") ? ellipsis : 0), output));
    for (char label : output)
      if (!extents.count(label) || StringRef(output).count(label) != 1)
        return NodeImport::error(
            fmt::format("'{}' is no result of '{}'", right.str(), left.str()));
    return Status::success();
  }
  // The ellipsis, then what is there once, in alphabetical order.
  for (size_t i = ellipsis; i-- > 0;)
    output += static_cast<char>('0' + i);
  for (const auto &[label, size] : extents)
    if (llvm::isAlpha(label) && left.count(label) == 1)
      output += label;
  return Status::success();
}

void Einsum::takeDiagonals(Term &term) {
  for (size_t i = 0; i < term.labels.size(); ++i)
    for (size_t j = term.labels.size() - 1; j > i; --j) {
      if (term.labels[i] != term.labels[j])
        continue;
      // Both dimensions to the end, joined; then every (n + 1)th element.
      std::vector<int64_t> shape = e.shape(term.value), order;
      if (!e.ok())
        return;
      for (size_t dim = 0; dim < shape.size(); ++dim)
        if (dim != i && dim != j)
          order.push_back(dim);
      std::string labels;
      std::vector<int64_t> joined;
      for (int64_t dim : order) {
        labels += term.labels[dim];
        joined.push_back(shape[dim]);
      }
      int64_t n = shape[i], axis = joined.size();
      if (shape[j] != n) {
        e.status = NodeImport::error("takes the diagonal of unequal extents");
        return;
      }
      joined.push_back(n * n);
      order.push_back(i);
      order.push_back(j);
      std::string flat =
          e.reshape(e.transpose(term.value, std::move(order)), joined);
      term.value = e("Slice", {flat, e.integers(0), e.integers(n * n),
                               e.integers(axis), e.integers(n + 1)});
      term.labels = labels + term.labels[i];
      i = -1; // From the start, with one dimension less.
      break;
    }
}

void Einsum::reduce(Term &term, StringRef needed) {
  std::vector<int64_t> axes;
  std::string kept;
  for (size_t i = 0; i < term.labels.size(); ++i)
    if (needed.contains(term.labels[i]))
      kept += term.labels[i];
    else
      axes.push_back(i);
  if (axes.empty())
    return;
  term.value = e("ReduceSum", {term.value, e.integers(axes)},
                 {{"keepdims", attributeOf(int64_t(0))}});
  term.labels = kept;
}

std::string Einsum::arrange(const Term &term, StringRef labels) {
  std::vector<int64_t> order;
  for (char label : labels)
    order.push_back(term.labels.find(label));
  if (llvm::is_sorted(order))
    return term.value;
  return e.transpose(term.value, std::move(order));
}

Term Einsum::multiply(Term left, Term right, StringRef needed) {
  reduce(left, (needed + right.labels).str());
  reduce(right, (needed + left.labels).str());
  // Along a dimension of extent 1 an operand is repeated.
  for (Term *term : {&left, &right}) {
    std::vector<int64_t> shape = e.shape(term->value);
    if (!e.ok())
      return left;
    bool widens = false;
    for (size_t i = 0; i < shape.size(); ++i) {
      widens |= shape[i] != extent(term->labels[i]);
      shape[i] = extent(term->labels[i]);
    }
    if (widens)
      term->value = e("Expand", {term->value, e.integers(shape)});
  }
  std::string batch, rows, inner, columns;
  for (char label : left.labels) {
    bool both = right.labels.find(label) != std::string::npos;
    (!both ? rows : needed.contains(label) ? batch : inner) += label;
  }
  for (char label : right.labels)
    if (left.labels.find(label) == std::string::npos)
      columns += label;
  auto size = [&](StringRef labels) {
    int64_t product = 1;
    for (char label : labels)
      product *= extent(label);
    return product;
  };
  std::string a = e.reshape(arrange(left, batch + rows + inner),
                            {size(batch), size(rows), size(inner)});
  std::string c = e.reshape(arrange(right, batch + inner + columns),
                            {size(batch), size(inner), size(columns)});
  Term result;
  result.labels = batch + rows + columns;
  std::vector<int64_t> shape;
  for (char label : result.labels)
    shape.push_back(extent(label));
  result.value = e.reshape(e("MatMul", {a, c}), shape);
  return result;
}

Status Einsum::import() {
  TESSERA_RETURN_IF_ERROR(parse());
  for (Term &term : terms)
    takeDiagonals(term);
  TESSERA_RETURN_IF_ERROR(e.status);
  Term result = terms.front();
  for (size_t i = 1; i < terms.size(); ++i) {
    std::string needed = output;
    for (size_t later = i + 1; later < terms.size(); ++later)
      needed += terms[later].labels;
    result = multiply(result, terms[i], needed);
  }
  reduce(result, output);
  std::string value = arrange(result, output);
  if (value == node.node.inputs[0])
    value = e("Identity", {value});
  e.result(0, value);
  return e.status;
}

Status tessera::onnx::importEinsum(NodeImport &node) {
  return Einsum(node).import();
}
