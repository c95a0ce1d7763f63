//===- FormCheck.cpp - What is wrong with nodes, without import -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormCheck.h"
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

Status tessera::onnx::checkNode(const Node &node,
                                const std::set<std::string> &used) {
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

bool tessera::onnx::passesValues(const Node &node) {
  // A shape is known whatever the elements are.
  return node.opType != "Shape" && node.opType != "Size";
}

static bool readsComputed(const Node &node, const ComputedNames &computed) {
  auto isComputed = [&](const std::string &name) {
    return computed.count(name) != 0;
  };
  return llvm::any_of(node.inputs, isComputed) ||
         llvm::any_of(node.captured, isComputed);
}

/// Adds the results of the nodes that are computed.
static void addComputed(ArrayRef<Node> nodes, ComputedNames &computed) {
  for (const Node &node : nodes)
    if (passesValues(node) && readsComputed(node, computed))
      computed.insert(node.outputs.begin(), node.outputs.end());
  computed.erase("");
}

/// What is computed around the nodes of a graph that a node holds: what is
/// around the node, and the inputs that its operands or iterations decide.
static ComputedNames computedAround(const Node &node, const Graph &graph,
                                    const ComputedNames &computed) {
  ComputedNames inner = computed;
  for (const ValueInfo &input : graph.inputs)
    inner.erase(input.name);   // Another value of that name.
  if (node.opType != "Loop") { // Scan's states and slices.
    for (const ValueInfo &input : graph.inputs)
      if (readsComputed(node, computed))
        inner.insert(input.name);
    return inner;
  }
  // Inputs: the iteration's number, the condition, what is carried.
  for (size_t i = 1; i < graph.inputs.size() && i < node.inputs.size(); ++i)
    if (computed.count(node.inputs[i]))
      inner.insert(graph.inputs[i].name);
  for (bool changed = true; changed;) {
    addComputed(graph.nodes, inner);
    changed = false;
    for (size_t i = 0; i < graph.outputs.size() && i + 1 < graph.inputs.size();
         ++i)
      if (inner.count(graph.outputs[i].name))
        changed |= inner.insert(graph.inputs[i + 1].name).second;
  }
  return inner;
}

/// An error if the node's shape or number of iterations is computed.
static Status checkKnown(const Node &node, const ComputedNames &computed) {
  auto isComputed = [&](size_t i) {
    return i < node.inputs.size() && computed.count(node.inputs[i]) != 0;
  };
  if (node.opType == "Loop" && node.domain.empty()) {
    if (isComputed(0))
      return tripCountError();
    auto body = node.attributes.find("body");
    if (body != node.attributes.end() && body->second.graphValue) {
      const Graph &graph = *body->second.graphValue;
      if (!graph.outputs.empty() &&
          (isComputed(1) || computedAround(node, graph, computed)
                                .count(graph.outputs.front().name)))
        return loopConditionError();
    }
    return Status::success();
  }
  if (node.opType == "Cast" && node.domain.empty() && isComputed(0)) {
    auto to = node.attributes.find("to");
    if (to != node.attributes.end() && to->second.intValue == String)
      return castTypeError(String);
  }
  // These have a use for operands that are computed.
  if (llvm::is_contained({"If", "Dropout", "Pad", "Resize"}, node.opType))
    return Status::success();
  uint32_t mask = decidingOperands(node.opType);
  for (size_t i = 0; i < 32; ++i)
    if (mask >> i & 1 && isComputed(i))
      return {StatusCode::Unsupported,
              fmt::format("operand {} decides the shape, but is computed by "
                          "the model; accepted is a constant",
                          i)};
  return Status::success();
}

void FormCheck::add(const Status &status) {
  std::string text = status.message();
  for (const Node *node : llvm::reverse(ArrayRef(path).drop_front()))
    text = fmt::format("node '{}' ({}): {}", node->displayName(), node->opType,
                       text);
  report(*path.front(), Status(status.code(), text));
}

void FormCheck::checkGraphs(const Node &node, const ComputedNames &computed) {
  for (const auto &[name, attribute] : node.attributes) {
    if (!attribute.graphValue)
      continue;
    const Graph &graph = *attribute.graphValue;
    ComputedNames inner = computedAround(node, graph, computed);
    std::set<std::string> results;
    for (const ValueInfo &output : graph.outputs)
      results.insert(output.name);
    checkNodes(graph.nodes, results, inner);
  }
}

void FormCheck::checkCall(const Node &node, const Function &function,
                          const ComputedNames &computed) {
  if (!checked.insert(&function).second)
    return;
  ComputedNames inner;
  for (size_t i = 0; i < function.inputs.size() && i < node.inputs.size(); ++i)
    if (computed.count(node.inputs[i]))
      inner.insert(function.inputs[i]);
  checkNodes(function.nodes, {function.outputs.begin(), function.outputs.end()},
             inner);
}

void FormCheck::checkOperands(const Node &node, const ComputedNames &computed) {
  path.push_back(&node);
  auto function = model.functions.find({node.domain, node.opType});
  if (function != model.functions.end()) {
    checkCall(node, function->second, computed);
  } else {
    if (Status status = checkKnown(node, computed); !status.ok())
      add(status);
    checkGraphs(node, computed);
  }
  path.pop_back();
}

void FormCheck::checkNodes(ArrayRef<Node> nodes,
                           const std::set<std::string> &results,
                           ComputedNames &computed) {
  std::set<std::string> used = results;
  for (const Node &node : nodes) {
    used.insert(node.inputs.begin(), node.inputs.end());
    used.insert(node.captured.begin(), node.captured.end());
  }
  used.erase(""); // An omitted operand.
  for (const Node &node : nodes) {
    bool isCall = model.functions.count({node.domain, node.opType}) != 0;
    Status status = isCall ? Status::success() : checkNode(node, used);
    if (status.ok()) {
      checkOperands(node, computed);
    } else {
      path.push_back(&node);
      add(status);
      path.pop_back();
    }
    addComputed(node, computed);
  }
}
