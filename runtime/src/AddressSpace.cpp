//===- AddressSpace.cpp - A context's virtual memory ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/runtime/AddressSpace.h"
#include "MemoryState.h"
#include <fmt/format.h>

using namespace tessera::isa;

namespace tessera::runtime {

static Status emptyHandle() {
  return Status(StatusCode::FailedPrecondition, "address space: empty handle");
}

AddressSpaceState::AddressSpaceState(std::shared_ptr<Hardware> hardware,
                                     std::string label)
    : hardware(std::move(hardware)), label(std::move(label)),
      tables(std::make_unique<PageTables>(*this->hardware, this->label)),
      cursor(firstAddress) {}

AddressSpaceState::~AddressSpaceState() {
  Hardware::Lock lock = hardware->lock();
  releaseMapped(0, ~uint64_t(0));
  tables.reset();
}

void AddressSpaceState::releaseMapped(uint64_t address, uint64_t bytes) {
  auto page = mappedPages.lower_bound(address);
  while (page != mappedPages.end() && page->first - address < bytes) {
    auto [space, physical] = page->second;
    page = mappedPages.erase(page);
    hardware->releasePage(space, physical);
  }
}

Result<uint64_t> AddressSpaceState::reserve(uint64_t bytes) {
  if (bytes == 0 || bytes % smallPageBytes)
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("{}: reserving {} bytes: must be a multiple of {}", label,
                    bytes, smallPageBytes));
  uint64_t alignment =
      bytes >= largePageBytes ? largePageBytes : smallPageBytes;
  uint64_t address = (cursor + alignment - 1) & ~(alignment - 1);
  constexpr uint64_t end = uint64_t(1) << (virtualAddressBits - 1);
  // Beyond what a program has mapped there, and the pages beside it.
  auto page = mappedPages.lower_bound(address - smallPageBytes);
  while (page != mappedPages.end() && bytes < end &&
         page->first < address + bytes + smallPageBytes) {
    address =
        (page->first + 2 * smallPageBytes + alignment - 1) & ~(alignment - 1);
    page = mappedPages.upper_bound(page->first);
  }
  if (address >= end || bytes > end - address)
    return Status(
        StatusCode::OutOfMemory,
        fmt::format("{}: no {} bytes of virtual addresses left", label, bytes));
  cursor = address + bytes + smallPageBytes; // One page stays unmapped.
  return address;
}

Result<AddressSpace> AddressSpace::create(const Device &device,
                                          std::string label) {
  if (!device)
    return Status(StatusCode::FailedPrecondition,
                  label + ": the device is an empty handle");
  AddressSpace space;
  space.device = device.state;
  auto &hardware = device.state->hardware;
  Hardware::Lock lock = hardware->lock();
  space.state = std::make_shared<AddressSpaceState>(hardware, std::move(label));
  TESSERA_RETURN_IF_ERROR(space.state->tables->initialize());
  return space;
}

Result<Buffer> AddressSpace::allocate(uint64_t bytes,
                                      const BufferOptions &options) {
  if (!state)
    return emptyHandle();
  Buffer buffer;
  TESSERA_ASSIGN_OR_RETURN(buffer.state, allocateBuffer(state, bytes, options));
  return buffer;
}

Result<uint64_t> AddressSpace::reserve(uint64_t bytes) {
  if (!state)
    return emptyHandle();
  Hardware::Lock lock = state->hardware->lock();
  return state->reserve(bytes);
}

Status AddressSpace::map(uint64_t address, PhysicalSpace space,
                         uint64_t physical, uint64_t bytes, Access access) {
  if (!state)
    return emptyHandle();
  Hardware::Lock lock = state->hardware->lock();
  TESSERA_RETURN_IF_ERROR(
      state->tables->checkMap(address, space, physical, bytes));
  for (uint64_t done = 0; done < bytes; done += smallPageBytes) {
    if (Status claimed = state->hardware->claimPage(space, physical + done);
        !claimed.ok()) {
      state->releaseMapped(address, done);
      return claimed.withContext(fmt::format("{}: mapping {:#x}, {} bytes",
                                             state->label, address, bytes));
    }
    state->mappedPages[address + done] = {space, physical + done};
  }
  Status mapped = state->tables->map(address, space, physical, bytes, access);
  if (!mapped.ok())
    state->releaseMapped(address, bytes);
  return mapped;
}

