//===- NetworkFixture.h - Networks under test -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_NOC_NETWORKFIXTURE_H
#define TESSERA_TEST_UNIT_NOC_NETWORKFIXTURE_H

#include "noc/Network.h"
#include <gtest/gtest.h>
#include <map>

namespace tessera::sim::noc::test {

/// A machine with `x` × `y` cores and four memory channels.
Architecture machine(NocTopology topology, uint32_t x, uint32_t y);

/// A packet to be injected at a cycle.
struct Traffic {
  Cycle cycle = 0;
  Packet packet;
};
/// When which packet (by its payload) came to which endpoint.
using Deliveries = std::map<std::pair<uint64_t, uint32_t>, Cycle>;

/// A network with memories that take a request as long as they need for the one
/// before it, `serviceCycles`, beginning when it has come.
class Driver : public NetworkListener {
public:
  explicit Driver(const Architecture &arch, Cycle serviceCycles = 1)
      : network(arch), serviceCycles(serviceCycles),
        memoryFree(network.topology().endpoints()) {}

  /// Sends all (in order of their cycles) and runs until nothing happens.
  void run(const std::vector<Traffic> &traffic);
  /// Runs until `cycle`.
  void runTo(Cycle cycle);

  void delivers(const Packet &packet, uint32_t endpoint, Cycle cycle) override;
  void sourceAdvanced(uint32_t endpoint, TrafficClass) override {
    advanced.push_back(endpoint);
  }

  Network network;
  Cycle serviceCycles;
  std::vector<Cycle> memoryFree;
  Deliveries deliveries;
  std::vector<uint32_t> advanced;

private:
  struct Release {
    Cycle came, until;
    uint32_t endpoint;
  };
  std::vector<Release> due;
};

} // namespace tessera::sim::noc::test

#endif // TESSERA_TEST_UNIT_NOC_NETWORKFIXTURE_H
