//===- LargeDeviceTest.cpp - 256 cores, 128 channels ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimFixture.h"
#include <fstream>
#include <unistd.h>

namespace tessera::sim::test {

static Architecture largeArchitecture() {
  Result<Architecture> arch = parseArchitecture(R"(
name: large
cores: {count: 256, mesh: [16, 16]}
matrix:
  rows: 128
  cols: 128
  formats: {bf16: {macs_scale: 1}}
vector: {lanes: 256, alu_slots: 2, sfu_lanes: 128}
spm: {bytes: 4 MiB, banks: 128, bank_width: 32}
acc: {bytes: 512 KiB}
dma: {burst_bytes: 256, outstanding: 512}
noc: {link_bytes: 256, memory_ports: [0, 15, 240, 255]}
dram: {preset: HBM3-6400, channels: 128}
)",
                                                "large.yaml");
  EXPECT_TRUE(arch.ok()) << arch.status().message();
  return *arch;
}

static uint64_t residentBytes() {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * uint64_t(sysconf(_SC_PAGESIZE));
}

// All cores load the same 16 KiB, meet, and store them: everything arrives, all
// books balance, and the host pays for what was touched: not for 1.1 GiB of
// scratchpads nor 128 GiB of DRAM.
TEST(LargeDevice, WorksAndCostsWhatItUses) {
  uint64_t before = residentBytes();
  Machine m(largeArchitecture());
  std::vector<float> values(4096);
  for (size_t i = 0; i != values.size(); ++i)
    values[i] = float(i);
  m.write(Machine::dataArea, values);
  Kernel k;
  k.td(0, tensor(isa::Space::Spm, NumericFormat::F32, {4096}, 0));
  k.td(1, tensor(isa::Space::Global, NumericFormat::F32, {4096},
                 Machine::dataArea));
  k.td(2, tensor(isa::Space::Global, NumericFormat::F32, {4096},
                 Machine::dataArea + 0x100000));
  k.load(0, 1, {}, {{0, 1}});
  k.wait(isa::Queue::Seq, {{0, 1}});
  k.add(isa::Opcode::BARRIER);
  k.store(2, 0);
  k.halt();
  isa::Packet packet;
  isa::DispatchPacket dispatch = m.place(k);
  dispatch.width = dispatch.height = 16;
  packet.body = dispatch;
  m.submit(packet);
  m.settle();
  EXPECT_EQ(m.fault(), isa::mmio::FaultCause::None);
  EXPECT_EQ(m.semaphore(Machine::doneSemaphore), 1u);
  Status conserved = m.device.checkConservation();
  EXPECT_TRUE(conserved.ok()) << conserved.message();
  EXPECT_EQ(m.read<float>(Machine::dataArea + 0x100000, 4096), values);
  Statistics s = m.device.statistics();
  EXPECT_EQ(s.cores.size(), 256u);
  uint64_t traffic = 256ull * 4096 * 4;
  EXPECT_GE(s.dramBytesRead, traffic);
  EXPECT_GE(s.dramBytesWritten, traffic);
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
  EXPECT_LT(residentBytes() - before, 400ull << 20);
#else
  (void)before;
#endif
}

} // namespace tessera::sim::test
