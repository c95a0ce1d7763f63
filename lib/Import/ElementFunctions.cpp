//===- ElementFunctions.cpp - What operators do to one element ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementFunctions.h"
#include "Float8.h"
#include "NodeImport.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;
using B = ImplicitLocOpBuilder;

static bool isSigned(int32_t type) {
  return type == Int8 || type == Int4 || type == Int32 || type == Int64;
}
static bool isInteger(int32_t type) {
  return isSigned(type) || type == Uint8 || type == Uint4;
}

static Value add(B &b, Value x, Value y) {
  return arith::AddFOp::create(b, x, y);
}
static Value sub(B &b, Value x, Value y) {
  return arith::SubFOp::create(b, x, y);
}
static Value mul(B &b, Value x, Value y) {
  return arith::MulFOp::create(b, x, y);
}
static Value div(B &b, Value x, Value y) {
  return arith::DivFOp::create(b, x, y);
}
static Value compareFloats(B &b, arith::CmpFPredicate predicate, Value x,
                           Value y) {
  return arith::CmpFOp::create(b, predicate, x, y);
}
static Value select(B &b, Value condition, Value x, Value y) {
  return arith::SelectOp::create(b, condition, x, y);
}

//===-- Two operands ------------------------------------------------------===//

bool tessera::onnx::isComparison(StringRef op) {
  return op == "Equal" || op == "Less" || op == "LessOrEqual" ||
         op == "Greater" || op == "GreaterOrEqual";
}

static Value buildComparison(StringRef op, int32_t type, B &b, Value x,
                             Value y) {
  if (type == Float) {
    using P = arith::CmpFPredicate;
    P predicate = llvm::StringSwitch<P>(op)
                      .Case("Equal", P::OEQ)
                      .Case("Less", P::OLT)
                      .Case("LessOrEqual", P::OLE)
                      .Case("Greater", P::OGT)
                      .Default(P::OGE);
    return compareFloats(b, predicate, x, y);
  }
  using P = arith::CmpIPredicate;
  bool sign = isSigned(type);
  P predicate = llvm::StringSwitch<P>(op)
                    .Case("Equal", P::eq)
                    .Case("Less", sign ? P::slt : P::ult)
                    .Case("LessOrEqual", sign ? P::sle : P::ule)
                    .Case("Greater", sign ? P::sgt : P::ugt)
                    .Default(sign ? P::sge : P::uge);
  return arith::CmpIOp::create(b, predicate, x, y);
}

/// What is left of x after whole multiples of y, with the sign of x; exact. A
/// step takes away the highest 12 bits of the quotient: with so few, what is
/// left is a float again.
static Value buildFloatRemainder(B &b, Value x, Value y) {
  using P = arith::CmpFPredicate;
  Type i32 = b.getI32Type(), f32 = b.getF32Type();
  Value divisor = math::AbsFOp::create(b, y), rest = math::AbsFOp::create(b, x);
  Value zero = buildScalar(b, 0);
  Value infinity = buildScalar(b, std::numeric_limits<float>::infinity());
  auto multiple = [&](Value factor, Value of) -> Value {
    return math::FmaOp::create(b, arith::NegFOp::create(b, factor), of, rest);
  };
  auto reduce = [&](Value by) {
    constexpr int32_t highBits = ~0xfff, lastBit = 0x1000;
    constexpr float whole = 0x1p12f; // From here on the last bit is at least 1.
    Value bits = arith::AndIOp::create(
        b, arith::BitcastOp::create(b, i32, div(b, rest, by)),
        buildNumber(b, i32, highBits));
    Value quotient =
        math::FloorOp::create(b, arith::BitcastOp::create(b, f32, bits));
    // The division may have rounded up to the next number of 12 bits.
    Value less = arith::BitcastOp::create(
        b, f32, arith::SubIOp::create(b, bits, buildNumber(b, i32, lastBit)));
    less = select(b, compareFloats(b, P::OGE, quotient, buildScalar(b, whole)),
                  less, sub(b, quotient, buildScalar(b, 1)));
    Value left = multiple(quotient, by);
    Value isLess = compareFloats(b, P::OLT, left, zero);
    rest = select(b, isLess, multiple(less, by), left);
  };
  // Quotients up to 2^254 in two halves; a multiple that is no number is
  // larger than any x.
  constexpr int steps = 12;
  Value far = mul(b, divisor, buildScalar(b, 0x1p127f));
  far = select(b, compareFloats(b, P::OEQ, far, infinity), divisor, far);
  for (Value by : {far, divisor})
    for (int step = 0; step < steps; ++step)
      reduce(by);
  // Less than an infinite divisor is all of x.
  Value isSmall = arith::AndIOp::create(
      b, compareFloats(b, P::OEQ, divisor, infinity),
      compareFloats(b, P::OLT, math::AbsFOp::create(b, x), infinity));
  return select(b, isSmall, x, math::CopySignOp::create(b, rest, x));
}

