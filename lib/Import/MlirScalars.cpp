//===- MlirScalars.cpp - Functions that lanes lack ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions of the dialects math and arith in terms of those that lanes have,
// for the device and for the reference alike. Narrow floats are computed in
// f32.
//
//===----------------------------------------------------------------------===//

#include "ElementFunctions.h"
#include "MlirImport.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;
using B = ImplicitLocOpBuilder;
using CmpI = arith::CmpIPredicate;
using CmpF = arith::CmpFPredicate;

//===-- Floats ------------------------------------------------------------===//

static Value multiply(B &b, Value x, double factor) {
  return arith::MulFOp::create(b, x,
                               buildScalar(b, static_cast<float>(factor)));
}

static Value select(B &b, Value condition, Value x, Value y) {
  return arith::SelectOp::create(b, condition, x, y);
}

static Value compare(B &b, CmpF predicate, Value x, float y) {
  return arith::CmpFOp::create(b, predicate, x, buildScalar(b, y));
}

/// 2^n of a whole number from -300 to 300, in two factors.
static std::pair<Value, Value> powersOfTwo(B &b, Value n) {
  auto number = [&](int64_t value) {
    return buildNumber(b, b.getI32Type(), static_cast<double>(value));
  };
  Value whole = arith::FPToSIOp::create(b, b.getI32Type(), n);
  Value half = arith::ShRSIOp::create(b, whole, number(1));
  auto power = [&](Value exponent) -> Value {
    Value bits = arith::ShLIOp::create(
        b, arith::AddIOp::create(b, exponent, number(127)), number(23));
    return arith::BitcastOp::create(b, b.getF32Type(), bits);
  };
  return {power(half), power(arith::SubIOp::create(b, whole, half))};
}

/// 2^x: of the fraction by the exponential, of the rest by its bits.
static Value buildExp2(B &b, Value x) {
  Value inside = arith::MinimumFOp::create(
      b, arith::MaximumFOp::create(b, x, buildScalar(b, -200)),
      buildScalar(b, 200));
  Value n = math::RoundEvenOp::create(b, inside);
  Value rest = arith::SubFOp::create(b, inside, n);
  Value fraction = math::ExpOp::create(b, multiply(b, rest, std::numbers::ln2));
  auto [first, second] = powersOfTwo(b, n);
  return arith::MulFOp::create(b, arith::MulFOp::create(b, fraction, first),
                               second);
}

/// log(1 + x): what the sum loses is made up for by the quotient.
static Value buildLog1p(B &b, Value x) {
  Value one = buildScalar(b, 1);
  Value sum = arith::AddFOp::create(b, one, x);
  Value seen = arith::SubFOp::create(b, sum, one);
  Value scaled = arith::MulFOp::create(b, math::LogOp::create(b, sum),
                                       arith::DivFOp::create(b, x, seen));
  Value infinity = buildScalar(b, std::numeric_limits<float>::infinity());
  Value isInfinite = arith::CmpFOp::create(b, CmpF::OEQ, x, infinity);
  Value isSmall = compare(b, CmpF::OEQ, seen, 0);
  return select(b, isSmall, x, select(b, isInfinite, infinity, scaled));
}

/// exp(x) - 1, likewise.
static Value buildExpm1(B &b, Value x) {
  Value power = math::ExpOp::create(b, x), one = buildScalar(b, 1);
  Value seen = arith::SubFOp::create(b, power, one);
  Value scaled = arith::MulFOp::create(
      b, seen, arith::DivFOp::create(b, x, math::LogOp::create(b, power)));
  // Where the power is 0, 1, or very large there is nothing to make up for.
  Value isSmall = compare(b, CmpF::OEQ, seen, 0);
  Value isLarge = arith::OrIOp::create(b, compare(b, CmpF::OGT, x, 40),
                                       compare(b, CmpF::OLT, x, -40));
  return select(b, isSmall, x, select(b, isLarge, seen, scaled));
}

/// The nearest integer, halves away from zero.
static Value buildRound(B &b, Value x) {
  Value magnitude = math::AbsFOp::create(b, x);
  Value whole = math::FloorOp::create(b, magnitude);
  Value rest = arith::SubFOp::create(b, magnitude, whole);
  Value up = arith::AddFOp::create(b, whole, buildScalar(b, 1));
  Value rounded = select(b, compare(b, CmpF::OGE, rest, 0.5F), up, whole);
  return math::CopySignOp::create(b, rounded, x);
}

