//===- ImportRecurrent.cpp - ONNX RNN, GRU and LSTM -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The products of the inputs are one matrix product for all steps; the steps
// themselves are unrolled.
//
//===----------------------------------------------------------------------===//

#include "Expansion.h"
#include "TensorBuilders.h"
#include <fmt/format.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

namespace {

using Names = Expansion::Names;

/// Steps are imported one by one.
constexpr int64_t maxSteps = 4096;

struct Activation {
  std::string name;
  float alpha, beta;
};

class Recurrent {
public:
  explicit Recurrent(NodeImport &node) : node(node), e(node) {}
  Status import();

private:
  Status readAttributes();
  Status readActivations();
  Status readShapes();
  /// The outputs of all steps of one direction, in the order of time, and the
  /// last states.
  struct Direction {
    Names outputs;
    std::string state, cell;
  };
  Direction run(int64_t direction);
  void stepRnn(int64_t direction, const std::string &x, std::string &h);
  void stepGru(int64_t direction, const std::string &x, std::string &h);
  void stepLstm(int64_t direction, const std::string &x, std::string &h,
                std::string &c);
  /// Part `index` of `parts` along the last dimension.
  std::string part(const std::string &value, int64_t index) {
    return e.slice(value, 1, index * hidden, (index + 1) * hidden);
  }
  std::string activate(int64_t direction, int64_t index, std::string x);
  /// x times the weights of operand `index`, as `factor` has them.
  std::string product(const std::string &x, const std::string &factor,
                      size_t index, int64_t direction);
  /// Operand `index` of the direction, without the first dimension.
  std::string ofDirection(size_t index, int64_t direction) {
    return e("Gather", {node.node.inputs[index], e.number(direction)},
             {{"axis", attributeOf(int64_t(0))}});
  }
  std::string clipped(const std::string &x) {
    return clip > 0 ? e("Clip", {x, number(-clip), number(clip)}) : x;
  }
  /// A scalar of the type that is computed in.
  std::string number(float value) { return e.scalar(value, node.inputType(0)); }
  std::string one() { return number(1); }

  NodeImport &node;
  Expansion e;
  bool isLstm = false, isGru = false;
  bool isQuantized = false; ///< DynamicQuantizeLSTM: weights are integers.
  int64_t gates = 1, hidden = 0, directions = 1, layout = 0;
  int64_t steps = 0, batch = 0, inputSize = 0;
  bool startsReversed = false, resetAfter = false, coupled = false;
  float clip = 0;
  std::vector<Activation> activations;
  std::string input;   ///< [steps, batch, inputSize]
  std::string lengths; ///< [batch, 1], or empty: all are whole.
  std::string weights, recurrent, bias, recurrentBias, peepholes;
};

} // namespace

Status Recurrent::readActivations() {
  StringRef op = node.node.opType;
  Names names;
  auto given = node.node.attributes.find("activations");
  if (given != node.node.attributes.end()) {
    if (given->second.kind != onnx::Attribute::Kind::Strings)
      return NodeImport::error("attribute 'activations': accepted is a list of "
                               "strings");
    names = given->second.strings;
  }
  size_t each = isLstm ? 3 : isGru ? 2 : 1;
  if (names.empty())
    for (int64_t i = 0; i < directions; ++i) {
      if (op != "RNN")
        names.push_back("Sigmoid");
      names.push_back("Tanh");
      if (isLstm)
        names.push_back("Tanh");
    }
  if (names.size() != each * directions)
    return NodeImport::error(fmt::format("has {} activations; accepted are {}",
                                         names.size(), each * directions));
  auto numbers = [&](const char *name) {
    auto found = node.node.attributes.find(name);
    return found == node.node.attributes.end() ? std::vector<float>()
                                               : found->second.floats;
  };
  std::vector<float> alphas = numbers("activation_alpha"),
                     betas = numbers("activation_beta");
  size_t nextAlpha = 0, nextBeta = 0;
  for (const std::string &name : names) {
    Activation activation{name, 0, 0};
    // Defaults are those of the operators of the same names; the lists have an
    // element only for activations that take one.
    auto take = [](std::vector<float> &from, size_t &next, float byDefault) {
      return next < from.size() ? from[next++] : byDefault;
    };
    std::string lower = StringRef(name).lower();
    static constexpr std::pair<const char *, const char *> known[] = {
        {"relu", "Relu"},
        {"tanh", "Tanh"},
        {"sigmoid", "Sigmoid"},
        {"softsign", "Softsign"},
        {"softplus", "Softplus"},
        {"leakyrelu", "LeakyRelu"},
        {"elu", "Elu"},
        {"thresholdedrelu", "ThresholdedRelu"},
        {"hardsigmoid", "HardSigmoid"},
        {"affine", "Affine"},
        {"scaledtanh", "ScaledTanh"}};
    auto found = llvm::find_if(
        known, [&](const auto &row) { return lower == row.first; });
    if (found == std::end(known))
      return NodeImport::error(fmt::format(
          "activation '{}'; accepted are Affine, Elu, HardSigmoid, LeakyRelu, "
          "Relu, ScaledTanh, Sigmoid, Softplus, Softsign, Tanh and "
          "ThresholdedRelu",
          name));
    activation.name = found->second;
    if (activation.name == "LeakyRelu")
      activation.alpha = take(alphas, nextAlpha, 0.01f);
    else if (activation.name == "Elu" || activation.name == "ThresholdedRelu")
      activation.alpha = take(alphas, nextAlpha, 1);
    else if (activation.name == "HardSigmoid" || activation.name == "Affine" ||
             activation.name == "ScaledTanh") {
      bool hard = activation.name == "HardSigmoid";
      activation.alpha = take(alphas, nextAlpha, hard ? 0.2f : 1);
      activation.beta = take(betas, nextBeta, hard ? 0.5f : 1);
    }
    activations.push_back(std::move(activation));
  }
  return Status::success();
}

