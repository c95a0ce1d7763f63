//===- CommandProcessorTest.cpp - Packets, queues, faults -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimFixture.h"

namespace tessera::sim::test {

using isa::Opcode;
using isa::mmio::FaultCause;

static isa::Packet packet(decltype(isa::Packet::body) body, uint8_t flags = 0,
                          uint32_t id = 0) {
  isa::Packet p;
  p.flags = flags;
  p.id = id;
  p.body = std::move(body);
  return p;
}

static Kernel shortKernel(unsigned instructions = 1) {
  Kernel k;
  for (unsigned i = 0; i < instructions; ++i)
    k.li(1, 0);
  k.halt();
  return k;
}

TEST(CommandProcessor, WarmDispatchBreakdown) {
  Machine m;
  m.run(shortKernel());
  DispatchRecord r = m.run(shortKernel());
  // dispatch 20; kernel record, in a row that is open: 1 + 10 + 4 + 1 over NoC,
  // DRAM, bus, NoC; 1 to the core; one burst of code 16; then 2 instructions, 1
  // back, signal 10.
  EXPECT_EQ(r.runCycle - r.startCycle, 20 + 16 + 1 + 16u);
  EXPECT_EQ(r.haltCycle - r.runCycle, 2u);
  EXPECT_EQ(r.endCycle - r.haltCycle, 1 + 10u);
  // From the ring in host memory: fetch 20, request 1 + 500 ns there, 500 ns
  // and 2 ns of data back, 1; decode 10.
  EXPECT_EQ(r.startCycle - r.fetchCycle, 20 + 1 + 1000 + 2 + 1 + 10u);
}

// The first kernel of a device: everything is missed. From the packet's start
// to the first instruction, at most 1,000 cycles; and the parts add up.
TEST(CommandProcessor, ColdDispatchBreakdown) {
  Machine m;
  m.device.setTraceObserver(&m);
  DispatchRecord r = m.run(shortKernel());
  EXPECT_LE(r.runCycle - r.startCycle, 1000u);
  std::vector<uint64_t> at;
  std::vector<uint32_t> parts;
  for (const TraceEvent &event : m.trace)
    if (event.kind == TraceEvent::Kind::DispatchStep) {
      parts.push_back(event.id);
      at.push_back(event.timeFs / 1'000'000); // 1 GHz.
    }
  // Without arguments there is no part for them.
  ASSERT_EQ(parts, (std::vector<uint32_t>{0, 1, 3, 4, 5}));
  EXPECT_EQ(at[0], r.startCycle);
  EXPECT_EQ(at[1] - at[0], 20u);
  EXPECT_EQ(at[3], r.runCycle);
  EXPECT_EQ(at[4], r.haltCycle);
  RecordProperty("kernel record", int(at[2] - at[1]));
  RecordProperty("load code", int(at[3] - at[2]));
  // The second time it is that of WarmDispatchBreakdown.
  DispatchRecord warm = m.run(shortKernel());
  EXPECT_LT(warm.runCycle - warm.startCycle, r.runCycle - r.startCycle);
}

// A dispatch that waits for another one: from the last instruction of the first
// to the first of the second, all on the device.
TEST(CommandProcessor, WarmDependentDispatch) {
  Machine m;
  m.run(shortKernel());
  DispatchRecord warm = m.run(shortKernel());
  isa::DispatchPacket first = m.place(shortKernel());
  isa::DispatchPacket second = first;
  first.completion = {7, 1};
  second.wait = {7, 1};
  second.completion = {7, 2};
  m.submit(packet(first), false);
  m.submit(packet(second));
  m.settle();
  auto records = m.device.statistics().dispatches;
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(m.semaphore(7), 2u);
  // The second starts in the cycle in which the first is signalled; then both
  // are as in WarmDispatchBreakdown.
  EXPECT_EQ(records[3].startCycle, records[2].endCycle);
  EXPECT_EQ(records[3].runCycle - records[2].haltCycle,
            (warm.endCycle - warm.haltCycle) +
                (warm.runCycle - warm.startCycle));
  EXPECT_LE(records[3].runCycle - records[2].haltCycle, 150u);
}

// What began in a trace ends there, also by a fault and by a reset of the
// queue.
TEST(CommandProcessor, TransfersAreTraced) {
  Machine m;
  m.device.setTraceObserver(&m);
  isa::FillPacket good{Machine::dataArea, 4096, 7, {}, {}};
  isa::CopyPacket copy{
      Machine::dataArea + 8192, Machine::dataArea, 4096, {}, {}};
  m.submit(packet(good), false);
  m.submit(packet(copy));
  m.settle();
  isa::FillPacket bad{uint64_t(1) << 46, 4096, 7, {}, {}};
  m.submit(packet(bad));
  m.settle();
  std::vector<std::pair<int, int>> kinds; ///< And what it is.
  int open = 0, engine = 0;
  uint64_t bytes = 0;
  for (const TraceEvent &event : m.trace) {
    open += event.kind == TraceEvent::Kind::TransferBegin;
    open -= event.kind == TraceEvent::Kind::TransferEnd;
    engine += event.kind == TraceEvent::Kind::CopyEngineBegin;
    engine -= event.kind == TraceEvent::Kind::CopyEngineEnd;
    EXPECT_LE(engine, 1);
    if (event.kind == TraceEvent::Kind::TransferBegin) {
      kinds.emplace_back(event.id, event.opcode);
      bytes += event.value;
    }
  }
  EXPECT_EQ(kinds, (std::vector<std::pair<int, int>>{{0, 1}, {0, 0}, {0, 1}}));
  EXPECT_EQ(bytes, 3 * 4096u);
  EXPECT_EQ(open, 0);
  EXPECT_EQ(engine, 0);
}

TEST(CommandProcessor, CopyAndFill) {
  Machine m;
  std::vector<uint8_t> data(5000);
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = uint8_t(i * 7);
  m.write(Machine::dataArea + 13, data);
  isa::CopyPacket copy;
  copy.destination = Machine::dataArea + 0x10001;
  copy.source = Machine::dataArea + 13;
  copy.size = data.size();
  copy.completion = {2, 5};
  m.submit(packet(copy));
  isa::FillPacket fill;
  fill.destination = Machine::dataArea + 0x20000;
  fill.size = 200;
  fill.pattern = 0x01020304;
  fill.completion = {3, 1};
  m.submit(packet(fill));
  m.settle();
  EXPECT_EQ(m.read<uint8_t>(copy.destination, data.size()), data);
  EXPECT_EQ(m.read<uint32_t>(fill.destination, 51), [] {
    std::vector<uint32_t> v(51, 0x01020304);
    v[50] = 0;
    return v;
  }());
  EXPECT_EQ(m.semaphore(2), 5u);
  EXPECT_EQ(m.semaphore(3), 1u);
  EXPECT_EQ(m.queueRegister(isa::mmio::queueDone), 2u);
}

TEST(CommandProcessor, ParkedPacketHoldsNothingBack) {
  Machine m;
  // The first waits for what the second signals.
  isa::CopyPacket copy;
  copy.destination = Machine::dataArea + 64;
  copy.source = Machine::dataArea;
  copy.size = 4;
  copy.wait = {4, 1};
  copy.completion = {5, 1};
  m.submit(packet(copy));
  isa::SignalPacket signal;
  signal.completion = {4, 1};
  m.submit(packet(signal));
  m.settle();
  EXPECT_EQ(m.semaphore(5), 1u);
}

TEST(CommandProcessor, BarrierFlagWaitsAndHoldsBack) {
  Machine m;
  isa::CopyPacket copy;
  copy.destination = Machine::dataArea + 64;
  copy.source = Machine::dataArea;
  copy.size = 4;
  copy.wait = {4, 1};
  copy.completion = {5, 1};
  m.submit(packet(copy));
  isa::SignalPacket signal;
  signal.completion = {6, 1};
  m.submit(packet(signal, isa::packetBarrier));
  signal.completion = {4,
                       1}; // would release the copy, but is behind the barrier
  m.submit(packet(signal));
  m.settle();
  EXPECT_EQ(m.semaphore(5), 0u);
  EXPECT_EQ(m.semaphore(6), 0u);
  auto lines = m.device.explainWaits();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].find("waits for semaphore 4 >= 1 (it is 0)"),
            std::string::npos);
  EXPECT_NE(lines[1].find("waits for the packets before it"),
            std::string::npos);
  // The host releases it.
  ASSERT_TRUE(m.device.mmioWrite(isa::mmio::semaphoreBase + 8 * 7, 1).ok());
  EXPECT_EQ(m.semaphore(7), 1u);
  ASSERT_TRUE(m.device.mmioWrite(isa::mmio::semaphoreBase + 8 * 4, 0).ok());
  m.settle();
  EXPECT_EQ(m.semaphore(5), 0u);
}