static Value buildFloatBinary(StringRef op, B &b, Value x, Value y) {
  if (op == "Add" || op == "Sum")
    return add(b, x, y);
  if (op == "Sub")
    return sub(b, x, y);
  if (op == "Mul")
    return mul(b, x, y);
  if (op == "Div")
    return div(b, x, y);
  if (op == "Min")
    return arith::MinimumFOp::create(b, x, y);
  if (op == "Max")
    return arith::MaximumFOp::create(b, x, y);
  if (op == "Remainder")
    return buildFloatRemainder(b, x, y);
  if (op == "Mod") { // With the divisor's sign.
    Value rest = buildFloatRemainder(b, x, y), zero = buildScalar(b, 0);
    Value isNegative = compareFloats(b, arith::CmpFPredicate::OLT, rest, zero);
    Value differs = arith::XOrIOp::create(
        b, isNegative, compareFloats(b, arith::CmpFPredicate::OLT, y, zero));
    Value isZero = compareFloats(b, arith::CmpFPredicate::OEQ, rest, zero);
    return select(b, isZero, math::CopySignOp::create(b, zero, y),
                  select(b, differs, add(b, rest, y), rest));
  }
  if (op == "PRelu")
    return select(
        b, compareFloats(b, arith::CmpFPredicate::OLT, x, buildScalar(b, 0)),
        mul(b, x, y), x);
  return Value();
}

/// The remainder with the divisor's sign.
static Value buildModulo(int32_t type, B &b, Value x, Value y) {
  if (!isSigned(type))
    return arith::RemUIOp::create(b, x, y);
  using P = arith::CmpIPredicate;
  Value rest = arith::RemSIOp::create(b, x, y);
  Value zero = buildNumber(b, x.getType(), 0);
  Value differs =
      arith::CmpIOp::create(b, P::slt, arith::XOrIOp::create(b, rest, y), zero);
  Value inexact = arith::CmpIOp::create(b, P::ne, rest, zero);
  return select(b, arith::AndIOp::create(b, differs, inexact),
                arith::AddIOp::create(b, rest, y), rest);
}

static Value buildIntegerBinary(StringRef op, int32_t type, B &b, Value x,
                                Value y) {
  bool sign = isSigned(type);
  if (op == "Add" || op == "Sum")
    return arith::AddIOp::create(b, x, y);
  if (op == "Sub")
    return arith::SubIOp::create(b, x, y);
  if (op == "Mul")
    return arith::MulIOp::create(b, x, y);
  if (op == "Div")
    return sign ? arith::DivSIOp::create(b, x, y).getResult()
                : arith::DivUIOp::create(b, x, y);
  if (op == "Min")
    return sign ? arith::MinSIOp::create(b, x, y).getResult()
                : arith::MinUIOp::create(b, x, y);
  if (op == "Max")
    return sign ? arith::MaxSIOp::create(b, x, y).getResult()
                : arith::MaxUIOp::create(b, x, y);
  if (op == "Mod")
    return buildModulo(type, b, x, y);
  if (op == "Remainder")
    return sign ? arith::RemSIOp::create(b, x, y).getResult()
                : arith::RemUIOp::create(b, x, y);
  if (op == "PRelu" && sign)
    return select(b,
                  arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x,
                                        buildNumber(b, x.getType(), 0)),
                  arith::MulIOp::create(b, x, y), x);
  return Value();
}

