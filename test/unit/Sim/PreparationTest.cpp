//===- PreparationTest.cpp - Dispatches read ahead --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules of docs/timing.md, "Preparing a dispatch". On the tests' machine a
// read in an open row takes 1 + 10 + 4 + 1 = 16 cycles from the CP or a core
// and a message 1.
//
//===----------------------------------------------------------------------===//

#include "SimFixture.h"
#include <cstring>

namespace tessera::sim::test {

using isa::Opcode;
using isa::mmio::FaultCause;

namespace {

/// In other banks than the first kernel: both keep their rows open.
constexpr uint64_t secondArea = Machine::kernelArea + 0x4000;

/// Runs `cycles` cycles in few bytes of text: 32 of them.
Kernel longKernel(unsigned cycles) {
  Kernel k;
  k.pause(cycles - 2); // `loop` and `halt` take one each
  k.halt();
  return k;
}

/// `instructions` cycles and words of 16 bytes.
Kernel straightKernel(unsigned instructions) {
  Kernel k;
  for (unsigned i = 1; i < instructions; ++i)
    k.li(1, 0);
  k.halt();
  return k;
}

constexpr uint8_t prefetchBarrier = isa::packetBarrier | isa::packetPrefetch;

class Preparation : public testing::Test {
protected:
  static isa::Packet packet(decltype(isa::Packet::body) body,
                            uint8_t flags = prefetchBarrier) {
    isa::Packet p;
    p.flags = flags;
    p.body = std::move(body);
    return p;
  }

  /// Runs the packets, which are published together; the records of theirs.
  static std::vector<DispatchRecord>
  runTogether(Machine &m, const std::vector<isa::Packet> &packets) {
    size_t before = m.device.statistics().dispatches.size();
    for (const isa::Packet &p : packets)
      m.submit(p, false);
    m.ringDoorbell();
    m.settle();
    std::vector<DispatchRecord> all = m.device.statistics().dispatches;
    all.erase(all.begin(), all.begin() + before);
    return all;
  }

