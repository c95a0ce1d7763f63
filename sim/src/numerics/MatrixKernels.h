//===- MatrixKernels.h - Inner loops of mma ---------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// acc[m, n] = fma(a[m, k], b[k, n], acc[m, n]), k ascending, rounded once
// each: bit identical with whatever vector instructions the host has, as lanes
// are different n. All matrices are dense, row major, and of 32-bit lanes
// (numerics/Formats.h).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_NUMERICS_MATRIXKERNELS_H
#define TESSERA_SIM_NUMERICS_MATRIXKERNELS_H

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tessera::sim {

struct MatrixShape {
  size_t m = 0, n = 0, k = 0;
};

/// The bits of floats widened to f32. NaN results are canonical.
void multiplyFloat(const MatrixShape &shape, const uint32_t *a,
                   const uint32_t *b, uint32_t *acc);
/// Integers widened to i32; wraps.
void multiplyInteger(const MatrixShape &shape, const uint32_t *a,
                     const uint32_t *b, uint32_t *acc);

/// One way to compute both, and the vector instructions that it needs. Floats
/// may give any NaN.
struct MatrixKernel {
  using Function = void (*)(const MatrixShape &, const uint32_t *,
                            const uint32_t *, uint32_t *);
  std::string_view name;
  Function multiplyFloat, multiplyInteger;
};
/// Those that this host can run, the fastest last.
const std::vector<MatrixKernel> &matrixKernels();

} // namespace tessera::sim

#endif // TESSERA_SIM_NUMERICS_MATRIXKERNELS_H
