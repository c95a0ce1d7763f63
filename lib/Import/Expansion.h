//===- Expansion.h - Operators written as others ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Many operators are defined as a function of others. An expansion imports
// those one by one, each under the name of the operator's node. After the first
// problem it does nothing more; `status` tells what it was.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_IMPORT_EXPANSION_H
#define TESSERA_LIB_IMPORT_EXPANSION_H

#include "ConstantMath.h"
#include "NodeImport.h"

namespace tessera::onnx {

class Expansion {
public:
  explicit Expansion(NodeImport &node) : node(node) {}
  using Names = std::vector<std::string>;

  Status status = Status::success();
  bool ok() const { return status.ok(); }

  /// The operator's only result; empty after a problem.
  std::string operator()(llvm::StringRef op, Names inputs,
                         NewAttributes attributes = {}) {
    Names results = many(op, std::move(inputs), 1, std::move(attributes));
    return results.front();
  }
  /// All results of an operator.
  Names many(llvm::StringRef op, Names inputs, size_t outputs,
             NewAttributes attributes = {}) {
    if (!ok())
      return Names(outputs);
    auto results =
        node.expand(op, std::move(inputs), std::move(attributes), outputs);
    if (results.ok())
      return *results;
    status = results.status();
    return Names(outputs);
  }

  std::string integers(llvm::ArrayRef<int64_t> values) {
    return node.constant(values);
  }
  std::string number(int64_t value) {
    return node.constant(tensorOf(Int64, {}, llvm::ArrayRef<int64_t>{value}));
  }
  /// A scalar of the type.
  std::string scalar(double value, int32_t type = Float) {
    if (type == Float16 || type == BFloat16)
      return (*this)("Cast", {scalar(value)},
                     {{"to", attributeOf(int64_t(type))}});
    return node.constant(tensorOf(type, {}, llvm::ArrayRef<double>{value}));
  }
  std::string reshape(const std::string &value, llvm::ArrayRef<int64_t> shape) {
    return (*this)("Reshape", {value, integers(shape)},
                   {{"allowzero", attributeOf(int64_t(1))}});
  }
  std::string transpose(const std::string &value, std::vector<int64_t> order) {
    return (*this)("Transpose", {value}, {{"perm", attributeOf(order)}});
  }
  std::string slice(const std::string &value, int64_t axis, int64_t begin,
                    int64_t end) {
    return (*this)("Slice",
                   {value, integers(begin), integers(end), integers(axis)});
  }
  std::string concat(Names parts, int64_t axis) {
    return parts.size() == 1
               ? parts.front()
               : (*this)("Concat", parts, {{"axis", attributeOf(axis)}});
  }
  std::vector<int64_t> shape(const std::string &value) {
    if (!ok())
      return {};
    auto result = node.shapeOfName(value);
    if (result.ok())
      return *result;
    status = result.status();
    return {};
  }
  int32_t type(const std::string &value) {
    const GraphValue &entry = node.lookup(value);
    return entry.constant ? entry.constant->elementType : entry.elementType;
  }
  /// Result `index` of the node.
  void result(size_t index, const std::string &value) {
    if (ok() && node.hasOutput(index))
      node.forward(index, value);
  }

private:
  NodeImport &node;
};

} // namespace tessera::onnx

#endif // TESSERA_LIB_IMPORT_EXPANSION_H
