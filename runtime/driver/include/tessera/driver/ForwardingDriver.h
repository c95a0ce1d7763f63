//===- ForwardingDriver.h - What all decorators share -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes every call on to another driver, one at a time. A decorator overrides
// the do… of what it changes or watches, which runs with the lock held, and
// enter(), which says whether calls are let in.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DRIVER_FORWARDINGDRIVER_H
#define TESSERA_DRIVER_FORWARDINGDRIVER_H

#include "tessera/driver/Driver.h"
#include <memory>
#include <mutex>
#include <utility>

namespace tessera::driver {

class ForwardingDriver : public Driver {
public:
  explicit ForwardingDriver(std::unique_ptr<Driver> inner)
      : below(inner.get()), owned(std::move(inner)) {}
  /// `lent` must outlive it.
  explicit ForwardingDriver(Driver &lent) : below(&lent) {}

  Driver &inner() { return *below; }

  const Architecture &architecture() const final {
    return below->architecture();
  }
  std::span<std::byte> hostMemory() final { return below->hostMemory(); }
  uint64_t memorySize(isa::PhysicalSpace space) const final {
    return below->memorySize(space);
  }
  Time now() const final {
    std::lock_guard lock(mutex);
    return below->now();
  }
  Status observeAccesses() final {
    std::lock_guard lock(mutex);
    return below->observeAccesses();
  }
  std::vector<DispatchAccesses> takeAccesses() final {
    std::lock_guard lock(mutex);
    return below->takeAccesses();
  }
  Status beginTrace(const std::string &path) final {
    std::lock_guard lock(mutex);
    return below->beginTrace(path);
  }
  Status endTrace(bool keep) final {
    std::lock_guard lock(mutex);
    return below->endTrace(keep);
  }
  void traceHost(uint32_t thread, HostActivity activity, bool begins) final {
    std::lock_guard lock(mutex);
    below->traceHost(thread, activity, begins);
  }
  std::vector<std::string> wayPoints() final {
    std::lock_guard lock(mutex);
    return below->wayPoints();
  }
  Status readMemory(isa::PhysicalSpace space, uint64_t address,
                    std::span<std::byte> data) final {
    std::lock_guard lock(mutex);
    TESSERA_RETURN_IF_ERROR(enter());
    return doReadMemory(space, address, data);
  }
  Status writeMemory(isa::PhysicalSpace space, uint64_t address,
                     std::span<const std::byte> data) final {
    std::lock_guard lock(mutex);
    TESSERA_RETURN_IF_ERROR(enter());
    return doWriteMemory(space, address, data);
  }
  Status mmioWrite(uint64_t offset, uint64_t value) final {
    std::lock_guard lock(mutex);
    return doMmioWrite(offset, value);
  }
  Result<uint64_t> mmioRead(uint64_t offset) final {
    std::lock_guard lock(mutex);
    TESSERA_RETURN_IF_ERROR(enter());
    return doMmioRead(offset);
  }
  Progress advance(Time deadline) final {
    std::lock_guard lock(mutex);
    return doAdvance(deadline);
  }
  void idle(Time until) final {
    std::lock_guard lock(mutex);
    doIdle(until);
  }
  std::vector<Interrupt> takeInterrupts() final {
    std::lock_guard lock(mutex);
    return doTakeInterrupts();
  }
  Status armSemaphore(uint32_t semaphore, uint64_t value) final {
    std::lock_guard lock(mutex);
    TESSERA_RETURN_IF_ERROR(enter());
    return doArmSemaphore(semaphore, value);
  }
  Status claim(isa::PhysicalSpace space, uint64_t address,
               uint64_t bytes) final {
    std::lock_guard lock(mutex);
    TESSERA_RETURN_IF_ERROR(enter());
    return doClaim(space, address, bytes);
  }
  void release(isa::PhysicalSpace space, uint64_t address,
               uint64_t bytes) final {
    std::lock_guard lock(mutex);
    return doRelease(space, address, bytes);
  }
  Status stall(Unit unit, uint32_t queue, uint64_t cycles) final {
    std::lock_guard lock(mutex);
    TESSERA_RETURN_IF_ERROR(enter());
    return doStall(unit, queue, cycles);
  }
  Result<std::vector<std::byte>> save() final {
    std::lock_guard lock(mutex);
    TESSERA_RETURN_IF_ERROR(enter());
    return doSave();
  }
  Status restore(std::span<const std::byte> snapshot) final {
    std::lock_guard lock(mutex);
    TESSERA_RETURN_IF_ERROR(enter());
    return doRestore(snapshot);
  }

protected:
  /// Before every call that can fail and but for mmioWrite(), which may be the
  /// reset: an error is the call's.
  virtual Status enter() { return Status::success(); }
  virtual Status doReadMemory(isa::PhysicalSpace space, uint64_t address,
                              std::span<std::byte> data) {
    return below->readMemory(space, address, data);
  }
  virtual Status doWriteMemory(isa::PhysicalSpace space, uint64_t address,
                               std::span<const std::byte> data) {
    return below->writeMemory(space, address, data);
  }
  virtual Status doMmioWrite(uint64_t offset, uint64_t value) {
    return below->mmioWrite(offset, value);
  }
  virtual Result<uint64_t> doMmioRead(uint64_t offset) {
    return below->mmioRead(offset);
  }
  virtual Progress doAdvance(Time deadline) { return below->advance(deadline); }
  virtual void doIdle(Time until) { below->idle(until); }
  virtual std::vector<Interrupt> doTakeInterrupts() {
    return below->takeInterrupts();
  }
  virtual Status doArmSemaphore(uint32_t semaphore, uint64_t value) {
    return below->armSemaphore(semaphore, value);
  }
  virtual Status doClaim(isa::PhysicalSpace space, uint64_t address,
                         uint64_t bytes) {
    return below->claim(space, address, bytes);
  }
  virtual void doRelease(isa::PhysicalSpace space, uint64_t address,
                         uint64_t bytes) {
    return below->release(space, address, bytes);
  }
  virtual Status doStall(Unit unit, uint32_t queue, uint64_t cycles) {
    return below->stall(unit, queue, cycles);
  }
  virtual Result<std::vector<std::byte>> doSave() { return below->save(); }
  virtual Status doRestore(std::span<const std::byte> snapshot) {
    return below->restore(snapshot);
  }

  Driver *below;
  mutable std::mutex mutex;

private:
  std::unique_ptr<Driver> owned;
};

} // namespace tessera::driver

#endif // TESSERA_DRIVER_FORWARDINGDRIVER_H
