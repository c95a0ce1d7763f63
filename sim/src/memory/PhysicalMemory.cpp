//===- PhysicalMemory.cpp - The contents of all memories --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "memory/PhysicalMemory.h"
#include "tessera/Support/Mutant.h"
#include <algorithm>

namespace tessera::sim {

Translation PageMapping::translate(uint64_t address, Access access) const {
  Translation result;
  if (poison && !TESSERA_MUTANT("poison-ignored"))
    result.fault = FaultCause::PoisonedPage;
  else if ((access == Access::Read && !read) ||
           (access == Access::Write && !write) ||
           (access == Access::Execute && !execute))
    result.fault = FaultCause::ProtectionFault;
  result.space = space;
  result.address = frame + (address & ((uint64_t(1) << shift) - 1));
  return result;
}

PhysicalMemory::PhysicalMemory(const Architecture &arch, uint64_t hostBytes)
    : dramStore(arch.dram.bytes), sharedStore(arch.shared.bytes),
      hostSize(hostBytes), hostBytes(static_cast<std::byte *>(std::calloc(
                               std::max<uint64_t>(hostBytes, 1), 1))) {
  if (!this->hostBytes)
    hostSize = 0;
}

uint64_t PhysicalMemory::size(PhysicalSpace space) const {
  switch (space) {
  case PhysicalSpace::Dram:
    return dramStore.size();
  case PhysicalSpace::Shared:
    return sharedStore.size();
  case PhysicalSpace::Host:
    return hostSize;
  }
  return 0;
}

bool PhysicalMemory::contains(PhysicalSpace space, uint64_t address,
                              uint64_t length) const {
  uint64_t bytes = size(space);
  return length <= bytes && address <= bytes - length;
}

void PhysicalMemory::read(PhysicalSpace space, uint64_t address, void *data,
                          uint64_t length) const {
  if (space == PhysicalSpace::Host)
    std::memcpy(data, hostBytes.get() + address, length);
  else
    (space == PhysicalSpace::Dram ? dramStore : sharedStore)
        .read(address, data, length);
}

void PhysicalMemory::write(PhysicalSpace space, uint64_t address,
                           const void *data, uint64_t length) {
  if (space == PhysicalSpace::Host)
    std::memcpy(hostBytes.get() + address, data, length);
  else
    (space == PhysicalSpace::Dram ? dramStore : sharedStore)
        .write(address, data, length);
}

FaultCause PhysicalMemory::readEntry(uint64_t table, unsigned level,
                                     uint64_t address,
                                     isa::PageEntry &entry) const {
  uint64_t at = table + 8 * uint64_t(isa::pageTableIndex(address, level));
  if (at < table || !dramStore.contains(at, 8))
    return FaultCause::BusError;
  entry = isa::PageEntry::decode(dramStore.read64(at));
  return FaultCause::None;
}

PhysicalMemory::WalkStep PhysicalMemory::judge(const isa::PageEntry &entry,
                                               unsigned level, uint64_t address,
                                               PageMapping &mapping,
                                               FaultCause &fault) {
  // A leaf is 2 MiB or 64 KiB; the last level has nothing but leaves.
  if (!entry.valid || (entry.leaf && level > 1) ||
      (!entry.leaf && level == 0)) {
    fault = FaultCause::PageFault;
    return WalkStep::Fault;
  }
  if (!entry.leaf)
    return WalkStep::Next;
  if (uint8_t(entry.space) > uint8_t(PhysicalSpace::Host) ||
      entry.device != 0) {
    fault = FaultCause::BusError;
    return WalkStep::Fault;
  }
  mapping.shift = level == 0 ? 16 : 21;
  mapping.page = address >> mapping.shift;
  mapping.frame = entry.address;
  mapping.space = entry.space;
  mapping.read = entry.read, mapping.write = entry.write;
  mapping.execute = entry.execute, mapping.poison = entry.poison;
  return WalkStep::Leaf;
}

FaultCause PhysicalMemory::walk(uint64_t root, uint64_t address,
                                PageMapping &mapping) const {
  if (address >> isa::virtualAddressBits)
    return FaultCause::PageFault;
  uint64_t table = root;
  for (unsigned level = isa::pageTableLevels; level-- > 0;) {
    isa::PageEntry entry;
    FaultCause fault = readEntry(table, level, address, entry);
    if (fault != FaultCause::None)
      return fault;
    switch (judge(entry, level, address, mapping, fault)) {
    case WalkStep::Leaf:
      return FaultCause::None;
    case WalkStep::Fault:
      return fault;
    case WalkStep::Next:
      table = entry.address;
    }
  }
  return FaultCause::PageFault;
}

Translation PhysicalMemory::translate(uint64_t root, uint64_t address,
                                      uint64_t length, Access access) const {
  PageMapping mapping;
  Translation result;
  result.fault = walk(root, address, mapping);
  if (result.fault != FaultCause::None)
    return result;
  result = mapping.translate(address, access);
  if (result.fault == FaultCause::None &&
      !contains(result.space, result.address, length))
    result.fault = FaultCause::BusError;
  return result;
}

FaultCause PhysicalMemory::readVirtual(uint64_t root, uint64_t address,
                                       void *data, uint64_t length,
                                       Access access,
                                       uint64_t &faultAddress) const {
  auto *out = static_cast<std::byte *>(data);
  while (length) {
    uint64_t part =
        std::min(length, isa::smallPageBytes - address % isa::smallPageBytes);
    Translation t = translate(root, address, part, access);
    if (t.fault != FaultCause::None) {
      faultAddress = address;
      return t.fault;
    }
    read(t.space, t.address, out, part);
    out += part, address += part, length -= part;
  }
  return FaultCause::None;
}

FaultCause PhysicalMemory::writeVirtual(uint64_t root, uint64_t address,
                                        const void *data, uint64_t length,
                                        uint64_t &faultAddress) {
  auto *in = static_cast<const std::byte *>(data);
  while (length) {
    uint64_t part =
        std::min(length, isa::smallPageBytes - address % isa::smallPageBytes);
    Translation t = translate(root, address, part, Access::Write);
    if (t.fault != FaultCause::None) {
      faultAddress = address;
      return t.fault;
    }
    write(t.space, t.address, in, part);
    in += part, address += part, length -= part;
  }
  return FaultCause::None;
}

bool PhysicalMemory::isZero(const std::byte *p, uint64_t n) {
  return n == 0 || (p[0] == std::byte(0) && std::memcmp(p, p + 1, n - 1) == 0);
}

void PhysicalMemory::clearHost() {
  for (uint64_t at = 0; at < hostSize; at += hostPage) {
    uint64_t n = std::min(hostPage, hostSize - at);
    if (!isZero(hostBytes.get() + at, n))
      std::memset(hostBytes.get() + at, 0, n);
  }
}

void PhysicalMemory::clear() {
  dramStore.clear();
  sharedStore.clear();
  clearHost();
}

} // namespace tessera::sim
