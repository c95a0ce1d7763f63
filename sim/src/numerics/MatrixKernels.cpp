//===- MatrixKernels.cpp - Inner loops of mma -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "numerics/MatrixKernels.h"
#include "numerics/ExactFma.h"
#include "numerics/Formats.h"
#include "numerics/HostVectors.h"
#include <algorithm>

namespace tessera::sim {

namespace {
struct SoftFma {
  float operator()(float a, float b, float c) const {
    return exactFma(a, b, c);
  }
};
struct HostFma {
  TESSERA_ALWAYS_INLINE float operator()(float a, float b, float c) const {
    return __builtin_fmaf(a, b, c);
  }
};
struct WrapFma {
  TESSERA_ALWAYS_INLINE uint32_t operator()(uint32_t a, uint32_t b,
                                            uint32_t c) const {
    return a * b + c;
  }
};
} // namespace

/// Blocks of columns stay in registers while k runs.
template <typename T, typename Fma>
TESSERA_ALWAYS_INLINE static void multiply(const MatrixShape &s, const T *a,
                                           const T *b, T *acc, Fma fma) {
  constexpr size_t block = 32;
  for (size_t m = 0; m < s.m; ++m) {
    const T *row = a + m * s.k;
    size_t n = 0;
    for (; n + block <= s.n; n += block) {
      T sums[block];
      T *out = acc + m * s.n + n;
      for (size_t j = 0; j < block; ++j)
        sums[j] = out[j];
      const T *column = b + n;
      for (size_t k = 0; k < s.k; ++k, column += s.n) {
        T left = row[k];
        for (size_t j = 0; j < block; ++j)
          sums[j] = fma(left, column[j], sums[j]);
      }
      for (size_t j = 0; j < block; ++j)
        out[j] = sums[j];
    }
    if (size_t rest = s.n - n) {
      T sums[block] = {};
      T *out = acc + m * s.n + n;
      for (size_t j = 0; j < rest; ++j)
        sums[j] = out[j];
      const T *column = b + n;
      for (size_t k = 0; k < s.k; ++k, column += s.n) {
        T left = row[k];
        for (size_t j = 0; j < rest; ++j)
          sums[j] = fma(left, column[j], sums[j]);
      }
      for (size_t j = 0; j < rest; ++j)
        out[j] = sums[j];
    }
  }
}

static void floatPortable(const MatrixShape &s, const float *a, const float *b,
                          float *acc) {
  multiply(s, a, b, acc, SoftFma());
}
static void integerPortable(const MatrixShape &s, const uint32_t *a,
                            const uint32_t *b, uint32_t *acc) {
  multiply(s, a, b, acc, WrapFma());
}
#if TESSERA_HOST_X86
TESSERA_TARGET_V3 static void floatV3(const MatrixShape &s, const float *a,
                                      const float *b, float *acc) {
  multiply(s, a, b, acc, HostFma());
}
TESSERA_TARGET_V4 static void floatV4(const MatrixShape &s, const float *a,
                                      const float *b, float *acc) {
  multiply(s, a, b, acc, HostFma());
}
TESSERA_TARGET_V3 static void integerV3(const MatrixShape &s, const uint32_t *a,
                                        const uint32_t *b, uint32_t *acc) {
  multiply(s, a, b, acc, WrapFma());
}
#endif

std::vector<FloatKernel> floatKernels() {
  std::vector<FloatKernel> kernels = {floatPortable};
#if TESSERA_HOST_X86
  if (hostVectors() >= HostVectors::V3)
    kernels.push_back(floatV3);
  if (hostVectors() >= HostVectors::V4)
    kernels.push_back(floatV4);
#endif
  return kernels;
}

void multiplyFloat(const MatrixShape &shape, const float *a, const float *b,
                   float *acc) {
  static const FloatKernel kernel = floatKernels().back();
  kernel(shape, a, b, acc);
  for (size_t i = 0; i < shape.m * shape.n; ++i)
    if (acc[i] != acc[i])
      acc[i] = asFloat(canonicalNan);
}

void multiplyInteger(const MatrixShape &shape, const uint32_t *a,
                     const uint32_t *b, uint32_t *acc) {
#if TESSERA_HOST_X86
  if (hostVectors() >= HostVectors::V3)
    return integerV3(shape, a, b, acc);
#endif
  integerPortable(shape, a, b, acc);
}

} // namespace tessera::sim
