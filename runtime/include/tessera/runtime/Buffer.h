//===- Buffer.h - Mapped device or host memory ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A buffer is a mapped range of an address space. Its read() and write() go
// through the driver's memory window: they cost no device time and are meant
// for set-up, tests and debugging, while no work in flight touches the bytes.
// Transfers that are part of the timed work are Queue::update() and
// Queue::readBack(), which stage in host memory and submit copy packets.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_BUFFER_H
#define TESSERA_RUNTIME_BUFFER_H

#include "tessera/ISA/PageTable.h"
#include "tessera/Support/Status.h"
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace tessera::runtime {

struct AddressSpaceState;
struct BufferState;

/// What the device may do with a page.
struct Access {
  bool read = true, write = true, execute = false;
};

struct BufferOptions {
  isa::PhysicalSpace space = isa::PhysicalSpace::Dram;
  Access access;
  std::string label = "buffer";
};

class Buffer {
public:
  Buffer() = default;

  /// Device virtual address, a multiple of 64 KiB.
  uint64_t address() const;
  uint64_t size() const; ///< Bytes asked for.
  isa::PhysicalSpace space() const;
  const std::string &label() const;

  /// Through the memory window (see above). InvalidArgument beyond the size.
  Status write(uint64_t offset, std::span<const std::byte> data);
  Status read(uint64_t offset, std::span<std::byte> data) const;

  explicit operator bool() const { return state != nullptr; }

private:
  friend class AddressSpace;
  friend class Queue;
  friend class CommandBuffer;
  friend class MemoryPool;
  std::shared_ptr<BufferState> state;
};

/// Bytes of a buffer that an operation touches.
struct BufferRange {
  Buffer buffer;
  uint64_t offset = 0;
  uint64_t size = wholeSize; ///< wholeSize: to the end of the buffer.
  static constexpr uint64_t wholeSize = ~uint64_t(0);

  BufferRange() = default;
  BufferRange(Buffer buffer, uint64_t offset = 0, uint64_t size = wholeSize)
      : buffer(std::move(buffer)), offset(offset), size(size) {}
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_BUFFER_H
