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
// during the completion drain releases its memory. It is given up, at whatever
// depth, in three places only: a wait that only the host can satisfy
// (waitForHost), while a host call runs (QueueState::runHostCall), and between
// slices of device time if another thread wants it (stepShared). The driver has
// a lock of its own, always taken after this one.
//
// Queue state changes in three contexts only: submission (QueueState::submit
// and service()), the completion drain and the error callback (both in
// QueueState::update()).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_SRC_HARDWARE_H
#define TESSERA_RUNTIME_SRC_HARDWARE_H

#include "DeviceMutex.h"
#include "NotificationRing.h"
#include "RaceDetector.h"
#include "RangeAllocator.h"
#include "tessera/driver/Driver.h"
#include "tessera/runtime/Deadline.h"
#include "tessera/runtime/HostCosts.h"
#include <array>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tessera::runtime {

struct BufferState;
class HostScheduler;
class HostSlice;
class PageTables;
struct QueueState;
struct SemaphoreState;

inline constexpr unsigned numPhysicalSpaces = 3;
std::string_view spaceName(isa::PhysicalSpace space);

/// Numbers of a fixed table. A number given back is used again as late as
/// possible.
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
  ~Hardware();

  std::unique_ptr<driver::Driver> driver;
  std::string label;
  driver::Time cycleTime = 0; ///< Femtoseconds of a core cycle.
  HostCosts costs;
  driver::Time hostTime = 0; ///< That all costs came to.

  DeviceMutex mutex;
  std::condition_variable_any hostSignalled;
  unsigned hostWaiters = 0; ///< Threads in waitForHost().
  /// Whoever waits for the host looks again.
  void wakeHost() {
    if (hostWaiters)
      hostSignalled.notify_all();
  }

  std::array<RangeAllocator, numPhysicalSpaces> physical;
  /// How often pages are mapped by claimPage(), by address.
  std::array<std::map<uint64_t, uint64_t>, numPhysicalSpaces> claimedPages;
  SlotAllocator semaphoreSlots;
  uint64_t semaphoresMade = 0;
  /// Live queues in order of creation; each registers and removes itself.
  std::vector<QueueState *> queues;
  /// Who holds each of the device's queue slots.
  std::vector<QueueState *> slots;
  /// A digest of the memory, pages and semaphores that programs have now: equal
  /// if they are the same.
  uint64_t objects = 0;
  enum class Object : uint8_t { Memory, Page, Semaphore };
  /// It comes, or goes.
  void toggleObject(Object kind, uint64_t a, uint64_t b, uint64_t c);
  /// What cannot be undone: allocations of pools, resets.
  uint64_t lastingChanges = 0;
  uint64_t spacesMade = 0;
  std::vector<PageTables *> tables;         ///< Of live address spaces.
  std::vector<SemaphoreState *> semaphores; ///< Live ones.
  uint64_t buffersGone = 0; ///< Unmapped or deallocated under live handles.
  uint64_t restores = 0;    ///< Device memory went back to an earlier state.
  uint64_t failuresSeen = 0, failuresKnown = 0; ///< Of semaphores.
  /// Operations carry frontiers from when the first pool was made.
  bool tracksOrder = false;
  uint64_t slotSwitches = 0;
  size_t pendingOperations = 0; ///< Of all queues.
  uint64_t operationsAccepted = 0, operationsCompleted = 0,
           operationsCancelled = 0;
  NotificationRing notifications;
  /// Why nothing more is possible, once the device is closed.
  Status closed;

  /// Counts resets of the device: what was made before one is gone.
  uint64_t generation = 0;
  /// To be done at the next reset: memory that a lost device would not give up.
  std::vector<std::function<void()>> afterReset;
  /// Device time when the device last stopped: for events that are not worth a
  /// question.
  driver::Time seenTime = 0;
  std::vector<FaultReport> faults;
  /// Threads in a wait, for hang dumps.
  struct HostWait {
    const SemaphoreState *semaphore = nullptr; ///< Null: for something else,
    uint64_t value = 0;
    std::string what; ///< which is this.
  };
  std::list<HostWait> hostWaits;
  /// Present while races are looked for.
  std::unique_ptr<RaceDetector> races;
  bool traced = false;                        ///< There is a trace.
  std::vector<std::thread::id> tracedThreads; ///< By their numbers.
  /// Present while virtual threads run.
  HostScheduler *scheduler = nullptr;

  using Lock = std::unique_lock<DeviceMutex>;
  Lock lock();

  /// Page tables are not the program's: a device that goes back to an earlier
  /// state gets them as they are now.
  enum class MemoryOf : uint8_t { Program, Tables };
  /// OutOfMemory names `what`, the space and the bytes.
  Result<uint64_t> allocatePhysical(isa::PhysicalSpace space, uint64_t bytes,
                                    uint64_t alignment, std::string_view what,
                                    MemoryOf of = MemoryOf::Program);
  void releasePhysical(isa::PhysicalSpace space, uint64_t address,
                       uint64_t bytes, MemoryOf of = MemoryOf::Program);
  /// A page of 64 KiB that a program maps where it likes, as often as it likes;
  /// nobody else gets it meanwhile. FailedPrecondition if somebody has it.
  Status claimPage(isa::PhysicalSpace space, uint64_t address);
  void releasePage(isa::PhysicalSpace space, uint64_t address);

  /// Retires completed work and records faults of every queue.
  Status update();
  /// What becomes of host calls that are due. They run in threads that wait for
  /// something of the device only: one that submits may hold a lock of the
  /// program's that the function takes. They never run inside one another.
  enum class HostCalls : uint8_t { Leave, Run };
  /// Publishes what can be published, cancels what has lost its cause, hands
  /// out queue slots; true if anything changed.
  Result<bool> service(HostCalls calls = HostCalls::Leave);
  /// Lets the device run until an interrupt or the deadline, then updates and
  /// serves. Quiescent: nothing happens any more and there was nothing to do.
  /// A deadline of the host ends it after a while; look at reached().
  Result<driver::Progress> run(Deadline deadline);
  /// Only lets the device run, and takes what it tells.
  driver::Progress step(driver::Time until);
  /// The same in slices, between which other threads get the lock that wait for
  /// it; then, and for a deadline of the host, it comes back after a slice.
  driver::Progress stepShared(Deadline deadline);
  bool reached(Deadline deadline) const;
  /// Gives the lock up until the host signals or submits something, the
  /// deadline, if it is the host's, or for a while: the caller looks again.
  /// Deadlock if only virtual threads could help and all of them wait;
  /// DeviceLost.
  Status waitForHost(Deadline deadline);
  /// DeviceLost if the device does not answer.
  Status alive() const;

  /// FailedPrecondition in a thread that runs a host call: device time passes
  /// only outside; Cancelled once the device is closed.
  Status mayWait(std::string_view who) const;
  /// Takes what kernels touched since the last time to the race detector.
  void collectAccesses();
  /// The operation in flight that may touch the memory, or "".
  std::string userOf(const BufferState *memory) const;
  /// Unmapped as soon as nothing in flight touches them.
  std::vector<std::shared_ptr<BufferState>> unmapLater;

  struct HostCall {
    std::thread::id thread;
    std::string name;
    driver::Time owed = 0; ///< What its own calls cost, spent at its end.
  };
  std::vector<HostCall> hostCalls;
  HostCall *hostCallOfThisThread();

  /// The host works for so long. The device runs on, and completions are
  /// served; whatever the caller knew of it may have changed. In a host call it
  /// is owed.
  Status spend(uint64_t nanoseconds);
  /// Lets a thread wait by `wait`, which gives a Status, and then wake up.
  template <typename Wait> Status waitAndWake(Wait wait);
  /// The host works inside service(): the device runs on and nobody is served.
  void spendInside(driver::Time cost);

  /// A slot for the queue, now or once another queue has drained; whether it
  /// has one now.
  Result<bool> giveSlot(QueueState &queue);
  /// FailedPrecondition naming an operation in flight; else all slots are free.
  Status comeToRest();

