//===- Driver.h - The driver interface ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the runtime needs of a device, and all that it knows of one. Behind it
// may stand the simulator, a null device, an RTL simulation or silicon.
// Registers, packets and page tables are those of tessera/ISA.
//
// Threads: calls may come from any thread; an implementation serialises them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DRIVER_DRIVER_H
#define TESSERA_DRIVER_DRIVER_H

#include "tessera/Arch/Architecture.h"
#include "tessera/ISA/PageTable.h"
#include "tessera/Support/Status.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tessera::driver {

/// Simulated or real device time, femtoseconds since reset.
using Time = uint64_t;
inline constexpr Time timeInfinite = ~Time(0);

struct Interrupt {
  enum class Kind : uint8_t { Packet, Fault, SemaphoreSignal, QueueDone };
  Kind kind = Kind::Packet;
  uint32_t queue = 0;
  uint32_t payload = 0; ///< Packet: its payload; SemaphoreSignal: its index.
  Time time = 0;
};

/// Why `advance` came back.
enum class Progress : uint8_t {
  Interrupted, ///< At least one interrupt is pending.
  Deadline,    ///< The deadline was reached.
  Quiescent,   ///< Nothing can happen any more without the host.
};

class Driver {
public:
  virtual ~Driver() = default;

  virtual const Architecture &architecture() const = 0;

  /// Host memory that the device can read and write (PhysicalSpace::Host): its
  /// byte offset is the physical address. Rings and staging buffers live here.
  virtual std::span<std::byte> hostMemory() = 0;

  /// Access to device memory through the host link's window, for set-up and
  /// debugging: costs no simulated time. BusError beyond the space's size.
  virtual Status readMemory(isa::PhysicalSpace space, uint64_t address,
                            std::span<std::byte> data) = 0;
  virtual Status writeMemory(isa::PhysicalSpace space, uint64_t address,
                             std::span<const std::byte> data) = 0;
  /// Size of a physical space in bytes.
  virtual uint64_t memorySize(isa::PhysicalSpace space) const = 0;

  /// Registers of tessera/ISA/Mmio.h. BusError for an offset that is none.
  virtual Status mmioWrite(uint64_t offset, uint64_t value) = 0;
  virtual Result<uint64_t> mmioRead(uint64_t offset) = 0;

  virtual Time now() const = 0;
  /// Lets the device run until an interrupt, the deadline or quiescence.
  virtual Progress advance(Time deadline) = 0;
  /// Takes the pending interrupts, oldest first.
  virtual std::vector<Interrupt> takeInterrupts() = 0;
  /// Asks for a SemaphoreSignal interrupt when the semaphore reaches `value`.
  virtual Status armSemaphore(uint32_t semaphore, uint64_t value) = 0;

  /// The whole device state, byte-exact; Unsupported where there is none.
  virtual Result<std::vector<std::byte>> save() = 0;
  virtual Status restore(std::span<const std::byte> snapshot) = 0;
};

} // namespace tessera::driver

#endif // TESSERA_DRIVER_DRIVER_H
