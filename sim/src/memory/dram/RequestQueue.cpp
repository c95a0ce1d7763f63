//===- RequestQueue.cpp - Requests waiting at a DRAM channel ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "memory/dram/RequestQueue.h"
#include <algorithm>
#include <bit>
#include <cassert>

namespace tessera::sim::dram {

RequestQueue::RequestQueue(uint32_t readEntries, uint32_t writeEntries,
                           uint32_t bankCount, uint32_t banksPerGroup)
    : limits{readEntries, writeEntries},
      // Every bank can hold one more whose row is being opened.
      pool(size_t(readEntries) + writeEntries + bankCount), banks(bankCount),
      activeBanks(bankCount), openBanks(bankCount),
      otherBanks{BankSet(bankCount), BankSet(bankCount)},
      hitGroups{BankSet(bankCount / banksPerGroup),
                BankSet(bankCount / banksPerGroup)},
      groupShift(uint32_t(std::countr_zero(banksPerGroup))) {
  assert(std::has_single_bit(banksPerGroup) && "groups have 2^n banks");
  for (std::vector<GroupFirst> &firsts : groupFirst)
    firsts.resize(bankCount / banksPerGroup);
  for (auto *orders : {&hitOrders, &otherOrders})
    for (std::vector<uint64_t> &order : *orders)
      order.assign(bankCount, never);
  free.reserve(pool.size());
  for (size_t i = pool.size(); i-- != 0;)
    free.push_back(EntryIndex(i));
}

EntryIndex RequestQueue::find(const Bank &bank, EntryIndex from,
                              bool hit) const {
  while (from != noEntry && hits(bank, pool[from]) != hit)
    from = pool[from].next;
  return from;
}

void RequestQueue::noteHit(uint32_t bank, bool write) {
  const Bank &b = banks[bank];
  EntryIndex hit = b.lists[write].hit;
  bool behindActive =
      b.active != noEntry && pool[b.active].access.write == write;
  uint64_t order = hit == noEntry || behindActive ? never : pool[hit].sequence;
  uint64_t &mine = hitOrders[write][bank];
  uint64_t before = mine;
  if (order == before)
    return;
  mine = order;
  uint32_t group = bank >> groupShift;
  GroupFirst &first = groupFirst[write][group];
  if (order < first.order) {
    if (first.order == never)
      hitGroups[write].put(group, true);
    first = {order, bank};
  } else if (before == first.order) {
    first.order = never;
    uint32_t begin = group << groupShift, end = (group + 1) << groupShift;
    const uint64_t *orders = hitOrders[write].data();
#pragma clang loop vectorize(disable)
    for (uint32_t i = begin; i != end; ++i)
      if (orders[i] < first.order)
        first = {orders[i], i};
    if (first.order == never)
      hitGroups[write].put(group, false);
  }
}

void RequestQueue::noteOther(uint32_t bank, bool write) {
  EntryIndex other = banks[bank].lists[write].other;
  uint64_t order = other == noEntry ? never : pool[other].sequence;
  uint64_t &mine = otherOrders[write][bank];
  if (order == mine)
    return;
  mine = order;
  otherBanks[write].put(bank, order != never);
}

RequestQueue::Place RequestQueue::push(const Access &access, Cycle arrival) {
  assert(access.atoms != 0 && access.atoms <= room(access.write) && "no room");
  EntryIndex index = allocate();
  counts[access.write] += access.atoms;
  Bank &bank = banks[access.bank];
  List &list = bank.lists[access.write];
  Entry &entry = pool[index];
  entry = {access,       access.atoms, false,  arrival,
           nextSequence, list.tail,    noEntry};
  nextSequence += access.atoms;
  (list.tail == noEntry ? list.head : pool[list.tail].next) = index;
  list.tail = index;
  bool isHit = hits(bank, entry);
  EntryIndex &first = isHit ? list.hit : list.other;
  if (first != noEntry)
    return Place::Behind;
  first = index;
  if (isHit)
    noteHit(access.bank, access.write);
  else
    noteOther(access.bank, access.write);
  return isHit ? Place::FirstHit : Place::FirstOther;
}

bool RequestQueue::holdsWrite(const Access &access) const {
  const Bank &bank = banks[access.bank];
  auto same = [&](const Access &other) {
    return other.row == access.row && access.column >= other.column &&
           access.column - other.column < other.atoms;
  };
  for (EntryIndex i = bank.lists[true].head; i != noEntry; i = pool[i].next)
    if (same(pool[i].access))
      return true;
  return bank.active != noEntry && pool[bank.active].access.write &&
         same(pool[bank.active].access);
}

void RequestQueue::sort(uint32_t bank) {
  for (bool write : {false, true}) {
    List &list = banks[bank].lists[write];
    list.hit = find(banks[bank], list.head, true);
    list.other = find(banks[bank], list.head, false);
    note(bank, write);
  }
}

void RequestQueue::rowOpened(uint32_t bank, uint32_t row) {
  banks[bank].open = true;
  openBanks.put(bank, true);
  banks[bank].row = row;
  sort(bank);
}

void RequestQueue::rowClosed(uint32_t bank) {
  banks[bank].open = false;
  openBanks.put(bank, false);
  sort(bank);
}

void RequestQueue::unlink(EntryIndex index) {
  const Entry &entry = pool[index];
  uint32_t number = entry.access.bank;
  bool write = entry.access.write;
  Bank &bank = banks[number];
  List &list = bank.lists[write];
  bool wasHit = list.hit == index, wasOther = list.other == index;
  if (wasHit)
    list.hit = find(bank, entry.next, true);
  if (wasOther)
    list.other = find(bank, entry.next, false);
  (entry.previous == noEntry ? list.head : pool[entry.previous].next) =
      entry.next;
  (entry.next == noEntry ? list.tail : pool[entry.next].previous) =
      entry.previous;
  if (wasHit)
    noteHit(number, write);
  if (wasOther)
    noteOther(number, write);
}

void RequestQueue::activate(EntryIndex index) {
  uint32_t bank = pool[index].access.bank;
  assert(banks[bank].active == noEntry && "a row is opened for one entry");
  EntryIndex first = index;
  if (pool[index].access.atoms == 1) {
    dropFirst(index);
    pool[index].access.atoms = 1;
  } else {
    first = allocate();
    pool[first] = pool[index];
    pool[first].access.atoms = pool[first].atoms = 1;
    --pool[index].atoms;
    dropFirst(index);
  }
  banks[bank].active = first;
  activeBanks.put(bank, true);
  ++activeCount;
  noteHit(bank, pool[first].access.write);
}

uint32_t RequestQueue::retireActive(EntryIndex index) {
  uint32_t bank = pool[index].access.bank;
  assert(banks[bank].active == index && "no row was opened for it");
  banks[bank].active = noEntry;
  activeBanks.put(bank, false);
  --activeCount;
  noteHit(bank, pool[index].access.write);
  free.push_back(index);
  return pool[index].atoms;
}

bool RequestQueue::consistent() const {
  size_t entries = size_t(limits[0]) + limits[1] + activeBanks.capacity();
  if (pool.size() != entries || banks.size() != activeBanks.capacity() ||
      counts[0] > limits[0] || counts[1] > limits[1] ||
      activeCount > banks.size() || free.size() > entries)
    return false;
  auto known = [&](EntryIndex i) { return i == noEntry || i < entries; };
  // Every entry is free, active or in exactly one list, in place.
  std::vector<uint8_t> seen(entries);
  size_t found = 0;
  auto once = [&](EntryIndex i) {
    ++found;
    return i < entries && !seen[i]++;
  };
  for (EntryIndex i : free)
    if (!once(i))
      return false;
  std::array<uint64_t, 2> atoms{};
  uint32_t active = 0;
  for (uint32_t b = 0; b != banks.size(); ++b) {
    const Bank &bank = banks[b];
    if (bank.active != noEntry &&
        (!once(bank.active) || pool[bank.active].access.bank != b ||
         pool[bank.active].access.atoms != 1))
      return false;
    active += bank.active != noEntry;
    for (bool write : {false, true}) {
      const List &list = bank.lists[write];
      EntryIndex last = noEntry;
      for (EntryIndex i = list.head; i != noEntry; i = pool[i].next) {
        if (!once(i) || pool[i].access.bank != b ||
            pool[i].access.write != write || pool[i].previous != last ||
            !known(pool[i].next) || pool[i].access.atoms == 0 ||
            pool[i].access.atoms > limits[write] ||
            pool[i].atoms < pool[i].access.atoms)
          return false;
        atoms[write] += pool[i].access.atoms;
        last = i;
      }
      if (list.tail != last || list.hit != find(bank, list.head, true) ||
          list.other != find(bank, list.head, false))
        return false;
    }
  }
  return found == entries && active == activeCount && atoms[0] == counts[0] &&
         atoms[1] == counts[1];
}

void RequestQueue::restoreNotes() {
  for (uint32_t bank = 0; bank != banks.size(); ++bank) {
    activeBanks.put(bank, banks[bank].active != noEntry);
    openBanks.put(bank, banks[bank].open);
    note(bank, false);
    note(bank, true);
  }
}

} // namespace tessera::sim::dram
