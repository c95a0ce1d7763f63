//===- WideArithmetic.cpp - 64-bit integers as pairs of 32 bits -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WideArithmetic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <algorithm>

using namespace mlir;
using namespace tessera;

//===-- Intervals ---------------------------------------------------------===//

Interval Interval::ofBits(unsigned bits) {
  if (bits >= 64)
    return {};
  if (bits == 1)
    return {0, 1};
  return {-(int64_t(1) << (bits - 1)), (int64_t(1) << (bits - 1)) - 1};
}

static Interval fromProducts(std::initializer_list<__int128> values) {
  __int128 low = std::min(values), high = std::max(values);
  if (low < std::numeric_limits<int64_t>::min() ||
      high > std::numeric_limits<int64_t>::max())
    return {};
  return {static_cast<int64_t>(low), static_cast<int64_t>(high)};
}

Interval tessera::addIntervals(Interval x, Interval y) {
  return fromProducts({__int128(x.low) + y.low, __int128(x.high) + y.high});
}
Interval tessera::subtractIntervals(Interval x, Interval y) {
  return fromProducts({__int128(x.low) - y.high, __int128(x.high) - y.low});
}
Interval tessera::multiplyIntervals(Interval x, Interval y) {
  return fromProducts({__int128(x.low) * y.low, __int128(x.low) * y.high,
                       __int128(x.high) * y.low, __int128(x.high) * y.high});
}
Interval tessera::unite(Interval x, Interval y) {
  return {std::min(x.low, y.low), std::max(x.high, y.high)};
}

//===-- Pairs -------------------------------------------------------------===//

Value WideBuilder::number(int64_t value) {
  return arith::ConstantOp::create(
      b, loc, b.getI32IntegerAttr(static_cast<int32_t>(value)));
}

Wide WideBuilder::constant(int64_t value) {
  Interval range{value, value};
  if (range.fitsWord())
    return {number(value), Value(), range};
  return {number(value), number(value >> 32), range};
}

Value WideBuilder::highOf(const Wide &value) {
  if (value.high)
    return value.high;
  if (value.range.low >= 0)
    return number(0);
  return arith::ShRSIOp::create(b, loc, value.low, number(31));
}

Wide WideBuilder::make(Value low, Value high, Interval range) {
  return {low, range.fitsWord() ? Value() : high, range};
}

Value WideBuilder::compare(unsigned predicate, Value x, Value y) {
  return arith::CmpIOp::create(
      b, loc, static_cast<arith::CmpIPredicate>(predicate), x, y);
}

static constexpr unsigned eq = unsigned(arith::CmpIPredicate::eq),
                          slt = unsigned(arith::CmpIPredicate::slt),
                          ult = unsigned(arith::CmpIPredicate::ult);

Wide WideBuilder::add(const Wide &x, const Wide &y, Interval range) {
  Value low = arith::AddIOp::create(b, loc, x.low, y.low);
  if (range.fitsWord())
    return {low, Value(), range};
  Value carry =
      arith::ExtUIOp::create(b, loc, b.getI32Type(), compare(ult, low, x.low));
  Value high = arith::AddIOp::create(
      b, loc, arith::AddIOp::create(b, loc, highOf(x), highOf(y)), carry);
  return {low, high, range};
}

Wide WideBuilder::subtract(const Wide &x, const Wide &y, Interval range) {
  Value low = arith::SubIOp::create(b, loc, x.low, y.low);
  if (range.fitsWord())
    return {low, Value(), range};
  Value borrow = arith::ExtUIOp::create(b, loc, b.getI32Type(),
                                        compare(ult, x.low, y.low));
  Value high = arith::SubIOp::create(
      b, loc, arith::SubIOp::create(b, loc, highOf(x), highOf(y)), borrow);
  return {low, high, range};
}

Wide WideBuilder::multiply(const Wide &x, const Wide &y, Interval range) {
  if (range.fitsWord())
    return {arith::MulIOp::create(b, loc, x.low, y.low), Value(), range};
  auto product = arith::MulUIExtendedOp::create(b, loc, x.low, y.low);
  Value high = product.getHigh();
  high = arith::AddIOp::create(b, loc, high,
                               arith::MulIOp::create(b, loc, x.low, highOf(y)));
  high = arith::AddIOp::create(b, loc, high,
                               arith::MulIOp::create(b, loc, highOf(x), y.low));
  return {product.getLow(), high, range};
}

Wide WideBuilder::shiftLeft(const Wide &x, unsigned amount, Interval range) {
  if (amount == 0)
    return x;
  if (amount >= 32) {
    Value high = amount == 32
                     ? x.low
                     : arith::ShLIOp::create(b, loc, x.low, number(amount - 32))
                           .getResult();
    return make(number(0), high, range);
  }
  Value low = arith::ShLIOp::create(b, loc, x.low, number(amount));
  if (range.fitsWord())
    return {low, Value(), range};
  Value high = arith::OrIOp::create(
      b, loc, arith::ShLIOp::create(b, loc, highOf(x), number(amount)),
      arith::ShRUIOp::create(b, loc, x.low, number(32 - amount)));
  return {low, high, range};
}

