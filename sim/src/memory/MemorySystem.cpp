//===- MemorySystem.cpp - What a physical access costs ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "memory/MemorySystem.h"
#include <algorithm>

namespace tessera::sim {

/// Bytes of a message without data.
static constexpr uint32_t headerBytes = 8;

MemorySystem::MemorySystem(const Architecture &arch, const Clock &clock,
                           EventQueue &events, Noc &noc)
    : arch(arch), clock(clock), events(events), noc(noc),
      channelFree(std::max(1u, arch.dram.channels * arch.dram.pseudoChannels)),
      sliceFree(std::max(1u, arch.shared.slices)),
      perAccount(arch.cores.count + 1) {
  const DramConfig &dram = arch.dram;
  atomBytes = std::max<uint64_t>(1, dram.atomBytes());
  interleave = std::max<uint64_t>(arch.dma.burstBytes, atomBytes);
  double clockFs = dram.tckNs * double(femtosecondsPerNanosecond);
  auto fs = [&](double clocks) { return uint64_t(clocks * clockFs + 0.5); };
  double atomClocks =
      double(dram.burstLength) / std::max(1u, dram.transfersPerClock);
  // All-bank refresh takes the bus away for tRFC in every tREFI.
  if (dram.refresh == RefreshMode::AllBank && dram.tREFI > dram.tRFC)
    atomClocks *= double(dram.tREFI) / double(dram.tREFI - dram.tRFC);
  dramAtomFs = std::max<uint64_t>(1, fs(atomClocks));
  dramReadFs = fs(double(dram.tRCDRD) + dram.tCL);
  dramWriteFs = fs(double(dram.tRCDWR) + dram.tCWL);
}

Time MemorySystem::accessDram(const MemoryRequest &r, Time arrival,
                              uint32_t &node) {
  uint64_t channel = r.address / interleave % channelFree.size();
  node = noc.memoryNode(
      uint32_t(channel / std::max(1u, arch.dram.pseudoChannels)));
  arrival =
      noc.send(r.node, node, headerBytes + (r.write ? r.bytes : 0), arrival);
  uint64_t atoms =
      (r.address + r.bytes - 1) / atomBytes - r.address / atomBytes + 1;
  Traffic &traffic = perAccount[r.account];
  (r.write ? traffic.dramWritten : traffic.dramRead) += atoms * atomBytes;
  // The data bus is the server: commands of later requests overlap with data
  // of earlier ones.
  Time &free = channelFree[channel];
  Time ready = arrival + (r.write ? dramWriteFs : dramReadFs);
  free = std::max(free, ready) + atoms * dramAtomFs;
  return free;
}

Time MemorySystem::accessShared(const MemoryRequest &r, Time arrival,
                                uint32_t &node) {
  uint64_t slice = r.address / interleave % sliceFree.size();
  node = noc.sharedNode(uint32_t(slice));
  arrival =
      noc.send(r.node, node, headerBytes + (r.write ? r.bytes : 0), arrival);
  (r.write ? sharedBytesWritten : sharedBytesRead) += r.bytes;
  Time &free = sliceFree[slice];
  Cycle start = clock.ceil(std::max(free, arrival));
  free = clock.at(start + ceilDiv(r.bytes, std::max(1u, arch.noc.linkBytes)));
  return free + clock.at(arch.shared.latency);
}

Time MemorySystem::accessHost(const MemoryRequest &r, Time arrival) {
  arrival = noc.send(r.node, noc.hostNode(),
                     headerBytes + (r.write ? r.bytes : 0), arrival);
  (r.write ? hostBytesWritten : hostBytesRead) += r.bytes;
  Time latency = Time(arch.host.latencyNs) * femtosecondsPerNanosecond;
  auto service = Time(double(r.bytes) / arch.host.gbps *
                          double(femtosecondsPerNanosecond) +
                      0.5);
  // The data takes the link's one direction; the request or the
  // acknowledgement the other, at no bandwidth.
  Time &free = hostFree[r.write ? 0 : 1];
  Time ready = arrival + (r.write ? 0 : latency);
  free = std::max(free, ready) + service;
  return free + latency + (r.write ? latency : 0);
}

void MemorySystem::request(const MemoryRequest &r) {
  Time time = events.now();
  uint32_t node = noc.hostNode();
  switch (r.space) {
  case isa::PhysicalSpace::Dram:
    time = accessDram(r, time, node);
    break;
  case isa::PhysicalSpace::Shared:
    time = accessShared(r, time, node);
    break;
  case isa::PhysicalSpace::Host:
    time = accessHost(r, time);
    break;
  }
  time = noc.send(node, r.node, headerBytes + (r.write ? 0 : r.bytes), time);
  Event event;
  event.time = clock.at(clock.ceil(time));
  event.phase = Phase::Complete;
  event.component = r.reply.component;
  event.code = r.reply.code;
  event.epoch = r.reply.epoch;
  event.payload = r.reply.payload;
  events.post(event);
}

} // namespace tessera::sim
