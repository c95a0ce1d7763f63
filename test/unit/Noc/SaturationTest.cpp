//===- SaturationTest.cpp - Throughput under full load ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NetworkFixture.h"
#include "tessera/Support/Random.h"

namespace tessera::sim::noc::test {

namespace {

/// Keeps every core's queue filled with packets to `destination(core)` for a
/// while; flits per cycle that came meanwhile, without the start.
template <typename Destination>
double throughput(const Architecture &arch, uint32_t bytes,
                  Destination destination) {
  Driver d(arch);
  uint64_t number = 0;
  constexpr Cycle start = 1000, end = 6000;
  for (Cycle cycle = 0; cycle != end; ++cycle) {
    for (uint32_t core = 0; core != arch.cores.count; ++core)
      while (d.network.queued(core, TrafficClass::Response) <
             d.network.places()) {
        Packet p;
        p.payload = number++;
        p.source = core;
        p.destination = destination(core);
        p.bytes = bytes;
        p.traffic = TrafficClass::Response;
        d.network.inject(p, cycle);
      }
    d.runTo(cycle);
  }
  uint64_t came = 0;
  for (const auto &[key, cycle] : d.deliveries)
    came += cycle >= start && cycle < end;
  return double(came) * d.network.flitsOf(bytes) / double(end - start);
}

} // namespace

// Uniform traffic on a k × k mesh: half of the flits cross the middle, k links
// in each direction carry a quarter of all each way: at most 4 k flits a cycle
// (k = 4: 16), and at most one a cycle and endpoint (16). Dimension order and
// heads of queues in each other's way leave some 60 to 75 % of that.
TEST(Saturation, UniformTrafficOnAMesh) {
  Architecture arch = machine(NocTopology::Mesh, 4, 4);
  for (uint32_t bytes : {32u, 128u}) {
    Random random(3);
    double flits = throughput(
        arch, bytes, [&](uint32_t) { return uint32_t(random.between(0, 15)); });
    EXPECT_LE(flits, 16.0);
    EXPECT_GE(flits, 0.45 * 16) << bytes;
    // More places let more packets pass each other's heads.
    Random again(3);
    arch.noc.buffers = 16;
    double roomy = throughput(
        arch, bytes, [&](uint32_t) { return uint32_t(again.between(0, 15)); });
    EXPECT_GE(roomy, flits);
    EXPECT_LE(roomy, 16.0);
    arch.noc.buffers = 0;
  }
}

// Everybody sends to one: its port's one flit a cycle.
TEST(Saturation, AHotSpotTakesOneFlitACycle) {
  for (NocTopology topology :
       {NocTopology::Mesh, NocTopology::Ring, NocTopology::Crossbar}) {
    Architecture arch = machine(topology, 4, 4);
    double flits = throughput(arch, 64, [](uint32_t) { return 5u; });
    EXPECT_LE(flits, 1.0 + 1e-9);
    EXPECT_GE(flits, 0.99) << int(topology);
  }
}

// Uniform traffic through a crossbar with queues that only their heads leave:
// 2 - √2 = 58.6 % of the ports' rate for many ports; 16 ports do somewhat
// better (Karol, Hluchyj, Morgan 1987: 0.6 for 16).
TEST(Saturation, UniformTrafficThroughACrossbar) {
  Architecture arch = machine(NocTopology::Crossbar, 4, 4);
  Random random(5);
  double flits = throughput(
      arch, 32, [&](uint32_t) { return uint32_t(random.between(0, 15)); });
  EXPECT_NEAR(flits / 16, 0.601, 0.01);
}

// A permutation without conflicts runs at full rate: every core to the one
// opposite, a flit a cycle from each.
TEST(Saturation, DisjointPathsRunAtTheLinksRate) {
  Architecture arch = machine(NocTopology::Crossbar, 4, 4);
  EXPECT_NEAR(throughput(arch, 32, [](uint32_t c) { return 15 - c; }), 16.0,
              0.01);
  // On a mesh, neighbours in a row: each link one way.
  arch = machine(NocTopology::Mesh, 4, 4);
  EXPECT_NEAR(throughput(arch, 32, [](uint32_t c) { return c ^ 1; }), 16.0,
              0.01);
}

// A ring of 8 whose every core sends d ahead: each link carries d packets of
// every round, so 1 / d of a flit a cycle and core at most. With two channels
// of the class (destinations of even and of odd number) that is reached.
//
// With one channel a router's input is one queue. Of d packets that come to it
// one is for its core, and while that one is the head the link gets none of the
// others. A core may put in a packet then; but with round robin it gets half of
// the link whenever it asks, which for d > 2 is more than the 1 / d that leave.
// So the ring fills up until there is no place in that cycle, and a round costs
// one cycle for the core's packet and d for the link's: d / (d + 1) of the
// bound, however many places there are.
TEST(Saturation, ARingsLinksBoundIt) {
  Architecture arch = machine(NocTopology::Ring, 8, 1);
  auto partOfBound = [&](uint32_t ahead, uint32_t channels, uint32_t places) {
    arch.noc.vcs = channels;
    arch.noc.buffers = places;
    double flits =
        throughput(arch, 32, [&](uint32_t core) { return (core + ahead) % 8; });
    return flits * ahead / 8;
  };
  for (uint32_t places : {4u, 16u})
    for (uint32_t ahead : {1u, 2u, 3u, 4u}) {
      SCOPED_TRACE(testing::Message() << places << " places, " << ahead);
      double d = ahead;
      EXPECT_NEAR(partOfBound(ahead, 4, places), 1.0, 0.005);
      EXPECT_NEAR(partOfBound(ahead, 2, places), ahead > 2 ? d / (d + 1) : 1.0,
                  0.005);
    }
}

} // namespace tessera::sim::noc::test
