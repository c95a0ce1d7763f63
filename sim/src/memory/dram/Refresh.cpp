//===- Refresh.cpp - Refreshes of a DRAM channel ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "memory/dram/Channel.h"
#include <algorithm>

namespace tessera::sim::dram {

Cycle Channel::refreshPeriod() const {
  return refreshPerBank ? std::max(1u, t.refreshInterval / banksPerRank)
                        : t.refreshInterval;
}

void Channel::startRefreshes(Cycle now) {
  while (nextRefresh <= now) {
    nextRefresh += refreshPeriod();
    for (uint32_t i = 0; i != ranks.size(); ++i) {
      if (!refreshPerBank) {
        refreshQueue.push_back(i);
        continue;
      }
      uint32_t bank = i * banksPerRank + ranks[i].refreshPointer;
      ranks[i].refreshPointer = (ranks[i].refreshPointer + 1) % banksPerRank;
      // A bank still waiting after a whole round gets one refresh for both.
      dueCount += !dueBanks[bank];
      dueBanks[bank] = 1;
    }
  }
}

bool Channel::issueRefresh(Cycle now) {
  if (!refreshQueue.empty())
    return issueRefreshAll(now);
  return dueCount != 0 && issueRefreshBank(now);
}

/// The first waiting rank: precharge all, then refresh. Meanwhile only entries
/// whose rows were opened for them go on.
bool Channel::issueRefreshAll(Cycle now) {
  uint32_t rank = refreshQueue.front();
  uint32_t first = rank * banksPerRank;
  bool open = false;
  Cycle precharged = rowBusFree, refreshed = rowBusFree;
  for (uint32_t bank = first; bank != first + banksPerRank; ++bank) {
    if (queue.active(bank) != noEntry)
      return false;
    open |= queue.isOpen(bank);
    refreshed = std::max(refreshed, banks[bank].activate);
    // Of a closed bank in the past, but for one that still is to precharge by
    // itself.
    precharged = std::max(precharged, banks[bank].precharge);
  }
  Cycle time = open ? precharged : refreshed;
  if (time > now) {
    wakeAt(time);
    return false;
  }
  rowBusFree = now + 1;
  if (open) {
    record(CommandKind::PrechargeAll, first, now);
    for (uint32_t bank = first; bank != first + banksPerRank; ++bank)
      if (queue.isOpen(bank))
        closeRow(bank, now);
    return true;
  }
  record(CommandKind::Refresh, first, now);
  for (uint32_t bank = first; bank != first + banksPerRank; ++bank)
    banks[bank].activate = now + t.refreshAllBanks;
  ++count.refreshes;
  count.refreshClocks += t.refreshAllBanks;
  refreshQueue.erase(refreshQueue.begin());
  return true;
}

/// Any due bank that can: precharge, then refresh; the other banks go on.
bool Channel::issueRefreshBank(Cycle now) {
  for (uint32_t bank = 0; bank != banks.size(); ++bank) {
    if (!dueBanks[bank] || queue.active(bank) != noEntry)
      continue;
    Bank &b = banks[bank];
    Rank &rank = rankOf(bank);
    Cycle time = std::max(
        rowBusFree,
        queue.isOpen(bank) ? b.precharge : std::max(b.activate, rank.activate));
    if (time > now) {
      wakeAt(time);
      continue;
    }
    if (queue.isOpen(bank)) {
      precharge(bank, now);
      return true;
    }
    record(CommandKind::RefreshBank, bank, now);
    rowBusFree = now + 1;
    b.activate = now + t.refreshBank;
    rank.activate =
        std::max<Cycle>(rank.activate, now + t.activateToActivateRank);
    dueBanks[bank] = 0;
    --dueCount;
    ++count.refreshes;
    count.refreshClocks += t.refreshBank;
    return true;
  }
  return false;
}

void Channel::skipRefreshes(Cycle now) {
  if (!queue.empty() || !refreshQueue.empty() || dueCount != 0 ||
      nextRefresh >= now)
    return;
  // Two rounds before `now` are simulated: the first closes every row, the
  // second leaves the state that any earlier one would.
  Cycle period = refreshPeriod();
  Cycle round = refreshPerBank ? banksPerRank : 1;
  Cycle missed = (now - nextRefresh) / period / round;
  if (missed <= 2)
    return;
  Cycle skipped = (missed - 2) * round;
  nextRefresh += skipped * period;
  next = std::max(next, nextRefresh);
  count.refreshes += skipped * ranks.size();
  count.refreshClocks += skipped * ranks.size() *
                         (refreshPerBank ? t.refreshBank : t.refreshAllBanks);
}

} // namespace tessera::sim::dram