TEST(CommandProcessor, HostSignalReleases) {
  Machine m;
  isa::BarrierPacket barrier;
  barrier.waits[0] = {4, 3};
  barrier.waits[1] = {5, 1};
  barrier.completion = {6, 1};
  m.submit(packet(barrier));
  barrier.any = true;
  barrier.completion = {7, 1};
  m.submit(packet(barrier));
  m.settle();
  EXPECT_EQ(m.semaphore(6), 0u);
  EXPECT_EQ(m.semaphore(7), 1u) << "waits that are null are satisfied";
  ASSERT_TRUE(m.device.mmioWrite(isa::mmio::semaphoreBase + 8 * 4, 3).ok());
  ASSERT_TRUE(m.device.mmioWrite(isa::mmio::semaphoreBase + 8 * 5, 1).ok());
  m.settle();
  EXPECT_EQ(m.semaphore(6), 1u);
}

TEST(CommandProcessor, CommandBuffer) {
  Machine m;
  Kernel k = shortKernel(3);
  std::vector<uint8_t> commands;
  const unsigned count = 100; // more than a queue's window
  for (unsigned i = 0; i < count; ++i) {
    isa::DispatchPacket d = m.place(k);
    auto image = isa::encode(packet(d, isa::packetBarrier, 1000 + i));
    commands.insert(commands.end(), image.begin(), image.end());
  }
  m.write(Machine::dataArea, commands);
  isa::IndirectPacket indirect;
  indirect.address = Machine::dataArea;
  indirect.count = count;
  indirect.completion = {9, 1};
  m.submit(packet(indirect, 0, 77));
  isa::SignalPacket after;
  after.completion = {10, 1};
  m.submit(packet(after, isa::packetBarrier));
  m.settle();
  ASSERT_EQ(m.fault(), FaultCause::None);
  EXPECT_EQ(m.semaphore(9), 1u);
  EXPECT_EQ(m.semaphore(10), 1u);
  EXPECT_EQ(m.semaphore(Machine::doneSemaphore), count);
  Statistics s = m.device.statistics();
  ASSERT_EQ(s.dispatches.size(), count);
  for (unsigned i = 0; i < count; ++i) {
    EXPECT_EQ(s.dispatches[i].commandIndex, i);
    EXPECT_EQ(s.dispatches[i].packetId, 1000 + i);
    if (i > 0) {
      EXPECT_GE(s.dispatches[i].startCycle, s.dispatches[i - 1].endCycle);
    }
  }
  ASSERT_EQ(s.commandBuffers.size(), 1u);
  const CommandBufferRecord &r = s.commandBuffers[0];
  EXPECT_EQ(r.packetId, 77u);
  EXPECT_LE(r.firstFetchCycle, s.dispatches[0].fetchCycle);
  EXPECT_EQ(r.endCycle, s.dispatches.back().endCycle + 10); // its own signal
}

