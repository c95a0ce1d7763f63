//===- NullDriver.cpp - A device without engines --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/driver/NullDriver.h"
#include "NullQueue.h"
#include <cmath>
#include <fmt/format.h>
#include <mutex>
#include <set>

using namespace tessera::isa;

namespace tessera::driver {

namespace {

class NullDriver final : public Driver, private NullDevice {
public:
  NullDriver(const Architecture &architecture, const NullDriverOptions &options)
      : arch(architecture), memories(arch, options.hostMemoryBytes),
        packetFemtoseconds(options.packetCycles *
                           std::llround(1e6 / arch.clockGhz)),
        semaphores(mmio::numSemaphores, 0), armed(mmio::numSemaphores) {
    for (uint32_t i = 0; i < arch.cp.queues; ++i)
      queues.emplace_back(static_cast<NullDevice &>(*this), i);
  }

  const Architecture &architecture() const override { return arch; }
  std::span<std::byte> hostMemory() override { return memories.host(); }
  uint64_t memorySize(PhysicalSpace space) const override {
    return memories.size(space);
  }
  Status readMemory(PhysicalSpace space, uint64_t address,
                    std::span<std::byte> data) override {
    std::lock_guard lock(mutex);
    return memories.read(space, address, data);
  }
  Status writeMemory(PhysicalSpace space, uint64_t address,
                     std::span<const std::byte> data) override {
    std::lock_guard lock(mutex);
    return memories.write(space, address, data);
  }

  Status mmioWrite(uint64_t offset, uint64_t value) override;
  Result<uint64_t> mmioRead(uint64_t offset) override;
  Time now() const override {
    std::lock_guard lock(mutex);
    return time;
  }
  void idle(Time until) override;
  Progress advance(Time deadline) override;
  std::vector<Interrupt> takeInterrupts() override {
    std::lock_guard lock(mutex);
    return std::move(pending);
  }
  Status armSemaphore(uint32_t index, uint64_t value) override;

  Result<std::vector<std::byte>> save() override { return unsupported(); }
  Status restore(std::span<const std::byte>) override { return unsupported(); }

private:
  // What queues need; called with the lock held.
  NullMemory &memory() override { return memories; }
  uint64_t semaphore(uint32_t index) const override {
    return index < semaphores.size() ? semaphores[index] : 0;
  }
  NullFault signal(const SemaphoreValue &point) override;
  void interrupt(Interrupt::Kind kind, uint32_t queue,
                 uint32_t payload) override {
    pending.push_back({kind, queue, payload, time});
  }
  Time deviceTime() const override { return time; }
  Time packetTime() const override { return packetFemtoseconds; }

  static Status unsupported() {
    return Status(StatusCode::Unsupported,
                  "null device: has no snapshots; the simulator does");
  }
  static Status noRegister(uint64_t offset) {
    return Status(StatusCode::BusError,
                  fmt::format("null device: no register at {:#x}", offset));
  }
  void setSemaphore(uint32_t index, uint64_t value);
  /// What mmio::reset does: memories keep their contents.
  void reset();

