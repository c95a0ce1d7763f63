//===- DramMappingTest.cpp - DRAM address mapping -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Arch/DramMapping.h"
#include "tessera/Support/Random.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

using namespace tessera;
using testing::HasSubstr;

TEST(DramMapping, DefaultOfEachPreset) {
  for (auto [name, mapping] : {std::pair{"tiny", "R16 B2 C7 G2"},
                               {"edge", "R15 B2 C5 G2 X2 C1"},
                               {"server", "R15 B2 C4 G1 X6 G1 P1 C1"},
                               {"tpuv4like", "R15 B2 C4 G1 X4 G1 P1 C1"}})
    EXPECT_EQ(loadArchitecture(name)->dram.mapping, mapping) << name;
}

TEST(DramMapping, Consecutive64ByteRequestsRotateOverChannels) {
  Architecture arch = *loadArchitecture("edge"); // atoms of 32 bytes
  DramMapping mapping = *DramMapping::create(arch.dram);
  EXPECT_EQ(mapping.decode(0), DramCoordinates{});
  EXPECT_EQ(mapping.decode(32).column, 1u);
  EXPECT_EQ(mapping.decode(64).channel, 1u);
  EXPECT_EQ(mapping.decode(64).column, 0u);
  EXPECT_EQ(mapping.decode(4 * 64).bankGroup, 1u);
  EXPECT_EQ(mapping.decode(arch.dram.bytes - 1).row, arch.dram.rows() - 1);
}

TEST(DramMapping, DecodeIsOneToOne) {
  for (std::string_view name : architecturePresets()) {
    Architecture arch = *loadArchitecture(name);
    DramMapping mapping = *DramMapping::create(arch.dram);
    Random random(5);
    for (int i = 0; i < 1000; ++i) {
      uint64_t address = random.below(arch.dram.bytes / arch.dram.atomBytes()) *
                         arch.dram.atomBytes();
      DramCoordinates at = mapping.decode(address);
      EXPECT_LT(at.channel, arch.dram.channels);
      EXPECT_LT(at.row, arch.dram.rows());
      EXPECT_EQ(mapping.encode(at), address);
    }
  }
}

TEST(DramMapping, HashIsOneToOneAndKeepsWhatIsNotTheChannel) {
  for (std::string_view name : architecturePresets()) {
    DramConfig dram = loadArchitecture(name)->dram;
    dram.channelHash = ChannelHash::None;
    DramMapping plain = *DramMapping::create(dram);
    dram.channelHash = ChannelHash::Xor;
    DramMapping hashed = *DramMapping::create(dram);
    EXPECT_EQ(hashed.channelBytes(), plain.channelBytes());
    Random random(6);
    for (int i = 0; i < 1000; ++i) {
      uint64_t address =
          random.below(dram.bytes / dram.atomBytes()) * dram.atomBytes();
      DramCoordinates at = hashed.decode(address);
      EXPECT_LT(at.channel, dram.channels);
      EXPECT_EQ(at.channel, hashed.channelOf(address));
      EXPECT_EQ(hashed.encode(at), address);
      at.channel = plain.channelOf(address);
      EXPECT_EQ(at, plain.decode(address));
    }
  }
}

TEST(DramMapping, HashSpreadsEveryPowerOfTwo) {
  DramConfig dram = loadArchitecture("server")->dram; // 64 channels
  dram.channelHash = ChannelHash::Xor;
  DramMapping hashed = *DramMapping::create(dram);
  for (uint64_t pitch = hashed.channelBytes(); pitch * 64 <= dram.bytes;
       pitch *= 2) {
    std::set<uint32_t> channels;
    for (uint64_t row = 0; row < 64; ++row)
      channels.insert(hashed.channelOf(row * pitch));
    EXPECT_EQ(channels.size(), 64u) << pitch;
  }
  // By hand: X is bits 8 to 13; 0x4000 is bit 14, the lowest that is hashed,
  // 0x100000 the lowest of the second group.
  EXPECT_EQ(hashed.channelOf(0x4000), 1u);
  EXPECT_EQ(hashed.channelOf(0x100000), 1u);
  EXPECT_EQ(hashed.channelOf(0x104000), 0u);
  EXPECT_EQ(hashed.channelOf(0x4100), 0u);
}

TEST(DramMapping, BadStrings) {
  DramConfig dram = loadArchitecture("tiny")->dram;
  auto errorFor = [&](std::string text) {
    dram.mapping = text;
    return DramMapping::create(dram).status().message();
  };
  EXPECT_EQ(errorFor("R16 B2 G2 C7"), "");
  EXPECT_EQ(errorFor("R8 B2 R8 G2 C7"), "");
  EXPECT_THAT(errorFor("R15 B2 G2 C7"), HasSubstr("does not cover"));
  EXPECT_THAT(errorFor("R16 B2 G2 C7 X1"), HasSubstr("does not cover"));
  EXPECT_THAT(errorFor("Q16"), HasSubstr("'Q' is no field"));
  EXPECT_THAT(errorFor("R"), HasSubstr("needs a number of bits"));
  EXPECT_THAT(errorFor("R999999999999"), HasSubstr("needs a number of bits"));
}