static Value buildCubeRoot(B &b, Value x) {
  Value magnitude = math::AbsFOp::create(b, x);
  Value root = math::ExpOp::create(
      b, multiply(b, math::LogOp::create(b, magnitude), 1.0 / 3));
  // One step of Newton's method, for roundings of large exponents.
  Value square = arith::MulFOp::create(b, root, root);
  Value better = arith::SubFOp::create(
      b, root,
      multiply(b,
               arith::SubFOp::create(
                   b, root, arith::DivFOp::create(b, magnitude, square)),
               1.0 / 3));
  Value isEnd = arith::OrIOp::create(
      b, compare(b, CmpF::OEQ, magnitude, 0),
      compare(b, CmpF::OEQ, magnitude, std::numeric_limits<float>::infinity()));
  return math::CopySignOp::create(b, select(b, isEnd, magnitude, better), x);
}

static Value expandPower(B &b, math::PowFOp op, Value x, Value exponent) {
  FloatAttr constant;
  if (matchPattern(op.getRhs(), m_Constant(&constant)))
    if (Value simple =
            buildConstantPower(b, x, constant.getValue().convertToDouble()))
      return simple;
  return buildPower(b, x, exponent);
}

/// The function of operands in f32; null if lanes have it, or it is not known.
static Value expandFloat(B &b, Operation *op, ValueRange e) {
  auto unary = [&](StringRef name) { return buildUnary(name, Float, b, e[0]); };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<math::TanOp>([&](auto) { return unary("Tan"); })
      .Case<math::AsinOp>([&](auto) { return unary("Asin"); })
      .Case<math::AcosOp>([&](auto) { return unary("Acos"); })
      .Case<math::AtanOp>([&](auto) { return unary("Atan"); })
      .Case<math::SinhOp>([&](auto) { return unary("Sinh"); })
      .Case<math::CoshOp>([&](auto) { return unary("Cosh"); })
      .Case<math::AsinhOp>([&](auto) { return unary("Asinh"); })
      .Case<math::AcoshOp>([&](auto) { return unary("Acosh"); })
      .Case<math::AtanhOp>([&](auto) { return unary("Atanh"); })
      .Case<math::Exp2Op>([&](auto) { return buildExp2(b, e[0]); })
      .Case<math::ExpM1Op>([&](auto) { return buildExpm1(b, e[0]); })
      .Case<math::Log1pOp>([&](auto) { return buildLog1p(b, e[0]); })
      .Case<math::Log2Op>([&](auto) {
        return multiply(b, math::LogOp::create(b, e[0]), std::numbers::log2e);
      })
      .Case<math::Log10Op>([&](auto) {
        return multiply(b, math::LogOp::create(b, e[0]), std::numbers::log10e);
      })
      .Case<math::CbrtOp>([&](auto) { return buildCubeRoot(b, e[0]); })
      .Case<math::RoundOp>([&](auto) { return buildRound(b, e[0]); })
      .Case<math::PowFOp>(
          [&](math::PowFOp power) { return expandPower(b, power, e[0], e[1]); })
      .Case<math::FPowIOp>([&](auto) {
        Value exponent =
            arith::SIToFPOp::create(b, b.getF32Type(), op->getOperand(1));
        return buildPower(b, e[0], exponent);
      })
      .Default([](auto) { return Value(); });
}

//===-- Integers ----------------------------------------------------------===//

/// Leading zeros, by halves.
static Value buildLeadingZeros(B &b, Value x) {
  auto number = [&](int64_t value) {
    return buildNumber(b, x.getType(), static_cast<double>(value));
  };
  Value count = number(0), rest = x;
  for (int half : {16, 8, 4, 2, 1}) {
    Value high = arith::ShRUIOp::create(b, rest, number(32 - half));
    Value isEmpty = arith::CmpIOp::create(b, CmpI::eq, high, number(0));
    count = select(b, isEmpty, arith::AddIOp::create(b, count, number(half)),
                   count);
    rest =
        select(b, isEmpty, arith::ShLIOp::create(b, rest, number(half)), rest);
  }
  Value isZero = arith::CmpIOp::create(b, CmpI::eq, x, number(0));
  return select(b, isZero, number(32), count);
}

