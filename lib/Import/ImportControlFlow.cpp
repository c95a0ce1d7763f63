//===- ImportControlFlow.cpp - ONNX If, Loop, Scan and functions ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops are unrolled: how often they run must be known while importing. An If
// whose condition is computed computes both branches and takes one.
//
//===----------------------------------------------------------------------===//

#include "ConstantMath.h"
#include "FormCheck.h"
#include "NodeImport.h"
#include "TensorBuilders.h"
#include <fmt/format.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

/// Nodes are imported once for each iteration.
static constexpr int64_t maxIterations = 4096;

/// The boolean that a value is known to be.
static std::optional<bool> knownTruth(const GraphValue &value) {
  if (!value.constant || value.constant->elementType != Bool ||
      value.constant->elementCount() != 1)
    return std::nullopt;
  return value.constant->data->front() != 0;
}

//===-- If ----------------------------------------------------------------===//

Status tessera::onnx::importIf(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(const Graph *thenGraph,
                           node.graphAttribute("then_branch"));
  TESSERA_ASSIGN_OR_RETURN(const Graph *elseGraph,
                           node.graphAttribute("else_branch"));
  size_t count = node.node.outputs.size();
  if (thenGraph->outputs.size() < count || elseGraph->outputs.size() < count)
    return NodeImport::error("has more outputs than its branches");
  const GraphValue &condition = node.lookup(node.node.inputs[0]);
  if (std::optional<bool> truth = knownTruth(condition)) {
    TESSERA_ASSIGN_OR_RETURN(
        std::vector<GraphValue> results,
        node.importGraph(*truth ? *thenGraph : *elseGraph, {}));
    for (size_t i = 0; i < count; ++i)
      if (node.hasOutput(i))
        node.forward(i, node.nameOf(results[i]));
    return Status::success();
  }
  TESSERA_ASSIGN_OR_RETURN(std::vector<GraphValue> ifTrue,
                           node.importGraph(*thenGraph, {}));
  TESSERA_ASSIGN_OR_RETURN(std::vector<GraphValue> ifFalse,
                           node.importGraph(*elseGraph, {}));
  // One number, whatever its shape.
  TESSERA_ASSIGN_OR_RETURN(
      std::string truth,
      node.emit("Reshape",
                {node.node.inputs[0], node.constant(ArrayRef<int64_t>())}));
  for (size_t i = 0; i < count; ++i) {
    if (!node.hasOutput(i))
      continue;
    std::string left = node.nameOf(ifTrue[i]), right = node.nameOf(ifFalse[i]);
    TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> a, node.shapeOfName(left));
    TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> c, node.shapeOfName(right));
    if (a != c)
      return {StatusCode::Unsupported,
              fmt::format("output {} has the shape {} or {}, as a computed "
                          "condition says; accepted are equal shapes",
                          i, shapeText(a), shapeText(c))};
    TESSERA_ASSIGN_OR_RETURN(std::string result,
                             node.emit("Where", {truth, left, right}));
    node.forward(i, result);
  }
  return Status::success();
}

//===-- Loop --------------------------------------------------------------===//

/// The values of every iteration, one after the other along a new axis.
static tessera::Result<std::string>
stack(NodeImport &node, ArrayRef<std::string> parts, int64_t axis) {
  std::vector<std::string> expanded;
  std::string axes = node.constant(axis);
  for (const std::string &part : parts) {
    TESSERA_ASSIGN_OR_RETURN(std::string one,
                             node.emit("Unsqueeze", {part, axes}));
    expanded.push_back(one);
  }
  return node.emit("Concat", expanded, {{"axis", attributeOf(axis)}});
}

Status tessera::onnx::tripCountError() {
  return {StatusCode::Unsupported,
          "the number of iterations is computed; accepted is a constant"};
}

Status tessera::onnx::loopConditionError() {
  return {StatusCode::Unsupported,
          "whether there is a further iteration is computed; accepted is a "
          "condition that is known while importing"};
}

