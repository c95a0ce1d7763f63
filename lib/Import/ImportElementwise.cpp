//===- ImportElementwise.cpp - ONNX operators on single elements
//------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeImport.h"
#include "TensorBuilders.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

Status tessera::onnx::importBinary(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(Value left, node.input(0));
  TESSERA_ASSIGN_OR_RETURN(Value right, node.input(1));
  StringRef op = node.node.opType;
  TESSERA_ASSIGN_OR_RETURN(
      Value result,
      buildElementwise(node.b, {left, right},
                       [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                         if (op == "Add")
                           return arith::AddFOp::create(b, e[0], e[1]);
                         if (op == "Sub")
                           return arith::SubFOp::create(b, e[0], e[1]);
                         if (op == "Mul")
                           return arith::MulFOp::create(b, e[0], e[1]);
                         assert(op == "Div" && "not an operator of the table");
                         return arith::DivFOp::create(b, e[0], e[1]);
                       }));
  node.setResult(0, result);
  return Status::success();
}

/// One element of a unary operator. The sigmoid is 1 / (1 + exp(-x)): for large
/// negative x the exponential is infinite and the result 0, as it should be.
static Value buildUnary(StringRef op, ImplicitLocOpBuilder &b, Value x) {
  if (op == "Relu")
    return arith::MaximumFOp::create(b, x, buildScalar(b, 0));
  if (op == "Abs")
    return math::AbsFOp::create(b, x);
  if (op == "Erf")
    return math::ErfOp::create(b, x);
  if (op == "Exp")
    return math::ExpOp::create(b, x);
  if (op == "Log")
    return math::LogOp::create(b, x);
  if (op == "Neg")
    return arith::NegFOp::create(b, x);
  if (op == "Sqrt")
    return math::SqrtOp::create(b, x);
  if (op == "Tanh")
    return math::TanhOp::create(b, x);
  Value one = buildScalar(b, 1);
  if (op == "Reciprocal")
    return arith::DivFOp::create(b, one, x);
  assert(op == "Sigmoid" && "not an operator of the table");
  Value exp = math::ExpOp::create(b, arith::NegFOp::create(b, x));
  return arith::DivFOp::create(b, one, arith::AddFOp::create(b, one, exp));
}

Status tessera::onnx::importUnary(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(Value input, node.input(0));
  TESSERA_ASSIGN_OR_RETURN(
      Value result,
      buildElementwise(node.b, input,
                       [&](ImplicitLocOpBuilder &b, ValueRange e) {
                         return buildUnary(node.node.opType, b, e[0]);
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

Status tessera::onnx::importClip(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(Value input, node.input(0));
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
    if (node.hasInput(1)) {
      TESSERA_ASSIGN_OR_RETURN(low, node.scalarInput(1));
    }
    if (node.hasInput(2)) {
      TESSERA_ASSIGN_OR_RETURN(high, node.scalarInput(2));
    }
  }
  if (std::isnan(low) || std::isnan(high))
    return NodeImport::error("has a bound that is no number");
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
