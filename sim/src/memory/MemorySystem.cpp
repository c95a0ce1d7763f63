//===- MemorySystem.cpp - What a physical access costs ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "memory/MemorySystem.h"
#include <algorithm>
#include <cassert>

namespace tessera::sim {

/// Bytes of a message without data.
static constexpr uint32_t headerBytes = 8;

/// Architectures made by hand may leave the mapping out.
static DramMapping mappingOf(DramConfig dram) {
  if (dram.mapping.empty())
    dram.mapping = DramMapping::defaultFor(dram);
  Result<DramMapping> mapping = DramMapping::create(dram);
  assert(mapping && "the architecture was not validated");
  return *mapping;
}

MemorySystem::MemorySystem(const Architecture &arch, const Clock &clock,
                           EventQueue &events, Noc &noc)
    : arch(arch), clock(clock), events(events), noc(noc),
      self(events.add(*this)),
      interleave(std::max<uint64_t>(
          arch.dma.burstBytes, std::max<uint64_t>(1, arch.dram.atomBytes()))),
      dramClock(1.0 / arch.dram.tckNs),
      atomBytes(std::max<uint64_t>(1, arch.dram.atomBytes())),
      mapping(mappingOf(arch.dram)),
      sliceFree(std::max(1u, arch.shared.slices)),
      perAccount(arch.cores.count + 1) {
  ports.reserve(arch.dram.channels);
  for (uint32_t i = 0; i != arch.dram.channels; ++i)
    ports.emplace_back(arch.dram);
}

//===----------------------------------------------------------------------===//
// DRAM
//===----------------------------------------------------------------------===//

void MemorySystem::sendToDram(const MemoryRequest &r) {
  uint64_t atoms =
      (r.address + r.bytes - 1) / atomBytes - r.address / atomBytes + 1;
  Traffic &traffic = perAccount[r.account];
  (r.write ? traffic.dramWritten : traffic.dramRead) += atoms * atomBytes;
  if (freeTransfers.empty()) {
    freeTransfers.push_back(uint32_t(transfers.size()));
    transfers.emplace_back();
  }
  uint32_t index = freeTransfers.back();
  freeTransfers.pop_back();
  transfers[index] = {r, uint32_t(atoms), 0};
  // A burst whose atoms lie on several channels travels to the first one's.
  uint32_t node = noc.memoryNode(mapping.decode(r.address).channel);
  Time arrival = noc.send(r.node, node, headerBytes + (r.write ? r.bytes : 0),
                          events.now());
  Event event;
  event.time = dramClock.at(dramClock.ceil(arrival));
  event.phase = Phase::Complete;
  event.component = self;
  event.code = Arrive;
  event.payload = index;
  events.post(event);
}

void MemorySystem::arrive(uint64_t index) {
  if (index >= transfers.size())
    return;
  const Transfer &transfer = transfers[index];
  Cycle now = dramClock.floor(events.now());
  uint64_t first = transfer.request.address / atomBytes;
  for (uint64_t i = 0, atoms = transfer.atoms; i != atoms; ++i) {
    DramCoordinates at = mapping.decode((first + i) * atomBytes);
    Port &port = ports[at.channel];
    port.waiting.push_back({transfer.request.write, port.channel.bankOf(at),
                            uint32_t(at.row), at.column, index});
    schedule(at.channel, std::max(now, port.open));
  }
}

void MemorySystem::schedule(uint32_t channel, Cycle at) {
  Port &port = ports[channel];
  if (port.scheduled <= at)
    return;
  port.scheduled = at;
  Event event;
  event.time = dramClock.at(at);
  // After all arrivals of the clock.
  event.phase = Phase::Start;
  event.component = self;
  event.code = Step;
  event.payload = channel;
  events.post(event);
}

void MemorySystem::step(uint32_t channel) {
  Port &port = ports[channel];
  Cycle now = dramClock.floor(events.now());
  if (port.scheduled != now)
    return; // An earlier step took its place.
  port.scheduled = ~Cycle(0);
  port.open = now + 1;
  completions.clear();
  port.channel.advance(now, completions);
  // In order: who finds no room holds back those behind.
  for (; port.first != port.waiting.size(); ++port.first) {
    const dram::Access &access = port.waiting[port.first];
    if (!port.channel.offer(access, now, completions))
      break;
    if (access.write)
      completions.push_back({access.token, now});
  }
  if (port.first == port.waiting.size()) {
    port.waiting.clear();
    port.first = 0;
  }
  if (port.channel.nextStep() <= now)
    port.channel.step(now, completions);
  if (!port.channel.idle())
    schedule(channel, std::max(port.channel.nextStep(), now + 1));
  for (const dram::Completion &completion : completions)
    atomDone(completion.token, completion.clock);
}

void MemorySystem::atomDone(uint64_t index, Cycle at) {
  if (index >= transfers.size() || transfers[index].atoms == 0)
    return;
  Transfer &transfer = transfers[index];
  transfer.done = std::max(transfer.done, at);
  if (--transfer.atoms != 0)
    return;
  const MemoryRequest &r = transfer.request;
  reply(r, noc.memoryNode(mapping.decode(r.address).channel),
        dramClock.at(transfer.done));
  freeTransfers.push_back(uint32_t(index));
}

void MemorySystem::handle(const Event &event) {
  if (event.code == Arrive)
    arrive(event.payload);
  else if (event.payload < ports.size())
    step(uint32_t(event.payload));
}

dram::ChannelCounters MemorySystem::dramCounters() const {
  dram::ChannelCounters sum;
  for (const Port &port : ports)
    sum += port.channel.counters();
  return sum;
}

bool MemorySystem::consistent() const {
  for (const Port &port : ports)
    for (const dram::Access &access : port.waiting)
      if (access.bank >= port.channel.bankCount())
        return false;
  for (const Transfer &transfer : transfers)
    if (transfer.request.account >= perAccount.size())
      return false;
  return perAccount.size() == arch.cores.count + 1 &&
         sliceFree.size() == std::max(1u, arch.shared.slices) &&
         std::ranges::all_of(freeTransfers,
                             [&](uint32_t i) { return i < transfers.size(); });
}

//===----------------------------------------------------------------------===//
// The others
//===----------------------------------------------------------------------===//

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

void MemorySystem::reply(const MemoryRequest &r, uint32_t node, Time time) {
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

void MemorySystem::request(const MemoryRequest &r) {
  uint32_t node = noc.hostNode();
  switch (r.space) {
  case isa::PhysicalSpace::Dram:
    return sendToDram(r);
  case isa::PhysicalSpace::Shared: {
    Time time = accessShared(r, events.now(), node);
    return reply(r, node, time);
  }
  case isa::PhysicalSpace::Host:
    return reply(r, node, accessHost(r, events.now()));
  }
}

} // namespace tessera::sim