Status tessera::onnx::importLoop(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(const Graph *body, node.graphAttribute("body"));
  std::optional<int64_t> trips;
  if (node.hasInput(0)) {
    const Tensor *given = node.constantInput(0);
    if (!given)
      return tripCountError();
    TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> numbers,
                             node.integerInput(0));
    if (numbers.size() != 1)
      return NodeImport::error("operand 0: accepted is one number");
    trips = numbers.front();
  }
  GraphValue condition;
  condition.constant =
      std::make_shared<const Tensor>(tensorOf(Bool, {}, ArrayRef<int64_t>{1}));
  condition.elementType = Bool;
  if (node.hasInput(1))
    condition = node.lookup(node.node.inputs[1]);
  size_t carried =
      node.node.inputs.size() - std::min<size_t>(2, node.node.inputs.size());
  if (body->inputs.size() != carried + 2 ||
      body->outputs.size() < carried + 1 ||
      node.node.outputs.size() > body->outputs.size() - 1)
    return NodeImport::error(
        fmt::format("has {} values to carry; its body has {} inputs and {} "
                    "outputs",
                    carried, body->inputs.size(), body->outputs.size()));
  std::vector<GraphValue> values;
  for (size_t i = 0; i < carried; ++i)
    values.push_back(node.lookup(node.node.inputs[2 + i]));
  size_t scanned = body->outputs.size() - 1 - carried;
  std::vector<std::vector<std::string>> scans(scanned);
  for (int64_t iteration = 0; !trips || iteration < *trips; ++iteration) {
    std::optional<bool> truth = knownTruth(condition);
    if (!truth)
      return loopConditionError();
    if (!*truth)
      break;
    if (iteration == maxIterations)
      return {StatusCode::Unsupported,
              fmt::format("runs more often than {} times", maxIterations)};
    GraphValue index;
    index.elementType = Int64;
    index.constant = std::make_shared<const Tensor>(
        tensorOf(Int64, {}, ArrayRef<int64_t>{iteration}));
    std::vector<GraphValue> inputs{index, condition};
    inputs.insert(inputs.end(), values.begin(), values.end());
    TESSERA_ASSIGN_OR_RETURN(std::vector<GraphValue> results,
                             node.importGraph(*body, inputs));
    condition = results.front();
    values.assign(results.begin() + 1, results.begin() + 1 + carried);
    for (size_t i = 0; i < scanned; ++i)
      scans[i].push_back(node.nameOf(results[1 + carried + i]));
  }
  for (size_t i = 0; i < node.node.outputs.size(); ++i) {
    if (!node.hasOutput(i))
      continue;
    if (i < carried) {
      node.forward(i, node.nameOf(values[i]));
      continue;
    }
    if (scans[i - carried].empty())
      return NodeImport::error(fmt::format(
          "output {} has no elements, since the loop does not run", i));
    TESSERA_ASSIGN_OR_RETURN(std::string result,
                             stack(node, scans[i - carried], 0));
    node.forward(i, result);
  }
  return Status::success();
}

//===-- Scan --------------------------------------------------------------===//

/// A list of integers with one for each of `count`, all 0 if absent.
static tessera::Result<std::vector<int64_t>>
listAttribute(NodeImport &node, StringRef name, size_t count) {
  TESSERA_ASSIGN_OR_RETURN(std::optional<std::vector<int64_t>> given,
                           node.intsAttribute(name));
  if (!given)
    return std::vector<int64_t>(count, 0);
  if (given->size() != count)
    return NodeImport::error(
        fmt::format("attribute '{}' has {} elements; accepted are {} here",
                    name.str(), given->size(), count));
  return *given;
}

namespace {
/// How a Scan goes over its inputs and puts its outputs together.
struct ScanForm {
  const Graph *body;
  std::vector<int64_t> inputAxes, inputDirections, outputAxes, outputDirections;
};
} // namespace