Status AddressSpace::unmap(uint64_t address, uint64_t bytes) {
  if (!state)
    return emptyHandle();
  Hardware::Lock lock = state->hardware->lock();
  if (bytes > ~address)
    return Status(StatusCode::InvalidArgument,
                  fmt::format("{}: unmapping {:#x}, {} bytes: beyond the "
                              "address space",
                              state->label, address, bytes));
  for (auto [begin, buffer] : state->buffers)
    if (begin < address + bytes && address < begin + buffer->mappedBytes)
      return Status(StatusCode::FailedPrecondition,
                    fmt::format("{}: unmapping {:#x}, {} bytes: buffer '{}' at "
                                "{:#x} is in use",
                                state->label, address, bytes, buffer->label,
                                begin));
  TESSERA_RETURN_IF_ERROR(state->tables->unmap(address, bytes));
  state->releaseMapped(address, bytes);
  return Status::success();
}

Status AddressSpace::protect(uint64_t address, uint64_t bytes, Access access) {
  if (!state)
    return emptyHandle();
  Hardware::Lock lock = state->hardware->lock();
  return state->tables->protect(address, bytes, access);
}

Status AddressSpace::unmap(const Buffer &buffer, WhenInUse whenInUse) {
  if (!state)
    return emptyHandle();
  auto refuse = [&](StatusCode code, const std::string &what) {
    return Status(code, fmt::format("{}: unmapping: {}", state->label, what));
  };
  if (!buffer)
    return refuse(StatusCode::FailedPrecondition,
                  "the buffer is an empty handle");
  Hardware &hardware = *state->hardware;
  Hardware::Lock lock = hardware.lock();
  BufferState &memory = *buffer.state;
  if (memory.space != state)
    return refuse(StatusCode::InvalidArgument,
                  fmt::format("buffer '{}' is of address space '{}'",
                              memory.label, memory.space->label));
  if (Status usable = memory.checkUsable(); !usable.ok())
    return refuse(usable.code(), usable.message());
  if (memory.block)
    return refuse(StatusCode::InvalidArgument,
                  fmt::format("buffer '{}' is of a pool", memory.label));
  TESSERA_RETURN_IF_ERROR(hardware.update());
  std::string user = hardware.userOf(&memory);
  if (user.empty() || whenInUse == WhenInUse::Force) {
    TESSERA_RETURN_IF_ERROR(memory.takeAway());
  } else if (whenInUse == WhenInUse::Refuse) {
    return refuse(
        StatusCode::FailedPrecondition,
        fmt::format("buffer '{}' is in use by {}", memory.label, user));
  } else {
    hardware.unmapLater.push_back(buffer.state);
  }
  memory.markGone("was unmapped");
  return Status::success();
}

AddressSpaceStatistics AddressSpace::statistics() const {
  AddressSpaceStatistics result;
  if (!state)
    return result;
  Hardware::Lock lock = state->hardware->lock();
  result.buffers = state->buffers.size();
  result.smallPages = state->tables->smallPages();
  result.largePages = state->tables->largePages();
  result.tableBytes = state->tables->tableMemory();
  result.reservedBytes = state->cursor - AddressSpaceState::firstAddress;
  return result;
}

uint64_t AddressSpace::root() const {
  return state ? state->tables->root() : 0;
}

const Architecture &AddressSpace::architecture() const {
  static const Architecture none;
  return state ? state->hardware->driver->architecture() : none;
}

const std::string &AddressSpace::label() const {
  static const std::string none;
  return state ? state->label : none;
}

} // namespace tessera::runtime
