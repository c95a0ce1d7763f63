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
#include <cstring>

namespace tessera::sim {

//===----------------------------------------------------------------------===//
// Without vector instructions
//===----------------------------------------------------------------------===//

template <typename Fma>
static void multiplyPlain(const MatrixShape &s, const uint32_t *a,
                          const uint32_t *b, uint32_t *acc, Fma fma) {
  for (size_t m = 0; m < s.m; ++m)
    for (size_t k = 0; k < s.k; ++k)
      for (size_t n = 0; n < s.n; ++n) {
        uint32_t &sum = acc[m * s.n + n];
        sum = fma(a[m * s.k + k], b[k * s.n + n], sum);
      }
}

static void floatPlain(const MatrixShape &s, const uint32_t *a,
                       const uint32_t *b, uint32_t *acc) {
  multiplyPlain(s, a, b, acc, [](uint32_t x, uint32_t y, uint32_t sum) {
    return asBits(exactFma(asFloat(x), asFloat(y), asFloat(sum)));
  });
}
static void integerPlain(const MatrixShape &s, const uint32_t *a,
                         const uint32_t *b, uint32_t *acc) {
  multiplyPlain(s, a, b, acc, [](uint32_t x, uint32_t y, uint32_t sum) {
    return x * y + sum;
  });
}

//===----------------------------------------------------------------------===//
// With vector instructions
//===----------------------------------------------------------------------===//

#if TESSERA_HOST_X86
namespace {

/// What one step of k does to a vector of sums; no vector is passed to or from
/// a function, as how that is done depends on the instructions.
struct FloatLanes {
  using Element = float;
  template <typename Vec>
  TESSERA_ALWAYS_INLINE static void add(Vec &sum, const Vec &left,
                                        const Vec &right) {
    sum = __builtin_elementwise_fma(left, right, sum);
  }
};
struct IntegerLanes {
  using Element = uint32_t;
  template <typename Vec>
  TESSERA_ALWAYS_INLINE static void add(Vec &sum, const Vec &left,
                                        const Vec &right) {
    sum += left * right;
  }
};

/// Tiles of Rows × (Vectors · Width) sums stay in registers while k runs over
/// a piece of K; the piece of b that they need is packed, so that it stays in
/// the first-level cache while m runs.
template <typename Lanes, unsigned Width, unsigned Vectors, unsigned Rows>
struct Blocked {
  using Element = typename Lanes::Element;
  typedef Element Vec __attribute__((vector_size(Width * 4)));
  /// The same in memory: anywhere, and a view of the elements' bits.
  typedef Element Stored
      __attribute__((vector_size(Width * 4), aligned(4), may_alias));
  static constexpr size_t columns = size_t(Width) * Vectors, depth = 128;

  template <unsigned R>
  TESSERA_ALWAYS_INLINE static void tile(size_t k, const uint32_t *a,
                                         size_t strideA, const uint32_t *b,
                                         uint32_t *acc, size_t strideAcc) {
    Vec sums[R][Vectors];
    for (unsigned r = 0; r < R; ++r)
      for (unsigned v = 0; v < Vectors; ++v)
        sums[r][v] = *reinterpret_cast<const Stored *>(acc + r * strideAcc +
                                                       size_t(v) * Width);
    for (size_t i = 0; i < k; ++i) {
      Vec right[Vectors];
      for (unsigned v = 0; v < Vectors; ++v)
        right[v] = *reinterpret_cast<const Stored *>(b + i * columns +
                                                     size_t(v) * Width);
#pragma clang loop unroll(full)
      for (unsigned r = 0; r < R; ++r) {
        // To all lanes; less 0, as plus would lose the sign of a zero.
        Vec left = std::bit_cast<Element>(a[r * strideA + i]) - Vec{};
#pragma clang loop unroll(full)
        for (unsigned v = 0; v < Vectors; ++v)
          Lanes::add(sums[r][v], left, right[v]);
      }
    }
    for (unsigned r = 0; r < R; ++r)
      for (unsigned v = 0; v < Vectors; ++v)
        *reinterpret_cast<Stored *>(acc + r * strideAcc + size_t(v) * Width) =
            sums[r][v];
  }

