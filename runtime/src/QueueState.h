//===- QueueState.h - State behind Queue ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A queue of the user. It has a ring of its own and holds one of the device's
// queue slots while the device has packets of it (QueueSlots.h).
//
// An operation is published once every wait of it is met or will be met by what
// is published already: so all that the device holds can finish without the
// host, and slots come free however many queues share them. What cannot be
// published yet is parked here. Publication keeps the order that barriers ask
// for, and nothing else of the order of submission.
//
// Contexts that change this state, all with the device's lock held: submission
// (submit, Reservation), the completion drain and the error callback (both from
// update()).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_SRC_QUEUESTATE_H
#define TESSERA_RUNTIME_SRC_QUEUESTATE_H

#include "FlightRecorder.h"
#include "MemoryState.h"
#include "RecyclingAllocator.h"
#include "Submission.h"
#include <deque>

namespace tessera::runtime {

struct QueueState : std::enable_shared_from_this<QueueState> {
  ~QueueState();

  std::shared_ptr<Hardware> hardware;
  std::shared_ptr<AddressSpaceState> space;
  std::string label;
  uint8_t priority = 0;
  bool inOrder = false;
  uint64_t firstIndex = 0; ///< Of the first packet.
  uint64_t generation = 0; ///< Of the hardware, when it was made.
  std::unique_ptr<Ring> ring;
  uint32_t nextId = 0;
  bool barrierPending = false; ///< The next packet carries the barrier flag.
  /// Oldest first; also those that failed. Elements do not move.
  std::deque<Submission, RecyclingAllocator<Submission>> inFlight;
  std::deque<Submission *> published; ///< Those in the ring, in its order.
  // Of the operations in stage Pending; park() and unpark() count them.
  size_t pending = 0;
  size_t pendingBarriers = 0;
  uint64_t pendingPackets = 0;
  size_t callsRunning = 0; ///< Host calls that have not come back.
  uint64_t operations = 0; ///< Accepted until now.
  /// What has been reached before anything behind the last barrier starts.
  Frontier behindBarrier;
  /// Deallocations of the queue, in order (MemoryPool).
  std::shared_ptr<SemaphoreState> deallocations;
  uint64_t deallocated = 0;
  /// What the next one is to signal.
  Result<Point> nextDeallocation();
  Status failure; ///< Why the queue stopped.
  /// The first operation that failed since waitIdle() last told of one, while
  /// the queue goes on.
  Status lost;
  uint32_t openReservations = 0;
  uint64_t life = 0; ///< Stops and resets until now; reservations end there.

  /// The device's queue slot that it holds.
  std::optional<uint32_t> slot;
  uint64_t attachedAt = 0; ///< Counts Hardware::slotSwitches.
  bool draining = false;   ///< Publishes no more: another queue waits.
  bool stopping = false;   ///< Disabled after a fault; started work finishes.
  bool wantsSlot = false;
  uint64_t passedOver = 0; ///< Times that another queue got a slot first.

  /// An internal semaphore between the packets of one operation. Recycled, its
  /// value growing, when the operation has completed.
  struct Gate {
    std::shared_ptr<SemaphoreState> semaphore;
    uint64_t value = 0;
    bool busy = false;
  };
  std::vector<Gate> gates;
  /// Gives back those made after that many semaphores; of an idle queue.
  void dropGates(uint64_t semaphoresMade) {
    std::erase_if(gates, [&](const Gate &gate) {
      return gate.semaphore->serial > semaphoresMade;
    });
  }

  FlightRecorder flight;
  /// What its completed operations ask of the engines, and what the engines of
  /// the slots that it has left say that they did.
  EngineWork expected, done;
  EngineWork slotBase; ///< The slot's counters when it took the slot.
  /// Operations that may have run in part: the engines' counts say nothing.
  bool workUnknown = false;

  /// Packets that it takes at once, and how many more it takes now.
  uint64_t capacity() const { return ring->capacity(); }
  uint64_t room() const;

  /// Turns the operation into packets and publishes or parks them; an error
  /// changes nothing. A wait for room may give the lock up for a while.
  Status submit(Operation &operation);
  /// Queue::waitIdle() with the lock held.
  Status waitIdle(Deadline deadline);
  /// The completion drain and the fault check.
  Status update();
  /// Publishes what can be; true if something was.
  Result<bool> publishPending();
  /// Fails pending operations whose waits have failed, and what barriers order
  /// behind them; true if there were any.
  bool cancelHopeless();
  /// Fails everything that has not completed.
  void cancelAll(const Status &why);
  /// Runs a due host call with the lock given up; true if there was one. Queues
  /// may come and go meanwhile.
  Result<bool> runHostCall();
  /// Asks for interrupts at all that pending host calls wait for.
  Status armHostCalls();
  /// The device has nothing more of it, so its slot may go to another.
  bool idleOnDevice() const { return published.empty() && !openReservations; }