Value tessera::onnx::buildBinary(StringRef op, int32_t type, B &b, Value x,
                                 Value y) {
  if (isComparison(op))
    return type != Bool || op == "Equal" ? buildComparison(op, type, b, x, y)
                                         : Value();
  bool bits = op.starts_with("Bitwise");
  if (bits ? isInteger(type) : type == Bool) {
    StringRef name = bits ? op.drop_front(7) : op;
    if (name == "And")
      return arith::AndIOp::create(b, x, y);
    if (name == "Or")
      return arith::OrIOp::create(b, x, y);
    if (name == "Xor")
      return arith::XOrIOp::create(b, x, y);
    return Value();
  }
  if (type == Float)
    return buildFloatBinary(op, b, x, y);
  return isInteger(type) ? buildIntegerBinary(op, type, b, x, y) : Value();
}

//===-- Powers ------------------------------------------------------------===//

Value tessera::onnx::buildConstantPower(B &b, Value x, double exponent) {
  bool isFloat = isa<FloatType>(x.getType());
  constexpr double maxProducts = 8;
  if (exponent == std::floor(exponent) && exponent >= 1 &&
      exponent <= maxProducts) {
    Value result = x;
    for (int i = 1; i < exponent; ++i)
      result = isFloat ? mul(b, result, x)
                       : arith::MulIOp::create(b, result, x).getResult();
    return result;
  }
  if (exponent == 0)
    return buildNumber(b, x.getType(), 1);
  if (!isFloat)
    return Value();
  if (exponent == -1)
    return div(b, buildScalar(b, 1), x);
  // For -0 and -infinity a root differs from a power: take the magnitude.
  Value magnitude = math::AbsFOp::create(b, x);
  Value invalid =
      compareFloats(b, arith::CmpFPredicate::OLT, x, buildScalar(b, 0));
  Value isInfinite =
      compareFloats(b, arith::CmpFPredicate::OEQ, magnitude,
                    buildScalar(b, std::numeric_limits<float>::infinity()));
  Value root =
      select(b, isInfinite, magnitude,
             math::SqrtOp::create(b, select(b, invalid, x, magnitude)));
  if (exponent == 0.5)
    return root;
  if (exponent == -0.5)
    return div(b, buildScalar(b, 1), root);
  return Value();
}

Value tessera::onnx::buildPower(B &b, Value x, Value exponent) {
  using P = arith::CmpFPredicate;
  Value zero = buildScalar(b, 0), one = buildScalar(b, 1);
  Value magnitude = math::AbsFOp::create(b, x);
  Value power = math::ExpOp::create(
      b, mul(b, exponent, math::LogOp::create(b, magnitude)));
  // A negative base needs an integer; an odd one keeps the sign.
  Value half = mul(b, exponent, buildScalar(b, 0.5f));
  Value isInteger = compareFloats(
      b, P::OEQ, math::FloorOp::create(b, exponent).getResult(), exponent);
  Value isOdd = compareFloats(b, P::UNE,
                              math::FloorOp::create(b, half).getResult(), half);
  Value isNegative = compareFloats(b, P::OLT, x, zero);
  Value nan = buildScalar(b, std::numeric_limits<float>::quiet_NaN());
  Value negative = select(
      b, isInteger,
      select(b, isOdd, arith::NegFOp::create(b, power).getResult(), power),
      nan);
  Value result = select(b, isNegative, negative, power);
  Value isOne =
      arith::OrIOp::create(b, compareFloats(b, P::OEQ, exponent, zero),
                           compareFloats(b, P::OEQ, x, one));
  return select(b, isOne, one, result);
}