Wide WideBuilder::shiftRight(const Wide &x, unsigned amount, bool isSigned,
                             Interval range) {
  if (amount == 0)
    return x;
  Value high = highOf(x);
  auto shift = [&](Value value, unsigned by) -> Value {
    if (by == 0)
      return value;
    return isSigned
               ? arith::ShRSIOp::create(b, loc, value, number(by)).getResult()
               : arith::ShRUIOp::create(b, loc, value, number(by));
  };
  if (amount >= 32) {
    Value rest = isSigned ? shift(high, 31) : number(0);
    return make(shift(high, amount - 32), rest, range);
  }
  Value low = arith::OrIOp::create(
      b, loc, arith::ShRUIOp::create(b, loc, x.low, number(amount)),
      arith::ShLIOp::create(b, loc, high, number(32 - amount)));
  return make(low, shift(high, amount), range);
}

Wide WideBuilder::select(Value condition, const Wide &x, const Wide &y,
                         Interval range) {
  Value low = arith::SelectOp::create(b, loc, condition, x.low, y.low);
  if (range.fitsWord())
    return {low, Value(), range};
  return {low, arith::SelectOp::create(b, loc, condition, highOf(x), highOf(y)),
          range};
}

Value WideBuilder::equal(const Wide &x, const Wide &y) {
  Value low = compare(eq, x.low, y.low);
  if (!x.high && !y.high)
    return low;
  return arith::AndIOp::create(b, loc, low, compare(eq, highOf(x), highOf(y)));
}

Value WideBuilder::less(const Wide &x, const Wide &y, bool isSigned) {
  // Sign extension keeps the order of unsigned numbers too.
  if (!x.high && !y.high)
    return compare(isSigned ? slt : ult, x.low, y.low);
  Value highX = highOf(x), highY = highOf(y);
  Value below = compare(isSigned ? slt : ult, highX, highY);
  Value tie = arith::AndIOp::create(b, loc, compare(eq, highX, highY),
                                    compare(ult, x.low, y.low));
  return arith::OrIOp::create(b, loc, below, tie);
}

/// The magnitude shifted right until it has 32 bits, with a lowest bit that
/// tells whether bits were lost, converted and scaled back: one rounding.
Value WideBuilder::toFloat(const Wide &x) {
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  if (!x.high)
    return arith::SIToFPOp::create(b, loc, f32, x.low);
  Value zero = number(0);
  Value isNegative = compare(slt, x.high, zero);
  Wide minus = subtract(constant(0), x, {});
  Value low = arith::SelectOp::create(b, loc, isNegative, minus.low, x.low);
  Value high = arith::SelectOp::create(b, loc, isNegative, minus.high, x.high);
  // One more than the exponent of the high half as a float: its number of bits,
  // or one too many if it was rounded up.
  Value bits = arith::BitcastOp::create(
      b, loc, i32, arith::UIToFPOp::create(b, loc, f32, high));
  Value shift = arith::SubIOp::create(
      b, loc, arith::ShRUIOp::create(b, loc, bits, number(23)), number(126));
  Value hasNone = compare(eq, high, zero);
  shift = arith::SelectOp::create(b, loc, hasNone, zero, shift);
  shift = arith::MinSIOp::create(b, loc, shift, number(32));
  // Shifts by 32 are two.
  Value back = arith::SubIOp::create(b, loc, number(32), shift);
  auto left = [&](Value value) -> Value {
    Value safe = arith::MinSIOp::create(b, loc, back, number(31));
    Value moved = arith::ShLIOp::create(b, loc, value, safe);
    return arith::SelectOp::create(b, loc, compare(eq, shift, zero), zero,
                                   moved);
  };
  Value half = arith::ShRUIOp::create(b, loc, shift, number(1));
  Value rest = arith::SubIOp::create(b, loc, shift, half);
  Value lowPart = arith::ShRUIOp::create(
      b, loc, arith::ShRUIOp::create(b, loc, low, half), rest);
  Value lost = arith::ExtUIOp::create(
      b, loc, i32,
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, left(low), zero));
  Value mantissa = arith::OrIOp::create(
      b, loc, arith::OrIOp::create(b, loc, left(high), lowPart), lost);
  Value scale = arith::BitcastOp::create(
      b, loc, f32,
      arith::ShLIOp::create(b, loc,
                            arith::AddIOp::create(b, loc, shift, number(127)),
                            number(23)));
  Value result = arith::MulFOp::create(
      b, loc, arith::UIToFPOp::create(b, loc, f32, mantissa), scale);
  return arith::SelectOp::create(b, loc, isNegative,
                                 arith::NegFOp::create(b, loc, result), result);
}

Wide WideBuilder::fromFloat(Value x) {
  Type i32 = b.getI32Type();
  auto real = [&](double value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
  };
  Value size = math::FloorOp::create(b, loc, math::AbsFOp::create(b, loc, x));
  Value upper = math::FloorOp::create(
      b, loc, arith::MulFOp::create(b, loc, size, real(0x1p-32)));
  // Exact: a multiple of the float's last bit below 2^32.
  Value lower = arith::SubFOp::create(
      b, loc, size, arith::MulFOp::create(b, loc, upper, real(0x1p32)));
  Wide magnitude{arith::FPToUIOp::create(b, loc, i32, lower),
                 arith::FPToUIOp::create(b, loc, i32, upper),
                 {}};
  Value isNegative =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, real(0));
  Wide minus = subtract(constant(0), magnitude, {});
  return select(isNegative, minus, magnitude, {});
}
