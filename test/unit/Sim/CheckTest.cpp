//===- CheckTest.cpp - Checking modes --------------------------*- C++ -*-===//
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
using testing::HasSubstr;

static DeviceOptions checked(bool race = true, bool memory = true,
                             bool sync = true) {
  DeviceOptions options = Machine::smallHost();
  options.checks = {race, memory, sync};
  return options;
}

static std::string textOf(const std::vector<Finding> &findings) {
  std::string text;
  for (const Finding &f : findings)
    text += print(f, nullptr);
  return text;
}

/// Runs a kernel that may fault or hang.
static std::vector<Finding> findingsOf(const Kernel &kernel,
                                       const Architecture &arch,
                                       const DeviceOptions &options) {
  Machine m(arch, options);
  isa::Packet packet;
  packet.body = m.place(kernel);
  m.submit(packet);
  m.settle();
  return m.device.findings();
}
static std::vector<Finding> findingsOf(const Kernel &kernel) {
  return findingsOf(kernel, tinyArchitecture(), checked());
}

static bool has(const std::vector<Finding> &findings, Finding::Kind kind) {
  for (const Finding &f : findings)
    if (f.kind == kind)
      return true;
  return false;
}

// A gather reads row 0 of a table while a scatter writes row 1. Without data
// both draw from both rows: that is no race.
TEST(Check, DrawnRowsAreNoAccesses) {
  auto f32 = NumericFormat::F32, i32 = NumericFormat::I32;
  Kernel k;
  k.td(0, tensor(Space::Spm, i32, {16}, 0));
  k.td(1, tensor(Space::Spm, i32, {16}, 256));
  k.td(2, tensor(Space::Spm, f32, {16, 8}, 1024));
  k.td(3, tensor(Space::Spm, f32, {16, 8}, 2048));
  k.td(4, tensor(Space::Global, f32, {2, 8}, Machine::dataArea));
  k.add(Opcode::FILL, {{isa::fill::dst, 0}, {isa::fill::value, 0}});
  k.add(Opcode::FILL, {{isa::fill::dst, 1}, {isa::fill::value, 1}});
  k.add(Opcode::FILL, {{isa::fill::dst, 3}, {isa::fill::value, 0}}, {},
        {{0, 1}});
  k.add(Opcode::LOADGATHER, {{isa::load_gather::dst, 2},
                             {isa::load_gather::src, 4},
                             {isa::load_gather::index, 0}});
  k.add(Opcode::STORESCATTER,
        {{isa::store_scatter::dst, 4},
         {isa::store_scatter::src, 3},
         {isa::store_scatter::index, 1}},
        {{0, 1}});
  k.halt();
  for (bool timingOnly : {false, true}) {
    DeviceOptions options = checked();
    options.timingOnly = timingOnly;
    EXPECT_EQ(textOf(findingsOf(k, tinyArchitecture(), options)), "");
  }
  // The scatter writes what the gather reads, and that is known.
  k.program[k.program.size() - 2].fields[isa::store_scatter::index] = 0;
  EXPECT_TRUE(has(findingsOf(k), Finding::Kind::Race));
}

namespace {
/// Semaphores of the pipeline: who hands what to whom.
enum : uint8_t {
  inputFull,  ///< load to matrix
  inputFree,  ///< matrix to load, two buffers
  accFull,    ///< matrix to vector
  accFree,    ///< vector to matrix
  outputFull, ///< vector to store
  outputFree, ///< store to vector
  weightFull, ///< load to matrix, once: implied by the others
  biasFull,   ///< load to vector, once: implied by the others
};
constexpr unsigned tiles = 6;
} // namespace

