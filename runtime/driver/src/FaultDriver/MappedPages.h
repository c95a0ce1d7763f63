//===- MappedPages.h - Pages that a context maps ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DRIVER_SRC_MAPPEDPAGES_H
#define TESSERA_DRIVER_SRC_MAPPEDPAGES_H

#include "tessera/driver/Driver.h"

namespace tessera::driver {

struct MappedPage {
  uint64_t address = 0;      ///< Virtual.
  uint64_t entryAddress = 0; ///< Of its page table entry, in DRAM.
  uint64_t bytes = 0;
  isa::PageEntry entry;
};

/// The readable or writable pages of the context whose level-3 table is at
/// `root`, in order of their addresses; at most `limit` of them.
std::vector<MappedPage> mappedPages(Driver &driver, uint64_t root,
                                    size_t limit);

} // namespace tessera::driver

#endif // TESSERA_DRIVER_SRC_MAPPEDPAGES_H
