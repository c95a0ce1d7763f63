//===- QueueState.h - State behind Queue ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_SRC_QUEUESTATE_H
#define TESSERA_RUNTIME_SRC_QUEUESTATE_H

#include "CommandBufferState.h"
#include "MemoryState.h"
#include "Ring.h"
#include "SemaphoreState.h"
#include "tessera/ISA/Packet.h"
#include "tessera/runtime/Queue.h"
#include <deque>

namespace tessera::runtime {

/// A TimelinePoint inside the runtime; never null.
struct Point {
  std::shared_ptr<SemaphoreState> semaphore;
  uint64_t value = 0;
};

/// One operation in flight: a run of consecutive packets.
struct Submission {
  uint64_t first = 0, last = 0; ///< Packet indices, unwrapped.
  std::string label;
  std::vector<Point> waits, signals;
  /// Starts when all earlier work has completed.
  bool barrier = false;
  std::shared_ptr<CommandBufferState> commands; ///< Of an execute.
  std::vector<std::shared_ptr<const void>> keepAlive;
  std::vector<uint32_t> gates; ///< Indices in QueueState::gates.
};

/// What submit() turns into packets.
struct Operation {
  isa::Packet packet; ///< Its waits and completion are filled in by submit().
  std::string label;
  std::vector<Point> waits, signals;
  bool barrier = false;
  bool isBarrierOperation = false;
  bool waitsInPacket = false; ///< `packet` names the waits already.
  WhenFull whenFull = WhenFull::Wait;
  std::shared_ptr<CommandBufferState> commands;
  std::vector<std::shared_ptr<const void>> keepAlive;
  /// Instead of `packet`, as it is.
  std::vector<uint8_t> raw;
};

struct QueueState {
  ~QueueState();

  std::shared_ptr<Hardware> hardware;
  std::shared_ptr<AddressSpaceState> space;
  std::string label;
  uint32_t slot = 0; ///< Hardware queue.
  std::unique_ptr<Ring> ring;
  uint32_t nextId = 0;
  bool barrierPending = false; ///< The next packet carries the barrier flag.
  std::deque<Submission> inFlight; ///< Oldest first; also those that failed.
  Status failure;                  ///< Why the queue stopped.

  /// An internal semaphore between the packets of one operation. Recycled, its
  /// value growing, when the operation has completed.
  struct Gate {
    std::shared_ptr<SemaphoreState> semaphore;
    uint64_t value = 0;
    bool busy = false;
  };
  std::vector<Gate> gates;

  /// Turns the operation into packets and publishes them; an error changes
  /// nothing. A wait for room may give `lock` up for a while.
  Status submit(Operation operation, Hardware::Lock &lock);
  /// The completion drain and the fault check.
  Status update();
  /// Lets the device run until `done` or nothing can happen any more. In steps:
  /// no interrupt tells of a packet's completion.
  template <typename Condition>
  Result<bool> runUntil(Condition done, driver::Time deadline) {
    TESSERA_RETURN_IF_ERROR(hardware->update());
    while (!done()) {
      driver::Time now = hardware->driver->now();
      if (now >= deadline)
        return false;
      driver::Time step = now + stepCycles * hardware->cycleTime;
      TESSERA_ASSIGN_OR_RETURN(driver::Progress progress,
                               hardware->run(std::min(step, deadline)));
      if (progress == driver::Progress::Quiescent)
        return done();
    }
    return true;
  }
  static constexpr uint64_t stepCycles = 256;

  Result<uint64_t> readRegister(uint64_t offset) const;
  Status writeRegister(uint64_t offset, uint64_t value) const;

private:
  /// The packets of an operation, ready for publication.
  struct Prepared {
    std::vector<PacketImage> images;
    std::vector<uint32_t> gates;
    bool barrier = false;
  };
  Result<Prepared> prepare(Operation &operation);
  void publish(Operation &operation, Prepared &prepared);
  Result<std::vector<isa::Packet>> plan(Operation &operation,
                                        std::vector<uint32_t> &usedGates);
  Result<std::vector<isa::Packet>> planBarrier(Operation &operation) const;
  Result<Point> takeGate(std::vector<uint32_t> &usedGates);
  void releaseGates(const std::vector<uint32_t> &usedGates);
  Status checkPoints(const Operation &operation) const;
  Status makeRoom(uint64_t packets, const Operation &operation,
                  Hardware::Lock &lock);
  Status recordFault();
};

/// What Queue handles share: its end is the end of the user's interest.
struct QueueHandle {
  ~QueueHandle();
  std::shared_ptr<DeviceState> device;
  std::shared_ptr<QueueState> state;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SRC_QUEUESTATE_H
