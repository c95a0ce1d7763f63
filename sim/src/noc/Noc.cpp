//===- Noc.cpp - The network on chip ----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "noc/Noc.h"
#include <algorithm>

namespace tessera::sim {

Noc::Noc(const Architecture &arch)
    : config(arch.noc), meshX(std::max(1u, arch.cores.meshX)),
      nodes(std::max(1u, arch.cores.count)),
      hopFs(Clock(arch.noc.clockGhz).at(arch.noc.hopCycles)) {}

uint32_t Noc::hops(uint32_t from, uint32_t to) const {
  auto distance = [](uint32_t a, uint32_t b) { return a > b ? a - b : b - a; };
  switch (config.topology) {
  case NocTopology::Mesh: // XY routing
    return 1 + distance(from % meshX, to % meshX) +
           distance(from / meshX, to / meshX);
  case NocTopology::Ring: {
    uint32_t d = distance(from, to);
    return 1 + std::min(d, d < nodes ? nodes - d : d);
  }
  case NocTopology::Crossbar:
    return 1;
  }
  return 1;
}

Time Noc::send(uint32_t from, uint32_t to, uint32_t bytes, Time time) {
  uint32_t h = hops(from, to);
  byteHopCount += uint64_t(bytes) * h;
  return time + h * hopFs;
}

} // namespace tessera::sim
