//===- SequencerTest.cpp - Scalar code, loops, semaphores, faults -*- C++
//-*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimFixture.h"
#include <functional>

namespace tessera::sim::test {

using isa::Opcode;
using isa::Queue;
using isa::mmio::FaultCause;

static uint64_t cycles(const DispatchRecord &r) {
  return r.haltCycle - r.runCycle;
}

TEST(Sequencer, OneInstructionPerCycle) {
  Machine m;
  Kernel k;
  for (int i = 0; i < 5; ++i)
    k.li(1, i);
  k.halt();
  // Five instructions and the halt.
  EXPECT_EQ(cycles(m.run(k)), 6u);
}

TEST(Sequencer, HardwareLoopHasNoOverhead) {
  Machine m;
  Kernel k;
  // loop 10 { li; loop 3 { li; li } }: 1 + 10 * (1 + 1 + 3 * 2) + halt = 82
  k.add(Opcode::LOOP,
        {{isa::loop::rd, 1}, {isa::loop::count, 10}, {isa::loop::length, 4}});
  k.li(2, 0);
  k.add(Opcode::LOOP,
        {{isa::loop::rd, 3}, {isa::loop::count, 3}, {isa::loop::length, 2}});
  k.li(4, 0);
  k.li(5, 0);
  k.halt();
  EXPECT_EQ(cycles(m.run(k)), 82u);
}

TEST(Sequencer, RegisterLoopSkipsItsBody) {
  Machine m;
  Kernel k;
  k.add(Opcode::LOOPR,
        {{isa::loopr::rd, 1}, {isa::loopr::ra, 2}, {isa::loopr::length, 2}});
  k.li(4, 0);
  k.li(5, 0);
  k.halt();
  EXPECT_EQ(cycles(m.run(k)), 2u);
}

/// Runs scalar code that ends with a result in r1 and returns r1: it becomes
/// the count of a loop.
static uint64_t evaluate(const std::function<void(Kernel &)> &code,
                         std::vector<uint64_t> arguments = {}) {
  Machine m;
  Kernel k;
  k.arguments = std::move(arguments);
  code(k);
  // Each iteration costs exactly one cycle.
  k.add(Opcode::LOOPR,
        {{isa::loopr::rd, 2}, {isa::loopr::ra, 1}, {isa::loopr::length, 1}});
  k.li(3, 0);
  k.halt();
  return cycles(m.run(k)) - k.program.size() + 1;
}

TEST(Sequencer, Arithmetic) {
  auto binary = [](Opcode op, int64_t a, int64_t b) {
    return evaluate([=](Kernel &k) {
      k.li(4, a);
      k.li(5, b);
      k.add(op, {{isa::add::rd, 1}, {isa::add::ra, 4}, {isa::add::rb, 5}});
    });
  };
  EXPECT_EQ(binary(Opcode::ADD, 5, 7), 12u);
  EXPECT_EQ(binary(Opcode::SUB, 5, -7), 12u);
  EXPECT_EQ(binary(Opcode::MUL, -3, -4), 12u);
  EXPECT_EQ(binary(Opcode::AND, 12, 10), 8u);
  EXPECT_EQ(binary(Opcode::SHL, 3, 66), 12u);
  EXPECT_EQ(binary(Opcode::SHR, -1, 60), 15u);
  EXPECT_EQ(binary(Opcode::SLT, -1, 0), 1u);
  EXPECT_EQ(binary(Opcode::MAX, -1, 9), 9u);
  EXPECT_EQ(binary(Opcode::DIVU, 100, 9), 11u);
  EXPECT_EQ(binary(Opcode::REMU, 100, 9), 1u);
}

TEST(Sequencer, ArgumentsAndBranches) {
  EXPECT_EQ(evaluate(
                [](Kernel &k) {
                  k.add(Opcode::LDARG,
                        {{isa::ldarg::rd, 1}, {isa::ldarg::index, 1}});
                },
                {3, 17}),
            17u);
  // Counts r1 up to 5 with a branch back: li, li, then 5 × (addi, blt).
  Machine m;
  Kernel k;
  k.li(1, 0);
  k.li(2, 5);
  k.add(Opcode::ADDI,
        {{isa::addi::rd, 1}, {isa::addi::ra, 1}, {isa::addi::imm, 1}});
  k.add(Opcode::BLT,
        {{isa::blt::ra, 1}, {isa::blt::rb, 2}, {isa::blt::offset, -1}});
  k.halt();
  EXPECT_EQ(cycles(m.run(k)), 2 + 5 * 2 + 1u);
}

TEST(Sequencer, SignalIsSeenInTheNextCycle) {
  Machine m;
  Kernel k;
  k.signal(Queue::Seq, {{3, 2}});
  k.wait(Queue::Seq, {{3, 2}});
  k.halt();
  EXPECT_EQ(cycles(m.run(k)), 3u);
}

TEST(Sequencer, SignalThroughAQueue) {
  Machine m;
  Kernel k;
  // Pushed in cycle 0, started in 1, one cycle; the wait is taken in 2.
  k.signal(Queue::Vx, {{0, 1}});
  k.wait(Queue::Seq, {{0, 1}});
  k.halt();
  EXPECT_EQ(cycles(m.run(k)), 4u);
}

TEST(Sequencer, WaitsAreTakenTogether) {
  Machine m;
  Kernel k;
  // The vector queue's wait needs both; the second comes later.
  k.wait(Queue::Vx, {{0, 1}, {1, 1}});
  k.signal(Queue::Vx, {{2, 1}});
  k.signal(Queue::Seq, {{0, 1}});
  for (int i = 0; i < 10; ++i)
    k.li(1, 0);
  k.signal(Queue::Seq, {{1, 1}});
  k.wait(Queue::Seq, {{2, 1}});
  k.halt();
  DispatchRecord r = m.run(k);
  // Signal issued in cycle 13, seen in 14: the wait takes 14, the signal 15, so
  // s2 is there in 16, the sequencer's wait takes 16, halt 17.
  EXPECT_EQ(m.span(0).begin, 14u);
  EXPECT_EQ(cycles(r), 18u);
}

TEST(Sequencer, AQueuesWaitTakesItsCycleBeforeTheCoreIsDone) {
  for (Queue queue : {Queue::Ld, Queue::St, Queue::Mx, Queue::Vx}) {
    Machine m;
    Kernel k;
    k.wait(queue, {{0, 1}});
    k.signal(queue == Queue::Vx ? Queue::Mx : Queue::Vx, {{0, 1}});
    k.halt();
    // The signal is pushed in cycle 1, starts in 2, is given in 3; the wait
    // takes 3; the halt was over in 3 already.
    EXPECT_EQ(cycles(m.run(k)), 4u);
  }
}

static FaultCause faultOf(const std::function<void(Kernel &)> &code,
                          uint64_t pc, uint64_t budget = 0) {
  Machine m;
  Kernel k;
  k.budget = budget;
  code(k);
  isa::Packet packet;
  packet.body = m.place(k);
  m.submit(packet);
  m.settle();
  EXPECT_EQ(m.queueRegister(isa::mmio::faultPc), pc);
  EXPECT_EQ(m.queueRegister(isa::mmio::queueStatus),
            uint64_t(isa::mmio::QueueStatus::Faulted));
  EXPECT_EQ(m.semaphore(Machine::doneSemaphore), 0u);
  return m.fault();
}

TEST(Sequencer, Faults) {
  EXPECT_EQ(faultOf([](Kernel &k) { k.li(1, 0); }, 1),
            FaultCause::IllegalInstruction);
  EXPECT_EQ(
      faultOf([](Kernel &k) { k.add(Opcode::TRAP, {{isa::trap::code, 9}}); },
              0),
      FaultCause::Trap);
  EXPECT_EQ(faultOf([](Kernel &k) { k.add(Opcode::DIVU); }, 0),
            FaultCause::DivideByZero);
  EXPECT_EQ(faultOf([](Kernel &k) { k.add(Opcode::LDARG); }, 0),
            FaultCause::ArgumentIndex);
  EXPECT_EQ(faultOf([](Kernel &k) { k.add(Opcode::TDLOAD); }, 0),
            FaultCause::DescriptorIndex);
  EXPECT_EQ(
      faultOf([](Kernel &k) { k.add(Opcode::JUMP, {{isa::jump::offset, -1}}); },
              0),
      FaultCause::IllegalBranch);
  EXPECT_EQ(faultOf(
                [](Kernel &k) { // into a loop's body
                  k.add(Opcode::JUMP, {{isa::jump::offset, 2}});
                  k.add(Opcode::LOOP,
                        {{isa::loop::count, 2}, {isa::loop::length, 1}});
                  k.li(1, 0);
                  k.halt();
                },
                0),
            FaultCause::IllegalBranch);
  EXPECT_EQ(faultOf(
                [](Kernel &k) {
                  k.add(Opcode::LOOP,
                        {{isa::loop::count, 2}, {isa::loop::length, 9}});
                  k.halt();
                },
                0),
            FaultCause::IllegalLoop);
  EXPECT_EQ(faultOf(
                [](Kernel &k) {
                  for (int i = 0; i < 7; ++i)
                    k.add(Opcode::LOOP,
                          {{isa::loop::count, 1}, {isa::loop::length, 7 - i}});
                  k.li(1, 0);
                  k.halt();
                },
                6),
            FaultCause::LoopNesting);
  EXPECT_EQ(faultOf(
                [](Kernel &k) {
                  k.add(Opcode::LDS,
                        {{isa::lds::rd, 1}, {isa::lds::imm, 65536}});
                },
                0),
            FaultCause::SpmOutOfBounds);
  EXPECT_EQ(
      faultOf([](Kernel &k) { k.add(Opcode::LDS, {{isa::lds::imm, 2}}); }, 0),
      FaultCause::Misaligned);
}

TEST(Sequencer, SemaphoreFaults) {
  EXPECT_EQ(faultOf(
                [](Kernel &k) {
                  k.signal(Queue::Seq, {{0, 1}});
                  k.halt();
                },
                1),
            FaultCause::SemaphoreNotZero);
  EXPECT_EQ(faultOf(
                [](Kernel &k) {
                  // 66 × 1000 exceeds 65,535.
                  k.add(Opcode::LOOP,
                        {{isa::loop::count, 66}, {isa::loop::length, 1}});
                  k.signal(Queue::Seq, {{0, 1000}});
                  k.halt();
                },
                1),
            FaultCause::SemaphoreOverflow);
  EXPECT_EQ(faultOf(
                [](Kernel &k) {
                  k.wait(Queue::Vx, {{0, 1}});
                  k.li(1, 0);
                  k.wait(Queue::Seq, {{0, 1}});
                  k.halt();
                },
                2),
            FaultCause::SemaphoreWaiters);
}

TEST(Sequencer, WatchdogStopsAtTheBudgetExactly) {
  auto spin = [](unsigned length, uint64_t budget) {
    Machine m;
    Kernel k;
    k.budget = budget;
    k.add(Opcode::LOOP, {{isa::loop::count, length}, {isa::loop::length, 1}});
    k.li(1, 0);
    k.halt();
    isa::Packet packet;
    packet.body = m.place(k);
    m.submit(packet);
    m.settle();
    return m.fault();
  };
  // loop, 98 × li, halt: 100 cycles.
  EXPECT_EQ(spin(98, 100), FaultCause::None);
  EXPECT_EQ(spin(99, 100), FaultCause::Watchdog);
}

TEST(Sequencer, DeadlockIsExplained) {
  Machine m;
  Kernel k;
  k.wait(Queue::Seq, {{5, 2}});
  k.halt();
  isa::Packet packet;
  packet.body = m.place(k);
  m.submit(packet);
  EXPECT_EQ(m.device.advance(timeInfinite), StopReason::Quiescent);
  auto lines = m.device.explainWaits();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1],
            "core 0, sequencer: `wait` at pc 0 waits for s5 >= 2 (it is 0)");
}

} // namespace tessera::sim::test
