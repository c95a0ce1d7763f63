//===- PageTables.cpp - A context's page tables -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PageTables.h"
#include <algorithm>
#include <fmt/format.h>

using namespace tessera::isa;

namespace tessera::runtime {

PageTables::PageTables(Hardware &hardware, std::string label)
    : hardware(hardware), label(std::move(label)),
      serial(++hardware.spacesMade) {
  hardware.tables.push_back(this);
}

PageTables::~PageTables() {
  std::erase(hardware.tables, this);
  if (top)
    destroy(*top);
}

Status PageTables::initialize() {
  TESSERA_ASSIGN_OR_RETURN(top, makeTable(pageTableLevels - 1));
  return Status::success();
}

static uint64_t tableBytes(unsigned level) {
  return pageTableEntries(level) * sizeof(uint64_t);
}

Result<std::unique_ptr<PageTables::Table>>
PageTables::makeTable(unsigned level) {
  uint64_t bytes = tableBytes(level);
  TESSERA_ASSIGN_OR_RETURN(
      uint64_t physical, hardware.allocatePhysical(PhysicalSpace::Dram, bytes,
                                                   256, label + " page table",
                                                   Hardware::MemoryOf::Tables));
  auto table = std::make_unique<Table>();
  table->physical = physical;
  table->level = level;
  table->entries.assign(pageTableEntries(level), 0);
  table->children.resize(pageTableEntries(level));
  Status written = hardware.driver->writeMemory(
      PhysicalSpace::Dram, physical, std::as_bytes(std::span(table->entries)));
  if (!written.ok()) {
    hardware.releasePhysical(PhysicalSpace::Dram, physical, bytes,
                             Hardware::MemoryOf::Tables);
    return written;
  }
  tableBytesHeld += bytes;
  return table;
}

void PageTables::destroy(Table &table) {
  for (auto &child : table.children)
    if (child)
      destroy(*child);
  hardware.releasePhysical(PhysicalSpace::Dram, table.physical,
                           tableBytes(table.level), Hardware::MemoryOf::Tables);
}

Status PageTables::rewrite() { return top ? rewrite(*top) : Status::success(); }

Status PageTables::rewrite(const Table &table) {
  std::vector<uint64_t> held(table.entries.size());
  TESSERA_RETURN_IF_ERROR(
      hardware.driver->readMemory(PhysicalSpace::Dram, table.physical,
                                  std::as_writable_bytes(std::span(held))));
  // What is as it should be keeps the translations that the device has.
  if (held != table.entries)
    TESSERA_RETURN_IF_ERROR(
        hardware.driver->writeMemory(PhysicalSpace::Dram, table.physical,
                                     std::as_bytes(std::span(table.entries))));
  for (const auto &child : table.children)
    if (child)
      TESSERA_RETURN_IF_ERROR(rewrite(*child));
  return Status::success();
}

PageTables::Page PageTables::find(uint64_t address) const {
  const Table *table = top.get();
  while (true) {
    unsigned index = pageTableIndex(address, table->level);
    uint64_t bytes = table->level == 0
                         ? smallPageBytes
                         : largePageBytes << (9 * (table->level - 1));
    if (const Table *child = table->children[index].get()) {
      table = child;
      continue;
    }
    bool mapped = table->entries[index] & 1;
    return {mapped, address / bytes * bytes, bytes, table->entries[index]};
  }
}

Status PageTables::setEntry(Table &table, unsigned index, uint64_t entry) {
  // What the device does not take has not changed here either.
  TESSERA_RETURN_IF_ERROR(hardware.driver->writeMemory(
      PhysicalSpace::Dram, table.physical + 8 * index,
      std::as_bytes(std::span(&entry, 1))));
  table.entries[index] = entry;
  return Status::success();
}

Status PageTables::setLeaf(uint64_t address, unsigned level, uint64_t entry) {
  Table *table = top.get();
  while (table->level > level) {
    unsigned index = pageTableIndex(address, table->level);
    if (!table->children[index]) {
      TESSERA_ASSIGN_OR_RETURN(std::unique_ptr<Table> child,
                               makeTable(table->level - 1));
      PageEntry pointer;
      pointer.valid = true;
      pointer.address = child->physical;
      if (Status set = setEntry(*table, index, pointer.encode()); !set.ok()) {
        tableBytesHeld -= tableBytes(child->level);
        destroy(*child);
        return set;
      }
      table->children[index] = std::move(child);
    }
    table = table->children[index].get();
  }
  unsigned index = pageTableIndex(address, level);
  uint64_t before = table->entries[index];
  TESSERA_RETURN_IF_ERROR(setEntry(*table, index, entry));
  for (uint64_t each : {before, entry})
    if (each)
      hardware.toggleObject(Hardware::Object::Page, serial, address, each);
  return Status::success();
}

static Status checkRange(const std::string &label, uint64_t address,
                         uint64_t bytes) {
  if (address % smallPageBytes || bytes % smallPageBytes || bytes == 0)
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("{}: range {:#x}, {} bytes: address and size must "
                    "be multiples of {}",
                    label, address, bytes, smallPageBytes));
  constexpr uint64_t end = uint64_t(1) << virtualAddressBits;
  if (address >= end || bytes > end - address)
    return Status(StatusCode::InvalidArgument,
                  fmt::format("{}: range {:#x}, {} bytes reaches beyond the "
                              "48-bit address space",
                              label, address, bytes));
  return Status::success();
}

