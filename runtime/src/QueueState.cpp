//===- QueueState.cpp - Submission and publication -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QueueState.h"
#include "DeadlockProof.h"
#include "tessera/ISA/Mmio.h"
#include "tessera/Support/Mutant.h"
#include <algorithm>
#include <fmt/format.h>

using namespace tessera::isa;

namespace tessera::runtime {

Result<uint64_t> QueueState::readRegister(uint64_t offset) const {
  return hardware->driver->mmioRead(mmio::queueBase +
                                    *slot * mmio::queueStride + offset);
}
Status QueueState::writeRegister(uint64_t offset, uint64_t value) const {
  return hardware->driver->mmioWrite(
      mmio::queueBase + *slot * mmio::queueStride + offset, value);
}
Status QueueState::ringDoorbell() const {
  return writeRegister(mmio::queueDoorbell,
                       ring->published() - 1 -
                           TESSERA_MUTANT("doorbell-one-short"));
}
Status QueueState::askForCompletion() const {
  // Nothing in the ring: something else must happen first.
  if (!slot || published.empty())
    return Status::success();
  return writeRegister(mmio::queueNotify, ring->retired() + 1);
}

QueueState::~QueueState() {
  Hardware::Lock lock = hardware->lock();
  std::erase(hardware->queues, this);
  hardware->pendingOperations -= pending;
  for (Submission &work : inFlight)
    for (const Point &signal : work.signals)
      signal.semaphore->removeProducer(signal.value);
  if (slot)
    (void)detach();
}

Result<bool> QueueState::ringAgain() {
  if (TESSERA_MUTANT("lost-doorbell-stays-lost"))
    return false;
  if (!failure.ok() || published.empty() || openReservations)
    return false;
  TESSERA_ASSIGN_OR_RETURN(uint64_t read, readRegister(mmio::queueRead));
  if (int64_t(ring->published() - read) <= 0) // Indices wrap around.
    return false;
  if (read != unreadIndex) {
    unreadIndex = read;
    ringsAgain = 0;
  }
  // A full window of parked packets is not read on by ringing.
  if (ringsAgain == maxRingsAgain)
    return false;
  ++ringsAgain;
  TESSERA_RETURN_IF_ERROR(ringDoorbell());
  return true;
}

uint64_t QueueState::room() const {
  return ring->capacity() - (ring->published() - ring->retired()) -
         pendingPackets;
}

//===----------------------------------------------------------------------===//
// Submission
//===----------------------------------------------------------------------===//

Status QueueState::makeRoom(uint64_t packets, const Operation &operation) {
  if (packets > capacity())
    return Status(StatusCode::InvalidArgument,
                  fmt::format("needs {} packets, the ring of {} slots takes {} "
                              "at once",
                              packets, ring->slots(), capacity()));
  TESSERA_RETURN_IF_ERROR(hardware->update());
  if (room() >= packets)
    return Status::success();
  if (operation.whenFull == WhenFull::Fail)
    return Status(
        StatusCode::ResourceExhausted,
        fmt::format("needs {} packets, the ring has room for {} of {}", packets,
                    room(), capacity()));
  ListedWait listed(*hardware,
                    {.what = fmt::format("room for {} packets in queue '{}'",
                                         packets, label)});
  TESSERA_ASSIGN_OR_RETURN(
      bool progress,
      runUntil([&] { return room() >= packets || !failure.ok(); },
               Deadline::infinite()));
  if (progress)
    return Status::success();
  Verdict verdict = judge(*this);
  if (verdict.kind != Verdict::Kind::HostMaySignal)
    return verdict.status.withContext("the ring is full and stays so");
  return hardware->waitForHost(Deadline::infinite());
}

/// Several waits for one semaphore are one for the highest value.
static Points mergeWaits(const Points &waits) {
  Points merged;
  for (const Point &wait : waits) {
    auto same = std::find_if(merged.begin(), merged.end(), [&](const Point &p) {
      return p.semaphore == wait.semaphore;
    });
    if (same == merged.end())
      merged.push_back(wait);
    else
      same->value = std::max(same->value, wait.value);
  }
  return merged;
}

Status QueueState::prepare(Operation &operation, Prepared &prepared) {
  if (!hardware->closed.ok())
    return Status(StatusCode::FailedPrecondition, hardware->closed.message());
  if (!failure.ok() && !TESSERA_MUTANT("stopped-queue-takes-work"))
    return Status(StatusCode::FailedPrecondition,
                  "the queue has stopped: " + failure.message());
  if (operation.refresh)
    TESSERA_RETURN_IF_ERROR(operation.refresh(operation));
  if (operation.waits.size() > 1 && !operation.anyWait)
    operation.waits = mergeWaits(operation.waits);
  for (const std::shared_ptr<BufferState> &operand : operation.operands)
    TESSERA_RETURN_IF_ERROR(operand->checkUsable());
  TESSERA_RETURN_IF_ERROR(checkPoints(operation));
  if (!operation.uses.empty())
    TESSERA_RETURN_IF_ERROR(checkUses(operation));
  prepared.barrier = operation.barrier || operation.isBarrierOperation ||
                     barrierPending || inOrder;
  if (inOrder)
    TESSERA_RETURN_IF_ERROR(checkOrder(operation));
  if (prepared.barrier && !lost.ok())
    return Status(StatusCode::Aborted,
                  "earlier work of the queue failed: " + lost.message());
  if (operation.commands && !TESSERA_MUTANT("bindings-after-publication"))
    TESSERA_RETURN_IF_ERROR(operation.commands->bind(operation.bindings));
  if (operation.hostCall)
    return Status::success();
  if (operation.reserved) {
    prepared.images.resize(operation.reserved);
    return Status::success();
  }
  if (!operation.raw.empty()) {
    std::copy(operation.raw.begin(), operation.raw.end(),
              prepared.image.begin());
    return Status::success();
  }
  // The ordinary case: what the operation says fits into its packet.
  if (!operation.isBarrierOperation && operation.waits.size() <= 1 &&
      operation.signals.size() <= 1) {
    bool fits = std::visit(
        [&](auto &body) {
          constexpr bool hasWait = requires { body.wait; };
          constexpr bool hasSignal = requires { body.completion; };
          if ((!operation.waits.empty() && !hasWait) ||
              (!operation.signals.empty() && !hasSignal))
            return false;
          if constexpr (hasWait)
            if (!operation.waits.empty())
              body.wait = {operation.waits[0].semaphore->index,
                           operation.waits[0].value};
          if constexpr (hasSignal)
            if (!operation.signals.empty())
              body.completion = {operation.signals[0].semaphore->index,
                                 operation.signals[0].value};
          return true;
        },
        operation.packet.body);
    // A barrier packet holds a value of 32 bits only.
    if (fits && !std::holds_alternative<BarrierPacket>(operation.packet.body)) {
      operation.packet.flags =
          prepared.barrier && !TESSERA_MUTANT("barrier-flag-forgotten")
              ? packetBarrier
              : 0;
      operation.packet.id = nextId;
      prepared.image = encode(operation.packet);
      return Status::success();
    }
  }
  Result<std::vector<Packet>> packets = plan(operation, prepared.gates);
  if (!packets) {
    releaseGates(prepared.gates);
    return packets.status();
  }
  packets->front().flags |= prepared.barrier ? packetBarrier : 0;
  uint32_t id = nextId;
  for (Packet &packet : *packets) {
    packet.id = id++;
    prepared.images.push_back(encode(packet));
  }
  return Status::success();
}

Status QueueState::submit(Operation &operation) {
  auto failed = [&](const Status &status) {
    return status.withContext(
        fmt::format("queue '{}': '{}'", label, operation.label));
  };
  HostSlice slice(*hardware, driver::HostActivity::Submit);
  bool paid = false;
  while (true) {
    // While we wait for room, others may submit: prepare afresh each time.
    Prepared prepared;
    if (Status valid = prepare(operation, prepared); !valid.ok())
      return failed(valid);
    uint64_t packets = operation.hostCall ? 0 : prepared.packets();
    if (room() >= packets && !paid && hardware->costs.submitNs) {
      // What can be submitted takes the host its time, and the device goes on.
      releaseGates(prepared.gates);
      paid = true;
      if (Status spent = hardware->spend(hardware->costs.submitNs); !spent.ok())
        return failed(spent);
      continue;
    }
    if (room() >= packets) {
      Status accepted = accept(operation, prepared);
      return accepted.ok() ? accepted : failed(accepted);
    }
    releaseGates(prepared.gates);
    if (Status space = makeRoom(packets, operation); !space.ok())
      return failed(space);
  }
}

Status QueueState::accept(Operation &operation, Prepared &prepared) {
  uint64_t packets = operation.hostCall ? 0 : prepared.packets();
  Submission &work = inFlight.emplace_back();
  work.number = operations++;
  // As if all were published in order; publication sets it right.
  work.first = ring->published() + pendingPackets;
  work.last = work.first + (packets ? packets - 1 : 0);
  work.label = std::move(operation.label);
  work.waits = std::move(operation.waits);
  work.signals = std::move(operation.signals);
  work.anyWait = operation.anyWait;
  work.barrier = prepared.barrier;
  work.commands = operation.commands;
  work.keepAlive = std::move(operation.keepAlive);
  for (const std::shared_ptr<BufferState> &buffer : operation.operands)
    work.keepAlive.push_back(buffer);
  for (const std::shared_ptr<BufferState> &buffer : operation.bindings)
    work.keepAlive.push_back(buffer);
  for (const KernelUse &use : operation.uses)
    work.keepAlive.push_back(use.buffer);
  work.gates = std::move(prepared.gates);
  work.isHostCall = bool(operation.hostCall);
  work.hostCall = std::move(operation.hostCall);
  if (hardware->tracksOrder) {
    work.before = std::make_unique<Frontier>(
        orderBefore({work.waits.data(), work.anyWait ? 0 : work.waits.size()},
                    work.barrier));
    if (work.barrier)
      behindBarrier = *work.before;
  }
  for (const Point &signal : work.signals)
    signal.semaphore->addProducer(signal.value, work);
  if (work.commands)
    ++work.commands->executionsInFlight;
  nextId += uint32_t(packets);
  barrierPending = operation.isBarrierOperation;
  ++hardware->operationsAccepted;
  if (operation.accepted)
    operation.accepted();
  work.work = workOf(operation);
  noteSubmission(work, operation);

  std::span<const PacketImage> images = prepared.images;
  if (images.empty())
    images = {&prepared.image, 1};
  // What the device may have at once goes there at once.
  if (operation.reserved) {
    // Nothing is parked and a slot is held: Queue::reserve() has seen to it.
    work.first = ring->reserve(packets);
    work.last = work.first + packets - 1;
    work.stage = Stage::Armed;
    published.push_back(&work);
    ++openReservations;
  } else if (!pending && slot && !draining && !stopping && !work.isHostCall &&
             !(work.barrier && callsRunning) && waitsCovered(work)) {
    enter(work, images);
    TESSERA_RETURN_IF_ERROR(ringDoorbell());
  } else {
    bool held = pending || callsRunning, behindBarrier = pendingBarriers;
    if (packets)
      work.images.assign(images.begin(), images.end());
    park(work);
    // Of what was parked before nothing has become ready by that.
    if (!work.isHostCall && !behindBarrier && !stopping &&
        publishable(work, held)) {
      TESSERA_ASSIGN_OR_RETURN(bool entered, publishParked(work));
      if (entered)
        TESSERA_RETURN_IF_ERROR(ringDoorbell());
    }
  }
  // What waits for it can follow.
  if (hardware->pendingOperations &&
      (work.stage == Stage::Armed || work.isHostCall || work.anyWait))
    TESSERA_RETURN_IF_ERROR(hardware->service().status());
  // Whoever waits for something that this work may signal looks again.
  hardware->wakeHost();
  return Status::success();
}

Frontier QueueState::orderBefore(std::span<const Point> waits,
                                 bool barrier) const {
  Frontier frontier = behindBarrier;
  auto reach = [&](const Point &point) {
    if (point.semaphore->isDeallocations)
      frontier.add(point.semaphore->serial, point.value);
  };
  for (const Point &wait : waits) {
    reach(wait);
    // A timeline passes its values in order: whoever was to signal this one or
    // a smaller one has completed.
    for (const SemaphoreState::Producer &producer : wait.semaphore->producers) {
      if (producer.value > wait.value)
        break;
      if (producer.work->before)
        frontier.join(*producer.work->before);
      for (const Point &signal : producer.work->signals)
        reach(signal);
    }
  }
  if (barrier)
    for (const Submission &earlier : inFlight) {
      // The new operation itself, if it is in already, signals nothing yet.
      if (!earlier.inFlight() || !earlier.before)
        continue;
      frontier.join(*earlier.before);
      for (const Point &signal : earlier.signals)
        reach(signal);
    }
  return frontier;
}

//===----------------------------------------------------------------------===//
// Publication
//===----------------------------------------------------------------------===//

/// Whether the wait is met, or will be by what the device has already.
static bool covered(const Point &wait) {
  if (Result<bool> met = wait.semaphore->reached(wait.value); !met || *met)
    return true;
  const auto &producers = wait.semaphore->producers;
  for (auto from = std::ranges::lower_bound(producers, wait.value, {},
                                            &SemaphoreState::Producer::value);
       from != producers.end(); ++from)
    if (from->work->stage == Stage::Armed && !from->work->isHostCall)
      return true;
  return false;
}

bool QueueState::waitsCovered(const Submission &work) const {
  // Of alternatives one may fail: the host decides.
  if (work.anyWait)
    return waitsMet(work);
  return std::all_of(work.waits.begin(), work.waits.end(), covered);
}

bool QueueState::waitsMet(const Submission &work) const {
  auto met = [](const Point &wait) {
    Result<bool> reached = wait.semaphore->reached(wait.value);
    return reached && *reached;
  };
  if (work.anyWait && !work.waits.empty())
    return std::any_of(work.waits.begin(), work.waits.end(), met);
  return std::all_of(work.waits.begin(), work.waits.end(), met);
}

void Operation::makeSignal() {
  bool narrow = true;
  for (const Point &signal : signals)
    narrow &= signal.value >> 32 == 0;
  // A barrier packet waits and signals and orders nothing else, but it holds
  // four waits and a value of 32 bits.
  if (!signals.empty() && (waits.empty() || !narrow || waits.size() > 4)) {
    packet.body = SignalPacket{};
    return;
  }
  if (waits.size() > 4) {
    isBarrierOperation = true;
    return;
  }
  BarrierPacket body;
  for (size_t i = 0; i < waits.size(); ++i)
    body.waits[i] = {waits[i].semaphore->index, waits[i].value};
  packet.body = body;
  waitsInPacket = true;
}

void QueueState::enter(Submission &work, std::span<const PacketImage> images) {
  work.first = ring->published();
  work.last = work.first + images.size() - 1;
  work.stage = Stage::Armed;
  // In flight before the device can see it.
  published.push_back(&work);
  if (TESSERA_MUTANT("freed-at-submit"))
    work.keepAlive.clear();
  ring->publish(images);
}

void QueueState::park(Submission &work) {
  work.stage = Stage::Pending;
  ++pending;
  pendingBarriers += work.barrier;
  pendingPackets += work.images.size();
  ++hardware->pendingOperations;
}

void QueueState::unpark(Submission &work) {
  --pending;
  pendingBarriers -= work.barrier;
  pendingPackets -= work.images.size();
  --hardware->pendingOperations;
}

bool QueueState::publishable(const Submission &work, bool held) const {
  return !(work.barrier && held) && waitsCovered(work) &&
         ring->capacity() - (ring->published() - ring->retired()) >=
             work.images.size();
}

Result<bool> QueueState::publishParked(Submission &work) {
  TESSERA_ASSIGN_OR_RETURN(bool hasSlot, hardware->giveSlot(*this));
  // To give a slot may have published for us already.
  if (!hasSlot || work.stage != Stage::Pending)
    return false;
  unpark(work);
  std::vector<PacketImage> images = std::move(work.images);
  enter(work, images);
  return true;
}

Result<bool> QueueState::publishPending() {
  if (!failure.ok() || !pending || stopping)
    return false;
  bool any = false;
  bool held = false; // Something earlier has not been published.
  for (Submission &work : inFlight) {
    if (work.isHostCall) {
      held |= work.inFlight();
      if (work.stage == Stage::Pending && work.barrier)
        break;
      continue;
    }
    if (work.stage != Stage::Pending)
      continue;
    if (publishable(work, held)) {
      TESSERA_ASSIGN_OR_RETURN(bool entered, publishParked(work));
      any |= entered;
      if (work.stage == Stage::Pending)
        break; // No slot.
      continue;
    }
    held = true;
    if (work.barrier)
      break; // It holds back what is behind it.
  }
  if (any)
    TESSERA_RETURN_IF_ERROR(ringDoorbell());
  if (!pending)
    wantsSlot = false;
  return any;
}

//===----------------------------------------------------------------------===//
// Host calls
//===----------------------------------------------------------------------===//

bool QueueState::earlierDone(const Submission &work) const {
  for (const Submission &earlier : inFlight) {
    if (&earlier == &work)
      return true;
    if (earlier.inFlight())
      return false;
  }
  return true;
}

Status QueueState::signalsOfHostCall(const Submission &work) {
  for (const auto &[semaphore, value] : work.signals) {
    TESSERA_ASSIGN_OR_RETURN(uint64_t current, semaphore->value());
    if (value <= current)
      return Status(StatusCode::InvalidArgument,
                    fmt::format("signal {} does not raise semaphore '{}'",
                                value, semaphore->label));
    TESSERA_RETURN_IF_ERROR(semaphore->checkOvertakes(current, value, &work));
  }
  for (const auto &[semaphore, value] : work.signals) {
    TESSERA_RETURN_IF_ERROR(hardware->driver->mmioWrite(
        mmio::semaphoreBase + 8 * uint64_t(semaphore->index), value));
    semaphore->hostSignalled = std::max(semaphore->hostSignalled, value);
    if (hardware->races)
      hardware->races->hostSignals(racePoint(*semaphore, value));
  }
  return Status::success();
}

Result<bool> QueueState::runHostCall() {
  bool heldByBarrier = false;
  for (Submission &work : inFlight) {
    if (!work.inFlight())
      continue;
    if (work.isHostCall && work.stage == Stage::Pending && !heldByBarrier &&
        waitsMet(work) && (!work.barrier || earlierDone(work))) {
      auto keep = shared_from_this();
      unpark(work);
      work.stage = Stage::Completing;
      ++callsRunning;
      hardware->spendInside(hardware->costs.hostCallNs * 1'000'000);
      hardware->hostCalls.push_back({std::this_thread::get_id(), work.label});
      if (work.raceNode)
        hardware->races->hostRuns(work.raceNode);
      std::function<Status()> function = std::move(work.hostCall);
      unsigned depth = hardware->mutex.releaseAll();
      Status called;
      try {
        called = function();
      } catch (...) { // None crosses the interface.
        called = Status(StatusCode::Internal, "it threw an exception");
      }
      hardware->mutex.acquire(depth);
      hardware->mutex.discard(std::move(function));
      driver::Time owed = 0;
      std::erase_if(hardware->hostCalls, [&](const Hardware::HostCall &call) {
        if (call.thread != std::this_thread::get_id())
          return false;
        owed = call.owed;
        return true;
      });
      hardware->spendInside(owed);
      --callsRunning;
      if (work.stage == Stage::Cancelling) { // Meanwhile the device was closed.
        work.stage = Stage::Done;
        popDone();
        return true;
      }
      if (called.ok())
        called = signalsOfHostCall(work);
      if (called.ok())
        complete(work);
      else
        cancel(work, called.withContext(fmt::format("queue '{}': host call "
                                                    "'{}'",
                                                    label, work.label)));
      popDone();
      hardware->wakeHost();
      return true;
    }
    heldByBarrier |= work.barrier;
  }
  return false;
}

Status QueueState::armHostCalls() {
  for (const Submission &work : inFlight) {
    if ((!work.isHostCall && !work.anyWait) || work.stage != Stage::Pending)
      continue;
    for (const Point &wait : work.waits) {
      TESSERA_ASSIGN_OR_RETURN(bool reached,
                               wait.semaphore->reached(wait.value));
      if (!reached)
        TESSERA_RETURN_IF_ERROR(
            hardware->driver->armSemaphore(wait.semaphore->index, wait.value));
    }
    if (work.isHostCall && work.barrier && !earlierDone(work))
      TESSERA_RETURN_IF_ERROR(askForCompletion());
  }
  return Status::success();
}

} // namespace tessera::runtime
