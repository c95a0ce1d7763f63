//===- Topology.cpp - Routers, ports and ways through them ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "noc/Topology.h"
#include <cassert>

namespace tessera::sim::noc {

Topology::Topology(const Architecture &arch)
    : topology(arch.noc.topology), numCores(std::max(1u, arch.cores.count)),
      numChannels(arch.dram.channels), meshX(std::max(1u, arch.cores.meshX)) {
  const NocConfig &noc = arch.noc;
  numRouters = topology == NocTopology::Crossbar ? 1 : numCores;
  inputCount.assign(numRouters, 0);
  for (uint32_t r = 0; r != numRouters; ++r)
    places.push_back({r % meshX, r / meshX});
  links.assign(numRouters, {none, none, none, none});

  // Links come first in every router's order of ports, then the endpoints.
  if (topology == NocTopology::Mesh)
    for (uint32_t r = 0; r != numRouters; ++r) {
      if (x(r) > 0)
        connect(r, Left, r - 1);
      if (x(r) + 1 < meshX && r + 1 < numRouters)
        connect(r, Right, r + 1);
      if (r >= meshX)
        connect(r, Up, r - meshX);
      if (r + meshX < numRouters)
        connect(r, Down, r + meshX);
    }
  if (topology == NocTopology::Ring && numRouters > 1)
    for (uint32_t r = 0; r != numRouters; ++r) {
      connect(r, Left, (r + numRouters - 1) % numRouters);
      connect(r, Right, (r + 1) % numRouters);
    }

  auto attach = [&](uint32_t node) {
    uint32_t router = topology == NocTopology::Crossbar ? 0 : node;
    assert(router < numRouters && "the architecture was not validated");
    auto endpoint = uint32_t(endpointRouter.size());
    endpointRouter.push_back(router);
    endpointInput.push_back(uint32_t(ins.size()));
    ins.push_back({router, endpoint, none, inputCount[router]++});
    endpointOutput.push_back(uint32_t(outs.size()));
    outs.push_back({router, endpoint, none});
  };
  auto port = [](const std::vector<uint32_t> &ports, uint32_t index) {
    return ports.empty() ? 0 : ports[index % ports.size()];
  };
  for (uint32_t i = 0; i != numCores; ++i)
    attach(i);
  attach(noc.cpPort);
  attach(noc.hostPort);
  for (uint32_t i = 0; i != numChannels; ++i)
    attach(port(noc.memoryPorts, i));
  for (uint32_t i = 0; i != std::max(1u, arch.shared.slices); ++i)
    attach(port(noc.sharedPorts, i));
}

void Topology::connect(uint32_t from, Direction direction, uint32_t to) {
  auto output = uint32_t(outs.size()), input = uint32_t(ins.size());
  links[from][direction] = output;
  outs.push_back({from, none, input});
  ins.push_back({to, none, output, inputCount[to]++});
}

uint32_t Topology::route(uint32_t router, uint32_t endpoint) const {
  uint32_t to = endpointRouter[endpoint];
  if (to == router)
    return endpointOutput[endpoint];
  if (topology == NocTopology::Ring)
    return links[router][ahead(router, to) <= numRouters / 2 ? Right : Left];
  if (x(to) != x(router))
    return links[router][x(to) < x(router) ? Left : Right];
  return links[router][to < router ? Up : Down];
}

uint32_t Topology::hops(uint32_t from, uint32_t to) const {
  uint32_t a = endpointRouter[from], b = endpointRouter[to];
  auto distance = [](uint32_t p, uint32_t q) { return p > q ? p - q : q - p; };
  switch (topology) {
  case NocTopology::Mesh:
    return 1 + distance(x(a), x(b)) + distance(y(a), y(b));
  case NocTopology::Ring:
    return 1 + std::min(ahead(a, b), ahead(b, a));
  case NocTopology::Crossbar:
    return 1;
  }
  return 1;
}

} // namespace tessera::sim::noc
