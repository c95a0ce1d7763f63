//===- DramMapping.cpp - DRAM address mapping -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Arch/DramMapping.h"
#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <fmt/format.h>
#include <utility>

using namespace tessera;

/// How many values each letter counts, in the order of DramMapping::letters.
static std::array<uint64_t, 7> extents(const DramConfig &dram) {
  return {dram.channels,
          dram.pseudoChannels,
          dram.ranks,
          dram.bankGroups,
          dram.banksPerGroup,
          dram.rows(),
          dram.rowBytes / dram.atomBytes()};
}

static unsigned bitsFor(uint64_t count) {
  return unsigned(std::countr_zero(count));
}

std::string DramMapping::defaultFor(const DramConfig &dram,
                                    uint32_t burstBytes) {
  std::array<uint64_t, 7> counts = extents(dram);
  unsigned columns = bitsFor(counts[Column]);
  unsigned low = 0;
  while (low < columns && (dram.atomBytes() << low) < 64)
    ++low;
  std::string text;
  auto add = [&](Letter letter, unsigned bits) {
    if (bits)
      text +=
          fmt::format("{}{}{}", text.empty() ? "" : " ", letters[letter], bits);
  };
  // A burst stays on one channel: what it has of bits beyond 64 bytes are
  // pseudo-channel, bank group, then column bits.
  unsigned inBurst = 0;
  while ((dram.atomBytes() << (low + inBurst)) < burstBytes)
    ++inBurst;
  unsigned pseudo = std::min(inBurst, bitsFor(counts[Pseudo]));
  unsigned group = std::min(inBurst - pseudo, bitsFor(counts[Group]));
  unsigned column = std::min(inBurst - pseudo - group, columns - low);
  add(Row, bitsFor(counts[Row]));
  add(Rank, bitsFor(counts[Rank]));
  add(Bank, bitsFor(counts[Bank]));
  add(Column, columns - low - column);
  add(Group, bitsFor(counts[Group]) - group);
  add(Pseudo, bitsFor(counts[Pseudo]) - pseudo);
  add(Channel, bitsFor(counts[Channel]));
  add(Column, column);
  add(Group, group);
  add(Pseudo, pseudo);
  add(Column, low);
  return text;
}

Result<DramMapping> DramMapping::create(const DramConfig &dram) {
  auto error = [](std::string text) {
    return Status(StatusCode::InvalidArgument, std::move(text));
  };
  DramMapping mapping;
  std::array<unsigned, 7> bits{};
  std::string_view text = dram.mapping;
  while (!text.empty()) {
    if (text.front() == ' ') {
      text.remove_prefix(1);
      continue;
    }
    size_t letter = letters.find(text.front());
    if (letter == std::string_view::npos)
      return error(fmt::format("'{}' is no field", text.front()));
    text.remove_prefix(1);
    unsigned count = 0;
    size_t digits = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9' &&
           digits < 3)
      count = count * 10 + unsigned(text[digits++] - '0');
    if (digits == 0 || digits == 3 || count > 48)
      return error(fmt::format("field {} needs a number of bits from 0 to 48",
                               letters[letter]));
    text.remove_prefix(digits);
    bits[letter] += count;
    mapping.fields.insert(mapping.fields.begin(),
                          {Letter(letter), count, 0, 0});
  }
  std::array<uint64_t, 7> counts = extents(dram);
  std::string needed;
  bool matches = true;
  for (size_t i : {Row, Rank, Bank, Group, Column, Pseudo, Channel}) {
    if (!std::has_single_bit(counts[i]))
      return error(fmt::format("the count of {} is {}, not a power of two",
                               letters[i], counts[i]));
    matches &= bitsFor(counts[i]) == bits[i];
    needed += fmt::format("{}{}{}", needed.empty() ? "" : " ", letters[i],
                          bitsFor(counts[i]));
  }
  if (!matches)
    return error(
        fmt::format("'{}' does not cover the address bits", dram.mapping));
  mapping.atomBits = bitsFor(dram.atomBytes());
  std::erase_if(mapping.fields, [](const Field &f) { return f.bits == 0; });
  unsigned position = mapping.atomBits;
  std::array<unsigned, 7> done{};
  for (Field &field : mapping.fields) {
    field.from = position;
    field.to = done[field.letter];
    position += field.bits;
    done[field.letter] += field.bits;
  }
  mapping.channelBits = position;
  for (const Field &field : mapping.fields)
    if (field.letter == Channel) {
      mapping.channelBits = std::min(mapping.channelBits, field.from);
      mapping.hashFrom = field.from + field.bits;
    }
  if (dram.channelHash == ChannelHash::Xor)
    mapping.hashBits = bits[Channel];
  return mapping;
}

uint32_t DramMapping::hashOf(uint64_t address) const {
  if (hashBits == 0)
    return 0;
  uint64_t hash = 0;
  for (uint64_t rest = address >> hashFrom; rest != 0; rest >>= hashBits)
    hash ^= rest;
  return uint32_t(hash & ((uint64_t(1) << hashBits) - 1));
}

DramCoordinates DramMapping::decode(uint64_t address) const {
  std::array<uint64_t, 7> values{};
  for (const Field &field : fields)
    values[field.letter] |=
        (address >> field.from & ((uint64_t(1) << field.bits) - 1)) << field.to;
  assert(encodes(values) == address >> atomBits << atomBits &&
         "beyond the device's capacity");
  DramCoordinates result;
  result.channel = uint32_t(values[Channel]) ^ hashOf(address);
  result.pseudoChannel = uint32_t(values[Pseudo]);
  result.rank = uint32_t(values[Rank]);
  result.bankGroup = uint32_t(values[Group]);
  result.bank = uint32_t(values[Bank]);
  result.row = values[Row];
  result.column = uint32_t(values[Column]);
  return result;
}

uint32_t DramMapping::channelOf(uint64_t address) const {
  uint32_t channel = 0;
  for (const Field &field : fields)
    if (field.letter == Channel)
      channel |=
          uint32_t(address >> field.from & ((uint64_t(1) << field.bits) - 1))
          << field.to;
  return channel ^ hashOf(address);
}

uint64_t DramMapping::encodes(const std::array<uint64_t, 7> &values) const {
  uint64_t address = 0;
  for (const Field &field : fields)
    address |=
        (values[field.letter] >> field.to & ((uint64_t(1) << field.bits) - 1))
        << field.from;
  return address;
}

uint64_t DramMapping::encode(const DramCoordinates &coordinates) const {
  std::array<uint64_t, 7> values = {
      coordinates.channel,   coordinates.pseudoChannel, coordinates.rank,
      coordinates.bankGroup, coordinates.bank,          coordinates.row,
      coordinates.column};
  // The hash is of bits that are not the channel's.
  values[Channel] ^= hashOf(encodes(values));
  return encodes(values);
}