/// out[i] = a[i] · w + bias for tiles of 8×8, with two input buffers, through
/// all four queues.
static Kernel pipeline() {
  auto f32 = NumericFormat::F32;
  Kernel k;
  k.maps.push_back({});
  isa::MapProgram &add = k.maps.back();
  add.inputs = 2;
  add.outputs = 1;
  add.outRegs[0] = 2;
  isa::LaneInst sum;
  sum.opcode = isa::LaneOpcode::ADDF;
  sum.dst = 2, sum.a = 0, sum.b = 1;
  add.ops.push_back(sum);

  uint64_t data = Machine::dataArea;
  isa::Descriptor bias = tensor(Space::Spm, f32, {8, 8}, 0x2000);
  bias.strides[0] = 0;
  k.td(0, tensor(Space::Spm, f32, {8, 8}, 0x1000)); // weights
  k.td(1, bias);
  k.td(2, tensor(Space::Spm, f32, {8, 8}, 0x3000)); // output
  k.td(3, tensor(Space::Acc, f32, {8, 8}, 0));
  k.td(4, tensor(Space::Spm, f32, {8}, 0x2000));
  k.td(5, tensor(Space::Global, f32, {8, 8}, data));
  k.td(6, tensor(Space::Global, f32, {8}, data + 0x1000));
  k.td(10, tensor(Space::Spm, f32, {8, 8}, 0x4000)); // input buffers
  k.td(11, tensor(Space::Spm, f32, {8, 8}, 0x5000));
  k.signal(Queue::Seq, {{inputFree, 2}, {accFree, 1}, {outputFree, 1}});
  k.load(0, 5, {}, {{weightFull, 1}});
  k.load(4, 6, {}, {{biasFull, 1}});
  k.wait(Queue::Mx, {{weightFull, 1}});
  k.wait(Queue::Vx, {{biasFull, 1}});
  for (unsigned i = 0; i < tiles; ++i) {
    unsigned buffer = 10 + i % 2;
    k.td(7, tensor(Space::Global, f32, {8, 8}, data + 0x2000 + i * 256));
    k.td(8, tensor(Space::Global, f32, {8, 8}, data + 0x8000 + i * 256));
    k.load(buffer, 7, {{inputFree, 1}}, {{inputFull, 1}});
    k.mma(3, buffer, 0, false, {{inputFull, 1}, {accFree, 1}},
          {{inputFree, 1}, {accFull, 1}});
    k.map(0, 2, {3, 1}, {{accFull, 1}, {outputFree, 1}},
          {{accFree, 1}, {outputFull, 1}});
    k.store(8, 2, {{outputFull, 1}}, {{outputFree, 1}});
  }
  k.wait(Queue::Ld, {{inputFree, 2}});
  k.wait(Queue::Mx, {{accFree, 1}});
  k.wait(Queue::Vx, {{outputFree, 1}});
  k.halt();
  return k;
}

/// Removes entry `index` from a list and closes the gap.
template <size_t N>
static void removeStep(std::array<isa::SemaphoreStep, N> &steps, size_t index) {
  std::rotate(steps.begin() + long(index), steps.begin() + long(index) + 1,
              steps.end());
  steps.back() = {};
}
template <size_t N>
static bool removeSemaphore(std::array<isa::SemaphoreStep, N> &steps,
                            uint8_t sem) {
  bool any = false;
  for (size_t i = N; i-- > 0;)
    if (steps[i].count && steps[i].sem == sem)
      removeStep(steps, i), any = true;
  return any;
}

TEST(Check, CorrectPipelineIsCleanAndKeepsItsCycles) {
  Kernel k = pipeline();
  Machine plain, watched(tinyArchitecture(), checked());
  DispatchRecord expected = plain.run(k), actual = watched.run(k);
  EXPECT_EQ(actual.runCycle, expected.runCycle);
  EXPECT_EQ(actual.haltCycle, expected.haltCycle);
  EXPECT_EQ(watched.device.memoryHash(), plain.device.memoryHash());
  EXPECT_EQ(textOf(watched.device.findings()), "");
  // Again, with what the first run left in the scratchpad.
  watched.run(k);
  EXPECT_EQ(textOf(watched.device.findings()), "");
}

TEST(Check, EveryRemovedStepIsReported) {
  // Without its partner a wait or signal leaves a semaphore too low or too
  // high.
  Kernel correct = pipeline();
  unsigned removed = 0;
  for (size_t pc = 0; pc < correct.program.size(); ++pc)
    for (unsigned list = 0; list < 2; ++list)
      for (unsigned i = 0; i < 3; ++i) {
        Kernel k = correct;
        isa::Instruction &inst = k.program[pc];
        auto &steps = list ? inst.signals : inst.waits;
        if (steps[i].count == 0)
          continue;
        // A `wait` that waits for nothing is no instruction.
        bool isOnly =
            inst.opcode == Opcode::WAIT || inst.opcode == Opcode::SIGNAL;
        removeStep(steps, i);
        if (isOnly && steps[0].count == 0) {
          inst = {};
          inst.opcode = Opcode::MARK;
        }
        ++removed;
        std::vector<Finding> findings = findingsOf(k);
        EXPECT_TRUE(has(findings, Finding::Kind::SemaphoreNotZero) ||
                    has(findings, Finding::Kind::Deadlock))
            << "pc " << pc << ", " << (list ? "signal " : "wait ") << i << "\n"
            << textOf(findings);
        // A wait that is missing in the middle lets its instruction run ahead.
        if (list == 0 && correct.program[pc].opcode != Opcode::WAIT &&
            pc > correct.program.size() / 2) {
          EXPECT_TRUE(has(findings, Finding::Kind::Race))
              << isa::print(correct.program[pc]) << "\n"
              << textOf(findings);
        }
      }
  EXPECT_GT(removed, 60u);
}

