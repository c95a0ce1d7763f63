//===- PageTable.h - Page table format ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Page tables of a context, in device DRAM, walked by the device.
//
//   level 3: bits 47-39, 512 entries    level 2: bits 38-30, 512 entries
//   level 1: bits 29-21, 512 entries; an entry is a 2 MiB leaf or points to
//   level 0: bits 20-16, 32 entries, each a 64 KiB leaf
//
// Entry (u64): bit 0 valid, 1 read, 2 write, 3 execute, 4-5 space, 6-11 device,
// 12 poison, 13 leaf, 14-15 reserved (0), 16-47 frame (physical address bits
// 16-47 for leaves); a table pointer holds its physical DRAM address >> 8 in
// bits 16-55 (tables are 256-byte aligned). Bits 56-63 reserved (0).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_ISA_PAGETABLE_H
#define TESSERA_ISA_PAGETABLE_H

#include <cstdint>

namespace tessera::isa {

inline constexpr unsigned virtualAddressBits = 48;
inline constexpr uint64_t smallPageBytes = 64ull << 10;
inline constexpr uint64_t largePageBytes = 2ull << 20;
inline constexpr unsigned pageTableLevels = 4;

/// Physical spaces behind a virtual address (part of the encoding).
enum class PhysicalSpace : uint8_t { Dram = 0, Shared = 1, Host = 2 };

/// Index of `address` in a table of `level` (3 … 0).
inline unsigned pageTableIndex(uint64_t address, unsigned level) {
  return level == 0 ? (address >> 16) & 31
                    : (address >> (21 + 9 * (level - 1))) & 511;
}
inline unsigned pageTableEntries(unsigned level) {
  return level == 0 ? 32 : 512;
}

struct PageEntry {
  bool valid = false, read = false, write = false, execute = false;
  bool poison = false, leaf = false;
  PhysicalSpace space = PhysicalSpace::Dram;
  uint8_t device = 0;
  /// Leaf: physical address of the page. Pointer: address of the next table.
  uint64_t address = 0;

  uint64_t encode() const {
    uint64_t e = uint64_t(valid) | uint64_t(read) << 1 | uint64_t(write) << 2 |
                 uint64_t(execute) << 3 | uint64_t(space) << 4 |
                 uint64_t(device) << 6 | uint64_t(poison) << 12 |
                 uint64_t(leaf) << 13;
    return e | (leaf ? (address >> 16) << 16 : (address >> 8) << 16);
  }
  static PageEntry decode(uint64_t e) {
    PageEntry p;
    p.valid = e & 1, p.read = e >> 1 & 1, p.write = e >> 2 & 1;
    p.execute = e >> 3 & 1, p.space = PhysicalSpace(e >> 4 & 3);
    p.device = e >> 6 & 63, p.poison = e >> 12 & 1, p.leaf = e >> 13 & 1;
    p.address =
        p.leaf ? e & 0xffffffff0000ull : (e >> 16 & 0xffffffffffull) << 8;
    return p;
  }
};

} // namespace tessera::isa

#endif // TESSERA_ISA_PAGETABLE_H