private:
  /// Lets an idle device's clock go on; false if it cannot.
  bool idleUntil(driver::Time time);
  Result<driver::Progress> runDevice(Deadline deadline, HostCalls calls);
  Result<driver::Progress> runVirtual(Deadline deadline);
  Status drain();
  Status retractHopeless();
  Status unmapUnused();
  /// Doorbells that got lost: an idle device has unread packets. True if there
  /// were any.
  Result<bool> ringAgain();
};

/// While it lives, a thread of the host is at something, for a trace. The
/// device's lock is held at both ends.
class HostSlice {
public:
  HostSlice(Hardware &hardware, driver::HostActivity activity);
  ~HostSlice();
  HostSlice(const HostSlice &) = delete;
  HostSlice &operator=(const HostSlice &) = delete;

private:
  Hardware &hardware;
  driver::HostActivity activity;
  uint32_t thread = 0;
  bool traced;
};

/// While it lives, hang dumps list a wait of a thread. The device's lock is
/// held at both ends.
class ListedWait {
public:
  ListedWait(Hardware &hardware, Hardware::HostWait wait)
      : hardware(hardware), place(hardware.hostWaits.insert(
                                hardware.hostWaits.end(), std::move(wait))) {}
  ~ListedWait() { hardware.hostWaits.erase(place); }
  ListedWait(const ListedWait &) = delete;
  ListedWait &operator=(const ListedWait &) = delete;

private:
  Hardware &hardware;
  std::list<Hardware::HostWait>::iterator place;
};

template <typename Wait> Status Hardware::waitAndWake(Wait wait) {
  HostSlice slice(*this, driver::HostActivity::Wait);
  driver::Time before = driver->now();
  Status status = wait();
  if (driver->now() == before || status.code() == StatusCode::DeadlineExceeded)
    return status;
  Status woken = spend(costs.wakeNs);
  return status.ok() ? woken : status;
}

/// Owner of the hardware on behalf of the user's handles: it also keeps the
/// memory of queues that were dropped with work that cannot finish, for as long
/// as somebody can still make the device run.
struct DeviceState {
  ~DeviceState();
  std::shared_ptr<Hardware> hardware;
  std::vector<std::shared_ptr<QueueState>> abandoned;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SRC_HARDWARE_H