  /// Lets the device run until `done` or nothing can happen any more; false at
  /// the deadline or then. Told by the device at every completion in order.
  template <typename Condition>
  Result<bool> runUntil(Condition done, Deadline deadline) {
    TESSERA_RETURN_IF_ERROR(hardware->update());
    TESSERA_RETURN_IF_ERROR(
        hardware->service(Hardware::HostCalls::Run).status());
    while (!done()) {
      TESSERA_RETURN_IF_ERROR(hardware->mayWait(label));
      if (hardware->reached(deadline))
        return false;
      TESSERA_RETURN_IF_ERROR(askForCompletion());
      TESSERA_ASSIGN_OR_RETURN(driver::Progress progress,
                               hardware->run(deadline));
      if (progress == driver::Progress::Quiescent)
        return done();
    }
    return true;
  }
  /// A QueueDone interrupt as the oldest packet completes.
  Status askForCompletion() const;

  Result<uint64_t> readRegister(uint64_t offset) const;
  Status writeRegister(uint64_t offset, uint64_t value) const;
  /// The doorbell for all that is published.
  Status ringDoorbell() const;

  /// Rings the doorbell once more if the idle device has not read all that is
  /// published; false once that does not help.
  Result<bool> ringAgain();

  // Diagnosis (Bookkeeping.cpp).
  EngineWork workOf(const Operation &operation) const;
  void noteSubmission(Submission &work, const Operation &operation);
  void noteCompletion(Submission &work);
  void noteAccesses(const driver::DispatchAccesses &dispatch);
  void noteCancellation(Submission &work, bool faulted);
  void noteFault(const Submission *culprit, isa::mmio::FaultCause cause,
                 uint64_t index, uint32_t command, uint64_t core, uint64_t pc,
                 uint64_t address);
  uint32_t raceNumber();
  /// Internal if operations were reported complete for which the engines did
  /// less, or more, than they ask for. Only of an idle queue.
  Status checkWork() const;
  Result<EngineWork> slotCounters() const;
  QueueDump dump() const;

  // Slots (QueueSlots.cpp).
  Status attach(uint32_t toSlot);
  Status detach();

private:
  /// The packets of an operation, ready for publication.
  struct Prepared {
    PacketImage image; ///< The only one, if `images` is empty.
    std::vector<PacketImage> images;
    std::vector<uint32_t> gates;
    bool barrier = false;
    uint64_t packets() const { return images.empty() ? 1 : images.size(); }
  };
  Status prepare(Operation &operation, Prepared &prepared);
  Status accept(Operation &operation, Prepared &prepared);
  Result<std::vector<isa::Packet>> plan(Operation &operation,
                                        std::vector<uint32_t> &usedGates);
  Result<std::vector<isa::Packet>> planBarrier(Operation &operation) const;
  Result<Point> takeGate(std::vector<uint32_t> &usedGates);
  void releaseGates(const std::vector<uint32_t> &usedGates);
  /// The host raises them all, or none: InvalidArgument unless each grows and
  /// overtakes nobody's.
  Status signalsOfHostCall(const Submission &work);
  Status checkPoints(const Operation &operation) const;
  /// The buffers and ranges of the uses declared; whole sizes become numbers.
  Status checkUses(Operation &operation) const;
  /// Deadlock if earlier work of the queue waits for what only this operation,
  /// which comes after it, would signal.
  Status checkOrder(const Operation &operation) const;
  Status makeRoom(uint64_t packets, const Operation &operation);

  // Publication.
  void park(Submission &work);
  /// Its next stage is up to the caller.
  void unpark(Submission &work);
  /// Whether parked work may be published, in a slot; `held`: something earlier
  /// has not been published, or is a host call that has not come back.
  bool publishable(const Submission &work, bool held) const;
  /// Publishes it, without the doorbell, if its queue has a slot or gets one.
  Result<bool> publishParked(Submission &work);
  bool waitsCovered(const Submission &work) const;
  bool waitsMet(const Submission &work) const;
  void enter(Submission &work, std::span<const PacketImage> images);
  bool earlierDone(const Submission &work) const;
  // The end of operations.
  bool packetsDone(const Submission &work, uint64_t done, uint64_t mask) const;
  void complete(Submission &work);
  void cancel(Submission &work, const Status &why);
  void release(Submission &work);
  void popDone();
  Status recordFault();
  Status aborted(const Submission &work) const;

public:
  /// What has been reached before an operation with these waits would start.
  Frontier orderBefore(std::span<const Point> waits, bool barrier) const;
  Status finishStopping();

public:
  Status retract();

private:
  /// How often the doorbell was rung again since the device read on.
  uint64_t unreadIndex = 0;
  unsigned ringsAgain = 0;
  static constexpr unsigned maxRingsAgain = 16;
  std::optional<uint32_t> raceQueue;
};

/// What Queue handles share: its end is the end of the user's interest.
struct QueueHandle {
  ~QueueHandle();
  std::shared_ptr<DeviceState> device;
  std::shared_ptr<QueueState> state;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SRC_QUEUESTATE_H