  mutable std::mutex mutex;
  Architecture arch;
  NullMemory memories;
  Time time = 0, packetFemtoseconds;
  std::vector<uint64_t> semaphores;
  std::vector<std::set<uint64_t>> armed;
  std::vector<Interrupt> pending;
  std::deque<NullQueue> queues;
};

} // namespace

void NullDriver::reset() {
  auto count = uint32_t(queues.size());
  queues.clear();
  for (uint32_t i = 0; i < count; ++i)
    queues.emplace_back(static_cast<NullDevice &>(*this), i);
  std::fill(semaphores.begin(), semaphores.end(), 0);
  for (std::set<uint64_t> &waiting : armed)
    waiting.clear();
  pending.clear();
}

void NullDriver::setSemaphore(uint32_t index, uint64_t value) {
  semaphores[index] = value;
  std::set<uint64_t> &waiting = armed[index];
  bool reached = !waiting.empty() && *waiting.begin() <= value;
  waiting.erase(waiting.begin(), waiting.upper_bound(value));
  if (reached)
    interrupt(Interrupt::Kind::SemaphoreSignal, 0, index);
}

NullFault NullDriver::signal(const SemaphoreValue &point) {
  if (point.semaphore == 0)
    return {};
  if (point.semaphore >= semaphores.size())
    return {mmio::FaultCause::SemaphoreRange, point.semaphore};
  if (point.value <= semaphores[point.semaphore])
    return {mmio::FaultCause::NonIncreasingSignal, point.value};
  setSemaphore(point.semaphore, point.value);
  return {};
}

Status NullDriver::mmioWrite(uint64_t offset, uint64_t value) {
  std::lock_guard lock(mutex);
  if (offset % 8)
    return noRegister(offset);
  if (offset == mmio::reset) {
    if (value & 1)
      reset();
    return Status::success();
  }
  if (offset >= mmio::semaphoreBase) {
    uint64_t index = (offset - mmio::semaphoreBase) / 8;
    if (index == 0 || index >= semaphores.size())
      return noRegister(offset);
    setSemaphore(index, value);
    return Status::success();
  }
  if (offset >= mmio::queueBase) {
    uint64_t queue = (offset - mmio::queueBase) / mmio::queueStride;
    if (queue >= queues.size())
      return noRegister(offset);
    return queues[queue].writeRegister(
        (offset - mmio::queueBase) % mmio::queueStride, value);
  }
  return noRegister(offset);
}

Result<uint64_t> NullDriver::mmioRead(uint64_t offset) {
  std::lock_guard lock(mutex);
  if (offset % 8)
    return noRegister(offset);
  if (offset >= mmio::semaphoreBase) {
    uint64_t index = (offset - mmio::semaphoreBase) / 8;
    if (index >= semaphores.size())
      return noRegister(offset);
    return semaphores[index];
  }
  if (offset >= mmio::queueBase) {
    uint64_t queue = (offset - mmio::queueBase) / mmio::queueStride;
    if (queue >= queues.size())
      return noRegister(offset);
    return queues[queue].readRegister((offset - mmio::queueBase) %
                                      mmio::queueStride);
  }
  if (offset == mmio::deviceId)
    return uint64_t(0x525354); // "TSR"
  if (offset == mmio::deviceTime)
    return time;
  return noRegister(offset);
}

Status NullDriver::armSemaphore(uint32_t index, uint64_t value) {
  std::lock_guard lock(mutex);
  if (index == 0 || index >= semaphores.size())
    return Status(StatusCode::InvalidArgument,
                  fmt::format("null device: no semaphore {}", index));
  if (semaphores[index] >= value)
    interrupt(Interrupt::Kind::SemaphoreSignal, 0, index);
  else
    armed[index].insert(value);
  return Status::success();
}

Progress NullDriver::advance(Time deadline) {
  std::lock_guard lock(mutex);
  while (true) {
    if (!pending.empty())
      return Progress::Interrupted;
    for (NullQueue &queue : queues)
      queue.schedule();
    if (!pending.empty())
      return Progress::Interrupted;
    Time next = timeInfinite;
    for (const NullQueue &queue : queues)
      next = std::min(next, queue.nextCompletion());
    if (next == timeInfinite)
      return Progress::Quiescent;
    if (next > deadline) {
      time = std::max(time, deadline);
      return Progress::Deadline;
    }
    time = next;
    for (NullQueue &queue : queues)
      queue.complete();
  }
}

void NullDriver::idle(Time until) {
  std::lock_guard lock(mutex);
  for (NullQueue &queue : queues)
    queue.schedule();
  if (!pending.empty())
    return;
  for (const NullQueue &queue : queues)
    until = std::min(until, queue.nextCompletion());
  time = std::max(time, until);
}

std::unique_ptr<Driver> makeNullDriver(const Architecture &architecture,
                                       const NullDriverOptions &options) {
  return std::make_unique<NullDriver>(architecture, options);
}

} // namespace tessera::driver
