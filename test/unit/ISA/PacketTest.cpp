//===- PacketTest.cpp - Packets and kernel records ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/ISA/Packet.h"
#include "tessera/ISA/Mmio.h"
#include "tessera/Support/Random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tessera;
using namespace tessera::isa;
using testing::HasSubstr;

namespace {

constexpr uint64_t top = 1ull << 48;

Packet make(decltype(Packet::body) body) { return {packetBarrier, 7, body}; }

std::vector<Packet> samples() {
  SemaphoreValue wait{4095, ~0ull}, done{0xffffffff, ~0ull};
  BarrierPacket all{
      false, {{{1, 2}, {3, 4}, {5, 6}, {7, ~0ull}}}, {9, 0xffffffff}};
  BarrierPacket any = all;
  any.any = true;
  return {
      make(NopPacket{}),
      make(DispatchPacket{64, 128, 3, 1, 2, 3, 4, wait, done, ~0ull}),
      make(DispatchPacket{top - 64, top - 8, 1, 255, 255, 255, 255, {}, {}, 0}),
      {packetBarrier | packetPrefetch, 8,
       DispatchPacket{64, 128, 3, 0, 0, 1, 1, {}, {}, 0}},
      make(CopyPacket{1, 2, 3, wait, done}),
      make(CopyPacket{0, 0, top, {}, {}}),
      make(FillPacket{4, 8, 0xffffffff, wait, done}),
      make(all),
      make(any),
      make(SignalPacket{done}),
      make(TimestampPacket{top - 8, done}),
      make(IndirectPacket{64, 2, wait, done}),
      make(InterruptPacket{0xffffffff}),
  };
}

void expectRefused(const Packet &packet, std::string_view message) {
  Status status = decodePacket(encode(packet)).status();
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument) << message;
  EXPECT_THAT(status.message(), HasSubstr(message));
}

} // namespace

TEST(Packet, RoundTrip) {
  for (const Packet &packet : samples()) {
    SCOPED_TRACE(print(packet));
    auto bytes = encode(packet);
    Result<Packet> decoded = decodePacket(bytes);
    ASSERT_TRUE(decoded.ok()) << decoded.status().message();
    EXPECT_EQ(*decoded, packet);
    EXPECT_EQ(encode(*decoded), bytes);
  }
}

TEST(Packet, FieldsAreWhereTheReferenceSaysTheyAre) {
  auto bytes = encode(
      make(DispatchPacket{0x11, 0x22, 0x33, 1, 2, 3, 4, {5, 6}, {7, 8}, 9}));
  std::array<uint8_t, packetBytes> expected{};
  expected[0] = 1, expected[1] = 1, expected[4] = 7, expected[8] = 0x11;
  expected[16] = 0x22, expected[24] = 0x33, expected[28] = 1, expected[29] = 2;
  expected[30] = 3, expected[31] = 4, expected[32] = 5, expected[36] = 7;
  expected[40] = 6, expected[48] = 8, expected[56] = 9;
  EXPECT_EQ(bytes, expected);
}