TEST(CommandProcessor, InterruptsTimestampsAndArming) {
  Machine m;
  ASSERT_TRUE(m.device.armSemaphore(4, 2).ok());
  isa::TimestampPacket stamp;
  stamp.destination = Machine::dataArea;
  stamp.completion = {4, 2};
  m.submit(packet(stamp));
  isa::InterruptPacket interrupt;
  interrupt.payload = 42;
  m.submit(packet(interrupt, isa::packetBarrier));
  EXPECT_EQ(m.device.advance(timeInfinite), StopReason::Interrupted);
  auto first = m.device.takeInterrupts();
  // The packet behind the barrier starts as the timestamp completes.
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].kind, DeviceInterrupt::Kind::SemaphoreSignal);
  EXPECT_EQ(first[0].payload, 4u);
  EXPECT_EQ(first[1].kind, DeviceInterrupt::Kind::Packet);
  EXPECT_EQ(first[1].payload, 42u);
  EXPECT_EQ(m.device.advance(timeInfinite), StopReason::Quiescent);
  uint64_t time = m.read<uint64_t>(Machine::dataArea, 1)[0];
  EXPECT_GT(time, 0u);
  EXPECT_LT(time, m.device.now());
}

TEST(CommandProcessor, UnpublishedPacketsWaitForTheirDoorbell) {
  Machine m;
  isa::SignalPacket signal;
  signal.completion = {4, 1};
  m.submit(packet(signal), false);
  // A doorbell beyond what is published: the second slot is still invalid.
  ASSERT_TRUE(
      m.device.mmioWrite(isa::mmio::queueBase + isa::mmio::queueDoorbell, 1)
          .ok());
  m.settle();
  EXPECT_EQ(m.semaphore(4), 1u);
  EXPECT_EQ(m.queueRegister(isa::mmio::queueRead), 1u);
  signal.completion = {4, 2};
  m.submit(packet(signal));
  m.settle();
  EXPECT_EQ(m.semaphore(4), 2u);
  // A stale doorbell runs nothing twice.
  ASSERT_TRUE(
      m.device.mmioWrite(isa::mmio::queueBase + isa::mmio::queueDoorbell, 0)
          .ok());
  m.settle();
  EXPECT_EQ(m.fault(), FaultCause::None);
  EXPECT_EQ(m.queueRegister(isa::mmio::queueDone), 2u);
}

