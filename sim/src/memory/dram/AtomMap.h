//===- AtomMap.h - Where a device's atoms are -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The address mapping as a channel's controller asks for it: bank, row and
// column of an atom, and how many of its successors follow it in its row. A
// mapping only moves bits, so the place of an atom is that of its block (the
// address without its lowest bits) and that of its place in the block, or-ed
// together; the places in a block are in a table.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_MEMORY_DRAM_ATOMMAP_H
#define TESSERA_SIM_MEMORY_DRAM_ATOMMAP_H

#include "memory/dram/Channel.h"
#include <bit>

namespace tessera::sim::dram {

class AtomMap {
public:
  /// Of a device of `dram`; both references stay. `channel` is any of its.
  AtomMap(const DramConfig &dram, const DramMapping &mapping,
          const Channel &channel)
      : mapping(mapping), channel(channel), capacity(dram.bytes),
        atomBytes(std::max<uint64_t>(1, dram.atomBytes())),
        latest(dram.channels, {~uint64_t(0), Place()}) {
    for (uint32_t i = 0; i != blockAtoms; ++i)
      table[i].place = decode(i);
    for (uint32_t i = blockAtoms; i-- != 0;) {
      table[i].run = 1;
      if (i + 1 == blockAtoms)
        continue;
      const Place &here = table[i].place, &next = table[i + 1].place;
      if (here.channel == next.channel && here.bank == next.bank &&
          here.row == next.row && here.column + 1 == next.column)
        table[i].run = table[i + 1].run + 1;
    }
  }

  /// Of channel `channel`: atoms `atom` to `atom` + `most` - 1, as far as they
  /// follow each other in one row.
  Access run(uint32_t channel, uint64_t atom, uint32_t most) {
    uint64_t block = atom / blockAtoms;
    auto &[decoded, base] = latest[channel];
    if (block != decoded) {
      decoded = block;
      base = decode(block * blockAtoms);
    }
    const Entry &entry = table[atom % blockAtoms];
    Access access;
    access.bank = base.bank | entry.place.bank;
    access.row = base.row | entry.place.row;
    access.column = base.column | entry.place.column;
    access.atoms = std::min(most, entry.run);
    return access;
  }

private:
  static constexpr uint32_t blockAtoms = 64;
  struct Place {
    uint32_t channel = 0, bank = 0, row = 0, column = 0;
  };
  struct Entry {
    Place place;
    uint32_t run = 1;
  };

  /// Beyond the device's capacity (a device smaller than a block) the place is
  /// never asked for.
  Place decode(uint64_t atom) const {
    uint64_t address = atom * atomBytes;
    if (address >= capacity)
      return {};
    DramCoordinates at = mapping.decode(address);
    return {at.channel, channel.bankOf(at), uint32_t(at.row), at.column};
  }

  const DramMapping &mapping;
  const Channel &channel;
  const uint64_t capacity, atomBytes;
  std::array<Entry, blockAtoms> table;
  /// A block and its place, by channel.
  std::vector<std::pair<uint64_t, Place>> latest;
};

} // namespace tessera::sim::dram

#endif // TESSERA_SIM_MEMORY_DRAM_ATOMMAP_H
