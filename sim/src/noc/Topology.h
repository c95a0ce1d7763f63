//===- Topology.h - Routers, ports and ways through them --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The network's shape. Every core, the command processor, the host link, every
// DRAM channel and every slice of the shared SRAM is an endpoint with a port of
// its own at a router; routers are linked as a mesh (XY routing) or a ring (the
// shorter way, upwards if both are as long); a crossbar is one router with all
// endpoints. An output leads to a neighbour's input or to an endpoint; an input
// comes from a neighbour's output or from an endpoint.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_NOC_TOPOLOGY_H
#define TESSERA_SIM_NOC_TOPOLOGY_H

#include "kernel/Serialize.h"
#include "tessera/Arch/Architecture.h"
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace tessera::sim::noc {

inline constexpr uint32_t none = ~uint32_t(0);

/// Cores x to x + width - 1, y to y + height - 1 of the mesh; width 0: none.
struct Rectangle {
  uint16_t x = 0, y = 0, width = 0, height = 0;

  bool empty() const { return width == 0 || height == 0; }
  bool contains(uint32_t px, uint32_t py) const {
    return px >= x && px < uint32_t(x) + width && py >= y &&
           py < uint32_t(y) + height;
  }
  bool operator==(const Rectangle &) const = default;
  template <typename A> void serialize(A &ar) {
    fields(ar, x, y, width, height);
  }
};

/// A way out of a router, and those of a multicast's cores that lie there.
struct Branch {
  uint32_t output = none;
  Rectangle cores;
};

class Topology {
public:
  explicit Topology(const Architecture &arch);

  // Endpoints.
  uint32_t core(uint32_t index) const { return index; }
  uint32_t commandProcessor() const { return numCores; }
  uint32_t host() const { return numCores + 1; }
  uint32_t channel(uint32_t index) const { return numCores + 2 + index; }
  uint32_t slice(uint32_t index) const {
    return numCores + 2 + numChannels + index;
  }
  uint32_t endpoints() const { return uint32_t(endpointRouter.size()); }
  uint32_t cores() const { return numCores; }
  bool isMemory(uint32_t endpoint) const {
    return endpoint >= numCores + 2 && endpoint < numCores + 2 + numChannels;
  }
  /// Whether all of `r` are cores.
  bool hasCores(const Rectangle &r) const {
    return uint32_t(r.x) + r.width <= meshX &&
           (uint64_t(r.y) + r.height) * meshX <= numCores;
  }
  /// Cores and the command processor take whatever comes; memories and the host
  /// link have room for a few requests only.
  bool takesAll(uint32_t endpoint) const { return endpoint <= numCores; }

  struct Output {
    uint32_t router = 0;
    uint32_t endpoint = none; ///< That it leads to, or none.
    uint32_t input = none;    ///< That it leads to, or none.
  };
  struct Input {
    uint32_t router = 0;
    uint32_t endpoint = none; ///< That it comes from, or none.
    uint32_t output = none;   ///< That it comes from, or none.
    uint32_t place = 0;       ///< Among its router's inputs.
  };
  const std::vector<Output> &outputs() const { return outs; }
  const std::vector<Input> &inputs() const { return ins; }
  uint32_t routers() const { return numRouters; }
  /// Inputs of a router.
  uint32_t inputsOf(uint32_t router) const { return inputCount[router]; }
  /// An endpoint's own ports.
  uint32_t injection(uint32_t endpoint) const {
    return endpointInput[endpoint];
  }
  uint32_t ejection(uint32_t endpoint) const {
    return endpointOutput[endpoint];
  }
  uint32_t routerOf(uint32_t endpoint) const {
    return endpointRouter[endpoint];
  }

  /// The output that a message for `endpoint` takes at `router`.
  uint32_t route(uint32_t router, uint32_t endpoint) const;
  /// Links on the way, that to the destination's port among them.
  uint32_t hops(uint32_t from, uint32_t to) const;
  /// Ways of a multicast from endpoint `source` to `cores` that has come to a
  /// router by `input`; every core is in exactly one, and a router sees at most
  /// one copy. Calls `visit(branch)` in order of the router's outputs.
  template <typename Visit>
  void branches(uint32_t input, uint32_t source, const Rectangle &cores,
                Visit visit) const;
  /// Whether a message from `input` to `output` enters a ring.
  bool entersRing(uint32_t input, uint32_t output) const {
    return topology == NocTopology::Ring && ins[input].output == none &&
           outs[output].endpoint == none;
  }

private:
  enum Direction : uint8_t { Left, Right, Up, Down }; ///< -x, +x, -y, +y.

  uint32_t x(uint32_t router) const { return places[router].x; }
  uint32_t y(uint32_t router) const { return places[router].y; }
  /// Steps upwards from one router of the ring to another.
  uint32_t ahead(uint32_t from, uint32_t to) const {
    return to >= from ? to - from : to + numRouters - from;
  }
  void connect(uint32_t from, Direction direction, uint32_t to);
  template <typename Visit>
  void meshBranches(uint32_t router, const Rectangle &cores, Visit visit) const;
  template <typename Visit>
  void ringBranches(uint32_t input, uint32_t source, const Rectangle &cores,
                    Visit visit) const;

  NocTopology topology;
  uint32_t numCores, numChannels, meshX, numRouters;
  std::vector<uint32_t> endpointRouter, endpointInput, endpointOutput;
  struct Place {
    uint32_t x, y;
  };
  std::vector<Place> places; ///< Of the routers in the mesh.
  std::vector<uint32_t> inputCount;
  std::vector<std::array<uint32_t, 4>> links; ///< Outputs by direction.
  std::vector<Output> outs;
  std::vector<Input> ins;
};

template <typename Visit>
void Topology::meshBranches(uint32_t router, const Rectangle &c,
                            Visit visit) const {
  uint32_t px = x(router), py = y(router);
  uint32_t right = uint32_t(c.x) + c.width, below = uint32_t(c.y) + c.height;
  auto part = [&](uint32_t x0, uint32_t x1, uint32_t y0, uint32_t y1) {
    return Rectangle{uint16_t(x0), uint16_t(y0), uint16_t(x1 - x0),
                     uint16_t(y1 - y0)};
  };
  // First along x, then in each column along y.
  if (c.x < px)
    visit(Branch{links[router][Left],
                 part(c.x, std::min(right, px), c.y, below)});
  if (right > px + 1)
    visit(Branch{links[router][Right],
                 part(std::max<uint32_t>(c.x, px + 1), right, c.y, below)});
  if (px < c.x || px >= right)
    return;
  if (c.y < py)
    visit(
        Branch{links[router][Up], part(px, px + 1, c.y, std::min(below, py))});
  if (below > py + 1)
    visit(Branch{links[router][Down],
                 part(px, px + 1, std::max<uint32_t>(c.y, py + 1), below)});
  if (c.contains(px, py))
    visit(Branch{endpointOutput[core(router)], part(px, px + 1, py, py + 1)});
}

template <typename Visit>
void Topology::ringBranches(uint32_t input, uint32_t source, const Rectangle &c,
                            Visit visit) const {
  // Cores up to half the ring ahead of the source are reached upwards, the
  // others downwards; a copy serves those that it has not passed.
  uint32_t router = ins[input].router, from = endpointRouter[source];
  uint32_t half = numRouters / 2, travelled = ahead(from, router);
  uint32_t feeder = ins[input].output;
  bool injected = feeder == none;
  bool goesUp = injected, goesDown = injected;
  if (!injected) {
    uint32_t sender = outs[feeder].router;
    goesUp = links[sender][Right] == feeder;
    goesDown = !goesUp;
  }
  bool up = false, down = false, here = false;
  for (uint32_t cy = c.y; cy < uint32_t(c.y) + c.height; ++cy)
    for (uint32_t cx = c.x; cx < uint32_t(c.x) + c.width; ++cx) {
      uint32_t to = cy * meshX + cx, distance = ahead(from, to);
      if (to == router)
        here = true;
      else if (distance <= half)
        up |= injected || distance > travelled;
      else
        down |= injected || numRouters - distance > numRouters - travelled;
    }
  if (goesDown && down)
    visit(Branch{links[router][Left], c});
  if (goesUp && up)
    visit(Branch{links[router][Right], c});
  if (here)
    visit(Branch{endpointOutput[core(router)], c});
}

template <typename Visit>
void Topology::branches(uint32_t input, uint32_t source, const Rectangle &cores,
                        Visit visit) const {
  switch (topology) {
  case NocTopology::Mesh:
    return meshBranches(ins[input].router, cores, visit);
  case NocTopology::Ring:
    return ringBranches(input, source, cores, visit);
  case NocTopology::Crossbar:
    for (uint32_t cy = cores.y; cy < uint32_t(cores.y) + cores.height; ++cy)
      for (uint32_t cx = cores.x; cx < uint32_t(cores.x) + cores.width; ++cx)
        visit(Branch{endpointOutput[core(cy * meshX + cx)],
                     {uint16_t(cx), uint16_t(cy), 1, 1}});
  }
}

} // namespace tessera::sim::noc

#endif // TESSERA_SIM_NOC_TOPOLOGY_H
