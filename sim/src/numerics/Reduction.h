//===- Reduction.h - Reductions and scans -----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In the orders that the ISA fixes, on 32-bit lanes: f32, or wrapping i32.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_NUMERICS_REDUCTION_H
#define TESSERA_SIM_NUMERICS_REDUCTION_H

#include "tessera/ISA/Instruction.h"
#include <array>
#include <cstdint>

namespace tessera::sim {

/// One step of a sum, maximum, minimum or product.
struct Combination {
  isa::Reduce kind = isa::Reduce::Sum;
  bool isFloat = false;

  uint32_t identity() const;
  uint32_t operator()(uint32_t a, uint32_t b) const;
};

/// Value j goes to partial result j mod 64, then a binary tree of neighbours.
class Reduction {
public:
  static constexpr unsigned ways = 64;

  Reduction(isa::Reduce kind, bool isFloat);
  void reset();
  void add(uint32_t value);
  uint32_t finish() const;
  uint32_t combine(uint32_t a, uint32_t b) const { return combination(a, b); }

private:
  Combination combination;
  uint32_t identity;
  std::array<uint32_t, ways> partial;
  unsigned next = 0;
};

/// The first of the largest (smallest) values, or the first NaN.
class ArgReduction {
public:
  ArgReduction(isa::Reduce kind, bool isFloat)
      : wantsLeast(kind == isa::Reduce::ArgMin), isFloat(isFloat) {}
  void reset() { any = false; }
  void add(uint32_t value, uint32_t index);
  uint32_t value() const { return best; }
  uint32_t index() const { return place; }

private:
  bool wantsLeast, isFloat, any = false;
  int64_t bestKey = 0;
  uint32_t best = 0, place = 0;
};

/// Running results, in blocks of 64: within a block by doubling distances, then
/// the carry of the blocks before.
class Scan {
public:
  static constexpr unsigned block = 64;

  Scan(isa::Reduce kind, bool isFloat) : combination{kind, isFloat} {}
  uint32_t identity() const { return combination.identity(); }
  void start(uint32_t first) { running = first; }
  /// Values of up to a block to their inclusive results.
  void run(uint32_t *values, unsigned count);
  /// The result of everything until now.
  uint32_t carry() const { return running; }

private:
  Combination combination;
  uint32_t running = 0;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_NUMERICS_REDUCTION_H
