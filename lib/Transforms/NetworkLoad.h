//===- NetworkLoad.h - What transfers load the network with ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The most loaded link between routers, from the cores' transfers and the
// places of the memory channels (docs/timing.md, "NoC"). Free of IR.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRANSFORMS_NETWORKLOAD_H
#define TESSERA_LIB_TRANSFORMS_NETWORKLOAD_H

#include "tessera/Arch/Architecture.h"
#include "tessera/Arch/DramMapping.h"
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace tessera {

class NetworkLoad {
public:
  explicit NetworkLoad(const Architecture &arch);

  /// One tensor as a kernel's cores share it: rows of memory `pitch` bytes
  /// apart, of which a core wants runs of `run` bytes. Core c wants those
  /// numbered p, p + count, p + 2 count, … of the `runs` in a row, where p is
  /// its place in the grid / divisor mod count.
  struct Share {
    uint64_t pitch, run, runs;
    uint32_t count, divisor;
    bool shared = false; ///< It is in the shared SRAM.
    auto operator<=>(const Share &) const = default;
  };

  /// Cores that want the same: core c and those at c + (i - r) * stride, where
  /// r is c / stride mod size. One of them asks for all, each in turn.
  struct Group {
    uint32_t size = 1, stride = 1;
    auto operator<=>(const Group &) const = default;
  };

  /// Flits on each link between routers, for every core and every burst that it
  /// gets, if `cores` cores share the tensor so and take their places in the
  /// grid interleaved (TilePlan::interleave).
  const std::vector<double> &linkFlits(Share share, uint32_t cores,
                                       uint32_t interleave, Group group);

  /// Whether there are links between routers at all.
  bool hasLinks() const { return numLinks != 0; }

private:
  void addWay(uint32_t from, uint32_t to, double flits,
              std::vector<double> &links) const {
    forEachLink(from, to, [&](uint32_t link) { links[link] += flits; });
  }
  template <typename Visit>
  void forEachLink(uint32_t from, uint32_t to, Visit visit) const;
  void addTree(uint32_t from, uint32_t core, uint32_t cores, Group group,
               double flits, std::vector<double> &links) const;
  uint32_t coreNode(uint32_t core, uint32_t cores) const;

  const Architecture &arch;
  std::optional<DramMapping> mapping;
  uint32_t numLinks = 0; ///< Four from every router of a mesh, two of a ring.
  std::map<std::tuple<Share, uint32_t, uint32_t, Group>, std::vector<double>>
      known;
};

} // namespace tessera

#endif // TESSERA_LIB_TRANSFORMS_NETWORKLOAD_H
