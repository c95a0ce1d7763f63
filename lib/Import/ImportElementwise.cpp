//===- ImportElementwise.cpp - ONNX operators on single elements
//------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConstantMath.h"
#include "ElementFunctions.h"
#include "FormCheck.h"
#include "NodeImport.h"
#include "TensorBuilders.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

/// An operand's element type when f32 stands for the narrow floats.
static int32_t computedType(const NodeImport &node, size_t index) {
  int32_t type = node.inputType(index);
  return type == Float16 || type == BFloat16 ? int32_t(Float) : type;
}

/// The operand in the type that it is computed in.
static tessera::Result<Value> computedInput(NodeImport &node, size_t index) {
  return computedType(node, index) == Float ? node.input(index)
                                            : node.storedInput(index);
}

static void setComputed(NodeImport &node, Value value, int32_t type) {
  if (type == Float)
    node.setResult(0, value);
  else
    node.setResult(0, value, type);
}

static Status refuseType(const NodeImport &node) {
  return {StatusCode::Unsupported,
          fmt::format("has operands of type {}, for which the operator is not "
                      "supported",
                      elementTypeName(node.inputType(0)))};
}

/// Sets the result if it follows from constants alone.
static bool foldConstants(NodeImport &node) {
  SmallVector<const Tensor *> operands;
  for (size_t i = 0; i < node.node.inputs.size(); ++i)
    operands.push_back(node.constantInput(i));
  std::optional<Tensor> result = foldElementwise(node.node.opType, operands);
  if (result)
    node.setConstant(0, std::move(*result));
  return result.has_value();
}

/// Before version 7 two shapes broadcast only if the node says so, the second
/// from an axis of the first on. Gives the second operand's shape for what came
/// later.
static tessera::Result<std::optional<SmallVector<int64_t>>>
readOldBroadcast(NodeImport &node) {
  if (node.node.opType == "PRelu" && node.opset < 7) {
    // One slope for each channel.
    TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> x, node.inputShape(0));
    TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> slope, node.inputShape(1));
    if (slope.size() == 1 && x.size() > 2) {
      SmallVector<int64_t> along(x.size() - 1, 1);
      along[0] = slope[0];
      return std::optional(along);
    }
  }
  bool present = node.hasAttribute("broadcast") || node.hasAttribute("axis");
  if (!present)
    return std::optional<SmallVector<int64_t>>();
  if (node.opset >= 7)
    return NodeImport::error("attributes 'broadcast' and 'axis' are unknown "
                             "from version 7 of the operators on");
  TESSERA_ASSIGN_OR_RETURN(bool broadcast,
                           node.flagAttribute("broadcast", false));
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> left, node.inputShape(0));
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> right, node.inputShape(1));
  if (!broadcast || !node.hasAttribute("axis"))
    return std::optional<SmallVector<int64_t>>();
  int64_t rank = left.size(), own = right.size();
  TESSERA_ASSIGN_OR_RETURN(int64_t axis, node.intAttribute("axis", 0));
  TESSERA_ASSIGN_OR_RETURN(axis, node.axis(axis, rank, rank));
  if (axis + own > rank)
    return NodeImport::error(
        fmt::format("the shape {} does not broadcast to {} from axis {} on",
                    shapeText(right), shapeText(left), axis));
  SmallVector<int64_t> shape(right.begin(), right.end());
  shape.append(rank - axis - own, 1);
  return std::optional(shape);
}

/// x shifted by y bits; 0 if that is all of them.
static Value buildShift(ImplicitLocOpBuilder &b, bool left, Value x, Value y) {
  Type type = x.getType();
  Value inside =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, y,
                            buildNumber(b, type, type.getIntOrFloatBitWidth()));
  Value zero = buildNumber(b, type, 0);
  Value amount = arith::SelectOp::create(b, inside, y, zero);
  Value shifted = left ? arith::ShLIOp::create(b, x, amount).getResult()
                       : arith::ShRUIOp::create(b, x, amount);
  return arith::SelectOp::create(b, inside, shifted, zero);
}

