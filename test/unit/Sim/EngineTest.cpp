//===- EngineTest.cpp - Timing rules of matrix, vector and DMA engines -*- C++
//-*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimFixture.h"
#include "tessera/Support/Random.h"
#include <bit>
#include <cmath>
#include <functional>

namespace tessera::sim::test {

using isa::Opcode;
using isa::Queue;
using isa::Space;
using isa::mmio::FaultCause;

static uint16_t bf16(float value) {
  return uint16_t(std::bit_cast<uint32_t>(value) >> 16);
}

//===----------------------------------------------------------------------===//
// Matrix
//===----------------------------------------------------------------------===//

/// One mma of M×K×N, alone; its cycles from being taken to completion.
static uint64_t mmaCycles(Machine &m, NumericFormat format, uint32_t rows,
                          uint32_t depth, uint32_t columns,
                          bool byColumn = false) {
  Kernel k;
  NumericFormat sum = isFloat(format) ? NumericFormat::F32 : NumericFormat::I32;
  k.td(0, tensor(Space::Acc, sum, {rows, columns}, 0));
  k.td(1, tensor(Space::Spm, format, {rows, depth}, 0));
  k.td(2, byColumn ? tensor(Space::Spm, format, {columns, depth}, 32768)
                   : tensor(Space::Spm, format, {depth, columns}, 32768));
  k.mma(0, 1, 2, false, {}, {}, byColumn);
  k.halt();
  m.run(k);
  Span s = m.span(3);
  EXPECT_EQ(s.begin, 4u); // pushed in cycle 3, seen in 4
  return s.end - s.begin;
}

TEST(Matrix, SingleBlock) {
  Machine m;
  // L + M + R + C - 2 + F = 8 + 5 + 8 + 8 - 2 + 1
  EXPECT_EQ(mmaCycles(m, NumericFormat::BF16, 5, 8, 8), 28u);
  // Partial blocks load whole.
  EXPECT_EQ(mmaCycles(m, NumericFormat::BF16, 5, 3, 2), 28u);
}

TEST(Matrix, WholeProduct) {
  Machine m(conflictFreeArchitecture());
  struct Rate {
    NumericFormat format;
    uint64_t blockRows, load;
    uint64_t rho;
  };
  // f32 runs at half rate: two cycles a row, weights of 4 bytes load in 2 R.
  for (Rate r :
       {Rate{NumericFormat::BF16, 8, 8, 1}, Rate{NumericFormat::I8, 16, 8, 1},
        Rate{NumericFormat::F32, 8, 16, 2}})
    for (uint32_t rows : {1u, 4u, 8u, 9u, 12u, 33u})
      for (uint32_t depth : {8u, 16u, 40u})
        for (uint32_t columns : {8u, 24u}) {
          uint64_t kb = (depth + r.blockRows - 1) / r.blockRows,
                   nb = (columns + 7) / 8;
          uint64_t stream = r.rho * rows, h = 8 + 1;
          uint64_t inner = std::max({stream, r.load, h}),
                   outer = std::max(stream, r.load);
          uint64_t expected = r.load + nb * (kb - 1) * inner +
                              (nb - 1) * outer + stream + 8 + 8 - 2 + 1;
          EXPECT_EQ(mmaCycles(m, r.format, rows, depth, columns), expected)
              << formatName(r.format) << " " << rows << "x" << depth << "x"
              << columns;
        }
}

TEST(Matrix, WeightsByColumnLoadInCCycles) {
  Architecture arch = tinyArchitecture();
  arch.matrix.rows = 4;
  arch.matrix.cols = 16;
  Machine m(arch);
  // L = R = 4 from the top, L = C = 16 through the side; M = 2, R + C - 2 + F
  // = 19.
  EXPECT_EQ(mmaCycles(m, NumericFormat::BF16, 2, 4, 16), 4 + 2 + 19u);
  EXPECT_EQ(mmaCycles(m, NumericFormat::BF16, 2, 4, 16, true), 16 + 2 + 19u);
}

TEST(Matrix, ConsecutiveProductsChain) {
  // The second one's weights load behind the first one's stream:
  // start2 = max(start1 + M, start1 + L) = start1 + 20.
  for (bool sameAcc : {false, true}) {
    Machine m;
    Kernel k;
    k.td(0, tensor(Space::Acc, NumericFormat::F32, {20, 8}, 0));
    k.td(3, tensor(Space::Acc, NumericFormat::F32, {20, 8}, 4096));
    k.td(1, tensor(Space::Spm, NumericFormat::BF16, {20, 8}, 0));
    k.td(2, tensor(Space::Spm, NumericFormat::BF16, {8, 8}, 32768));
    k.mma(0, 1, 2);
    k.mma(sameAcc ? 0 : 3, 1, 2, true);
    k.halt();
    m.run(k);
    // First: taken at 5, starts at 13, streams to 33, ends at 33 + 15.
    EXPECT_EQ(m.span(4).end, 48u);
    // The second's waits are taken when the first's last block starts. Its rows
    // follow the first's at a distance of 20 >= h = 9.
    EXPECT_EQ(m.span(5).begin, 13u);
    EXPECT_EQ(m.span(5).end, 68u);
  }
}

TEST(Matrix, AccumulatorRowsInterlock) {
  Machine m(conflictFreeArchitecture());
  Kernel k;
  k.td(0, tensor(Space::Acc, NumericFormat::F32, {2, 8}, 0));
  k.td(1, tensor(Space::Spm, NumericFormat::BF16, {2, 8}, 0));
  k.td(2, tensor(Space::Spm, NumericFormat::BF16, {8, 8}, 32768));
  k.mma(0, 1, 2);
  k.mma(0, 1, 2, true);
  k.mma(0, 1, 2);
  k.halt();
  m.run(k);
  // Taken at 4 (pushed in 3): start 12. The adding one waits for h = 9: 21; the
  // overwriting one only for its weights: 29. Each ends 2 + 15 later.
  EXPECT_EQ(m.span(3).end, 12 + 17u);
  EXPECT_EQ(m.span(4).end, 21 + 17u);
  EXPECT_EQ(m.span(5).end, 29 + 17u);
}

TEST(Matrix, ResultsUnderWayAreSeenByTheNextProduct) {
  Machine m;
  // a = 1s (1×8), b = identity columns of 2: each mma adds 16 to all columns.
  m.write(Machine::dataArea, std::vector<uint16_t>(8, bf16(1)));
  m.write(Machine::dataArea + 64, std::vector<uint16_t>(64, bf16(2)));
  Kernel k;
  k.td(0, tensor(Space::Acc, NumericFormat::F32, {1, 8}, 0));
  k.td(1, tensor(Space::Spm, NumericFormat::BF16, {1, 8}, 0));
  k.td(2, tensor(Space::Spm, NumericFormat::BF16, {8, 8}, 64));
  k.td(3,
       tensor(Space::Global, NumericFormat::BF16, {1, 8}, Machine::dataArea));
  k.td(4, tensor(Space::Global, NumericFormat::BF16, {8, 8},
                 Machine::dataArea + 64));
  k.td(5, tensor(Space::Global, NumericFormat::F32, {1, 8},
                 Machine::dataArea + 4096));
  k.load(1, 3);
  k.load(2, 4, {}, {{0, 1}});
  k.mma(0, 1, 2, false, {{0, 1}});
  k.mma(0, 1, 2, true);
  k.mma(0, 1, 2, true, {}, {{1, 1}});
  k.store(5, 0, {{1, 1}});
  k.halt();
  DispatchRecord r = m.run(k);
  EXPECT_EQ(m.read<float>(Machine::dataArea + 4096, 8),
            std::vector<float>(8, 48.0f));
  EXPECT_EQ(r.macs, 3 * 64u);
}

TEST(Matrix, ComputesWhatItSays) {
  Machine m;
  Random random(7);
  const uint32_t M = 5, K = 19, N = 11;
  std::vector<int8_t> a(M * K), b(N * K);
  for (int8_t &v : a)
    v = int8_t(random.between(-128, 127));
  for (int8_t &v : b)
    v = int8_t(random.between(-128, 127));
  m.write(Machine::dataArea, a);
  m.write(Machine::dataArea + 1024, b);
  Kernel k;
  k.td(0, tensor(Space::Acc, NumericFormat::I32, {M, N}, 64));
  k.td(1, tensor(Space::Spm, NumericFormat::I8, {M, K}, 128));
  k.td(2, tensor(Space::Spm, NumericFormat::I8, {N, K}, 8192));
  k.td(3, tensor(Space::Global, NumericFormat::I8, {M, K}, Machine::dataArea));
  k.td(4, tensor(Space::Global, NumericFormat::I8, {N, K},
                 Machine::dataArea + 1024));
  k.td(5, tensor(Space::Global, NumericFormat::I32, {M, N},
                 Machine::dataArea + 4096));
  k.load(1, 3);
  k.load(2, 4, {}, {{0, 1}});
  k.mma(0, 1, 2, false, {{0, 1}}, {{1, 1}}, true);
  k.store(5, 0, {{1, 1}});
  k.halt();
  m.run(k);
  auto out = m.read<int32_t>(Machine::dataArea + 4096, M * N);
  for (uint32_t i = 0; i < M; ++i)
    for (uint32_t j = 0; j < N; ++j) {
      int32_t sum = 0;
      for (uint32_t l = 0; l < K; ++l)
        sum += int32_t(a[i * K + l]) * b[j * K + l];
      EXPECT_EQ(out[i * N + j], sum);
    }
}

TEST(Matrix, ConvolutionThroughOverlappingStrides) {
  Machine m;
  // One channel, 4×4 image, 3×3 kernel of ones, 2×2 outputs: window sums.
  std::vector<float> image(16), ones(9, 1.0f);
  for (int i = 0; i < 16; ++i)
    image[i] = float(i);
  m.write(Machine::dataArea, image);
  m.write(Machine::dataArea + 64, ones);
  Kernel k;
  k.td(0, tensor(Space::Acc, NumericFormat::F32, {2, 2, 1}, 0));
  isa::Descriptor windows =
      tensor(Space::Spm, NumericFormat::F32, {2, 2, 3, 3}, 0);
  windows.strides = {4, 1, 4, 1};
  k.td(1, windows);
  k.td(2, tensor(Space::Spm, NumericFormat::F32, {9, 1}, 64));
  k.td(3, tensor(Space::Spm, NumericFormat::F32, {25}, 0));
  k.td(4, tensor(Space::Global, NumericFormat::F32, {25}, Machine::dataArea));
  k.td(5, tensor(Space::Global, NumericFormat::F32, {2, 2, 1},
                 Machine::dataArea + 4096));
  k.load(3, 4, {}, {{0, 1}});
  k.mma(0, 1, 2, false, {{0, 1}}, {{1, 1}});
  k.program.back().fields[isa::mma::m_dims] = 3;
  k.store(5, 0, {{1, 1}});
  k.halt();
  m.run(k);
  EXPECT_EQ(m.read<float>(Machine::dataArea + 4096, 4),
            (std::vector<float>{45, 54, 81, 90}));
}

//===----------------------------------------------------------------------===//
// Vector
//===----------------------------------------------------------------------===//

static isa::MapProgram addOne(unsigned alu, unsigned sfu = 0) {
  isa::MapProgram p;
  p.inputs = 1;
  p.ops.push_back({isa::LaneOpcode::CONST, 1, 0, 0, 0, 0x3f800000});
  for (unsigned i = 0; i < alu; ++i)
    p.ops.push_back({isa::LaneOpcode::ADDF, 0, 0, 1, 0, 0});
  for (unsigned i = 0; i < sfu; ++i)
    p.ops.push_back({isa::LaneOpcode::RCP, 0, 0, 0, 0, 0});
  p.outRegs = {0, 0};
  return p;
}

TEST(Vector, GroupsTimesSlowestUnitPlusLatency) {
  struct Case {
    uint32_t elements;
    unsigned alu, sfu;
    uint64_t occupied;
  };
  // 8 lanes, 1 ALU slot, 2 SFU lanes: an SFU operation takes 4 cycles a group.
  for (Case c : {Case{8, 1, 0, 1}, Case{9, 1, 0, 2}, Case{64, 3, 0, 24},
                 Case{64, 3, 1, 32}, Case{16, 0, 0, 2}}) {
    Machine m;
    Kernel k;
    k.maps.push_back(addOne(c.alu, c.sfu));
    k.td(0, tensor(Space::Spm, NumericFormat::F32, {c.elements}, 0));
    k.td(1, tensor(Space::Spm, NumericFormat::F32, {c.elements}, 4096));
    k.map(0, 1, {0});
    k.map(0, 1, {0});
    k.halt();
    m.run(k);
    // Latency 8. The second follows at once (its push is seen in cycle 4).
    EXPECT_EQ(m.span(2).end - m.span(2).begin, c.occupied + 8);
    EXPECT_EQ(m.span(3).begin, std::max<uint64_t>(4, 3 + c.occupied));
  }
}

TEST(Vector, DependantsWaitForTheLatency) {
  Machine m;
  Kernel k;
  k.maps.push_back(addOne(1));
  k.td(0, tensor(Space::Spm, NumericFormat::F32, {16}, 0));
  k.td(1, tensor(Space::Spm, NumericFormat::F32, {16}, 4096));
  k.map(0, 1, {0});
  k.map(0, 0, {1});
  k.halt();
  m.run(k);
  // 2 groups + latency 8.
  EXPECT_EQ(m.span(2).begin, 3u);
  EXPECT_EQ(m.span(3).begin, 13u);
}

TEST(Vector, ReductionAddsItsTree) {
  Machine m;
  std::vector<float> in(200);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = float(i + 1);
  m.write(Machine::dataArea, in);
  Kernel k;
  k.maps.push_back(addOne(1));
  k.td(0, tensor(Space::Spm, NumericFormat::F32, {2, 100}, 0));
  k.td(1, tensor(Space::Spm, NumericFormat::F32, {2, 1}, 4096));
  k.td(2,
       tensor(Space::Global, NumericFormat::F32, {2, 100}, Machine::dataArea));
  k.td(3, tensor(Space::Global, NumericFormat::F32, {2, 1},
                 Machine::dataArea + 4096));
  k.load(0, 2, {}, {{0, 1}});
  k.map(0, 1, {0}, {{0, 1}}, {{1, 1}});
  k.program.back().fields[isa::map::reduce] = int64_t(isa::Reduce::Sum);
  k.program.back().fields[isa::map::reduce_dims] = 2;
  k.store(3, 1, {{1, 1}});
  k.halt();
  m.run(k);
  EXPECT_EQ(m.span(5).end - m.span(5).begin, 25 + 8 + 6u);
  // Sums of 2 … 101 and 102 … 201.
  EXPECT_EQ(m.read<float>(Machine::dataArea + 4096, 2),
            (std::vector<float>{5150, 15150}));
}

TEST(Vector, BankConflictsAreCounted) {
  Machine m;
  Kernel k;
  k.maps.push_back(addOne(1));
  // 16 banks of 16 bytes: a stride of 256 bytes stays in one bank, so each
  // group of 8 lanes takes 8 cycles on a single read port's turn: ceil(8 / 3
  // ports).
  isa::Descriptor column = tensor(Space::Spm, NumericFormat::F32, {16}, 0);
  column.strides[0] = 64;
  k.td(0, column);
  k.td(1, tensor(Space::Spm, NumericFormat::F32, {16}, 32768));
  k.map(0, 1, {0});
  k.halt();
  DispatchRecord r = m.run(k);
  // 2 groups of max(1 ALU cycle, ceil(8 / 3) = 3 port cycles).
  EXPECT_EQ(m.span(2).end - m.span(2).begin, 6 + 8u);
  EXPECT_EQ(r.engines[size_t(Engine::Vector)][StallCause::BankConflict], 4u);
  EXPECT_EQ(r.engines[size_t(Engine::Vector)][StallCause::Busy], 2u);
}

//===----------------------------------------------------------------------===//
// DMA
//===----------------------------------------------------------------------===//

/// A kernel that warms the translations and opens the rows, then runs `body`
/// when the DRAM is at rest; the first instruction of the body is at pc 8. A
/// burst then takes 1 cycle over the NoC, 10 to the data, 4 on the bus, 1 back
/// and 1 into the scratchpad: 17.
static Kernel warmed(const isa::Descriptor &local,
                     const isa::Descriptor &global,
                     const std::function<void(Kernel &)> &body) {
  Kernel k;
  k.td(0, local);
  k.td(1, global);
  k.load(0, 1, {}, {{0, 1}});
  k.store(1, 0, {{0, 1}}, {{1, 1}});
  k.wait(Queue::Seq, {{1, 1}});
  k.pause(100);
  k.signal(Queue::Seq, {{1, 1}});
  body(k);
  k.halt();
  return k;
}

TEST(Dma, LoadStream) {
  Machine m;
  // 256 bytes: 4 bursts, one issued a cycle. The bus is the bottleneck: 4
  // cycles for each further burst.
  m.run(
      warmed(tensor(Space::Spm, NumericFormat::F32, {64}, 0),
             tensor(Space::Global, NumericFormat::F32, {64}, Machine::dataArea),
             [](Kernel &k) {
               k.load(0, 1, {{1, 1}});
               k.load(0, 1);
             }));
  Span first = m.span(8), second = m.span(9);
  EXPECT_EQ(first.end - first.begin, 17 + 3 * 4u);
  // The next load's bursts follow at once, and so does its data.
  EXPECT_EQ(second.begin, first.begin + 4);
  EXPECT_EQ(second.end, first.end + 4 * 4);
}

TEST(Dma, BurstsDoNotCrossBoundaries) {
  Machine m;
  // 64 bytes at an offset of 32 touch two aligned bursts.
  m.run(warmed(
      tensor(Space::Spm, NumericFormat::F32, {16}, 0),
      tensor(Space::Global, NumericFormat::F32, {16}, Machine::dataArea + 32),
      [](Kernel &k) { k.load(0, 1, {{1, 1}}); }));
  EXPECT_EQ(m.span(8).end - m.span(8).begin, 17 + 4u);
}

TEST(Dma, EachShortRowCostsAWholeAtom) {
  Machine m;
  isa::Descriptor rows =
      tensor(Space::Global, NumericFormat::F32, {8, 1}, Machine::dataArea);
  rows.strides[0] = 64;
  DispatchRecord r =
      m.run(warmed(tensor(Space::Spm, NumericFormat::F32, {8, 1}, 0), rows,
                   [](Kernel &k) { k.load(0, 1, {{1, 1}}); }));
  EXPECT_EQ(m.span(8).end - m.span(8).begin, 17 + 7 * 4u);
  // Two loads of 8 atoms; text of 208 bytes in 4; two descriptors in 4.
  EXPECT_EQ(r.dramBytesWritten, 8 * 64u);
  EXPECT_EQ(r.dramBytesRead, (16 + 4 + 4) * 64u);
}

TEST(Dma, OutstandingBurstsAreLimited) {
  Architecture arch = tinyArchitecture();
  arch.dma.outstanding = 2;
  Machine m(arch);
  // Bursts 1, 2 at t, t + 1 return at t + 16, t + 20; 3 and 4 take their places
  // and return at t + 32, t + 36; plus one cycle into the scratchpad.
  m.run(
      warmed(tensor(Space::Spm, NumericFormat::F32, {64}, 0),
             tensor(Space::Global, NumericFormat::F32, {64}, Machine::dataArea),
             [](Kernel &k) { k.load(0, 1, {{1, 1}}); }));
  EXPECT_EQ(m.span(8).end - m.span(8).begin, 37u);
}

TEST(Dma, StoreCompletesWhenAcknowledgedAndFenceWaits) {
  Machine m;
  DispatchRecord r = m.run(
      warmed(tensor(Space::Spm, NumericFormat::F32, {16}, 0),
             tensor(Space::Global, NumericFormat::F32, {16}, Machine::dataArea),
             [](Kernel &k) {
               k.store(1, 0, {{1, 1}});
               k.add(Opcode::FENCE);
             }));
  // 1 over the NoC, into the channel's queue, 1 back.
  EXPECT_EQ(m.span(8).end - m.span(8).begin, 2u);
  // The fence is done in the cycle of the acknowledgement; then the halt.
  EXPECT_EQ(r.haltCycle - r.runCycle, m.span(8).end + 2);
}

TEST(Dma, FillTakesABurstPerCycle) {
  Machine m;
  m.run(
      warmed(tensor(Space::Spm, NumericFormat::F32, {40}, 0),
             tensor(Space::Global, NumericFormat::F32, {40}, Machine::dataArea),
             [](Kernel &k) {
               k.add(Opcode::FILL,
                     {{isa::fill::dst, 0}, {isa::fill::value, 0x40000000}},
                     {{1, 1}}, {{2, 1}});
               k.store(1, 0, {{2, 1}});
             }));
  EXPECT_EQ(m.span(8).end - m.span(8).begin, 3u); // 160 bytes
  EXPECT_EQ(m.read<float>(Machine::dataArea, 40), std::vector<float>(40, 2.0f));
}

TEST(Dma, TransposesByStrides) {
  Machine m;
  std::vector<uint16_t> in(12);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = uint16_t(i);
  m.write(Machine::dataArea, in);
  isa::Descriptor transposed =
      tensor(Space::Global, NumericFormat::BF16, {4, 3}, Machine::dataArea);
  transposed.strides = {1, 4};
  Kernel k;
  k.td(0, tensor(Space::Spm, NumericFormat::BF16, {4, 3}, 256));
  k.td(1, transposed);
  k.td(2, tensor(Space::Global, NumericFormat::BF16, {4, 3},
                 Machine::dataArea + 4096));
  k.load(0, 1, {}, {{0, 1}});
  k.store(2, 0, {{0, 1}});
  k.halt();
  m.run(k);
  EXPECT_EQ(m.read<uint16_t>(Machine::dataArea + 4096, 12),
            (std::vector<uint16_t>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
}

TEST(Dma, NibblesKeepTheirNeighbours) {
  Machine m;
  m.write<uint8_t>(Machine::dataArea, {0x21, 0x43, 0x65});
  m.write<uint8_t>(Machine::dataArea + 64, {0xff, 0xff, 0xff});
  Kernel k;
  k.td(0, tensor(Space::Spm, NumericFormat::I4, {5}, 0));
  k.td(1, tensor(Space::Global, NumericFormat::I4, {5}, Machine::dataArea));
  k.td(2,
       tensor(Space::Global, NumericFormat::I4, {5}, Machine::dataArea + 64));
  k.load(0, 1, {}, {{0, 1}});
  k.store(2, 0, {{0, 1}});
  k.halt();
  m.run(k);
  EXPECT_EQ(m.read<uint8_t>(Machine::dataArea + 64, 3),
            (std::vector<uint8_t>{0x21, 0x43, 0xf5}));
}

/// Runs one engine instruction at pc 3 with the given descriptors.
static FaultCause engineFault(isa::Descriptor t0, isa::Descriptor t1,
                              isa::Descriptor t2,
                              const std::function<void(Kernel &)> &body) {
  Machine m;
  Kernel k;
  k.maps.push_back(addOne(1));
  k.td(0, t0);
  k.td(1, t1);
  k.td(2, t2);
  body(k);
  k.halt();
  isa::Packet packet;
  packet.body = m.place(k);
  m.submit(packet);
  m.settle();
  EXPECT_EQ(m.queueRegister(isa::mmio::faultPc), 3u);
  return m.fault();
}

TEST(Engines, FaultsAreExact) {
  auto spm = tensor(Space::Spm, NumericFormat::F32, {16}, 0);
  auto far = tensor(Space::Spm, NumericFormat::F32, {16}, 65536 - 60);
  auto odd = tensor(Space::Spm, NumericFormat::F32, {16}, 2);
  auto acc = tensor(Space::Acc, NumericFormat::F32, {4, 4}, 0);
  auto farAcc = tensor(Space::Acc, NumericFormat::F32, {4, 4}, 16384);
  auto mat = tensor(Space::Spm, NumericFormat::BF16, {4, 4}, 0);
  auto dram =
      tensor(Space::Global, NumericFormat::F32, {16}, Machine::dataArea);
  auto unmapped = tensor(Space::Global, NumericFormat::F32, {16}, 1ull << 40);
  auto broadcast = spm;
  broadcast.strides[0] = 0;
  auto load = [](Kernel &k) { k.load(0, 1); };
  auto store = [](Kernel &k) { k.store(1, 0); };
  auto mma = [](Kernel &k) { k.mma(0, 1, 2); };
  auto map = [](Kernel &k) { k.map(0, 1, {0}); };
  EXPECT_EQ(engineFault(far, dram, spm, load), FaultCause::SpmOutOfBounds);
  EXPECT_EQ(engineFault(odd, dram, spm, load), FaultCause::Misaligned);
  EXPECT_EQ(engineFault(spm, unmapped, spm, load), FaultCause::PageFault);
  EXPECT_EQ(engineFault(spm, unmapped, spm, store), FaultCause::PageFault);
  EXPECT_EQ(engineFault(broadcast, dram, spm, load),
            FaultCause::IllegalDescriptor);
  EXPECT_EQ(engineFault(dram, spm, spm, load), FaultCause::IllegalDescriptor);
  EXPECT_EQ(engineFault(spm, spm, spm, store), FaultCause::IllegalDescriptor);
  EXPECT_EQ(engineFault(farAcc, mat, mat, mma), FaultCause::AccOutOfBounds);
  EXPECT_EQ(engineFault(acc, mat, spm, mma), FaultCause::IllegalDescriptor);
  EXPECT_EQ(engineFault(spm, far, spm, map), FaultCause::SpmOutOfBounds);
  EXPECT_EQ(engineFault(spm, broadcast, spm, map),
            FaultCause::IllegalDescriptor);
  EXPECT_EQ(engineFault(spm, spm, spm, [](Kernel &k) { k.map(7, 1, {0}); }),
            FaultCause::MapIndex);
}

} // namespace tessera::sim::test
