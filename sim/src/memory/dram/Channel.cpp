//===- Channel.cpp - One DRAM channel and its controller --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "memory/dram/Channel.h"
#include <algorithm>
#include <bit>
#include <cassert>

namespace tessera::sim::dram {

ChannelCounters &ChannelCounters::operator+=(const ChannelCounters &other) {
  reads += other.reads;
  writes += other.writes;
  readsFromWriteQueue += other.readsFromWriteQueue;
  rowHits += other.rowHits;
  rowMisses += other.rowMisses;
  rowConflicts += other.rowConflicts;
  activates += other.activates;
  precharges += other.precharges;
  turnarounds += other.turnarounds;
  refreshes += other.refreshes;
  refreshClocks += other.refreshClocks;
  dataClocks += other.dataClocks;
  occupancyClocks += other.occupancyClocks;
  waitClocks += other.waitClocks;
  return *this;
}

static uint32_t atLeastOne(uint32_t n) { return std::max(1u, n); }

Channel::Channel(const DramConfig &dram)
    : t(dram), ranksPerPseudo(atLeastOne(dram.ranks)),
      groupsPerRank(atLeastOne(dram.bankGroups)),
      banksPerGroup(atLeastOne(dram.banksPerGroup)),
      banksPerRank(groupsPerRank * banksPerGroup),
      banksPerWord(std::min(64u, banksPerRank)),
      groupShift(uint32_t(std::countr_zero(banksPerGroup))),
      rankShift(uint32_t(std::countr_zero(banksPerRank))),
      refreshPerBank(dram.refresh == RefreshMode::PerBank),
      closedPage(dram.pagePolicy == PagePolicy::Closed),
      drainHigh(dram.drainHigh * dram.writeQueue),
      drainLow(dram.drainLow * dram.writeQueue),
      queue(atLeastOne(dram.readQueue), atLeastOne(dram.writeQueue),
            atLeastOne(dram.pseudoChannels) * ranksPerPseudo * banksPerRank),
      banks(size_t(atLeastOne(dram.pseudoChannels)) * ranksPerPseudo *
            banksPerRank),
      groups(banks.size() / banksPerGroup), ranks(banks.size() / banksPerRank),
      lastDirection(ranks.size() / ranksPerPseudo, 2), dueBanks(banks.size()) {
  assert(std::has_single_bit(banksPerGroup) &&
         std::has_single_bit(banksPerRank) && "counts are powers of two");
  refreshQueue.reserve(2 * ranks.size());
  if (t.refreshInterval != 0)
    nextRefresh = next = refreshPeriod();
}

//===----------------------------------------------------------------------===//
// Which entry can go
//===----------------------------------------------------------------------===//

Cycle Channel::columnTime(uint32_t bank, bool write) const {
  return std::max(
      std::max(banks[bank].column[write], groupOf(bank).column[write]),
      rankOf(bank).column[write]);
}

void Channel::consider(EntryIndex entry, Cycle time, Cycle now,
                       EntryIndex &best) {
  if (time > now)
    wakeAt(time);
  else if (best == noEntry || queue[entry].sequence < queue[best].sequence)
    best = entry;
}

EntryIndex Channel::readyActive(Cycle now) {
  EntryIndex best = noEntry;
  if (queue.active() == 0)
    return best;
  queue.withActive().forEach([&](uint32_t bank) {
    EntryIndex entry = queue.active(bank);
    consider(entry, columnTime(bank, queue[entry].access.write), now, best);
  });
  return best;
}

/// Takes the bits of the banks of the lowest one's group out of `bits`.
uint64_t Channel::nextGroup(uint64_t &bits, uint32_t &group,
                            uint32_t first) const {
  auto lowest = uint32_t(std::countr_zero(bits));
  uint32_t start = lowest >> groupShift << groupShift;
  uint64_t mask = banksPerGroup >= 64
                      ? ~uint64_t(0)
                      : ((uint64_t(1) << banksPerGroup) - 1) << start;
  group = (first + lowest) >> groupShift;
  uint64_t part = bits & mask;
  bits &= ~mask;
  return part;
}

// Where a rank or a group is not ready its banks need not be looked at: waking
// early is no harm, as a clock in which nothing can be issued changes nothing.

EntryIndex Channel::readyColumn(Cycle now, EntryIndex best) {
  const bool write = writeMode;
  for (uint32_t first = 0; first < banks.size(); first += banksPerWord) {
    uint64_t bits = queue.withHit(write).bits(first, banksPerWord);
    if (bits == 0)
      continue;
    Cycle rankTime = rankOf(first).column[write];
    if (rankTime > now) {
      wakeAt(rankTime);
      continue;
    }
    while (bits) {
      uint32_t group = 0;
      uint64_t part = nextGroup(bits, group, first);
      if (groups[group].column[write] > now) {
        wakeAt(groups[group].column[write]);
        continue;
      }
      for (; part; part &= part - 1) {
        uint32_t bank = first + uint32_t(std::countr_zero(part));
        if (!dueBanks[bank])
          consider(queue.hit(bank, write), banks[bank].column[write], now,
                   best);
      }
    }
  }
  return best;
}

EntryIndex Channel::readyRow(Cycle now, EntryIndex best) {
  const bool write = writeMode;
  for (uint32_t first = 0; first < banks.size(); first += banksPerWord) {
    uint64_t others = queue.withOther(write).bits(first, banksPerWord);
    if (others == 0)
      continue;
    if (rowBusFree > now) {
      wakeAt(rowBusFree);
      return best;
    }
    uint64_t open = queue.withOpenRow().bits(first, banksPerWord);
    // A row stays open for whoever opened it.
    uint64_t conflicts =
        others & open & ~queue.withActive().bits(first, banksPerWord);
    for (; conflicts; conflicts &= conflicts - 1) {
      uint32_t bank = first + uint32_t(std::countr_zero(conflicts));
      Cycle time = banks[bank].precharge;
      if (time > now) {
        wakeAt(time);
        continue;
      }
      EntryIndex entry = queue.other(bank, write);
      EntryIndex hit = queue.hit(bank, write);
      if (!dueBanks[bank] && !(t.protectsHits && hit != noEntry &&
                               queue[hit].arrival <= queue[entry].arrival))
        consider(entry, time, now, best);
    }
    uint64_t closed = others & ~open;
    if (closed == 0)
      continue;
    const Rank &rank = rankOf(first);
    // Distances count from an activate's last slot.
    Cycle before = t.activateSlots - 1;
    Cycle ready = std::max(rank.activate, rank.window[rank.oldest]);
    if (ready > now + before) {
      wakeAt(ready - before);
      continue;
    }
    while (closed) {
      uint32_t group = 0;
      uint64_t part = nextGroup(closed, group, first);
      Cycle time = groups[group].activate;
      if (time > now + before) {
        wakeAt(time - before);
        continue;
      }
      for (; part; part &= part - 1) {
        uint32_t bank = first + uint32_t(std::countr_zero(part));
        if (!dueBanks[bank])
          consider(queue.other(bank, write),
                   std::max(now + before, banks[bank].activate) - before, now,
                   best);
      }
    }
  }
  return best;
}

void Channel::chooseMode() {
  uint32_t reads = queue.size(false), writes = queue.size(true);
  if (!writeMode)
    writeMode = writes > drainHigh || reads == 0;
  else
    writeMode = !(reads != 0 && (writes < drainLow || writes == 0));
}

//===----------------------------------------------------------------------===//
// The command buses
//===----------------------------------------------------------------------===//

bool Channel::issueOnSharedBus(Cycle now, std::vector<Completion> &done) {
  EntryIndex entry = readyActive(now);
  if (entry == noEntry) {
    if (issueRefresh(now))
      return true;
    if (!refreshQueue.empty())
      return false;
    chooseMode();
    entry = readyRow(now, readyColumn(now, noEntry));
  }
  if (entry == noEntry)
    return false;
  issueFor(entry, now, done);
  return true;
}

bool Channel::issueColumn(Cycle now, std::vector<Completion> &done) {
  EntryIndex entry = readyActive(now);
  if (entry == noEntry && refreshQueue.empty()) {
    chooseMode();
    entry = readyColumn(now, noEntry);
  }
  if (entry == noEntry)
    return false;
  issueFor(entry, now, done);
  return true;
}

bool Channel::issueRow(Cycle now, std::vector<Completion> &done) {
  if (!refreshQueue.empty() || dueCount != 0) {
    if (issueRefresh(now))
      return true;
    if (!refreshQueue.empty())
      return false;
  }
  chooseMode();
  if (queue.withOther(writeMode).empty())
    return false;
  EntryIndex entry = readyRow(now, noEntry);
  if (entry == noEntry)
    return false;
  issueFor(entry, now, done);
  return true;
}

void Channel::issueFor(EntryIndex index, Cycle now,
                       std::vector<Completion> &done) {
  Entry &entry = queue[index];
  uint32_t bank = entry.access.bank;
  bool opensRow = !banks[bank].open;
  bool isColumn = !opensRow && (queue.active(bank) == index ||
                                queue.hit(bank, entry.access.write) == index);
  if (!entry.counted) {
    entry.counted = true;
    ++(isColumn   ? count.rowHits
       : opensRow ? count.rowMisses
                  : count.rowConflicts);
  }
  if (isColumn)
    return column(index, now, done);
  if (!opensRow)
    return precharge(bank, now);
  queue.activate(index);
  activate(bank, entry.access.row, now);
}

void Channel::step(Cycle now, std::vector<Completion> &done) {
  wake = never;
  if (nextRefresh <= now)
    startRefreshes(now);
  bool issued;
  if (t.rowBus) {
    issued = issueColumn(now, done);
    issued |= issueRow(now, done);
  } else {
    issued = issueOnSharedBus(now, done);
  }
  next = issued ? now + 1 : std::min(wake, nextRefresh);
  assert((next != never || queue.empty()) && "requests wait for nothing");
}

void Channel::advance(Cycle now, std::vector<Completion> &done) {
  while (next < now) {
    skipRefreshes(now);
    if (next < now)
      step(next, done);
  }
}

bool Channel::offer(const Access &access, Cycle now,
                    std::vector<Completion> &done) {
  assert(access.bank < banks.size() && "an unknown bank");
  if (!access.write && queue.size(true) != 0 && queue.holdsWrite(access)) {
    done.push_back({access.token, now + 1});
    ++count.readsFromWriteQueue;
    return true;
  }
  if (queue.full(access.write))
    return false;
  countOccupancy(now);
  queue.push(access, now);
  next = std::min(next, now);
  return true;
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

static void raise(Cycle &earliest, Cycle time) {
  earliest = std::max(earliest, time);
}

void Channel::column(EntryIndex index, Cycle now,
                     std::vector<Completion> &done) {
  const Access access = queue[index].access;
  bool write = access.write;
  uint32_t bank = access.bank;
  record(write ? CommandKind::Write : CommandKind::Read, bank, now);
  Bank &b = banks[bank];
  Group &group = groupOf(bank);
  Rank &rank = rankOf(bank);
  ++b.count.accesses;
  raise(b.precharge, now + (write ? t.writeToPrecharge : t.readToPrecharge));
  raise(group.column[write], now + t.columnGroup);
  raise(rank.column[write], now + t.columnRank);
  if (write) {
    raise(group.column[false], now + t.writeToReadGroup);
    raise(rank.column[false], now + t.writeToReadRank);
  } else {
    raise(rank.column[true], now + t.readToWrite);
  }
  uint32_t pseudo = bank >> rankShift;
  if (ranksPerPseudo != 1)
    pseudo /= ranksPerPseudo;
  for (uint32_t i = 0; ranksPerPseudo != 1 && i != ranksPerPseudo; ++i) {
    Rank &other = ranks[pseudo * ranksPerPseudo + i];
    if (&other == &rank)
      continue;
    raise(other.column[write], now + t.columnOtherRank);
    raise(other.column[!write],
          now + (write ? t.writeToReadOtherRank : t.readToWrite));
  }

  if (lastDirection[pseudo] != write) {
    count.turnarounds += lastDirection[pseudo] != 2;
    lastDirection[pseudo] = write;
  }
  ++(write ? count.writes : count.reads);
  count.dataClocks += t.burst;
  count.waitClocks += now - queue[index].arrival;
  countOccupancy(now);
  queue.retire(index);
  if (!write)
    done.push_back({access.token, now + t.readLatency});

  // Closed page: the last hit precharges, by itself, as early as it may.
  if (closedPage && queue.hit(bank, false) == noEntry &&
      queue.hit(bank, true) == noEntry && queue.active(bank) == noEntry)
    closeRow(bank, b.precharge);
}

void Channel::activate(uint32_t bank, uint32_t row, Cycle now) {
  record(CommandKind::Activate, bank, now);
  rowBusFree = now + t.activateSlots;
  Cycle last = rowBusFree - 1;
  Bank &b = banks[bank];
  b.open = true;
  ++b.count.activates;
  b.activate = last + t.activateToActivateBank;
  b.precharge = last + t.activateToPrecharge;
  b.column = {last + t.activateToRead, last + t.activateToWrite};
  raise(groupOf(bank).activate, last + t.activateToActivateGroup);
  Rank &rank = rankOf(bank);
  raise(rank.activate, last + t.activateToActivateRank);
  rank.window[rank.oldest] = last + t.fourActivates;
  rank.oldest = (rank.oldest + 1) % rank.window.size();
  queue.rowOpened(bank, row);
  ++count.activates;
}

void Channel::closeRow(uint32_t bank, Cycle precharged) {
  raise(banks[bank].activate, precharged + t.precharge);
  banks[bank].open = false;
  queue.rowClosed(bank);
  ++count.precharges;
}

void Channel::precharge(uint32_t bank, Cycle now) {
  record(CommandKind::Precharge, bank, now);
  rowBusFree = now + 1;
  closeRow(bank, now);
}

bool Channel::consistent() const {
  size_t bankCount = queue.bankCount();
  if (banks.size() != bankCount || groups.size() != bankCount / banksPerGroup ||
      ranks.size() != bankCount / banksPerRank ||
      lastDirection.size() != ranks.size() / ranksPerPseudo ||
      dueBanks.size() != bankCount)
    return false;
  for (uint32_t bank = 0; bank != bankCount; ++bank)
    if (banks[bank].open != queue.isOpen(bank))
      return false;
  for (const Rank &rank : ranks)
    if (rank.oldest >= rank.window.size() ||
        rank.refreshPointer >= banksPerRank)
      return false;
  return std::ranges::all_of(refreshQueue,
                             [&](uint32_t r) { return r < ranks.size(); });
}

} // namespace tessera::sim::dram
