//===- VectorTest.cpp - Timing rules and faults of vector instructions ----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On the tests' machine: 8 lanes, 1 ALU slot, 2 SFU lanes, latency 8, 3 read
// ports, 1 write port; 16 banks of 16 bytes.
//
//===----------------------------------------------------------------------===//

#include "VectorFixture.h"

namespace tessera::sim::test {

using isa::Opcode;
using isa::Space;
using isa::mmio::FaultCause;
using F = NumericFormat;

static constexpr uint64_t latency = 8;

//===----------------------------------------------------------------------===//
// Cycles
//===----------------------------------------------------------------------===//

TEST(VectorTiming, ReduceIsGroupsAndTheTree) {
  for (auto kind : {isa::Reduce::Sum, isa::Reduce::ArgMax}) {
    Scratchpad s;
    s.spm(F::F32, {2, 100}, 0);
    s.spm(F::F32, {2, 1}, 4096);
    s.spm(F::I32, {2, 1}, 8192);
    s.add(Opcode::REDUCE, {{isa::reduce::kind, int64_t(kind) - 1},
                           {isa::reduce::src, 0},
                           {isa::reduce::dst, 1},
                           {isa::reduce::indices, 2},
                           {isa::reduce::dims, 2}});
    s.run();
    // 200 elements: 25 groups of a cycle; values and indices together count as
    // one operand of the one write port.
    EXPECT_EQ(s.cycles(), 25 + latency + 6);
  }
}

TEST(VectorTiming, ScanIsSevenOperations) {
  for (auto [slots, perGroup] : {std::pair{1u, 7u}, {2u, 4u}, {8u, 1u}}) {
    Architecture arch = tinyArchitecture();
    arch.vector.aluSlots = slots;
    Scratchpad s(arch);
    s.spm(F::F32, {20}, 0);
    s.spm(F::F32, {20}, 4096);
    s.spm(F::F32, {1}, 8192);
    s.add(Opcode::SCAN, {{isa::scan::src, 0},
                         {isa::scan::dst, 1},
                         {isa::scan::total, 2},
                         {isa::scan::dims, 1}});
    s.run();
    EXPECT_EQ(s.cycles(), 3 * perGroup + latency); // 3 groups of ⌈7 / slots⌉
  }
}

TEST(VectorTiming, TotalOfAScanTakesAWritePort) {
  Architecture arch = tinyArchitecture();
  arch.vector.aluSlots = 7;
  Scratchpad s(arch);
  s.spm(F::F32, {16}, 0);
  s.spm(F::F32, {16}, 4096);
  s.spm(F::F32, {1}, 8192);
  s.add(Opcode::SCAN, {{isa::scan::src, 0},
                       {isa::scan::dst, 1},
                       {isa::scan::total, 2},
                       {isa::scan::with_total, 1},
                       {isa::scan::dims, 1}});
  s.run();
  EXPECT_EQ(s.cycles(), 2 * 2 + latency); // 2 groups, 2 operands to 1 port
}

TEST(VectorTiming, SelectReadsThreeOrTwoOperands) {
  for (auto [ports, keep, perGroup] : {std::tuple{3u, false, 1u},
                                       {1u, false, 3u},
                                       {1u, true, 2u},
                                       {2u, true, 1u}}) {
    Architecture arch = tinyArchitecture();
    arch.vector.readPorts = ports;
    Scratchpad s(arch);
    s.spm(F::U8, {24}, 0);
    s.spm(F::F32, {24}, 1024);
    s.spm(F::F32, {24}, 2048);
    s.spm(F::F32, {24}, 4096);
    s.add(Opcode::SELECT, {{isa::select::mask, 0},
                           {isa::select::a, 1},
                           {isa::select::b, 2},
                           {isa::select::dst, 3},
                           {isa::select::keep, keep}});
    s.run();
    EXPECT_EQ(s.cycles(), 3 * perGroup + latency);
  }
}

TEST(VectorTiming, ConvertCountsWhatItIsAskedFor) {
  struct Case {
    int64_t scale, zero, divide;
    uint64_t perGroup;
  };
  // 1 operation to convert, 1 to multiply, 1 for zero points; a division takes
  // 8 lanes / 2 SFU lanes = 4 cycles.
  for (Case c : {Case{0, 0, 0, 1}, Case{1, 0, 0, 2}, Case{0, 1, 0, 2},
                 Case{1, 1, 0, 3}, Case{1, 1, 1, 4}, Case{0, 0, 1, 1}}) {
    Scratchpad s;
    s.spm(F::F32, {16}, 0);
    isa::Descriptor one = tensor(Space::Spm, F::F32, {16}, 2048);
    one.strides[0] = 0;
    s.operand(one);
    one.format = F::I8;
    s.operand(one);
    s.spm(F::I8, {16}, 4096);
    s.add(Opcode::CONVERT, {{isa::convert::src, 0},
                            {isa::convert::scale, 1},
                            {isa::convert::zero, 2},
                            {isa::convert::dst, 3},
                            {isa::convert::use_scale, c.scale},
                            {isa::convert::use_zero, c.zero},
                            {isa::convert::divide, c.divide}});
    s.run();
    EXPECT_EQ(s.cycles(), 2 * c.perGroup + latency);
  }
}

TEST(VectorTiming, TransposeFillsWhileItDrains) {
  struct Case {
    uint32_t matrices, rows, columns;
    uint64_t cycles;
  };
  // Tiles of 8 × 8.
  for (Case c : {Case{1, 8, 8, 8 + 8}, Case{1, 3, 5, 3 + 5},
                 // Tiles 8×8, 8×4: the second fills while the first drains.
                 Case{1, 8, 12, 8 + 8 + 4},
                 // Four tiles follow each other: one fill, four drains.
                 Case{1, 16, 16, 8 + 4 * 8},
                 // 8×2 matrices: filling is slower, 8 a tile; 2 at the end.
                 Case{3, 8, 2, 3 * 8 + 2},
                 // 2×8: a fill of 2, then drains of 8.
                 Case{3, 2, 8, 2 + 3 * 8}}) {
    Scratchpad s;
    s.spm(F::F32, {c.matrices, c.rows, c.columns}, 0);
    s.spm(F::F32, {c.matrices, c.columns, c.rows}, 8192);
    s.add(Opcode::TRANSPOSE,
          {{isa::transpose::src, 0}, {isa::transpose::dst, 1}});
    s.run();
    EXPECT_EQ(s.cycles(), c.cycles + latency)
        << c.matrices << " " << c.rows << " " << c.columns;
  }
}

TEST(VectorTiming, StridedRowsOfATransposeConflict) {
  Scratchpad s;
  // A row's 8 elements lie 256 bytes apart, in one bank: ⌈8 / 3⌉ = 3 cycles.
  isa::Descriptor src = tensor(Space::Spm, F::F32, {4, 8}, 0);
  src.strides = {1, 64};
  s.operand(src);
  s.spm(F::F32, {8, 4}, 16384);
  s.add(Opcode::TRANSPOSE,
        {{isa::transpose::src, 0}, {isa::transpose::dst, 1}});
  DispatchRecord r = s.run();
  EXPECT_EQ(s.cycles(), 4 * 3 + 8 + latency);
  // Without conflicts 4 + 8.
  EXPECT_EQ(r.engines[size_t(Engine::Vector)][StallCause::BankConflict], 8u);
}

TEST(VectorTiming, GatherPaysForTheBanksOfItsIndices) {
  for (bool spread : {true, false}) {
    Scratchpad s;
    std::vector<int32_t> index(16);
    for (int i = 0; i < 16; ++i)
      index[size_t(i)] = spread ? i * 4 : i * 64;
    s.put(16384, index);
    s.spm(F::F32, {1024}, 0);
    s.spm(F::I32, {16}, 16384);
    s.spm(F::F32, {16}, 20480);
    s.add(Opcode::GATHER, {{isa::gather::src, 0},
                           {isa::gather::index, 1},
                           {isa::gather::dst, 2}});
    DispatchRecord r = s.run();
    // Two groups. 16 bytes apart, 8 elements are in 8 banks: ⌈(1 + 1) / 3⌉ = 1.
    // 256 bytes apart, in one: ⌈(1 + 8) / 3⌉ = 3.
    EXPECT_EQ(s.cycles(), 2 * (spread ? 1 : 3) + latency);
    EXPECT_EQ(r.engines[size_t(Engine::Vector)][StallCause::BankConflict],
              spread ? 0u : 4u);
  }
}

TEST(VectorTiming, WithoutDataIndicesAreDrawnAndCounted) {
  uint64_t cycles[2];
  for (uint64_t &c : cycles) {
    DeviceOptions options = Machine::smallHost();
    options.timingOnly = true;
    Scratchpad s(tinyArchitecture(), options);
    s.spm(F::F32, {1024}, 0);
    s.spm(F::I32, {160}, 16384);
    s.spm(F::F32, {160}, 20480);
    s.add(Opcode::GATHER, {{isa::gather::src, 0},
                           {isa::gather::index, 1},
                           {isa::gather::dst, 2}});
    s.run();
    EXPECT_EQ(s.machine.device.statistics().cores[0].drawnIndices, 160u);
    c = s.cycles();
    // More than without conflicts, less than if all were in one bank.
    EXPECT_GT(c, 20 + latency);
    EXPECT_LT(c, 20 * 3 + latency);
  }
  EXPECT_EQ(cycles[0], cycles[1]);
}

TEST(VectorTiming, TopkSortsBlocksAndMergesThem) {
  struct Case {
    uint32_t rows, row, k;
    bool accumulate;
    uint64_t cycles;
  };
  for (Case c :
       {// A block of 8: 3 · 4 / 2 = 6 stages of 8 values, 8 lanes: 6 cycles.
        Case{1, 8, 2, false, 6},
        // One more merge of 3 + 1 stages: 10.
        Case{1, 8, 2, true, 10},
        // 5 values are sorted as 8, for each of 4 rows.
        Case{4, 5, 1, false, 24},
        // 2 blocks of 64: 21 stages each, a merge of 7: 49 · 64 / 8.
        Case{1, 100, 3, false, 392},
        // 64 of the best are one block; 65 are two: 2 · 21 + 2 · 7 + 6 = 62.
        Case{1, 100, 65, false, 496},
        // One value: nothing to sort; 2 results to 1 port.
        Case{1, 1, 1, false, 2}}) {
    Scratchpad s;
    s.spm(F::F32, {c.rows, c.row}, 0);
    s.spm(F::F32, {c.rows, c.k}, 8192);
    s.spm(F::I32, {c.rows, c.k}, 16384);
    s.add(Opcode::TOPK, {{isa::topk::src, 0},
                         {isa::topk::dst, 1},
                         {isa::topk::indices, 2},
                         {isa::topk::accumulate, c.accumulate}});
    s.run();
    EXPECT_EQ(s.cycles(), c.cycles + latency) << c.row << " " << c.k;
  }
}

TEST(VectorTiming, DependantsWaitForEveryResult) {
  // reduce writes t1 and t2; whoever reads one of them waits for its end.
  for (unsigned read : {1u, 2u}) {
    Scratchpad s;
    s.spm(F::F32, {64}, 0);
    s.spm(F::F32, {1}, 4096);
    s.spm(F::I32, {1}, 8192);
    s.spm(read == 1 ? F::F32 : F::I32, {1}, 12288);
    s.spm(F::U8, {1}, 0);
    s.add(Opcode::REDUCE, {{isa::reduce::kind, 4},
                           {isa::reduce::src, 0},
                           {isa::reduce::dst, 1},
                           {isa::reduce::indices, 2},
                           {isa::reduce::dims, 1}});
    uint32_t first = s.last;
    s.add(Opcode::SELECT, {{isa::select::mask, 4},
                           {isa::select::a, read},
                           {isa::select::b, read},
                           {isa::select::dst, 3}});
    s.run();
    EXPECT_EQ(s.machine.span(s.last).begin, s.machine.span(first).end);
    EXPECT_EQ(s.machine.span(first).end - s.machine.span(first).begin,
              8 + latency + 6);
  }
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

namespace {
/// What an illegal use is made of.
struct Misuse {
  std::vector<isa::Descriptor> operands;
  Opcode opcode;
  std::vector<std::pair<unsigned, int64_t>> fields;
  FaultCause cause;
};
} // namespace

static isa::Descriptor spm(F format, std::initializer_list<uint32_t> extents,
                           uint64_t base = 0) {
  return tensor(Space::Spm, format, extents, base);
}

static void expectFault(const Misuse &misuse) {
  Scratchpad s;
  for (const isa::Descriptor &td : misuse.operands)
    s.operand(td);
  s.add(misuse.opcode, {});
  for (auto [field, value] : misuse.fields)
    s.kernel.program.back().fields[field] = value;
  SCOPED_TRACE(isa::print(s.kernel.program.back()));
  EXPECT_EQ(s.fault(), misuse.cause);
}

TEST(VectorFaults, IllegalUsesArePrecise) {
  constexpr auto Illegal = FaultCause::IllegalDescriptor;
  isa::Descriptor f16x4 = spm(F::F32, {4, 4}), row = spm(F::F32, {4, 1}, 512),
                  far = spm(F::F32, {4, 1}, 65536 - 12),
                  odd = spm(F::F32, {4, 1}, 514),
                  ints = spm(F::I32, {4, 1}, 512),
                  broadcast = spm(F::F32, {4, 4}, 1024);
  broadcast.strides[1] = 0;
  namespace r = isa::reduce;
  auto reduce = [](isa::Descriptor src, isa::Descriptor dst, isa::Descriptor in,
                   int64_t kind, FaultCause cause) {
    return Misuse{{src, dst, in},
                  Opcode::REDUCE,
                  {{r::src, 0},
                   {r::dst, 1},
                   {r::indices, 2},
                   {r::dims, 2},
                   {r::kind, kind}},
                  cause};
  };
  expectFault(reduce(f16x4, far, ints, 0, FaultCause::SpmOutOfBounds));
  expectFault(reduce(f16x4, odd, ints, 0, FaultCause::Misaligned));
  expectFault(reduce(f16x4, ints, ints, 0, Illegal));  // float to integer
  expectFault(reduce(f16x4, f16x4, ints, 0, Illegal)); // not reduced
  expectFault(reduce(f16x4, row, row, 4, Illegal));    // indices not i32
  expectFault(reduce(f16x4, row, spm(F::I32, {4, 4}), 4, Illegal));
  isa::Descriptor global = tensor(Space::Global, F::F32, {4, 1}, 512);
  expectFault(reduce(f16x4, global, ints, 0, Illegal));
  isa::Descriptor acc = tensor(Space::Acc, F::F32, {4, 1}, 16384 - 12);
  expectFault(reduce(f16x4, acc, ints, 0, FaultCause::AccOutOfBounds));

  namespace c = isa::scan;
  auto scan = [](isa::Descriptor dst, isa::Descriptor total, int64_t with,
                 int64_t accumulate) {
    return Misuse{{spm(F::F32, {4, 4}), dst, total},
                  Opcode::SCAN,
                  {{c::src, 0},
                   {c::dst, 1},
                   {c::total, 2},
                   {c::dims, 2},
                   {c::with_total, with},
                   {c::accumulate, accumulate}},
                  Illegal};
  };
  expectFault(scan(row, row, 0, 0));
  expectFault(scan(broadcast, row, 0, 0)); // writing through stride 0
  expectFault(scan(f16x4, f16x4, 1, 0));
  expectFault(scan(f16x4, ints, 0, 1));

  namespace e = isa::select;
  auto select = [](isa::Descriptor mask, isa::Descriptor a, isa::Descriptor b) {
    return Misuse{{spm(F::F32, {4, 4}), mask, a, b},
                  Opcode::SELECT,
                  {{e::dst, 0}, {e::mask, 1}, {e::a, 2}, {e::b, 3}},
                  Illegal};
  };
  expectFault(select(row, f16x4, f16x4));
  expectFault(select(f16x4, spm(F::I32, {4, 4}), f16x4));
  expectFault(select(f16x4, f16x4, spm(F::BF16, {4, 4})));

  namespace v = isa::convert;
  auto convert = [](isa::Descriptor dst, isa::Descriptor scale,
                    isa::Descriptor zero, int64_t scales, int64_t zeros) {
    return Misuse{{dst, spm(F::F32, {4, 4}), scale, zero},
                  Opcode::CONVERT,
                  {{v::dst, 0},
                   {v::src, 1},
                   {v::scale, 2},
                   {v::zero, 3},
                   {v::use_scale, scales},
                   {v::use_zero, zeros}},
                  Illegal};
  };
  isa::Descriptor i8 = spm(F::I8, {4, 4}, 2048);
  expectFault(convert(row, f16x4, i8, 0, 0));
  expectFault(convert(i8, i8, i8, 1, 0));       // scale is no float
  expectFault(convert(i8, row, i8, 1, 0));      // scale's extents
  expectFault(convert(i8, f16x4, f16x4, 0, 1)); // zero is no integer
  expectFault(convert(spm(F::BF16, {4, 4}), f16x4, i8, 0, 1)); // no integer

  namespace t = isa::transpose;
  auto transpose = [](isa::Descriptor src, isa::Descriptor dst) {
    return Misuse{
        {src, dst}, Opcode::TRANSPOSE, {{t::src, 0}, {t::dst, 1}}, Illegal};
  };
  expectFault(transpose(spm(F::F32, {16}), f16x4));
  expectFault(transpose(spm(F::F32, {2, 3}), spm(F::F32, {2, 3}, 512)));
  expectFault(transpose(spm(F::F32, {2, 3}), spm(F::I32, {3, 2}, 512)));

  namespace g = isa::gather;
  auto gather = [](isa::Descriptor src, isa::Descriptor index,
                   isa::Descriptor dst, FaultCause cause) {
    return Misuse{{src, index, dst},
                  Opcode::GATHER,
                  {{g::src, 0}, {g::index, 1}, {g::dst, 2}},
                  cause};
  };
  // (The fault of an index is Vector.GatherFaultsAtABadIndex.)
  expectFault(gather(f16x4, row, f16x4, Illegal)); // index is no integer
  expectFault(gather(f16x4, spm(F::I32, {4}), row, Illegal));
  expectFault(gather(f16x4, spm(F::I32, {4}), spm(F::I32, {4, 4}), Illegal));

  namespace k = isa::topk;
  auto topk = [](isa::Descriptor src, isa::Descriptor dst,
                 isa::Descriptor indices) {
    return Misuse{{src, dst, indices},
                  Opcode::TOPK,
                  {{k::src, 0}, {k::dst, 1}, {k::indices, 2}},
                  Illegal};
  };
  expectFault(topk(f16x4, spm(F::F32, {4, 5}, 512), ints)); // k too large
  expectFault(topk(f16x4, row, row));                       // indices not i32
  expectFault(topk(f16x4, spm(F::BF16, {4, 1}, 512), ints));
  expectFault(topk(f16x4, row, spm(F::I32, {4, 2})));

  namespace m = isa::map;
  expectFault({{f16x4}, Opcode::MAP, {{m::program, 3}}, FaultCause::MapIndex});
}

TEST(VectorFaults, GatherFaultsAtABadIndex) {
  for (int32_t bad : {-1, 4, 1 << 30}) {
    Scratchpad s;
    s.put(16384, std::vector<int32_t>{0, 3, bad, 1});
    s.spm(F::F32, {4, 2}, 0);
    s.spm(F::I32, {4}, 16384);
    s.spm(F::F32, {4, 2}, 4096);
    s.add(Opcode::GATHER, {{isa::gather::src, 0},
                           {isa::gather::index, 1},
                           {isa::gather::dst, 2}});
    EXPECT_EQ(s.fault(), FaultCause::IndexOutOfRange);
    EXPECT_EQ(int64_t(s.faultAddress), bad);
  }
}

} // namespace tessera::sim::test
