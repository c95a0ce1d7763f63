//===- Reduction.cpp - Reductions and scans ---------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "numerics/Reduction.h"
#include "numerics/Order.h"
#include <algorithm>

namespace tessera::sim {

using isa::Reduce;

uint32_t Combination::identity() const {
  switch (kind) {
  case Reduce::Min:
    return isFloat ? 0x7f800000 : 0x7fffffff;
  case Reduce::Max:
    return isFloat ? 0xff800000 : 0x80000000;
  case Reduce::Prod:
    return isFloat ? 0x3f800000 : 1;
  default:
    return 0;
  }
}

uint32_t Combination::operator()(uint32_t a, uint32_t b) const {
  switch (kind) {
  case Reduce::Min:
    return isFloat ? asBits(minimum(asFloat(a), asFloat(b)))
                   : uint32_t(std::min(int32_t(a), int32_t(b)));
  case Reduce::Max:
    return isFloat ? asBits(maximum(asFloat(a), asFloat(b)))
                   : uint32_t(std::max(int32_t(a), int32_t(b)));
  case Reduce::Prod:
    return isFloat ? canonical(asFloat(a) * asFloat(b)) : a * b;
  default:
    return isFloat ? canonical(asFloat(a) + asFloat(b)) : a + b;
  }
}

Reduction::Reduction(Reduce kind, bool isFloat)
    : combination{kind, isFloat}, identity(combination.identity()) {
  reset();
}

void Reduction::reset() {
  partial.fill(identity);
  next = 0;
}

void Reduction::add(uint32_t value) {
  partial[next] = combination(partial[next], value);
  next = (next + 1) % ways;
}

uint32_t Reduction::finish() const {
  std::array<uint32_t, ways> level = partial;
  for (unsigned width = ways; width > 1; width /= 2)
    for (unsigned i = 0; i < width / 2; ++i)
      level[i] = combination(level[2 * i], level[2 * i + 1]);
  return level[0];
}

void ArgReduction::add(uint32_t value, uint32_t index) {
  int64_t key = orderKey(value, isFloat);
  if (wantsLeast && key != nanKey)
    key = -key;
  if (any && key <= bestKey)
    return;
  any = true;
  bestKey = key;
  best = value;
  place = index;
}

void Scan::run(uint32_t *values, unsigned count) {
  // Downwards, each value still sees what was there before the step.
  for (unsigned distance = 1; distance < block; distance *= 2)
    for (unsigned i = count; i-- > distance;)
      values[i] = combination(values[i - distance], values[i]);
  for (unsigned i = 0; i < count; ++i)
    values[i] = combination(running, values[i]);
  if (count > 0)
    running = values[count - 1];
}

} // namespace tessera::sim
