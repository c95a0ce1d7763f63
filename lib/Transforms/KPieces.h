//===- KPieces.h - Tiles that come in pieces --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRANSFORMS_KPIECES_H
#define TESSERA_LIB_TRANSFORMS_KPIECES_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tessera {

/// So few iterations lose less by waiting for their only accumulator than the
/// first one gains by getting the operands that stay in pieces.
inline constexpr int64_t fewIterations = 4;

/// The pieces in which a sum of `k` terms whose operands are loaded whole is
/// done, so that its first products need not wait for all of them: an eighth,
/// three eighths, the rest, each in whole blocks of `blockRows` terms. One
/// piece if there are fewer than four blocks.
inline std::vector<int64_t> kPieces(int64_t k, int64_t blockRows) {
  int64_t blocks = (k + blockRows - 1) / blockRows;
  if (blocks < 4)
    return {k};
  int64_t first = std::max<int64_t>(1, blocks / 8) * blockRows;
  int64_t second = std::max<int64_t>(1, blocks * 3 / 8) * blockRows;
  return {first, second, k - first - second};
}

} // namespace tessera

#endif // TESSERA_LIB_TRANSFORMS_KPIECES_H
