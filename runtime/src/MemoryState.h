//===- MemoryState.h - States behind AddressSpace and Buffer --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_SRC_MEMORYSTATE_H
#define TESSERA_RUNTIME_SRC_MEMORYSTATE_H

#include "PageTables.h"
#include "tessera/runtime/Buffer.h"
#include <atomic>
#include <map>

namespace tessera::runtime {

struct PoolBlock;

struct AddressSpaceState {
  AddressSpaceState(std::shared_ptr<Hardware> hardware, std::string label);
  ~AddressSpaceState();

  std::shared_ptr<Hardware> hardware;
  std::string label;
  std::unique_ptr<PageTables> tables;
  /// Next virtual address to hand out. It only grows: 2^47 bytes outlast any
  /// process, and a stale address then never means something else.
  uint64_t cursor;
  static constexpr uint64_t firstAddress = uint64_t(1) << 32;
  std::map<uint64_t, BufferState *> buffers; ///< Live ones, by address.

  Result<uint64_t> reserve(uint64_t bytes);

  /// Pages of 64 KiB that are mapped by hand: where in which space, by address.
  std::map<uint64_t, std::pair<isa::PhysicalSpace, uint64_t>> mappedPages;
  /// The pages from `address` on are mapped no more; their memory may go.
  void releaseMapped(uint64_t address, uint64_t bytes);
};

struct BufferState {
  ~BufferState();

  std::shared_ptr<AddressSpaceState> space;
  std::string label;
  isa::PhysicalSpace physicalSpace = isa::PhysicalSpace::Dram;
  uint64_t address = 0; ///< Virtual.
  uint64_t physical = 0;
  uint64_t size = 0;        ///< As asked for.
  uint64_t mappedBytes = 0; ///< Whole pages; 0: nothing of its own is mapped.
  Access access;
  std::string gone; ///< Why it can no longer be used, once `usable` is false.
  /// Looked at without the lock where command buffers are recorded.
  std::atomic<bool> usable = true;
  std::shared_ptr<PoolBlock> block; ///< Of a pool.

  /// Unmaps it and gives its memory back.
  Status takeAway();
  /// From now on its handles can only be dropped; `how`: "was …".
  void markGone(std::string how);
  /// FailedPrecondition once it was deallocated or unmapped.
  Status checkUsable() const;
  Status write(uint64_t offset, std::span<const std::byte> data);
  Status read(uint64_t offset, std::span<std::byte> data);
  void noteHostAccess(std::string_view what, uint64_t offset, uint64_t bytes,
                      bool writes) const;
  /// InvalidArgument unless [offset, offset + bytes) lies within the buffer.
  Status checkRange(uint64_t offset, uint64_t bytes) const;
};

/// A buffer of its own state, for the runtime's internal ones.
Result<std::shared_ptr<BufferState>>
allocateBuffer(const std::shared_ptr<AddressSpaceState> &space, uint64_t bytes,
               const BufferOptions &options);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SRC_MEMORYSTATE_H
