//===- MultiCoreTest.cpp - Cores that work together ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimFixture.h"
#include <gmock/gmock.h>

namespace tessera::sim::test {

using isa::Opcode;
using isa::Queue;
using isa::Space;
using isa::mmio::FaultCause;

namespace {

/// Two cores side by side; a hop takes one cycle.
Architecture twoCores() {
  Architecture a = tinyArchitecture();
  a.cores.count = 2;
  a.cores.meshX = 2;
  a.cores.meshY = 1;
  a.noc.hopCycles = 1;
  a.noc.clockGhz = 1.0;
  return a;
}

DeviceOptions checked() {
  DeviceOptions options = Machine::smallHost();
  options.checks = {true, true, true};
  return options;
}

struct TwoCores : Machine {
  explicit TwoCores(const DeviceOptions &options = checked())
      : Machine(twoCores(), options) {}
  void start(const Kernel &k) {
    isa::Packet packet;
    isa::DispatchPacket dispatch = place(k);
    dispatch.width = 2;
    packet.body = dispatch;
    submit(packet);
  }
  void runBoth(const Kernel &k) {
    start(k);
    settle();
  }
  /// The cycle of the first event of this kind.
  uint64_t cycleOf(TraceEvent::Kind kind, uint32_t core, uint32_t pc) {
    for (const TraceEvent &e : trace)
      if (e.kind == kind && e.core == core && e.pc == pc)
        return e.timeFs / 1'000'000;
    ADD_FAILURE() << "nothing at core " << core << ", pc " << pc;
    return 0;
  }
  uint64_t mark(uint32_t core, uint32_t pc) {
    return cycleOf(TraceEvent::Kind::Mark, core, pc);
  }
  std::string found() {
    std::string text;
    for (const Finding &f : device.findings())
      text += print(f, nullptr);
    return text;
  }
};

void mark(Kernel &k) { k.add(Opcode::MARK, {{isa::mark::id, 1}}); }
void barrier(Kernel &k) { k.add(Opcode::BARRIER); }
/// Goes `distance` instructions on where the core's index is `core`.
void branchIfCore(Kernel &k, int64_t core, int64_t distance) {
  k.add(Opcode::COREID, {{isa::coreid::rd, 1}});
  k.li(2, core);
  k.add(Opcode::BEQ,
        {{isa::beq::ra, 1}, {isa::beq::rb, 2}, {isa::beq::offset, distance}});
}
void signalCore(Kernel &k, Queue queue, unsigned coreReg, unsigned sem,
                unsigned count) {
  k.add(Opcode::SIGNALCORE, {{isa::signal_core::queue, int64_t(queue)},
                             {isa::signal_core::core, coreReg},
                             {isa::signal_core::sem, sem},
                             {isa::signal_core::count, count}});
}

} // namespace

TEST(MultiCore, BarrierTakesAMessageToTheFirstCoreAndOneBack) {
  for (int64_t late : {0, 1})
    for (unsigned delay : {1u, 3u, 60u}) {
      Kernel k;
      branchIfCore(k, 1 - late, delay + 1);
      for (unsigned i = 0; i < delay; ++i)
        k.li(3, 0);
      auto pc = uint32_t(k.program.size());
      mark(k);
      barrier(k);
      mark(k);
      k.halt();
      TwoCores m;
      m.runBoth(k);
      EXPECT_EQ(m.found(), "");
      // Each sends in the cycle after its first mark: over 1 hop from the first
      // core to itself, over 2 from its neighbour; the same on the way back.
      // The barrier is done in the cycle in which the answer is there.
      uint64_t complete =
          std::max(m.mark(0, pc) + 1 + 1, m.mark(1, pc) + 1 + 2);
      EXPECT_EQ(m.mark(0, pc + 2), complete + 1 + 1);
      EXPECT_EQ(m.mark(1, pc + 2), complete + 2 + 1);
      Statistics s = m.device.statistics();
      for (const CoreStatistics &core : s.cores) {
        EXPECT_GT(core.engines[0][StallCause::Barrier], 0u);
        EXPECT_EQ(core.engines[0].total(), s.cycles);
      }
    }
}

TEST(MultiCore, BarrierOfOneCoreTakesACycle) {
  Kernel k;
  mark(k);
  barrier(k);
  barrier(k);
  mark(k);
  k.halt();
  Machine m;
  m.run(k);
  std::vector<uint64_t> times;
  for (const TraceEvent &e : m.trace)
    if (e.kind == TraceEvent::Kind::Mark)
      times.push_back(e.timeFs / 1'000'000);
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[1] - times[0], 3u);
}

TEST(MultiCore, BarriersInALoop) {
  Kernel k;
  k.add(Opcode::COREID, {{isa::coreid::rd, 1}});
  k.add(Opcode::ADDI,
        {{isa::addi::rd, 2}, {isa::addi::ra, 1}, {isa::addi::imm, 1}});
  k.add(Opcode::LOOP,
        {{isa::loop::rd, 3}, {isa::loop::count, 20}, {isa::loop::length, 3}});
  // Core 0 runs the inner loop once, core 1 twice.
  k.add(Opcode::LOOPR,
        {{isa::loopr::rd, 4}, {isa::loopr::ra, 2}, {isa::loopr::length, 1}});
  k.li(5, 0);
  barrier(k);
  k.halt();
  TwoCores m;
  m.runBoth(k);
  EXPECT_EQ(m.found(), "");
  EXPECT_EQ(m.device.statistics().dispatches.size(), 1u);
}

