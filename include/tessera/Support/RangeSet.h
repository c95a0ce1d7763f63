//===- RangeSet.h - A set of numbers, kept as ranges ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bytes that something touches: ranges that meet are one.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_RANGESET_H
#define TESSERA_SUPPORT_RANGESET_H

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace tessera {

class RangeSet {
public:
  /// [low, high).
  void add(uint64_t low, uint64_t high) {
    if (low >= high)
      return;
    auto it = ranges.upper_bound(low);
    if (it != ranges.begin() && std::prev(it)->second >= low) {
      --it;
      low = it->first;
      high = std::max(high, it->second);
      it = ranges.erase(it);
    }
    while (it != ranges.end() && it->first <= high) {
      high = std::max(high, it->second);
      it = ranges.erase(it);
    }
    ranges.emplace_hint(it, low, high);
  }
  /// Calls f(low, high) for each part of [low, high) that is not in the set.
  template <typename F>
  void forEachMissing(uint64_t low, uint64_t high, F f) const {
    auto it = ranges.upper_bound(low);
    if (it != ranges.begin())
      low = std::max(low, std::prev(it)->second);
    for (; low < high && it != ranges.end() && it->first < high; ++it) {
      if (low < it->first)
        f(low, it->first);
      low = it->second;
    }
    if (low < high)
      f(low, high);
  }
  bool empty() const { return ranges.empty(); }
  /// First byte to the one behind the last, ascending.
  auto begin() const { return ranges.begin(); }
  auto end() const { return ranges.end(); }
  bool operator==(const RangeSet &) const = default;

private:
  std::map<uint64_t, uint64_t> ranges;
};

} // namespace tessera

#endif // TESSERA_SUPPORT_RANGESET_H
