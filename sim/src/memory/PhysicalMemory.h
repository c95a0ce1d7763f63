//===- PhysicalMemory.h - The contents of all memories ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// DRAM, shared SRAM and host memory by physical address, and the page tables
// over them. No time passes here: MemorySystem and Mmu say what an access
// costs.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_MEMORY_PHYSICALMEMORY_H
#define TESSERA_SIM_MEMORY_PHYSICALMEMORY_H

#include "memory/SparseStore.h"
#include "tessera/Arch/Architecture.h"
#include "tessera/ISA/Mmio.h"
#include "tessera/ISA/PageTable.h"
#include <cstdlib>

namespace tessera::sim {

using isa::PhysicalSpace;
using isa::mmio::FaultCause;

enum class Access : uint8_t { Read, Write, Execute };

/// A virtual address resolved.
struct Translation {
  FaultCause fault = FaultCause::None;
  PhysicalSpace space = PhysicalSpace::Dram;
  uint64_t address = 0;
};

/// A leaf of a page table as a TLB keeps it.
struct PageMapping {
  uint64_t page = 0;  ///< Virtual address >> shift.
  uint64_t frame = 0; ///< Physical address of the page.
  uint8_t shift = 16; ///< 16 or 21.
  PhysicalSpace space = PhysicalSpace::Dram;
  bool read = false, write = false, execute = false, poison = false;

  bool covers(uint64_t address) const { return address >> shift == page; }
  Translation translate(uint64_t address, Access access) const;
  template <typename A> void serialize(A &ar) {
    fields(ar, page, frame, shift, space, read, write, execute, poison);
  }
};

class PhysicalMemory {
public:
  PhysicalMemory(const Architecture &arch, uint64_t hostBytes);

  uint64_t size(PhysicalSpace space) const;
  bool contains(PhysicalSpace space, uint64_t address, uint64_t length) const;
  /// Both need contains(…).
  void read(PhysicalSpace space, uint64_t address, void *data,
            uint64_t length) const;
  void write(PhysicalSpace space, uint64_t address, const void *data,
             uint64_t length);

  SparseStore &dram() { return dramStore; }
  const SparseStore &dram() const { return dramStore; }
  std::span<std::byte> host() { return {hostBytes.get(), hostSize}; }

  /// Reads the entry at `level` for `address` of a table; None and its decoded
  /// form, or BusError.
  FaultCause readEntry(uint64_t table, unsigned level, uint64_t address,
                       isa::PageEntry &entry) const;
  /// One step of a walk: whether `entry` at `level` ends it, and how.
  enum class WalkStep : uint8_t { Next, Leaf, Fault };
  static WalkStep judge(const isa::PageEntry &entry, unsigned level,
                        uint64_t address, PageMapping &mapping,
                        FaultCause &fault);
  /// A whole walk from the level-3 table at `root`.
  FaultCause walk(uint64_t root, uint64_t address, PageMapping &mapping) const;

  /// Reads or writes a virtual range, page by page. On a fault nothing more is
  /// moved and `faultAddress` is the first byte that failed.
  FaultCause readVirtual(uint64_t root, uint64_t address, void *data,
                         uint64_t length, Access access,
                         uint64_t &faultAddress) const;
  FaultCause writeVirtual(uint64_t root, uint64_t address, const void *data,
                          uint64_t length, uint64_t &faultAddress);
  /// Resolves one address of a range of `length` bytes inside one 64 KiB page.
  Translation translate(uint64_t root, uint64_t address, uint64_t length,
                        Access access) const;

  void clear();
  uint64_t hash() const { return sharedStore.hash(dramStore.hash(0)); }

  template <typename A> void serialize(A &ar) {
    fields(ar, dramStore, sharedStore);
    serializeHost(ar);
  }

private:
  static constexpr uint64_t hostPage = 4096;
  static bool isZero(const std::byte *p, uint64_t n);

  /// Host memory is mostly untouched: only pages that hold something are kept.
  template <typename A> void serializeHost(A &ar) {
    if constexpr (A::loading) {
      clearHost();
      uint64_t at = 0;
      for (fields(ar, at); at != ~uint64_t(0) && ar.ok(); fields(ar, at)) {
        if (at % hostPage || at >= hostSize) {
          ar.fail();
          return;
        }
        ar.bytes(hostBytes.get() + at, std::min(hostPage, hostSize - at));
      }
    } else {
      for (uint64_t at = 0; at < hostSize; at += hostPage) {
        uint64_t n = std::min(hostPage, hostSize - at);
        if (isZero(hostBytes.get() + at, n))
          continue;
        fields(ar, at);
        ar.bytes(hostBytes.get() + at, n);
      }
      uint64_t end = ~uint64_t(0);
      fields(ar, end);
    }
  }
  void clearHost();

  struct Free {
    void operator()(std::byte *p) const { std::free(p); }
  };

  SparseStore dramStore, sharedStore;
  uint64_t hostSize;
  std::unique_ptr<std::byte[], Free> hostBytes;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_MEMORY_PHYSICALMEMORY_H
