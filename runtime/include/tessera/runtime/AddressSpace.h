//===- AddressSpace.h - A context's virtual memory --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One context: page tables in device memory, built through the driver and
// walked by the device (tessera/ISA/PageTable.h). Ranges are multiples of
// 64 KiB; 2 MiB pages are used where addresses and sizes allow. Virtual
// addresses are never handed out twice, and an unmapped page lies between any
// two ranges, so a stale or overrunning access faults instead of hitting
// somebody else's data.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_ADDRESSSPACE_H
#define TESSERA_RUNTIME_ADDRESSSPACE_H

#include "tessera/runtime/Buffer.h"
#include "tessera/runtime/Device.h"

namespace tessera::runtime {

/// What to do with memory that operations in flight may touch.
enum class WhenInUse : uint8_t {
  Refuse, ///< FailedPrecondition that names the operation; nothing changes.
  Defer,  ///< No new operation may name it; it goes when the last is done.
  Force,  ///< At once: what still touches it faults, and only that queue.
};

struct AddressSpaceStatistics {
  uint64_t buffers = 0;
  uint64_t smallPages = 0, largePages = 0; ///< Mapped: of 64 KiB, of 2 MiB.
  uint64_t tableBytes = 0;                 ///< Page tables in DRAM.
  uint64_t reservedBytes = 0; ///< Virtual addresses handed out, with gaps.
};

class AddressSpace {
public:
  AddressSpace() = default;
  static Result<AddressSpace> create(const Device &device,
                                     std::string label = "address space");

  /// Physical memory with a mapping of its own. OutOfMemory names the space,
  /// the bytes asked for and the bytes free.
  Result<Buffer> allocate(uint64_t bytes, const BufferOptions &options = {});

  /// The parts of allocate(), for layouts of one's own. `bytes` and addresses
  /// are multiples of 64 KiB.
  Result<uint64_t> reserve(uint64_t bytes);
  /// What is mapped so, by however many spaces, nobody else gets until it is
  /// unmapped; FailedPrecondition for physical memory that somebody has.
  Status map(uint64_t address, isa::PhysicalSpace space, uint64_t physical,
             uint64_t bytes, Access access);
  /// FailedPrecondition if a live buffer lies in the range or a page of it is
  /// not mapped.
  Status unmap(uint64_t address, uint64_t bytes);
  /// Changes what the device may do with mapped pages, from its next access on.
  /// FailedPrecondition where a page is not mapped or reaches beyond the range.
  Status protect(uint64_t address, uint64_t bytes, Access access);
  /// Takes a buffer's mapping and memory away while handles of it live; they
  /// can then only be dropped. FailedPrecondition for one that is gone already.
  Status unmap(const Buffer &buffer, WhenInUse whenInUse = WhenInUse::Refuse);

  /// Now.
  AddressSpaceStatistics statistics() const;

  /// Physical address of the level-3 page table.
  uint64_t root() const;
  const std::string &label() const;
  /// Of its device.
  const Architecture &architecture() const;
  explicit operator bool() const { return state != nullptr; }

private:
  friend class Queue;
  friend class CommandBuffer;
  friend class MemoryPool;
  friend class Executable;
  std::shared_ptr<AddressSpaceState> state;
  std::shared_ptr<DeviceState> device;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_ADDRESSSPACE_H
