//===- TopK.h - The k best of a row -----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_NUMERICS_TOPK_H
#define TESSERA_SIM_NUMERICS_TOPK_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::sim {

/// Collects lanes with their indices; of equal values the one that was added
/// first is the better one. NaN is above every number.
class TopK {
public:
  TopK(bool isFloat, bool smallest) : isFloat(isFloat), smallest(smallest) {}
  void reset() { candidates.clear(); }
  void add(uint32_t value, uint32_t index);
  /// The `k` best, best first; at least `k` were added.
  void finish(size_t k, uint32_t *values, uint32_t *indices);

private:
  struct Candidate {
    int64_t key;
    size_t order;
    uint32_t value, index;
  };
  bool isFloat, smallest;
  std::vector<Candidate> candidates;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_NUMERICS_TOPK_H
