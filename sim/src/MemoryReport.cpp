//===- MemoryReport.cpp - Counters of the memory side -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryReport.h"
#include <fmt/format.h>

namespace tessera::sim {

static ChannelStatistics describe(const dram::Channel &channel) {
  const dram::ChannelCounters &c = channel.counters();
  ChannelStatistics s;
  s.reads = c.reads, s.writes = c.writes;
  s.readsFromWriteQueue = c.readsFromWriteQueue;
  s.rowHits = c.rowHits, s.rowMisses = c.rowMisses;
  s.rowConflicts = c.rowConflicts;
  s.activates = c.activates, s.precharges = c.precharges;
  s.turnarounds = c.turnarounds;
  s.refreshes = c.refreshes, s.refreshClocks = c.refreshClocks;
  s.dataClocks = c.dataClocks;
  s.occupancyClocks = c.occupancyClocks, s.waitClocks = c.waitClocks;
  for (uint32_t bank = 0; bank != channel.bankCount(); ++bank) {
    const dram::BankCounters &b = channel.bankCounters(bank);
    s.banks.push_back({b.accesses, b.activates});
  }
  return s;
}

static std::string endpointName(const noc::Topology &shape, uint32_t endpoint) {
  if (endpoint < shape.cores())
    return fmt::format("core {}", endpoint);
  if (endpoint == shape.commandProcessor())
    return "command processor";
  if (endpoint == shape.host())
    return "host";
  if (shape.isMemory(endpoint))
    return fmt::format("channel {}", endpoint - shape.channel(0));
  return fmt::format("slice {}", endpoint - shape.slice(0));
}

static HostLinkStatistics describe(const HostLinkCounters &c) {
  return {c.requests, c.bytes, c.busyFs};
}

MemoryStatistics describeMemory(const MemorySystem &memory, const Noc &noc,
                                const Architecture &arch) {
  MemoryStatistics s;
  s.atomBytes = memory.atomSize();
  const DramBytes &bytes = memory.dramBytes();
  s.usefulBytes = bytes.useful, s.overFetchBytes = bytes.overFetch;
  s.walkBytes = bytes.walks, s.commandBytes = bytes.commands;
  s.cacheBytes = bytes.cache;
  for (uint32_t i = 0; i != arch.dram.channels; ++i)
    s.channels.push_back(describe(memory.channel(i)));

  const noc::Network &network = noc.state();
  const noc::Topology &shape = network.topology();
  s.messagesInjected = network.injectedPackets();
  s.messagesEjected = network.ejectedPackets();
  for (uint32_t o = 0; o != shape.outputs().size(); ++o) {
    const noc::Topology::Output &output = shape.outputs()[o];
    const noc::LinkCounters &c = network.linkCounters()[o];
    s.links.push_back(
        {fmt::format("router {}", output.router),
         output.endpoint == noc::none
             ? fmt::format("router {}", shape.inputs()[output.input].router)
             : endpointName(shape, output.endpoint),
         c.packets, c.flits, c.bytes, c.blockedCycles});
  }
  for (uint32_t i = 0; i != shape.inputs().size(); ++i) {
    const noc::Topology::Input &input = shape.inputs()[i];
    std::string from =
        input.endpoint == noc::none
            ? fmt::format("router {}", shape.outputs()[input.output].router)
            : endpointName(shape, input.endpoint);
    for (uint32_t v = 0; v != network.channels(); ++v) {
      const noc::BufferCounters &c =
          network.bufferCounters()[i * network.channels() + v];
      s.buffers.push_back(
          {fmt::format("router {} from {}, channel {}", input.router, from, v),
           c.arrived, c.left, c.occupancyCycles, c.waitCycles});
    }
  }
  if (arch.shared.bytes != 0)
    for (const SliceCounters &c : memory.sliceCounters())
      s.slices.push_back({c.requests, c.bytes, c.busyCycles, c.conflictCycles});
  const LlcCounters &cache = memory.cacheCounters();
  s.cache = {cache.hits, cache.misses, cache.fills, cache.writeBacks,
             cache.bypasses};
  s.toHost = describe(memory.hostLink().toHost());
  s.toDevice = describe(memory.hostLink().toDevice());
  return s;
}

Status checkMemory(const MemorySystem &memory, const Noc &noc) {
  auto broken = [](std::string text) {
    return Status(StatusCode::Internal,
                  "the simulator's own books do not balance: " + text);
  };
  if (!noc.state().conserves())
    return broken("the network lost or made a message");
  dram::ChannelCounters c = memory.dramCounters();
  uint64_t waiting = memory.waitingAtoms();
  uint64_t moved = (c.reads + c.writes + c.readsFromWriteQueue + waiting) *
                   memory.atomSize();
  // Requests on their way to a channel (of walks ahead that nobody waited for,
  // say) are counted when they are sent, but with a cache when they leave it.
  if (!memory.cached())
    moved += memory.underWay() * memory.atomSize();
  uint64_t asked = memory.dramBytes().total();
  if (moved != asked)
    return broken(fmt::format("{} bytes of DRAM were asked for and {} moved",
                              asked, moved));
  uint64_t byAccount = memory.bytesOfAccounts();
  if (byAccount != asked)
    return broken(fmt::format("{} bytes of DRAM by requester, {} by purpose",
                              byAccount, asked));
  if (waiting == 0 && c.occupancyClocks != c.waitClocks)
    return broken(fmt::format("DRAM entries waited {} clocks, the queues held "
                              "them for {}",
                              c.waitClocks, c.occupancyClocks));
  return Status::success();
}

} // namespace tessera::sim
