//===- MappedPages.cpp - Pages that a context maps ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MappedPages.h"

using namespace tessera::isa;

namespace tessera::driver {

namespace {

struct Walk {
  Driver &driver;
  size_t limit;
  std::vector<MappedPage> pages;

  void table(uint64_t address, unsigned level, uint64_t base) {
    std::vector<uint64_t> entries(pageTableEntries(level));
    if (!driver
             .readMemory(PhysicalSpace::Dram, address,
                         std::as_writable_bytes(std::span(entries)))
             .ok())
      return;
    unsigned shift = level == 0 ? 16 : 21 + 9 * (level - 1);
    for (size_t i = 0; i < entries.size() && pages.size() < limit; ++i) {
      PageEntry entry = PageEntry::decode(entries[i]);
      uint64_t at = base | uint64_t(i) << shift;
      if (!entry.valid)
        continue;
      if (!entry.leaf) {
        if (level > 0)
          table(entry.address, level - 1, at);
        continue;
      }
      if (level <= 1 && (entry.read || entry.write))
        pages.push_back({at, address + 8 * i,
                         level == 0 ? smallPageBytes : largePageBytes, entry});
    }
  }
};

} // namespace

std::vector<MappedPage> mappedPages(Driver &driver, uint64_t root,
                                    size_t limit) {
  Walk walk{driver, limit, {}};
  walk.table(root, pageTableLevels - 1, 0);
  return std::move(walk.pages);
}

} // namespace tessera::driver
