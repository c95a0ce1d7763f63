//===- MemoryJson.cpp - The memory side's counters as JSON ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryJson.h"

using namespace tessera;
using Json = nlohmann::ordered_json;

static Json channelToJson(const sim::ChannelStatistics &c) {
  Json accesses = Json::array(), activates = Json::array();
  for (const sim::BankStatistics &bank : c.banks) {
    accesses.push_back(bank.accesses);
    activates.push_back(bank.activates);
  }
  return {{"reads", c.reads},
          {"writes", c.writes},
          {"reads_from_write_queue", c.readsFromWriteQueue},
          {"row_hits", c.rowHits},
          {"row_misses", c.rowMisses},
          {"row_conflicts", c.rowConflicts},
          {"activates", c.activates},
          {"precharges", c.precharges},
          {"turnarounds", c.turnarounds},
          {"refreshes", c.refreshes},
          {"refresh_clocks", c.refreshClocks},
          {"data_clocks", c.dataClocks},
          {"queued_clocks", c.occupancyClocks},
          {"bank_accesses", std::move(accesses)},
          {"bank_activates", std::move(activates)}};
}

static Json linkToJson(const sim::HostLinkStatistics &link) {
  return {{"requests", link.requests},
          {"bytes", link.bytes},
          {"busy_ns", double(link.busyFs) / 1e6}};
}

Json report::memoryToJson(const sim::MemoryStatistics &m) {
  Json json;
  json["dram_bytes"] = {
      {"useful", m.usefulBytes}, {"over_fetch", m.overFetchBytes},
      {"walks", m.walkBytes},    {"commands", m.commandBytes},
      {"cache", m.cacheBytes},   {"total", m.dramBytes()}};
  json["atom_bytes"] = m.atomBytes;
  json["channels"] = Json::array();
  for (const sim::ChannelStatistics &channel : m.channels)
    json["channels"].push_back(channelToJson(channel));
  json["cache"] = {{"hits", m.cache.hits},
                   {"misses", m.cache.misses},
                   {"fills", m.cache.fills},
                   {"write_backs", m.cache.writeBacks},
                   {"bypasses", m.cache.bypasses}};
  json["shared_slices"] = Json::array();
  for (const sim::SliceStatistics &slice : m.slices)
    json["shared_slices"].push_back(
        {{"requests", slice.requests},
         {"bytes", slice.bytes},
         {"bank_busy_cycles", slice.bankBusyCycles},
         {"conflict_cycles", slice.conflictCycles}});
  json["messages"] = {{"injected", m.messagesInjected},
                      {"ejected", m.messagesEjected}};
  // Most links of a large network carry nothing.
  json["links"] = Json::array();
  for (const sim::LinkStatistics &link : m.links)
    if (link.messages != 0)
      json["links"].push_back({{"from", link.from},
                               {"to", link.to},
                               {"messages", link.messages},
                               {"flits", link.flits},
                               {"bytes", link.bytes},
                               {"blocked_cycles", link.blockedCycles}});
  json["buffers"] = Json::array();
  for (const sim::BufferStatistics &buffer : m.buffers)
    if (buffer.arrived != 0)
      json["buffers"].push_back({{"at", buffer.at},
                                 {"messages", buffer.arrived},
                                 {"wait_cycles", buffer.waitCycles}});
  json["host_link"] = {{"to_host", linkToJson(m.toHost)},
                       {"to_device", linkToJson(m.toDevice)}};
  return json;
}
