//===- Device.h - The simulated accelerator --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A whole device: command processor, cores, memories, NoC on one event kernel.
// Functional and timed in one run. Single-threaded: the caller serialises
// calls.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_DEVICE_H
#define TESSERA_SIM_DEVICE_H

#include "tessera/Arch/Architecture.h"
#include "tessera/ISA/Mmio.h"
#include "tessera/ISA/PageTable.h"
#include "tessera/Support/Status.h"
#include "tessera/sim/Check.h"
#include "tessera/sim/KernelAccesses.h"
#include "tessera/sim/MemoryStatistics.h"
#include "tessera/sim/Statistics.h"
#include "tessera/sim/Trace.h"
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tessera::sim {

/// Femtoseconds since reset.
using Time = uint64_t;
inline constexpr Time timeInfinite = ~Time(0);

struct DeviceOptions {
  /// Moves no tensor data and computes nothing; scalars, packets, page tables
  /// and code are still real.
  bool timingOnly = false;
  /// What to check while running; changes neither cycles nor values.
  CheckOptions checks;
  /// Counts cycles by instruction (Statistics::kernels).
  bool profile = false;
  /// Which schedule is explored; part of the snapshot.
  uint64_t seed = 0;
  /// Permutes, by `seed`, what docs/memory-model.md leaves open: the order of
  /// events of different components at the same time and in the same phase, and
  /// which of the copies under way is served first.
  bool explore = false;
  /// Host memory that the device can reach, bytes; a multiple of 4 KiB.
  uint64_t hostMemoryBytes = 256ull << 20;
};

enum class StopReason : uint8_t { Interrupted, Deadline, Quiescent };

struct DeviceInterrupt {
  enum class Kind : uint8_t { Packet, Fault, SemaphoreSignal, QueueDone };
  Kind kind = Kind::Packet;
  uint32_t queue = 0;
  uint32_t payload = 0; ///< Packet: its payload; SemaphoreSignal: its index.
  Time time = 0;
};

/// Parts of the device that `stall` can hold back.
enum class StallableUnit : uint8_t { CopyEngine, QueueFrontEnd, Cores };

class Device {
public:
  explicit Device(const Architecture &arch, const DeviceOptions &options = {});
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  const Architecture &architecture() const;
  const DeviceOptions &options() const;

  std::span<std::byte> hostMemory();
  uint64_t memorySize(isa::PhysicalSpace space) const;
  Status readMemory(isa::PhysicalSpace space, uint64_t address,
                    std::span<std::byte> data);
  Status writeMemory(isa::PhysicalSpace space, uint64_t address,
                     std::span<const std::byte> data);

  /// Registers change at once; a doorbell is heard after the host link's
  /// latency.
  Status mmioWrite(uint64_t offset, uint64_t value);
  Result<uint64_t> mmioRead(uint64_t offset);

  Time now() const;
  /// Runs until an interrupt is pending, the deadline or quiescence. Comes back
  /// at once if an interrupt is pending already.
  StopReason advance(Time deadline);
  /// Lets the clock of an idle device go on to `until`, or to its next event.
  void idle(Time until);
  /// Executes one event; false if there is none. For debuggers and snapshots
  /// at every event boundary.
  bool step();
  std::vector<DeviceInterrupt> takeInterrupts();
  Status armSemaphore(uint32_t semaphore, uint64_t value);

  /// The unit starts nothing for `cycles` core cycles from now; what it has
  /// under way goes on. `queue` tells which front end; Cores: no dispatch
  /// starts. InvalidArgument for a queue that is none or 2^40 cycles and more.
  Status stall(StallableUnit unit, uint32_t queue, uint64_t cycles);

  /// Everything, at this event boundary; byte exact.
  std::vector<std::byte> save();
  /// FailedPrecondition if the snapshot is of another architecture or other
  /// options, InvalidArgument if it is malformed (the device is then reset).
  Status restore(std::span<const std::byte> snapshot);

  Statistics statistics();
  /// Channel by channel, link by link: not for every cycle.
  MemoryStatistics memoryStatistics() const;
  /// Internal unless network and DRAM gave out what they took in, every DRAM
  /// byte has one requester and one purpose, and every engine-cycle one cause.
  /// A failure is a defect of the simulator.
  Status checkConservation();
  /// nullptr stops observing. The observer is not part of a snapshot.
  void setTraceObserver(TraceObserver *observer);

  /// What waits for what, one line each: queue and packet, or core, engine and
  /// instruction, and the semaphore and value awaited. When `advance` returned
  /// Quiescent and this is not empty, the device is deadlocked unless the host
  /// still signals.
  std::vector<std::string> explainWaits() const;
  /// What each running core is at: kernel, instruction, what its engines wait
  /// for; and the packets under way.
  std::vector<std::string> wayPoints() const;
  /// What the checking modes found until now; deadlocks only when nothing can
  /// happen any more. A restored snapshot's earlier accesses are not known.
  std::vector<Finding> findings() const;
  /// From now on what dispatches read and write is collected. Takes host time,
  /// no simulated time; not part of a snapshot.
  void observeAccesses();
  /// What they touched since the last time.
  std::vector<KernelAccesses> takeAccesses();
  /// Hash of DRAM, shared SRAM, every core's SPM and ACC: for tests of
  /// equality.
  uint64_t memoryHash() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_DEVICE_H
