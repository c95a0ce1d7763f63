//===- MatrixKernels.h - Inner loops of mma ---------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// acc[m, n] = fma(a[m, k], b[k, n], acc[m, n]), k ascending, rounded once
// each: bit identical with whatever vector instructions the host has. All
// matrices dense and row major.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_NUMERICS_MATRIXKERNELS_H
#define TESSERA_SIM_NUMERICS_MATRIXKERNELS_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::sim {

struct MatrixShape {
  size_t m = 0, n = 0, k = 0;
};

/// Float operands, already widened to f32. NaN results are canonical.
void multiplyFloat(const MatrixShape &shape, const float *a, const float *b,
                   float *acc);
/// Integer operands, already widened to i32; wraps.
void multiplyInteger(const MatrixShape &shape, const uint32_t *a,
                     const uint32_t *b, uint32_t *acc);

/// The variants of multiplyFloat that this host can run; for tests.
using FloatKernel = void (*)(const MatrixShape &, const float *, const float *,
                             float *);
std::vector<FloatKernel> floatKernels();

} // namespace tessera::sim

#endif // TESSERA_SIM_NUMERICS_MATRIXKERNELS_H
