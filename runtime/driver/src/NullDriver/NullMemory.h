//===- NullMemory.h - Memory of the null device -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DRIVER_SRC_NULLMEMORY_H
#define TESSERA_DRIVER_SRC_NULLMEMORY_H

#include "tessera/ISA/Mmio.h"
#include "tessera/driver/Driver.h"
#include <array>
#include <map>
#include <memory>

namespace tessera::driver {

/// A fault of a packet, as its queue will report it.
struct NullFault {
  isa::mmio::FaultCause cause = isa::mmio::FaultCause::None;
  uint64_t address = 0;
  explicit operator bool() const {
    return cause != isa::mmio::FaultCause::None;
  }
};

/// Physical spaces and their translation. Device memory is made of pages that
/// come into being when first written, and read as zeros before.
class NullMemory {
public:
  NullMemory(const Architecture &architecture, uint64_t hostBytes);

  std::span<std::byte> host() { return {hostBytes.get(), hostSize}; }
  uint64_t size(isa::PhysicalSpace space) const;
  Status read(isa::PhysicalSpace space, uint64_t address,
              std::span<std::byte> data) const;
  Status write(isa::PhysicalSpace space, uint64_t address,
               std::span<const std::byte> data);

  /// Through the page table at `root`; stops at the first fault.
  NullFault readVirtual(uint64_t root, uint64_t address,
                        std::span<std::byte> data) const;
  NullFault writeVirtual(uint64_t root, uint64_t address,
                         std::span<const std::byte> data);

private:
  struct Piece {
    isa::PhysicalSpace space = isa::PhysicalSpace::Dram;
    uint64_t address = 0, bytes = 0; ///< To the end of the page.
  };
  NullFault translate(uint64_t root, uint64_t address, bool write,
                      Piece &piece) const;
  Status checkRange(isa::PhysicalSpace space, uint64_t address,
                    uint64_t bytes) const;

  static constexpr uint64_t pageBytes = isa::smallPageBytes;
  using Page = std::array<std::byte, pageBytes>;
  std::map<uint64_t, std::unique_ptr<Page>> pages[2]; ///< DRAM, shared.
  uint64_t sizes[2];
  std::unique_ptr<std::byte[], void (*)(void *)> hostBytes;
  uint64_t hostSize;
};

} // namespace tessera::driver

#endif // TESSERA_DRIVER_SRC_NULLMEMORY_H
