//===- CycleBanks.cpp - Banks that are needed in single cycles ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/CycleBanks.h"

namespace tessera::sim {

std::deque<CycleBanks::Stretch>::const_iterator
CycleBanks::find(Cycle number) const {
  // Mostly it is one of the first, as time has come there, or the last.
  if (stretches.empty() || stretches.back().number < number)
    return stretches.end();
  if (stretches.front().number >= number)
    return stretches.begin();
  return std::partition_point(
      stretches.begin(), stretches.end(),
      [number](const Stretch &s) { return s.number < number; });
}

BankSet CycleBanks::at(Cycle cycle) const {
  auto stretch = find(cycle / cyclesPerStretch);
  if (stretch == stretches.end() ||
      stretch->number != cycle / cyclesPerStretch ||
      !(stretch->used >> cycle % cyclesPerStretch & 1))
    return {};
  return setOf(*stretch, cycle);
}

void CycleBanks::add(Cycle cycle, const BankSet &banks) {
  Cycle number = cycle / cyclesPerStretch;
  auto at = stretches.begin() + (find(number) - stretches.cbegin());
  if (at == stretches.end() || at->number != number) {
    at = stretches.insert(at, Stretch{number, 0, std::move(spare)});
    spare.clear();
    at->sets.assign(cyclesPerStretch * setWords, 0);
  }
  at->used |= uint64_t(1) << cycle % cyclesPerStretch;
  unite(std::span(at->sets).subspan(cycle % cyclesPerStretch * setWords,
                                    setWords),
        banks);
}

Cycle CycleBanks::firstFrom(Cycle from) const {
  auto stretch = find(from / cyclesPerStretch);
  for (; stretch != stretches.end(); ++stretch) {
    Cycle begin = stretch->number * cyclesPerStretch;
    uint64_t used = stretch->used;
    if (from > begin)
      used &= ~uint64_t(0) << (from - begin);
    if (used != 0)
      return begin + Cycle(std::countr_zero(used));
  }
  return none;
}

void CycleBanks::addAll(Cycle from, Cycle end,
                        std::span<uint64_t> banks) const {
  for (Cycle at = firstFrom(from); at < end; at = firstFrom(at + 1))
    unite(banks, this->at(at));
}

void CycleBanks::drop() {
  spare = std::move(stretches.front().sets);
  stretches.pop_front();
}

} // namespace tessera::sim
