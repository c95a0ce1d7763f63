//===- ExactFma.h - Fused multiply-add without hardware ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// a * b + c rounded once, with double additions and multiplications only.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_NUMERICS_EXACTFMA_H
#define TESSERA_SIM_NUMERICS_EXACTFMA_H

#include <bit>
#include <cstdint>

namespace tessera::sim {

/// The product of two floats is exact in double. The sum is rounded to odd (the
/// last bit tells that something was lost), so that the rounding to float, with
/// 29 bits less, sees on which side of a tie the exact sum is.
inline float exactFma(float a, float b, float c) {
  double product = double(a) * double(b), addend = c;
  double sum = product + addend;
  // What the addition lost (two-sum); NaN and infinities fail the test below.
  double part = sum - product;
  double lost = (product - (sum - part)) + (addend - part);
  uint64_t bits = std::bit_cast<uint64_t>(sum);
  if (lost != 0.0 && !(bits & 1) &&
      (bits & 0x7ff0000000000000) != 0x7ff0000000000000) {
    // The even neighbour was taken; step towards what was lost.
    bool away = (lost > 0.0) == (sum > 0.0);
    sum = std::bit_cast<double>(away ? bits + 1 : bits - 1);
  }
  return float(sum);
}

} // namespace tessera::sim

#endif // TESSERA_SIM_NUMERICS_EXACTFMA_H