  /// Walks and row openings are over.
  static void warm(Machine &m, const Kernel &a, const Kernel &b) {
    runTogether(m, {packet(m.place(a)), packet(m.place(b, secondArea))});
  }
};

} // namespace

// Everything is there when the first one ends: a message back, `cp.signal`, a
// message there.
TEST_F(Preparation, StartsWithAMessage) {
  Machine m;
  Kernel first = longKernel(400), second = straightKernel(2);
  warm(m, first, second);
  auto r = runTogether(
      m, {packet(m.place(first)), packet(m.place(second, secondArea))});
  ASSERT_EQ(r.size(), 2u);
  EXPECT_EQ(r[0].haltCycle - r[0].runCycle, 400u);
  EXPECT_EQ(r[1].startCycle, r[0].endCycle);
  EXPECT_EQ(r[1].runCycle - r[0].haltCycle, 1 + 10 + 1u);
  EXPECT_EQ(r[1].haltCycle - r[1].runCycle, 2u);
}

// Without the flag nothing is read before the start: 20 + 16 + 1 + 16 after it.
TEST_F(Preparation, OnlyOfWhatMayBe) {
  Machine m;
  Kernel first = longKernel(400), second = straightKernel(2);
  warm(m, first, second);
  auto r =
      runTogether(m, {packet(m.place(first)),
                      packet(m.place(second, secondArea), isa::packetBarrier)});
  ASSERT_EQ(r.size(), 2u);
  EXPECT_EQ(r[1].runCycle - r[1].startCycle, 20 + 16 + 1 + 16u);
}

// The first one is so short that the second one's code is still loading. It
// starts in s, the packet behind it is decoded 10 cycles later and prepared
// from then on: 20 until its record is read, 16, a message, and n bursts: with
// a burst every 4 cycles from one row n - 1 times 4 more than 16.
TEST_F(Preparation, StartsWhenTheCodeIsThere) {
  Machine m;
  Kernel first = longKernel(40), second = straightKernel(80); // 20 bursts
  warm(m, first, second);
  auto r = runTogether(
      m, {packet(m.place(first)), packet(m.place(second, secondArea))});
  ASSERT_EQ(r.size(), 2u);
  // 20 + 16 + 1 + 16 + 40, and a message back and the signal.
  EXPECT_EQ(r[1].startCycle - r[0].startCycle, 93 + 11u);
  EXPECT_EQ(r[1].runCycle - r[0].startCycle, 10 + 20 + 16 + 1 + 16 + 19 * 4u);
}

// Both do not fit: the code is loaded when the first one has ended, before it
// is known to the CP that it has.
TEST_F(Preparation, LoadsAtTheEndOfWhatLeavesNoRoom) {
  Architecture arch = tinyArchitecture();
  arch.imemBytes = 1024;
  Machine m(arch);
  // 512 + 528 bytes.
  Kernel first = straightKernel(32), second = straightKernel(33);
  warm(m, first, second);
  auto r = runTogether(
      m, {packet(m.place(first)), packet(m.place(second, secondArea))});
  ASSERT_EQ(r.size(), 2u);
  // 9 bursts from the halt on: 16 + 8 · 4.
  EXPECT_EQ(r[1].runCycle - r[0].haltCycle, 16 + 8 * 4u);
}

// What is in the memories is not loaded again, if it was loaded after the
// packet was published.
TEST_F(Preparation, AKernelIsLoadedOnce) {
  Machine m;
  Kernel a = straightKernel(20), b = straightKernel(24); // 320 and 384 bytes
  warm(m, a, b);
  auto bytesRead = [&](const std::vector<isa::Packet> &packets) {
    uint64_t before = m.device.statistics().dramBytesRead;
    runTogether(m, packets);
    return m.device.statistics().dramBytesRead - before;
  };
  // Records of 64 bytes, and code.
  EXPECT_EQ(
      bytesRead({packet(m.place(a)), packet(m.place(a)), packet(m.place(a))}),
      3 * 64 + 320u);
  EXPECT_EQ(bytesRead({packet(m.place(a)), packet(m.place(b, secondArea)),
                       packet(m.place(a)), packet(m.place(b, secondArea))}),
            4 * 64 + 320 + 384u);
  // Without the flag every time.
  EXPECT_EQ(bytesRead({packet(m.place(a), isa::packetBarrier),
                       packet(m.place(a), isa::packetBarrier)}),
            2 * 64 + 2 * 320u);
  // A packet published after the loading says nothing about what was before.
  EXPECT_EQ(bytesRead({packet(m.place(a))}), 64 + 320u);
}

// The host changes the code between two packets: the second one runs the new
// one although the old one is still in the core.
TEST_F(Preparation, CodeChangedBeforePublicationIsSeen) {
  Machine m;
  runTogether(m, {packet(m.place(straightKernel(20)))});
  auto r = runTogether(m, {packet(m.place(longKernel(300)))});
  EXPECT_EQ(r[0].haltCycle - r[0].runCycle, 300u);
}

// What an earlier packet writes is seen if the flag does not promise otherwise.
TEST_F(Preparation, ArgumentsWrittenByThePacketBefore) {
  Machine m;
  Kernel k;
  k.arguments = {7};
  k.add(Opcode::LDARG, {{isa::ldarg::rd, 1}});
  k.add(Opcode::LOOPR,
        {{isa::loopr::rd, 2}, {isa::loopr::ra, 1}, {isa::loopr::length, 1}});
  k.li(3, 0);
  k.halt();
  isa::DispatchPacket dispatch = m.place(k, secondArea);
  isa::FillPacket fill;
  fill.destination = dispatch.arguments;
  fill.size = 4;
  fill.pattern = 100;
  isa::DispatchPacket first = m.place(longKernel(3000));
  dispatch.completion.value = m.nextValue++;
  auto r = runTogether(m, {packet(first), packet(fill, isa::packetBarrier),
                           packet(dispatch, isa::packetBarrier)});
  ASSERT_EQ(r.size(), 2u);
  // ldarg, loop, 100, halt.
  EXPECT_EQ(r[1].haltCycle - r[1].runCycle, 103u);
}

// A record, arguments or code that cannot be read fault when the dispatch
// starts, not before.
TEST_F(Preparation, FaultsAtTheStart) {
  for (int what = 0; what < 3; ++what) {
    Machine m;
    isa::DispatchPacket first = m.place(longKernel(2000));
    isa::DispatchPacket bad = m.place(straightKernel(2), secondArea);
    uint64_t beyond = 200ull << 21;
    if (what == 0) {
      bad.kernel = beyond;
    } else if (what == 1) {
      bad.arguments = beyond;
      bad.numArguments = 1;
    } else {
      isa::KernelRecord record;
      record.text = beyond;
      record.textBytes = 32;
      auto image = isa::encode(record);
      m.write(secondArea, std::vector<uint8_t>(image.begin(), image.end()));
    }
    auto r = runTogether(m, {packet(first), packet(bad)});
    ASSERT_EQ(r.size(), 1u) << what;
    EXPECT_EQ(m.fault(), FaultCause::PageFault) << what;
    EXPECT_EQ(m.queueRegister(isa::mmio::faultPacket) & 0xffffffff, 1u);
    EXPECT_EQ(m.queueRegister(isa::mmio::faultAddress), beyond);
    EXPECT_EQ(m.semaphore(Machine::doneSemaphore), 1u);
  }
}

// The page of the code is taken away while the first one runs and the second
// one is prepared: it is read again at its start, and faults.
TEST_F(Preparation, TranslationsDroppedMeanwhile) {
  for (uint64_t wait : {15u, 45u, 50u, 60u, 70u, 1000u}) {
    Machine m;
    uint64_t own = 10ull << 21;
    Kernel first = longKernel(4000), second = straightKernel(2);
    runTogether(m, {packet(m.place(first)), packet(m.place(second, own))});
    m.submit(packet(m.place(first)), false);
    m.submit(packet(m.place(second, own)), false);
    m.ringDoorbell();
    // Until the first one starts, and some cycles more.
    uint64_t target = 0;
    for (size_t seen = m.trace.size(); !target || m.device.now() < target;) {
      ASSERT_TRUE(m.device.step());
      for (; seen < m.trace.size(); ++seen)
        if (m.trace[seen].kind == TraceEvent::Kind::DispatchBegin && !target)
          target = m.device.now() + wait * 1'000'000;
    }
    isa::PageEntry leaf;
    leaf.valid = leaf.leaf = leaf.read = leaf.write = true; // not executable
    leaf.address = own;
    m.write<uint64_t>(0x3000 + 8 * 10, {leaf.encode()});
    m.settle();
    EXPECT_EQ(m.fault(), FaultCause::ProtectionFault) << wait;
    EXPECT_EQ(m.queueRegister(isa::mmio::faultPacket) & 0xffffffff, 3u);
    // The first one is not concerned.
    EXPECT_EQ(m.device.statistics().dispatches.size(), 3u) << wait;
  }
}

// A fault of the first one: what was prepared is dropped, and its place is free
// for others.
TEST_F(Preparation, DroppedWithItsQueue) {
  Machine m;
  Kernel bad;
  bad.pause(500);
  bad.add(Opcode::TRAP);
  Kernel second = straightKernel(2);
  auto r = runTogether(
      m, {packet(m.place(bad)), packet(m.place(second, secondArea))});
  EXPECT_EQ(m.fault(), FaultCause::Trap);
  EXPECT_EQ(r.size(), 0u);
  using namespace isa::mmio;
  for (uint64_t on : {0, 1})
    ASSERT_TRUE(m.device.mmioWrite(queueBase + queueEnable, on).ok());
  m.published = 0;
  m.device.hostMemory()[0] = m.device.hostMemory()[64] =
      std::byte(isa::PacketType::Invalid);
  Kernel first = longKernel(400);
  r = runTogether(
      m, {packet(m.place(first)), packet(m.place(second, secondArea))});
  ASSERT_EQ(r.size(), 2u);
  EXPECT_EQ(r[1].runCycle - r[0].haltCycle, 1 + 10 + 1u);
}

namespace {
/// A second queue beside the machine's.
constexpr uint64_t queue1 = isa::mmio::queueBase + isa::mmio::queueStride,
                   ring1 = Machine::ringPackets * 64;

void enableQueue1(Machine &m) {
  using namespace isa::mmio;
  ASSERT_TRUE(m.device.mmioWrite(queue1 + queueRing, ring1).ok());
  ASSERT_TRUE(m.device.mmioWrite(queue1 + queueSize, 16).ok());
  ASSERT_TRUE(
      m.device.mmioWrite(queue1 + queueContext, Machine::pageTable).ok());
  ASSERT_TRUE(m.device.mmioWrite(queue1 + queueEnable, 1).ok());
}

void submitFirstTo1(Machine &m, const isa::Packet &packet) {
  auto image = isa::encode(packet);
  std::memcpy(m.device.hostMemory().data() + ring1, image.data(), 64);
  ASSERT_TRUE(m.device.mmioWrite(queue1 + isa::mmio::queueDoorbell, 0).ok());
}
} // namespace

// A dispatch that waits for a semaphore is prepared on a core that is free;
// another queue's dispatch runs there meanwhile. If both fit what was prepared
// stays; else it gives way and is loaded again.
TEST_F(Preparation, AnotherQueueRunsMeanwhile) {
  for (bool fits : {true, false}) {
    Architecture arch = tinyArchitecture();
    if (!fits)
      arch.imemBytes = 1024;
    Machine m(arch);
    enableQueue1(m);
    Kernel waiting = straightKernel(33), other = straightKernel(32);
    runTogether(m,
                {packet(m.place(waiting)), packet(m.place(other, secondArea))});
    isa::DispatchPacket d = m.place(waiting);
    d.wait = {9, 1};
    m.submit(packet(d));
    m.settle(); // it is prepared and waits
    isa::DispatchPacket o = m.place(other, secondArea);
    o.completion = {9, 1};
    submitFirstTo1(m, packet(o));
    m.settle();
    auto r = m.device.statistics().dispatches;
    ASSERT_EQ(r.size(), 4u);
    EXPECT_EQ(r[2].queue, 1u);
    EXPECT_EQ(r[3].startCycle, r[2].endCycle);
    EXPECT_EQ(r[3].runCycle - r[2].haltCycle, fits ? 12u : 16 + 8 * 4u);
  }
}

// A core has one prepared task: the dispatch that asks later is read, and told
// to the cores when it starts or the place is free.
TEST_F(Preparation, OnePlaceACore) {
  Machine m;
  enableQueue1(m);
  Kernel k = straightKernel(2);
  isa::DispatchPacket a = m.place(k), b = m.place(k, secondArea);
  runTogether(m, {packet(a), packet(b)});
  a.completion = b.completion = {};
  a.wait = {9, 2};
  b.wait = {10, 1};
  m.submit(packet(a));
  m.settle();
  submitFirstTo1(m, packet(b));
  m.settle();
  EXPECT_EQ(m.device.statistics().dispatches.size(), 2u);
  auto signal = [&](uint32_t semaphore, uint64_t value) {
    ASSERT_TRUE(
        m.device.mmioWrite(isa::mmio::semaphoreBase + 8 * semaphore, value)
            .ok());
    m.settle();
  };
  signal(10, 1); // b: a message and a burst
  auto r = m.device.statistics().dispatches;
  ASSERT_EQ(r.size(), 3u);
  EXPECT_EQ(r[2].kernel, secondArea);
  EXPECT_EQ(r[2].runCycle - r[2].startCycle, 1 + 16u);
  signal(9, 2);
  r = m.device.statistics().dispatches;
  ASSERT_EQ(r.size(), 4u);
  EXPECT_EQ(r[3].runCycle - r[3].startCycle, 1u);
}

// Dispatches on other cores than those before them, overlapping in part.
TEST_F(Preparation, RectanglesThatOverlap) {
  Architecture arch = tinyArchitecture();
  arch.cores = {4, 2, 2};
  Machine m(arch);
  Kernel first = longKernel(400), second = straightKernel(2);
  isa::DispatchPacket a = m.place(first), b = m.place(second, secondArea);
  a.width = 2;
  b.height = 2;
  auto completed = [&](isa::DispatchPacket &d) {
    d.completion = {Machine::doneSemaphore, m.nextValue++};
    return packet(d);
  };
  runTogether(m, {packet(a), packet(b)});
  auto r = runTogether(m, {completed(a), completed(b), completed(a)});
  ASSERT_EQ(r.size(), 3u);
  EXPECT_EQ(m.fault(), FaultCause::None);
  EXPECT_EQ(r[1].startCycle, r[0].endCycle);
  // Mesh: core 0 is a hop from the CP, cores 1 and 2 are two.
  EXPECT_EQ(r[1].runCycle - r[0].haltCycle, 2 + 10 + 2u);
  // The third one is decoded when the second one, of two cycles, starts.
  EXPECT_EQ(r[2].startCycle, r[1].endCycle);
  EXPECT_LE(r[2].runCycle - r[1].haltCycle, 150u);
  Statistics s = m.device.statistics();
  for (const CoreStatistics &core : s.cores)
    for (const EngineCycles &engine : core.engines)
      EXPECT_EQ(engine.total(), s.cycles);
}

// The cores are stalled: a prepared dispatch waits like any other.
TEST_F(Preparation, StalledCores) {
  Machine m;
  Kernel k = straightKernel(2);
  isa::DispatchPacket d = m.place(k);
  runTogether(m, {packet(d)});
  d.wait = {9, 1};
  d.completion = {};
  m.submit(packet(d));
  m.settle();
  ASSERT_TRUE(m.device.stall(StallableUnit::Cores, 0, 500).ok());
  ASSERT_TRUE(m.device.mmioWrite(isa::mmio::semaphoreBase + 8 * 9, 1).ok());
  m.settle();
  auto r = m.device.statistics().dispatches;
  ASSERT_EQ(r.size(), 2u);
  EXPECT_EQ(r[1].runCycle - r[1].startCycle, 500 + 1u);
}

// Started in a stall at any time of its preparation, with another queue's
// dispatch prepared on the same core: the cores are told when the stall is
// over, once.
TEST_F(Preparation, StalledWhileItIsPrepared) {
  for (uint64_t wait = 0; wait < 60; wait += 3) {
    Machine m;
    enableQueue1(m);
    Kernel k = straightKernel(2);
    isa::DispatchPacket a = m.place(k), b = m.place(k, secondArea);
    runTogether(m, {packet(a), packet(b)});
    a.completion = b.completion = {};
    a.wait = {9, 1};
    b.wait = {10, 1};
    m.submit(packet(a));
    submitFirstTo1(m, packet(b));
    // Doorbell, fetch and decode take 500 + 1024 + 10 cycles.
    uint64_t target = m.device.now() + (1534 + wait) * 1'000'000;
    while (m.device.now() < target && m.device.step()) {
    }
    uint64_t until = m.device.now() / 1'000'000 + 300;
    ASSERT_TRUE(m.device.stall(StallableUnit::Cores, 0, 300).ok());
    for (uint32_t semaphore : {9, 10})
      ASSERT_TRUE(
          m.device.mmioWrite(isa::mmio::semaphoreBase + 8 * semaphore, 1).ok());
    m.settle();
    EXPECT_EQ(m.fault(), FaultCause::None);
    auto r = m.device.statistics().dispatches;
    ASSERT_EQ(r.size(), 4u) << wait;
    EXPECT_GT(r[2].runCycle, until) << wait;
    // At most what a dispatch takes that was not prepared at all.
    EXPECT_LE(r[2].runCycle, until + 1 + 20 + 27 + 1 + 27) << wait;
    EXPECT_GT(r[3].runCycle, r[2].haltCycle) << wait;
    Statistics s = m.device.statistics();
    for (const EngineCycles &engine : s.cores[0].engines)
      EXPECT_EQ(engine.total(), s.cycles);
  }
}

// Saved and restored at any time, it goes on the same way.
TEST_F(Preparation, Snapshots) {
  Kernel first = longKernel(40), second = straightKernel(80);
  auto submit = [&](Machine &m) {
    for (int i = 0; i < 2; ++i) {
      m.submit(packet(m.place(first)), false);
      m.submit(packet(m.place(second, secondArea)), false);
    }
    m.ringDoorbell();
  };
  auto ends = [](Machine &m) {
    std::vector<uint64_t> cycles;
    for (const DispatchRecord &r : m.device.statistics().dispatches)
      for (uint64_t c : {r.startCycle, r.runCycle, r.haltCycle, r.endCycle})
        cycles.push_back(c);
    return cycles;
  };
  Machine whole;
  submit(whole);
  whole.settle();
  std::vector<uint64_t> expected = ends(whole);
  ASSERT_EQ(expected.size(), 16u);
  Machine saved;
  submit(saved);
  for (unsigned n = 0; saved.device.step(); ++n) {
    if (n % 5)
      continue;
    std::vector<std::byte> image = saved.device.save();
    Machine other;
    ASSERT_TRUE(other.device.restore(image).ok());
    while (other.device.step()) {
    }
    ASSERT_EQ(ends(other), expected) << n;
  }
  EXPECT_EQ(ends(saved), expected);
}

// The presets keep to the bounds: 8 KiB of code and 40 descriptors on all
// cores, cold at most 1,000 cycles from the start to the first instruction, and
// 150 from the halt before if it was prepared.
TEST_F(Preparation, BoundsOfThePresets) {
  for (const char *preset : {"tiny", "edge", "server", "tpuv4like"}) {
    Result<Architecture> arch = loadArchitecture(preset);
    ASSERT_TRUE(arch.ok()) << arch.status().message();
    Machine m(*arch);
    Kernel first = longKernel(4000), second = straightKernel(400);
    for (int i = 0; i < 40; ++i)
      second.descriptors.push_back(
          tensor(isa::Space::Spm, NumericFormat::F32, {4}, 0));
    auto onAll = [&](isa::DispatchPacket d) {
      d.width = uint8_t(arch->cores.meshX);
      d.height = uint8_t(arch->cores.meshY);
      return packet(d);
    };
    auto r = runTogether(
        m, {onAll(m.place(first)), onAll(m.place(second, secondArea))});
    ASSERT_EQ(r.size(), 2u) << preset;
    EXPECT_LE(r[0].runCycle - r[0].startCycle, 1000u) << preset;
    EXPECT_LE(r[1].runCycle - r[0].haltCycle, 150u) << preset;
    RecordProperty(std::string(preset) + " cold",
                   int(r[0].runCycle - r[0].startCycle));
    RecordProperty(std::string(preset) + " warm",
                   int(r[1].runCycle - r[0].haltCycle));
    std::printf("%s: cold %d, warm %d cycles\n", preset,
                int(r[0].runCycle - r[0].startCycle),
                int(r[1].runCycle - r[0].haltCycle));
  }
}

} // namespace tessera::sim::test