Status tessera::onnx::importBitShift(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(std::string direction,
                           node.stringAttribute("direction", ""));
  if (direction != "LEFT" && direction != "RIGHT")
    return NodeImport::error(fmt::format(
        "attribute 'direction' is '{}'; accepted are LEFT and RIGHT",
        direction));
  TESSERA_ASSIGN_OR_RETURN(Value x, node.storedInput(0));
  TESSERA_ASSIGN_OR_RETURN(Value y, node.storedInput(1));
  if (node.inputType(0) != Uint8 || node.inputType(1) != Uint8)
    return refuseType(node);
  TESSERA_ASSIGN_OR_RETURN(
      Value result,
      buildElementwise(node.b, {x, y}, elementTypeOf(x),
                       [&](ImplicitLocOpBuilder &b, ValueRange e) {
                         return buildShift(b, direction == "LEFT", e[0], e[1]);
                       }));
  node.setResult(0, result, Uint8);
  return Status::success();
}

/// The operator applied to the operands one after the other.
Status tessera::onnx::importBinary(NodeImport &node) {
  StringRef op = node.node.opType;
  TESSERA_ASSIGN_OR_RETURN(std::optional<SmallVector<int64_t>> rightShape,
                           readOldBroadcast(node));
  if (op == "Mod") {
    TESSERA_ASSIGN_OR_RETURN(bool truncates, node.flagAttribute("fmod", false));
    if (truncates)
      op = "Remainder";
  }
  if (!rightShape && op == node.node.opType && foldConstants(node))
    return Status::success();
  int32_t type = computedType(node, 0);
  for (size_t i = 1; i < node.node.inputs.size(); ++i)
    if (node.inputType(i) != node.inputType(0))
      return NodeImport::error(fmt::format(
          "has operands of types {} and {}; accepted are equal types",
          elementTypeName(node.inputType(0)),
          elementTypeName(node.inputType(i))));
  TESSERA_ASSIGN_OR_RETURN(Value result, computedInput(node, 0));
  Type element = isComparison(op) ? node.b.getI1Type() : elementTypeOf(result);
  for (size_t i = 1; i < node.node.inputs.size(); ++i) {
    TESSERA_ASSIGN_OR_RETURN(Value right, computedInput(node, i));
    if (rightShape)
      right = buildReshape(node.b, right, *rightShape);
    bool known = true;
    TESSERA_ASSIGN_OR_RETURN(
        result,
        buildElementwise(node.b, {result, right}, element,
                         [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                           Value value = buildBinary(op, type, b, e[0], e[1]);
                           known = value != nullptr;
                           return known ? value : buildNumber(b, element, 0);
                         }));
    if (!known)
      return refuseType(node);
  }
  setComputed(node, result, isComparison(op) ? int32_t(Bool) : type);
  return Status::success();
}

Status tessera::onnx::importMean(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(Value result, node.input(0));
  for (size_t i = 1; i < node.node.inputs.size(); ++i) {
    TESSERA_ASSIGN_OR_RETURN(Value right, node.input(i));
    TESSERA_ASSIGN_OR_RETURN(
        result,
        buildElementwise(node.b, {result, right},
                         [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                           return arith::AddFOp::create(b, e[0], e[1]);
                         }));
  }
  int64_t count = node.node.inputs.size();
  TESSERA_ASSIGN_OR_RETURN(
      result, buildElementwise(node.b, result,
                               [&](ImplicitLocOpBuilder &b, ValueRange e) {
                                 return buildDivision(b, e[0], count);
                               }));
  node.setResult(0, result);
  return Status::success();
}

