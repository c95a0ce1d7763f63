//===- CycleWheel.h - Work by cycle -----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A calendar for one clock domain: items due in a cycle, in the order in which
// they were put there. The near future is a ring of buckets that keep their
// storage; what lies beyond it waits in a heap.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_NOC_CYCLEWHEEL_H
#define TESSERA_SIM_NOC_CYCLEWHEEL_H

#include "kernel/Clock.h"
#include "kernel/Serialize.h"
#include "kernel/SlotRing.h"
#include <algorithm>
#include <cassert>
#include <vector>

namespace tessera::sim::noc {

class CycleWheel {
public:
  static constexpr Cycle never = ~Cycle(0);

  CycleWheel() : buckets(size) {}

  /// `cycle` is after the last one taken.
  [[gnu::always_inline]] void put(Cycle cycle, uint32_t item) {
    assert(cycle >= base && "an item in the past");
    if (cycle - base < size) {
      size_t slot = cycle % size;
      buckets[slot].push_back(item);
      filled.fill(slot);
      return;
    }
    later.push_back({cycle, order++, item});
    std::push_heap(later.begin(), later.end(), after);
  }

  /// The first cycle with an item, or never.
  Cycle next() const {
    Cycle far = later.empty() ? never : later.front().cycle;
    size_t distance = filled.distance(base % size);
    return distance == size ? far : std::min(far, base + distance);
  }

  /// Moves the items of `cycle`, which is next(), to `items`.
  void take(Cycle cycle, std::vector<uint32_t> &items) {
    items.clear();
    size_t slot = cycle % size;
    if (cycle - base < size) {
      std::swap(items, buckets[slot]);
      filled.empty(slot);
    }
    base = cycle + 1;
    while (!later.empty() && later.front().cycle == cycle) {
      items.push_back(later.front().item);
      std::pop_heap(later.begin(), later.end(), after);
      later.pop_back();
    }
  }

  /// Calls `good(item)` for every item; false if one is not.
  template <typename Good> bool all(Good good) const {
    for (const auto &bucket : buckets)
      if (!std::ranges::all_of(bucket, good))
        return false;
    return std::ranges::all_of(later,
                               [&](const Later &l) { return good(l.item); });
  }

  template <typename A> void serialize(A &ar) {
    fields(ar, base, order, later);
    for (size_t slot = 0; slot != size; ++slot) {
      fields(ar, buckets[slot]);
      if (buckets[slot].empty())
        filled.empty(slot);
      else
        filled.fill(slot);
    }
    if constexpr (A::loading)
      for (const Later &l : later)
        if (l.cycle < base)
          ar.fail();
  }

private:
  static constexpr size_t size = 512;
  struct Later {
    Cycle cycle = 0;
    uint64_t order = 0;
    uint32_t item = 0;
    template <typename A> void serialize(A &ar) {
      fields(ar, cycle, order, item);
    }
  };
  static bool after(const Later &a, const Later &b) {
    return a.cycle != b.cycle ? a.cycle > b.cycle : a.order > b.order;
  }

  Cycle base = 0; ///< The ring holds cycles base to base + size - 1.
  uint64_t order = 0;
  std::vector<std::vector<uint32_t>> buckets;
  SlotRing<size> filled;
  std::vector<Later> later;
};

} // namespace tessera::sim::noc

#endif // TESSERA_SIM_NOC_CYCLEWHEEL_H
