//===- VectorCheckTest.cpp - Vector instructions under the checker --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions whose operands decide what they touch are checked by what they
// really read and write.
//
//===----------------------------------------------------------------------===//

#include "SimFixture.h"

namespace tessera::sim::test {

using isa::Opcode;
using isa::Space;
using F = NumericFormat;

namespace {

/// Runs a kernel with all checks; what was found, by kind.
std::vector<Finding> findings(const Kernel &kernel,
                              const std::vector<int32_t> &data) {
  DeviceOptions options = Machine::smallHost();
  options.checks.race = options.checks.memory = true;
  Machine m(tinyArchitecture(), options);
  m.write(Machine::dataArea, data);
  m.run(kernel);
  return m.device.findings();
}

/// A table of 8 rows of 4 of which rows 0 to 3 are written, 4 indices behind
/// it, and a gather.
Kernel gatherKernel() {
  Kernel k;
  k.td(0, tensor(Space::Spm, F::F32, {8, 4}, 0));
  k.td(1, tensor(Space::Spm, F::I32, {4}, 1024));
  k.td(2, tensor(Space::Spm, F::F32, {4, 4}, 2048));
  k.td(3, tensor(Space::Spm, F::F32, {16}, 0));
  k.td(4, tensor(Space::Global, F::F32, {16}, Machine::dataArea + 4096));
  k.td(5, tensor(Space::Global, F::I32, {4}, Machine::dataArea));
  k.load(3, 4);
  k.load(1, 5, {}, {{0, 1}});
  k.add(Opcode::GATHER,
        {{isa::gather::src, 0}, {isa::gather::index, 1}, {isa::gather::dst, 2}},
        {{0, 1}});
  k.halt();
  return k;
}

} // namespace

TEST(VectorCheck, GatherReadsTheRowsOfItsIndices) {
  EXPECT_TRUE(findings(gatherKernel(), {0, 3, 1, 3}).empty());
  std::vector<Finding> found = findings(gatherKernel(), {0, 5, 1, 3});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, Finding::Kind::Uninitialized);
  EXPECT_EQ(found[0].low, 5 * 16u);
  EXPECT_EQ(found[0].high, 6 * 16u);
}

/// `select` with keep writes elements 0 and 2 of four; then `use` is run.
static std::vector<Finding> afterMaskedWrite(uint32_t first, uint32_t count) {
  Kernel k;
  k.td(0, tensor(Space::Spm, F::I32, {4}, 0)); // mask, and values
  k.td(1, tensor(Space::Global, F::I32, {4}, Machine::dataArea));
  k.td(2, tensor(Space::Spm, F::I32, {4}, 1024));
  k.td(3, tensor(Space::Spm, F::I32, {count}, 1024 + first * 4));
  k.td(4, tensor(Space::Global, F::I32, {count}, Machine::dataArea + 4096));
  k.load(0, 1, {}, {{0, 1}});
  k.add(Opcode::SELECT,
        {{isa::select::mask, 0},
         {isa::select::a, 0},
         {isa::select::dst, 2},
         {isa::select::keep, 1}},
        {{0, 1}}, {{1, 1}});
  k.store(4, 3, {{1, 1}});
  k.halt();
  return findings(k, {1, 0, 7, 0});
}

TEST(VectorCheck, MaskedWritesAreOfTheChosenElements) {
  EXPECT_TRUE(afterMaskedWrite(0, 1).empty());
  EXPECT_TRUE(afterMaskedWrite(2, 1).empty());
  std::vector<Finding> found = afterMaskedWrite(2, 2);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, Finding::Kind::Uninitialized);
  EXPECT_EQ(found[0].low, 1024 + 12u);
}

TEST(VectorCheck, MaskedWritesRaceOnlyWhereTheyWrite) {
  // The load engine fills element 1 or 2 at the same time.
  for (uint32_t filled : {1u, 2u}) {
    Kernel k;
    k.td(0, tensor(Space::Spm, F::I32, {4}, 0));
    k.td(1, tensor(Space::Global, F::I32, {4}, Machine::dataArea));
    k.td(2, tensor(Space::Spm, F::I32, {4}, 1024));
    k.td(3, tensor(Space::Spm, F::I32, {1}, 1024 + filled * 4));
    k.load(0, 1, {}, {{0, 1}});
    k.add(Opcode::FILL, {{isa::fill::dst, 3}, {isa::fill::value, 5}});
    k.add(Opcode::SELECT,
          {{isa::select::mask, 0},
           {isa::select::a, 0},
           {isa::select::dst, 2},
           {isa::select::keep, 1}},
          {{0, 1}});
    k.halt();
    std::vector<Finding> found = findings(k, {1, 0, 7, 0});
    ASSERT_EQ(found.size(), filled == 2 ? 1u : 0u);
    if (filled == 2) {
      EXPECT_EQ(found[0].kind, Finding::Kind::Race);
      EXPECT_EQ(found[0].low, 1024 + 8u);
      EXPECT_EQ(found[0].high, 1024 + 12u);
    }
  }
}

TEST(VectorCheck, OldContentsAreRead) {
  // A reduction that accumulates into what nothing has written.
  for (bool accumulate : {false, true}) {
    Kernel k;
    k.td(0, tensor(Space::Spm, F::I32, {4}, 0));
    k.td(1, tensor(Space::Global, F::I32, {4}, Machine::dataArea));
    k.td(2, tensor(Space::Spm, F::I32, {1}, 1024));
    k.load(0, 1, {}, {{0, 1}});
    k.add(Opcode::REDUCE,
          {{isa::reduce::src, 0},
           {isa::reduce::dst, 2},
           {isa::reduce::dims, 1},
           {isa::reduce::accumulate, accumulate}},
          {{0, 1}});
    k.halt();
    EXPECT_EQ(findings(k, {1, 2, 3, 4}).size(), accumulate ? 1u : 0u);
  }
}

} // namespace tessera::sim::test