/// Whole exponents give exact powers, others the float power without its
/// fraction.
static Value buildFloatPowerOfInteger(ImplicitLocOpBuilder &b, Value x,
                                      Value exponent, int32_t type) {
  Value whole = arith::CmpFOp::create(
      b, arith::CmpFPredicate::OEQ,
      math::FloorOp::create(b, exponent).getResult(), exponent);
  Value inRange = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT,
                                        math::AbsFOp::create(b, exponent),
                                        buildScalar(b, 0x1p31f));
  Value exact = buildIntegerPower(b, x, buildCast(b, exponent, Float, type));
  Value real = buildPower(b, buildCast(b, x, type, Float), exponent);
  return arith::SelectOp::create(b, arith::AndIOp::create(b, whole, inRange),
                                 exact, buildCast(b, real, Float, type));
}

Status tessera::onnx::importPow(NodeImport &node) {
  if (foldConstants(node))
    return Status::success();
  int32_t type = computedType(node, 0);
  TESSERA_ASSIGN_OR_RETURN(Value base, computedInput(node, 0));
  Type element = elementTypeOf(base);
  std::optional<std::vector<double>> exponent;
  if (const Tensor *constant = node.constantInput(1);
      constant && constant->elementCount() == 1)
    exponent = constant->numbers();
  if (exponent) {
    bool known = true;
    TESSERA_ASSIGN_OR_RETURN(
        Value result,
        buildElementwise(
            node.b, base, element,
            [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
              Value power = buildConstantPower(b, e[0], exponent->front());
              if (!power && type == Float)
                power = buildPower(b, e[0], buildScalar(b, exponent->front()));
              known = power != nullptr;
              return known ? power : e[0];
            }));
    if (!known)
      return refuseType(node);
    // A constant of one element may have more dimensions than the base.
    size_t rank = node.constantInput(1)->shape.size();
    SmallVector<int64_t> shape(shapeOf(result));
    while (shape.size() < rank)
      shape.insert(shape.begin(), 1);
    setComputed(node, buildReshape(node.b, result, shape), type);
    return Status::success();
  }
  int32_t exponentType = computedType(node, 1);
  if (type != Float && type != Int32 && type != Int64)
    return refuseType(node);
  TESSERA_ASSIGN_OR_RETURN(Value power, computedInput(node, 1));
  if (type != Float) {
    // The low half of a power in 64 bits is the power in 32.
    int32_t wide = exponentType == Int64 ? int32_t(Int64) : type;
    TESSERA_ASSIGN_OR_RETURN(
        Value result,
        buildElementwise(node.b, {base, power}, element,
                         [&](ImplicitLocOpBuilder &b, ValueRange e) {
                           if (exponentType == Float)
                             return buildFloatPowerOfInteger(b, e[0], e[1],
                                                             type);
                           Value whole = buildIntegerPower(
                               b, buildCast(b, e[0], type, wide),
                               buildCast(b, e[1], exponentType, wide));
                           return buildCast(b, whole, wide, type);
                         }));
    setComputed(node, result, type);
    return Status::success();
  }
  TESSERA_ASSIGN_OR_RETURN(
      Value result,
      buildElementwise(
          node.b, {base, power}, [&](ImplicitLocOpBuilder &b, ValueRange e) {
            return buildPower(b, e[0], buildCast(b, e[1], exponentType, Float));
          }));
  node.setResult(0, result);
  return Status::success();
}

Status tessera::onnx::importWhere(NodeImport &node) {
  if (foldConstants(node))
    return Status::success();
  Value operands[3];
  for (size_t i = 0; i < 3; ++i) {
    TESSERA_ASSIGN_OR_RETURN(operands[i], node.storedInput(i));
  }
  if (node.inputType(0) != Bool || node.inputType(1) != node.inputType(2))
    return NodeImport::error(fmt::format(
        "has operands of types {}, {} and {}; accepted are bool and two equal "
        "types",
        elementTypeName(node.inputType(0)), elementTypeName(node.inputType(1)),
        elementTypeName(node.inputType(2))));
  TESSERA_ASSIGN_OR_RETURN(
      Value result,
      buildElementwise(node.b, operands, elementTypeOf(operands[1]),
                       [](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                         return arith::SelectOp::create(b, e[0], e[1], e[2]);
                       }));
  node.setResult(0, result, node.inputType(1));
  return Status::success();
}

