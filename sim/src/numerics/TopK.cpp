//===- TopK.cpp - The k best of a row ---------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "numerics/TopK.h"
#include "numerics/Order.h"
#include <algorithm>

namespace tessera::sim {

void TopK::add(uint32_t value, uint32_t index) {
  int64_t key = orderKey(value, isFloat);
  candidates.push_back(
      {smallest ? -key : key, candidates.size(), value, index});
}

void TopK::finish(size_t k, uint32_t *values, uint32_t *indices) {
  std::partial_sort(candidates.begin(), candidates.begin() + long(k),
                    candidates.end(),
                    [](const Candidate &a, const Candidate &b) {
                      return a.key != b.key ? a.key > b.key : a.order < b.order;
                    });
  for (size_t i = 0; i < k; ++i) {
    values[i] = candidates[i].value;
    indices[i] = candidates[i].index;
  }
}

} // namespace tessera::sim
