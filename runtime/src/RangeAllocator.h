//===- RangeAllocator.h - First-fit allocation of ranges --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Address ranges of one space: first fit, merged on release. No memory of its
// own and no device in sight.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_SRC_RANGEALLOCATOR_H
#define TESSERA_RUNTIME_SRC_RANGEALLOCATOR_H

#include <cstdint>
#include <map>
#include <optional>

namespace tessera::runtime {

class RangeAllocator {
public:
  /// Manages [begin, end).
  RangeAllocator(uint64_t begin = 0, uint64_t end = 0);

  /// Lowest free range of `bytes` > 0 at a multiple of `alignment` (a power of
  /// two); nothing if no single range is large enough.
  std::optional<uint64_t> allocate(uint64_t bytes, uint64_t alignment);
  /// Gives back exactly what allocate() returned for `bytes`.
  void release(uint64_t begin, uint64_t bytes);

  uint64_t used() const { return usedBytes; }
  uint64_t available() const { return totalBytes - usedBytes; }
  uint64_t largestFree() const;

private:
  std::map<uint64_t, uint64_t> free; ///< Begin → bytes; never adjacent.
  uint64_t totalBytes = 0, usedBytes = 0;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SRC_RANGEALLOCATOR_H