TEST(CommandProcessor, FaultStopsTheQueueAndNothingBehindRuns) {
  Machine m;
  isa::SignalPacket signal;
  signal.completion = {4, 1};
  m.submit(packet(signal), false);
  Kernel bad;
  bad.li(1, 0);
  bad.add(Opcode::TRAP, {{isa::trap::code, 7}});
  m.submit(packet(m.place(bad), isa::packetBarrier, 5), false);
  signal.completion = {4, 2};
  m.submit(packet(signal, isa::packetBarrier));
  EXPECT_EQ(m.device.advance(timeInfinite), StopReason::Interrupted);
  EXPECT_EQ(m.device.takeInterrupts()[0].kind, DeviceInterrupt::Kind::Fault);
  m.settle();
  EXPECT_EQ(m.semaphore(4), 1u);
  EXPECT_EQ(m.fault(), FaultCause::Trap);
  EXPECT_EQ(m.queueRegister(isa::mmio::faultPacket), 1u);
  EXPECT_EQ(m.queueRegister(isa::mmio::faultPc), 1u);
  EXPECT_EQ(m.queueRegister(isa::mmio::faultAddress), 7u);
  EXPECT_EQ(m.queueRegister(isa::mmio::queueDone), 1u);
  // Stopped and started, it works again, from index 0.
  ASSERT_TRUE(
      m.device.mmioWrite(isa::mmio::queueBase + isa::mmio::queueEnable, 0)
          .ok());
  ASSERT_TRUE(
      m.device.mmioWrite(isa::mmio::queueBase + isa::mmio::queueEnable, 1)
          .ok());
  m.published = 0;
  m.run(shortKernel());
  EXPECT_EQ(m.fault(), FaultCause::None);
}

TEST(CommandProcessor, PacketFaults) {
  auto faultOf = [](const isa::Packet &p) {
    Machine m;
    m.submit(p);
    m.settle();
    return m.fault();
  };
  isa::DispatchPacket dispatch;
  dispatch.kernel = 1ull << 40;
  EXPECT_EQ(faultOf(packet(dispatch)), FaultCause::PageFault);
  dispatch.kernel = Machine::dataArea; // zeros: no text
  dispatch.width = 2;
  EXPECT_EQ(faultOf(packet(dispatch)), FaultCause::IllegalPacket);
  isa::CopyPacket copy;
  copy.destination = Machine::dataArea;
  copy.source = 1ull << 40;
  copy.size = 64;
  EXPECT_EQ(faultOf(packet(copy)), FaultCause::PageFault);
  isa::SignalPacket signal;
  signal.completion = {isa::mmio::numSemaphores, 1};
  EXPECT_EQ(faultOf(packet(signal)), FaultCause::SemaphoreRange);
  isa::IndirectPacket indirect;
  indirect.address = Machine::dataArea; // zeros are no packets
  indirect.count = 1;
  EXPECT_EQ(faultOf(packet(indirect)), FaultCause::IllegalPacket);
  Machine m;
  signal.completion = {4, 1};
  m.submit(packet(signal));
  m.submit(packet(signal, isa::packetBarrier));
  m.settle();
  EXPECT_EQ(m.fault(), FaultCause::NonIncreasingSignal);
}

