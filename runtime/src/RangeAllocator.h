//===- RangeAllocator.h - Allocation of address ranges ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Address ranges of one space, merged on release. No memory of its own and no
// device in sight.
//
// Against fragmentation: of the free ranges that do, the smallest (the lowest
// of equals) is taken; large requests from its lower end, small ones, which
// tend to live shorter or far longer, from its upper end, so that they do not
// settle between the large ones. docs/runtime/address-space.md has what that
// gains.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_SRC_RANGEALLOCATOR_H
#define TESSERA_RUNTIME_SRC_RANGEALLOCATOR_H

#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace tessera::runtime {

enum class Placement : uint8_t {
  FirstFit, ///< The lowest range; for comparison.
  BestFit,  ///< The smallest range, always its lower end; for comparison.
  TwoEnded, ///< As above.
};

class RangeAllocator {
public:
  /// Manages [begin, end).
  RangeAllocator(uint64_t begin = 0, uint64_t end = 0,
                 Placement placement = Placement::TwoEnded);

  /// A free range of `bytes` > 0 at a multiple of `alignment` (a power of two);
  /// nothing if no single range is large enough.
  std::optional<uint64_t> allocate(uint64_t bytes, uint64_t alignment);
  /// Exactly this range; false if not all of it is free.
  bool allocateAt(uint64_t begin, uint64_t bytes);
  /// Gives back exactly what allocate() returned for `bytes`.
  void release(uint64_t begin, uint64_t bytes);

  uint64_t total() const { return totalBytes; }
  uint64_t used() const { return usedBytes; }
  uint64_t peak() const { return peakBytes; }
  uint64_t available() const { return totalBytes - usedBytes; }
  uint64_t largestFree() const;
  uint64_t allocations() const { return allocationCount; }
  uint64_t failures() const { return failureCount; }

  /// From here on a request is large.
  static constexpr uint64_t largeBytes = 2 << 20;

private:
  std::optional<uint64_t> takeFrom(uint64_t begin, uint64_t size,
                                   uint64_t bytes, uint64_t alignment,
                                   bool upper);
  /// Takes `bytes` from `start` on out of the free range of `size` at `begin`.
  void cut(uint64_t begin, uint64_t size, uint64_t start, uint64_t bytes);
  void insert(uint64_t begin, uint64_t bytes);
  void erase(uint64_t begin, uint64_t bytes);

  Placement placement;
  std::map<uint64_t, uint64_t> free; ///< Begin → bytes; never adjacent.
  std::set<std::pair<uint64_t, uint64_t>>
      bySize; ///< The same, bytes and begin.
  uint64_t totalBytes = 0, usedBytes = 0, peakBytes = 0;
  uint64_t allocationCount = 0, failureCount = 0;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SRC_RANGEALLOCATOR_H