TEST(Check, EveryRemovedHandOverThatMattersIsARace) {
  for (uint8_t sem = inputFull; sem <= biasFull; ++sem) {
    Kernel k = pipeline();
    for (isa::Instruction &inst : k.program) {
      removeSemaphore(inst.waits, sem);
      removeSemaphore(inst.signals, sem);
      bool isOnly =
          inst.opcode == Opcode::WAIT || inst.opcode == Opcode::SIGNAL;
      if (isOnly && !inst.waits[0].count && !inst.signals[0].count) {
        inst = {};
        inst.opcode = Opcode::MARK;
      }
    }
    std::vector<Finding> findings = findingsOf(k);
    if (sem != biasFull && sem != weightFull) {
      EXPECT_TRUE(has(findings, Finding::Kind::Race)) << "s" << unsigned(sem);
      continue;
    }
    // Weights and bias come before the inputs in the load queue: nothing is
    // missing,
    // and the results are the same however fast the engines are.
    EXPECT_EQ(textOf(findings), "");
    std::vector<uint32_t> results[4];
    for (unsigned speed = 0; speed < 4; ++speed) {
      Architecture arch = tinyArchitecture();
      arch.vector.latency = speed & 1 ? 1 : 100;
      arch.dma.loadBursts = speed & 2 ? 4 : 1;
      arch.dram.tRCDRD = speed & 2 ? 1 : 500;
      Machine m(arch, Machine::smallHost());
      std::vector<float> values(4096);
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = float(i % 7) - 3;
      m.write(Machine::dataArea, values);
      m.run(k);
      results[speed] = m.read<uint32_t>(Machine::dataArea + 0x8000, tiles * 64);
      EXPECT_EQ(results[speed], results[0]);
    }
  }
}

TEST(Check, RaceNamesBothInstructionsAndTheBytes) {
  Kernel k;
  auto f32 = NumericFormat::F32;
  k.td(0, tensor(Space::Spm, f32, {16}, 0x100));
  k.td(1, tensor(Space::Global, f32, {16}, Machine::dataArea));
  k.td(2, tensor(Space::Spm, f32, {8}, 0x110));
  k.td(3, tensor(Space::Global, f32, {8}, Machine::dataArea + 4096));
  k.load(0, 1);
  k.store(3, 2);
  k.halt();
  std::vector<Finding> findings = findingsOf(k);
  ASSERT_EQ(findings.size(), 1u) << textOf(findings);
  const Finding &f = findings[0];
  EXPECT_EQ(f.kind, Finding::Kind::Race);
  EXPECT_EQ(f.space, Space::Spm);
  EXPECT_EQ(f.low, 0x110u);
  EXPECT_EQ(f.high, 0x130u);
  ASSERT_EQ(f.instructions.size(), 2u);
  EXPECT_EQ(f.instructions[0].pc, 4u);
  EXPECT_EQ(f.instructions[0].engine, Engine::Load);
  EXPECT_EQ(f.instructions[0].kernel, Machine::kernelArea);
  EXPECT_EQ(f.instructions[1].pc, 5u);
  EXPECT_EQ(f.instructions[1].text, "isa.store dst = t3, src = t2");
  EXPECT_EQ(print(f, [](uint64_t,
                        uint32_t pc) { return "line " + std::to_string(pc); }),
            "race: nothing orders a write and a read: bytes 0x110 to 0x12f of "
            "the scratchpad\n"
            "  core 0, load, cycle " +
                std::to_string(f.instructions[0].cycle) +
                ", pc 4, line 4: isa.load dst = t0, src = t1\n"
                "  core 0, store, cycle " +
                std::to_string(f.instructions[1].cycle) +
                ", pc 5, line 5: isa.store dst = t3, src = t2\n");
  // The other modes do not look for races.
  EXPECT_EQ(findingsOf(k, tinyArchitecture(), checked(false)).size(), 0u);
}

