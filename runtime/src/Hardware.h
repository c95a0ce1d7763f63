//===- Hardware.h - What all objects of a device share ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver, the physical allocators, the tables of semaphore and queue slots,
// and the one lock. Every object's state points here; nothing here owns them.
//
// Locking: `mutex` guards this struct and every *State of the device. Public
// calls take it on entry and hold it while the device runs; internal functions
// expect it held. It is recursive because dropping the last handle of a buffer
// during the completion drain releases its memory. A wait that only the host
// can satisfy gives the lock up in `hostSignalled`.
//
// Queue state changes in three places only: submission (QueueState::submit),
// the completion drain and the fault check (both in update()).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_SRC_HARDWARE_H
#define TESSERA_RUNTIME_SRC_HARDWARE_H

#include "RangeAllocator.h"
#include "tessera/driver/Driver.h"
#include "tessera/runtime/Deadline.h"
#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tessera::runtime {

struct QueueState;
struct SemaphoreState;

inline constexpr unsigned numPhysicalSpaces = 3;
std::string_view spaceName(isa::PhysicalSpace space);

/// Numbers of a fixed table: semaphores, queue slots. A number given back is
/// used again as late as possible.
class SlotAllocator {
public:
  SlotAllocator(uint32_t first, uint32_t end)
      : first(first), next(first), used(end, false) {}
  std::optional<uint32_t> allocate();
  void release(uint32_t slot) { used[slot] = false; }

private:
  uint32_t first, next;
  std::vector<bool> used;
};

struct Hardware {
  Hardware(std::unique_ptr<driver::Driver> driver, std::string label);

  std::unique_ptr<driver::Driver> driver;
  std::string label;
  driver::Time cycleTime = 0; ///< Femtoseconds of a core cycle.

  std::recursive_mutex mutex;
  std::condition_variable_any hostSignalled;

  std::array<RangeAllocator, numPhysicalSpaces> physical;
  SlotAllocator semaphoreSlots, queueSlots;
  /// Live queues in order of creation; each registers and removes itself.
  std::vector<QueueState *> queues;

  using Lock = std::unique_lock<std::recursive_mutex>;
  Lock lock() { return Lock(mutex); }

  /// OutOfMemory names `what`, the space and the bytes.
  Result<uint64_t> allocatePhysical(isa::PhysicalSpace space, uint64_t bytes,
                                    uint64_t alignment, std::string_view what);
  void releasePhysical(isa::PhysicalSpace space, uint64_t address,
                       uint64_t bytes);

  /// Retires completed work and records faults of every queue.
  Status update();
  /// Lets the device run until an interrupt or `deadline`, then updates.
  Result<driver::Progress> run(driver::Time deadline);
};

/// Owner of the hardware on behalf of the user's handles: it also keeps the
/// memory of queues that were dropped with work that cannot finish, for as long
/// as somebody can still make the device run.
struct DeviceState {
  std::shared_ptr<Hardware> hardware;
  std::vector<std::shared_ptr<QueueState>> abandoned;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SRC_HARDWARE_H
