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
#include <cmath>

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
      drainHigh(uint32_t(std::floor(dram.drainHigh * dram.writeQueue))),
      drainLow(uint32_t(std::ceil(dram.drainLow * dram.writeQueue))),
      queue(atLeastOne(dram.readQueue), atLeastOne(dram.writeQueue),
            atLeastOne(dram.pseudoChannels) * ranksPerPseudo * banksPerRank,
            banksPerGroup),
      banks(size_t(atLeastOne(dram.pseudoChannels)) * ranksPerPseudo *
            banksPerRank),
      bankCounts(banks.size()), groupActivate(banks.size() / banksPerGroup),
      groupColumn{groupActivate, groupActivate},
      ranks(banks.size() / banksPerRank),
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
      std::max(banks[bank].column[write], groupColumn[write][groupOf(bank)]),
      rankOf(bank).column[write]);
}

Cycle Channel::rowTime(uint32_t bank) const {
  if (queue.isOpen(bank))
    return std::max(banks[bank].precharge, rowBusFree);
  const Rank &rank = rankOf(bank);
  Cycle last = std::max({banks[bank].activate, groupActivate[groupOf(bank)],
                         rank.activate, rank.window[rank.oldest]});
  // Distances count from an activate's last slot.
  Cycle before = t.activateSlots - 1;
  return std::max(last > before ? last - before : 0, rowBusFree);
}

/// Who is found is issued.
EntryIndex Channel::readyActive(Cycle now) {
  Candidate best;
  activeBound = never;
  if (!queue.anyActive())
    return noEntry;
  uint32_t ready = 0;
  queue.withActive().forEach([&](uint32_t bank) {
    EntryIndex index = queue.active(bank);
    const Entry &entry = queue[index];
    Cycle time = columnTime(bank, entry.access.write);
    if (time > now) {
      activeBound = std::min(activeBound, time);
      return;
    }
    ++ready;
    if (entry.sequence < best.order)
      best = {entry.sequence, index};
  });
  if (ready > 1)
    activeBound = now + 1;
  return best.entry;
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

// Where a rank or a group is not ready its banks need not be looked at: a bound
// may be too low, as a clock in which nothing can be issued changes nothing.

/// By group: a bank's own time does not matter once its row is open.
Channel::Candidate Channel::readyColumn(Cycle now) {
  if (now < rowsOpening[writeMode] || dueCount != 0)
    return readyColumnByBank(now);
  return readyColumnByGroup(now);
}

[[gnu::always_inline]] inline Channel::Candidate
Channel::readyColumnByGroup(Cycle now) {
  const bool write = writeMode;
  const RequestQueue::GroupFirst *firsts = queue.groupFirsts(write);
  const Cycle *times = groupColumn[write].data();
  RequestQueue::GroupFirst oldest;
  Cycle later = never;
  uint32_t first = 0;
  for (const Rank &rank : ranks) {
    uint64_t groups = queue.groupsWithHit(write).bits(first, groupsPerRank);
    const uint32_t base = first;
    first += groupsPerRank;
    if (groups == 0)
      continue;
    if (rank.column[write] > now) {
      later = std::min(later, rank.column[write]);
      continue;
    }
    uint64_t before = oldest.order;
    bool anyReady = false;
    for (; groups; groups &= groups - 1) {
      const uint32_t group = base + uint32_t(std::countr_zero(groups));
      if (times[group] > now) {
        later = std::min(later, times[group]);
        continue;
      }
      anyReady = true;
      if (firsts[group].order < oldest.order)
        oldest = firsts[group];
    }
    // The others of the oldest one's rank wait for it.
    if (anyReady)
      later = std::min(
          later, now + (before != RequestQueue::never ? 1 : t.columnRank));
  }
  columnBound = later;
  if (oldest.order == RequestQueue::never)
    return {};
  return {oldest.order, queue.hit(oldest.bank, write)};
}

Channel::Candidate Channel::readyColumnByBank(Cycle now) {
  const bool write = writeMode;
  uint64_t order = RequestQueue::never;
  uint32_t oldest = 0;
  Cycle later = never;
  queue.groupsWithHit(write).forEach([&](uint32_t group) {
    const uint32_t first = group << groupShift;
    Cycle groupTime =
        std::max(rankOf(first).column[write], groupColumn[write][group]);
    if (groupTime > now) {
      later = std::min(later, groupTime);
      return;
    }
    for (uint32_t bank = first; bank != first + banksPerGroup; ++bank) {
      const uint64_t mine = queue.hitOrder(bank, write);
      if (mine == RequestQueue::never || dueBanks[bank])
        continue;
      const Cycle time = banks[bank].column[write];
      later = std::min(later, std::max(time, now + 1));
      if (time <= now && mine < order) {
        order = mine;
        oldest = bank;
      }
    }
  });
  columnBound = later;
  if (order == RequestQueue::never)
    return {};
  return {order, queue.hit(oldest, write)};
}

/// Who is found is issued, unless `best` is older.
Channel::Candidate Channel::readyRow(Cycle now, Candidate best) {
  rowBound = never;
  if (queue.withOther(writeMode).empty())
    return best;
  uint32_t ready = 0; // Though perhaps younger than others.
  Candidate row = oldestRow(now, best, ready);
  if (ready > (row.entry != best.entry ? 1 : 0))
    rowBound = now + 1;
  return row;
}

Channel::Candidate Channel::oldestRow(Cycle now, Candidate best,
                                      uint32_t &ready) {
  const bool write = writeMode;
  auto later = [&](Cycle time) { rowBound = std::min(rowBound, time); };
  auto consider = [&](uint32_t bank) {
    uint64_t order = queue.otherOrder(bank, write);
    if (order < best.order)
      best = {order, queue.other(bank, write)};
  };
  for (uint32_t first = 0; first < banks.size(); first += banksPerWord) {
    uint64_t others = queue.withOther(write).bits(first, banksPerWord);
    if (others == 0)
      continue;
    if (rowBusFree > now) {
      later(rowBusFree);
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
        later(time);
        continue;
      }
      // A protected row's next hit lowers the bound.
      if (dueBanks[bank] || (t.protectsHits && protectsRow(bank)))
        continue;
      ++ready;
      consider(bank);
    }
    uint64_t closed = others & ~open;
    if (closed == 0)
      continue;
    const Rank &rank = rankOf(first);
    // Distances count from an activate's last slot.
    Cycle before = t.activateSlots - 1;
    Cycle rankTime = std::max(rank.activate, rank.window[rank.oldest]);
    if (rankTime > now + before) {
      later(rankTime - before);
      continue;
    }
    while (closed) {
      uint32_t group = 0;
      uint64_t part = nextGroup(closed, group, first);
      Cycle time = groupActivate[group];
      if (time > now + before) {
        later(time - before);
        continue;
      }
      for (; part; part &= part - 1) {
        uint32_t bank = first + uint32_t(std::countr_zero(part));
        if (dueBanks[bank])
          continue;
        if (banks[bank].activate > now + before) {
          later(banks[bank].activate - before);
        } else {
          ++ready;
          consider(bank);
        }
      }
    }
  }
  return best;
}

