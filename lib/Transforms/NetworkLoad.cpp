//===- NetworkLoad.cpp - What transfers load the network with -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NetworkLoad.h"
#include "TargetModel.h"
#include <algorithm>
#include <numeric>

using namespace tessera;

NetworkLoad::NetworkLoad(const Architecture &arch) : arch(arch) {
  uint32_t nodes = arch.cores.meshX * arch.cores.meshY;
  if (nodes < 2 || arch.noc.memoryPorts.empty())
    return;
  if (Result<DramMapping> created = DramMapping::create(arch.dram);
      created.ok())
    mapping = *created;
  if (!mapping)
    return;
  if (arch.noc.topology == NocTopology::Mesh)
    numLinks = 4 * nodes;
  else if (arch.noc.topology == NocTopology::Ring)
    numLinks = 2 * nodes;
}

/// Along x, then along y; round a ring the shorter way, upwards if both are as
/// long.
template <typename Visit>
void NetworkLoad::forEachLink(uint32_t from, uint32_t to, Visit visit) const {
  uint32_t width = arch.cores.meshX, nodes = width * arch.cores.meshY;
  while (from != to) {
    uint32_t next, direction;
    if (arch.noc.topology == NocTopology::Ring) {
      uint32_t up = (to + nodes - from) % nodes;
      direction = up <= nodes - up ? 0 : 1;
      next = (from + (direction == 0 ? 1 : nodes - 1)) % nodes;
      visit(2 * from + direction);
    } else {
      if (from % width != to % width) {
        direction = to % width > from % width ? 0 : 1;
        next = direction == 0 ? from + 1 : from - 1;
      } else {
        direction = to > from ? 2 : 3;
        next = direction == 2 ? from + width : from - width;
      }
      visit(4 * from + direction);
    }
    from = next;
  }
}

/// The ways from `from` to all cores of the group that begins at `core`, each
/// link once.
void NetworkLoad::addTree(uint32_t from, uint32_t core, uint32_t cores,
                          Group group, double flits,
                          std::vector<double> &links) const {
  std::vector<bool> used(links.size());
  for (uint32_t i = 0; i < group.size; ++i)
    forEachLink(from, coreNode(core + i * group.stride, cores),
                [&](uint32_t link) { used[link] = true; });
  for (uint32_t link = 0; link < links.size(); ++link)
    if (used[link])
      links[link] += flits;
}

/// The router of a core of the widest rectangle of `cores` cores.
uint32_t NetworkLoad::coreNode(uint32_t core, uint32_t cores) const {
  uint32_t width = std::min(arch.cores.meshX, cores);
  while (cores % width != 0)
    --width;
  return (core / width * arch.cores.meshX + core % width) %
         (arch.cores.meshX * arch.cores.meshY);
}

const std::vector<double> &NetworkLoad::linkFlits(Share share, uint32_t cores,
                                                  uint32_t interleave,
                                                  Group group) {
  const std::vector<uint32_t> &ports =
      share.shared ? arch.noc.sharedPorts : arch.noc.memoryPorts;
  uint64_t unit = share.shared ? sharedUnit(arch) : mapping->channelBytes();
  uint64_t numTargets = share.shared ? arch.shared.slices : arch.dram.channels;
  uint64_t period = unit * numTargets;
  auto targetOf = [&](uint64_t address) {
    return share.shared ? uint32_t(address / unit)
                        : mapping->channelOf(address);
  };
  uint64_t rows = period / std::gcd(share.pitch, period);
  // Rows that begin at many channels reach all of them alike.
  constexpr uint64_t many = 8;
  bool anywhere = !share.shared && mapping->hashesChannels();
  if (rows > many || share.run >= period || anywhere) {
    share = {period, period, 1, 1, 1, share.shared};
    rows = 1;
  }
  auto [place, isNew] = known.try_emplace({share, cores, interleave, group});
  std::vector<double> &links = place->second;
  if (!isNew)
    return links;
  links.assign(numLinks, 0);
  uint64_t turns = (share.runs + share.count - 1) / share.count;
  double flits = double((arch.dma.burstBytes + arch.noc.linkBytes - 1) /
                        arch.noc.linkBytes);
  uint32_t nodes = arch.cores.meshX * arch.cores.meshY;
  for (uint32_t core = 0; core < cores; ++core) {
    std::vector<double> parts(nodes);
    uint64_t inGrid =
        core / interleave + core % interleave * cores / interleave;
    uint64_t position = inGrid / share.divisor % share.count;
    double all = 0;
    // Runs beyond a turn of the channels repeat what is counted already.
    for (uint64_t row = 0; row < rows; ++row)
      for (uint64_t turn = 0; turn < std::min<uint64_t>(turns, numTargets);
           ++turn) {
        uint64_t run = position + turn * share.count;
        if (run >= share.runs)
          continue;
        uint64_t begin = row * share.pitch + run * share.run;
        uint64_t count =
            std::min((share.run + unit - 1) / unit, uint64_t(period / unit));
        for (uint64_t i = 0; i < count; ++i) {
          uint64_t address = (begin + i * unit) % period;
          parts[ports[targetOf(address) % ports.size()] % nodes] += 1;
          ++all;
        }
      }
    uint32_t node = coreNode(core, cores);
    uint32_t rank = core / group.stride % group.size;
    for (uint32_t router = 0; router < nodes; ++router)
      if (parts[router] > 0) {
        // The request, and the answer with the data; of a store the other way
        // round, which loads the links alike.
        addWay(node, router, parts[router] / all / group.size, links);
        if (group.size == 1)
          addWay(router, node, flits * parts[router] / all, links);
        else if (rank == 0)
          addTree(router, core, cores, group, flits * parts[router] / all,
                  links);
      }
  }
  return links;
}
