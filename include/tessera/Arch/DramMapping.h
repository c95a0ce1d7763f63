//===- DramMapping.h - DRAM address mapping ---------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one reading of `dram.mapping`: for the validation of architecture files
// and for the memory controllers.
//
// A mapping names the bits of a physical DRAM address from most to least
// significant as letters with bit counts: X channel, P pseudo-channel, K rank,
// G bank group, B bank within its group, R row, C column in units of the atom
// (what one column command moves). The bits within an atom come below all of
// them. A letter may come several times; its earlier bits are the higher ones.
//
// With `dram.channel_hash: xor` the channel is what the letters say, xor the
// address bits above the highest of X, cut into groups of as many bits as X has.
// It stays a one to one mapping, and linear in the address's bits.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_ARCH_DRAMMAPPING_H
#define TESSERA_ARCH_DRAMMAPPING_H

#include "tessera/Arch/Architecture.h"
#include "tessera/Support/Status.h"
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct DramCoordinates {
  uint32_t channel = 0, pseudoChannel = 0, rank = 0, bankGroup = 0, bank = 0;
  uint64_t row = 0;
  uint32_t column = 0; ///< In atoms.
  bool operator==(const DramCoordinates &) const = default;
};

class DramMapping {
public:
  /// Reads `dram.mapping`. InvalidArgument if it doesn't parse or doesn't have
  /// exactly the bits that the geometry needs, which must be powers of two.
  static Result<DramMapping> create(const DramConfig &dram);
  /// Row, rank, bank, column, bank group, pseudo-channel, channel, then what a
  /// burst of `burstBytes` covers: it stays on one channel, spread over its
  /// pseudo-channels and bank groups, with as many column bits lowest as 64
  /// bytes need. Consecutive bursts go to different channels.
  static std::string defaultFor(const DramConfig &dram,
                                uint32_t burstBytes = 64);

  /// `address` is below the device's capacity.
  DramCoordinates decode(uint64_t address) const;
  uint32_t channelOf(uint64_t address) const;
  bool hashesChannels() const { return hashBits != 0; }
  /// Bytes of consecutive, aligned addresses that are all on one channel.
  uint64_t channelBytes() const { return uint64_t(1) << channelBits; }
  uint64_t encode(const DramCoordinates &coordinates) const;

private:
  enum Letter : uint8_t { Channel, Pseudo, Rank, Group, Bank, Row, Column };
  static constexpr std::string_view letters = "XPKGBRC";
  struct Field {
    Letter letter;
    unsigned bits;
    unsigned from = 0, to = 0; ///< Lowest bit in the address, in the value.
  };

  /// The address of values by letter, the channel before it is hashed.
  uint64_t encodes(const std::array<uint64_t, 7> &values) const;
  /// What the channel of `address` is xored with.
  uint32_t hashOf(uint64_t address) const;

  std::vector<Field> fields; ///< From least to most significant.
  unsigned atomBits = 0, channelBits = 0;
  /// The lowest address bit that is hashed and the bits of a group; 0 bits
  /// without a hash.
  unsigned hashFrom = 0, hashBits = 0;
};

} // namespace tessera

#endif // TESSERA_ARCH_DRAMMAPPING_H