/// Whether an entry that hits the bank's row came no later than the one that
/// wants another row.
bool Channel::protectsRow(uint32_t bank) const {
  const bool write = writeMode;
  uint64_t hit = queue.hitOrder(bank, write);
  if (hit == RequestQueue::never)
    return false;
  return hit < queue.otherOrder(bank, write) ||
         queue[queue.hit(bank, write)].arrival ==
             queue[queue.other(bank, write)].arrival;
}

//===----------------------------------------------------------------------===//
// Column commands
//===----------------------------------------------------------------------===//

[[gnu::always_inline]] inline void
Channel::column(EntryIndex index, bool opened, Cycle now,
                std::vector<Completion> &done) {
  const Entry &entry = queue[index];
  const bool write = entry.access.write;
  const uint32_t bank = entry.access.bank;
  const uint64_t token = entry.access.token;
  count.waitClocks += now - entry.arrival;
  columnIssued(bank, write, now);
  countOccupancy(now);
  uint32_t atoms = opened ? queue.retireActive(index) : queue.retireHit(index);
  if (atoms != 0 && !write)
    done.push_back({token, now + t.readLatency, atoms});
  // Those behind the one for which the row was opened come into view; and the
  // row may no longer be kept open.
  if (opened && queue.hitOrder(bank, writeMode) != RequestQueue::never)
    columnBound = std::min(columnBound, columnTime(bank, writeMode));
  if (queue.otherOrder(bank, writeMode) != RequestQueue::never)
    rowBound = std::min(rowBound, rowTime(bank));

  // Closed page: the last hit precharges, by itself, as early as it may.
  if (closedPage && queue.hit(bank, false) == noEntry &&
      queue.hit(bank, true) == noEntry && queue.active(bank) == noEntry)
    closeRow(bank, banks[bank].precharge);
}

/// Of an entry whose row is open; `opened` for it.
[[gnu::always_inline]] inline void
Channel::issueHit(EntryIndex index, bool opened, Cycle now,
                  std::vector<Completion> &done) {
  Entry &entry = queue[index];
  count.rowHits += !entry.counted;
  entry.counted = true;
  column(index, opened, now, done);
}

