//===- SimFixture.cpp - A small machine for simulator tests -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimFixture.h"
#include <cstring>
#include <optional>

namespace tessera::sim::test {

using isa::Opcode;

Architecture tinyArchitecture() {
  Architecture a;
  a.name = "test";
  a.clockGhz = 1.0;
  a.matrix.rows = a.matrix.cols = 8;
  a.matrix.fillLatency = 1;
  a.matrix.macsScale = {{NumericFormat::F32, 0.5},
                        {NumericFormat::BF16, 1.0},
                        {NumericFormat::F16, 1.0},
                        {NumericFormat::I8, 2.0}};
  a.vector = {8, 1, 2, 8, 3, 1};
  a.spm = {65536, 16, 16};
  a.acc = {16384, 2};
  a.queueDepth = 8;
  a.dma = {1, 1, 64, 64};
  a.noc.linkBytes = 64; // a burst is one flit
  a.noc.memoryPorts = {0};
  a.noc.sharedPorts = {0};
  // Round numbers: an atom of 64 bytes takes 4 ns; a read 10 ns from an open
  // row, 20 ns from a closed bank, 21 ns if another row is open (a precharge
  // takes a slot of the command bus and no more).
  a.dram.channels = 1;
  a.dram.widthBits = 64;
  a.dram.bytes = 1ull << 28;
  a.dram.tckNs = 1.0;
  a.dram.burstLength = 8;
  a.dram.transfersPerClock = 2;
  a.dram.tRCDRD = 10, a.dram.tCL = 10;
  a.dram.tRCDWR = 8, a.dram.tCWL = 8;
  a.dram.refresh = RefreshMode::None;
  a.host = {32.0, 500};
  return a;
}

Architecture conflictFreeArchitecture() {
  Architecture a = tinyArchitecture();
  a.spm.banks = uint32_t(a.spm.bytes / a.spm.bankWidth);
  return a;
}

isa::Descriptor tensor(isa::Space space, NumericFormat format,
                       std::initializer_list<uint32_t> extents, uint64_t base) {
  isa::Descriptor td;
  td.space = space;
  td.format = format;
  td.rank = uint8_t(extents.size());
  td.base = base;
  std::copy(extents.begin(), extents.end(), td.extents.begin());
  int64_t stride = 1;
  for (unsigned d = td.rank; d-- > 0;) {
    td.strides[d] = stride;
    stride *= td.extents[d];
  }
  return td;
}

isa::Instruction &Kernel::add(
    Opcode opcode, std::initializer_list<std::pair<unsigned, int64_t>> fields,
    std::initializer_list<Step> waits, std::initializer_list<Step> signals) {
  isa::Instruction inst;
  inst.opcode = opcode;
  for (auto [index, value] : fields)
    inst.fields[index] = value;
  std::copy(waits.begin(), waits.end(), inst.waits.begin());
  std::copy(signals.begin(), signals.end(), inst.signals.begin());
  program.push_back(inst);
  return program.back();
}

void Kernel::li(unsigned rd, int64_t value) {
  add(Opcode::LI, {{isa::li::rd, rd}, {isa::li::imm, value}});
}
void Kernel::td(unsigned reg, const isa::Descriptor &descriptor) {
  add(Opcode::TDLOAD, {{isa::td_load::td, reg},
                       {isa::td_load::index, int64_t(descriptors.size())}});
  descriptors.push_back(descriptor);
}
void Kernel::load(unsigned dst, unsigned src, std::initializer_list<Step> waits,
                  std::initializer_list<Step> signals) {
  add(Opcode::LOAD, {{isa::load::dst, dst}, {isa::load::src, src}}, waits,
      signals);
}
void Kernel::store(unsigned dst, unsigned src,
                   std::initializer_list<Step> waits,
                   std::initializer_list<Step> signals) {
  add(Opcode::STORE, {{isa::store::dst, dst}, {isa::store::src, src}}, waits,
      signals);
}
void Kernel::mma(unsigned acc, unsigned a, unsigned b, bool accumulate,
                 std::initializer_list<Step> waits,
                 std::initializer_list<Step> signals, bool byColumn) {
  add(Opcode::MMA,
      {{isa::mma::acc, acc},
       {isa::mma::a, a},
       {isa::mma::b, b},
       {isa::mma::m_dims, 1},
       {isa::mma::n_dims, byColumn ? 1 : 2},
       {isa::mma::accumulate, accumulate}},
      waits, signals);
}
void Kernel::map(unsigned programIndex, unsigned out,
                 std::initializer_list<unsigned> inputs,
                 std::initializer_list<Step> waits,
                 std::initializer_list<Step> signals) {
  isa::Instruction &inst = add(
      Opcode::MAP, {{isa::map::program, programIndex}, {isa::map::out0, out}},
      waits, signals);
  const unsigned fields[] = {isa::map::in0, isa::map::in1, isa::map::in2,
                             isa::map::in3};
  unsigned i = 0;
  for (unsigned input : inputs)
    inst.fields[fields[i++]] = input;
}
void Kernel::wait(isa::Queue queue, std::initializer_list<Step> waits) {
  add(Opcode::WAIT, {{isa::wait::queue, int64_t(queue)}}, waits);
}
void Kernel::signal(isa::Queue queue, std::initializer_list<Step> signals) {
  add(Opcode::SIGNAL, {{isa::signal::queue, int64_t(queue)}}, {}, signals);
}

Machine::Machine(const Architecture &arch, const DeviceOptions &options)
    : device(arch, options) {
  // Level 3 -> 2 -> 1, then 64 leaves of 2 MiB.
  auto entry = [&](uint64_t table, unsigned index, isa::PageEntry e) {
    write<uint64_t>(table + 8 * index, {e.encode()});
  };
  isa::PageEntry pointer;
  pointer.valid = true;
  pointer.address = 0x2000;
  entry(pageTable, 0, pointer);
  pointer.address = 0x3000;
  entry(0x2000, 0, pointer);
  for (unsigned i = 0; i < 64; ++i) {
    isa::PageEntry leaf;
    leaf.valid = leaf.leaf = leaf.read = leaf.write = leaf.execute = true;
    leaf.address = uint64_t(i) << 21;
    entry(0x3000, i, leaf);
  }
  namespace mmio = isa::mmio;
  auto set = [&](uint64_t offset, uint64_t value) {
    EXPECT_TRUE(device.mmioWrite(mmio::queueBase + offset, value).ok());
  };
  std::fill(device.hostMemory().begin(),
            device.hostMemory().begin() + ringPackets * 64,
            std::byte(isa::PacketType::Invalid));
  set(mmio::queueRing, 0);
  set(mmio::queueSize, ringPackets);
  set(mmio::queueContext, pageTable);
  set(mmio::queueEnable, 1);
  device.setTraceObserver(this);
}

isa::DispatchPacket Machine::place(const Kernel &kernel, uint64_t area) {
  std::vector<uint8_t> text;
  for (const isa::Instruction &inst : kernel.program) {
    Status status = isa::encode(inst, text);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  std::vector<uint8_t> descriptors(kernel.descriptors.size() *
                                   isa::descriptorBytes),
      maps;
  for (size_t i = 0; i < kernel.descriptors.size(); ++i)
    isa::encode(kernel.descriptors[i],
                std::span<uint8_t, isa::descriptorBytes>(
                    descriptors.data() + i * isa::descriptorBytes,
                    isa::descriptorBytes));
  for (const isa::MapProgram &m : kernel.maps) {
    Status status = isa::encode(m, maps);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  isa::KernelRecord record;
  record.text = area + 0x10000;
  record.descriptors = area + 0x40000;
  record.mapPrograms = area + 0x80000;
  record.textBytes = uint32_t(text.size());
  record.numDescriptors = uint32_t(kernel.descriptors.size());
  record.mapBytes = uint32_t(maps.size());
  record.numArguments = uint32_t(kernel.arguments.size());
  auto image = isa::encode(record);
  write(area, std::vector<uint8_t>(image.begin(), image.end()));
  write(record.text, text);
  write(record.descriptors, descriptors);
  write(record.mapPrograms, maps);
  write(area + 0xc0000, kernel.arguments);
  isa::DispatchPacket packet;
  packet.kernel = area;
  packet.arguments = area + 0xc0000;
  packet.numArguments = record.numArguments;
  packet.budget = kernel.budget;
  packet.completion = {doneSemaphore, nextValue++};
  return packet;
}

void Kernel::pause(unsigned cycles) {
  add(Opcode::LOOP,
      {{isa::loop::rd, 1}, {isa::loop::count, cycles}, {isa::loop::length, 1}});
  li(2, 0);
}

void Machine::submit(const isa::Packet &packet, bool ring) {
  auto image = isa::encode(packet);
  std::memcpy(device.hostMemory().data() + published % ringPackets * 64,
              image.data(), 64);
  ++published;
  if (ring)
    ringDoorbell();
}

void Machine::ringDoorbell() {
  EXPECT_TRUE(device
                  .mmioWrite(isa::mmio::queueBase + isa::mmio::queueDoorbell,
                             published - 1)
                  .ok());
}

void Machine::settle() {
  while (device.advance(timeInfinite) == StopReason::Interrupted)
    (void)device.takeInterrupts();
}

DispatchRecord Machine::run(const Kernel &kernel) {
  isa::Packet packet;
  packet.body = place(kernel);
  size_t before = device.statistics().dispatches.size();
  submit(packet);
  settle();
  Statistics s = device.statistics();
  if (s.dispatches.size() != before + 1) {
    ADD_FAILURE() << "the kernel did not complete: fault "
                  << isa::mmio::faultCauseName(fault()) << " at pc "
                  << queueRegister(isa::mmio::faultPc) << ", address "
                  << queueRegister(isa::mmio::faultAddress);
    for (const std::string &line : device.explainWaits())
      ADD_FAILURE() << line;
    return {};
  }
  Status conserved = device.checkConservation();
  EXPECT_TRUE(conserved.ok()) << conserved.message();
  // Every engine-cycle has exactly one cause, always.
  for (const CoreStatistics &core : s.cores)
    for (const EngineCycles &engine : core.engines)
      EXPECT_EQ(engine.total(), s.cycles);
  return s.dispatches.back();
}

uint64_t Machine::queueRegister(uint64_t offset) {
  return *device.mmioRead(isa::mmio::queueBase + offset);
}
isa::mmio::FaultCause Machine::fault() {
  return isa::mmio::FaultCause(queueRegister(isa::mmio::faultCause));
}
uint64_t Machine::semaphore(uint32_t index) {
  return *device.mmioRead(isa::mmio::semaphoreBase + 8 * uint64_t(index));
}

Span Machine::span(uint32_t pc, unsigned n) {
  Span result;
  uint64_t start = 0;
  Statistics s = device.statistics();
  if (!s.dispatches.empty())
    start = s.dispatches.back().runCycle;
  unsigned begins = 0, ends = 0;
  for (const TraceEvent &e : trace) {
    uint64_t cycle = e.timeFs / 1'000'000;
    if (e.pc != pc || cycle < start)
      continue;
    if (e.kind == TraceEvent::Kind::InstructionBegin && begins++ == n)
      result.begin = cycle - start;
    if (e.kind == TraceEvent::Kind::InstructionEnd && ends++ == n)
      result.end = cycle - start;
  }
  EXPECT_GT(begins, n) << "the instruction at pc " << pc << " did not begin";
  EXPECT_GT(ends, n) << "the instruction at pc " << pc << " did not end";
  return result;
}

void expectSnapshotsGoOn(Machine &reference, unsigned every) {
  std::vector<std::vector<std::byte>> snapshots;
  uint64_t events = 0;
  while (reference.device.step())
    if (++events % every == 0)
      snapshots.push_back(reference.device.save());
  ASSERT_GE(snapshots.size(), 10u);
  ASSERT_EQ(reference.device.statistics().dispatches.size(), 1u)
      << isa::mmio::faultCauseName(reference.fault());
  reference.device.takeInterrupts();
  std::vector<std::byte> end = reference.device.save();
  std::optional<Machine> m;
  for (size_t i = 0; i < snapshots.size(); ++i) {
    if (i % 4 == 0)
      m.emplace(reference.device.architecture(), reference.device.options());
    Status status = m->device.restore(snapshots[i]);
    ASSERT_TRUE(status.ok()) << status.message();
    // The same bytes again.
    EXPECT_TRUE(m->device.save() == snapshots[i]) << "snapshot " << i;
    m->settle();
    EXPECT_EQ(m->device.memoryHash(), reference.device.memoryHash());
    EXPECT_TRUE(m->device.save() == end) << "snapshot " << i;
  }
}

} // namespace tessera::sim::test
