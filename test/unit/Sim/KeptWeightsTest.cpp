//===- KeptWeightsTest.cpp - mma with keep_b --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimFixture.h"

namespace tessera::sim::test {

using isa::Opcode;
using isa::Space;
using isa::mmio::FaultCause;

/// Two products with the same weights, which a fill overwrites in between.
static Kernel keepThroughAFill() {
  auto f32 = NumericFormat::F32;
  Kernel k;
  k.td(0, tensor(Space::Acc, f32, {2, 8}, 0));
  k.td(1, tensor(Space::Spm, f32, {2, 8}, 0));
  k.td(2, tensor(Space::Spm, f32, {8, 8}, 4096));
  k.td(3, tensor(Space::Acc, f32, {2, 8}, 4096));
  k.td(4, tensor(Space::Global, f32, {2, 8}, Machine::dataArea));
  auto fill = [&](unsigned td, uint32_t bits,
                  std::initializer_list<Kernel::Step> waits,
                  std::initializer_list<Kernel::Step> signals) {
    k.add(Opcode::FILL, {{isa::fill::dst, td}, {isa::fill::value, bits}}, waits,
          signals);
  };
  fill(1, 0x3f800000, {}, {});       // 1
  fill(2, 0x40000000, {}, {{0, 1}}); // 2
  k.mma(0, 1, 2, false, {{0, 1}}, {{1, 1}});
  fill(2, 0x40a00000, {{1, 1}}, {{0, 1}}); // 5
  k.mma(3, 1, 2, false, {{0, 1}}, {{2, 1}});
  k.program.back().fields[isa::mma::keep_b] = 1;
  k.store(4, 3, {{2, 1}});
  k.halt();
  return k;
}

TEST(KeptWeights, TheValuesReadBeforeAreUsed) {
  DeviceOptions options = Machine::smallHost();
  options.checks = {true, true, true};
  Machine m(tinyArchitecture(), options);
  m.run(keepThroughAFill());
  EXPECT_EQ(m.read<float>(Machine::dataArea, 16),
            std::vector<float>(16, 16.0f));
  EXPECT_TRUE(m.device.findings().empty());
}

TEST(KeptWeights, StartsWithoutALoad) {
  auto bf16 = NumericFormat::BF16;
  Kernel k;
  k.td(0, tensor(Space::Acc, NumericFormat::F32, {3, 8}, 0));
  k.td(1, tensor(Space::Spm, bf16, {3, 8}, 0));
  k.td(2, tensor(Space::Spm, bf16, {8, 8}, 4096));
  k.td(3, tensor(Space::Acc, NumericFormat::F32, {3, 8}, 4096));
  k.mma(0, 1, 2);
  k.mma(3, 1, 2);
  k.program.back().fields[isa::mma::keep_b] = 1;
  k.mma(0, 1, 2);
  k.halt();
  Machine m(conflictFreeArchitecture());
  m.run(k);
  // Seen in cycle 5; L = 8; M = 3 cycles of streaming; R + C - 2 + F = 15.
  EXPECT_EQ(m.span(4).end, 5u + 8 + 3 + 15);
  // Taken when the first starts streaming, in 13; streams from 16 to 19.
  EXPECT_EQ(m.span(5).begin, 13u);
  EXPECT_EQ(m.span(5).end, 16u + 3 + 15);
  // Taken at once; its weights load from 13 on and are there in 21.
  EXPECT_EQ(m.span(6).begin, 13u);
  EXPECT_EQ(m.span(6).end, 21u + 3 + 15);
}

TEST(KeptWeights, OnlyTheBlockThatIsLoaded) {
  auto bf16 = NumericFormat::BF16;
  // Nothing is loaded; another b; more than a block; the right one.
  for (int variant = 0; variant < 4; ++variant) {
    uint32_t depth = variant == 2 ? 9 : 8;
    Kernel k;
    k.td(0, tensor(Space::Acc, NumericFormat::F32, {3, 8}, 0));
    k.td(1, tensor(Space::Spm, bf16, {3, depth}, 0));
    k.td(2, tensor(Space::Spm, bf16, {depth, 8}, 4096));
    k.td(3, tensor(Space::Spm, bf16, {depth, 8}, 8192));
    if (variant > 0)
      k.mma(0, 1, variant == 1 ? 3 : 2);
    k.mma(0, 1, 2);
    k.program.back().fields[isa::mma::keep_b] = 1;
    k.halt();
    Machine m;
    isa::Packet packet;
    packet.body = m.place(k);
    m.submit(packet);
    m.settle();
    EXPECT_EQ(m.fault(),
              variant == 3 ? FaultCause::None : FaultCause::IllegalDescriptor)
        << variant;
  }
}

} // namespace tessera::sim::test