//===----------------------------------------------------------------------===//
// The command buses
//===----------------------------------------------------------------------===//

bool Channel::issueOnSharedBus(Cycle now, std::vector<Completion> &done) {
  EntryIndex entry = now < activeBound ? noEntry : readyActive(now);
  if (entry == noEntry) {
    if (issueRefresh(now))
      return true;
    if (!refreshQueue.empty())
      return false;
    chooseMode();
    Candidate column = now < columnBound ? Candidate() : readyColumn(now);
    entry = now < rowBound ? column.entry : readyRow(now, column).entry;
    if (entry != column.entry)
      columnBound = std::min(columnBound, now + 1);
  }
  if (entry == noEntry)
    return false;
  issueFor(entry, now, done);
  return true;
}

bool Channel::issueColumn(Cycle now, std::vector<Completion> &done) {
  EntryIndex entry = now < activeBound ? noEntry : readyActive(now);
  if (entry == noEntry && refreshQueue.empty()) {
    chooseMode();
    if (now >= columnBound)
      entry = readyColumn(now).entry;
  }
  if (entry == noEntry)
    return false;
  issueHit(entry, queue.active(queue[entry].access.bank) == entry, now, done);
  return true;
}

bool Channel::issueRow(Cycle now, std::vector<Completion> &done) {
  chooseMode();
  EntryIndex entry = now < rowBound ? noEntry : readyRow(now, {}).entry;
  if (entry == noEntry)
    return false;
  issueFor(entry, now, done);
  return true;
}

void Channel::issueFor(EntryIndex index, Cycle now,
                       std::vector<Completion> &done) {
  Entry &entry = queue[index];
  uint32_t bank = entry.access.bank;
  bool opensRow = !queue.isOpen(bank);
  bool isColumn = !opensRow && (queue.active(bank) == index ||
                                queue.hit(bank, entry.access.write) == index);
  if (isColumn)
    return issueHit(index, queue.active(bank) == index, now, done);
  if (!entry.counted) {
    entry.counted = true;
    ++(opensRow ? count.rowMisses : count.rowConflicts);
  }
  if (!opensRow)
    return precharge(bank, now);
  const uint32_t row = entry.access.row;
  const bool write = entry.access.write;
  queue.activate(index);
  activate(bank, row, now);
  activeBound = std::min(activeBound, columnTime(bank, write));
  Cycle &opening = rowsOpening[!write];
  opening = std::max(opening, banks[bank].column[!write]);
}

/// At the end of a step without refreshes.
inline void Channel::findNext(Cycle now) {
  // Offers of the next clock may come before the mode is chosen.
  turns = nextMode() != writeMode;
  next = turns ? now
               : std::min(std::min(nextRefresh, activeBound),
                          std::min(columnBound, rowBound));
  next = std::max(next, now + 1);
  assert((next != never || queue.empty()) && "requests wait for nothing");
}

/// As step(), where nothing else can be issued before: streams spend their time
/// here.
inline void Channel::stepColumn(Cycle now, std::vector<Completion> &done) {
  EntryIndex entry = readyColumnByGroup(now).entry;
  if (entry != noEntry)
    issueHit(entry, false, now, done);
  // That may have been the last one before the direction changes.
  if (t.rowBus && (now >= rowBound || nextMode() != writeMode))
    issueRow(now, done);
  findNext(now);
}

void Channel::step(Cycle now, std::vector<Completion> &done) {
  joinQueue();
  if (nextRefresh <= now || refreshing())
    return stepRefreshing(now, done);
  if (now < std::min(activeBound, rowBound) && now >= rowsOpening[writeMode] &&
      !turns)
    return stepColumn(now, done);
  if (t.rowBus) {
    if (now >= std::min(activeBound, columnBound) || turns)
      issueColumn(now, done);
    if (now >= rowBound || nextMode() != writeMode)
      issueRow(now, done);
  } else {
    issueOnSharedBus(now, done);
  }
  findNext(now);
}

/// As step(), where a refresh waits or begins to.
void Channel::stepRefreshing(Cycle now, std::vector<Completion> &done) {
  wake = never;
  if (nextRefresh <= now)
    startRefreshes(now);
  forgetBounds();
  bool issued;
  if (t.rowBus) {
    issued = issueColumn(now, done);
    issued |=
        issueRefresh(now) || (refreshQueue.empty() && issueRow(now, done));
  } else {
    issued = issueOnSharedBus(now, done);
  }
  next = std::min({wake, nextRefresh, activeBound});
  if (refreshQueue.empty())
    next = std::min({next, columnBound, rowBound});
  if (issued)
    next = now;
  next = std::max(next, now + 1);
  forgetBounds();
}

