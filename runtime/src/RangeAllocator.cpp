//===- RangeAllocator.cpp - First-fit allocation of ranges --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RangeAllocator.h"
#include <algorithm>
#include <cassert>

namespace tessera::runtime {

RangeAllocator::RangeAllocator(uint64_t begin, uint64_t end)
    : totalBytes(end - begin) {
  if (end > begin)
    free[begin] = end - begin;
}

std::optional<uint64_t> RangeAllocator::allocate(uint64_t bytes,
                                                 uint64_t alignment) {
  assert(bytes > 0 && (alignment & (alignment - 1)) == 0);
  for (auto it = free.begin(); it != free.end(); ++it) {
    auto [begin, size] = *it;
    uint64_t start = (begin + alignment - 1) & ~(alignment - 1);
    uint64_t skipped = start - begin;
    if (start < begin || skipped > size || size - skipped < bytes)
      continue;
    free.erase(it);
    if (skipped)
      free[begin] = skipped;
    if (uint64_t rest = size - skipped - bytes)
      free[start + bytes] = rest;
    usedBytes += bytes;
    return start;
  }
  return std::nullopt;
}

void RangeAllocator::release(uint64_t begin, uint64_t bytes) {
  assert(bytes > 0 && bytes <= usedBytes);
  usedBytes -= bytes;
  auto next = free.lower_bound(begin);
  assert((next == free.end() || begin + bytes <= next->first) &&
         "released twice");
  if (next != free.end() && begin + bytes == next->first) {
    bytes += next->second;
    next = free.erase(next);
  }
  if (next != free.begin()) {
    auto previous = std::prev(next);
    assert(previous->first + previous->second <= begin && "released twice");
    if (previous->first + previous->second == begin) {
      previous->second += bytes;
      return;
    }
  }
  free[begin] = bytes;
}

uint64_t RangeAllocator::largestFree() const {
  uint64_t largest = 0;
  for (auto [begin, size] : free)
    largest = std::max(largest, size);
  return largest;
}

} // namespace tessera::runtime