Status Recurrent::readAttributes() {
  isQuantized = node.node.opType == "DynamicQuantizeLSTM";
  isLstm = node.node.opType == "LSTM" || isQuantized;
  isGru = node.node.opType == "GRU";
  gates = isLstm ? 4 : isGru ? 3 : 1;
  TESSERA_ASSIGN_OR_RETURN(std::string direction,
                           node.stringAttribute("direction", "forward"));
  if (direction != "forward" && direction != "reverse" &&
      direction != "bidirectional")
    return NodeImport::error(fmt::format("attribute 'direction' is '{}'; "
                                         "accepted are forward, reverse and "
                                         "bidirectional",
                                         direction));
  directions = direction == "bidirectional" ? 2 : 1;
  startsReversed = direction == "reverse";
  TESSERA_ASSIGN_OR_RETURN(layout, node.flagAttribute("layout", false));
  TESSERA_ASSIGN_OR_RETURN(clip, node.floatAttribute("clip", 0));
  TESSERA_ASSIGN_OR_RETURN(resetAfter,
                           node.flagAttribute("linear_before_reset", false));
  TESSERA_ASSIGN_OR_RETURN(coupled, node.flagAttribute("input_forget", false));
  return readActivations();
}

Status Recurrent::readShapes() {
  const std::vector<std::string> &inputs = node.node.inputs;
  input = layout ? e.transpose(inputs[0], {1, 0, 2}) : inputs[0];
  std::vector<int64_t> x = e.shape(input), w = e.shape(inputs[1]),
                       r = e.shape(inputs[2]);
  TESSERA_RETURN_IF_ERROR(e.status);
  TESSERA_ASSIGN_OR_RETURN(hidden, node.intAttribute("hidden_size", -1));
  if (hidden < 0 && r.size() == 3)
    hidden = r[isQuantized ? 1 : 2];
  // Integer weights are stored as the product takes them.
  auto weightShape = [&](int64_t inputs) {
    std::vector<int64_t> shape{directions, gates * hidden, inputs};
    if (isQuantized)
      std::swap(shape[1], shape[2]);
    return shape;
  };
  if (x.size() != 3 || w != weightShape(x[2]) || r != weightShape(hidden))
    return NodeImport::error(fmt::format(
        "input {}, weights {} and recurrent weights {} do not fit {} "
        "directions and {} hidden units",
        shapeText(x), shapeText(w), shapeText(r), directions, hidden));
  steps = x[0];
  batch = x[1];
  inputSize = x[2];
  if (steps > maxSteps)
    return {
        StatusCode::Unsupported,
        fmt::format("has {} steps; accepted are up to {}", steps, maxSteps)};
  auto check = [&](size_t index, std::vector<int64_t> expected) {
    if (!node.hasInput(index))
      return Status::success();
    std::vector<int64_t> shape = e.shape(inputs[index]);
    if (e.ok() && shape != expected)
      return NodeImport::error(
          fmt::format("operand {} has the shape {}; accepted is {}", index,
                      shapeText(shape), shapeText(expected)));
    return e.status;
  };
  std::vector<int64_t> state{directions, batch, hidden};
  if (layout)
    std::swap(state[0], state[1]);
  TESSERA_RETURN_IF_ERROR(check(3, {directions, 2 * gates * hidden}));
  TESSERA_RETURN_IF_ERROR(check(4, {batch}));
  TESSERA_RETURN_IF_ERROR(check(5, state));
  TESSERA_RETURN_IF_ERROR(check(6, state));
  TESSERA_RETURN_IF_ERROR(check(7, {directions, 3 * hidden}));
  if (node.hasInput(4)) {
    const Tensor *known = node.constantInput(4);
    std::optional<std::vector<int64_t>> values;
    if (known)
      values = known->integers();
    if (!values || llvm::any_of(*values, [&](int64_t v) { return v != steps; }))
      lengths = e.reshape(
          e("Cast", {inputs[4]}, {{"to", attributeOf(int64_t(Int32))}}),
          {batch, 1});
  }
  return e.status;
}

