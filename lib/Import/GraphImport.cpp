//===- GraphImport.cpp - The nodes of an ONNX graph -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A node that cannot be imported does not end the import: its results count as
// missing. Nodes that need them, with the graphs that they hold, are only
// checked in form.
//
//===----------------------------------------------------------------------===//

#include "Float8.h"
#include "FormCheck.h"
#include "NodeImport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

/// The version of the operators that the node's operator belongs to.
static int64_t opsetOf(const ImportScope &scope) {
  auto found = scope.opsets.find("");
  return found == scope.opsets.end() ? 1 : found->second;
}

/// Floats of eight bits are bits (Float8.h), which other operators would take
/// for integers.
static Status checkFloat8(const NodeImport &import) {
  const Node &node = import.node;
  if (node.domain.empty() &&
      llvm::is_contained({"Cast", "CastLike", "Constant", "ConstantOfShape",
                          "DequantizeLinear", "Expand", "Flatten", "Identity",
                          "If", "Loop", "QuantizeLinear", "Reshape", "Scan",
                          "Shape", "Size", "Squeeze", "Transpose", "Unsqueeze",
                          // What Scan and Loop are taken apart into.
                          "Concat", "Gather", "Slice"},
                         node.opType))
    return Status::success();
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (import.hasInput(i) && float8Format(import.inputType(i)))
      return {StatusCode::Unsupported,
              fmt::format("operand {} has elements of type {}; accepted are "
                          "conversions from it first (Cast, DequantizeLinear)",
                          i, elementTypeName(import.inputType(i)))};
  return Status::success();
}

static Status importNode(const Node &node, const ImportScope &scope,
                         GraphValues &values, OpBuilder &builder) {
  ImplicitLocOpBuilder b(
      NameLoc::get(builder.getStringAttr(node.displayName())), builder);
  NodeImport import(node, opsetOf(scope), scope, values, b);
  auto function = scope.model.functions.find({node.domain, node.opType});
  if (function != scope.model.functions.end())
    return importCall(import, function->second);
  TESSERA_RETURN_IF_ERROR(checkFloat8(import));
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
    bool depends = passesValues(node) && !computedOf(node).empty();
    for (const std::string &output : node.outputs) {
      values.define(output).missing = true;
      (depends ? computed : known).insert(output);
    }
  }
  /// What the model computes of the values that the node reads.
  ComputedNames computedOf(const Node &node) const {
    ComputedNames names;
    for (const std::vector<std::string> *list : {&node.inputs, &node.captured})
      for (const std::string &name : *list)
        if (isComputed(name))
          names.insert(name);
    return names;
  }

private:
  bool isComputed(const std::string &name) const {
    if (name.empty() || computed.count(name) || known.count(name))
      return computed.count(name) != 0;
    const GraphValue &value = values[name];
    return value.missing || (value.value && !value.constant); // An input, too.
  }

  GraphValues &values;
  ComputedNames computed;
  std::set<std::string> known; ///< Missing, but made of shapes and constants.
};
} // namespace

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
  FormCheck form(scope.model, report);
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
      skip(Status::success());
      form.checkOperands(node, missing.computedOf(node));
      continue;
    }
    if (Status status = importNode(node, scope, values, builder); !status.ok())
      skip(status);
  }
  return good;
}
