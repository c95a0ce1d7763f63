//===- WideArithmetic.h - 64-bit integers as pairs of 32 bits ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRANSFORMS_WIDEARITHMETIC_H
#define TESSERA_LIB_TRANSFORMS_WIDEARITHMETIC_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"
#include <cstdint>
#include <limits>
#include <optional>

namespace tessera {

/// The values that an integer can have.
struct Interval {
  int64_t low = std::numeric_limits<int64_t>::min();
  int64_t high = std::numeric_limits<int64_t>::max();
  bool fitsWord() const {
    return low >= std::numeric_limits<int32_t>::min() &&
           high <= std::numeric_limits<int32_t>::max();
  }
  /// Of all integers with so many bits.
  static Interval ofBits(unsigned bits);
};

/// A 64-bit integer in halves of i32. Without a high half it is the low one,
/// sign-extended.
struct Wide {
  mlir::Value low, high;
  Interval range;
};

/// Builds arithmetic on such integers in a linalg body.
class WideBuilder {
public:
  WideBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : b(builder), loc(loc) {}

  mlir::Value number(int64_t value);
  Wide constant(int64_t value);
  mlir::Value highOf(const Wide &value);
  /// A result whose value lies in `range`: without high half if that fits.
  Wide make(mlir::Value low, mlir::Value high, Interval range);

  Wide add(const Wide &x, const Wide &y, Interval range);
  Wide subtract(const Wide &x, const Wide &y, Interval range);
  Wide multiply(const Wide &x, const Wide &y, Interval range);
  /// By a constant number of bits.
  Wide shiftLeft(const Wide &x, unsigned amount, Interval range);
  Wide shiftRight(const Wide &x, unsigned amount, bool isSigned,
                  Interval range);
  Wide select(mlir::Value condition, const Wide &x, const Wide &y,
              Interval range);
  mlir::Value equal(const Wide &x, const Wide &y);
  mlir::Value less(const Wide &x, const Wide &y, bool isSigned);
  /// The nearest f32.
  mlir::Value toFloat(const Wide &x);
  /// Toward zero.
  Wide fromFloat(mlir::Value x);

private:
  mlir::Value compare(unsigned predicate, mlir::Value x, mlir::Value y);
  mlir::OpBuilder &b;
  mlir::Location loc;
};

/// Interval arithmetic; all integers if the exact result may not fit.
Interval addIntervals(Interval x, Interval y);
Interval subtractIntervals(Interval x, Interval y);
Interval multiplyIntervals(Interval x, Interval y);
Interval unite(Interval x, Interval y);

} // namespace tessera

#endif // TESSERA_LIB_TRANSFORMS_WIDEARITHMETIC_H