TEST(Packet, MalformedPacketsAreRefused) {
  DispatchPacket dispatch;
  dispatch.kernel = 64;
  dispatch.numArguments = 1;
  auto changed = [](auto body, auto change) {
    change(body);
    return make(body);
  };
  expectRefused(changed(dispatch, [](auto &p) { p.kernel = 0; }), "kernel");
  expectRefused(changed(dispatch, [](auto &p) { p.kernel = top; }), "kernel");
  expectRefused(changed(dispatch, [](auto &p) { p.width = 0; }), "rectangle");
  expectRefused(changed(dispatch, [](auto &p) { p.height = 0; }), "rectangle");
  expectRefused(changed(dispatch, [](auto &p) { p.arguments = top - 7; }),
                "arguments");
  CopyPacket copy{0, 0, 16, {}, {}};
  expectRefused(changed(copy, [](auto &p) { p.size = 0; }), "size");
  expectRefused(changed(copy, [](auto &p) { p.size = ~0ull; }), "destination");
  expectRefused(changed(copy, [](auto &p) { p.destination = top - 15; }),
                "destination");
  expectRefused(changed(copy, [](auto &p) { p.source = ~0ull; }), "source");
  FillPacket fill{0, 16, 0, {}, {}};
  expectRefused(changed(fill, [](auto &p) { p.size = 6; }), "size 6");
  expectRefused(changed(fill, [](auto &p) { p.size = 0; }), "size");
  expectRefused(make(IndirectPacket{64, 0, {}, {}}), "count");
  expectRefused(make(TimestampPacket{top, {}}), "destination");
  Packet flags = make(NopPacket{});
  flags.flags = packetPrefetch; // only of a dispatch
  expectRefused(flags, "flags 0x02");
  flags = make(DispatchPacket{64, 128, 3, 0, 0, 1, 1, {}, {}, 0});
  flags.flags = 4;
  expectRefused(flags, "flags 0x04");
}

TEST(Packet, TypesThatCannotBeExecutedAreRefused) {
  for (int type : {0x00, 0x0b, 0x0c, 0x7f, 0x80, 0xff}) {
    auto bytes = encode(make(NopPacket{}));
    bytes[0] = uint8_t(type);
    EXPECT_FALSE(decodePacket(bytes).ok()) << type;
  }
}

TEST(Packet, TruncationIsRefused) {
  auto bytes = encode(make(NopPacket{}));
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decodePacket(std::span(bytes).first(size)).ok());
}

TEST(Packet, RandomPacketsReencodeToTheSameBytes) {
  Random random(5);
  std::vector<Packet> start = samples();
  int accepted = 0;
  for (int round = 0; round < 100'000; ++round) {
    auto bytes = encode(start[random.below(start.size())]);
    for (uint64_t i = random.below(4); i > 0; --i)
      bytes[random.below(bytes.size())] = uint8_t(random.next());
    if (Result<Packet> decoded = decodePacket(bytes); decoded.ok()) {
      ++accepted;
      ASSERT_EQ(encode(*decoded), bytes) << print(*decoded);
    }
  }
  EXPECT_GT(accepted, 10'000);
}

TEST(Packet, Text) {
  EXPECT_EQ(print(make(CopyPacket{0x20, 0x10, 3, {}, {1, 2}})),
            "copy barrier id 7 0x10 to 0x20 size 3 signal(sem 1 = 2)");
  EXPECT_EQ(print(Packet{}), "nop id 0");
  EXPECT_EQ(print(Packet{packetPrefetch, 1,
                         DispatchPacket{0x40, 0x80, 1, 0, 0, 1, 1, {}, {}, 0}}),
            "dispatch prefetch id 1 kernel 0x40 arguments 0x80 count 1 cores "
            "[0, 0] + [1, 1]");
}

TEST(KernelRecord, RoundTripAndReservedBytes) {
  KernelRecord record{1, 2, 3, 4, 5, 6, 7};
  auto bytes = encode(record);
  Result<KernelRecord> decoded = decodeKernelRecord(bytes);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(*decoded, record);
  for (unsigned i = 40; i < kernelRecordBytes; ++i) {
    auto changed = bytes;
    changed[i] = 1;
    EXPECT_FALSE(decodeKernelRecord(changed).ok()) << i;
  }
  EXPECT_FALSE(decodeKernelRecord(std::span(bytes).first(63)).ok());
}

TEST(FaultCause, Names) {
  using namespace mmio;
  EXPECT_EQ(faultCauseName(FaultCause::None), "None");
  EXPECT_EQ(faultCauseName(FaultCause::PageFault), "PageFault");
  EXPECT_EQ(faultCauseName(FaultCause::Trap), "Trap");
  EXPECT_EQ(faultCauseName(FaultCause(99)), "Unknown");
}
