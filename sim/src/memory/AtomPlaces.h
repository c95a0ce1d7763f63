//===- AtomPlaces.h - Where in a DRAM channel an atom lies ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The atoms of a request are neighbours: the address bits below a block's are
// looked up in a table, those above are decoded once a block. A mapping only
// moves bits, so the places of both parts add up.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_MEMORY_ATOMPLACES_H
#define TESSERA_SIM_MEMORY_ATOMPLACES_H

#include "memory/dram/Channel.h"
#include "tessera/Arch/DramMapping.h"
#include <vector>

namespace tessera::sim {

class AtomPlaces {
public:
  struct Place {
    uint32_t bank = 0; ///< Of the channel.
    uint32_t row = 0, column = 0;
  };

  AtomPlaces(const DramMapping &mapping, uint64_t atomBytes,
             const dram::Channel &channel)
      : mapping(mapping), channel(channel), atomBytes(atomBytes) {
    uint64_t atoms = mapping.channelBytes() / atomBytes;
    while (blockBits < 6 && uint64_t(2) << blockBits <= atoms)
      ++blockBits;
    for (uint64_t i = 0; i != uint64_t(1) << blockBits; ++i)
      inBlock.push_back(decode(i));
  }

  /// Of an atom, by its number in the device's memory.
  Place operator()(uint64_t atom) {
    if (atom >> blockBits != block) {
      block = atom >> blockBits;
      ofBlock = decode(block << blockBits);
    }
    const Place &part = inBlock[atom & (inBlock.size() - 1)];
    return {ofBlock.bank + part.bank, ofBlock.row + part.row,
            ofBlock.column + part.column};
  }

private:
  Place decode(uint64_t atom) const {
    DramCoordinates at = mapping.decode(atom * atomBytes);
    return {channel.bankOf(at), uint32_t(at.row), at.column};
  }

  const DramMapping &mapping;
  const dram::Channel &channel; ///< Any: all have the same geometry.
  const uint64_t atomBytes;
  unsigned blockBits = 0; ///< Of an atom's number.
  std::vector<Place> inBlock;
  uint64_t block = 0; ///< The one of `ofBlock`.
  Place ofBlock;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_MEMORY_ATOMPLACES_H
