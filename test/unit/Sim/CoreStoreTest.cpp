//===- CoreStoreTest.cpp - Stores to another core's scratchpad -*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimFixture.h"
#include <bit>
#include <gmock/gmock.h>
#include <numeric>

namespace tessera::sim::test {

using isa::Opcode;
using isa::Queue;
using isa::Space;
using isa::mmio::FaultCause;

namespace {

constexpr uint64_t data = Machine::dataArea;

/// Two cores side by side; a hop takes one cycle: a core is one from itself
/// and two from its neighbour.
Architecture twoCores() {
  Architecture a = tinyArchitecture();
  a.cores.count = 2;
  a.cores.meshX = 2;
  a.cores.meshY = 1;
  a.noc.hopCycles = 1;
  a.noc.clockGhz = 1.0;
  return a;
}

isa::Descriptor f32(Space space, uint32_t elements, uint64_t base) {
  return tensor(space, NumericFormat::F32, {elements}, base);
}

/// Core 0 loads 64 elements and stores them at 1,024 in the SPM of core `to`,
/// which stores them to memory.
struct HandOver : Kernel {
  uint32_t store = 0, signal = 0, take = 0;
  explicit HandOver(uint64_t to, uint64_t at = 1024, bool stays = false) {
    constexpr uint32_t elements = 64;
    td(0, f32(Space::Spm, elements, 0));
    td(1, f32(Space::Global, elements, data));
    td(2, f32(Space::Core, elements, to << 32 | at));
    td(3, f32(Space::Spm, elements, 1024));
    td(4, f32(Space::Global, elements, data + 4096));
    add(Opcode::COREID, {{isa::coreid::rd, 1}});
    li(2, int64_t(to));
    add(Opcode::BNE,
        {{isa::bne::ra, 1}, {isa::bne::rb, 3}, {isa::bne::offset, 4}});
    load(0, 1, {}, {{0, 1}});
    store = uint32_t(program.size());
    Kernel::store(2, 0, {{0, 1}});
    signal = uint32_t(program.size());
    add(Opcode::SIGNALCORE, {{isa::signal_core::queue, int64_t(Queue::St)},
                             {isa::signal_core::core, 2},
                             {isa::signal_core::sem, 4},
                             {isa::signal_core::count, 1}});
    add(Opcode::BNE,
        {{isa::bne::ra, 1}, {isa::bne::rb, 2}, {isa::bne::offset, 2}});
    take = uint32_t(program.size());
    Kernel::store(4, 3, {{4, 1}});
    if (stays)
      pause(3000);
    halt();
  }
};

struct TwoCores : Machine {
  TwoCores() : Machine(twoCores(), checked()) {
    std::vector<float> values(64);
    std::iota(values.begin(), values.end(), 1.0f);
    write(data, values);
  }
  static DeviceOptions checked() {
    DeviceOptions options = smallHost();
    options.checks = {true, true, true};
    return options;
  }
  void start(const Kernel &k) {
    isa::Packet packet;
    isa::DispatchPacket dispatch = place(k);
    dispatch.width = 2;
    packet.body = dispatch;
    submit(packet);
    settle();
  }
  std::string found() {
    std::string text;
    for (const Finding &f : device.findings())
      text += print(f, nullptr);
    return text;
  }
};

} // namespace

TEST(CoreStore, HandsATensorOver) {
  for (uint64_t to : {0, 1}) {
    TwoCores m;
    HandOver k(to);
    m.start(k);
    EXPECT_EQ(m.fault(), FaultCause::None);
    EXPECT_EQ(m.found(), "");
    EXPECT_EQ(m.read<float>(data + 4096, 64), m.read<float>(data, 64));
    // 256 bytes in 4 bursts, one a cycle. To the neighbour the last goes 2
    // hops, and its answer as many back. To itself all bursts and answers leave
    // by the one port of core 0, one a cycle, the last arriving a hop later.
    Span s = m.span(k.store);
    EXPECT_EQ(s.end - s.begin, to == 1 ? 3 + 2 + 2u : 7 + 1u);
  }
}

TEST(CoreStore, WithoutTheSignalIsARace) {
  TwoCores m;
  HandOver k(1, 1024, true);
  k.program[k.signal].opcode = Opcode::MARK;
  k.program[k.signal].fields = {};
  k.program[k.take].waits = {};
  m.start(k);
  EXPECT_THAT(m.found(), testing::HasSubstr("nothing orders a"));
}

TEST(CoreStore, WhatCannotBe) {
  auto faultOf = [](const HandOver &k) {
    TwoCores m;
    m.start(k);
    EXPECT_EQ(m.queueRegister(isa::mmio::faultPc), k.store);
    EXPECT_EQ(m.queueRegister(isa::mmio::faultCore), 0u);
    return std::pair(m.fault(), m.queueRegister(isa::mmio::faultAddress));
  };
  EXPECT_EQ(faultOf(HandOver(2)),
            std::pair(FaultCause::CoreNotRunning, uint64_t(2)));
  EXPECT_EQ(faultOf(HandOver(1, 65536 - 252)),
            std::pair(FaultCause::SpmOutOfBounds, uint64_t(65536 - 252)));
  EXPECT_EQ(faultOf(HandOver(1, 1026)),
            std::pair(FaultCause::Misaligned, uint64_t(1026)));
  // The other core has halted.
  HandOver late(1);
  late.program[late.take].opcode = Opcode::MARK;
  late.program[late.take] = {};
  late.program[late.take].opcode = Opcode::MARK;
  EXPECT_EQ(faultOf(late), std::pair(FaultCause::CoreNotRunning, uint64_t(1)));
  // Nothing else reaches another core's SPM.
  TwoCores m;
  Kernel k;
  k.td(0, f32(Space::Spm, 4, 0));
  k.td(1, f32(Space::Core, 4, 0));
  k.load(0, 1);
  k.halt();
  m.start(k);
  EXPECT_EQ(m.fault(), FaultCause::IllegalDescriptor);
}

//===----------------------------------------------------------------------===//
// Multicast
//===----------------------------------------------------------------------===//

namespace {

/// Core 0 loads 64 elements into both cores, which store them to memory, each
/// in its own place, once s4 says that they are there.
struct Broadcast : Kernel {
  uint32_t load = 0, take = 0;
  explicit Broadcast(int64_t rectangle = 2 << 16 | 1 << 24,
                     uint32_t elements = 64) {
    td(0, f32(Space::Spm, elements, 0));
    td(1, f32(Space::Global, elements, data));
    td(4, f32(Space::Global, elements, data + 4096));
    // The memory at rest, translations at hand and the row open.
    td(5, f32(Space::Spm, elements, 8192));
    Kernel::load(5, 1, {}, {{1, 1}});
    wait(Queue::Seq, {{1, 1}});
    pause(200);
    add(Opcode::COREID, {{isa::coreid::rd, 1}});
    add(Opcode::MULI,
        {{isa::muli::rd, 2}, {isa::muli::ra, 1}, {isa::muli::imm, 1024}});
    add(Opcode::TDADD,
        {{isa::td_add::td, 4}, {isa::td_add::src, 4}, {isa::td_add::ra, 2}});
    li(3, rectangle);
    add(Opcode::BNE,
        {{isa::bne::ra, 1}, {isa::bne::rb, 9}, {isa::bne::offset, 2}});
    load = uint32_t(program.size());
    add(Opcode::LOADMULTICAST, {{isa::load_multicast::dst, 0},
                                {isa::load_multicast::src, 1},
                                {isa::load_multicast::ra, 3},
                                {isa::load_multicast::sem, 4},
                                {isa::load_multicast::count, 1}});
    take = uint32_t(program.size());
    Kernel::store(4, 0, {{4, 1}});
    halt();
  }
};

} // namespace

TEST(Multicast, OneReadForAllCores) {
  TwoCores m;
  Broadcast k;
  m.start(k);
  EXPECT_EQ(m.fault(), FaultCause::None);
  EXPECT_EQ(m.found(), "");
  std::vector<float> expected = m.read<float>(data, 64);
  EXPECT_EQ(m.read<float>(data + 4096, 64), expected);
  EXPECT_EQ(m.read<float>(data + 5120, 64), expected);
  // 4 bursts, as a load: 17 cycles and 3 times 4; one hop more to core 1.
  Span s = m.span(k.load);
  EXPECT_EQ(s.end - s.begin, 17 + 3 * 4 + 1u);
  // Core 0 has it a cycle earlier, and its store begins then.
  Span first = m.span(k.take, 0), second = m.span(k.take, 1);
  EXPECT_EQ(first.begin - s.begin, 17 + 3 * 4u);
  EXPECT_EQ(second.begin - s.begin, 17 + 3 * 4 + 1u);
  // Memory is read three times: once by each core before, and once for both.
  uint64_t read = 0;
  for (const CoreStatistics &core : m.device.statistics().cores)
    read += core.dramBytesRead;
  TwoCores without;
  Broadcast none;
  none.program[none.load] = {};
  none.program[none.load].opcode = Opcode::MARK;
  none.program[none.take].waits = {};
  without.start(none);
  uint64_t before = 0;
  for (const CoreStatistics &core : without.device.statistics().cores)
    before += core.dramBytesRead;
  // An instruction of one word less is loaded by each core.
  EXPECT_GE(read - before, 256u);
  EXPECT_LE(read - before, 256u + 2 * 64);
}

namespace {

/// Core 0 loads `src` into both cores' `dst`, which store it as f32 from `data`
/// + 4,096 and + 5,120 on.
struct Spread : Kernel {
  uint32_t load = 0, take = 0;
  Spread(const isa::Descriptor &dst, const isa::Descriptor &src,
         std::initializer_list<std::pair<unsigned, int64_t>> options,
         int64_t origin = 0) {
    td(0, dst);
    td(1, src);
    isa::Descriptor out = tensor(Space::Global, NumericFormat::F32, {8, 8}, 0);
    out.base = data + 4096;
    td(4, out);
    td(5, f32(Space::Spm, 64, 32768));
    td(6, f32(Space::Global, 64, data));
    Kernel::load(5, 6, {}, {{1, 1}});
    wait(Queue::Seq, {{1, 1}});
    pause(200);
    add(Opcode::COREID, {{isa::coreid::rd, 1}});
    add(Opcode::MULI,
        {{isa::muli::rd, 2}, {isa::muli::ra, 1}, {isa::muli::imm, 1024}});
    add(Opcode::TDADD,
        {{isa::td_add::td, 4}, {isa::td_add::src, 4}, {isa::td_add::ra, 2}});
    li(3, 2 << 16 | 1 << 24);
    li(4, origin);
    li(5, 8);
    if (origin != 0)
      add(Opcode::TDWINDOW, {{isa::td_window::td, 1},
                             {isa::td_window::src, 1},
                             {isa::td_window::ra, 4},
                             {isa::td_window::rb, 5},
                             {isa::td_window::dim, 0},
                             {isa::td_window::step, 1}});
    add(Opcode::BNE,
        {{isa::bne::ra, 1}, {isa::bne::rb, 9}, {isa::bne::offset, 2}});
    load = uint32_t(program.size());
    isa::Instruction &multicast =
        add(Opcode::LOADMULTICAST, {{isa::load_multicast::dst, 0},
                                    {isa::load_multicast::src, 1},
                                    {isa::load_multicast::ra, 3},
                                    {isa::load_multicast::sem, 4},
                                    {isa::load_multicast::count, 1}});
    for (auto [field, value] : options)
      multicast.fields[field] = value;
    take = uint32_t(program.size());
    Kernel::store(4, 0, {{4, 1}});
    halt();
  }
};

} // namespace

// Rows -1 to 6 of an 8 × 8 tensor of bf16, widened: 32 bytes of padding take a
// slot, 112 bytes from memory are two bursts, which are 128 and 96 bytes in the
// scratchpad, so two slots each. The second one's data comes 4 cycles after the
// first one's, 16 after its issue, a hop later to core 1; then it is written in
// two cycles.
TEST(Multicast, PadsAndConverts) {
  TwoCores m;
  std::vector<uint16_t> values;
  std::vector<float> expected(8, 7.0f);
  for (unsigned i = 0; i < 64; ++i) {
    values.push_back(uint16_t(std::bit_cast<uint32_t>(float(i)) >> 16));
    if (i < 56)
      expected.push_back(float(i));
  }
  m.write(data, values);
  isa::Descriptor src =
      tensor(Space::Global, NumericFormat::BF16, {8, 8}, data);
  src.padding = std::bit_cast<uint32_t>(7.0f) >> 16;
  Spread k(tensor(Space::Spm, NumericFormat::F32, {8, 8}, 0), src,
           {{isa::load_multicast::pad, 1}, {isa::load_multicast::convert, 1}},
           -1);
  m.start(k);
  EXPECT_EQ(m.fault(), FaultCause::None);
  EXPECT_EQ(m.found(), "");
  EXPECT_EQ(m.read<float>(data + 4096, 64), expected);
  EXPECT_EQ(m.read<float>(data + 5120, 64), expected);
  Span s = m.span(k.load);
  EXPECT_EQ(m.span(k.take, 0).begin - s.begin, 1 + 16 + 4 + 2u);
  EXPECT_EQ(s.end - s.begin, 1 + 16 + 4 + 1 + 2u);
}

// Columns lie 256 bytes apart in the scratchpad, all in one bank: a burst of 16
// elements, two rows, takes 8 slots. The fourth is issued 24 cycles after the
// first, arrives 16 later (17 at core 1) and is written in 8.
TEST(Multicast, Transposes) {
  TwoCores m;
  isa::Descriptor dst = tensor(Space::Spm, NumericFormat::F32, {8, 8}, 0);
  dst.strides[0] = 1, dst.strides[1] = 64;
  Spread k(dst, tensor(Space::Global, NumericFormat::F32, {8, 8}, data),
           {{isa::load_multicast::transpose, 1}});
  m.start(k);
  EXPECT_EQ(m.fault(), FaultCause::None);
  EXPECT_EQ(m.found(), "");
  std::vector<float> expected = m.read<float>(data, 64);
  EXPECT_EQ(m.read<float>(data + 4096, 64), expected);
  EXPECT_EQ(m.read<float>(data + 5120, 64), expected);
  Span s = m.span(k.load);
  EXPECT_EQ(m.span(k.take, 0).begin - s.begin, 24 + 16 + 8u);
  EXPECT_EQ(s.end - s.begin, 24 + 17 + 8u);
}

// Padding alone is no message, elements outside need `pad`, formats `convert`.
TEST(Multicast, OptionsThatCannotBe) {
  auto faultOf = [](const Spread &k) {
    TwoCores m;
    m.start(k);
    EXPECT_EQ(m.queueRegister(isa::mmio::faultPc), k.load);
    return std::pair(m.fault(), m.queueRegister(isa::mmio::faultAddress));
  };
  isa::Descriptor dst = tensor(Space::Spm, NumericFormat::F32, {8, 8}, 512);
  isa::Descriptor src = tensor(Space::Global, NumericFormat::F32, {8, 8}, data);
  EXPECT_EQ(faultOf(Spread(dst, src, {{isa::load_multicast::pad, 1}}, 8)),
            std::pair(FaultCause::IllegalDescriptor, uint64_t(512)));
  EXPECT_EQ(faultOf(Spread(dst, src, {}, -1)).first,
            FaultCause::IllegalDescriptor);
  src.format = NumericFormat::BF16;
  EXPECT_EQ(faultOf(Spread(dst, src, {})),
            std::pair(FaultCause::IllegalDescriptor, uint64_t(512)));
}

// A window before the scratchpad's first byte does not change the core.
TEST(CoreStore, AClippedStoreFindsItsCore) {
  TwoCores m;
  Kernel k;
  isa::Descriptor to = tensor(Space::Core, NumericFormat::F32, {8, 8}, 0);
  to.base = uint64_t(1) << 32;
  k.td(0, tensor(Space::Spm, NumericFormat::F32, {8, 8}, 1024));
  k.td(1, tensor(Space::Global, NumericFormat::F32, {8, 8}, data));
  k.td(2, to);
  k.td(3, tensor(Space::Spm, NumericFormat::F32, {7, 8}, 0));
  k.td(4, tensor(Space::Global, NumericFormat::F32, {7, 8}, data + 4096));
  k.add(Opcode::COREID, {{isa::coreid::rd, 1}});
  k.li(2, 1);
  k.li(4, -1);
  k.li(5, 8);
  k.add(Opcode::TDWINDOW, {{isa::td_window::td, 2},
                           {isa::td_window::src, 2},
                           {isa::td_window::ra, 4},
                           {isa::td_window::rb, 5},
                           {isa::td_window::dim, 0},
                           {isa::td_window::step, 1}});
  k.add(Opcode::BNE,
        {{isa::bne::ra, 1}, {isa::bne::rb, 3}, {isa::bne::offset, 4}});
  k.load(0, 1, {}, {{0, 1}});
  k.store(2, 0, {{0, 1}});
  k.program.back().fields[isa::store::clip] = 1;
  k.add(Opcode::SIGNALCORE, {{isa::signal_core::queue, int64_t(Queue::St)},
                             {isa::signal_core::core, 2},
                             {isa::signal_core::sem, 4},
                             {isa::signal_core::count, 1}});
  k.add(Opcode::BNE,
        {{isa::bne::ra, 1}, {isa::bne::rb, 2}, {isa::bne::offset, 2}});
  k.store(4, 3, {{4, 1}});
  k.halt();
  m.start(k);
  EXPECT_EQ(m.fault(), FaultCause::None);
  EXPECT_EQ(m.found(), "");
  EXPECT_EQ(m.read<float>(data + 4096, 56), m.read<float>(data + 32, 56));
}

TEST(Multicast, WithoutTheWaitIsARace) {
  TwoCores m;
  Broadcast k;
  k.program[k.take].waits = {};
  k.program.pop_back();
  k.wait(Queue::Seq, {{4, 1}});
  k.halt();
  m.start(k);
  EXPECT_THAT(m.found(), testing::HasSubstr("nothing orders a"));
}

TEST(Multicast, WhatCannotBe) {
  auto faultOf = [](const Broadcast &k) {
    TwoCores m;
    m.start(k);
    EXPECT_EQ(m.queueRegister(isa::mmio::faultPc), k.load);
    EXPECT_EQ(m.queueRegister(isa::mmio::faultCore), 0u);
    return std::pair(m.fault(), m.queueRegister(isa::mmio::faultAddress));
  };
  // Three columns, no rows, and a bit too many.
  for (int64_t rectangle : {int64_t(3 << 16 | 1 << 24), int64_t(1 << 16),
                            int64_t(1) << 32 | 1 << 16 | 1 << 24})
    EXPECT_EQ(faultOf(Broadcast(rectangle)),
              std::pair(FaultCause::CoreNotRunning, uint64_t(rectangle)));
  Broadcast count;
  count.program[count.load].fields[isa::load_multicast::count] = 0;
  EXPECT_EQ(faultOf(count),
            std::pair(FaultCause::IllegalInstruction, uint64_t(4)));
  Broadcast sem;
  sem.program[sem.load].fields[isa::load_multicast::sem] = 32;
  EXPECT_EQ(faultOf(sem),
            std::pair(FaultCause::IllegalInstruction, uint64_t(32)));
}

} // namespace tessera::sim::test
