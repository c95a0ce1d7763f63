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
#include <vector>

namespace tessera::sim {

/// Number of an access in the checker's list.
using AccessId = uint32_t;
inline constexpr AccessId noAccess = 0;

/// The bytes of one memory, each with its last writer and the readers since
/// then. Neighbouring bytes mostly have the same readers: a set of them is kept
/// once and has a number. Pages exist from the first access on.
class Shadow {
public:
  using SetId = uint32_t;
  static constexpr SetId noReaders = 0;
  struct Byte {
    AccessId writer = noAccess;
    SetId readers = noReaders;
  };

  /// Calls f(address, byte) for each byte of [low, high). Numbers of sets hold
  /// good until the next call.
  template <typename F> void forEach(uint64_t low, uint64_t high, F f) {
    if (sets.size() > collectAt)
      collect();
    while (low < high) {
      std::vector<Byte> &page = pages[low / pageBytes];
      page.resize(pageBytes);
      uint64_t end = std::min(high, (low / pageBytes + 1) * pageBytes);
      for (Byte *byte = &page[low % pageBytes]; low < end; ++low, ++byte)
        f(low, *byte);
    }
  }
  std::span<const AccessId> readers(SetId set) const { return sets[set]; }
  /// The set with `reader` instead of those accesses of it that it `replaces`.
  template <typename P>
  SetId with(SetId set, AccessId reader, const P &replaces) {
    if (reader != latest) {
      latest = reader;
      withLatest.clear();
      numbers.clear();
    }
    auto [known, isNew] = withLatest.try_emplace(set);
    if (!isNew)
      return known->second;
    std::vector<AccessId> members;
    for (AccessId member : sets[set])
      if (!replaces(member))
        members.push_back(member);
    members.push_back(reader);
    auto [place, isNewSet] =
        numbers.try_emplace(std::move(members), SetId(sets.size()));
    if (isNewSet)
      sets.push_back(place->first);
    return known->second = place->second;
  }
  void clear() { *this = Shadow(); }

private:
  static constexpr uint64_t pageBytes = 4096;
  /// Drops the sets that no byte has.
  void collect();

  std::map<uint64_t, std::vector<Byte>> pages;
  std::vector<std::vector<AccessId>> sets{{}};
  size_t collectAt = size_t(1) << 16;
  /// Of the latest reader: what it made of which set, and its sets.
  AccessId latest = noAccess;
  std::map<SetId, SetId> withLatest;
  std::map<std::vector<AccessId>, SetId> numbers;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_CHECK_SHADOW_H