Value tessera::onnx::buildIntegerPower(B &b, Value x, Value exponent) {
  using P = arith::CmpIPredicate;
  auto number = [&](int64_t value) {
    return buildNumber(b, x.getType(), value);
  };
  auto isBit = [&](Value bits, int shift) -> Value {
    Value bit = arith::AndIOp::create(b, bits, number(int64_t(1) << shift));
    return arith::CmpIOp::create(b, P::ne, bit, number(0));
  };
  // By squaring: the exponent's bits from the lowest one on. The sign bit of a
  // negative exponent does not matter: its result is replaced.
  Value power = number(1), square = x;
  int bits = x.getType().getIntOrFloatBitWidth() - 1;
  for (int bit = 0; bit < bits; ++bit) {
    power = select(b, isBit(exponent, bit),
                   arith::MulIOp::create(b, power, square), power);
    if (bit + 1 < bits)
      square = arith::MulIOp::create(b, square, square);
  }
  auto isEqual = [&](int64_t value) -> Value {
    return arith::CmpIOp::create(b, P::eq, x, number(value));
  };
  Value turned = select(b, isBit(exponent, 0), number(-1), number(1));
  Value quotient = select(b, isEqual(1), number(1),
                          select(b, isEqual(-1), turned, number(0)));
  Value isNegative = arith::CmpIOp::create(b, P::slt, exponent, number(0));
  return select(b, isNegative, quotient, power);
}

//===-- One operand -------------------------------------------------------===//

Value tessera::onnx::buildSigmoid(B &b, Value x) {
  // For large negative x the exponential is infinite and the result 0, as it
  // should be.
  Value one = buildScalar(b, 1);
  Value exp = math::ExpOp::create(b, arith::NegFOp::create(b, x));
  return div(b, one, add(b, one, exp));
}

Value tessera::onnx::buildSoftplus(B &b, Value x) {
  Value away = arith::NegFOp::create(b, math::AbsFOp::create(b, x));
  Value log = math::LogOp::create(
      b, add(b, buildScalar(b, 1), math::ExpOp::create(b, away)));
  return add(b, arith::MaximumFOp::create(b, x, buildScalar(b, 0)), log);
}

Value tessera::onnx::buildGelu(B &b, Value x, bool approximate) {
  Value half = mul(b, buildScalar(b, 0.5f), x), one = buildScalar(b, 1);
  if (!approximate)
    return mul(b, half,
               add(b, one,
                   math::ErfOp::create(
                       b, mul(b, x, buildScalar(b, 0.70710678118654752f)))));
  Value cube = mul(b, mul(b, x, x), x);
  Value inner = add(b, x, mul(b, buildScalar(b, 0.044715f), cube));
  return mul(b, half,
             add(b, one,
                 math::TanhOp::create(
                     b, mul(b, buildScalar(b, 0.79788456080286536f), inner))));
}

/// -1, 0 or 1; NaN stays.
static Value buildSign(B &b, Value x) {
  using P = arith::CmpFPredicate;
  Value zero = buildScalar(b, 0);
  Value below =
      select(b, compareFloats(b, P::OLT, x, zero), buildScalar(b, -1), x);
  return select(b, compareFloats(b, P::OGT, x, zero), buildScalar(b, 1), below);
}

static Value buildHyperbolic(StringRef op, B &b, Value x) {
  Value half = buildScalar(b, 0.5f), one = buildScalar(b, 1);
  if (op == "Sinh" || op == "Cosh") {
    Value up = math::ExpOp::create(b, x);
    Value down = math::ExpOp::create(b, arith::NegFOp::create(b, x));
    return mul(b, half, op == "Sinh" ? sub(b, up, down) : add(b, up, down));
  }
  auto log = [&](Value v) -> Value { return math::LogOp::create(b, v); };
  auto root = [&](Value v) -> Value { return math::SqrtOp::create(b, v); };
  if (op == "Asinh") {
    Value size = math::AbsFOp::create(b, x);
    Value result = log(add(b, size, root(add(b, mul(b, x, x), one))));
    return mul(b, buildSign(b, x), result);
  }
  if (op == "Acosh") // Not of x * x - 1, which loses what x has above 1.
    return log(add(b, x, mul(b, root(sub(b, x, one)), root(add(b, x, one)))));
  return mul(b, half, log(div(b, add(b, one, x), sub(b, one, x)))); // Atanh
}