/// Core 0 stores a tile, core 1 loads it and stores it elsewhere.
static Kernel producerConsumer(bool waits = true) {
  auto f32 = NumericFormat::F32;
  Kernel k;
  k.td(0, tensor(Space::Spm, f32, {16}, 0));
  k.td(1, tensor(Space::Global, f32, {16}, Machine::dataArea));
  k.td(2, tensor(Space::Global, f32, {16}, Machine::dataArea + 4096));
  branchIfCore(k, 1, 5);
  k.add(Opcode::FILL, {{isa::fill::dst, 0}, {isa::fill::value, 77}}, {},
        {{0, 1}});
  k.store(1, 0, {{0, 1}});
  signalCore(k, Queue::St, 2, 3, 2); // pc 8
  k.halt();
  if (waits)
    k.load(0, 1, {{3, 2}}, {{1, 1}}); // pc 10
  else
    k.load(0, 1, {}, {{1, 1}}), k.wait(Queue::Vx, {{3, 2}});
  k.store(2, 0, {{1, 1}});
  k.halt();
  return k;
}

TEST(MultiCore, SignalCoreHandsOver) {
  TwoCores m;
  m.runBoth(producerConsumer());
  EXPECT_EQ(m.found(), "");
  EXPECT_EQ(m.read<uint32_t>(Machine::dataArea + 4096, 16),
            std::vector<uint32_t>(16, 77));
  // The signal goes when the store is acknowledged, a cycle of the queue at
  // least; 2 hops; the load starts in the cycle in which it arrives.
  uint64_t stored = m.cycleOf(TraceEvent::Kind::InstructionEnd, 0, 7);
  EXPECT_EQ(m.cycleOf(TraceEvent::Kind::InstructionEnd, 0, 8), stored);
  EXPECT_EQ(m.cycleOf(TraceEvent::Kind::InstructionBegin, 1, 10), stored + 2);
  EXPECT_GT(m.device.statistics().cores[1].engines[size_t(Engine::Load)]
                                                  [StallCause::Barrier],
            0u);
}

TEST(MultiCore, WithoutTheWaitItIsARace) {
  TwoCores m;
  m.runBoth(producerConsumer(false));
  EXPECT_THAT(m.found(), testing::StartsWith("race: nothing orders a "));
}

TEST(MultiCore, BarrierOrdersWhatSequencersWaitedFor) {
  for (bool fences : {false, true}) {
    auto f32 = NumericFormat::F32;
    Kernel k;
    k.td(0, tensor(Space::Spm, f32, {16}, 0));
    k.td(1, tensor(Space::Global, f32, {16}, Machine::dataArea));
    branchIfCore(k, 1, 5);
    k.add(Opcode::FILL, {{isa::fill::dst, 0}}, {}, {{0, 1}});
    k.store(1, 0, {{0, 1}});
    k.add(fences ? Opcode::FENCE : Opcode::MARK);
    k.add(Opcode::JUMP, {{isa::jump::offset, 1}});
    barrier(k);
    branchIfCore(k, 0, 2);
    k.load(0, 1);
    k.halt();
    TwoCores m;
    m.runBoth(k);
    EXPECT_EQ(m.found() == "", fences) << m.found();
  }
}

TEST(MultiCore, SignalFromTheSequencer) {
  // Core 1 is waiting long before.
  Kernel k;
  branchIfCore(k, 1, 104);
  for (int i = 0; i < 100; ++i)
    k.li(3, 0);
  mark(k); // pc 103
  signalCore(k, Queue::Seq, 2, 0, 1);
  k.halt();
  k.wait(Queue::Seq, {{0, 1}}); // pc 106
  mark(k);
  k.halt();
  TwoCores m;
  m.runBoth(k);
  EXPECT_EQ(m.found(), "");
  // Issued in the cycle after the mark, given one later, 2 hops; the wait is
  // done in that cycle, and the mark follows.
  EXPECT_EQ(m.mark(1, 107), m.mark(0, 103) + 1 + 1 + 2 + 1);
}

TEST(MultiCore, Faults) {
  // No such core; a core that has halted; a semaphore that is left over.
  for (int variant = 0; variant < 3; ++variant) {
    Kernel k;
    branchIfCore(k, 1, 204);
    k.li(2, variant == 0 ? 2 : 1);
    for (int i = 0; i < 199; ++i)
      k.li(3, 0);
    signalCore(k, Queue::Seq, 2, 0, 1);
    k.halt(); // pc 204
    mark(k);
    for (int i = 0; variant == 2 && i < 300; ++i)
      k.li(3, 0);
    k.halt();
    TwoCores m;
    m.runBoth(k);
    EXPECT_EQ(m.fault(), variant == 2 ? FaultCause::SemaphoreNotZero
                                      : FaultCause::CoreNotRunning)
        << variant;
  }
}

TEST(MultiCore, MissingBarrierIsADeadlock) {
  Kernel k;
  branchIfCore(k, 1, 2);
  barrier(k);
  k.halt();
  TwoCores m;
  m.runBoth(k);
  EXPECT_THAT(m.found(), testing::HasSubstr("another core does not come"));
}

TEST(MultiCore, SnapshotsHoldMessagesUnderWay) {
  TwoCores plain(Machine::smallHost()), stepped(Machine::smallHost());
  plain.runBoth(producerConsumer());
  stepped.start(producerConsumer());
  while (true) {
    TwoCores copy(Machine::smallHost());
    ASSERT_TRUE(copy.device.restore(stepped.device.save()).ok());
    copy.settle();
    ASSERT_EQ(copy.device.memoryHash(), plain.device.memoryHash());
    ASSERT_EQ(copy.device.now(), plain.device.now());
    if (!stepped.device.step())
      break;
    for (int i = 0; i < 8; ++i)
      stepped.device.step();
  }
}

} // namespace tessera::sim::test
