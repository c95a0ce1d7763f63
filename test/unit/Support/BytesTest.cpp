//===- BytesTest.cpp - Tests of byte buffers ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Bytes.h"
#include <gtest/gtest.h>

using namespace tessera;

TEST(Bytes, RoundTrip) {
  ByteWriter writer;
  writer.write<uint16_t>(0x1234);
  writer.write(-1.5f);
  writer.writeString("row hit");
  writer.align(8);
  writer.writeVector(std::vector<uint32_t>{7, 8});
  writer.write(true);
  EXPECT_EQ(writer.bytes()[0], 0x34);
  EXPECT_EQ(writer.bytes()[1], 0x12);

  std::vector<uint8_t> bytes = writer.take();
  ByteReader reader{std::span<const uint8_t>(bytes)};
  EXPECT_EQ(reader.read<uint16_t>(), 0x1234);
  EXPECT_EQ(reader.read<float>(), -1.5f);
  EXPECT_EQ(reader.readString(), "row hit");
  reader.align(8);
  EXPECT_EQ(reader.readVector<uint32_t>(), (std::vector<uint32_t>{7, 8}));
  EXPECT_TRUE(reader.read<bool>());
  EXPECT_TRUE(reader.finish().ok());
}

TEST(Bytes, FirstAccessBeyondTheEndSticks) {
  std::vector<uint8_t> bytes = {1, 2, 3};
  ByteReader reader{std::span<const uint8_t>(bytes)};
  EXPECT_EQ(reader.read<uint16_t>(), 0x0201);
  EXPECT_EQ(reader.read<uint32_t>(), 0u);
  EXPECT_EQ(reader.read<uint8_t>(), 0u) << "reads after a failure fail";
  EXPECT_EQ(reader.status().message(),
            "truncated: 4 bytes wanted at offset 2, 1 there");
}

TEST(Bytes, HugeCountsAreRefusedBeforeAllocation) {
  ByteWriter writer;
  writer.write<uint64_t>(~uint64_t(0));
  std::vector<uint8_t> bytes = writer.take();
  ByteReader reader{std::span<const uint8_t>(bytes)};
  EXPECT_TRUE(reader.readVector<uint64_t>().empty());
  EXPECT_FALSE(reader.ok());
  ByteReader skipping{std::span<const uint8_t>(bytes)};
  skipping.skip(~uint64_t(0));
  EXPECT_FALSE(skipping.ok());
}

TEST(Bytes, FinishWantsTheWholeBuffer) {
  std::vector<uint8_t> bytes(5);
  ByteReader reader{std::span<const uint8_t>(bytes)};
  reader.read<uint32_t>();
  EXPECT_EQ(reader.finish().message(), "1 bytes left over at offset 4");
}
