//===- Mmu.h - Address translation ------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One first-level TLB per client, a shared second level, and page walkers that
// read the tables from DRAM at the price of those reads. A client hands over a
// virtual request; a hit goes to memory at once, a miss goes when its
// translation is there. Host writes into a table that was walked drop the
// cached translations.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_MEMORY_MMU_H
#define TESSERA_SIM_MEMORY_MMU_H

#include "memory/MemorySystem.h"
#include "memory/PhysicalMemory.h"
#include <deque>

namespace tessera::sim {

struct VirtualRequest {
  uint64_t root = 0; ///< Level-3 table of the context.
  uint64_t address = 0;
  uint32_t bytes = 0; ///< Within one 64 KiB page.
  Access access = Access::Read;
  uint16_t client = 0;
  uint32_t node = 0, account = 0;
  Reply reply;
  Noc::Rectangle cores; ///< Of a read: see MemoryRequest.
  /// Sent as an event of phase Start when a missing translation has arrived.
  uint8_t translatedCode = 0;

  template <typename A> void serialize(A &ar) {
    fields(ar, root, address, bytes, access, client, node, account, reply,
           cores, translatedCode);
  }
};

class Mmu final : public Component {
public:
  Mmu(const Architecture &arch, const Clock &clock, EventQueue &events,
      MemorySystem &memory, PhysicalMemory &contents, uint32_t node);

  /// A new client's number.
  uint16_t addClient();
  /// True if the translation was at hand. The reply's event carries the fault
  /// if the access is not allowed.
  bool request(const VirtualRequest &request);
  /// Forgets all translations.
  void invalidate();
  /// How often that was; what was read with translations of an earlier
  /// generation may have changed its place.
  uint64_t generation() const { return invalidations; }
  /// To be called when something else than a page walk touched DRAM.
  void dramWritten(uint64_t address, uint64_t bytes);

  void handle(const Event &event) override;

  uint64_t hits = 0, misses = 0, walks = 0;

  template <typename A> void serialize(A &ar) {
    fields(ar, firstLevel, secondLevel, useClock, pending, active, waiting,
           nextId, walkedTables, invalidations, hits, misses, walks);
  }

private:
  struct Entry {
    uint64_t root = 0, lastUse = 0;
    PageMapping mapping;
    template <typename A> void serialize(A &ar) {
      fields(ar, root, lastUse, mapping);
    }
  };
  using Level = std::vector<Entry>;
  struct Pending {
    uint64_t id = 0;
    uint64_t walk = 0; ///< 0: waits for the second level.
    PageMapping mapping;
    VirtualRequest request;
    template <typename A> void serialize(A &ar) {
      fields(ar, id, walk, mapping, request);
    }
  };
  struct Walk {
    uint64_t id = 0, root = 0, address = 0, table = 0;
    uint8_t level = 0;
    bool ahead = false; ///< Nobody has asked for it yet.
    template <typename A> void serialize(A &ar) {
      fields(ar, id, root, address, table, level, ahead);
      if constexpr (A::loading)
        if (level >= isa::pageTableLevels)
          ar.fail();
    }
  };
  enum Code : uint8_t { SecondLevelHit, EntryRead };

  Entry *find(Level &level, uint64_t root, uint64_t address);
  void insert(Level &level, size_t capacity, uint64_t root,
              const PageMapping &mapping);
  void issue(const VirtualRequest &request, const PageMapping &mapping);
  void reject(const VirtualRequest &request, FaultCause fault);
  void readEntry(const Walk &walk);
  void entryRead(uint64_t id);
  void finish(uint64_t walk, const PageMapping &mapping, FaultCause fault);
  void walkAhead(uint64_t root, const PageMapping &mapping);
  void answer(const Pending &pending, FaultCause fault);

  const Architecture &arch;
  const Clock &clock;
  EventQueue &events;
  MemorySystem &memory;
  PhysicalMemory &contents;
  uint32_t node;
  ComponentId self;

  std::vector<Level> firstLevel;
  Level secondLevel;
  uint64_t useClock = 0;
  std::vector<Pending> pending;
  std::vector<Walk> active;
  std::deque<Walk> waiting;
  uint64_t nextId = 1;
  std::vector<uint64_t> walkedTables; ///< DRAM 4 KiB frames, sorted.
  uint64_t invalidations = 0;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_MEMORY_MMU_H
