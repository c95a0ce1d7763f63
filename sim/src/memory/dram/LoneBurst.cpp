//===- LoneBurst.cpp - A burst that meets nothing ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A channel that is not saturated mostly gets bursts one by one, to rows that
// are open. Their column commands follow from the channel's times alone, so
// they need no queue: the burst is kept as it is until the channel has been
// gone through behind it, and takes its place in the queue if anybody asks
// before.
//
//===----------------------------------------------------------------------===//

#include "memory/dram/Channel.h"
#include <cassert>

namespace tessera::sim::dram {

/// What matters of the banks is which of them share a group or a rank, and that
/// how they differ from the first one.
bool Channel::Alone::isPlanned() const {
  for (uint32_t i = 0; i != count; ++i)
    if (planned[i].bank != (runs[i].bank ^ runs[0].bank) ||
        planned[i].atoms != runs[i].atoms)
      return false;
  return plannedCount == count;
}

/// Every clock the oldest run that can go, as with a queue. All can go in clock
/// 0, so what matters is which of them share a bank group or a rank.
void Channel::Alone::plan(const Timings &t, uint32_t groupShift,
                          uint32_t rankShift) {
  std::array<uint32_t, mostAlone> group, rank, left;
  std::array<Cycle, mostAlone> groupTime{}, rankTime{};
  auto firstOf = [&](uint32_t i, uint32_t shift) {
    uint32_t first = 0;
    while (runs[first].bank >> shift != runs[i].bank >> shift)
      ++first;
    return first;
  };
  plannedCount = count;
  for (uint32_t i = 0; i != count; ++i) {
    planned[i] = {runs[i].bank ^ runs[0].bank, runs[i].atoms};
    group[i] = firstOf(i, groupShift);
    rank[i] = firstOf(i, rankShift);
    left[i] = runs[i].atoms;
  }
  Cycle now = 0;
  for (uint32_t n = 0, first = 0; n != atoms;) {
    Cycle later = Channel::never;
    uint32_t i = first;
    for (; i != count; ++i) {
      if (left[i] == 0)
        continue;
      Cycle time = std::max(groupTime[group[i]], rankTime[rank[i]]);
      if (time <= now)
        break;
      later = std::min(later, time);
    }
    if (i == count) {
      now = later;
      continue;
    }
    commands[n++] = {uint32_t(now), i, --left[i] == 0};
    groupTime[group[i]] = now + t.columnGroup;
    rankTime[rank[i]] = now + t.columnRank;
    ++now;
    while (first != count && left[first] == 0)
      ++first;
  }
}

bool Channel::offerAlone(std::span<const Access> runs, Cycle now) {
  if (!idle() || refreshing() || closedPage || ranksPerPseudo != 1)
    return false;
  const bool write = runs.front().write;
  uint32_t atoms = 0;
  for (const Access &run : runs) {
    if (!queue.hits(run) || columnTime(run.bank, write) > now)
      return false;
    atoms += run.atoms;
  }
  if (runs.size() > mostAlone || atoms > Alone::mostAtoms ||
      atoms > queue.limit(write))
    return false;
  std::ranges::copy(runs, alone.runs.begin());
  alone.count = uint32_t(runs.size());
  alone.atoms = atoms;
  alone.arrival = now;
  if (!alone.isPlanned())
    alone.plan(t, groupShift, rankShift);
  if (alone.last() >= nextRefresh) {
    alone.count = alone.atoms = 0;
    return false;
  }
  countOccupancy(now);
  next = std::min(next, now);
  return true;
}

void Channel::queueAlone() {
  for (uint32_t i = 0; i != alone.count; ++i)
    queue.push(alone.runs[i], alone.arrival);
  alone.count = alone.atoms = 0;
  forgetBounds();
}

Cycle Channel::issueAlone(std::vector<Completion> &done) {
  const bool write = alone.runs.front().write;
  const Cycle last = alone.last();
  writeMode = write;
  Cycle waits = 0;
  for (uint32_t n = 0; n != alone.atoms; ++n) {
    const Alone::Command &command = alone.commands[n];
    const Access &run = alone.runs[command.run];
    columnIssued(run.bank, write, alone.arrival + command.clock);
    waits += command.clock;
    if (command.isLast && !write)
      done.push_back({run.token, alone.arrival + command.clock + t.readLatency,
                      run.atoms});
  }
  count.rowHits += alone.atoms;
  count.waitClocks += waits;
  count.occupancyClocks += waits;
  countedTo = last;
  alone.count = alone.atoms = 0;
  forgetBounds();
  next = nextMode() != writeMode ? last + 1 : std::max(nextRefresh, last + 1);
  return last + 1;
}

bool Channel::Alone::consistent(const RequestQueue &queue) const {
  if (count > mostAlone || atoms > mostAtoms || (count != 0 && !queue.empty()))
    return false;
  uint32_t sum = 0;
  for (uint32_t i = 0; i != count; ++i) {
    const Access &run = runs[i];
    if (run.atoms == 0 || run.atoms > mostAtoms ||
        run.bank >= queue.bankCount() || run.write != runs[0].write)
      return false;
    sum += run.atoms;
  }
  return sum == atoms && atoms <= queue.limit(runs[0].write);
}

} // namespace tessera::sim::dram
