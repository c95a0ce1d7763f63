//===- RequestQueue.h - Requests waiting at a DRAM channel ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The read and the write queue of a channel. An entry is a run of atoms of one
// row that came together; it takes as many places as it has atoms, and is
// served atom by atom as if each were an entry of its own. Entries sit in a
// fixed pool; each bank has a list of its reads and one of its writes in order
// of arrival, and knows of each the oldest entry that hits the open row and the
// oldest that does not: all that first-ready scheduling asks.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_MEMORY_DRAM_REQUESTQUEUE_H
#define TESSERA_SIM_MEMORY_DRAM_REQUESTQUEUE_H

#include "kernel/Clock.h"
#include "kernel/Serialize.h"
#include "memory/dram/BankSet.h"
#include <array>
#include <vector>

namespace tessera::sim::dram {

/// Atoms to read or write: one, or neighbours in a row.
struct Access {
  bool write = false;
  uint32_t bank = 0; ///< Of the channel (ChannelGeometry).
  uint32_t row = 0;
  uint32_t column = 0; ///< In atoms; of the first one.
  uint64_t token = 0;  ///< The requester's; comes back with the completion.
  uint32_t atoms = 1;
  template <typename A> void serialize(A &ar) {
    fields(ar, write, bank, row, column, token, atoms);
  }
};

using EntryIndex = uint32_t;
inline constexpr EntryIndex noEntry = ~0u;

struct Entry {
  Access access;        ///< What is left of it.
  uint32_t atoms = 1;   ///< That it came with, and that its completion is of.
  bool counted = false; ///< The first atom, as row hit, miss or conflict.
  Cycle arrival = 0;
  uint64_t sequence = 0; ///< Order of arrival of its first atom, also later on.
  EntryIndex previous = noEntry, next = noEntry;

  template <typename A> void serialize(A &ar) {
    fields(ar, access, atoms, counted, arrival, sequence, previous, next);
  }
};

class RequestQueue {
public:
  RequestQueue(uint32_t readEntries, uint32_t writeEntries, uint32_t banks,
               uint32_t banksPerGroup);

  uint32_t room(bool write) const { return limits[write] - counts[write]; }
  /// Atoms.
  uint32_t size(bool write) const { return counts[write]; }
  uint32_t limit(bool write) const { return limits[write]; }
  /// All atoms that wait for their column command.
  uint32_t waiting() const { return counts[0] + counts[1] + activeCount; }
  bool empty() const { return waiting() == 0; }
  bool anyActive() const { return activeCount != 0; }

  Entry &operator[](EntryIndex index) { return pool[index]; }
  const Entry &operator[](EntryIndex index) const { return pool[index]; }

  /// Whether a new entry is the oldest of its bank and direction that hits the
  /// open row, or that wants another one.
  enum class Place : uint8_t { Behind, FirstHit, FirstOther };
  /// The queue must have room.
  Place push(const Access &access, Cycle arrival);
  /// Whether a write of the same atom (the access's first) waits.
  bool holdsWrite(const Access &access) const;

  /// The bank's row changed: sorts its entries into hits and others.
  void rowOpened(uint32_t bank, uint32_t row);
  void rowClosed(uint32_t bank);

  /// The entry's first atom, whose row is being opened, leaves its queue, so
  /// that its place is free, but stays with its bank until its column command.
  void activate(EntryIndex index);
  /// The column command of an entry's first atom was issued: of one whose row
  /// was opened for it, or of another. Atoms that are complete with that: all
  /// that the entry came with, or none yet.
  uint32_t retireActive(EntryIndex index);
  uint32_t retireHit(EntryIndex index) {
    dropFirst(index);
    if (pool[index].access.atoms != 0)
      return 0;
    free.push_back(index);
    return pool[index].atoms;
  }

  /// The bank's entry whose row was opened for it, or noEntry.
  EntryIndex active(uint32_t bank) const { return banks[bank].active; }
  /// The oldest entry that hits the open row.
  EntryIndex hit(uint32_t bank, bool write) const {
    return banks[bank].lists[write].hit;
  }
  /// The oldest entry that needs another row, or any if the bank is closed.
  EntryIndex other(uint32_t bank, bool write) const {
    return banks[bank].lists[write].other;
  }

