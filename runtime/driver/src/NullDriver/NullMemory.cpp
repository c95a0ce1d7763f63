//===- NullMemory.cpp - Memory of the null device -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NullMemory.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>

using namespace tessera::isa;

namespace tessera::driver {

// calloc leaves untouched pages to the operating system; a value-initialised
// array would write them all.
NullMemory::NullMemory(const Architecture &architecture, uint64_t bytes)
    : sizes{architecture.dram.bytes, architecture.shared.bytes},
      hostBytes(static_cast<std::byte *>(std::calloc(bytes, 1)), std::free),
      hostSize(hostBytes ? bytes : 0) {}

uint64_t NullMemory::size(PhysicalSpace space) const {
  return space == PhysicalSpace::Host ? hostSize
                                      : sizes[static_cast<unsigned>(space)];
}

Status NullMemory::checkRange(PhysicalSpace space, uint64_t address,
                              uint64_t bytes) const {
  if (static_cast<unsigned>(space) > 2 || address > size(space) ||
      bytes > size(space) - address)
    return Status(
        StatusCode::BusError,
        fmt::format("null device: {} bytes at {:#x} of physical space {}, "
                    "which has {}",
                    bytes, address, static_cast<unsigned>(space),
                    static_cast<unsigned>(space) > 2 ? 0 : size(space)));
  return Status::success();
}

Status NullMemory::read(PhysicalSpace space, uint64_t address,
                        std::span<std::byte> data) const {
  TESSERA_RETURN_IF_ERROR(checkRange(space, address, data.size()));
  if (space == PhysicalSpace::Host) {
    std::copy_n(hostBytes.get() + address, data.size(), data.data());
    return Status::success();
  }
  const auto &memory = pages[static_cast<unsigned>(space)];
  for (uint64_t done = 0; done < data.size();) {
    uint64_t at = address + done, offset = at % pageBytes;
    uint64_t count = std::min(data.size() - done, pageBytes - offset);
    if (auto it = memory.find(at / pageBytes); it != memory.end())
      std::copy_n(it->second->data() + offset, count, data.data() + done);
    else
      std::fill_n(data.data() + done, count, std::byte(0));
    done += count;
  }
  return Status::success();
}

Status NullMemory::write(PhysicalSpace space, uint64_t address,
                         std::span<const std::byte> data) {
  TESSERA_RETURN_IF_ERROR(checkRange(space, address, data.size()));
  if (space == PhysicalSpace::Host) {
    std::copy_n(data.data(), data.size(), hostBytes.get() + address);
    return Status::success();
  }
  auto &memory = pages[static_cast<unsigned>(space)];
  for (uint64_t done = 0; done < data.size();) {
    uint64_t at = address + done, offset = at % pageBytes;
    uint64_t count = std::min(data.size() - done, pageBytes - offset);
    std::unique_ptr<Page> &page = memory[at / pageBytes];
    if (!page)
      page = std::make_unique<Page>();
    std::copy_n(data.data() + done, count, page->data() + offset);
    done += count;
  }
  return Status::success();
}

NullFault NullMemory::translate(uint64_t root, uint64_t address, bool isWrite,
                                Piece &piece) const {
  using mmio::FaultCause;
  if (address >> virtualAddressBits)
    return {FaultCause::PageFault, address};
  uint64_t table = root;
  for (unsigned level = pageTableLevels; level-- > 0;) {
    uint64_t image = 0;
    uint64_t slot = table + 8 * pageTableIndex(address, level);
    if (!read(PhysicalSpace::Dram, slot,
              std::as_writable_bytes(std::span(&image, 1)))
             .ok())
      return {FaultCause::BusError, slot};
    PageEntry entry = PageEntry::decode(image);
    if (!entry.valid)
      return {FaultCause::PageFault, address};
    if (!entry.leaf) {
      table = entry.address;
      continue;
    }
    if (level > 1)
      break;
    if (entry.poison)
      return {FaultCause::PoisonedPage, address};
    if (isWrite ? !entry.write : !entry.read)
      return {FaultCause::ProtectionFault, address};
    uint64_t bytes = level == 0 ? smallPageBytes : largePageBytes;
    piece = {entry.space, entry.address + address % bytes,
             bytes - address % bytes};
    return {};
  }
  return {FaultCause::PageFault, address};
}

NullFault NullMemory::readVirtual(uint64_t root, uint64_t address,
                                  std::span<std::byte> data) const {
  for (uint64_t done = 0; done < data.size();) {
    Piece piece;
    if (NullFault fault = translate(root, address + done, false, piece))
      return fault;
    uint64_t count = std::min(data.size() - done, piece.bytes);
    if (!read(piece.space, piece.address, data.subspan(done, count)).ok())
      return {mmio::FaultCause::BusError, address + done};
    done += count;
  }
  return {};
}

NullFault NullMemory::writeVirtual(uint64_t root, uint64_t address,
                                   std::span<const std::byte> data) {
  for (uint64_t done = 0; done < data.size();) {
    Piece piece;
    if (NullFault fault = translate(root, address + done, true, piece))
      return fault;
    uint64_t count = std::min(data.size() - done, piece.bytes);
    if (!write(piece.space, piece.address, data.subspan(done, count)).ok())
      return {mmio::FaultCause::BusError, address + done};
    done += count;
  }
  return {};
}

} // namespace tessera::driver
