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
            atLeastOne(dram.pseudoChannels) * ranksPerPseudo * banksPerRank,
            banksPerGroup),
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

EntryIndex Channel::readyActive(Cycle now) {
  Candidate best;
  activeBound = never;
  if (!queue.anyActive())
    return noEntry;
  queue.withActive().forEach([&](uint32_t bank) {
    EntryIndex index = queue.active(bank);
    const Entry &entry = queue[index];
    Cycle time = columnTime(bank, entry.access.write);
    activeBound = std::min(activeBound, time);
    if (time > now)
      wakeAt(time);
    else if (entry.sequence < best.order)
      best = {entry.sequence, index};
  });
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

// Where a rank or a group is not ready its banks need not be looked at: waking
// early is no harm, as a clock in which nothing can be issued changes nothing.

/// By group: a bank's own time does not matter once its row is open.
Channel::Candidate Channel::readyColumn(Cycle now) {
  const bool write = writeMode;
  if (now < rowsOpening[write] || dueCount != 0)
    return readyColumnByBank(now);
  return readyColumnByGroup(now, wake);
}

Channel::Candidate Channel::readyColumnByGroup(Cycle now,
                                               Cycle &wakeTime) const {
  const bool write = writeMode;
  const uint64_t *orders = queue.groupOrder(write).data();
  const Group *group = groups.data();
  uint64_t order = RequestQueue::never;
  size_t oldest = 0;
  Cycle earliest = wakeTime;
  for (const Rank &rank : ranks) {
    Cycle rankTime = rank.column[write];
    if (rankTime > now) {
      // Waking early is no harm.
      earliest = std::min(earliest, rankTime);
      group += groupsPerRank;
      orders += groupsPerRank;
      continue;
    }
    for (uint32_t i = 0; i != groupsPerRank; ++i, ++group, ++orders) {
      uint64_t mine = *orders;
      Cycle time = group->column[write];
      if (mine == RequestQueue::never)
        continue;
      if (time > now) {
        earliest = std::min(earliest, time);
      } else if (mine < order) {
        order = mine;
        oldest = size_t(group - groups.data());
      }
    }
  }
  wakeTime = earliest;
  if (order == RequestQueue::never)
    return {};
  auto bank = uint32_t(oldest) * banksPerGroup;
  while (queue.hitOrder(bank, write) != order)
    ++bank;
  return {order, queue.hit(bank, write)};
}

Channel::Candidate Channel::readyColumnByBank(Cycle now) {
  const bool write = writeMode;
  uint64_t order = RequestQueue::never;
  uint32_t oldest = 0;
  Cycle earliest = wake;
  for (uint32_t first = 0; first < banks.size(); first += banksPerWord) {
    uint64_t bits = queue.withHit(write).bits(first, banksPerWord);
    if (bits == 0)
      continue;
    Cycle rankTime = rankOf(first).column[write];
    if (rankTime > now) {
      earliest = std::min(earliest, rankTime);
      continue;
    }
    while (bits) {
      uint32_t group = 0;
      uint64_t part = nextGroup(bits, group, first);
      Cycle groupTime = groups[group].column[write];
      if (groupTime > now) {
        earliest = std::min(earliest, groupTime);
        continue;
      }
      for (; part; part &= part - 1) {
        uint32_t bank = first + uint32_t(std::countr_zero(part));
        if (dueBanks[bank])
          continue;
        Cycle time = banks[bank].column[write];
        uint64_t mine = queue.hitOrder(bank, write);
        bool ready = time <= now;
        earliest = std::min(earliest, ready ? never : time);
        bool older = ready && mine < order;
        order = older ? mine : order;
        oldest = older ? bank : oldest;
      }
    }
  }
  wake = earliest;
  if (order == RequestQueue::never)
    return {};
  return {order, queue.hit(oldest, write)};
}

Channel::Candidate Channel::readyRow(Cycle now, Candidate best) {
  rowBound = never;
  if (queue.withOther(writeMode).empty())
    return best;
  bool ready = false; // Though perhaps not the oldest, or not allowed.
  best = oldestRow(now, best, ready);
  wakeAt(rowBound);
  if (ready)
    rowBound = now;
  return best;
}

Channel::Candidate Channel::oldestRow(Cycle now, Candidate best, bool &ready) {
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
      ready = true;
      uint64_t order = queue.otherOrder(bank, write);
      if (order >= best.order || dueBanks[bank])
        continue;
      if (!t.protectsHits || !protectsRow(bank))
        best = {order, queue.other(bank, write)};
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
      Cycle time = groups[group].activate;
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
          ready = true;
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
    entry = readyRow(now, readyColumn(now)).entry;
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
    entry = readyColumn(now).entry;
  }
  if (entry == noEntry)
    return false;
  issueHit(entry, now, done);
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
  EntryIndex entry = readyRow(now, {}).entry;
  if (entry == noEntry)
    return false;
  issueFor(entry, now, done);
  return true;
}