TEST(CommandProcessor, PageProtection) {
  Machine m;
  auto leaf = [&](unsigned index, bool write, bool execute, bool poison) {
    isa::PageEntry e;
    e.valid = e.leaf = e.read = true;
    e.write = write, e.execute = execute, e.poison = poison;
    e.address = uint64_t(index) << 21;
    m.write<uint64_t>(0x3000 + 8 * index, {e.encode()});
  };
  leaf(10, false, false, false);
  leaf(11, true, true, true);
  auto faultOf = [&](decltype(isa::Packet::body) body) {
    EXPECT_TRUE(
        m.device.mmioWrite(isa::mmio::queueBase + isa::mmio::queueEnable, 0)
            .ok());
    EXPECT_TRUE(
        m.device.mmioWrite(isa::mmio::queueBase + isa::mmio::queueEnable, 1)
            .ok());
    m.published = 0;
    m.submit(packet(body));
    m.settle();
    return m.fault();
  };
  isa::FillPacket fill;
  fill.destination = 10ull << 21;
  fill.size = 4;
  EXPECT_EQ(faultOf(fill), FaultCause::ProtectionFault);
  fill.destination = 11ull << 21;
  EXPECT_EQ(faultOf(fill), FaultCause::PoisonedPage);
  EXPECT_EQ(faultOf(m.place(shortKernel(), 10ull << 21)),
            FaultCause::ProtectionFault);
  // Made writable again, the cached translation is dropped.
  leaf(10, true, true, false);
  fill.destination = 10ull << 21;
  EXPECT_EQ(faultOf(fill), FaultCause::None);
}

TEST(CommandProcessor, RectangleOfCores) {
  Architecture arch = tinyArchitecture();
  arch.cores = {4, 2, 2};
  Machine m(arch);
  // Each core stores its index to its own place.
  Kernel k;
  k.td(0, tensor(isa::Space::Spm, NumericFormat::I32, {1}, 0));
  k.td(1,
       tensor(isa::Space::Global, NumericFormat::I32, {1}, Machine::dataArea));
  k.add(Opcode::COREID, {{isa::coreid::rd, 1}});
  k.add(Opcode::MULI,
        {{isa::muli::rd, 2}, {isa::muli::ra, 1}, {isa::muli::imm, 256}});
  k.add(Opcode::TDADD,
        {{isa::td_add::td, 1}, {isa::td_add::src, 1}, {isa::td_add::ra, 2}});
  k.add(Opcode::FILL, {{isa::fill::dst, 0}, {isa::fill::value, 9}}, {},
        {{0, 1}});
  k.store(1, 0, {{0, 1}});
  k.halt();
  isa::DispatchPacket d = m.place(k);
  d.width = d.height = 2;
  m.submit(packet(d));
  m.settle();
  ASSERT_EQ(m.fault(), FaultCause::None);
  for (unsigned core = 0; core < 4; ++core)
    EXPECT_EQ(m.read<int32_t>(Machine::dataArea + 256 * core, 1)[0], 9);
  Statistics s = m.device.statistics();
  for (const CoreStatistics &core : s.cores)
    for (const EngineCycles &engine : core.engines)
      EXPECT_EQ(engine.total(), s.cycles);
  // The dispatch's table covers its four cores from start to the last halt.
  const DispatchRecord &r = s.dispatches[0];
  EXPECT_EQ(r.engines[0].total(), 4 * (r.haltCycle - r.startCycle));
}

TEST(CommandProcessor, RegistersRefuseNonsense) {
  Machine m;
  EXPECT_EQ(m.device.mmioWrite(0x20, 1).code(), StatusCode::BusError);
  EXPECT_EQ(m.device.mmioRead(3).status().code(), StatusCode::BusError);
  EXPECT_EQ(
      m.device.mmioWrite(isa::mmio::queueBase + isa::mmio::queueSize, 3).code(),
      StatusCode::InvalidArgument);
  EXPECT_EQ(m.device.mmioWrite(isa::mmio::semaphoreBase, 1).code(),
            StatusCode::BusError);
  std::vector<std::byte> data(16);
  EXPECT_EQ(
      m.device.readMemory(isa::PhysicalSpace::Dram, (1ull << 28) - 8, data)
          .code(),
      StatusCode::BusError);
  EXPECT_EQ(m.device.armSemaphore(0, 1).code(), StatusCode::InvalidArgument);
}

} // namespace tessera::sim::test