Status tessera::onnx::castTypeError(int64_t to) {
  return {StatusCode::Unsupported,
          fmt::format("converts to {}; accepted are float, float16, bfloat16, "
                      "int8, uint8, int32, int64, bool and the float8 types",
                      elementTypeName(to))};
}

Status tessera::onnx::importCast(NodeImport &node) {
  int64_t to;
  if (node.node.opType == "CastLike") {
    to = node.inputType(1);
  } else {
    if (!node.hasAttribute("to"))
      return NodeImport::error("has no attribute 'to'");
    TESSERA_ASSIGN_OR_RETURN(to, node.intAttribute("to", 0));
  }
  if (const Tensor *constant = node.constantInput(0)) {
    if (constant->elementType == to) {
      node.forwardInput();
      return Status::success();
    }
    if (std::optional<Tensor> folded = foldCast(*constant, to)) {
      node.setConstant(0, std::move(*folded));
      return Status::success();
    }
  }
  TESSERA_ASSIGN_OR_RETURN(Value input, node.storedInput(0));
  int32_t from = node.inputType(0);
  Type element = storedType(node.b.getContext(), to);
  if (!element)
    return castTypeError(to);
  if (from == to) {
    node.forwardInput();
    return Status::success();
  }
  TESSERA_ASSIGN_OR_RETURN(int64_t saturate, node.intAttribute("saturate", 1));
  TESSERA_ASSIGN_OR_RETURN(
      Value result,
      buildElementwise(node.b, input, element,
                       [&](ImplicitLocOpBuilder &b, ValueRange e) {
                         return buildCast(b, e[0], from, to, saturate != 0);
                       }));
  node.setResult(0, result, to);
  return Status::success();
}

static Value buildIsInfinite(ImplicitLocOpBuilder &b, Value x, bool positive,
                             bool negative) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  auto is = [&](float value) -> Value {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x,
                                 buildScalar(b, value));
  };
  if (positive && negative)
    return arith::OrIOp::create(b, is(infinity), is(-infinity));
  if (positive || negative)
    return is(positive ? infinity : -infinity);
  return buildNumber(b, b.getI1Type(), 0);
}

Status tessera::onnx::importUnary(NodeImport &node) {
  if (foldConstants(node))
    return Status::success();
  StringRef op = node.node.opType;
  int32_t type = computedType(node, 0);
  TESSERA_ASSIGN_OR_RETURN(Value input, computedInput(node, 0));
  bool known = true, truth = op == "IsNaN" || op == "IsInf";
  bool positive = true, negative = true;
  if (op == "IsInf") {
    TESSERA_ASSIGN_OR_RETURN(positive,
                             node.flagAttribute("detect_positive", true));
    TESSERA_ASSIGN_OR_RETURN(negative,
                             node.flagAttribute("detect_negative", true));
  }
  Type element = truth ? node.b.getI1Type() : elementTypeOf(input);
  TESSERA_ASSIGN_OR_RETURN(
      Value result,
      buildElementwise(node.b, input, element,
                       [&](ImplicitLocOpBuilder &b, ValueRange e) {
                         if (op == "IsInf" && type == Float)
                           return buildIsInfinite(b, e[0], positive, negative);
                         Value value = buildUnary(op, type, b, e[0]);
                         known = value != nullptr;
                         return known ? value : buildNumber(b, element, 0);
                       }));
  if (!known)
    return refuseType(node);
  setComputed(node, result, truth ? int32_t(Bool) : type);
  return Status::success();
}

