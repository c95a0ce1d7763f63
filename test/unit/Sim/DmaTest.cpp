//===- DmaTest.cpp - What data movement does and costs ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules of docs/isa.md, "Data movement timing". The machine has one slot a
// cycle, bursts of 64 bytes and 16 banks of 16 bytes. From an open row at rest
// a burst's data arrives 16 cycles after its issue, and each further one at
// least 4 cycles after the one before: the DRAM's bus.
//
//===----------------------------------------------------------------------===//

#include "DmaFixture.h"
#include <bit>
#include <functional>
#include <numeric>

namespace tessera::sim::test {

using isa::Opcode;
using isa::Queue;
using isa::Space;
using isa::mmio::FaultCause;

namespace {

std::vector<float> counting(size_t count, float first = 0) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// The cause of the fault of the kernel's last instruction, and its address.
std::pair<FaultCause, uint64_t> faultOf(Kernel k) {
  Machine m;
  uint32_t pc = uint32_t(k.program.size()) - 1;
  k.halt();
  isa::Packet packet;
  packet.body = m.place(k);
  m.submit(packet);
  m.settle();
  EXPECT_EQ(m.queueRegister(isa::mmio::faultPc), pc);
  return {m.fault(), m.queueRegister(isa::mmio::faultAddress)};
}

} // namespace

// A message leaves the core's queue of 4 places a cycle. The load begins in
// cycle 0, the store in 1: with a message of each the queue holds one more
// after every cycle, 3 after the third. From cycle 4 on every place that comes
// free is the load engine's, whose 48 bursts are issued in 47: the store reads
// its next burst in 4 and waits for 43 cycles, the load for none.
TEST(DmaNetwork, LoadsTakeThePlacesBeforeStores) {
  Architecture arch = tinyArchitecture();
  arch.noc.clockGhz = 1;
  arch.noc.buffers = 4;
  arch.dram.writeQueue = arch.dram.readQueue = 4096;
  uint64_t alone = 0;
  for (bool stores : {false, true}) {
    Machine m(arch);
    Body k;
    k.spm(0, F32, {768}, 0);
    k.global(1, F32, {768}, data);
    k.global(2, F32, {256}, data + 3072);
    k.spm(3, F32, {256}, 8192);
    k.rest();
    uint32_t pc = k.here();
    k.load(0, 1);
    if (stores)
      k.store(2, 3);
    k.halt();
    DispatchRecord r = m.run(k);
    auto waited = [&](Engine e) {
      return r.engines[size_t(e)][StallCause::BackPressure];
    };
    EXPECT_EQ(waited(Engine::Load), 0u);
    EXPECT_EQ(waited(Engine::Store), stores ? 43u : 0u);
    if (stores)
      EXPECT_EQ(length(m, pc), alone);
    alone = length(m, pc);
  }
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

TEST(DmaWindow, LoadReadsPaddingOutside) {
  Machine m;
  m.write(data, counting(32)); // 2 rows of 16
  Body k;
  isa::Descriptor source = tensor(Space::Global, F32, {3, 16}, data);
  source.padding = std::bit_cast<uint32_t>(-1.0f);
  k.spm(0, F32, {3, 16}, 0);
  k.td(1, source);
  k.global(2, F32, {48}, data + 2048);
  k.spm(3, F32, {48}, 0);
  k.window(1, 0, -1, 2);
  k.rest();
  uint32_t pc = k.here();
  k.load(0, 1, {}, {{2, 1}});
  k.flag(isa::load::pad);
  k.store(2, 3, {{2, 1}});
  k.halt();
  m.run(k);
  std::vector<float> expected(16, -1.0f);
  for (float value : counting(32))
    expected.push_back(value);
  EXPECT_EQ(m.read<float>(data + 2048, 48), expected);
  // A row of padding is 64 bytes: one slot. Then 2 bursts: 1 + 16 + 4, + 1.
  EXPECT_EQ(length(m, pc), 22u);
}

TEST(DmaWindow, BothEdgesOfTwoDimensionsWithAStep) {
  Machine m;
  // A window of 4 x 4 with steps of 2 over a 6 x 5 tensor, from (-2, -1):
  // rows -2, 0, 2, 4 and columns -1, 1, 3, 5.
  m.write(data, counting(30));
  Body k;
  isa::Descriptor source = tensor(Space::Global, F32, {4, 4}, data);
  source.strides = {10, 2};
  source.padding = std::bit_cast<uint32_t>(100.0f);
  k.spm(0, F32, {4, 4}, 0);
  k.td(1, source);
  k.global(2, F32, {4, 4}, data + 2048);
  k.window(1, 0, -2, 6, 2);
  k.window(1, 1, -1, 5, 2);
  k.load(0, 1, {}, {{2, 1}});
  k.flag(isa::load::pad);
  k.store(2, 0, {{2, 1}});
  k.halt();
  m.run(k);
  const float p = 100;
  EXPECT_EQ(
      m.read<float>(data + 2048, 16),
      (std::vector<float>{p, p, p, p, p, 1, 3, p, p, 11, 13, p, p, 21, 23, p}));
}

TEST(DmaWindow, NothingInside) {
  Machine m;
  Body k;
  isa::Descriptor source = tensor(Space::Global, F32, {3, 16}, data);
  source.padding = std::bit_cast<uint32_t>(7.0f);
  k.spm(0, F32, {3, 16}, 0);
  k.td(1, source);
  k.global(2, F32, {3, 16}, data + 2048);
  k.window(1, 0, 1ll << 40, 2);
  k.rest();
  uint32_t pc = k.here();
  k.load(0, 1, {}, {{2, 1}});
  k.flag(isa::load::pad);
  k.store(2, 0, {{2, 1}});
  k.halt();
  m.run(k);
  EXPECT_EQ(m.read<float>(data + 2048, 48), std::vector<float>(48, 7.0f));
  EXPECT_EQ(length(m, pc), 3u); // 192 bytes of padding
}

TEST(DmaWindow, StoreLeavesWhatIsOutside) {
  Machine m;
  m.write(data + 2048, std::vector<float>(20, -1.0f));
  Body k;
  k.spm(0, F32, {4, 4}, 0);
  k.global(1, F32, {4, 4}, data);
  isa::Descriptor to = tensor(Space::Global, F32, {4, 4}, data + 2048);
  to.strides[0] = 5; // a tensor of 4 x 5
  k.td(2, to);
  m.write(data, counting(16));
  k.window(2, 0, 2, 4);  // rows 2 and 3 are inside
  k.window(2, 1, -1, 5); // columns 0 to 2
  k.load(0, 1, {}, {{2, 1}});
  k.rest();
  k.wait(Queue::Seq, {{2, 1}});
  uint32_t pc = k.here();
  k.store(2, 0);
  k.flag(isa::store::clip);
  k.halt();
  m.run(k);
  std::vector<float> expected(20, -1.0f);
  expected[10] = 1, expected[11] = 2, expected[12] = 3;
  expected[15] = 5, expected[16] = 6, expected[17] = 7;
  EXPECT_EQ(m.read<float>(data + 2048, 20), expected);
  // Bytes 40 to 52 of the first row and 60 to 72 of the second: 3 bursts. The
  // last is in the queue of the channel 1 cycle after its issue and
  // acknowledged 1 later.
  EXPECT_EQ(length(m, pc), 4u);
}

TEST(DmaWindow, WithoutTheOptionIsAFault) {
  for (bool storing : {false, true}) {
    Body k;
    k.spm(0, F32, {4}, 0);
    k.global(1, F32, {4}, data);
    k.window(1, 0, -1, 8);
    if (storing)
      k.store(1, 0);
    else
      k.load(0, 1);
    EXPECT_EQ(faultOf(k), std::pair(FaultCause::IllegalDescriptor, data - 4));
  }
  // A window that is wholly inside needs none.
  Machine m;
  m.write(data, counting(8));
  Body k;
  k.spm(0, F32, {4}, 0);
  k.global(1, F32, {4}, data);
  k.global(2, F32, {4}, data + 2048);
  k.window(1, 0, 4, 8);
  k.load(0, 1, {}, {{2, 1}});
  k.store(2, 0, {{2, 1}});
  k.halt();
  m.run(k);
  EXPECT_EQ(m.read<float>(data + 2048, 4), counting(4, 4));
}

TEST(DmaWindow, IllegalOnes) {
  auto windowed = [](NumericFormat format, int64_t stride, unsigned dim,
                     int64_t step) {
    Body k;
    isa::Descriptor td = tensor(Space::Global, format, {4}, data);
    td.strides[0] = stride;
    k.td(1, td);
    k.window(1, dim, 9, 8, step);
    return faultOf(k);
  };
  auto illegal = std::pair(FaultCause::IllegalDescriptor, uint64_t(9));
  EXPECT_EQ(windowed(F32, 1, 1, 1), illegal); // beyond the rank
  EXPECT_EQ(windowed(F32, 1, 0, 0), illegal); // no step
  EXPECT_EQ(windowed(F32, 3, 0, 2), illegal); // 3 is no multiple of 2
  EXPECT_EQ(windowed(NumericFormat::I4, 1, 0, 1), illegal);
}

//===----------------------------------------------------------------------===//
// Extents and strides from registers
//===----------------------------------------------------------------------===//

TEST(DmaDescriptor, ExtentsAndStridesFromArguments) {
  // One kernel for every length up to 8 and every row distance.
  for (uint64_t rows : {1u, 3u, 8u}) {
    Machine m;
    m.write(data, counting(256));
    Kernel k;
    k.arguments = {rows, 20};
    k.td(0, tensor(Space::Spm, F32, {8, 4}, 0));
    k.td(1, tensor(Space::Global, F32, {8, 4}, data));
    k.td(2, tensor(Space::Global, F32, {8, 4}, data + 2048));
    for (unsigned i = 0; i < 2; ++i)
      k.add(Opcode::LDARG, {{isa::ldarg::rd, 3 + i}, {isa::ldarg::index, i}});
    for (unsigned reg = 0; reg < 3; ++reg)
      k.add(Opcode::TDEXTENT, {{isa::td_extent::td, reg},
                               {isa::td_extent::src, reg},
                               {isa::td_extent::ra, 3},
                               {isa::td_extent::dim, 0}});
    k.add(Opcode::TDSTRIDE, {{isa::td_stride::td, 1},
                             {isa::td_stride::src, 1},
                             {isa::td_stride::ra, 4},
                             {isa::td_stride::dim, 0}});
    k.load(0, 1, {}, {{0, 1}});
    k.store(2, 0, {{0, 1}});
    k.halt();
    m.run(k);
    std::vector<float> expected;
    for (uint64_t r = 0; r < 8; ++r)
      for (unsigned c = 0; c < 4; ++c)
        expected.push_back(r < rows ? float(20 * r + c) : 0);
    EXPECT_EQ(m.read<float>(data + 2048, 32), expected);
  }
}

TEST(DmaDescriptor, AnExtentOnlyShrinks) {
  auto extent = [](int64_t value, unsigned dim) {
    Kernel k;
    k.td(0, tensor(Space::Spm, F32, {8, 4}, 0));
    k.li(3, value);
    k.add(Opcode::TDEXTENT, {{isa::td_extent::td, 0},
                             {isa::td_extent::src, 0},
                             {isa::td_extent::ra, 3},
                             {isa::td_extent::dim, dim}});
    return faultOf(k);
  };
  for (int64_t value : {int64_t(0), int64_t(9), int64_t(-1), int64_t(1) << 32})
    EXPECT_EQ(extent(value, 0),
              std::pair(FaultCause::IllegalDescriptor, uint64_t(value)));
  EXPECT_EQ(extent(1, 2).first, FaultCause::IllegalDescriptor);
  Kernel k;
  k.td(0, tensor(Space::Spm, F32, {8, 4}, 0));
  k.add(Opcode::TDSTRIDE, {{isa::td_stride::dim, 2}});
  EXPECT_EQ(faultOf(k).first, FaultCause::IllegalDescriptor);
}

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

TEST(DmaConvert, WidensAndRounds) {
  Machine m;
  // To bf16: 1 + 2^-8 is a tie and goes to even, 1 + 3 * 2^-8 up to 1 + 2^-6;
  // NaN is canonical; large values stay finite, as bf16 has f32's range.
  m.write(data, std::vector<uint32_t>{0x3f800000, 0x3f808000, 0x3f818000,
                                      0xff800000, 0xffc12345, 0x7f7f0000});
  Body k;
  k.spm(0, BF16, {6}, 0);
  k.global(1, F32, {6}, data);
  k.global(2, F32, {6}, data + 2048);
  k.global(3, BF16, {6}, data + 2304);
  k.load(0, 1, {}, {{2, 1}});
  k.flag(isa::load::convert);
  k.store(2, 0, {{2, 1}}); // widened again
  k.flag(isa::store::convert);
  k.store(3, 0);
  k.halt();
  m.run(k);
  std::vector<uint16_t> narrow = {0x3f80, 0x3f80, 0x3f82,
                                  0xff80, 0x7fc0, 0x7f7f};
  EXPECT_EQ(m.read<uint16_t>(data + 2304, 6), narrow);
  std::vector<uint32_t> wide;
  for (uint16_t value : narrow)
    wide.push_back(uint32_t(value) << 16);
  EXPECT_EQ(m.read<uint32_t>(data + 2048, 6), wide);
}

TEST(DmaConvert, TheWiderNearSideTakesMoreSlots) {
  Machine m;
  Body k;
  k.spm(0, F32, {64}, 0);
  k.global(1, BF16, {64}, data);
  k.spm(2, BF16, {64}, 4096);
  k.global(3, F32, {64}, data);
  k.rest();
  uint32_t pc = k.here();
  k.load(0, 1);
  k.flag(isa::load::convert);
  k.load(2, 3);
  k.flag(isa::load::convert);
  k.halt();
  m.run(k);
  // 2 bursts of 64 bytes that are 128 bytes of f32: 2 slots each, in cycles 0
  // and 2. Data at 16 and 20, written in 2 cycles.
  EXPECT_EQ(length(m, pc), 22u);
  // The next one's bursts follow after 4 slots, one a cycle, and its data one
  // every 4 cycles: at 24, 28, 32, 36. Narrower at the near side: 1 slot.
  EXPECT_EQ(m.span(pc + 1).begin - m.span(pc).begin, 4u);
  EXPECT_EQ(m.span(pc + 1).end - m.span(pc).begin, 37u);
}

TEST(DmaConvert, OnlyBetweenFloatsAndOnlyIfSaid) {
  auto load = [](NumericFormat to, NumericFormat from, bool convert) {
    Body k;
    k.spm(0, to, {8}, 64);
    k.global(1, from, {8}, data);
    k.load(0, 1);
    if (convert)
      k.flag(isa::load::convert);
    return faultOf(k);
  };
  auto illegal = std::pair(FaultCause::IllegalDescriptor, uint64_t(64));
  EXPECT_EQ(load(F32, BF16, false), illegal);
  EXPECT_EQ(load(I32, F32, true), illegal);
  EXPECT_EQ(load(BF16, NumericFormat::I8, true), illegal);
}

//===----------------------------------------------------------------------===//
// Transposition
//===----------------------------------------------------------------------===//

/// Loads 8 rows of 16 f32 (512 bytes) transposed; near rows are `distance`
/// elements apart.
static std::pair<uint64_t, uint64_t> transposed(int64_t distance, bool option) {
  Machine m;
  m.write(data, counting(128));
  Body k;
  isa::Descriptor near = tensor(Space::Spm, F32, {16, 8}, 0);
  near.strides[0] = distance;
  isa::Descriptor far = tensor(Space::Global, F32, {16, 8}, data);
  far.strides = {1, 16};
  k.td(0, near);
  k.td(1, far);
  k.global(2, F32, {16, 8}, data + 2048);
  k.rest();
  uint32_t pc = k.here();
  k.load(0, 1, {}, {{2, 1}});
  k.program.back().fields[isa::load::transpose] = option;
  k.store(2, 0, {{2, 1}});
  k.halt();
  m.run(k);
  std::vector<float> expected;
  for (unsigned c = 0; c < 16; ++c)
    for (unsigned r = 0; r < 8; ++r)
      expected.push_back(float(16 * r + c));
  EXPECT_EQ(m.read<float>(data + 2048, 128), expected);
  return {length(m, pc), m.span(pc).begin};
}

TEST(DmaTranspose, CostsTheWordsOfTheMostUsedBank) {
  // A burst is a row of 16 elements, which go to 16 near rows. With 12 elements
  // (3 words) from one to the next they fall into 16 different banks: 1 slot.
  // The DRAM's bus decides: 8 bursts arrive at 16, 20 ... 44; + 1.
  EXPECT_EQ(transposed(12, true).first, 45u);
  // 8 elements (2 words): 8 banks with 2 words each; the bus still decides, but
  // the last burst takes 2 cycles to be written.
  EXPECT_EQ(transposed(8, true).first, 46u);
  // 64 elements are a whole turn of the banks: all 16 words in one. Bursts are
  // issued every 16 cycles, the last at 7 * 16; 16 later it arrives, and is
  // written in 16.
  EXPECT_EQ(transposed(64, true).first, 7 * 16 + 16 + 16u);
  // Without the option each of 128 elements is a burst: the bus takes 4 cycles
  // for each.
  EXPECT_EQ(transposed(12, false).first, 16 + 127 * 4 + 1u);
}

//===----------------------------------------------------------------------===//
// Gather and scatter
//===----------------------------------------------------------------------===//

TEST(DmaGather, TakesRowsByIndex) {
  Machine m;
  m.write(data, counting(16 * 32)); // 32 rows of 16
  m.write(data + 2048, std::vector<int32_t>{31, 0, 7, 7, 2});
  Body k;
  k.spm(0, F32, {5, 16}, 0);
  k.global(1, F32, {32, 16}, data);
  k.spm(2, I32, {5}, 4096);
  k.global(3, I32, {5}, data + 2048);
  k.global(4, F32, {5, 16}, data + 3072);
  k.load(2, 3, {}, {{2, 1}});
  k.wait(Queue::Seq, {{2, 1}});
  k.rest();
  uint32_t pc = k.here();
  k.gather(0, 1, 2, {{2, 1}});
  k.store(4, 0, {{2, 1}});
  k.halt();
  m.run(k);
  std::vector<float> expected;
  for (int row : {31, 0, 7, 7, 2})
    for (float value : counting(16, float(16 * row)))
      expected.push_back(value);
  EXPECT_EQ(m.read<float>(data + 3072, 80), expected);
  // 20 bytes of indices: a slot. A burst an index: data at 17, 21 ... 33; + 1.
  EXPECT_EQ(length(m, pc), 1 + 16 + 4 * 4 + 1u);
}

namespace {
/// Indices are stored into the SPM by fills; then a gather of rows of 4 f32 out
/// of 8.
Body gatherOf(std::initializer_list<int32_t> indices, bool pad,
              int32_t tableRows = 8) {
  Body k;
  unsigned at = 0;
  isa::Descriptor table =
      tensor(Space::Global, F32, {uint32_t(tableRows), 4}, data);
  table.padding = std::bit_cast<uint32_t>(0.5f);
  for (int32_t index : indices) {
    k.spm(5, I32, {1}, 4096 + 4 * at++);
    k.fill(5, uint32_t(index));
  }
  k.spm(0, F32, {at, 4}, 0);
  k.td(1, table);
  k.spm(2, I32, {at}, 4096);
  k.rest();
  k.gather(0, 1, 2).fields[isa::load_gather::pad] = pad;
  return k;
}
} // namespace

TEST(DmaGather, IndicesOutOfRange) {
  EXPECT_EQ(faultOf(gatherOf({1, -1}, false)),
            std::pair(FaultCause::IndexOutOfRange, ~uint64_t(0)));
  EXPECT_EQ(faultOf(gatherOf({1, 8}, false)),
            std::pair(FaultCause::IndexOutOfRange, uint64_t(8)));
  Machine m;
  m.write(data, counting(32));
  Body k = gatherOf({-1, 7, 8, 0, 1 << 30}, true);
  uint32_t pc = k.here() - 1;
  k.signal(Queue::Ld, {{2, 1}});
  k.global(4, F32, {5, 4}, data + 2048);
  k.store(4, 0, {{2, 1}});
  k.halt();
  m.run(k);
  const float p = 0.5f;
  EXPECT_EQ(m.read<float>(data + 2048, 20),
            (std::vector<float>{p, p, p, p, 28, 29, 30, 31, p, p,
                                p, p, 0, 1, 2,  3,  p,  p,  p, p}));
  // 48 bytes of padding and 20 of indices: 2 slots; data at 18 and 22; + 1. The
  // fills are over when the gather is pushed.
  EXPECT_EQ(length(m, pc), 23u);
}

TEST(DmaGather, WaitsForIndicesThatItsQueueLoads) {
  Machine m;
  m.write(data + 2048, std::vector<int32_t>{3, 1});
  Body k;
  k.spm(0, F32, {2, 4}, 0);
  k.global(1, F32, {8, 4}, data);
  k.spm(2, I32, {2}, 4096);
  k.global(3, I32, {2}, data + 2048);
  k.global(4, F32, {2, 4}, data + 3072);
  k.spm(5, F32, {2}, 8192);
  k.global(6, F32, {2}, data);
  m.write(data, counting(32));
  k.rest();
  uint32_t pc = k.here();
  k.load(2, 3);
  k.load(5, 6);
  k.gather(0, 1, 2, {{2, 1}});
  k.store(4, 0, {{2, 1}});
  k.halt();
  m.run(k);
  EXPECT_EQ(m.read<float>(data + 3072, 8),
            (std::vector<float>{12, 13, 14, 15, 4, 5, 6, 7}));
  EXPECT_EQ(m.span(pc).end - m.span(pc).begin, 17u);
  EXPECT_EQ(m.span(pc + 2).begin, m.span(pc).end);
}

TEST(DmaScatter, TheLastOfEqualIndicesStays) {
  Machine m;
  m.write(data, counting(16));
  m.write(data + 2048, std::vector<int32_t>{2, 0, 2, 9});
  m.write(data + 3072, std::vector<float>(12, -1.0f));
  Body k;
  k.spm(0, F32, {4, 4}, 0);
  k.global(1, F32, {4, 4}, data);
  k.spm(2, I32, {4}, 4096);
  k.global(3, I32, {4}, data + 2048);
  k.global(4, F32, {3, 4}, data + 3072);
  k.load(0, 1);
  k.load(2, 3, {}, {{2, 1}});
  k.wait(Queue::Seq, {{2, 1}});
  k.rest();
  uint32_t pc = k.here();
  k.scatter(4, 0, 2).fields[isa::store_scatter::clip] = true;
  k.halt();
  m.run(k);
  EXPECT_EQ(m.read<float>(data + 3072, 12),
            (std::vector<float>{4, 5, 6, 7, -1, -1, -1, -1, 8, 9, 10, 11}));
  // A slot for 16 bytes of indices, 3 bursts in cycles 1 to 3; acknowledged 2
  // later.
  EXPECT_EQ(length(m, pc), 5u);
}

TEST(DmaScatter, IllegalOnes) {
  auto scatter = [](int32_t index, isa::Descriptor table,
                    NumericFormat indexFormat = I32) {
    Body k;
    k.spm(0, F32, {1, 4}, 0);
    k.spm(1, indexFormat, {1}, 4096);
    k.td(2, table);
    k.fill(1, uint32_t(index), {{2, 1}});
    k.wait(Queue::Seq, {{2, 1}});
    k.scatter(2, 0, 1);
    return faultOf(k);
  };
  isa::Descriptor table = tensor(Space::Global, F32, {3, 4}, data);
  EXPECT_EQ(scatter(3, table),
            std::pair(FaultCause::IndexOutOfRange, uint64_t(3)));
  EXPECT_EQ(scatter(1, table, F32).first, FaultCause::IllegalDescriptor);
  isa::Descriptor shared = table;
  shared.strides[0] = 0;
  EXPECT_EQ(scatter(1, shared), std::pair(FaultCause::IllegalDescriptor, data));
  isa::Descriptor wide = tensor(Space::Global, F32, {3, 5}, data);
  EXPECT_EQ(scatter(1, wide).first, FaultCause::IllegalDescriptor);
  // The row that the index names is not mapped, the table's first is.
  isa::Descriptor far = table;
  far.strides[0] = 1ll << 40;
  EXPECT_EQ(scatter(2, far).first, FaultCause::PageFault);
}

//===----------------------------------------------------------------------===//
// Copies within the core
//===----------------------------------------------------------------------===//

TEST(DmaCopy, WithinTheCore) {
  Machine m;
  m.write(data, counting(32));
  Body k;
  k.spm(0, F32, {32}, 0);
  k.global(1, F32, {32}, data);
  k.spm(2, F32, {32}, 64); // overlaps its source
  k.global(3, F32, {32}, data + 2048);
  k.rest();
  uint32_t pc = k.here();
  k.load(0, 1);
  k.load(2, 0, {}, {{2, 1}});
  k.store(3, 2, {{2, 1}});
  k.halt();
  m.run(k);
  EXPECT_EQ(m.read<float>(data + 2048, 32), counting(32));
  // It begins when the load has completed: 16 + 4 + 1. Two bursts, the first
  // read in cycle 0, from banks 0 to 3; it comes in 1, to banks 4 to 7, where
  // the second is then read in 2; that is written in 3.
  EXPECT_EQ(m.span(pc + 1).begin - m.span(pc).begin, 21u);
  EXPECT_EQ(length(m, pc + 1), 4u);
}

} // namespace tessera::sim::test
