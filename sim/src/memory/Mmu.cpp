//===- Mmu.cpp - Address translation ----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "memory/Mmu.h"
#include <algorithm>

namespace tessera::sim {

static constexpr unsigned frameShift = 12;

Mmu::Mmu(const Architecture &arch, const Clock &clock, EventQueue &events,
         MemorySystem &memory, PhysicalMemory &contents, uint32_t node)
    : arch(arch), clock(clock), events(events), memory(memory),
      contents(contents), node(node), self(events.add(*this)) {}

uint16_t Mmu::addClient() {
  firstLevel.emplace_back();
  return uint16_t(firstLevel.size() - 1);
}

Mmu::Entry *Mmu::find(Level &level, uint64_t root, uint64_t address) {
  for (size_t i = 0; i < level.size(); ++i)
    if (level[i].root == root && level[i].mapping.covers(address)) {
      level[i].lastUse = ++useClock;
      // Streams ask for the same page again: keep it where the search begins.
      if (i != 0)
        std::swap(level[i], level[0]);
      return &level[0];
    }
  return nullptr;
}

void Mmu::insert(Level &level, size_t capacity, uint64_t root,
                 const PageMapping &mapping) {
  if (capacity == 0)
    return;
  for (Entry &entry : level)
    if (entry.root == root && entry.mapping.page == mapping.page &&
        entry.mapping.shift == mapping.shift) {
      entry.mapping = mapping;
      return;
    }
  Entry entry{root, ++useClock, mapping};
  if (level.size() < capacity) {
    level.push_back(entry);
    return;
  }
  *std::min_element(level.begin(), level.end(),
                    [](const Entry &a, const Entry &b) {
                      return a.lastUse < b.lastUse;
                    }) = entry;
}

void Mmu::issue(const VirtualRequest &r, const PageMapping &mapping) {
  Translation t = mapping.translate(r.address, r.access);
  if (t.fault == FaultCause::None &&
      !contents.contains(t.space, t.address, r.bytes))
    t.fault = FaultCause::BusError;
  if (t.fault != FaultCause::None)
    return reject(r, t.fault);
  MemoryRequest request;
  request.space = t.space;
  request.write = r.access == Access::Write;
  request.bytes = r.bytes;
  request.address = t.address;
  request.node = r.node;
  request.account = r.account;
  request.cores = r.cores;
  request.reply = r.reply;
  memory.request(request);
}

void Mmu::reject(const VirtualRequest &r, FaultCause fault) {
  Event event;
  event.time = events.now();
  event.phase = Phase::Complete;
  event.component = r.reply.component;
  event.code = r.reply.code;
  event.epoch = r.reply.epoch;
  event.payload = r.reply.payload;
  event.fault = uint8_t(fault);
  events.post(event);
}

bool Mmu::request(const VirtualRequest &r) {
  if (Entry *entry = find(firstLevel[r.client], r.root, r.address)) {
    ++hits;
    issue(r, entry->mapping);
    return true;
  }
  ++misses;
  Pending p;
  p.id = nextId++;
  p.request = r;
  if (Entry *entry = find(secondLevel, r.root, r.address)) {
    p.mapping = entry->mapping;
    pending.push_back(p);
    Event event;
    event.time = events.now() + clock.at(arch.tlb.l2Latency);
    event.phase = Phase::Complete;
    event.component = self;
    event.code = SecondLevelHit;
    event.payload = p.id;
    events.post(event);
    return false;
  }
  // A walk for the same page serves everybody who asks meanwhile.
  auto samePage = [&](const Walk &w) {
    return w.root == r.root && w.address >> 16 == r.address >> 16;
  };
  if (auto it = std::find_if(active.begin(), active.end(), samePage);
      it != active.end()) {
    it->ahead = false;
    p.walk = it->id;
  } else if (auto w = std::find_if(waiting.begin(), waiting.end(), samePage);
             w != waiting.end()) {
    p.walk = w->id;
  } else {
    Walk walk{nextId++, r.root, r.address, r.root, isa::pageTableLevels - 1};
    p.walk = walk.id;
    ++walks;
    if (active.size() < std::max(1u, arch.tlb.walkers)) {
      active.push_back(walk);
      pending.push_back(p);
      readEntry(walk);
      return false;
    }
    waiting.push_back(walk);
  }
  pending.push_back(p);
  return false;
}

void Mmu::readEntry(const Walk &walk) {
  uint64_t at =
      walk.table + 8 * uint64_t(isa::pageTableIndex(walk.address, walk.level));
  uint64_t frame = at >> frameShift;
  auto place =
      std::lower_bound(walkedTables.begin(), walkedTables.end(), frame);
  if (place == walkedTables.end() || *place != frame)
    walkedTables.insert(place, frame);
  MemoryRequest request;
  request.bytes = 8;
  request.walk = true;
  request.address = at;
  request.node = node;
  request.account = arch.cores.count;
  request.reply = {self, EntryRead, 0, walk.id};
  if (walk.address >> isa::virtualAddressBits || at < walk.table ||
      !contents.dram().contains(at, 8)) {
    // Nothing to read: the walk ends where the error is found.
    Event event;
    event.time = events.now();
    event.phase = Phase::Complete;
    event.component = self;
    event.code = EntryRead;
    event.payload = walk.id;
    events.post(event);
    return;
  }
  memory.request(request);
}

void Mmu::entryRead(uint64_t id) {
  auto walk = std::find_if(active.begin(), active.end(),
                           [&](const Walk &w) { return w.id == id; });
  if (walk == active.end())
    return;
  isa::PageEntry entry;
  PageMapping mapping;
  FaultCause fault = FaultCause::PageFault;
  if (!(walk->address >> isa::virtualAddressBits))
    fault = contents.readEntry(walk->table, walk->level, walk->address, entry);
  if (fault == FaultCause::None) {
    switch (PhysicalMemory::judge(entry, walk->level, walk->address, mapping,
                                  fault)) {
    case PhysicalMemory::WalkStep::Next:
      walk->table = entry.address;
      --walk->level;
      readEntry(*walk);
      return;
    case PhysicalMemory::WalkStep::Leaf:
    case PhysicalMemory::WalkStep::Fault:
      break;
    }
  }
  Walk done = *walk;
  active.erase(walk);
  if (done.ahead && fault == FaultCause::None)
    insert(secondLevel, arch.tlb.l2Entries, done.root, mapping);
  finish(id, mapping, fault);
  // Walks that wait for a walker are over if this one has brought their page.
  if (fault == FaultCause::None)
    std::erase_if(waiting, [&](const Walk &w) {
      if (w.root != done.root || !mapping.covers(w.address))
        return false;
      finish(w.id, mapping, fault);
      return true;
    });
  if (!waiting.empty()) {
    active.push_back(waiting.front());
    waiting.pop_front();
    readEntry(active.back());
  }
}

/// Who asks for a page for the first time is likely to ask for the one after
/// it: its walk begins if more than one walker is idle.
void Mmu::walkAhead(uint64_t root, const PageMapping &mapping) {
  if (active.size() + 2 > arch.tlb.walkers)
    return;
  uint64_t next = (mapping.page + 1) << mapping.shift;
  auto isThere = [&](const Entry &entry) {
    return entry.root == root && entry.mapping.covers(next);
  };
  auto isWalked = [&](const Walk &walk) {
    return walk.root == root && walk.address >> 16 == next >> 16;
  };
  if (next >> isa::virtualAddressBits ||
      std::any_of(secondLevel.begin(), secondLevel.end(), isThere) ||
      std::any_of(active.begin(), active.end(), isWalked))
    return;
  active.push_back(
      {nextId++, root, next, root, isa::pageTableLevels - 1, true});
  ++walks;
  readEntry(active.back());
}

void Mmu::answer(const Pending &p, FaultCause fault) {
  if (fault == FaultCause::None) {
    insert(firstLevel[p.request.client], arch.tlb.l1Entries, p.request.root,
           p.mapping);
    walkAhead(p.request.root, p.mapping);
    issue(p.request, p.mapping);
  } else {
    reject(p.request, fault);
  }
  Event event;
  event.time = events.now();
  event.phase = Phase::Start;
  event.component = p.request.reply.component;
  event.code = p.request.translatedCode;
  event.epoch = p.request.reply.epoch;
  events.post(event);
}

void Mmu::finish(uint64_t walk, const PageMapping &mapping, FaultCause fault) {
  std::vector<Pending> served;
  std::erase_if(pending, [&](const Pending &p) {
    if (p.walk != walk)
      return false;
    served.push_back(p);
    return true;
  });
  for (Pending &p : served) {
    if (fault == FaultCause::None)
      insert(secondLevel, arch.tlb.l2Entries, p.request.root, mapping);
    p.mapping = mapping;
    answer(p, fault);
  }
}

void Mmu::handle(const Event &event) {
  if (event.code == EntryRead)
    return entryRead(event.payload);
  auto p = std::find_if(pending.begin(), pending.end(), [&](const Pending &q) {
    return q.id == event.payload;
  });
  if (p == pending.end())
    return;
  Pending served = *p;
  pending.erase(p);
  answer(served, FaultCause::None);
}

void Mmu::invalidate() {
  for (Level &level : firstLevel)
    level.clear();
  secondLevel.clear();
  walkedTables.clear();
  ++invalidations;
}

void Mmu::dramWritten(uint64_t address, uint64_t bytes) {
  if (walkedTables.empty() || bytes == 0)
    return;
  auto first = std::lower_bound(walkedTables.begin(), walkedTables.end(),
                                address >> frameShift);
  if (first != walkedTables.end() &&
      *first <= (address + bytes - 1) >> frameShift)
    invalidate();
}

} // namespace tessera::sim
