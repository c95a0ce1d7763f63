//===- Order.h - Which of two values is larger ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `minimum` and `maximum` are operations: NaN wins, -0 < +0. `orderKey` is an
// order, as arg-max and top-k need it: -0 and +0 are equal.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_NUMERICS_ORDER_H
#define TESSERA_SIM_NUMERICS_ORDER_H

#include "numerics/Formats.h"
#include <limits>

namespace tessera::sim {

inline float minimum(float a, float b) {
  if (a != a || b != b)
    return asFloat(canonicalNan);
  if (a == b) // also -0 and +0
    return asFloat(asBits(a) | asBits(b));
  return a < b ? a : b;
}
inline float maximum(float a, float b) {
  if (a != a || b != b)
    return asFloat(canonicalNan);
  if (a == b)
    return asFloat(asBits(a) & asBits(b));
  return a > b ? a : b;
}

inline constexpr int64_t nanKey = std::numeric_limits<int64_t>::max();

/// Compares as the values of the lane do; NaN has a key of its own, above all
/// others.
inline int64_t orderKey(uint32_t lane, bool isFloat) {
  if (!isFloat)
    return int32_t(lane);
  auto magnitude = int64_t(lane & 0x7fffffff);
  if (magnitude > 0x7f800000)
    return nanKey;
  return lane >> 31 ? -magnitude : magnitude;
}

} // namespace tessera::sim

#endif // TESSERA_SIM_NUMERICS_ORDER_H