  /// Order of arrival of hit() and other(), or `never`; that of a hit is
  /// `never` too while an active entry of the same direction is before it.
  static constexpr uint64_t never = ~uint64_t(0);
  uint64_t hitOrder(uint32_t bank, bool write) const {
    return hitOrders[write][bank];
  }
  /// The bank group's first bank in hitOrder(), which one of its banks has.
  struct GroupFirst {
    uint64_t order = never;
    uint32_t bank = 0;
  };
  const GroupFirst *groupFirsts(bool write) const {
    return groupFirst[write].data();
  }
  /// Bank groups of which a bank has a hitOrder(), a bit each.
  const BankSet &groupsWithHit(bool write) const { return hitGroups[write]; }
  uint64_t otherOrder(uint32_t bank, bool write) const {
    return otherOrders[write][bank];
  }

  bool isOpen(uint32_t bank) const { return openBanks.contains(bank); }
  /// Whether its row is open.
  bool hits(const Access &access) const {
    const Bank &bank = banks[access.bank];
    return bank.open && bank.row == access.row;
  }
  size_t bankCount() const { return banks.size(); }

  /// Banks with an active entry; with an open row; with another entry.
  const BankSet &withActive() const { return activeBanks; }
  const BankSet &withOpenRow() const { return openBanks; }
  const BankSet &withOther(bool write) const { return otherBanks[write]; }

  template <typename A> void serialize(A &ar) {
    fields(ar, pool, free, banks, counts, activeCount, nextSequence);
    if constexpr (A::loading) {
      if (consistent())
        restoreNotes();
      else
        ar.fail();
    }
  }

private:
  struct List {
    EntryIndex head = noEntry, tail = noEntry, hit = noEntry, other = noEntry;
    template <typename A> void serialize(A &ar) {
      fields(ar, head, tail, hit, other);
    }
  };
  struct Bank {
    bool open = false;
    uint32_t row = 0;
    EntryIndex active = noEntry;
    std::array<List, 2> lists; ///< Reads, writes.
    template <typename A> void serialize(A &ar) {
      fields(ar, open, row, active, lists);
    }
  };

  bool hits(const Bank &bank, const Entry &entry) const {
    return bank.open && bank.row == entry.access.row;
  }
  EntryIndex find(const Bank &bank, EntryIndex from, bool hit) const;
  void sort(uint32_t bank);
  void note(uint32_t bank, bool write) {
    noteHit(bank, write);
    noteOther(bank, write);
  }
  void noteHit(uint32_t bank, bool write);
  void noteOther(uint32_t bank, bool write);
  EntryIndex allocate() {
    EntryIndex index = free.back();
    free.pop_back();
    return index;
  }
  void unlink(EntryIndex index);
  void dropFirst(EntryIndex index) {
    Entry &entry = pool[index];
    --counts[entry.access.write];
    if (--entry.access.atoms == 0)
      return unlink(index);
    // The next atom keeps the order of the first: no other entry is between
    // them.
    ++entry.access.column;
    entry.counted = false;
  }
  bool consistent() const;
  void restoreNotes();

  std::array<uint32_t, 2> limits, counts{};
  uint32_t activeCount = 0;
  uint64_t nextSequence = 0;
  std::vector<Entry> pool;
  std::vector<EntryIndex> free;
  std::vector<Bank> banks;
  BankSet activeBanks, openBanks;
  std::array<BankSet, 2> otherBanks, hitGroups;
  /// By direction and bank or group; made from the lists, like the sets.
  std::array<std::vector<uint64_t>, 2> hitOrders, otherOrders;
  std::array<std::vector<GroupFirst>, 2> groupFirst;
  const uint32_t groupShift; ///< From a bank to its group.
};

} // namespace tessera::sim::dram

#endif // TESSERA_SIM_MEMORY_DRAM_REQUESTQUEUE_H
