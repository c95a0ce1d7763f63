//===- CycleBanks.h - Banks that are needed in single cycles ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A set of banks for each of some cycles, in stretches of cycles side by side.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CORE_CYCLEBANKS_H
#define TESSERA_SIM_CORE_CYCLEBANKS_H

#include "core/BankAccess.h"
#include "kernel/Clock.h"
#include <bit>
#include <deque>

namespace tessera::sim {

class CycleBanks {
public:
  /// `setWords`: of each set.
  explicit CycleBanks(size_t setWords) : setWords(setWords) {}

  static constexpr Cycle cyclesPerStretch = 64;

  /// The banks of a cycle; none if nothing was added.
  BankSet at(Cycle cycle) const;
  void add(Cycle cycle, const BankSet &banks);
  /// The first cycle from `from` on that has banks; `none` if there is none.
  Cycle firstFrom(Cycle from) const;
  /// Adds the banks of all cycles of [from, end) to a set.
  void addAll(Cycle from, Cycle end, std::span<uint64_t> banks) const;
  /// Forgets what lies before `now`, or some of it.
  void passTo(Cycle now) {
    while (!stretches.empty() &&
           (stretches.front().number + 1) * cyclesPerStretch <= now)
      drop();
  }
  /// From then on passTo() forgets something; `none` if it is empty.
  Cycle firstForgotten() const {
    return stretches.empty()
               ? none
               : (stretches.front().number + 1) * cyclesPerStretch;
  }
  bool empty() const { return stretches.empty(); }
  void clear() { stretches.clear(); }
  static constexpr Cycle none = ~Cycle(0);

  template <typename A> void serialize(A &ar) {
    fields(ar, stretches);
    if constexpr (A::loading)
      for (size_t i = 0; i < stretches.size(); ++i)
        if (stretches[i].used == 0 ||
            stretches[i].sets.size() != cyclesPerStretch * setWords ||
            (i != 0 && stretches[i].number <= stretches[i - 1].number))
          ar.fail();
  }

private:
  struct Stretch {
    Cycle number = 0;           ///< Of its first cycle, by cyclesPerStretch.
    uint64_t used = 0;          ///< The cycles that have banks, a bit each.
    std::vector<uint64_t> sets; ///< Of all its cycles; 0 where there are none.
    template <typename A> void serialize(A &ar) {
      fields(ar, number, used, sets);
    }
  };
  /// The first stretch with this number or a higher one.
  std::deque<Stretch>::const_iterator find(Cycle number) const;
  BankSet setOf(const Stretch &stretch, Cycle cycle) const {
    return {0, std::span(stretch.sets)
                   .subspan(cycle % cyclesPerStretch * setWords, setWords)};
  }
  void drop();

  const size_t setWords;
  std::deque<Stretch> stretches; ///< By number.
  std::vector<uint64_t> spare;   ///< Storage of a stretch that was dropped.
};

} // namespace tessera::sim

#endif // TESSERA_SIM_CORE_CYCLEBANKS_H
