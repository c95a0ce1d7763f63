//===- Noc.h - The network on chip ------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where things are and how far apart. A message costs hops times the hop
// latency; the last hop enters the destination's port, so that there is always
// one. Occupancy of links, virtual channels and credits are not modelled yet
// (docs/timing.md): every message asks here, so that they have one place to
// go.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_NOC_NOC_H
#define TESSERA_SIM_NOC_NOC_H

#include "kernel/Clock.h"
#include "kernel/Serialize.h"
#include "tessera/Arch/Architecture.h"

namespace tessera::sim {

class Noc {
public:
  explicit Noc(const Architecture &arch);

  /// The mesh node of an attachment point.
  uint32_t coreNode(uint32_t core) const { return core; }
  uint32_t memoryNode(uint32_t channel) const {
    return port(config.memoryPorts, channel);
  }
  uint32_t sharedNode(uint32_t slice) const {
    return port(config.sharedPorts, slice);
  }
  uint32_t cpNode() const { return config.cpPort; }
  uint32_t hostNode() const { return config.hostPort; }

  uint32_t hops(uint32_t from, uint32_t to) const;
  /// When a message of `bytes` that leaves `from` at `time` has arrived.
  Time send(uint32_t from, uint32_t to, uint32_t bytes, Time time);

  uint64_t byteHops() const { return byteHopCount; }
  template <typename A> void serialize(A &ar) { fields(ar, byteHopCount); }

private:
  static uint32_t port(const std::vector<uint32_t> &ports, uint32_t index) {
    return ports.empty() ? 0 : ports[index % ports.size()];
  }

  NocConfig config;
  uint32_t meshX, nodes;
  uint64_t hopFs;
  uint64_t byteHopCount = 0;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_NOC_NOC_H
