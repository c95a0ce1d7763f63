//===- SlotRing.h - Which slots of a ring are filled ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A bit for each slot of a ring, for calendars that look for the next slot
// with work.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_KERNEL_SLOTRING_H
#define TESSERA_SIM_KERNEL_SLOTRING_H

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tessera::sim {

/// `size` is a multiple of 64.
template <size_t size> class SlotRing {
public:
  void fill(size_t slot) { filled[slot / 64] |= bitOf(slot); }
  void empty(size_t slot) { filled[slot / 64] &= ~bitOf(slot); }
  void clear() { filled = {}; }

  /// Slots from `start` (which counts) to the first filled one, going round;
  /// `size` if none is.
  size_t distance(size_t start) const {
    for (size_t i = 0; i <= words; ++i) {
      size_t word = (start / 64 + i) % words;
      uint64_t bits = filled[word];
      // The first word is looked at twice: what lies behind its start, and
      // last what lies before.
      if (i == 0)
        bits &= ~uint64_t(0) << (start % 64);
      else if (i == words)
        bits &= bitOf(start) - 1;
      if (bits)
        return (word * 64 + size_t(std::countr_zero(bits)) + size - start) %
               size;
    }
    return size;
  }

private:
  static_assert(size % 64 == 0);
  static constexpr size_t words = size / 64;
  static uint64_t bitOf(size_t slot) { return uint64_t(1) << (slot % 64); }

  std::array<uint64_t, words> filled{};
};

} // namespace tessera::sim

#endif // TESSERA_SIM_KERNEL_SLOTRING_H
