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
driver::Driver &Device::driver() const { return *state->hardware->driver; }

} // namespace tessera::runtime