TEST(Check, RaceThroughDeviceMemory) {
  // The load of what the store wrote must wait for it; queues alone do not
  // order them.
  for (bool ordered : {false, true}) {
    Kernel k;
    auto f32 = NumericFormat::F32;
    k.td(0, tensor(Space::Spm, f32, {16}, 0));
    k.td(1, tensor(Space::Global, f32, {16}, Machine::dataArea));
    k.td(2, tensor(Space::Spm, f32, {16}, 0x100));
    k.add(Opcode::FILL, {{isa::fill::dst, 0}}, {}, {{0, 1}});
    k.store(1, 0, {{0, 1}}, {{1, 1}});
    if (ordered)
      k.load(2, 1, {{1, 1}});
    else
      k.load(2, 1), k.wait(Queue::Vx, {{1, 1}});
    k.halt();
    std::vector<Finding> findings = findingsOf(k);
    ASSERT_EQ(findings.size(), ordered ? 0u : 1u) << textOf(findings);
    if (!ordered) {
      EXPECT_EQ(findings[0].space, Space::Global);
    }
  }
}

TEST(Check, CoresOfADispatchAreNotOrdered) {
  Architecture arch = tinyArchitecture();
  arch.cores.count = 2;
  arch.cores.meshX = 2;
  Kernel k;
  k.td(0, tensor(Space::Spm, NumericFormat::F32, {16}, 0));
  k.td(1, tensor(Space::Global, NumericFormat::F32, {16}, Machine::dataArea));
  k.add(Opcode::FILL, {{isa::fill::dst, 0}}, {}, {{0, 1}});
  k.store(1, 0, {{0, 1}});
  k.halt();
  for (uint8_t width : {1, 2}) {
    Machine m(arch, checked());
    for (unsigned times = 0; times < 2; ++times) {
      isa::Packet packet;
      isa::DispatchPacket dispatch = m.place(k);
      dispatch.width = width;
      packet.flags = isa::packetBarrier;
      packet.body = dispatch;
      m.submit(packet);
      m.settle();
    }
    std::vector<Finding> findings = m.device.findings();
    ASSERT_EQ(findings.size(), width - 1u) << textOf(findings);
    if (width == 2) {
      EXPECT_NE(findings[0].instructions[0].core,
                findings[0].instructions[1].core);
    }
  }
}

// However many cores read a byte, each read counts.
TEST(Check, ManyReadersOfDeviceMemory) {
  constexpr uint32_t readers = 11;
  Architecture arch = tinyArchitecture();
  arch.cores.count = arch.cores.meshX = readers + 1;
  arch.imemBytes = arch.tdmemBytes = 1 << 20;
  for (bool ordered : {false, true}) {
    Kernel k;
    k.td(0, tensor(Space::Spm, NumericFormat::F32, {16}, 0));
    k.td(1, tensor(Space::Global, NumericFormat::F32, {16}, Machine::dataArea));
    k.add(Opcode::COREID, {{isa::coreid::rd, 3}});
    // Each core but the last has a load of its own.
    for (uint32_t core = 0; core < readers; ++core) {
      k.li(2, core);
      k.add(Opcode::BNE,
            {{isa::bne::ra, 3}, {isa::bne::rb, 2}, {isa::bne::offset, 3}});
      k.load(0, 1, {}, {{0, 1}});
      k.wait(Queue::Seq, {{0, 1}});
    }
    if (ordered)
      k.add(Opcode::BARRIER);
    k.pause(2000); // all have read by then
    k.li(2, readers);
    k.add(Opcode::BNE,
          {{isa::bne::ra, 3}, {isa::bne::rb, 2}, {isa::bne::offset, 2}});
    k.store(1, 0);
    k.halt();
    Machine m(arch, checked(true, false, true));
    isa::Packet packet;
    isa::DispatchPacket dispatch = m.place(k);
    dispatch.width = uint8_t(readers + 1);
    packet.body = dispatch;
    m.submit(packet);
    m.settle();
    std::vector<Finding> findings = m.device.findings();
    EXPECT_EQ(findings.size(), ordered ? 0u : readers) << textOf(findings);
  }
}

TEST(Check, SemaphoreWithTwoSignallers) {
  // The vector engine waits once for two signals, by load and by matrix: both
  // surely came. One of two is not sure, unless one follows the other.
  auto f32 = NumericFormat::F32;
  enum { Both, One, Chained };
  for (int variant : {Both, One, Chained}) {
    Kernel k;
    k.maps.push_back({});
    k.maps[0].inputs = 1;
    k.maps[0].outputs = 1;
    k.td(0, tensor(Space::Spm, f32, {64}, 0));
    k.td(1, tensor(Space::Spm, f32, {64}, 0x1000));
    k.td(2, tensor(Space::Global, f32, {64}, Machine::dataArea));
    k.load(0, 2, {}, {{0, 1}, {1, 1}});
    if (variant == Chained)
      k.wait(Queue::Mx, {{1, 1}});
    k.signal(Queue::Mx, {{0, 1}});
    if (variant != Chained)
      k.wait(Queue::St, {{1, 1}});
    if (variant == Both) {
      k.map(0, 1, {0}, {{0, 2}});
    } else {
      // Both signals are there long before the wait.
      k.li(1, 0);
      for (int i = 0; i < 200; ++i)
        k.li(1, i);
      k.map(0, 1, {0}, {{0, 1}});
      k.wait(Queue::Vx, {{0, 1}});
    }
    k.halt();
    std::vector<Finding> findings = findingsOf(k);
    EXPECT_EQ(has(findings, Finding::Kind::Race), variant == One)
        << variant << "\n"
        << textOf(findings);
  }
}

