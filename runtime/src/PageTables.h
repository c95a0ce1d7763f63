//===- PageTables.h - A context's page tables -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds the tables of tessera/ISA/PageTable.h in device DRAM. The host keeps a
// mirror, so it never has to read them back.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_SRC_PAGETABLES_H
#define TESSERA_RUNTIME_SRC_PAGETABLES_H

#include "Hardware.h"
#include "tessera/runtime/Buffer.h"

namespace tessera::runtime {

class PageTables {
public:
  PageTables(Hardware &hardware, std::string label);
  ~PageTables();
  PageTables(const PageTables &) = delete;
  PageTables &operator=(const PageTables &) = delete;

  /// Makes the level-3 table; once, before anything else.
  Status initialize();
  uint64_t root() const { return top ? top->physical : 0; }

  /// All multiples of 64 KiB; FailedPrecondition if a page is mapped already.
  Status checkMap(uint64_t address, isa::PhysicalSpace space, uint64_t physical,
                  uint64_t bytes) const;
  /// Checks, and after an error nothing has changed.
  Status map(uint64_t address, isa::PhysicalSpace space, uint64_t physical,
             uint64_t bytes, Access access);
  /// FailedPrecondition if a page of the range is not mapped, or is part of a
  /// 2 MiB page that reaches beyond it; then nothing has changed.
  Status unmap(uint64_t address, uint64_t bytes);
  /// Changes the rights of mapped pages; checks as unmap() does.
  Status protect(uint64_t address, uint64_t bytes, Access access);

  /// Writes again what device memory does not have as it is here.
  Status rewrite();

  uint64_t smallPages() const { return pages[0]; } ///< Mapped now.
  uint64_t largePages() const { return pages[1]; }
  uint64_t tableMemory() const { return tableBytesHeld; }

private:
  struct Table {
    uint64_t physical = 0;
    unsigned level = 0;
    std::vector<uint64_t> entries;
    std::vector<std::unique_ptr<Table>> children;
  };
  Result<std::unique_ptr<Table>> makeTable(unsigned level);
  void destroy(Table &table);
  /// The page at `address`: its bytes and entry, or the bytes to the next
  /// possible entry where nothing is mapped.
  struct Page {
    bool mapped = false;
    uint64_t begin = 0, bytes = 0;
    uint64_t entry = 0;
  };
  Page find(uint64_t address) const;
  Status setEntry(Table &table, unsigned index, uint64_t entry);
  Status rewrite(const Table &table);
  Status checkWhole(uint64_t address, uint64_t bytes) const;
  Status setLeaf(uint64_t address, unsigned level, uint64_t entry);

  Hardware &hardware;
  std::string label;
  uint64_t serial = 0; ///< Among the device's address spaces.
  std::unique_ptr<Table> top;
  uint64_t pages[2] = {0, 0}; ///< Of 64 KiB, of 2 MiB.
  uint64_t tableBytesHeld = 0;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SRC_PAGETABLES_H
