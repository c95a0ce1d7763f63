//===- Device.cpp - A device and what its handles share ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/runtime/Device.h"
#include "Hardware.h"
#include "PageTables.h"
#include "QueueState.h"
#include "SemaphoreState.h"
#include "tessera/ISA/Mmio.h"
#include <cassert>
#include <fmt/format.h>

namespace tessera::runtime {

Result<Device> Device::create(std::unique_ptr<driver::Driver> driver,
                              std::string label, const HostCosts &costs) {
  if (!driver)
    return Status(StatusCode::InvalidArgument, label + ": no driver given");
  constexpr uint64_t hour = 3'600'000'000'000;
  for (auto [name, cost] : {std::pair("submitNs", costs.submitNs),
                            std::pair("accessNs", costs.accessNs),
                            std::pair("wakeNs", costs.wakeNs),
                            std::pair("hostCallNs", costs.hostCallNs)})
    if (cost > hour)
      return Status(StatusCode::InvalidArgument,
                    fmt::format("{}: host costs: {} {}; at most an hour, {}",
                                label, name, cost, hour));
  // A device that does not answer is told of at once.
  Result<uint64_t> id = driver->mmioRead(isa::mmio::deviceId);
  if (!id)
    return id.status().withContext(label);
  Device device;
  device.state = std::make_shared<DeviceState>();
  device.state->hardware =
      std::make_shared<Hardware>(std::move(driver), std::move(label));
  device.state->hardware->costs = costs;
  return device;
}

const Architecture &Device::architecture() const {
  static const Architecture none;
  return state ? state->hardware->driver->architecture() : none;
}
const std::string &Device::label() const {
  static const std::string none;
  return state ? state->hardware->label : none;
}
driver::Time Device::now() const {
  if (!state)
    return 0;
  Hardware::Lock lock = state->hardware->lock();
  return state->hardware->driver->now();
}
driver::Time Device::cycleTime() const {
  return state ? state->hardware->cycleTime : 0;
}
Deadline Device::afterCycles(uint64_t cycles) const {
  driver::Time from = now();
  return state && cycles < (driver::timeInfinite - from) / cycleTime()
             ? Deadline::at(from + cycles * cycleTime())
             : Deadline::infinite();
}
uint64_t Device::bytesInUse(isa::PhysicalSpace space) const {
  if (!state)
    return 0;
  Hardware::Lock lock = state->hardware->lock();
  return state->hardware->physical[static_cast<unsigned>(space)].used();
}
Result<Snapshot> Device::snapshot() {
  if (!state)
    return Status(StatusCode::FailedPrecondition, "device: empty handle");
  Hardware &hardware = *state->hardware;
  Hardware::Lock lock = hardware.lock();
  auto context = [&](const Status &status) {
    return status.withContext(
        fmt::format("device '{}': snapshot", hardware.label));
  };
  if (Status rest = hardware.comeToRest(); !rest.ok())
    return context(rest);
  Result<std::vector<std::byte>> bytes = hardware.driver->save();
  if (!bytes)
    return context(bytes.status());
  Snapshot snapshot;
  snapshot.image =
      std::make_shared<const std::vector<std::byte>>(std::move(*bytes));
  snapshot.device = state->hardware;
  snapshot.objects = hardware.objects;
  snapshot.changes = hardware.lastingChanges;
  snapshot.semaphoresMade = hardware.semaphoresMade;
  for (const SemaphoreState *semaphore : hardware.semaphores)
    snapshot.failures.push_back(semaphore->failure);
  return snapshot;
}

Status Device::restore(const Snapshot &snapshot) {
  if (!state)
    return Status(StatusCode::FailedPrecondition, "device: empty handle");
  Hardware &hardware = *state->hardware;
  Hardware::Lock lock = hardware.lock();
  auto refuse = [&](StatusCode code, const std::string &what) {
    return Status(
        code, fmt::format("device '{}': restore: {}", hardware.label, what));
  };
  if (!snapshot)
    return refuse(StatusCode::FailedPrecondition, "an empty snapshot");
  if (snapshot.device.lock() != state->hardware)
    return refuse(StatusCode::InvalidArgument,
                  "the snapshot is of another device");
  if (Status rest = hardware.comeToRest(); !rest.ok())
    return refuse(rest.code(), rest.message());
  for (QueueState *queue : hardware.queues)
    queue->dropGates(snapshot.semaphoresMade);
  if (snapshot.objects != hardware.objects ||
      snapshot.changes != hardware.lastingChanges)
    return refuse(StatusCode::FailedPrecondition,
                  "memory or semaphores came or went since the snapshot");
  TESSERA_RETURN_IF_ERROR(hardware.driver->restore(*snapshot.image));
  ++hardware.restores;
  for (PageTables *tables : hardware.tables)
    TESSERA_RETURN_IF_ERROR(tables->rewrite());
  // The same ones as then, or objects would have come and gone.
  for (size_t i = 0; i < hardware.semaphores.size(); ++i) {
    SemaphoreState &semaphore = *hardware.semaphores[i];
    semaphore.forget();
    semaphore.failure = snapshot.failures[i];
    TESSERA_ASSIGN_OR_RETURN(semaphore.hostSignalled, semaphore.value());
  }
  return Status::success();
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
  Status stopped = hardware.driver->mmioWrite(isa::mmio::reset, 1);
  for (QueueState *queue : hardware.queues) {
    queue->cancelAll(hardware.closed);
    if (!queue->slot)
      continue;
    // A device that does not answer is closed all the same.
    Status detached = queue->detach();
    if (stopped.ok())
      stopped = detached;
  }
  hardware.wakeHost();
  return stopped;
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

Status Device::reset() {
  if (!state)
    return Status(StatusCode::FailedPrecondition, "device: empty handle");
  Hardware &hardware = *state->hardware;
  Hardware::Lock lock = hardware.lock();
  if (!hardware.closed.ok())
    return Status(StatusCode::FailedPrecondition, hardware.closed.message());
  TESSERA_RETURN_IF_ERROR(hardware.driver->mmioWrite(isa::mmio::reset, 1));
  ++hardware.generation;
  ++hardware.lastingChanges;
  for (QueueState *queue : hardware.queues) {
    Status gone(StatusCode::DeviceLost,
                fmt::format("queue '{}' was made before the device's reset",
                            queue->label));
    queue->cancelAll(gone);
    queue->failure = gone;
    queue->stopping = false;
    queue->openReservations = 0;
    if (queue->slot)
      TESSERA_RETURN_IF_ERROR(queue->detach());
  }
  state->abandoned.clear();
  for (auto &action : std::exchange(hardware.afterReset, {}))
    action();
  hardware.faults.clear();
  hardware.wakeHost();
  return Status::success();
}

std::vector<FaultReport> Device::faults() const {
  if (!state)
    return {};
  Hardware::Lock lock = state->hardware->lock();
  return state->hardware->faults;
}

/// Makes the race detector, if there is none.
static void lookForRaces(Hardware &hardware) {
  if (hardware.races)
    return;
  hardware.races = std::make_unique<RaceDetector>();
  // Waits for values that were there already follow nobody: as if the host had
  // signalled them.
  for (const SemaphoreState *semaphore : hardware.semaphores)
    if (Result<uint64_t> value = semaphore->value(); value && *value)
      hardware.races->hostSignals(racePoint(*semaphore, *value));
}

void Device::detectRaces() {
  if (!state)
    return;
  Hardware::Lock lock = state->hardware->lock();
  lookForRaces(*state->hardware);
}

std::vector<RaceReport> Device::races() const {
  if (!state)
    return {};
  Hardware::Lock lock = state->hardware->lock();
  // What has completed counts.
  (void)state->hardware->update();
  return state->hardware->races ? state->hardware->races->reports()
                                : std::vector<RaceReport>();
}

Status Device::observeKernels() {
  if (!state)
    return Status(StatusCode::FailedPrecondition, "device: empty handle");
  Hardware &hardware = *state->hardware;
  Hardware::Lock lock = hardware.lock();
  if (Status told = hardware.driver->observeAccesses(); !told.ok())
    return told.withContext(
        fmt::format("device '{}': observation of kernels", hardware.label));
  lookForRaces(hardware);
  hardware.races->setObserver([&hardware] { hardware.collectAccesses(); });
  return Status::success();
}

std::vector<UndeclaredAccess> Device::undeclaredAccesses() const {
  if (!state)
    return {};
  Hardware::Lock lock = state->hardware->lock();
  (void)state->hardware->update();
  return state->hardware->races ? state->hardware->races->undeclared()
                                : std::vector<UndeclaredAccess>();
}

Status Device::checkWork() const {
  if (!state)
    return Status(StatusCode::FailedPrecondition, "device: empty handle");
  Hardware::Lock lock = state->hardware->lock();
  TESSERA_RETURN_IF_ERROR(state->hardware->update());
  for (const QueueState *queue : state->hardware->queues)
    if (queue->inFlight.empty())
      TESSERA_RETURN_IF_ERROR(queue->checkWork());
  return Status::success();
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
  result.hostTime = hardware.hostTime;
  return result;
}

driver::Driver &Device::driver() const {
  assert(state && "the driver of an empty device handle");
  return *state->hardware->driver;
}

} // namespace tessera::runtime