Status PageTables::checkMap(uint64_t address, PhysicalSpace space,
                            uint64_t physical, uint64_t bytes) const {
  TESSERA_RETURN_IF_ERROR(checkRange(label, address, bytes));
  if (physical % smallPageBytes)
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("{}: physical address {:#x} is not a multiple of {}", label,
                    physical, smallPageBytes));
  uint64_t size = hardware.driver->memorySize(space);
  if (physical > size || bytes > size - physical)
    return Status(StatusCode::InvalidArgument,
                  fmt::format("{}: {} bytes at {:#x} reach beyond the {} bytes "
                              "of {}",
                              label, bytes, physical, size, spaceName(space)));
  for (uint64_t at = address; at < address + bytes;) {
    Page page = find(at);
    if (page.mapped)
      return Status(StatusCode::FailedPrecondition,
                    fmt::format("{}: {:#x} is mapped already", label, at));
    at = page.begin + page.bytes;
  }
  return Status::success();
}

Status PageTables::map(uint64_t address, PhysicalSpace space, uint64_t physical,
                       uint64_t bytes, Access access) {
  TESSERA_RETURN_IF_ERROR(checkMap(address, space, physical, bytes));
  for (uint64_t done = 0; done < bytes;) {
    uint64_t at = address + done;
    bool large = at % largePageBytes == 0 &&
                 (physical + done) % largePageBytes == 0 &&
                 bytes - done >= largePageBytes &&
                 // A table of small pages may be left from earlier mappings.
                 find(at).bytes >= largePageBytes;
    PageEntry entry;
    entry.valid = entry.leaf = true;
    entry.read = access.read, entry.write = access.write;
    entry.execute = access.execute;
    entry.space = space;
    entry.address = physical + done;
    if (Status set = setLeaf(at, large ? 1 : 0, entry.encode()); !set.ok()) {
      if (done)
        (void)unmap(address, done);
      return set;
    }
    ++pages[large];
    done += large ? largePageBytes : smallPageBytes;
  }
  return Status::success();
}

Status PageTables::checkWhole(uint64_t address, uint64_t bytes) const {
  TESSERA_RETURN_IF_ERROR(checkRange(label, address, bytes));
  for (uint64_t at = address; at < address + bytes;) {
    Page page = find(at);
    if (!page.mapped)
      return Status(StatusCode::FailedPrecondition,
                    fmt::format("{}: {:#x} is not mapped", label, at));
    if (page.begin < address || page.begin + page.bytes > address + bytes)
      return Status(
          StatusCode::FailedPrecondition,
          fmt::format("{}: the page at {:#x}, {} bytes, reaches beyond the "
                      "range {:#x}, {} bytes",
                      label, page.begin, page.bytes, address, bytes));
    at = page.begin + page.bytes;
  }
  return Status::success();
}

Status PageTables::unmap(uint64_t address, uint64_t bytes) {
  TESSERA_RETURN_IF_ERROR(checkWhole(address, bytes));
  for (uint64_t at = address; at < address + bytes;) {
    Page page = find(at);
    unsigned level = page.bytes == largePageBytes ? 1 : 0;
    TESSERA_RETURN_IF_ERROR(setLeaf(at, level, 0));
    --pages[level];
    at += page.bytes;
  }
  return Status::success();
}

Status PageTables::protect(uint64_t address, uint64_t bytes, Access access) {
  TESSERA_RETURN_IF_ERROR(checkWhole(address, bytes));
  for (uint64_t at = address; at < address + bytes;) {
    Page page = find(at);
    PageEntry entry = PageEntry::decode(page.entry);
    entry.read = access.read, entry.write = access.write;
    entry.execute = access.execute;
    TESSERA_RETURN_IF_ERROR(
        setLeaf(at, page.bytes == largePageBytes ? 1 : 0, entry.encode()));
    at += page.bytes;
  }
  return Status::success();
}

} // namespace tessera::runtime
