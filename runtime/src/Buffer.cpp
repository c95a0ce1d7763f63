//===- Buffer.cpp - Mapped device or host memory ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/runtime/Buffer.h"
#include "MemoryState.h"
#include <fmt/format.h>

using namespace tessera::isa;

namespace tessera::runtime {

BufferState::~BufferState() {
  // The range was mapped by us as a whole; that it cannot be unmapped would be
  // a broken driver, and then its memory must not be used again.
  (void)takeAway();
}

Status BufferState::takeAway() {
  if (!mappedBytes)
    return Status::success();
  Hardware &hardware = *space->hardware;
  Hardware::Lock lock = hardware.lock();
  uint64_t bytes = std::exchange(mappedBytes, 0);
  space->buffers.erase(address);
  if (hardware.races)
    hardware.races->forget(physicalSpace, physical, physical + bytes);
  auto giveBack = [tables = space->tables.get(), address = address, bytes,
                   where = physicalSpace, at = physical, &hardware] {
    TESSERA_RETURN_IF_ERROR(tables->unmap(address, bytes));
    hardware.releasePhysical(where, at, bytes);
    return Status::success();
  };
  // A lost device's tables can be changed once it is back; the action does not
  // keep its space, which keeps the hardware.
  Status given = giveBack();
  if (given.code() == StatusCode::DeviceLost)
    hardware.afterReset.push_back([weak = std::weak_ptr(space), giveBack, bytes,
                                   where = physicalSpace, at = physical,
                                   &hardware] {
      if (std::shared_ptr<AddressSpaceState> alive = weak.lock())
        (void)giveBack();
      else
        hardware.releasePhysical(where, at, bytes);
    });
  return given;
}

void BufferState::noteHostAccess(std::string_view what, uint64_t offset,
                                 uint64_t bytes, bool writes) const {
  if (RaceDetector *races = space->hardware->races.get())
    races->hostAccess(fmt::format("{} of buffer '{}'", what, label),
                      {physicalSpace, physical + offset,
                       physical + offset + bytes, writes, label, physical});
}

void BufferState::markGone(std::string how) {
  gone = std::move(how);
  usable.store(false, std::memory_order_release);
  ++space->hardware->buffersGone;
}

Status BufferState::checkUsable() const {
  if (usable.load(std::memory_order_acquire))
    return Status::success();
  return Status(StatusCode::FailedPrecondition,
                fmt::format("buffer '{}' {}", label, gone));
}

Status BufferState::checkRange(uint64_t offset, uint64_t bytes) const {
  if (offset > size || bytes > size - offset)
    return Status(
        StatusCode::InvalidArgument,
        bytes <= ~offset
            ? fmt::format("buffer '{}': bytes {} to {} asked for, its size is "
                          "{}",
                          label, offset, offset + bytes, size)
            : fmt::format("buffer '{}': {} bytes from {} on asked for, its "
                          "size is {}",
                          label, bytes, offset, size));
  return Status::success();
}

Status BufferState::write(uint64_t offset, std::span<const std::byte> data) {
  TESSERA_RETURN_IF_ERROR(checkRange(offset, data.size()));
  Hardware::Lock lock = space->hardware->lock();
  TESSERA_RETURN_IF_ERROR(checkUsable());
  noteHostAccess("write", offset, data.size(), true);
  return space->hardware->driver->writeMemory(physicalSpace, physical + offset,
                                              data);
}

Status BufferState::read(uint64_t offset, std::span<std::byte> data) {
  TESSERA_RETURN_IF_ERROR(checkRange(offset, data.size()));
  Hardware::Lock lock = space->hardware->lock();
  TESSERA_RETURN_IF_ERROR(checkUsable());
  noteHostAccess("read", offset, data.size(), false);
  return space->hardware->driver->readMemory(physicalSpace, physical + offset,
                                             data);
}

Result<std::shared_ptr<BufferState>>
allocateBuffer(const std::shared_ptr<AddressSpaceState> &space, uint64_t bytes,
               const BufferOptions &options) {
  if (bytes == 0 || bytes > uint64_t(1) << (virtualAddressBits - 1))
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("buffer '{}': {} bytes asked for; 1 to 2^47 can be "
                    "had",
                    options.label, bytes));
  Hardware &hardware = *space->hardware;
  Hardware::Lock lock = hardware.lock();
  uint64_t pages =
      (bytes + smallPageBytes - 1) / smallPageBytes * smallPageBytes;
  uint64_t alignment =
      pages >= largePageBytes ? largePageBytes : smallPageBytes;
  TESSERA_ASSIGN_OR_RETURN(uint64_t physical,
                           hardware.allocatePhysical(options.space, pages,
                                                     alignment, options.label));
  auto release = [&](Status status) {
    hardware.releasePhysical(options.space, physical, pages);
    return status;
  };
  Result<uint64_t> address = space->reserve(pages);
  if (!address)
    return release(address.status());
  if (Status mapped = space->tables->map(*address, options.space, physical,
                                         pages, options.access);
      !mapped.ok())
    return release(mapped);

  auto buffer = std::make_shared<BufferState>();
  buffer->space = space;
  buffer->label = options.label;
  buffer->physicalSpace = options.space;
  buffer->address = *address;
  buffer->physical = physical;
  buffer->size = bytes;
  buffer->mappedBytes = pages;
  buffer->access = options.access;
  space->buffers[*address] = buffer.get();
  return buffer;
}

uint64_t Buffer::address() const { return state ? state->address : 0; }
uint64_t Buffer::size() const { return state ? state->size : 0; }
PhysicalSpace Buffer::space() const {
  return state ? state->physicalSpace : PhysicalSpace::Dram;
}
const std::string &Buffer::label() const {
  static const std::string none;
  return state ? state->label : none;
}

static Status emptyHandle() {
  return Status(StatusCode::FailedPrecondition, "buffer: empty handle");
}

Status Buffer::write(uint64_t offset, std::span<const std::byte> data) {
  return state ? state->write(offset, data) : emptyHandle();
}
Status Buffer::read(uint64_t offset, std::span<std::byte> data) const {
  return state ? state->read(offset, data) : emptyHandle();
}

} // namespace tessera::runtime
