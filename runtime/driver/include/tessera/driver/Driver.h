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
#include "tessera/Support/RangeSet.h"
#include "tessera/Support/Status.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
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
  bool operator==(const Interrupt &) const = default;
};

/// Parts of a device that can be held back (Driver::stall).
enum class Unit : uint8_t {
  CopyEngine,
  QueueFrontEnd, ///< Reading and decoding the packets of one queue.
  Cores,         ///< The start of dispatches, of all queues.
};

/// What a dispatch read and wrote: virtual addresses of its queue's context.
struct DispatchAccesses {
  uint32_t queue = 0;
  uint64_t packet = 0;             ///< Index in the queue's ring.
  std::optional<uint32_t> command; ///< In a command buffer.
  RangeSet read, written;
};

/// Why `advance` came back.
enum class Progress : uint8_t {
  Interrupted, ///< At least one interrupt is pending.
  Deadline,    ///< The deadline was reached.
  Quiescent,   ///< Nothing can happen any more without the host.
};

/// What a thread of the host is at.
enum class HostActivity : uint8_t { Submit, Wait };

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
  /// Nothing happens in a simulated device while it is idle, and its clock
  /// stands still: lets it go on to `until`, as a real one's does by itself, or
  /// as far as nothing happens.
  virtual void idle(Time /*until*/) {}
  /// Takes the pending interrupts, oldest first.
  virtual std::vector<Interrupt> takeInterrupts() = 0;
  /// Asks for a SemaphoreSignal interrupt when the semaphore reaches `value`.
  virtual Status armSemaphore(uint32_t semaphore, uint64_t value) = 0;

  /// Physical memory of which the runtime makes use, and gives up again. A
  /// driver may refuse (OutOfMemory): nothing is claimed then.
  virtual Status claim(isa::PhysicalSpace, uint64_t /*address*/,
                       uint64_t /*bytes*/) {
    return Status::success();
  }
  virtual void release(isa::PhysicalSpace, uint64_t /*address*/,
                       uint64_t /*bytes*/) {}

  /// Holds a unit back for `cycles` core cycles from now: it starts nothing
  /// meanwhile. `queue` tells which front end. For tests of what depends on
  /// relative speed; Unsupported where it cannot be done.
  virtual Status stall(Unit /*unit*/, uint32_t /*queue*/, uint64_t /*cycles*/) {
    return Status(StatusCode::Unsupported, "this device cannot be stalled");
  }

  /// Collects from now on what dispatches read and write; Unsupported where the
  /// device does not tell.
  virtual Status observeAccesses() {
    return Status(StatusCode::Unsupported,
                  "this device does not tell what kernels touch");
  }
  /// Those since the last call; all of a dispatch once it has completed.
  virtual std::vector<DispatchAccesses> takeAccesses() { return {}; }

  /// Writes down what every unit does from now on, for a file that endTrace()
  /// puts in its place. Costs no device time. Unsupported where the device does
  /// not tell; FailedPrecondition while there is a trace.
  virtual Status beginTrace(const std::string & /*path*/) {
    return Status(StatusCode::Unsupported,
                  "this device does not tell what its units do");
  }
  /// `keep`: whether the file is wanted. FailedPrecondition without a trace.
  virtual Status endTrace(bool /*keep*/) {
    return Status(StatusCode::FailedPrecondition, "there is no trace");
  }
  /// For the trace: a thread of the host begins something, or ends it.
  virtual void traceHost(uint32_t /*thread*/, HostActivity /*activity*/,
                         bool /*begins*/) {}

  /// What every unit is doing, one line each: for people who look at a hang.
  virtual std::vector<std::string> wayPoints() { return {}; }

  /// The whole device state, byte-exact; Unsupported where there is none.
  virtual Result<std::vector<std::byte>> save() = 0;
  virtual Status restore(std::span<const std::byte> snapshot) = 0;
};

} // namespace tessera::driver

#endif // TESSERA_DRIVER_DRIVER_H
