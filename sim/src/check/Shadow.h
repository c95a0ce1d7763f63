//===- Shadow.h - Who accessed which byte -----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CHECK_SHADOW_H
#define TESSERA_SIM_CHECK_SHADOW_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace tessera::sim {

/// Number of an access in the checker's list.
using AccessId = uint32_t;
inline constexpr AccessId noAccess = 0;

/// What is known of one byte: its last writer, and readers since then. A core
/// has five units, and nobody else reads its memories, so that these lose none.
struct ByteHistory {
  AccessId writer = noAccess;
  std::array<AccessId, 5> readers{};
};

/// Histories of the bytes of one memory; those of a page exist from its first
/// access on.
class Shadow {
public:
  static constexpr uint64_t pageBytes = 4096;

  /// Calls f(address, history) for each byte of [low, high).
  template <typename F> void forEach(uint64_t low, uint64_t high, F f) {
    while (low < high) {
      std::vector<ByteHistory> &page = pages[low / pageBytes];
      if (page.empty())
        page.resize(pageBytes);
      uint64_t end = std::min(high, (low / pageBytes + 1) * pageBytes);
      for (; low < end; ++low)
        f(low, page[low % pageBytes]);
    }
  }
  void clear() { pages.clear(); }

private:
  std::map<uint64_t, std::vector<ByteHistory>> pages;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_CHECK_SHADOW_H