void Channel::issueHit(EntryIndex index, Cycle now,
                       std::vector<Completion> &done) {
  Entry &entry = queue[index];
  count.rowHits += !entry.counted;
  entry.counted = true;
  column(index, now, done);
}

void Channel::issueFor(EntryIndex index, Cycle now,
                       std::vector<Completion> &done) {
  Entry &entry = queue[index];
  uint32_t bank = entry.access.bank;
  bool opensRow = !banks[bank].open;
  bool isColumn = !opensRow && (queue.active(bank) == index ||
                                queue.hit(bank, entry.access.write) == index);
  if (isColumn)
    return issueHit(index, now, done);
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
  Cycle &opening = rowsOpening[!write];
  opening = std::max(opening, banks[bank].column[!write]);
}

void Channel::step(Cycle now, std::vector<Completion> &done) {
  wake = never;
  rowBound = activeBound = 0;
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
  noteOnlyColumns(now);
  assert((next != never || queue.empty()) && "requests wait for nothing");
}

/// After a step: columns do not make the times earlier that hold rows and their
/// first columns back.
void Channel::noteOnlyColumns(Cycle now) {
  Cycle bound = std::min(nextRefresh, std::min(rowBound, activeBound));
  bool simple = ranksPerPseudo == 1 && !closedPage && dueCount == 0 &&
                refreshQueue.empty() && now >= rowsOpening[writeMode];
  onlyColumns = simple ? bound : 0;
}

/// As step() does it when nothing but columns can go; false if it turns out
/// that something else can.
bool Channel::stepColumn(Cycle now, std::vector<Completion> &done) {
  bool mode = writeMode;
  chooseMode();
  if (writeMode != mode) {
    onlyColumns = 0;
    return false;
  }
  Cycle earliest = onlyColumns;
  EntryIndex entry = readyColumnByGroup(now, earliest).entry;
  next = earliest;
  if (entry == noEntry)
    return true;
  issueHit(entry, now, done);
  next = now + 1;
  if (!t.rowBus)
    return true;
  // The row bus may serve the other direction in this very clock.
  chooseMode();
  if (writeMode != mode) {
    onlyColumns = 0;
    issueRow(now, done);
  }
  return true;
}

void Channel::advance(Cycle now, std::vector<Completion> &done) {
  while (next < now) {
    skipRefreshes(now);
    if (next < now)
      runColumns(now - 1, done, [](Cycle) {});
    if (next < now)
      step(next, done);
  }
}

uint32_t Channel::offer(const Access &access, Cycle now,
                        std::vector<Completion> &done) {
  assert(access.bank < banks.size() && "an unknown bank");
  auto push = [&](Access part, uint32_t skipped, uint32_t atoms) {
    part.column += skipped;
    part.atoms = std::min(atoms, queue.room(access.write));
    if (part.atoms == 0)
      return 0u;
    countOccupancy(now);
    bool newRow = queue.push(part, now);
    if (newRow && access.write == writeMode)
      onlyColumns = 0;
    next = std::min(next, now);
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
  if (uint32_t atoms = queue.retire(index); atoms != 0 && !write)
    done.push_back({access.token, now + t.readLatency, atoms});

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
