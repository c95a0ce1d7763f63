//===- Completion.cpp - The end of operations ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QueueState.h"
#include "tessera/ISA/Mmio.h"
#include "tessera/Support/Mutant.h"
#include <algorithm>
#include <fmt/format.h>

using namespace tessera::isa;

namespace tessera::runtime {

//===----------------------------------------------------------------------===//
// One operation
//===----------------------------------------------------------------------===//

void QueueState::release(Submission &work) {
  for (const Point &signal : work.signals)
    signal.semaphore->removeProducer(signal.value);
  if (work.commands)
    --work.commands->executionsInFlight;
  work.commands.reset();
  if (work.hostCall)
    hardware->mutex.discard(std::exchange(work.hostCall, {}));
  releaseGates(work.gates);
  work.images.clear();
  work.keepAlive.clear();
}

void QueueState::complete(Submission &work) {
  work.stage = Stage::Completing;
  noteCompletion(work);
  release(work);
  work.stage = Stage::Done;
  ++hardware->operationsCompleted;
}

void QueueState::cancel(Submission &work, const Status &why) {
  if (work.stage == Stage::Pending) {
    unpark(work);
  } else {
    workUnknown = true; // It may have run in part.
  }
  noteCancellation(work, work.stage == Stage::Cancelling);
  work.stage = Stage::Cancelling;
  for (const Point &signal : work.signals)
    signal.semaphore->fail(why);
  if (lost.ok())
    lost = why;
  release(work);
  work.stage = Stage::Done;
  ++hardware->operationsCancelled;
}

void QueueState::popDone() {
  while (!inFlight.empty() && !inFlight.front().inFlight())
    inFlight.pop_front();
  if (!pending)
    wantsSlot = false;
}

bool QueueState::cancelHopeless() {
  bool any = false, behind = false;
  for (Submission &work : inFlight) {
    if (work.stage != Stage::Pending)
      continue;
    if (behind && work.barrier) {
      cancel(work, Status(StatusCode::Aborted,
                          fmt::format("queue '{}': '{}' is aborted: {}", label,
                                      work.label, lost.message())));
      any = true;
      continue;
    }
    size_t hopeless = 0;
    Status why;
    for (const Point &wait : work.waits) {
      if (wait.semaphore->failure.ok())
        continue;
      Result<bool> reached = wait.semaphore->reached(wait.value);
      if (!reached || *reached)
        continue;
      ++hopeless;
      if (why.ok())
        why = wait.semaphore->failure.withContext(fmt::format(
            "queue '{}': '{}' waits for semaphore '{}' >= {}, which failed",
            label, work.label, wait.semaphore->label, wait.value));
    }
    if (hopeless == 0 || (work.anyWait && waitsMet(work)))
      continue;
    cancel(work, why);
    any = behind = true;
  }
  popDone();
  return any;
}

void QueueState::cancelAll(const Status &why) {
  for (Submission &work : inFlight) {
    if (!work.inFlight())
      continue;
    if (work.isHostCall && work.stage != Stage::Pending) {
      // It runs right now, and ends when it comes back.
      if (work.stage == Stage::Completing) {
        noteCancellation(work, false);
        for (const Point &signal : work.signals)
          signal.semaphore->fail(why);
        release(work);
        ++hardware->operationsCancelled;
      }
      work.stage = Stage::Cancelling;
      continue;
    }
    cancel(work, why);
  }
  published.clear();
  openReservations = 0;
  ++life;
  popDone();
  ring->retire(ring->published());
}

//===----------------------------------------------------------------------===//
// The completion drain
//===----------------------------------------------------------------------===//

/// Indices may wrap around: what counts is their distance.
static bool before(uint64_t index, uint64_t other) {
  return int64_t(index - other) < 0;
}

static bool packetDone(uint64_t index, uint64_t done, uint64_t mask) {
  return before(index, done) ||
         (index - done < 64 && mask >> (index - done) & 1);
}

bool QueueState::packetsDone(const Submission &work, uint64_t done,
                             uint64_t mask) const {
  for (uint64_t index = work.first;; ++index) {
    if (!packetDone(index, done, mask))
      return false;
    if (index == work.last)
      return true;
  }
}

Status QueueState::update() {
  if (!slot || published.empty())
    return Status::success();
  TESSERA_ASSIGN_OR_RETURN(uint64_t done, readRegister(mmio::queueDone));
  if (before(ring->published(), done))
    return Status(
        StatusCode::DeviceLost,
        fmt::format("queue '{}': the device reports {} packets done of {} "
                    "published",
                    label, done - firstIndex, ring->published() - firstIndex));
  while (!published.empty() &&
         before(published.front()->last,
                done + TESSERA_MUTANT("completed-one-early"))) {
    complete(*published.front());
    published.pop_front();
  }
  // Packets may complete out of order behind one that has not.
  if (published.size() > 1) {
    TESSERA_ASSIGN_OR_RETURN(uint64_t mask, readRegister(mmio::queueDoneMask));
    if (mask)
      std::erase_if(published, [&](Submission *work) {
        if (!packetsDone(*work, done, mask))
          return false;
        complete(*work);
        return true;
      });
  }
  ring->retire(done);
  popDone();
  if (published.empty() && !stopping)
    return Status::success();
  if (failure.ok()) {
    TESSERA_ASSIGN_OR_RETURN(uint64_t status, readRegister(mmio::queueStatus));
    if (static_cast<mmio::QueueStatus>(status) == mmio::QueueStatus::Faulted)
      TESSERA_RETURN_IF_ERROR(recordFault());
  }
  return stopping ? finishStopping() : Status::success();
}

//===----------------------------------------------------------------------===//
// The error callback
//===----------------------------------------------------------------------===//

static StatusCode codeOf(mmio::FaultCause cause) {
  switch (cause) {
  case mmio::FaultCause::IllegalPacket:
  case mmio::FaultCause::SemaphoreRange:
  case mmio::FaultCause::NonIncreasingSignal:
    return StatusCode::InvalidArgument;
  case mmio::FaultCause::PageFault:
  case mmio::FaultCause::ProtectionFault:
  case mmio::FaultCause::PoisonedPage:
    return StatusCode::PageFault;
  case mmio::FaultCause::BusError:
    return StatusCode::BusError;
  case mmio::FaultCause::Watchdog:
    return StatusCode::Timeout;
  default:
    return StatusCode::Aborted;
  }
}

Status QueueState::recordFault() {
  TESSERA_ASSIGN_OR_RETURN(uint64_t causeValue, readRegister(mmio::faultCause));
  TESSERA_ASSIGN_OR_RETURN(uint64_t packet, readRegister(mmio::faultPacket));
  TESSERA_ASSIGN_OR_RETURN(uint64_t core, readRegister(mmio::faultCore));
  TESSERA_ASSIGN_OR_RETURN(uint64_t pc, readRegister(mmio::faultPc));
  TESSERA_ASSIGN_OR_RETURN(uint64_t address, readRegister(mmio::faultAddress));
  auto cause = static_cast<mmio::FaultCause>(causeValue);
  uint32_t ringIndex = packet, command = packet >> 32;

  // The register holds 32 bits; the ring tells which of the live ones.
  uint64_t index = ring->retired();
  while (index != ring->published() &&
         ((index ^ ringIndex) & (ring->slots() - 1)) != 0)
    ++index;

  std::string name = "unknown packet", where;
  Submission *culprit = nullptr;
  for (Submission *work : published)
    if (!before(index, work->first) && !before(work->last, index)) {
      culprit = work;
      name = work->label;
      if (work->commands) {
        where = fmt::format(", command {}", command);
        if (std::string name = work->commands->nameOf(command); !name.empty())
          where += fmt::format(" '{}'", name);
        where += fmt::format(", core {}, pc {}", core, pc);
      }
    }
  failure =
      Status(codeOf(cause),
             fmt::format("queue '{}': packet {} '{}'{}: {}, address or value "
                         "{:#x}",
                         label, index - firstIndex, name, where,
                         mmio::faultCauseName(cause), address));
  noteFault(culprit, cause, index, command, core, pc, address);
  // What has started finishes, and keeps its memory until then; nothing else
  // will start.
  if (culprit) {
    culprit->stage = Stage::Cancelling;
    for (const Point &signal : culprit->signals)
      signal.semaphore->fail(failure);
  }
  stopping = true;
  ++life;
  TESSERA_RETURN_IF_ERROR(writeRegister(mmio::queueEnable, 0));
  for (Submission &work : inFlight)
    if (work.stage == Stage::Pending)
      cancel(work, aborted(work));
  if (TESSERA_MUTANT("wrong-queue-aborted"))
    for (QueueState *other : hardware->queues)
      for (Submission &work : other->inFlight)
        if (work.stage == Stage::Pending)
          other->cancel(work, aborted(work));
  popDone();
  return Status::success();
}

Status QueueState::aborted(const Submission &work) const {
  return Status(StatusCode::Aborted,
                fmt::format("queue '{}': packet {} '{}' is aborted: {}", label,
                            work.first - firstIndex, work.label,
                            failure.message()));
}

/// Takes back what the device has not started: some of it waits for work that
/// has failed, and would keep the slot for ever.
Status QueueState::retract() {
  if (!slot || stopping || openReservations)
    return Status::success();
  bool hopeless = std::ranges::any_of(published, [](const Submission *work) {
    return std::ranges::any_of(work->waits, [](const Point &wait) {
      Result<bool> reached = wait.semaphore->reached(wait.value);
      return !wait.semaphore->failure.ok() && reached && !*reached;
    });
  });
  if (!hopeless)
    return Status::success();
  stopping = true;
  TESSERA_RETURN_IF_ERROR(writeRegister(mmio::queueEnable, 0));
  return finishStopping();
}

/// Once what had started has finished: the mask tells what that was.
Status QueueState::finishStopping() {
  TESSERA_ASSIGN_OR_RETURN(uint64_t status, readRegister(mmio::queueStatus));
  if (static_cast<mmio::QueueStatus>(status) != mmio::QueueStatus::Disabled)
    return Status::success();
  TESSERA_ASSIGN_OR_RETURN(uint64_t done, readRegister(mmio::queueDone));
  TESSERA_ASSIGN_OR_RETURN(uint64_t mask, readRegister(mmio::queueDoneMask));
  if (failure.ok()) { // It goes on with what is left.
    for (Submission *work : published) {
      if (packetsDone(*work, done, mask)) {
        complete(*work);
        continue;
      }
      // What it has done already it must not do again.
      for (uint64_t index = work->first;; ++index) {
        if (!packetDone(index, done, mask))
          work->images.push_back(ring->image(index));
        if (index == work->last)
          break;
      }
      park(*work);
    }
    published.clear();
    popDone();
    ring->retire(ring->published());
    return detach();
  }
  for (Submission *work : published) {
    if (work->stage == Stage::Cancelling)
      cancel(*work, failure);
    else if (packetsDone(*work, done, mask))
      complete(*work);
    else
      cancel(*work, aborted(*work));
  }
  published.clear();
  openReservations = 0;
  popDone();
  ring->retire(ring->published());
  return detach();
}

QueueHandle::~QueueHandle() {
  if (!state)
    return;
  Hardware::Lock lock = state->hardware->lock();
  // What can finish does; a device that fails here is lost anyway. A stopped
  // queue starts nothing any more, but what had started may still be running.
  Result<bool> idle = state->runUntil([&] { return state->inFlight.empty(); },
                                      Deadline::infinite());
  if (!idle || !*idle)
    device->abandoned.push_back(state);
  std::erase_if(device->abandoned,
                [](const auto &queue) { return queue->inFlight.empty(); });
}

DeviceState::~DeviceState() {
  Hardware::Lock lock = hardware->lock();
  abandoned.clear();
  // These would keep the hardware alive that keeps them.
  auto last = std::exchange(hardware->unmapLater, {});
}

} // namespace tessera::runtime
