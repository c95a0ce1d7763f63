//===- Device.h - A device and what its handles share -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A Device owns a driver. Every handle of the runtime is a small value that
// shares ownership of its object; objects may be dropped in any order, at any
// time. A default-made handle is empty: operations on it are
// FailedPrecondition; the plain accessors of Device need one that is not.
//
// Threads: every call may come from any thread. One lock per device guards the
// state of all its objects (Hardware.h); publication of a packet to the device
// is a release store of its header byte. Device time passes inside waits, and
// as much as HostCosts say in other calls.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_DEVICE_H
#define TESSERA_RUNTIME_DEVICE_H

#include "tessera/driver/Driver.h"
#include "tessera/runtime/Deadline.h"
#include "tessera/runtime/Diagnosis.h"
#include "tessera/runtime/HostCosts.h"
#include "tessera/runtime/Snapshot.h"
#include <memory>
#include <string>

namespace tessera::runtime {

struct DeviceState;

/// What has become of the operations submitted.
struct DeviceStatistics {
  uint64_t operationsAccepted = 0, operationsCompleted = 0,
           operationsCancelled = 0;
  /// Now on the host: a wait, a barrier or a queue slot is missing.
  uint64_t operationsParked = 0;
  uint64_t slotSwitches = 0; ///< Times that a queue took a hardware slot.
  uint64_t notifications = 0, notificationOverflows = 0;
  /// Device time that the host's work took, femtoseconds; of all threads.
  driver::Time hostTime = 0;
};

/// Of one physical space. Bytes.
struct MemoryStatistics {
  uint64_t total = 0, used = 0, peakUsed = 0, largestFree = 0;
  uint64_t allocations = 0, failures = 0;
  /// What of the free memory is not in the largest free range: 0 to 1.
  double fragmentation() const {
    uint64_t free = total - used;
    return free ? 1.0 - double(largestFree) / double(free) : 0.0;
  }
};

class Device {
public:
  Device() = default;
  /// Takes over a driver whose device is fresh from reset. InvalidArgument for
  /// costs beyond an hour.
  static Result<Device> create(std::unique_ptr<driver::Driver> driver,
                               std::string label = "device",
                               const HostCosts &costs = {});

  const Architecture &architecture() const;
  const std::string &label() const;
  driver::Time now() const;
  /// Femtoseconds of one core cycle.
  driver::Time cycleTime() const;
  /// `cycles` core cycles from now; infinite beyond the clock's 2^64 fs.
  Deadline afterCycles(uint64_t cycles) const;

  /// Bytes of a physical space that are in use by buffers, rings and tables.
  uint64_t bytesInUse(isa::PhysicalSpace space) const;

  MemoryStatistics memoryStatistics(isa::PhysicalSpace space) const;

  /// The device's state, once nothing is in flight. FailedPrecondition while
  /// something is; Unsupported by drivers without snapshots.
  Result<Snapshot> snapshot();
  /// Back to that state, its clock included. FailedPrecondition while something
  /// is in flight, or if memory or semaphores were allocated or given back
  /// since; InvalidArgument for one of another device.
  Status restore(const Snapshot &snapshot);

  /// Ends everything: the device stops, work that has not completed is
  /// cancelled, every wait, also of other threads, returns Cancelled, and no
  /// host call starts any more. Handles stay valid and can be dropped in any
  /// order; new work is refused with FailedPrecondition.
  Status close();

  /// Resets the device, lost or not: it forgets all queues and semaphores,
  /// memories keep their contents. Queues and semaphores made before fail with
  /// DeviceLost and can only be dropped; address spaces and buffers stay.
  Status reset();

  // Diagnosis. docs/runtime.md tells how to read it.
  /// Everything that tells why nothing moves, at this moment.
  HangDump hangDump() const;
  /// Faults since the device was made or reset, in the order in which the host
  /// learnt of them. Those alike are one.
  std::vector<FaultReport> faults() const;
  /// Looks for races from now on; accesses until now count as ordered. Costs
  /// host time and memory, no device time.
  void detectRaces();
  std::vector<RaceReport> races() const;
  /// Looks for races with what kernels really read and write as well as with
  /// what is declared, from operations submitted now on; and compares the two.
  /// Unsupported by devices that do not tell.
  Status observeKernels();
  /// What kernels of operations that declare anything touched beyond it.
  std::vector<UndeclaredAccess> undeclaredAccesses() const;
  /// Whether the device's engines did what the operations reported complete ask
  /// for: Internal names the queue. Of idle queues only; waitIdle() does it
  /// too.
  Status checkWork() const;

  /// Counts since the device was created.
  DeviceStatistics statistics() const;

  /// The driver, for observers (statistics, traces). Not for submission.
  driver::Driver &driver() const;

  explicit operator bool() const { return state != nullptr; }

private:
  friend class AddressSpace;
  friend class Semaphore;
  friend class Queue;
  friend class Trace;
  friend class VirtualThreads;
  std::shared_ptr<DeviceState> state;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_DEVICE_H
