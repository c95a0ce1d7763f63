//===- LatencyTest.cpp - The network's rules, one by one --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NetworkFixture.h"

namespace tessera::sim::noc::test {

static Packet packet(uint64_t number, uint32_t from, uint32_t to,
                     uint32_t bytes,
                     TrafficClass traffic = TrafficClass::Response) {
  Packet p;
  p.payload = number;
  p.source = from;
  p.destination = to;
  p.bytes = bytes;
  p.traffic = traffic;
  return p;
}

TEST(Network, Hops) {
  Topology mesh(machine(NocTopology::Mesh, 4, 4));
  EXPECT_EQ(mesh.hops(5, 5), 1u); // its own router, and out again
  EXPECT_EQ(mesh.hops(0, 15), 7u);
  EXPECT_EQ(mesh.hops(0, mesh.channel(1)), 7u);                 // at node 15
  EXPECT_EQ(mesh.hops(3, mesh.commandProcessor()), 1u + 3 + 2); // at node 8
  Topology ring(machine(NocTopology::Ring, 4, 4));
  EXPECT_EQ(ring.hops(1, 15), 3u);
  EXPECT_EQ(ring.hops(0, 8), 9u);
  Topology crossbar(machine(NocTopology::Crossbar, 4, 4));
  EXPECT_EQ(crossbar.hops(1, 15), 1u);
}

// Alone, a packet takes hops × hop_cycles + flits - 1, whatever the topology.
TEST(Network, LatencyAtZeroLoadIsTheSumOfItsParts) {
  for (NocTopology topology :
       {NocTopology::Mesh, NocTopology::Ring, NocTopology::Crossbar})
    for (uint32_t hop : {1u, 3u})
      for (uint32_t bytes : {0u, 8u, 32u, 33u, 256u}) {
        Architecture arch = machine(topology, 4, 4);
        arch.noc.hopCycles = hop;
        Driver d(arch);
        uint32_t endpoints = d.network.topology().endpoints();
        uint64_t number = 0;
        for (uint32_t from = 0; from < endpoints; from += 3)
          for (uint32_t to = 0; to < endpoints; ++to, ++number) {
            d.network.inject(packet(number, from, to, bytes), number * 1000);
            d.runTo(number * 1000 + 999);
            uint32_t flits = bytes == 0 ? 1 : (bytes + 31) / 32;
            Cycle took = d.deliveries.at({number, to}) - number * 1000;
            EXPECT_EQ(took,
                      d.network.topology().hops(from, to) * hop + flits - 1);
            EXPECT_EQ(took, d.network.zeroLoadLatency(from, to, bytes));
          }
      }
}

// Two packets of 4 flits from nodes 0 and 4 of a 4 × 4 mesh meet at node 8's
// port (both along y): 8 is 2 hops + 1 from 0 and 1 + 1 from 4.
TEST(Network, APacketHoldsALinkForItsFlits) {
  Driver d(machine(NocTopology::Mesh, 4, 4));
  d.network.inject(packet(1, 4, 8, 128), 10);
  d.network.inject(packet(2, 0, 8, 128), 10);
  d.runTo(Network::never);
  // From 4: link at 10, arrives at 8's router at 11, port 11 to 14, last flit
  // there at 14 + 1.
  EXPECT_EQ(d.deliveries.at({1, 8}), 15u);
  // From 0: link to 4 at 10, at 4 from 11; the link 4 to 8 is held from 10 to
  // 13, so 14; at 8 from 15, when the port is free again: last flit 18 + 1.
  EXPECT_EQ(d.deliveries.at({2, 8}), 19u);
}

// Requests that nobody takes fill their own channel and no other.
TEST(Network, ResponsesPassBlockedRequests) {
  Architecture arch = machine(NocTopology::Mesh, 4, 1);
  arch.noc.buffers = 2;
  Driver d(arch, 1'000'000);
  uint32_t memory = d.network.topology().channel(0); // at node 0
  for (uint64_t i = 0; i != 20; ++i)
    d.network.inject(packet(i, 3, memory, 0, TrafficClass::Request), 0);
  d.network.inject(packet(99, 3, 0, 0), 100);
  d.runTo(1000);
  EXPECT_EQ(d.deliveries.size(), 3u);
  EXPECT_EQ(d.deliveries.at({99, 0}), 100u + 4);
  // The memory has 2 (the first is being served until 1,000,004 or so), three
  // routers' buffers 2 each, the rest waits at the source.
  EXPECT_EQ(d.network.queued(3, TrafficClass::Request), 20u - 2 - 3 * 2);
  EXPECT_TRUE(d.network.conserves());
}

// The endpoint's queue is watched once for each request to do so.
TEST(Network, TellsWhenASourceAdvances) {
  Driver d(machine(NocTopology::Crossbar, 2, 1));
  d.network.inject(packet(1, 0, 1, 320), 5);
  d.network.inject(packet(2, 0, 1, 0), 5);
  EXPECT_EQ(d.network.queued(0, TrafficClass::Response), 2u);
  d.network.watch(0, TrafficClass::Response);
  d.runTo(5);
  EXPECT_EQ(d.advanced, std::vector<uint32_t>{0});
  EXPECT_EQ(d.network.queued(0, TrafficClass::Response), 1u);
  d.runTo(Network::never);
  EXPECT_EQ(d.advanced.size(), 1u);
  // 10 flits from 5 to 14, then the second.
  EXPECT_EQ(d.deliveries.at({1, 1}), 15u);
  EXPECT_EQ(d.deliveries.at({2, 1}), 16u);
}

// A multicast crosses every link of its tree once. From node 0 of a 4 × 4 mesh
// to all: 3 links along x, 4 × 3 along y, 16 ports.
TEST(Network, AMulticastIsATree) {
  Driver d(machine(NocTopology::Mesh, 4, 4));
  Packet p = packet(7, 0, 0, 64);
  p.cores = {0, 0, 4, 4};
  d.network.inject(p, 0);
  d.runTo(Network::never);
  ASSERT_EQ(d.deliveries.size(), 16u);
  for (uint32_t core = 0; core != 16; ++core) // 64 bytes are 2 flits
    EXPECT_EQ(d.deliveries.at({7, core}),
              d.network.topology().hops(0, core) + 1)
        << core;
  EXPECT_EQ(d.network.byteHops(), 64u * (3 + 12 + 16));
  EXPECT_TRUE(d.network.conserves());
}

// Σ of waits = ∫ of occupancy, counted independently of each other.
TEST(Network, LittlesLawHoldsForEveryBuffer) {
  Architecture arch = machine(NocTopology::Mesh, 4, 4);
  Driver d(arch, 3);
  uint64_t number = 0;
  for (uint32_t round = 0; round != 20; ++round)
    for (uint32_t from = 0; from != 16; ++from, ++number)
      d.network.inject(packet(number, from,
                              d.network.topology().channel(from % 4), 64,
                              TrafficClass::Request),
                       round);
  d.runTo(Network::never);
  uint64_t waited = 0;
  for (const BufferCounters &c : d.network.bufferCounters()) {
    EXPECT_EQ(c.arrived, c.left);
    EXPECT_EQ(c.occupancyCycles, c.waitCycles);
    waited += c.waitCycles;
  }
  EXPECT_GT(waited, 320u);
}

} // namespace tessera::sim::noc::test
