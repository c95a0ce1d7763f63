//===- Shadow.h - Who accessed which byte -----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CHECK_SHADOW_H
#define TESSERA_SIM_CHECK_SHADOW_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace tessera::sim {

/// Number of an access in the checker's list.
using AccessId = uint32_t;
inline constexpr AccessId noAccess = 0;

/// What is known of one byte: its last writer, and readers since then.
struct ByteHistory {
  AccessId &writer;
  std::span<AccessId> readers;
};

/// Histories of the bytes of one memory, with places for so many readers; those
/// of a page exist from its first access on. A core's memories are read by its
/// own units alone, so that as many places lose none.
class Shadow {
public:
  explicit Shadow(size_t readers) : entry(readers + 1) {}
  static constexpr uint64_t pageBytes = 4096;

  /// Calls f(address, history) for each byte of [low, high).
  template <typename F> void forEach(uint64_t low, uint64_t high, F f) {
    while (low < high) {
      std::vector<AccessId> &page = pages[low / pageBytes];
      if (page.empty())
        page.resize(pageBytes * entry, noAccess);
      uint64_t end = std::min(high, (low / pageBytes + 1) * pageBytes);
      for (AccessId *at = &page[low % pageBytes * entry]; low < end;
           ++low, at += entry)
        f(low, ByteHistory{*at, std::span(at + 1, entry - 1)});
    }
  }
  void clear() { pages.clear(); }

private:
  const size_t entry; ///< A writer, and readers.
  std::map<uint64_t, std::vector<AccessId>> pages;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_CHECK_SHADOW_H
