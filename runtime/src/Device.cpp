//===- Device.cpp - A device and what its handles share ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/runtime/Device.h"
#include "Hardware.h"
#include "QueueState.h"
#include "tessera/ISA/Mmio.h"
#include <cassert>
#include <fmt/format.h>

namespace tessera::runtime {

Result<Device> Device::create(std::unique_ptr<driver::Driver> driver,
                              std::string label) {
  if (!driver)
    return Status(StatusCode::InvalidArgument, label + ": no driver given");
  // A device that does not answer is told of at once.
  Result<uint64_t> id = driver->mmioRead(isa::mmio::deviceId);
  if (!id)
    return id.status().withContext(label);
  Device device;
  device.state = std::make_shared<DeviceState>();
  device.state->hardware =
      std::make_shared<Hardware>(std::move(driver), std::move(label));
  return device;
}

const Architecture &Device::architecture() const {
  assert(state && "empty device handle");
  return state->hardware->driver->architecture();
}
const std::string &Device::label() const {
  assert(state && "empty device handle");
  return state->hardware->label;
}
driver::Time Device::now() const {
  Hardware::Lock lock = state->hardware->lock();
  return state->hardware->driver->now();
}
driver::Time Device::cycleTime() const { return state->hardware->cycleTime; }
Deadline Device::afterCycles(uint64_t cycles) const {
  return Deadline::at(now() + cycles * cycleTime());
}
uint64_t Device::bytesInUse(isa::PhysicalSpace space) const {
  Hardware::Lock lock = state->hardware->lock();
  return state->hardware->physical[static_cast<unsigned>(space)].used();
}
Status Device::close() {
  if (!state)
    return Status(StatusCode::FailedPrecondition, "device: empty handle");
  Hardware &hardware = *state->hardware;
  Hardware::Lock lock = hardware.lock();
  if (!hardware.closed.ok())
    return Status(StatusCode::FailedPrecondition, hardware.closed.message());
  hardware.closed =
      Status(StatusCode::Cancelled,
             fmt::format("device '{}' was closed", hardware.label));
  // The device touches no memory any more before that memory is given back.
  TESSERA_RETURN_IF_ERROR(hardware.driver->mmioWrite(isa::mmio::reset, 1));
  for (QueueState *queue : hardware.queues) {
    queue->cancelAll(hardware.closed);
    if (queue->slot)
      TESSERA_RETURN_IF_ERROR(queue->detach());
  }
  hardware.hostSignalled.notify_all();
  return Status::success();
}

MemoryStatistics Device::memoryStatistics(isa::PhysicalSpace space) const {
  MemoryStatistics result;
  if (!state)
    return result;
  Hardware::Lock lock = state->hardware->lock();
  const RangeAllocator &allocator =
      state->hardware->physical[static_cast<unsigned>(space)];
  result.total = allocator.total();
  result.used = allocator.used();
  result.peakUsed = allocator.peak();
  result.largestFree = allocator.largestFree();
  result.allocations = allocator.allocations();
  result.failures = allocator.failures();
  return result;
}

DeviceStatistics Device::statistics() const {
  DeviceStatistics result;
  if (!state)
    return result;
  const Hardware &hardware = *state->hardware;
  Hardware::Lock lock = state->hardware->lock();
  result.operationsAccepted = hardware.operationsAccepted;
  result.operationsCompleted = hardware.operationsCompleted;
  result.operationsCancelled = hardware.operationsCancelled;
  result.operationsParked = hardware.pendingOperations;
  result.slotSwitches = hardware.slotSwitches;
  result.notifications = hardware.notifications.received();
  result.notificationOverflows = hardware.notifications.overflows();
  return result;
}

driver::Driver &Device::driver() const { return *state->hardware->driver; }

} // namespace tessera::runtime
