//===- GraphImport.cpp - The nodes of an ONNX graph -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A node that cannot be imported does not end the import: its results count as
// missing, and nodes that need them are only looked up in the table of
// operators.
//
//===----------------------------------------------------------------------===//

#include "NodeImport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

static Status invalid(std::string message) {
  return {StatusCode::InvalidArgument, std::move(message)};
}

/// Whether the node is one that the importer knows, in form. `used` holds what
/// is read of the graph's values.
static Status checkNode(const Node &node, const std::set<std::string> &used) {
  std::string known = knownOperators(node.domain);
  if (known.empty())
    return {StatusCode::Unsupported,
            fmt::format("an operator of the domain '{}'; accepted are standard "
                        "operators, some of com.microsoft, and functions of "
                        "the model",
                        node.domain)};
  const Operator *op = findOperator(node.domain, node.opType);
  if (!op)
    return {StatusCode::Unsupported,
            node.domain.empty()
                ? fmt::format("unknown operator; accepted are {}", known)
                : fmt::format("unknown operator of the domain '{}'; accepted "
                              "are {}",
                              node.domain, known)};
  size_t inputs = node.inputs.size();
  while (inputs > 0 && node.inputs[inputs - 1].empty())
    --inputs;
  if (inputs < op->minInputs || inputs > op->maxInputs)
    return invalid(op->minInputs == op->maxInputs
                       ? fmt::format("has {} operands; accepted are {}", inputs,
                                     op->minInputs)
                       : fmt::format("has {} operands; accepted are {} to {}",
                                     inputs, op->minInputs, op->maxInputs));
  for (size_t i = op->maxOutputs; i < node.outputs.size(); ++i)
    if (used.count(node.outputs[i]))
      return {
          StatusCode::Unsupported,
          fmt::format("output {} ('{}') cannot be computed; accepted are {}", i,
                      node.outputs[i], op->maxOutputs)};
  if (llvm::all_of(node.outputs, [](auto &name) { return name.empty(); }))
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

/// The version of the operators that the node's operator belongs to.
static int64_t opsetOf(const ImportScope &scope) {
  auto found = scope.opsets.find("");
  return found == scope.opsets.end() ? 1 : found->second;
}

static Status importNode(const Node &node, const ImportScope &scope,
                         GraphValues &values, OpBuilder &builder) {
  ImplicitLocOpBuilder b(
      NameLoc::get(builder.getStringAttr(node.displayName())), builder);
  NodeImport import(node, opsetOf(scope), scope, values, b);
  auto function = scope.model.functions.find({node.domain, node.opType});
  if (function != scope.model.functions.end())
    return importCall(import, function->second);
  return findOperator(node.domain, node.opType)->import(import);
}

bool tessera::onnx::importNodes(
    ArrayRef<Node> nodes, const std::set<std::string> &results,
    const ImportScope &scope, GraphValues &values, OpBuilder &builder,
    llvm::function_ref<void(const Node &, const Status &)> report) {
  std::set<std::string> used = results;
  for (const Node &node : nodes) {
    used.insert(node.inputs.begin(), node.inputs.end());
    used.insert(node.captured.begin(), node.captured.end());
  }
  used.erase(""); // An omitted operand.
  bool good = true;
  for (const Node &node : nodes) {
    if (scope.progress && *scope.progress)
      (*scope.progress)("importing", &node - nodes.data(), nodes.size(),
                        node.name.empty() ? node.opType : node.name);
    auto skip = [&] {
      good = false;
      for (const std::string &output : node.outputs)
        values.define(output).missing = true;
    };
    bool isCall = scope.model.functions.count({node.domain, node.opType}) != 0;
    if (Status status = isCall ? Status::success() : checkNode(node, used);
        !status.ok()) {
      report(node, status);
      skip();
      continue;
    }
    auto isMissing = [&](const std::string &name) {
      return !name.empty() && values[name].missing;
    };
    if (llvm::any_of(node.inputs, isMissing) ||
        llvm::any_of(node.captured, isMissing)) {
      skip();
      continue;
    }
    if (Status status = importNode(node, scope, values, builder);
        !status.ok()) {
      report(node, status);
      skip();
    }
  }
  return good;
}
