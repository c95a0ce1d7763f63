//===- RecordDriver.cpp - Recording of host-visible interactions ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/driver/RecordDriver.h"
#include "tessera/ISA/Mmio.h"
#include "tessera/ISA/Packet.h"
#include "tessera/Support/Hash.h"
#include "tessera/Support/Mutant.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

using namespace tessera::isa;

namespace tessera::driver {

RecordDriver::RecordDriver(std::unique_ptr<Driver> driver,
                           RecordOptions options)
    : ForwardingDriver(std::move(driver)), options(options) {
  describe();
}
RecordDriver::RecordDriver(Driver &lent, RecordOptions options)
    : ForwardingDriver(lent), options(options) {
  describe();
}
void RecordDriver::describe() {
  record.architecture = below->architecture().name;
  record.isaHash = below->architecture().isaHash();
  record.timingHash = below->architecture().timingHash();
  record.hostBytes = below->memorySize(PhysicalSpace::Host);
}
RecordDriver::~RecordDriver() = default;

Recording RecordDriver::recording() const {
  std::lock_guard lock(mutex);
  return record;
}

RecordedOperation RecordDriver::lastOperation() const {
  std::lock_guard lock(mutex);
  return record.operations.empty() ? RecordedOperation()
                                   : record.operations.back();
}

Status RecordDriver::enter() {
  if (options.threadsTakeTurns)
    return Status::success();
  if (!caller)
    caller = std::this_thread::get_id();
  if (*caller != std::this_thread::get_id())
    return Status(StatusCode::FailedPrecondition,
                  "recording: a second free-running thread uses the device, "
                  "which could not be replayed; use virtual threads");
  return Status::success();
}

/// Calls f(offset, length) for each run of bytes in which two images differ;
/// runs less than 16 bytes apart are one.
template <typename F>
static void forEachDifference(const uint8_t *a, const uint8_t *b, size_t size,
                              F f) {
  constexpr size_t block = 4096, gap = 16;
  for (size_t base = 0; base < size; base += block) {
    size_t end = std::min(size, base + block);
    if (std::memcmp(a + base, b + base, end - base) == 0)
      continue;
    size_t at = base;
    while (at < end) {
      if (a[at] == b[at]) {
        ++at;
        continue;
      }
      size_t last = at;
      for (size_t i = at; i < end && i - last <= gap; ++i)
        if (a[i] != b[i])
          last = i;
      f(at, last + 1 - at);
      at = last + 1;
    }
  }
}

void RecordDriver::hostWrites() {
  if (TESSERA_MUTANT("recorder-misses-host-stores"))
    return;
  auto *host = reinterpret_cast<const uint8_t *>(below->hostMemory().data());
  for (auto &[base, image] : known)
    forEachDifference(
        image.data(), host + base, image.size(), [&](size_t at, size_t n) {
          std::copy_n(host + base + at, n, image.begin() + at);
          RecordedOperation write;
          write.kind = Kind::HostWrite;
          write.space = PhysicalSpace::Host;
          write.address = base + at;
          write.data.assign(image.begin() + at, image.begin() + at + n);
          add(std::move(write));
        });
}

uint64_t RecordDriver::deviceWrites() {
  auto *host = reinterpret_cast<const uint8_t *>(below->hostMemory().data());
  uint64_t hash = 0;
  for (auto &[base, image] : known)
    forEachDifference(
        image.data(), host + base, image.size(), [&](size_t at, size_t n) {
          std::copy_n(host + base + at, n, image.begin() + at);
          uint64_t address = base + at;
          hash = hashBytes(std::as_bytes(std::span(&address, 1)), hash);
          hash = hashBytes(std::span(image).subspan(at, n), hash);
        });
  return hash;
}

Status RecordDriver::doReadMemory(PhysicalSpace space, uint64_t address,
                                  std::span<std::byte> data) {
  hostWrites();
  Status status = below->readMemory(space, address, data);
  RecordedOperation operation;
  operation.kind = Kind::MemoryRead;
  operation.space = space;
  operation.address = address;
  operation.value = data.size();
  operation.code = status.code();
  if (status.ok())
    operation.result = hashBytes(std::span<const std::byte>(data));
  add(std::move(operation));
  return status;
}

Status RecordDriver::doWriteMemory(PhysicalSpace space, uint64_t address,
                                   std::span<const std::byte> data) {
  hostWrites();
  Status status = below->writeMemory(space, address, data);
  (void)deviceWrites(); // The window reaches host memory too.
  RecordedOperation operation;
  operation.kind = Kind::MemoryWrite;
  operation.space = space;
  operation.address = address;
  auto *bytes = reinterpret_cast<const uint8_t *>(data.data());
  operation.data.assign(bytes, bytes + data.size());
  operation.code = status.code();
  add(std::move(operation));
  return status;
}

Status RecordDriver::checkRing(uint64_t offset, uint64_t value) {
  if (offset < mmio::queueBase || offset >= mmio::semaphoreBase)
    return Status::success();
  uint64_t queue = (offset - mmio::queueBase) / mmio::queueStride;
  switch ((offset - mmio::queueBase) % mmio::queueStride) {
  case mmio::queueRing:
    ringOf[queue] = value;
    return Status::success();
  case mmio::queueSize: {
    uint64_t ring = ringOf[queue];
    auto it = known.upper_bound(ring);
    if (it != known.begin())
      --it;
    if (it == known.end() || ring < it->first ||
        ring - it->first > it->second.size() ||
        value > (it->second.size() - (ring - it->first)) / packetBytes)
      return Status(StatusCode::FailedPrecondition,
                    fmt::format("recording: the ring of queue {} at {:#x}, {} "
                                "packets, is not in claimed host memory: what "
                                "is written there could not be replayed",
                                queue, ring, value));
    return Status::success();
  }
  default:
    return Status::success();
  }
}

Status RecordDriver::doMmioWrite(uint64_t offset, uint64_t value) {
  TESSERA_RETURN_IF_ERROR(enter());
  TESSERA_RETURN_IF_ERROR(checkRing(offset, value));
  hostWrites();
  Status status = below->mmioWrite(offset, value);
  (void)deviceWrites(); // A fault-injecting driver may have touched the ring.
  RecordedOperation operation;
  operation.kind = Kind::RegisterWrite;
  operation.address = offset;
  operation.value = value;
  operation.code = status.code();
  add(std::move(operation));
  return status;
}

Result<uint64_t> RecordDriver::doMmioRead(uint64_t offset) {
  Result<uint64_t> value = below->mmioRead(offset);
  RecordedOperation operation;
  operation.kind = Kind::RegisterRead;
  operation.address = offset;
  operation.code = value.status().code();
  operation.result = value ? *value : 0;
  add(std::move(operation));
  return value;
}

Progress RecordDriver::doAdvance(Time deadline) {
  // An unreplayable caller has no status to be told by; its other calls do.
  if (!enter().ok())
    return Progress::Quiescent;
  hostWrites();
  RecordedOperation operation;
  operation.kind = Kind::Advance;
  operation.value = deadline;
  operation.progress = below->advance(deadline);
  operation.time = below->now();
  operation.result = deviceWrites();
  Progress progress = operation.progress;
  add(std::move(operation));
  return progress;
}

void RecordDriver::doIdle(Time until) {
  if (!enter().ok())
    return;
  below->idle(until);
  RecordedOperation operation;
  operation.kind = Kind::Idle;
  operation.value = until;
  operation.time = below->now();
  add(std::move(operation));
}

std::vector<Interrupt> RecordDriver::doTakeInterrupts() {
  std::vector<Interrupt> interrupts = below->takeInterrupts();
  RecordedOperation operation;
  operation.kind = Kind::TakeInterrupts;
  operation.interrupts = interrupts;
  add(std::move(operation));
  return interrupts;
}

Status RecordDriver::doArmSemaphore(uint32_t semaphore, uint64_t value) {
  Status status = below->armSemaphore(semaphore, value);
  RecordedOperation operation;
  operation.kind = Kind::Arm;
  operation.address = semaphore;
  operation.value = value;
  operation.code = status.code();
  add(std::move(operation));
  return status;
}

Status RecordDriver::doClaim(PhysicalSpace space, uint64_t address,
                             uint64_t bytes) {
  Status status = below->claim(space, address, bytes);
  RecordedOperation operation;
  operation.kind = Kind::Claim;
  operation.space = space;
  operation.address = address;
  operation.value = bytes;
  operation.code = status.code();
  if (status.ok() && space == PhysicalSpace::Host &&
      address <= record.hostBytes && bytes <= record.hostBytes - address) {
    // What lies there from an earlier use lies there in a replay as well.
    auto *host = reinterpret_cast<const uint8_t *>(below->hostMemory().data());
    std::vector<uint8_t> &image = known[address];
    image.assign(host + address, host + address + bytes);
    operation.result = hashBytes(std::span<const uint8_t>(image));
  }
  add(std::move(operation));
  return status;
}

void RecordDriver::doRelease(PhysicalSpace space, uint64_t address,
                             uint64_t bytes) {
  hostWrites();
  below->release(space, address, bytes);
  RecordedOperation operation;
  operation.kind = Kind::Release;
  operation.space = space;
  operation.address = address;
  operation.value = bytes;
  add(std::move(operation));
  if (space == PhysicalSpace::Host)
    known.erase(address);
}

Status RecordDriver::doStall(Unit unit, uint32_t queue, uint64_t cycles) {
  Status status = below->stall(unit, queue, cycles);
  RecordedOperation operation;
  operation.kind = Kind::Stall;
  operation.address = uint64_t(unit) | uint64_t(queue) << 8;
  operation.value = cycles;
  operation.code = status.code();
  add(std::move(operation));
  return status;
}

static Status noSnapshots() {
  return Status(StatusCode::Unsupported,
                "recording: a snapshot could not be replayed; record from the "
                "device's reset on");
}
Result<std::vector<std::byte>> RecordDriver::doSave() { return noSnapshots(); }
Status RecordDriver::doRestore(std::span<const std::byte>) {
  return noSnapshots();
}

} // namespace tessera::driver
