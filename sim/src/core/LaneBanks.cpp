//===- LaneBanks.cpp - The banks that vector instructions need ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands walked side by side, a group of lanes after the other; tiles that
// are transposed; blocks that are sorted.
//
//===----------------------------------------------------------------------===//

#include "core/Banks.h"

namespace tessera::sim {

AccessPattern LaneAccesses::operand(const isa::Descriptor &td, uint64_t lanes,
                                    bool written) {
  AccessPattern pattern;
  pattern.td = td;
  pattern.written = written;
  pattern.setEnds();
  pattern.innerCount = pattern.innerStep = lanes;
  return pattern;
}

static Cycle portCycles(size_t operands, unsigned ports) {
  return (operands + ports - 1) / std::max(1u, ports);
}

Cycle Banks::place(const LaneAccesses &lanes, Cycle start) {
  bool simple = !lanes.gathered;
  for (const auto *side : {&lanes.reads, &lanes.writes})
    for (const AccessPattern &pattern : *side)
      simple &= pattern.isSimple(layout);
  Cycle ports = std::max(portCycles(lanes.reads.size(), lanes.readPorts),
                         portCycles(lanes.writes.size(), lanes.writePorts));
  Cycle pace = std::max(lanes.work, ports), at = start;
  for (uint64_t group = 0; group < lanes.groups;) {
    if (simple) {
      // As many groups as make their accesses before somebody else is busy.
      Cycle busy = othersBusy(lanes.user, at);
      uint64_t count = busy == CycleBanks::none ? lanes.groups - group
                       : busy >= at + ports     ? (busy - at - ports) / pace + 1
                                                : 0;
      count = std::min(count, lanes.groups - group);
      if (count > 0) {
        placeGroups(lanes, group, count, at, pace);
        at += count * pace;
        group += count;
        continue;
      }
    }
    at = std::max(at + lanes.work, placeGroup(lanes, group, at));
    ++group;
  }
  return at;
}

/// Rows of the last dimension from `row` on, of each `elements` from `first`
/// on.
static AccessPattern tileRows(const isa::Descriptor &td, bool written,
                              uint64_t row, uint64_t first, uint64_t elements) {
  AccessPattern rows;
  rows.td = td;
  rows.written = written;
  rows.outer = uint8_t(td.rank - 1);
  rows.setEnds();
  rows.outerFirst = row;
  rows.outerStep = 1;
  rows.innerFirst = first;
  rows.innerCount = elements;
  rows.innerStep = 0;
  return rows;
}

Cycle Banks::place(const TileAccesses &tiles, Cycle start) {
  const isa::Descriptor &src = tiles.src;
  uint64_t rows = src.extents[src.rank - 2],
           columns = src.extents[src.rank - 1];
  uint64_t matrices = src.numElements() / (rows * columns);
  LaneAccesses fill, drain;
  fill.readPorts = drain.readPorts = tiles.readPorts;
  fill.writePorts = drain.writePorts = tiles.writePorts;
  drain.user = BankUser::VectorDrain;
  Cycle filled = start, drained = start, drainedBefore = start;
  for (uint64_t m = 0; m < matrices; ++m)
    for (uint64_t row = 0; row < rows; row += tiles.side)
      for (uint64_t column = 0; column < columns; column += tiles.side) {
        uint64_t height = std::min(tiles.side, rows - row),
                 width = std::min(tiles.side, columns - column);
        fill.reads = {tileRows(src, false, m * rows + row, column, width)};
        fill.groups = height;
        drain.writes = {
            tileRows(tiles.dst, true, m * columns + column, row, height)};
        drain.groups = width;
        // One buffer of two must be free.
        filled = place(fill, std::max(filled, drainedBefore));
        drainedBefore = drained;
        drained = place(drain, std::max(filled, drained));
      }
  return drained;
}

Cycle Banks::place(const SortAccesses &sort, Cycle start) {
  return std::max(place(sort.values, start), place(sort.results, start));
}

Cycle Banks::placeGroup(const LaneAccesses &lanes, uint64_t group,
                        Cycle start) {
  const std::array<size_t, 2> ports = {std::max(1u, lanes.readPorts),
                                       std::max(1u, lanes.writePorts)};
  size_t used = 0;
  auto add = [&](unsigned side, const AccessPattern *pattern) {
    if (used == operands.size())
      operands.emplace_back(layout);
    BankAccess &access = operands[used];
    access.clear();
    if (!pattern)
      lanes.gathered(group, access);
    else if (pattern->isLocal())
      pattern->access(group, access);
    unsigned cycles = std::max(1u, access.cycles());
    for (unsigned level = 0; level < cycles; ++level)
      shares[side].push_back({used, level});
    ++used;
  };
  shares[0].clear(), shares[1].clear();
  for (const AccessPattern &pattern : lanes.reads)
    add(0, &pattern);
  if (lanes.gathered)
    add(0, nullptr);
  for (const AccessPattern &pattern : lanes.writes)
    add(1, &pattern);
  std::vector<uint64_t> banks(layout.setWords());
  Cycle at = start;
  for (std::array<size_t, 2> done{};
       done[0] < shares[0].size() || done[1] < shares[1].size(); ++at) {
    std::fill(banks.begin(), banks.end(), 0);
    for (unsigned side = 0; side < 2; ++side)
      for (size_t i = 0; i < ports[side] && done[side] < shares[side].size();
           ++i, ++done[side]) {
        const Share &share = shares[side][done[side]];
        unite(banks, operands[share.operand].banks(share.level));
      }
    for (Cycle until = at; (until = takenUntil(nearby[size_t(lanes.user)], at,
                                               {0, banks})) != at;)
      at = until;
    if (std::any_of(banks.begin(), banks.end(), std::identity()))
      addCycle(lanes.user, at, {0, banks});
  }
  return at;
}

void Banks::placeGroups(const LaneAccesses &lanes, uint64_t first,
                        uint64_t count, Cycle start, Cycle pace) {
  // In the order of their starts: by the cycle of a group in which they are.
  size_t most = std::max(portCycles(lanes.reads.size(), lanes.readPorts),
                         portCycles(lanes.writes.size(), lanes.writePorts));
  for (size_t cycle = 0; cycle < most; ++cycle)
    for (auto [patterns, ports] :
         {std::pair(&lanes.reads, std::max(1u, lanes.readPorts)),
          std::pair(&lanes.writes, std::max(1u, lanes.writePorts))})
      for (size_t i = cycle * ports;
           i < std::min(patterns->size(), (cycle + 1) * ports); ++i)
        if ((*patterns)[i].isLocal())
          remember(lanes.user, pieceOf((*patterns)[i]), first, count,
                   start + cycle, pace);
}

} // namespace tessera::sim
