//===- NetworkFixture.cpp - Networks under test -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NetworkFixture.h"

namespace tessera::sim::noc::test {

Architecture machine(NocTopology topology, uint32_t x, uint32_t y) {
  Architecture a;
  a.cores = {x * y, x, y};
  a.noc.topology = topology;
  a.noc.linkBytes = 32;
  a.dram.channels = 4;
  a.noc.memoryPorts = {0, x * y - 1};
  a.noc.cpPort = x * y / 2;
  return a;
}

void Driver::runTo(Cycle cycle) {
  for (;;) {
    Cycle release = Network::never;
    for (const Release &r : due)
      release = std::min(release, r.came);
    Cycle next = std::min(network.nextStep(), release);
    if (next > cycle || next == Network::never)
      return;
    // What a memory says in a cycle comes before the network's step.
    std::erase_if(due, [&](const Release &r) {
      if (r.came != next)
        return false;
      network.release(r.endpoint, r.until);
      return true;
    });
    if (network.nextStep() == next)
      network.step(next, *this);
  }
}

void Driver::run(const std::vector<Traffic> &traffic) {
  for (const Traffic &t : traffic) {
    if (t.cycle != 0)
      runTo(t.cycle - 1);
    network.inject(t.packet, t.cycle);
  }
  runTo(Network::never);
}

void Driver::delivers(const Packet &packet, uint32_t endpoint, Cycle cycle) {
  auto [place, isNew] = deliveries.insert({{packet.payload, endpoint}, cycle});
  EXPECT_TRUE(isNew) << "packet " << packet.payload << " came twice";
  if (packet.traffic == TrafficClass::Response ||
      network.topology().takesAll(endpoint))
    return;
  memoryFree[endpoint] = std::max(memoryFree[endpoint], cycle) + serviceCycles;
  due.push_back({cycle, memoryFree[endpoint], endpoint});
}

} // namespace tessera::sim::noc::test