  /// A tile of fewer columns, through one of all columns.
  template <unsigned R>
  TESSERA_ALWAYS_INLINE static void
  narrowTile(size_t k, const uint32_t *a, size_t strideA, const uint32_t *b,
             uint32_t *acc, size_t strideAcc, size_t used) {
    uint32_t whole[R * columns] = {};
    for (unsigned r = 0; r < R; ++r)
      std::copy_n(acc + r * strideAcc, used, whole + r * columns);
    tile<R>(k, a, strideA, b, whole, columns);
    for (unsigned r = 0; r < R; ++r)
      std::copy_n(whole + r * columns, used, acc + r * strideAcc);
  }

  template <unsigned R>
  TESSERA_ALWAYS_INLINE static void
  rows(size_t k, const uint32_t *a, size_t strideA, const uint32_t *b,
       uint32_t *acc, size_t strideAcc, size_t used) {
    if (used == columns)
      tile<R>(k, a, strideA, b, acc, strideAcc);
    else
      narrowTile<R>(k, a, strideA, b, acc, strideAcc, used);
  }

  TESSERA_ALWAYS_INLINE static void multiply(const MatrixShape &s,
                                             const uint32_t *a,
                                             const uint32_t *b, uint32_t *acc) {
    uint32_t packed[depth * columns];
    for (size_t k = 0; k < s.k; k += depth) {
      size_t steps = std::min(depth, s.k - k);
      for (size_t n = 0; n < s.n; n += columns) {
        size_t used = std::min(columns, s.n - n);
        for (size_t i = 0; i < steps; ++i) {
          std::memcpy(packed + i * columns, b + (k + i) * s.n + n, used * 4);
          std::fill(packed + i * columns + used, packed + (i + 1) * columns, 0);
        }
        size_t m = 0;
        for (; m + Rows <= s.m; m += Rows)
          rows<Rows>(steps, a + m * s.k + k, s.k, packed, acc + m * s.n + n,
                     s.n, used);
        for (; m + 4 <= s.m; m += 4)
          rows<4>(steps, a + m * s.k + k, s.k, packed, acc + m * s.n + n, s.n,
                  used);
        for (; m < s.m; ++m)
          rows<1>(steps, a + m * s.k + k, s.k, packed, acc + m * s.n + n, s.n,
                  used);
      }
    }
  }
};

} // namespace

TESSERA_TARGET_V3 static void floatV3(const MatrixShape &s, const uint32_t *a,
                                      const uint32_t *b, uint32_t *acc) {
  Blocked<FloatLanes, 8, 2, 6>::multiply(s, a, b, acc);
}
TESSERA_TARGET_V3 static void integerV3(const MatrixShape &s, const uint32_t *a,
                                        const uint32_t *b, uint32_t *acc) {
  Blocked<IntegerLanes, 8, 2, 6>::multiply(s, a, b, acc);
}
TESSERA_TARGET_V4 static void floatV4(const MatrixShape &s, const uint32_t *a,
                                      const uint32_t *b, uint32_t *acc) {
  Blocked<FloatLanes, 16, 2, 8>::multiply(s, a, b, acc);
}
TESSERA_TARGET_V4 static void integerV4(const MatrixShape &s, const uint32_t *a,
                                        const uint32_t *b, uint32_t *acc) {
  Blocked<IntegerLanes, 16, 2, 8>::multiply(s, a, b, acc);
}
#endif

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

const std::vector<MatrixKernel> &matrixKernels() {
  static const std::vector<MatrixKernel> kernels = [] {
    std::vector<MatrixKernel> all = {{"plain", floatPlain, integerPlain}};
#if TESSERA_HOST_X86
    if (hostVectors() >= HostVectors::V3)
      all.push_back({"avx2", floatV3, integerV3});
    if (hostVectors() >= HostVectors::V4)
      all.push_back({"avx512", floatV4, integerV4});
#endif
    return all;
  }();
  return kernels;
}

void multiplyFloat(const MatrixShape &shape, const uint32_t *a,
                   const uint32_t *b, uint32_t *acc) {
  matrixKernels().back().multiplyFloat(shape, a, b, acc);
  for (size_t i = 0; i < shape.m * shape.n; ++i)
    acc[i] = (acc[i] & 0x7fffffff) > 0x7f800000 ? canonicalNan : acc[i];
}

void multiplyInteger(const MatrixShape &shape, const uint32_t *a,
                     const uint32_t *b, uint32_t *acc) {
  matrixKernels().back().multiplyInteger(shape, a, b, acc);
}

} // namespace tessera::sim
