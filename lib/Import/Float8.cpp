//===- Float8.cpp - Floats of eight bits ----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Float8.h"
#include "TensorBuilders.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tessera/Import/OnnxModel.h"
#include <bit>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

std::optional<Float8Format> tessera::onnx::float8Format(int32_t elementType) {
  switch (elementType) {
  case Float8E4M3FN:
    return Float8Format{3, 7, 0x7e, 0x7f, 0x7f, false};
  case Float8E4M3FNUZ:
    return Float8Format{3, 8, 0x7f, 0x80, 0x80, true};
  case Float8E5M2:
    return Float8Format{2, 15, 0x7b, 0x7c, 0x7f, false};
  case Float8E5M2FNUZ:
    return Float8Format{2, 16, 0x7f, 0x80, 0x80, true};
  default:
    return std::nullopt;
  }
}

static constexpr int mantissaOfFloat = 23, biasOfFloat = 127;
static constexpr int signBit = 0x80, magnitudeBits = 0x7f;

namespace {
/// Shorthands for i32 and comparisons.
struct Bits {
  ImplicitLocOpBuilder &b;

  Value number(int64_t value) {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value)));
  }
  Value compare(arith::CmpIPredicate predicate, Value x, int64_t value) {
    return arith::CmpIOp::create(b, predicate, x, number(value));
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, condition, x, y);
  }
  Value asFloat(Value x) {
    return arith::BitcastOp::create(b, b.getF32Type(), x);
  }
  Value asBits(Value x) {
    return arith::BitcastOp::create(b, b.getI32Type(), x);
  }
};
} // namespace

Value tessera::onnx::buildFromFloat8(ImplicitLocOpBuilder &b, Value bits,
                                     const Float8Format &format) {
  using P = arith::CmpIPredicate;
  Bits i{b};
  Value code = arith::ExtUIOp::create(b, b.getI32Type(), bits);
  Value magnitude = arith::AndIOp::create(b, code, i.number(magnitudeBits));
  // The fields at the places of f32, and then the other bias: exact, also for
  // the subnormal ones.
  Value x = i.asFloat(arith::ShLIOp::create(
      b, magnitude, i.number(mantissaOfFloat - format.mantissaBits)));
  x = arith::MulFOp::create(
      b, x, buildScalar(b, std::ldexp(1.0, biasOfFloat - format.bias)));
  Value sign = arith::ShLIOp::create(
      b, arith::AndIOp::create(b, code, i.number(signBit)), i.number(24));
  x = i.asFloat(arith::OrIOp::create(b, i.asBits(x), sign));
  Value nan = buildScalar(b, std::numeric_limits<double>::quiet_NaN());
  if (format.oneZero)
    return i.select(i.compare(P::eq, code, format.nan), nan, x);
  if (format.overflow != format.nan) {
    Value infinity = i.asFloat(
        arith::OrIOp::create(b,
                             i.number(std::bit_cast<int32_t>(
                                 std::numeric_limits<float>::infinity())),
                             sign));
    x = i.select(i.compare(P::eq, magnitude, format.overflow), infinity, x);
  }
  int64_t largestNumber =
      format.overflow == format.nan ? format.largest : format.overflow;
  return i.select(i.compare(P::sgt, magnitude, largestNumber), nan, x);
}

Value tessera::onnx::buildToFloat8(ImplicitLocOpBuilder &b, Value x,
                                   const Float8Format &format, bool saturate) {
  using P = arith::CmpIPredicate;
  Bits i{b};
  int dropped = mantissaOfFloat - format.mantissaBits;
  int leastExponent = 1 - format.bias; // Of a normal number.
  Value whole = i.asBits(x);
  Value magnitude = arith::AndIOp::create(b, whole, i.number(0x7fffffff));
  // Normal: half of the last place less than a half, and one if that place is
  // odd, carry into what stays.
  Value odd = arith::AndIOp::create(
      b, arith::ShRUIOp::create(b, magnitude, i.number(dropped)), i.number(1));
  Value normal = arith::AddIOp::create(
      b,
      arith::AddIOp::create(b, magnitude,
                            i.number((int64_t(1) << (dropped - 1)) - 1)),
      odd);
  normal = arith::SubIOp::create(
      b, arith::ShRUIOp::create(b, normal, i.number(dropped)),
      i.number(int64_t(biasOfFloat - format.bias) << format.mantissaBits));
  // Subnormal: the addition of a number whose last place is the format's
  // rounds.
  float shifter = std::ldexp(1.0F, leastExponent + dropped);
  Value sum =
      arith::AddFOp::create(b, i.asFloat(magnitude), buildScalar(b, shifter));
  Value subnormal = arith::SubIOp::create(
      b, i.asBits(sum), i.number(std::bit_cast<int32_t>(shifter)));
  int64_t leastNormal = int64_t(biasOfFloat + leastExponent) << mantissaOfFloat;
  Value code =
      i.select(i.compare(P::slt, magnitude, leastNormal), subnormal, normal);
  code = i.select(i.compare(P::sgt, code, format.largest),
                  i.number(saturate ? format.largest : format.overflow), code);
  Value sign = arith::AndIOp::create(
      b, arith::ShRUIOp::create(b, whole, i.number(24)), i.number(signBit));
  if (format.oneZero)
    sign = i.select(i.compare(P::eq, code, 0), i.number(0), sign);
  code = arith::OrIOp::create(b, code, sign);
  int64_t infinity =
      std::bit_cast<int32_t>(std::numeric_limits<float>::infinity());
  code = i.select(i.compare(P::sgt, magnitude, infinity), i.number(format.nan),
                  code);
  return arith::TruncIOp::create(b, b.getI8Type(), code);
}
