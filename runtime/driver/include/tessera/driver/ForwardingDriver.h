//===- ForwardingDriver.h - What all decorators share -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes every call on to another driver; a decorator overrides what it changes
// or watches. Calls are not serialised here: the driver below does that for
// itself, a decorator for its own state.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DRIVER_FORWARDINGDRIVER_H
#define TESSERA_DRIVER_FORWARDINGDRIVER_H

#include "tessera/driver/Driver.h"
#include <memory>
#include <utility>

namespace tessera::driver {

class ForwardingDriver : public Driver {
public:
  explicit ForwardingDriver(std::unique_ptr<Driver> inner)
      : below(std::move(inner)) {}

  Driver &inner() { return *below; }

  const Architecture &architecture() const override {
    return below->architecture();
  }
  std::span<std::byte> hostMemory() override { return below->hostMemory(); }
  Status readMemory(isa::PhysicalSpace space, uint64_t address,
                    std::span<std::byte> data) override {
    return below->readMemory(space, address, data);
  }
  Status writeMemory(isa::PhysicalSpace space, uint64_t address,
                     std::span<const std::byte> data) override {
    return below->writeMemory(space, address, data);
  }
  uint64_t memorySize(isa::PhysicalSpace space) const override {
    return below->memorySize(space);
  }
  Status mmioWrite(uint64_t offset, uint64_t value) override {
    return below->mmioWrite(offset, value);
  }
  Result<uint64_t> mmioRead(uint64_t offset) override {
    return below->mmioRead(offset);
  }
  Time now() const override { return below->now(); }
  Progress advance(Time deadline) override { return below->advance(deadline); }
  std::vector<Interrupt> takeInterrupts() override {
    return below->takeInterrupts();
  }
  Status armSemaphore(uint32_t semaphore, uint64_t value) override {
    return below->armSemaphore(semaphore, value);
  }
  Status claim(isa::PhysicalSpace space, uint64_t address,
               uint64_t bytes) override {
    return below->claim(space, address, bytes);
  }
  void release(isa::PhysicalSpace space, uint64_t address,
               uint64_t bytes) override {
    below->release(space, address, bytes);
  }
  Status stall(Unit unit, uint32_t queue, uint64_t cycles) override {
    return below->stall(unit, queue, cycles);
  }
  std::vector<std::string> wayPoints() override { return below->wayPoints(); }
  Result<std::vector<std::byte>> save() override { return below->save(); }
  Status restore(std::span<const std::byte> snapshot) override {
    return below->restore(snapshot);
  }

protected:
  std::unique_ptr<Driver> below;
};

} // namespace tessera::driver

#endif // TESSERA_DRIVER_FORWARDINGDRIVER_H