/// Iterates over slices of the inputs and stacks what the body gives. Gives the
/// last states and the stacks.
static tessera::Result<std::vector<std::string>>
scan(NodeImport &node, const ScanForm &form, std::vector<GraphValue> states,
     ArrayRef<std::string> inputs) {
  size_t carried = states.size();
  size_t scanned = form.body->outputs.size() - carried;
  std::vector<int64_t> axes = form.inputAxes;
  int64_t length = -1;
  for (size_t i = 0; i < inputs.size(); ++i) {
    TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> shape,
                             node.shapeOfName(inputs[i]));
    int64_t rank = shape.size();
    TESSERA_ASSIGN_OR_RETURN(axes[i], node.axis(axes[i], rank, rank - 1));
    if (length >= 0 && shape[axes[i]] != length)
      return NodeImport::error("iterates over inputs of different lengths");
    length = shape[axes[i]];
  }
  if (length > maxIterations)
    return Status(StatusCode::Unsupported,
                  fmt::format("runs more often than {} times", maxIterations));
  std::vector<std::vector<std::string>> parts(scanned);
  for (int64_t step = 0; step < length; ++step) {
    std::vector<GraphValue> values = states;
    for (size_t i = 0; i < inputs.size(); ++i) {
      int64_t at = form.inputDirections[i] ? length - 1 - step : step;
      TESSERA_ASSIGN_OR_RETURN(
          std::string slice,
          node.emit("Gather",
                    {inputs[i],
                     node.constant(tensorOf(Int64, {}, ArrayRef<int64_t>{at}))},
                    {{"axis", attributeOf(axes[i])}}));
      values.push_back(node.lookup(slice));
    }
    TESSERA_ASSIGN_OR_RETURN(std::vector<GraphValue> results,
                             node.importGraph(*form.body, values));
    states.assign(results.begin(), results.begin() + carried);
    for (size_t i = 0; i < scanned; ++i) {
      std::string result = node.nameOf(results[carried + i]);
      if (form.outputDirections[i])
        parts[i].insert(parts[i].begin(), result);
      else
        parts[i].push_back(result);
    }
  }
  std::vector<std::string> outputs;
  for (const GraphValue &state : states)
    outputs.push_back(node.nameOf(state));
  for (size_t i = 0; i < scanned; ++i) {
    if (parts[i].empty())
      return NodeImport::error("has no elements to iterate over");
    TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> shape,
                             node.shapeOfName(parts[i].front()));
    int64_t rank = shape.size() + 1;
    TESSERA_ASSIGN_OR_RETURN(int64_t axis,
                             node.axis(form.outputAxes[i], rank, rank - 1));
    TESSERA_ASSIGN_OR_RETURN(std::string result, stack(node, parts[i], axis));
    outputs.push_back(result);
  }
  return outputs;
}

/// Before version 9 every operand has a batch in front, and its sequence next.
static tessera::Result<std::vector<std::string>>
scanBatches(NodeImport &node, const ScanForm &form, size_t carried,
            ArrayRef<std::string> operands) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> first,
                           node.shapeOfName(operands.front()));
  if (first.empty())
    return NodeImport::error("has an operand without a batch");
  std::vector<std::vector<std::string>> outputs(form.body->outputs.size());
  for (int64_t batch = 0; batch < first[0]; ++batch) {
    std::vector<GraphValue> states;
    std::vector<std::string> inputs;
    for (size_t i = 0; i < operands.size(); ++i) {
      TESSERA_ASSIGN_OR_RETURN(
          std::string own,
          node.emit("Gather",
                    {operands[i], node.constant(tensorOf(
                                      Int64, {}, ArrayRef<int64_t>{batch}))}));
      if (i < carried)
        states.push_back(node.lookup(own));
      else
        inputs.push_back(own);
    }
    TESSERA_ASSIGN_OR_RETURN(std::vector<std::string> own,
                             scan(node, form, states, inputs));
    for (size_t i = 0; i < own.size(); ++i)
      outputs[i].push_back(own[i]);
  }
  std::vector<std::string> results;
  for (const std::vector<std::string> &parts : outputs) {
    TESSERA_ASSIGN_OR_RETURN(std::string result, stack(node, parts, 0));
    results.push_back(result);
  }
  return results;
}

