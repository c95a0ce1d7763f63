//===- SimDriver.h - The simulator behind the driver interface --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DRIVER_SIMDRIVER_H
#define TESSERA_DRIVER_SIMDRIVER_H

#include "tessera/driver/Driver.h"
#include "tessera/sim/Device.h"
#include <memory>
#include <mutex>

namespace tessera::sim {
class PerfettoFile;
} // namespace tessera::sim

namespace tessera::driver {

/// A simulated device. Calls from any thread are serialised; what `device()`
/// gives is for the thread that drives the simulation.
class SimDriver final : public Driver {
public:
  explicit SimDriver(const Architecture &arch,
                     const sim::DeviceOptions &options = {});
  ~SimDriver() override;

  const Architecture &architecture() const override;
  std::span<std::byte> hostMemory() override;
  Status readMemory(isa::PhysicalSpace space, uint64_t address,
                    std::span<std::byte> data) override;
  Status writeMemory(isa::PhysicalSpace space, uint64_t address,
                     std::span<const std::byte> data) override;
  uint64_t memorySize(isa::PhysicalSpace space) const override;
  Status mmioWrite(uint64_t offset, uint64_t value) override;
  Result<uint64_t> mmioRead(uint64_t offset) override;
  Time now() const override;
  Progress advance(Time deadline) override;
  void idle(Time until) override;
  std::vector<Interrupt> takeInterrupts() override;
  Status armSemaphore(uint32_t semaphore, uint64_t value) override;
  Status stall(Unit unit, uint32_t queue, uint64_t cycles) override;
  Status observeAccesses() override;
  std::vector<DispatchAccesses> takeAccesses() override;
  std::vector<std::string> wayPoints() override;
  /// A Perfetto trace: `path` ends in .pftrace.
  Status beginTrace(const std::string &path) override;
  Status endTrace(bool keep) override;
  void traceHost(uint32_t thread, HostActivity activity, bool begins) override;
  Result<std::vector<std::byte>> save() override;
  Status restore(std::span<const std::byte> snapshot) override;

  /// Statistics, tracing and explanations of waits.
  sim::Device &device() { return *simulated; }

private:
  mutable std::mutex mutex;
  std::unique_ptr<sim::Device> simulated;
  std::unique_ptr<sim::PerfettoFile> trace; ///< While there is one.
};

} // namespace tessera::driver

#endif // TESSERA_DRIVER_SIMDRIVER_H
