//===- Conversion.h - What convert does to a value --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_NUMERICS_CONVERSION_H
#define TESSERA_SIM_NUMERICS_CONVERSION_H

#include "tessera/ISA/Instruction.h"
#include "tessera/Support/NumericFormat.h"
#include <cstddef>
#include <cstdint>

namespace tessera::sim {

/// Changes formats, quantises, requantises and dequantises; docs/isa.md has the
/// steps and their roundings.
struct Conversion {
  NumericFormat from = NumericFormat::F32, to = NumericFormat::F32;
  bool usesScale = false, usesZero = false;
  bool divides = false;   ///< By the scale instead of multiplying.
  bool saturates = false; ///< Floats; integers always do.
  isa::Rounding rounding = isa::Rounding::Nearest;

  /// `source`: lanes of `from`; `scale`: f32 lanes and `zero`: i32 lanes, if
  /// used; `dense`: elements of `to`.
  void run(size_t count, const uint32_t *source, const uint32_t *scale,
           const uint32_t *zero, uint8_t *dense) const;
};

/// The smallest and the largest value of an integer format.
struct IntegerRange {
  int64_t low, high;
};
IntegerRange integerRange(NumericFormat format);

} // namespace tessera::sim

#endif // TESSERA_SIM_NUMERICS_CONVERSION_H