/// Unsigned quotient and remainder of i32 by signed ones: half of the dividend
/// is a positive number, and what its quotient, doubled, lacks is 0 or 1.
static std::pair<Value, Value> buildUnsignedDivision(B &b, Value x, Value y) {
  Value one = buildNumber(b, x.getType(), 1);
  Value half = arith::DivSIOp::create(b, arith::ShRUIOp::create(b, x, one), y);
  Value quotient = arith::ShLIOp::create(b, half, one);
  auto rest = [&](Value q) -> Value {
    return arith::SubIOp::create(b, x, arith::MulIOp::create(b, q, y));
  };
  Value lacks = arith::ExtUIOp::create(
      b, x.getType(), arith::CmpIOp::create(b, CmpI::uge, rest(quotient), y));
  quotient = arith::AddIOp::create(b, quotient, lacks);
  // A divisor with its highest bit goes in once or not at all.
  Value isLarge =
      arith::CmpIOp::create(b, CmpI::slt, y, buildNumber(b, x.getType(), 0));
  Value once = arith::ExtUIOp::create(
      b, x.getType(), arith::CmpIOp::create(b, CmpI::uge, x, y));
  quotient = select(b, isLarge, once, quotient);
  return {quotient, rest(quotient)};
}

/// Of i32; null as above.
static Value expandInteger(B &b, Operation *op) {
  if (!op->getResult(0).getType().isSignlessInteger(32))
    return {};
  auto zeros = [&](Value x) { return buildLeadingZeros(b, x); };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<math::CountLeadingZerosOp>(
          [&](auto) { return zeros(op->getOperand(0)); })
      .Case<math::CountTrailingZerosOp>([&](auto) {
        // Of x & -x, a power of two: 31 less its leading zeros.
        Value x = op->getOperand(0), zero = buildNumber(b, x.getType(), 0);
        Value lowest =
            arith::AndIOp::create(b, x, arith::SubIOp::create(b, zero, x));
        Value count = arith::SubIOp::create(b, buildNumber(b, x.getType(), 31),
                                            zeros(lowest));
        Value isZero = arith::CmpIOp::create(b, CmpI::eq, x, zero);
        return select(b, isZero, buildNumber(b, x.getType(), 32), count);
      })
      .Case<math::IPowIOp>([&](auto) {
        return buildIntegerPower(b, op->getOperand(0), op->getOperand(1));
      })
      .Case<arith::DivUIOp>([&](auto) {
        return buildUnsignedDivision(b, op->getOperand(0), op->getOperand(1))
            .first;
      })
      .Case<arith::RemUIOp>([&](auto) {
        return buildUnsignedDivision(b, op->getOperand(0), op->getOperand(1))
            .second;
      })
      .Default([](auto) { return Value(); });
}

//===-- Bodies ------------------------------------------------------------===//

static Value expand(Operation *op) {
  B b(op->getLoc(), op);
  Type type = op->getResult(0).getType();
  if (!isa<Float16Type, BFloat16Type, Float32Type>(type))
    return expandInteger(b, op);
  if (op->getDialect()->getNamespace() != "math")
    return {};
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(
        type.isF32() || !isa<FloatType>(operand.getType())
            ? operand
            : arith::ExtFOp::create(b, b.getF32Type(), operand).getResult());
  Value result = expandFloat(b, op, operands);
  if (result && !type.isF32())
    result = arith::TruncFOp::create(b, type, result);
  return result;
}

void tessera::expandScalars(func::FuncOp entry) {
  RewritePatternSet divisions(entry.getContext());
  arith::populateCeilFloorDivExpandOpsPatterns(divisions);
  bool rounds = false;
  SmallVector<Operation *> ops;
  entry.walk([&](Operation *op) {
    rounds |=
        isa<arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(op);
  });
  if (rounds)
    (void)applyPatternsGreedily(entry, std::move(divisions));
  entry.walk([&](linalg::GenericOp generic) {
    for (Operation &op : generic.getBody()->without_terminator())
      if (op.getNumResults() == 1)
        ops.push_back(&op);
  });
  for (Operation *op : ops)
    if (Value result = expand(op)) {
      op->replaceAllUsesWith(ValueRange{result});
      op->erase();
    }
}
