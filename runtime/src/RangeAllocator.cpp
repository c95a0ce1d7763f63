//===- RangeAllocator.cpp - Allocation of address ranges -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RangeAllocator.h"
#include <algorithm>
#include <cassert>

namespace tessera::runtime {

RangeAllocator::RangeAllocator(uint64_t begin, uint64_t end,
                               Placement placement)
    : placement(placement), totalBytes(end - begin) {
  if (end > begin)
    insert(begin, end - begin);
}

void RangeAllocator::insert(uint64_t begin, uint64_t bytes) {
  free[begin] = bytes;
  bySize.insert({bytes, begin});
}

void RangeAllocator::erase(uint64_t begin, uint64_t bytes) {
  free.erase(begin);
  bySize.erase({bytes, begin});
}

std::optional<uint64_t> RangeAllocator::takeFrom(uint64_t begin, uint64_t size,
                                                 uint64_t bytes,
                                                 uint64_t alignment,
                                                 bool upper) {
  if (size < bytes)
    return std::nullopt;
  uint64_t start = upper ? (begin + size - bytes) & ~(alignment - 1)
                         : (begin + alignment - 1) & ~(alignment - 1);
  if (start < begin || start - begin > size - bytes)
    return std::nullopt;
  cut(begin, size, start, bytes);
  return start;
}

void RangeAllocator::cut(uint64_t begin, uint64_t size, uint64_t start,
                         uint64_t bytes) {
  erase(begin, size);
  if (start > begin)
    insert(begin, start - begin);
  if (uint64_t rest = begin + size - start - bytes)
    insert(start + bytes, rest);
  usedBytes += bytes;
  peakBytes = std::max(peakBytes, usedBytes);
  ++allocationCount;
}

std::optional<uint64_t> RangeAllocator::allocate(uint64_t bytes,
                                                 uint64_t alignment) {
  assert(bytes > 0 && (alignment & (alignment - 1)) == 0);
  if (placement == Placement::FirstFit) {
    for (auto [begin, size] : free)
      if (auto taken = takeFrom(begin, size, bytes, alignment, false))
        return taken;
  } else {
    bool upper = placement == Placement::TwoEnded && bytes < largeBytes;
    for (auto it = bySize.lower_bound({bytes, 0}); it != bySize.end(); ++it)
      if (auto taken = takeFrom(it->second, it->first, bytes, alignment, upper))
        return taken;
  }
  ++failureCount;
  return std::nullopt;
}

bool RangeAllocator::allocateAt(uint64_t begin, uint64_t bytes) {
  assert(bytes > 0);
  auto next = free.upper_bound(begin);
  if (next != free.begin()) {
    auto [at, size] = *std::prev(next);
    if (begin - at <= size && bytes <= size - (begin - at)) {
      cut(at, size, begin, bytes);
      return true;
    }
  }
  ++failureCount;
  return false;
}

void RangeAllocator::release(uint64_t begin, uint64_t bytes) {
  assert(bytes > 0 && bytes <= usedBytes);
  usedBytes -= bytes;
  auto next = free.lower_bound(begin);
  assert((next == free.end() || begin + bytes <= next->first) &&
         "released twice");
  if (next != free.begin()) {
    auto [previous, size] = *std::prev(next);
    assert(previous + size <= begin && "released twice");
    if (previous + size == begin) {
      erase(previous, size);
      begin = previous;
      bytes += size;
    }
  }
  if (next != free.end() && begin + bytes == next->first) {
    auto [following, size] = *next;
    erase(following, size);
    bytes += size;
  }
  insert(begin, bytes);
}

uint64_t RangeAllocator::largestFree() const {
  return bySize.empty() ? 0 : bySize.rbegin()->first;
}

} // namespace tessera::runtime