TEST(Check, ScalarLoadIsOrderedByItsWait) {
  for (bool waits : {false, true}) {
    Kernel k;
    k.td(0, tensor(Space::Spm, NumericFormat::I32, {4}, 0));
    k.add(Opcode::FILL, {{isa::fill::dst, 0}}, {}, {{3, 1}});
    if (waits)
      k.wait(Queue::Seq, {{3, 1}});
    k.add(Opcode::LDS, {{isa::lds::rd, 1}, {isa::lds::ra, 0}});
    if (!waits)
      k.wait(Queue::Seq, {{3, 1}});
    k.halt();
    EXPECT_EQ(has(findingsOf(k), Finding::Kind::Race), !waits);
  }
}

TEST(Check, UninitializedReads) {
  Kernel k;
  auto f32 = NumericFormat::F32;
  k.td(0, tensor(Space::Spm, f32, {16}, 0x40));
  k.td(1, tensor(Space::Spm, f32, {32}, 0x40));
  k.td(2, tensor(Space::Global, f32, {32}, Machine::dataArea));
  k.add(Opcode::FILL, {{isa::fill::dst, 0}}, {}, {{0, 1}});
  k.store(2, 1, {{0, 1}});
  k.halt();
  std::vector<Finding> findings = findingsOf(k);
  ASSERT_EQ(findings.size(), 1u) << textOf(findings);
  EXPECT_EQ(findings[0].kind, Finding::Kind::Uninitialized);
  EXPECT_EQ(findings[0].low, 0x80u);
  EXPECT_EQ(findings[0].high, 0xc0u);
  EXPECT_EQ(findings[0].instructions[0].pc, 4u);
  EXPECT_EQ(findingsOf(k, tinyArchitecture(), checked(true, false)).size(), 0u);
}

TEST(Check, DeadlockShowsTheCycle) {
  Kernel k;
  k.signal(Queue::Seq, {{5, 1}});
  // The matrix queue waits for the vector queue's second instruction, and the
  // other way round.
  k.wait(Queue::Mx, {{0, 1}});
  k.signal(Queue::Mx, {{1, 1}});
  k.wait(Queue::Vx, {{1, 1}});
  k.signal(Queue::Vx, {{0, 1}});
  k.wait(Queue::Ld, {{5, 1}});
  k.halt();
  std::vector<Finding> findings = findingsOf(k);
  ASSERT_EQ(findings.size(), 1u) << textOf(findings);
  EXPECT_EQ(findings[0].kind, Finding::Kind::Deadlock);
  ASSERT_EQ(findings[0].instructions.size(), 2u);
  EXPECT_EQ(findings[0].instructions[0].engine, Engine::Matrix);
  EXPECT_EQ(findings[0].instructions[1].engine, Engine::Vector);
  EXPECT_THAT(findings[0].instructions[0].text,
              HasSubstr("isa.wait queue = mx wait(s0 >= 1) -- waits for s0 >= "
                        "1, which is 0; pc 4 in the vector queue"));
}

TEST(Check, WaitForWhatNeverComes) {
  Kernel k;
  k.wait(Queue::St, {{2, 3}});
  k.halt();
  std::vector<Finding> findings = findingsOf(k);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].instructions[0].text,
              HasSubstr("no instruction is left that signals it"));
}

TEST(Check, RestoringForgetsHistory) {
  Kernel k = pipeline();
  Machine m(tinyArchitecture(), checked());
  isa::Packet packet;
  packet.body = m.place(k);
  m.submit(packet);
  for (int i = 0; i < 400; ++i)
    m.device.step();
  std::vector<std::byte> snapshot = m.device.save();
  Machine other(tinyArchitecture(), checked());
  ASSERT_TRUE(other.device.restore(snapshot).ok());
  other.settle();
  EXPECT_EQ(textOf(other.device.findings()), "");
}

} // namespace tessera::sim::test