/// The arc tangent: the magnitude is brought below tan(pi / 8) by
/// atan(x) = pi / 2 - atan(1 / x) and atan(x) = pi / 4 + atan((x - 1) / (x +
/// 1)), then a series of odd powers.
static Value buildArcTangent(B &b, Value x) {
  using P = arith::CmpFPredicate;
  constexpr double pi = 3.14159265358979323846;
  auto real = [&](double value) {
    return buildScalar(b, static_cast<float>(value));
  };
  Value size = math::AbsFOp::create(b, x), one = real(1);
  Value isLarge = compareFloats(b, P::OGT, size, one);
  Value small = select(b, isLarge, div(b, one, size), size);
  Value isMiddle = compareFloats(b, P::OGT, small, real(std::sqrt(2.0) - 1));
  Value reduced = select(b, isMiddle,
                         div(b, sub(b, small, one), add(b, small, one)), small);
  Value square = mul(b, reduced, reduced);
  Value series = real(1.0 / 17);
  for (int power = 15; power >= 1; power -= 2)
    series = add(b, mul(b, arith::NegFOp::create(b, series), square),
                 real(1.0 / power));
  Value angle = mul(b, series, reduced);
  angle = select(b, isMiddle, add(b, real(pi / 4), angle), angle);
  angle = select(b, isLarge, sub(b, real(pi / 2), angle), angle);
  return math::CopySignOp::create(b, angle, x);
}

static Value buildFloatUnary(StringRef op, B &b, Value x) {
  if (op == "Atan")
    return buildArcTangent(b, x);
  if (op == "Asin" || op == "Acos") {
    Value one = buildScalar(b, 1);
    Value below = sub(b, one, x), above = add(b, one, x);
    if (op == "Asin")
      return buildArcTangent(
          b, div(b, x, math::SqrtOp::create(b, mul(b, below, above))));
    return mul(
        b, buildScalar(b, 2),
        buildArcTangent(b, math::SqrtOp::create(b, div(b, below, above))));
  }
  if (op == "Relu")
    return arith::MaximumFOp::create(b, x, buildScalar(b, 0));
  if (op == "Abs")
    return math::AbsFOp::create(b, x);
  if (op == "Ceil")
    return math::CeilOp::create(b, x);
  if (op == "Cos")
    return math::CosOp::create(b, x);
  if (op == "Erf")
    return math::ErfOp::create(b, x);
  if (op == "Exp")
    return math::ExpOp::create(b, x);
  if (op == "Floor")
    return math::FloorOp::create(b, x);
  if (op == "HardSwish") {
    Value gate =
        add(b, mul(b, x, buildScalar(b, 1.0f / 6)), buildScalar(b, 0.5f));
    gate = arith::MaximumFOp::create(b, gate, buildScalar(b, 0));
    return mul(b, x, arith::MinimumFOp::create(b, gate, buildScalar(b, 1)));
  }
  if (op == "IsNaN")
    return compareFloats(b, arith::CmpFPredicate::UNO, x, x);
  if (op == "Log")
    return math::LogOp::create(b, x);
  if (op == "Mish")
    return mul(b, x, math::TanhOp::create(b, buildSoftplus(b, x)));
  if (op == "Neg")
    return arith::NegFOp::create(b, x);
  if (op == "Reciprocal")
    return div(b, buildScalar(b, 1), x);
  if (op == "Round")
    return math::RoundEvenOp::create(b, x);
  if (op == "Sigmoid")
    return buildSigmoid(b, x);
  if (op == "Sign")
    return buildSign(b, x);
  if (op == "Sin")
    return math::SinOp::create(b, x);
  if (op == "Softplus")
    return buildSoftplus(b, x);
  if (op == "Softsign")
    return div(b, x, add(b, buildScalar(b, 1), math::AbsFOp::create(b, x)));
  if (op == "Sqrt")
    return math::SqrtOp::create(b, x);
  if (op == "Tan")
    return div(b, math::SinOp::create(b, x), math::CosOp::create(b, x));
  if (op == "Tanh")
    return math::TanhOp::create(b, x);
  return buildHyperbolic(op, b, x);
}