/// x where it is at least 0, else scale * (exp(x / width) - 1), all times
/// `gain`.
static Value buildElu(ImplicitLocOpBuilder &b, Value x, float scale,
                      float width, float gain) {
  auto mul = [&](Value value, float factor) -> Value {
    return factor == 1 ? value
                       : arith::MulFOp::create(b, value, buildScalar(b, factor))
                             .getResult();
  };
  Value argument =
      width == 1
          ? x
          : arith::DivFOp::create(b, x, buildScalar(b, width)).getResult();
  Value below = mul(arith::SubFOp::create(b, math::ExpOp::create(b, argument),
                                          buildScalar(b, 1)),
                    scale);
  Value negative =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, buildScalar(b, 0));
  return mul(arith::SelectOp::create(b, negative, below, x), gain);
}

/// The activations that have parameters.
Status tessera::onnx::importActivation(NodeImport &node) {
  StringRef op = node.node.opType;
  bool selu = op == "Selu";
  TESSERA_ASSIGN_OR_RETURN(
      float alpha, node.floatAttribute("alpha", selu ? 1.67326319f : 1));
  TESSERA_ASSIGN_OR_RETURN(
      float gamma, node.floatAttribute("gamma", selu ? 1.05070102f : 1));
  TESSERA_ASSIGN_OR_RETURN(std::string approximate,
                           node.stringAttribute("approximate", "none"));
  TESSERA_ASSIGN_OR_RETURN(float bias, node.floatAttribute("bias", 0));
  TESSERA_ASSIGN_OR_RETURN(float lambda, node.floatAttribute("lambd", 0.5f));
  if (approximate != "none" && approximate != "tanh")
    return NodeImport::error(
        fmt::format("attribute 'approximate' is '{}'; accepted are none and "
                    "tanh",
                    approximate));
  TESSERA_ASSIGN_OR_RETURN(Value input, node.input(0));
  TESSERA_ASSIGN_OR_RETURN(
      Value result,
      buildElementwise(
          node.b, input, [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
            Value x = e[0];
            using P = arith::CmpFPredicate;
            if (op == "Elu")
              return buildElu(b, x, alpha, 1, 1);
            if (op == "Celu")
              return buildElu(b, x, alpha, alpha, 1);
            if (selu)
              return buildElu(b, x, alpha, 1, gamma);
            if (op == "Gelu")
              return buildGelu(b, x, approximate == "tanh");
            if (op == "Swish")
              return arith::MulFOp::create(
                  b, x,
                  buildSigmoid(
                      b, arith::MulFOp::create(b, x, buildScalar(b, alpha))));
            Value zero = buildScalar(b, 0);
            if (op == "ThresholdedRelu")
              return arith::SelectOp::create(
                  b, arith::CmpFOp::create(b, P::OGT, x, buildScalar(b, alpha)),
                  x, zero);
            assert(op == "Shrink" && "not an operator of the table");
            Value low =
                arith::CmpFOp::create(b, P::OLT, x, buildScalar(b, -lambda));
            Value high =
                arith::CmpFOp::create(b, P::OGT, x, buildScalar(b, lambda));
            Value raised = arith::AddFOp::create(b, x, buildScalar(b, bias));
            Value lowered = arith::SubFOp::create(b, x, buildScalar(b, bias));
            return arith::SelectOp::create(
                b, low, raised,
                arith::SelectOp::create(b, high, lowered, zero));
          }));
  node.setResult(0, result);
  return Status::success();
}

/// max(low, min(x, high)) as far as the bounds are finite.
static Status importClamp(NodeImport &node, Value input, float low,
                          float high) {
  TESSERA_ASSIGN_OR_RETURN(
      Value result,
      buildElementwise(
          node.b, input, [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
            Value x = e[0];
            if (low > -std::numeric_limits<float>::max())
              x = arith::MaximumFOp::create(b, x, buildScalar(b, low));
            if (high < std::numeric_limits<float>::max())
              x = arith::MinimumFOp::create(b, x, buildScalar(b, high));
            return x;
          }));
  node.setResult(0, result);
  return Status::success();
}