Cycle Channel::goThrough(Cycle open, Cycle last,
                         std::vector<Completion> &done) {
  if (alone.count != 0 && alone.last() <= last)
    return issueAlone(done);
  while (!idle()) {
    Cycle now = std::max(next, open);
    if (now > last)
      break;
    step(now, done);
    open = now + 1;
  }
  return open;
}

void Channel::advance(Cycle now, std::vector<Completion> &done) {
  if (next < now)
    joinQueue();
  while (next < now) {
    skipRefreshes(now);
    if (next < now)
      step(next, done);
  }
}

uint32_t Channel::offer(const Access &access, Cycle now,
                        std::vector<Completion> &done) {
  assert(access.bank < banks.size() && "an unknown bank");
  joinQueue();
  auto push = [&](Access part, uint32_t skipped, uint32_t atoms) {
    part.column += skipped;
    part.atoms = std::min(atoms, queue.room(access.write));
    if (part.atoms == 0)
      return 0u;
    countOccupancy(now);
    RequestQueue::Place place = queue.push(part, now);
    Cycle then = never;
    if (access.write == writeMode && place == RequestQueue::Place::FirstHit) {
      then = columnTime(access.bank, writeMode);
      columnBound = std::min(columnBound, then);
    }
    if (access.write == writeMode && place == RequestQueue::Place::FirstOther) {
      then = rowTime(access.bank);
      rowBound = std::min(rowBound, then);
    }
    turns = nextMode() != writeMode;
    if (turns)
      then = now;
    next = std::min(next, std::max(then, now));
    return part.atoms;
  };
  if (access.write || queue.size(true) == 0)
    return push(access, 0, access.atoms);
  // Atom by atom: a waiting write may have the data of some.
  uint32_t taken = 0, run = 0; // Taken in all; of these, before this run.
  Access atom = access;
  for (uint32_t i = 0; i != access.atoms; ++i) {
    atom.column = access.column + i;
    if (!queue.holdsWrite(atom))
      continue;
    if (i != run) {
      taken += push(access, run, i - run);
      if (taken != i)
        return taken;
    }
    done.push_back({access.token, now + 1});
    ++count.readsFromWriteQueue;
    taken = run = i + 1;
  }
  if (run != access.atoms)
    taken += push(access, run, access.atoms - run);
  return taken;
}

//===----------------------------------------------------------------------===//
// Row commands
//===----------------------------------------------------------------------===//

void Channel::activate(uint32_t bank, uint32_t row, Cycle now) {
  record(CommandKind::Activate, bank, now);
  rowBusFree = now + t.activateSlots;
  Cycle last = rowBusFree - 1;
  Bank &b = banks[bank];
  ++bankCounts[bank].activates;
  b.activate = last + t.activateToActivateBank;
  b.precharge = last + t.activateToPrecharge;
  b.column = {last + t.activateToRead, last + t.activateToWrite};
  raise(groupActivate[groupOf(bank)], last + t.activateToActivateGroup);
  Rank &rank = rankOf(bank);
  raise(rank.activate, last + t.activateToActivateRank);
  rank.window[rank.oldest] = last + t.fourActivates;
  rank.oldest = (rank.oldest + 1) % rank.window.size();
  queue.rowOpened(bank, row);
  ++count.activates;
}

void Channel::closeRow(uint32_t bank, Cycle precharged) {
  raise(banks[bank].activate, precharged + t.precharge);
  queue.rowClosed(bank);
  rowBound = std::min(rowBound, rowTime(bank));
  ++count.precharges;
}

void Channel::precharge(uint32_t bank, Cycle now) {
  record(CommandKind::Precharge, bank, now);
  rowBusFree = now + 1;
  closeRow(bank, now);
}

bool Channel::consistent() const {
  if (!alone.consistent(queue))
    return false;
  size_t bankCount = queue.bankCount();
  if (banks.size() != bankCount || bankCounts.size() != bankCount ||
      groupActivate.size() != bankCount / banksPerGroup ||
      groupColumn[false].size() != groupActivate.size() ||
      groupColumn[true].size() != groupActivate.size() ||
      ranks.size() != bankCount / banksPerRank ||
      lastDirection.size() != ranks.size() / ranksPerPseudo ||
      dueBanks.size() != bankCount)
    return false;
  for (const Rank &rank : ranks)
    if (rank.oldest >= rank.window.size() ||
        rank.refreshPointer >= banksPerRank)
      return false;
  return std::ranges::all_of(refreshQueue,
                             [&](uint32_t r) { return r < ranks.size(); });
}

} // namespace tessera::sim::dram