Value tessera::onnx::buildUnary(StringRef op, int32_t type, B &b, Value x) {
  if (type == Float)
    return op == "Not" || op == "BitwiseNot" ? Value()
                                             : buildFloatUnary(op, b, x);
  if (type == Bool || op == "BitwiseNot")
    return op == (type == Bool ? "Not" : "BitwiseNot")
               ? arith::XOrIOp::create(b, x, buildNumber(b, x.getType(), -1))
                     .getResult()
               : Value();
  Value zero = buildNumber(b, x.getType(), 0);
  Value one = buildNumber(b, x.getType(), 1);
  if (type == Uint8) {
    if (op == "Abs" || op == "Relu")
      return x;
    return op == "Sign" ? arith::MinUIOp::create(b, x, one).getResult()
                        : Value();
  }
  if (op == "Abs")
    return arith::MaxSIOp::create(b, x, arith::SubIOp::create(b, zero, x));
  if (op == "Neg")
    return arith::SubIOp::create(b, zero, x);
  if (op == "Relu")
    return arith::MaxSIOp::create(b, x, zero);
  if (op == "Sign")
    return arith::MinSIOp::create(
        b, one, arith::MaxSIOp::create(b, x, buildNumber(b, x.getType(), -1)));
  return Value();
}

//===-- Conversions -------------------------------------------------------===//

/// Between floats; f32 holds every value of the narrow types.
static Value convertFloat(B &b, Value x, Type to) {
  if (x.getType() == to)
    return x;
  if (!x.getType().isF32())
    x = arith::ExtFOp::create(b, b.getF32Type(), x);
  return to.isF32() ? x : arith::TruncFOp::create(b, to, x).getResult();
}

Value tessera::onnx::buildCast(B &b, Value x, int32_t from, int32_t to,
                               bool saturate) {
  if (std::optional<Float8Format> format = float8Format(from)) {
    x = buildFromFloat8(b, x, *format);
    from = Float;
  }
  if (std::optional<Float8Format> format = float8Format(to))
    return buildToFloat8(b, buildCast(b, x, from, Float), *format, saturate);
  Type target = storedType(b.getContext(), to);
  Type source = x.getType();
  bool fromFloat = isa<FloatType>(source), toFloat = isa<FloatType>(target);
  if (fromFloat && toFloat)
    return convertFloat(b, x, target);
  if (to == Bool && from == Bool)
    return x;
  if (to == Bool) {
    Value zero = buildNumber(b, source, 0);
    if (fromFloat)
      return compareFloats(b, arith::CmpFPredicate::UNE, x, zero);
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, x, zero);
  }
  if (fromFloat) {
    Type integer = target.isInteger(64) ? target : b.getI32Type();
    x = arith::FPToSIOp::create(b, integer, convertFloat(b, x, b.getF32Type()));
    return target == integer
               ? x
               : arith::TruncIOp::create(b, target, x).getResult();
  }
  if (toFloat) {
    Value number =
        isSigned(from)
            ? arith::SIToFPOp::create(b, b.getF32Type(), x).getResult()
            : arith::UIToFPOp::create(b, b.getF32Type(), x);
    return convertFloat(b, number, target);
  }
  unsigned have = source.getIntOrFloatBitWidth(),
           want = target.getIntOrFloatBitWidth();
  if (have == want)
    return x;
  if (have > want)
    return arith::TruncIOp::create(b, target, x);
  return isSigned(from) ? arith::ExtSIOp::create(b, target, x).getResult()
                        : arith::ExtUIOp::create(b, target, x);
}