/// Bounds that are computed, or of integers.
static Status importBounds(NodeImport &node) {
  int32_t type = computedType(node, 0);
  TESSERA_ASSIGN_OR_RETURN(Value result, computedInput(node, 0));
  Type element = elementTypeOf(result);
  for (size_t i : {1, 2}) {
    if (!node.hasInput(i))
      continue;
    if (node.inputType(i) != node.inputType(0))
      return NodeImport::error("has a bound of another type than the input");
    TESSERA_ASSIGN_OR_RETURN(Value bound, computedInput(node, i));
    if (product(shapeOf(bound)) != 1)
      return NodeImport::error(
          fmt::format("operand {} has the shape {}; accepted is one number", i,
                      shapeText(shapeOf(bound))));
    bound = buildReshape(node.b, bound, ArrayRef<int64_t>());
    bool known = true;
    TESSERA_ASSIGN_OR_RETURN(
        result,
        buildElementwise(node.b, {result, bound}, element,
                         [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                           Value value = buildBinary(i == 1 ? "Max" : "Min",
                                                     type, b, e[0], e[1]);
                           known = value != nullptr;
                           return known ? value : e[0];
                         }));
    if (!known)
      return refuseType(node);
  }
  setComputed(node, result, type);
  return Status::success();
}

Status tessera::onnx::importClip(NodeImport &node) {
  float low = std::numeric_limits<float>::lowest();
  float high = std::numeric_limits<float>::max();
  // Bounds are attributes before operator set 11, operands from it on.
  if (node.opset < 11) {
    if (node.node.inputs.size() > 1)
      return NodeImport::error("has bounds as operands; accepted before "
                               "operator set 11 are attributes");
    TESSERA_ASSIGN_OR_RETURN(low, node.floatAttribute("min", low));
    TESSERA_ASSIGN_OR_RETURN(high, node.floatAttribute("max", high));
  } else {
    if (node.hasAttribute("min") || node.hasAttribute("max"))
      return NodeImport::error("has bounds as attributes; accepted from "
                               "operator set 11 on are operands");
    bool computed = computedType(node, 0) != Float;
    for (size_t i : {1, 2})
      computed |= node.hasInput(i) && !node.constantInput(i);
    if (computed)
      return importBounds(node);
    if (node.hasInput(1)) {
      TESSERA_ASSIGN_OR_RETURN(low, node.scalarInput(1));
    }
    if (node.hasInput(2)) {
      TESSERA_ASSIGN_OR_RETURN(high, node.scalarInput(2));
    }
  }
  if (std::isnan(low) || std::isnan(high))
    return NodeImport::error("has a bound that is no number");
  TESSERA_ASSIGN_OR_RETURN(Value input, node.input(0));
  return importClamp(node, input, low, high);
}

Status tessera::onnx::importLeakyRelu(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(Value input, node.input(0));
  TESSERA_ASSIGN_OR_RETURN(float alpha, node.floatAttribute("alpha", 0.01f));
  TESSERA_ASSIGN_OR_RETURN(
      Value result,
      buildElementwise(
          node.b, input, [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
            Value zero = buildScalar(b, 0);
            Value negative =
                arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, e[0], zero);
            Value scaled =
                arith::MulFOp::create(b, e[0], buildScalar(b, alpha));
            return arith::SelectOp::create(b, negative, scaled, e[0]);
          }));
  node.setResult(0, result);
  return Status::success();
}

Status tessera::onnx::importHardSigmoid(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(Value input, node.input(0));
  TESSERA_ASSIGN_OR_RETURN(float alpha, node.floatAttribute("alpha", 0.2f));
  TESSERA_ASSIGN_OR_RETURN(float beta, node.floatAttribute("beta", 0.5f));
  TESSERA_ASSIGN_OR_RETURN(
      Value line,
      buildElementwise(
          node.b, input, [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
            Value scaled =
                arith::MulFOp::create(b, e[0], buildScalar(b, alpha));
            return arith::AddFOp::create(b, scaled, buildScalar(b, beta));
          }));
  return importClamp(node, line, 0, 1);
}