std::string Recurrent::product(const std::string &x, const std::string &factor,
                               size_t index, int64_t direction) {
  if (!isQuantized)
    return e("MatMul", {x, factor});
  // Scales and zero points: of the input those of the moment, of the weights
  // one, or one for each column.
  size_t scale = index == 1 ? 8 : 10;
  Names left = e.many("DynamicQuantizeLinear", {x}, 3);
  Names operands{left[0], factor, left[2]};
  if (node.hasInput(scale + 1))
    operands.push_back(ofDirection(scale + 1, direction));
  std::string sums = e("Cast", {e("MatMulInteger", operands)},
                       {{"to", attributeOf(int64_t(Float))}});
  return e("Mul", {sums, e("Mul", {left[1], ofDirection(scale, direction)})});
}

std::string Recurrent::activate(int64_t direction, int64_t index,
                                std::string x) {
  int64_t each = isLstm ? 3 : isGru ? 2 : 1;
  const Activation &activation = activations[direction * each + index];
  auto scaled = [&](std::string value, float factor) {
    return factor == 1 ? value : e("Mul", {value, number(factor)});
  };
  if (activation.name == "Affine")
    return e("Add", {scaled(x, activation.alpha), number(activation.beta)});
  if (activation.name == "ScaledTanh")
    return scaled(e("Tanh", {scaled(x, activation.beta)}), activation.alpha);
  NewAttributes attributes;
  if (activation.name == "LeakyRelu" || activation.name == "Elu" ||
      activation.name == "ThresholdedRelu" || activation.name == "HardSigmoid")
    attributes["alpha"] = attributeOf(activation.alpha);
  if (activation.name == "HardSigmoid")
    attributes["beta"] = attributeOf(activation.beta);
  return e(activation.name, {x}, attributes);
}

void Recurrent::stepRnn(int64_t direction, const std::string &x,
                        std::string &h) {
  std::string sum = e("Add", {x, e("MatMul", {h, recurrent})});
  if (!recurrentBias.empty())
    sum = e("Add", {sum, recurrentBias});
  h = activate(direction, 0, clipped(sum));
}

void Recurrent::stepGru(int64_t direction, const std::string &x,
                        std::string &h) {
  // Update, reset, hidden.
  auto weightsOf = [&](int64_t begin, int64_t end) {
    return e.slice(recurrent, 1, begin * hidden, end * hidden);
  };
  auto biasOf = [&](int64_t begin, int64_t end) {
    return e.slice(recurrentBias, 0, begin * hidden, end * hidden);
  };
  std::string both = e("MatMul", {h, weightsOf(0, 2)});
  if (!recurrentBias.empty())
    both = e("Add", {both, biasOf(0, 2)});
  both = e("Add", {e.slice(x, 1, 0, 2 * hidden), both});
  both = activate(direction, 0, clipped(both));
  std::string update = part(both, 0), reset = part(both, 1), fresh;
  if (resetAfter) {
    fresh = e("MatMul", {h, weightsOf(2, 3)});
    if (!recurrentBias.empty())
      fresh = e("Add", {fresh, biasOf(2, 3)});
    fresh = e("Mul", {reset, fresh});
  } else {
    fresh = e("MatMul", {e("Mul", {reset, h}), weightsOf(2, 3)});
    if (!recurrentBias.empty())
      fresh = e("Add", {fresh, biasOf(2, 3)});
  }
  fresh = e("Add", {part(x, 2), fresh});
  fresh = activate(direction, 1, clipped(fresh));
  // (1 - z) * fresh + z * h
  h = e("Add",
        {e("Mul", {e("Sub", {one(), update}), fresh}), e("Mul", {update, h})});
}

