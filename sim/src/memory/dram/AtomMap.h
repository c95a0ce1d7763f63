//===- AtomMap.h - Where a device's atoms are -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The address mapping as a channel's controller asks for it: bank, row and
// column of an atom, and how many of its successors follow it in its row. A
// mapping only moves bits, so the place of an atom is that of its number's
// lowest bits, that of the next ones, …, or-ed together; these are in tables.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_MEMORY_DRAM_ATOMMAP_H
#define TESSERA_SIM_MEMORY_DRAM_ATOMMAP_H

#include "memory/dram/Channel.h"

namespace tessera::sim::dram {

class AtomMap {
public:
  /// Of a device of `dram`; `channel` is any of its.
  AtomMap(const DramConfig &dram, const DramMapping &mapping,
          const Channel &channel) {
    const uint64_t atomBytes = std::max<uint64_t>(1, dram.atomBytes());
    for (unsigned low = 0; low == 0 || dram.bytes / atomBytes >> low != 0;
         low += digitBits) {
      Table &table = tables.emplace_back();
      for (uint64_t digit = 0; digit != digits; ++digit) {
        // What lies beyond the device is never asked for.
        uint64_t address = (digit << low) * atomBytes;
        if (address >= dram.bytes)
          break;
        DramCoordinates at = mapping.decode(address);
        table[digit] = {at.channel, channel.bankOf(at), uint32_t(at.row),
                        at.column};
      }
    }
    runs.fill(1);
    for (uint64_t i = digits - 1; i-- != 0;) {
      const Place &here = tables[0][i], &next = tables[0][i + 1];
      if (here.channel == next.channel && here.bank == next.bank &&
          here.row == next.row && here.column + 1 == next.column)
        runs[i] = runs[i + 1] + 1;
    }
  }

  /// Atoms `atom` to `atom` + `most` - 1, as far as they follow each other in
  /// one row.
  Access run(uint64_t atom, uint32_t most) {
    const uint64_t lowest = atom % digits;
    if (atom / digits != latest) {
      latest = atom / digits;
      base = {};
      for (uint64_t rest = latest, level = 1; level != tables.size();
           ++level, rest /= digits) {
        const Place &part = tables[level][rest % digits];
        base.bank |= part.bank;
        base.row |= part.row;
        base.column |= part.column;
      }
    }
    const Place &part = tables[0][lowest];
    Access access;
    access.bank = base.bank | part.bank;
    access.row = base.row | part.row;
    access.column = base.column | part.column;
    access.atoms = std::min(most, runs[lowest]);
    return access;
  }

private:
  static constexpr unsigned digitBits = 6;
  static constexpr uint64_t digits = 1 << digitBits;
  struct Place {
    uint32_t channel = 0, bank = 0, row = 0, column = 0;
  };
  using Table = std::array<Place, digits>;
  std::vector<Table> tables; ///< From the lowest digit of an atom's number.
  std::array<uint32_t, digits> runs{};
  /// The higher digits that were asked for last, and their place.
  uint64_t latest = ~uint64_t(0);
  Place base;
};

} // namespace tessera::sim::dram

#endif // TESSERA_SIM_MEMORY_DRAM_ATOMMAP_H
