//===- RequestQueue.cpp - Requests waiting at a DRAM channel ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "memory/dram/RequestQueue.h"
#include <cassert>

namespace tessera::sim::dram {

RequestQueue::RequestQueue(uint32_t readEntries, uint32_t writeEntries,
                           uint32_t bankCount)
    : limits{readEntries, writeEntries},
      // Every bank can hold one more whose row is being opened.
      pool(size_t(readEntries) + writeEntries + bankCount), banks(bankCount),
      activeBanks(bankCount), openBanks(bankCount),
      hitBanks{BankSet(bankCount), BankSet(bankCount)},
      otherBanks{BankSet(bankCount), BankSet(bankCount)} {
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

void RequestQueue::noteSets(uint32_t bank, bool write) {
  const List &list = banks[bank].lists[write];
  hitBanks[write].put(bank, list.hit != noEntry);
  otherBanks[write].put(bank, list.other != noEntry);
}

void RequestQueue::push(const Access &access, Cycle arrival) {
  assert(!full(access.write) && "no room");
  EntryIndex index = free.back();
  free.pop_back();
  ++counts[access.write];
  Bank &bank = banks[access.bank];
  List &list = bank.lists[access.write];
  Entry &entry = pool[index];
  entry.access = access;
  entry.arrival = arrival;
  entry.sequence = nextSequence++;
  entry.counted = false;
  entry.previous = list.tail;
  entry.next = noEntry;
  (list.tail == noEntry ? list.head : pool[list.tail].next) = index;
  list.tail = index;
  bool hit = hits(bank, entry);
  EntryIndex &first = hit ? list.hit : list.other;
  if (first != noEntry)
    return;
  first = index;
  (hit ? hitBanks : otherBanks)[access.write].put(access.bank, true);
}

bool RequestQueue::holdsWrite(const Access &access) const {
  const Bank &bank = banks[access.bank];
  auto same = [&](const Access &other) {
    return other.row == access.row && other.column == access.column;
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
    noteSets(bank, write);
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
  if (list.hit == index) {
    list.hit = find(bank, entry.next, true);
    hitBanks[write].put(number, list.hit != noEntry);
  }
  if (list.other == index) {
    list.other = find(bank, entry.next, false);
    otherBanks[write].put(number, list.other != noEntry);
  }
  (entry.previous == noEntry ? list.head : pool[entry.previous].next) =
      entry.next;
  (entry.next == noEntry ? list.tail : pool[entry.next].previous) =
      entry.previous;
  --counts[write];
}

void RequestQueue::activate(EntryIndex index) {
  uint32_t bank = pool[index].access.bank;
  assert(banks[bank].active == noEntry && "a row is opened for one entry");
  unlink(index);
  banks[bank].active = index;
  activeBanks.put(bank, true);
  ++activeCount;
}

void RequestQueue::retire(EntryIndex index) {
  uint32_t bank = pool[index].access.bank;
  if (banks[bank].active == index) {
    banks[bank].active = noEntry;
    activeBanks.put(bank, false);
    --activeCount;
  } else {
    unlink(index);
  }
  free.push_back(index);
}

bool RequestQueue::consistent() const {
  size_t entries = size_t(limits[0]) + limits[1] + activeBanks.capacity();
  if (pool.size() != entries || free.size() > entries ||
      banks.size() != activeBanks.capacity() || counts[0] > limits[0] ||
      counts[1] > limits[1] || activeCount > banks.size() ||
      free.size() + counts[0] + counts[1] + activeCount != entries)
    return false;
  auto known = [&](EntryIndex i) { return i == noEntry || i < entries; };
  // Every entry is free, active or in exactly one list, in place.
  std::vector<uint8_t> seen(entries);
  auto once = [&](EntryIndex i) { return i < entries && !seen[i]++; };
  for (EntryIndex i : free)
    if (!once(i))
      return false;
  for (uint32_t b = 0; b != banks.size(); ++b) {
    const Bank &bank = banks[b];
    if (bank.active != noEntry &&
        (!once(bank.active) || pool[bank.active].access.bank != b))
      return false;
    for (bool write : {false, true}) {
      const List &list = bank.lists[write];
      EntryIndex last = noEntry;
      for (EntryIndex i = list.head; i != noEntry; i = pool[i].next) {
        if (!once(i) || pool[i].access.bank != b ||
            pool[i].access.write != write || pool[i].previous != last ||
            !known(pool[i].next))
          return false;
        last = i;
      }
      if (list.tail != last || list.hit != find(bank, list.head, true) ||
          list.other != find(bank, list.head, false))
        return false;
    }
  }
  return true;
}

void RequestQueue::restoreSets() {
  for (uint32_t bank = 0; bank != banks.size(); ++bank) {
    activeBanks.put(bank, banks[bank].active != noEntry);
    openBanks.put(bank, banks[bank].open);
    noteSets(bank, false);
    noteSets(bank, true);
  }
}

} // namespace tessera::sim::dram
