//===- GraphImport.cpp - The nodes of an ONNX graph -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A node that cannot be imported does not end the import: its results count as
// missing. Nodes that need them, with the graphs that they hold, are only
// looked up in the table of operators, and refused where a shape would depend
// on what is computed.
//
//===----------------------------------------------------------------------===//

#include "NodeImport.h"
#include "ShapeInputs.h"
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

namespace {
/// What is known of values that could not be imported.
class Missing {
public:
  Missing(GraphValues &values) : values(values) {}

  bool isMissing(const std::string &name) const {
    return !name.empty() && values[name].missing;
  }
  /// The node's results are missing.
  void add(const Node &node) {
    // A shape is known whatever the elements are.
    bool depends = node.opType != "Shape" && node.opType != "Size" &&
                   llvm::any_of(node.inputs, [&](const std::string &name) {
                     return isComputed(name);
                   });
    for (const std::string &output : node.outputs) {
      values.define(output).missing = true;
      if (depends)
        computed.insert(output);
    }
  }
  /// An error if the shape of what the node gives depends on a missing value
  /// that inputs of the model decide, rather than constants.
  Status checkShape(const Node &node) const {
    // These have a use for operands that are computed.
    if (llvm::is_contained({"If", "Dropout", "Pad", "Resize"}, node.opType))
      return Status::success();
    uint32_t mask = decidingOperands(node.opType);
    for (size_t i = 0; i < node.inputs.size() && i < 32; ++i)
      if (mask >> i & 1 && isMissing(node.inputs[i]) &&
          computed.count(node.inputs[i]))
        return {StatusCode::Unsupported,
                fmt::format("operand {} decides the shape, but is computed by "
                            "the model; accepted is a constant",
                            i)};
    return Status::success();
  }

private:
  bool isComputed(const std::string &name) const {
    if (name.empty())
      return false;
    const GraphValue &value = values[name];
    return value.missing ? computed.count(name) != 0
                         : value.value && !value.constant;
  }

  GraphValues &values;
  std::set<std::string> computed; ///< Of the missing ones.
};
} // namespace

/// Looks up the nodes of the graphs that a node holds, in the table only.
static void
checkInnerNodes(const Node &node, const ImportScope &scope,
                llvm::function_ref<void(const Node &, const Status &)> report) {
  for (const auto &[name, attribute] : node.attributes) {
    if (!attribute.graphValue)
      continue;
    const Graph &graph = *attribute.graphValue;
    std::set<std::string> used;
    for (const Node &inner : graph.nodes)
      used.insert(inner.inputs.begin(), inner.inputs.end());
    used.erase("");
    for (const Node &inner : graph.nodes) {
      if (scope.model.functions.count({inner.domain, inner.opType}) != 0)
        continue;
      if (Status status = checkNode(inner, used); !status.ok())
        report(inner, status);
      checkInnerNodes(inner, scope, report);
    }
  }
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
  Missing missing(values);
  for (const Node &node : nodes) {
    if (scope.progress && *scope.progress)
      (*scope.progress)("importing", &node - nodes.data(), nodes.size(),
                        node.name.empty() ? node.opType : node.name);
    auto skip = [&](const Status &status) {
      if (!status.ok())
        report(node, status);
      good = false;
      missing.add(node);
    };
    bool isCall = scope.model.functions.count({node.domain, node.opType}) != 0;
    if (Status status = isCall ? Status::success() : checkNode(node, used);
        !status.ok()) {
      skip(status);
      continue;
    }
    auto isMissing = [&](const std::string &name) {
      return missing.isMissing(name);
    };
    if (llvm::any_of(node.inputs, isMissing) ||
        llvm::any_of(node.captured, isMissing)) {
      skip(missing.checkShape(node));
      checkInnerNodes(node, scope, report);
      continue;
    }
    if (Status status = importNode(node, scope, values, builder); !status.ok())
      skip(status);
  }
  return good;
}
