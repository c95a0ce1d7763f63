//===- BatchTest.cpp - Whole messages against single flits ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FlitModel.h"
#include "tessera/Support/Random.h"

namespace tessera::sim::noc::test {

namespace {

struct Case {
  NocTopology topology;
  uint32_t x, y, hop, vcs, buffers;
  Cycle service;
  uint32_t gap; ///< Most cycles between packets.
};

std::vector<Traffic> randomTraffic(const Architecture &arch, Random &random,
                                   uint32_t gap) {
  Topology shape(arch);
  std::vector<Traffic> traffic;
  Cycle cycle = 0;
  for (uint64_t i = 0; i != 400; ++i) {
    Traffic t;
    t.cycle = cycle;
    t.packet.payload = i;
    t.packet.source = uint32_t(random.between(0, shape.endpoints() - 1));
    t.packet.destination = uint32_t(random.between(0, shape.endpoints() - 1));
    if (random.between(0, 1))
      t.packet.traffic = TrafficClass::Response;
    t.packet.bytes = uint32_t(random.between(0, 5)) * 32;
    if (random.between(0, 7) == 0) {
      Rectangle &r = t.packet.cores;
      r.x = uint16_t(random.between(0, arch.cores.meshX - 1));
      r.y = uint16_t(random.between(0, arch.cores.meshY - 1));
      r.width = uint16_t(random.between(1, arch.cores.meshX - r.x));
      r.height = uint16_t(random.between(1, arch.cores.meshY - r.y));
      t.packet.destination = 0;
    }
    traffic.push_back(t);
    cycle += uint64_t(random.between(0, gap));
  }
  return traffic;
}

} // namespace

// Every packet comes to every destination in the same cycle in both, from
// nearly empty networks to hopelessly full ones, and no flit is lost.
TEST(NetworkBatches, AreExactToTheFlit) {
  const Case cases[] = {
      {NocTopology::Mesh, 4, 4, 1, 2, 4, 1, 8},
      {NocTopology::Mesh, 4, 4, 1, 2, 2, 3, 1},
      {NocTopology::Mesh, 3, 5, 3, 4, 3, 2, 1},
      {NocTopology::Mesh, 1, 1, 1, 2, 4, 1, 1},
      {NocTopology::Ring, 8, 1, 1, 2, 4, 1, 4},
      {NocTopology::Ring, 4, 2, 2, 3, 2, 2, 1},
      {NocTopology::Ring, 2, 1, 1, 2, 2, 1, 1},
      {NocTopology::Ring, 5, 1, 1, 2, 3, 5, 0},
      {NocTopology::Crossbar, 4, 4, 1, 2, 4, 1, 1},
      {NocTopology::Crossbar, 4, 4, 2, 5, 2, 4, 0},
  };
  uint64_t seed = 1;
  for (const Case &c : cases)
    for (int run = 0; run != 4; ++run) {
      SCOPED_TRACE(testing::Message()
                   << "topology " << int(c.topology) << ", " << c.x << " x "
                   << c.y << ", seed " << seed);
      Architecture arch = machine(c.topology, c.x, c.y);
      arch.noc.hopCycles = c.hop;
      arch.noc.vcs = c.vcs;
      arch.noc.buffers = c.buffers;
      Random random(seed++);
      std::vector<Traffic> traffic = randomTraffic(arch, random, c.gap);
      Driver driver(arch, c.service);
      driver.run(traffic);
      FlitModel model(arch, c.service);
      EXPECT_EQ(driver.deliveries, model.run(traffic));
      EXPECT_TRUE(driver.network.idle());
      EXPECT_TRUE(driver.network.conserves());
    }
}

// Saved and restored in the middle, the rest is the same.
TEST(NetworkBatches, ContinueFromASnapshot) {
  for (NocTopology topology :
       {NocTopology::Mesh, NocTopology::Ring, NocTopology::Crossbar}) {
    Architecture arch = machine(topology, 4, 2);
    Random random(9);
    std::vector<Traffic> traffic = randomTraffic(arch, random, 0);
    for (Traffic &t : traffic) // endpoints that always take: no driver's state
      t.packet.traffic = TrafficClass::Response, t.cycle = 0;
    Driver whole(arch), part(arch), rest(arch);
    whole.run(traffic);
    for (const Traffic &t : traffic)
      part.network.inject(t.packet, 0);
    part.runTo(40);
    ByteWriter out;
    Saver saver(out);
    serialize(saver, part.network);
    std::vector<uint8_t> bytes = out.take();
    ByteReader in{std::span<const uint8_t>(bytes)};
    Loader loader(in);
    serialize(loader, rest.network);
    ASSERT_TRUE(loader.ok());
    EXPECT_EQ(in.remaining(), 0u);
    rest.deliveries = part.deliveries;
    rest.runTo(Network::never);
    EXPECT_EQ(rest.deliveries, whole.deliveries);
    EXPECT_TRUE(rest.network.conserves());
    // And what is saved again is the same bytes.
    ByteWriter again;
    Saver second(again);
    part.runTo(Network::never);
    serialize(second, part.network);
    ByteWriter third;
    Saver restored(third);
    serialize(restored, rest.network);
    EXPECT_EQ(again.take(), third.take());
  }
}

} // namespace tessera::sim::noc::test