void Recurrent::stepLstm(int64_t direction, const std::string &x,
                         std::string &h, std::string &c) {
  // Input, output, forget, cell.
  std::string sum = e("Add", {x, product(h, recurrent, 2, direction)});
  if (!recurrentBias.empty())
    sum = e("Add", {sum, recurrentBias});
  auto gate = [&](int64_t index, int64_t peephole, const std::string &cell) {
    std::string value = part(sum, index);
    if (!peepholes.empty())
      value =
          e("Add", {value, e("Mul", {e.slice(peepholes, 0, peephole * hidden,
                                             (peephole + 1) * hidden),
                                     cell})});
    return activate(direction, 0, clipped(value));
  };
  std::string in = gate(0, 0, c);
  std::string forget = coupled ? e("Sub", {one(), in}) : gate(2, 2, c);
  std::string fresh = activate(direction, 1, clipped(part(sum, 3)));
  c = e("Add", {e("Mul", {forget, c}), e("Mul", {in, fresh})});
  std::string out = gate(1, 1, c);
  h = e("Mul", {out, activate(direction, 2, c)});
}

Recurrent::Direction Recurrent::run(int64_t direction) {
  weights = ofDirection(1, direction);
  recurrent = ofDirection(2, direction);
  if (!isQuantized) {
    weights = e.transpose(weights, {1, 0});
    recurrent = e.transpose(recurrent, {1, 0});
  }
  bias = recurrentBias = peepholes = "";
  if (node.hasInput(3)) {
    std::string both = ofDirection(3, direction);
    bias = e.slice(both, 0, 0, gates * hidden);
    recurrentBias = e.slice(both, 0, gates * hidden, 2 * gates * hidden);
  }
  if (isLstm && node.hasInput(7))
    peepholes = ofDirection(7, direction);
  auto initial = [&](size_t index) {
    if (node.hasInput(index))
      return e("Gather", {node.node.inputs[index], e.number(direction)},
               {{"axis", attributeOf(layout)}});
    return e("Expand", {number(0), e.integers({batch, hidden})});
  };
  Direction result;
  result.state = initial(5);
  if (isLstm)
    result.cell = initial(6);
  std::string products = product(e.reshape(input, {steps * batch, inputSize}),
                                 weights, 1, direction);
  if (!bias.empty())
    products = e("Add", {products, bias});
  bool reversed = startsReversed || direction == 1;
  std::string zero = number(0);
  for (int64_t step = 0; step < steps && e.ok(); ++step) {
    int64_t time = reversed ? steps - 1 - step : step;
    std::string x = e.slice(products, 0, time * batch, (time + 1) * batch);
    std::string h = result.state, c = result.cell;
    if (isLstm)
      stepLstm(direction, x, h, c);
    else if (isGru)
      stepGru(direction, x, h);
    else
      stepRnn(direction, x, h);
    std::string output = h;
    if (!lengths.empty()) {
      // Beyond its length a sequence keeps its state and has no output.
      std::string inside =
          e("Less", {e.scalar(static_cast<double>(time), Int32), lengths});
      output = e("Where", {inside, h, zero});
      h = e("Where", {inside, h, result.state});
      if (isLstm)
        c = e("Where", {inside, c, result.cell});
    }
    result.outputs.push_back(output);
    result.state = h;
    result.cell = c;
  }
  if (reversed)
    std::reverse(result.outputs.begin(), result.outputs.end());
  return result;
}

Status Recurrent::import() {
  TESSERA_RETURN_IF_ERROR(readAttributes());
  TESSERA_RETURN_IF_ERROR(readShapes());
  for (size_t scale : {8, 10})
    if (isQuantized && !node.hasInput(scale))
      return NodeImport::error(
          fmt::format("operand {}, a scale, is missing", scale));
  std::vector<Direction> results;
  for (int64_t direction = 0; direction < directions; ++direction)
    results.push_back(run(direction));
  TESSERA_RETURN_IF_ERROR(e.status);
  if (node.hasOutput(0)) {
    Names all; // [1, directions, batch, hidden] each
    for (int64_t step = 0; step < steps; ++step)
      for (const Direction &result : results)
        all.push_back(result.outputs[step]);
    std::string output =
        e.reshape(e.concat(all, 0), {steps, directions, batch, hidden});
    e.result(0, layout ? e.transpose(output, {2, 0, 1, 3}) : output);
  }
  auto states = [&](size_t index, std::string Direction::*state) {
    if (!node.hasOutput(index))
      return;
    Names all;
    for (const Direction &result : results)
      all.push_back(result.*state);
    std::string output =
        e.reshape(e.concat(all, 0), {directions, batch, hidden});
    e.result(index, layout ? e.transpose(output, {1, 0, 2}) : output);
  };
  states(1, &Direction::state);
  if (isLstm)
    states(2, &Direction::cell);
  return e.status;
}

Status tessera::onnx::importRecurrent(NodeImport &node) {
  return Recurrent(node).import();
}
