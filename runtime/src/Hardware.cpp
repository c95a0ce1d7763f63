//===- Hardware.cpp - What all objects of a device share --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Hardware.h"
#include "QueueState.h"
#include "tessera/ISA/Mmio.h"
#include <cmath>
#include <fmt/format.h>

namespace tessera::runtime {

std::string_view spaceName(isa::PhysicalSpace space) {
  switch (space) {
  case isa::PhysicalSpace::Dram:
    return "DRAM";
  case isa::PhysicalSpace::Shared:
    return "shared SRAM";
  case isa::PhysicalSpace::Host:
    return "host memory";
  }
  return "unknown space";
}

std::optional<uint32_t> SlotAllocator::allocate() {
  for (size_t tried = first; tried < used.size(); ++tried) {
    uint32_t slot = next;
    next = next + 1 == used.size() ? first : next + 1;
    if (!used[slot]) {
      used[slot] = true;
      return slot;
    }
  }
  return std::nullopt;
}

Hardware::Hardware(std::unique_ptr<driver::Driver> d, std::string label)
    : driver(std::move(d)), label(std::move(label)),
      semaphoreSlots(1, isa::mmio::numSemaphores), // Index 0 is null.
      queueSlots(0, driver->architecture().cp.queues) {
  cycleTime = std::llround(1e6 / driver->architecture().clockGhz);
  for (unsigned i = 0; i < numPhysicalSpaces; ++i)
    physical[i] = RangeAllocator(
        0, driver->memorySize(static_cast<isa::PhysicalSpace>(i)));
}

Result<uint64_t> Hardware::allocatePhysical(isa::PhysicalSpace space,
                                            uint64_t bytes, uint64_t alignment,
                                            std::string_view what) {
  RangeAllocator &allocator = physical[static_cast<unsigned>(space)];
  if (std::optional<uint64_t> address = allocator.allocate(bytes, alignment))
    return *address;
  return Status(
      StatusCode::OutOfMemory,
      fmt::format("{} '{}': {} bytes of {} asked for, {} free, largest "
                  "free range {}",
                  label, what, bytes, spaceName(space), allocator.available(),
                  allocator.largestFree()));
}

void Hardware::releasePhysical(isa::PhysicalSpace space, uint64_t address,
                               uint64_t bytes) {
  physical[static_cast<unsigned>(space)].release(address, bytes);
}

Status Hardware::update() {
  for (QueueState *queue : queues)
    TESSERA_RETURN_IF_ERROR(queue->update());
  return Status::success();
}

Result<driver::Progress> Hardware::run(driver::Time deadline) {
  driver::Progress progress = driver->advance(deadline);
  // What an interrupt tells is read from the registers; it only woke us.
  (void)driver->takeInterrupts();
  TESSERA_RETURN_IF_ERROR(update());
  return progress;
}

} // namespace tessera::runtime