Status tessera::onnx::importScan(NodeImport &node) {
  ScanForm form;
  TESSERA_ASSIGN_OR_RETURN(form.body, node.graphAttribute("body"));
  TESSERA_ASSIGN_OR_RETURN(int64_t inputCount,
                           node.intAttribute("num_scan_inputs", 0));
  bool batches = node.opset < 9;
  std::vector<std::string> operands = node.node.inputs;
  if (batches) {
    if (node.hasInput(0))
      return {StatusCode::Unsupported,
              "operand 0 gives each sequence a length; accepted is none"};
    operands.erase(operands.begin());
  }
  size_t total = operands.size();
  if (inputCount < 1 || static_cast<size_t>(inputCount) > total ||
      form.body->inputs.size() != total)
    return NodeImport::error(fmt::format(
        "has {} operands and num_scan_inputs {}; its body has {} inputs", total,
        inputCount, form.body->inputs.size()));
  size_t carried = total - inputCount;
  if (form.body->outputs.size() < carried ||
      node.node.outputs.size() > form.body->outputs.size())
    return NodeImport::error("has more outputs than its body");
  size_t scanned = form.body->outputs.size() - carried;
  TESSERA_ASSIGN_OR_RETURN(form.inputAxes,
                           listAttribute(node, "scan_input_axes", inputCount));
  TESSERA_ASSIGN_OR_RETURN(
      form.inputDirections,
      listAttribute(node, batches ? "directions" : "scan_input_directions",
                    inputCount));
  TESSERA_ASSIGN_OR_RETURN(form.outputAxes,
                           listAttribute(node, "scan_output_axes", scanned));
  TESSERA_ASSIGN_OR_RETURN(
      form.outputDirections,
      listAttribute(node, "scan_output_directions", scanned));
  std::vector<std::string> outputs;
  if (batches) {
    TESSERA_ASSIGN_OR_RETURN(outputs,
                             scanBatches(node, form, carried, operands));
  } else {
    std::vector<GraphValue> states;
    for (size_t i = 0; i < carried; ++i)
      states.push_back(node.lookup(operands[i]));
    TESSERA_ASSIGN_OR_RETURN(
        outputs,
        scan(node, form, states, ArrayRef(operands).drop_front(carried)));
  }
  for (size_t i = 0; i < node.node.outputs.size(); ++i)
    if (node.hasOutput(i))
      node.forward(i, outputs[i]);
  return Status::success();
}

//===-- Functions ---------------------------------------------------------===//

/// The node with its references replaced by the caller's attributes, as far as
/// the caller has them.
static Node resolve(const Node &node, const Node &caller) {
  Node result = node;
  for (auto it = result.attributes.begin(); it != result.attributes.end();) {
    if (it->second.kind == onnx::Attribute::Kind::Reference) {
      auto given = caller.attributes.find(it->second.stringValue);
      if (given == caller.attributes.end()) {
        it = result.attributes.erase(it);
        continue;
      }
      it->second = given->second;
    } else if (it->second.graphValue) {
      auto graph = std::make_shared<Graph>(*it->second.graphValue);
      for (Node &inner : graph->nodes)
        inner = resolve(inner, caller);
      it->second.graphValue = std::move(graph);
    }
    ++it;
  }
  return result;
}

Status tessera::onnx::importCall(NodeImport &node, const Function &function) {
  const Node &caller = node.node;
  if (caller.inputs.size() > function.inputs.size() ||
      caller.outputs.size() > function.outputs.size())
    return NodeImport::error(fmt::format(
        "has {} operands and {} outputs; the function has {} and {}",
        caller.inputs.size(), caller.outputs.size(), function.inputs.size(),
        function.outputs.size()));
  for (const auto &[name, attribute] : caller.attributes)
    if (!llvm::is_contained(function.attributes, name))
      return NodeImport::error(fmt::format(
          "attribute '{}' is unknown to the function; accepted are {}", name,
          fmt::join(function.attributes, ", ")));
  return node.importBody(
      function, [&](const Node &inner) { return resolve(inner, caller); });
}
