//===- QueueState.cpp - Planning, publication, completion -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QueueState.h"
#include "DeadlockProof.h"
#include "tessera/ISA/Mmio.h"
#include "tessera/Support/Bytes.h"
#include <algorithm>
#include <fmt/format.h>

using namespace tessera::isa;

namespace tessera::runtime {

Result<uint64_t> QueueState::readRegister(uint64_t offset) const {
  return hardware->driver->mmioRead(mmio::queueBase + slot * mmio::queueStride +
                                    offset);
}
Status QueueState::writeRegister(uint64_t offset, uint64_t value) const {
  return hardware->driver->mmioWrite(
      mmio::queueBase + slot * mmio::queueStride + offset, value);
}

QueueState::~QueueState() {
  Hardware::Lock lock = hardware->lock();
  std::erase(hardware->queues, this);
  if (!ring)
    return;
  (void)writeRegister(mmio::queueEnable, 0);
  ring.reset();
  hardware->queueSlots.release(slot);
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

Status QueueState::checkPoints(const Operation &operation) const {
  for (const auto *points : {&operation.waits, &operation.signals})
    for (const Point &point : *points)
      if (point.semaphore->hardware != hardware)
        return Status(StatusCode::InvalidArgument,
                      fmt::format("semaphore '{}' is of another device, '{}'",
                                  point.semaphore->label,
                                  point.semaphore->hardware->label));
  for (const Point &wait : operation.waits)
    if (!wait.semaphore->failure.ok()) {
      TESSERA_ASSIGN_OR_RETURN(uint64_t value, wait.semaphore->value());
      if (value < wait.value)
        return wait.semaphore->failure.withContext(
            fmt::format("waits for semaphore '{}' >= {}, which failed",
                        wait.semaphore->label, wait.value));
    }
  for (const Point &signal : operation.signals) {
    TESSERA_ASSIGN_OR_RETURN(uint64_t value, signal.semaphore->value());
    if (signal.value <= value)
      return Status(
          StatusCode::InvalidArgument,
          fmt::format("signal {} does not raise semaphore '{}', which is "
                      "{}",
                      signal.value, signal.semaphore->label, value));
    if (signal.semaphore->promised.count(signal.value))
      return Status(
          StatusCode::InvalidArgument,
          fmt::format("signal {} of semaphore '{}' is promised by earlier "
                      "work already",
                      signal.value, signal.semaphore->label));
  }
  for (size_t i = 0; i < operation.signals.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (operation.signals[i].semaphore == operation.signals[j].semaphore)
        return Status(StatusCode::InvalidArgument,
                      fmt::format("semaphore '{}' is signalled twice",
                                  operation.signals[i].semaphore->label));
  return Status::success();
}

static SemaphoreValue inPacket(const Point &point) {
  return {point.semaphore->index, point.value};
}

/// A barrier packet's completion value has 32 bits.
static constexpr uint64_t barrierValueLimit = uint64_t(1) << 32;

static Packet barrierPacket(std::span<const Point> waits,
                            const Point *completion) {
  BarrierPacket body;
  for (size_t i = 0; i < waits.size(); ++i)
    body.waits[i] = inPacket(waits[i]);
  if (completion)
    body.completion = inPacket(*completion);
  return {0, 0, body};
}

Result<Point> QueueState::takeGate(std::vector<uint32_t> &usedGates) {
  uint32_t index = 0;
  while (index < gates.size() && gates[index].busy)
    ++index;
  if (index == gates.size()) {
    TESSERA_ASSIGN_OR_RETURN(
        auto semaphore,
        makeSemaphore(hardware, fmt::format("{} gate {}", label, index)));
    gates.push_back({std::move(semaphore)});
  }
  Gate &gate = gates[index];
  gate.busy = true;
  if (std::find(usedGates.begin(), usedGates.end(), index) == usedGates.end())
    usedGates.push_back(index);
  return Point{gate.semaphore, ++gate.value};
}

void QueueState::releaseGates(const std::vector<uint32_t> &usedGates) {
  for (uint32_t index : usedGates)
    gates[index].busy = false;
}

/// A barrier is a chain of barrier packets, each behind the one before by its
/// flag, then signal packets behind those.
Result<std::vector<Packet>>
QueueState::planBarrier(Operation &operation) const {
  std::vector<Packet> packets;
  std::span<const Point> waits = operation.waits;
  do {
    size_t count = std::min<size_t>(waits.size(), 4);
    packets.push_back(barrierPacket(waits.first(count), nullptr));
    waits = waits.subspan(count);
  } while (!waits.empty());
  for (const Point &signal : operation.signals)
    packets.push_back({0, 0, SignalPacket{inPacket(signal)}});
  for (Packet &packet : packets)
    packet.flags |= packetBarrier;
  return packets;
}

/// One packet carries one wait and one signal. More waits meet in barrier
/// packets before it that open a gate; more signals follow in barrier packets
/// that wait for the first. Neither holds back other work.
Result<std::vector<Packet>> QueueState::plan(Operation &operation,
                                             std::vector<uint32_t> &usedGates) {
  if (operation.isBarrierOperation)
    return planBarrier(operation);
  std::vector<Packet> packets;
  Packet main = operation.packet;
  SemaphoreValue *wait = nullptr, *completion = nullptr;
  std::visit(
      [&](auto &body) {
        if constexpr (requires { body.wait; })
          wait = &body.wait;
        if constexpr (requires { body.completion; })
          completion = &body.completion;
      },
      main.body);

  std::vector<Point> waits = operation.waits;
  if (operation.waitsInPacket)
    waits.clear();
  // A packet type without a wait of its own stands behind a barrier packet by
  // its flag.
  bool behindBarrier = !wait && !waits.empty();
  while (waits.size() > 1 || (behindBarrier && !waits.empty())) {
    size_t count = std::min<size_t>(waits.size(), 4);
    std::span<const Point> first(waits.data(), count);
    if (behindBarrier && count == waits.size()) {
      packets.push_back(barrierPacket(first, nullptr));
      waits.clear();
      break;
    }
    TESSERA_ASSIGN_OR_RETURN(Point gate, takeGate(usedGates));
    if (gate.value >= barrierValueLimit)
      return Status(StatusCode::ResourceExhausted,
                    fmt::format("queue '{}': gate semaphore '{}' is used up",
                                label, gate.semaphore->label));
    packets.push_back(barrierPacket(first, &gate));
    waits.erase(waits.begin(), waits.begin() + count);
    waits.push_back(gate);
  }
  if (!waits.empty())
    *wait = inPacket(waits.front());
  if (behindBarrier)
    main.flags |= packetBarrier;

  // The packet's own completion takes the widest value.
  std::vector<Point> signals = operation.signals;
  std::sort(signals.begin(), signals.end(), [](const Point &a, const Point &b) {
    return std::pair(b.value, a.semaphore->index) <
           std::pair(a.value, b.semaphore->index);
  });
  if (!signals.empty() && !completion)
    return Status(StatusCode::Unsupported,
                  "this kind of packet signals no semaphore");
  if (!signals.empty())
    *completion = inPacket(signals.front());
  packets.push_back(main);
  for (size_t i = 1; i < signals.size(); ++i) {
    if (signals[i].value >= barrierValueLimit)
      return Status(
          StatusCode::Unsupported,
          fmt::format("second signal of semaphore '{}': {} is not below "
                      "2^32; signal it by an operation of its own",
                      signals[i].semaphore->label, signals[i].value));
    packets.push_back(barrierPacket(std::span(signals.data(), 1), &signals[i]));
  }
  return packets;
}

//===----------------------------------------------------------------------===//
// Submission
//===----------------------------------------------------------------------===//

Status QueueState::makeRoom(uint64_t packets, const Operation &operation,
                            Hardware::Lock &lock) {
  if (packets > ring->capacity())
    return Status(StatusCode::InvalidArgument,
                  fmt::format("needs {} packets, the ring of {} slots takes {} "
                              "at once",
                              packets, ring->slots(), ring->capacity()));
  if (operation.whenFull == WhenFull::Fail)
    return Status(
        StatusCode::ResourceExhausted,
        fmt::format("needs {} packets, the ring has room for {} of {}", packets,
                    ring->room(), ring->capacity()));
  TESSERA_ASSIGN_OR_RETURN(
      bool progress,
      runUntil([&] { return ring->room() >= packets || !failure.ok(); },
               driver::timeInfinite));
  if (progress)
    return Status::success();
  Verdict verdict = judge(*this);
  if (verdict.kind != Verdict::Kind::HostMaySignal)
    return verdict.status.withContext("the ring is full and stays so");
  hardware->hostSignalled.wait(lock);
  return Status::success();
}

Result<QueueState::Prepared> QueueState::prepare(Operation &operation) {
  TESSERA_RETURN_IF_ERROR(hardware->update());
  if (!failure.ok())
    return Status(StatusCode::FailedPrecondition,
                  "the queue has stopped: " + failure.message());
  TESSERA_RETURN_IF_ERROR(checkPoints(operation));
  Prepared prepared;
  prepared.barrier =
      operation.barrier || operation.isBarrierOperation || barrierPending;
  if (!operation.raw.empty()) {
    PacketImage &image = prepared.images.emplace_back();
    std::copy(operation.raw.begin(), operation.raw.end(), image.begin());
    return prepared;
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
  return prepared;
}

void QueueState::publish(Operation &operation, Prepared &prepared) {
  Submission submission;
  submission.first = ring->published();
  submission.last = submission.first + prepared.images.size() - 1;
  submission.label = operation.label;
  submission.waits = operation.waits;
  submission.signals = operation.signals;
  submission.barrier = prepared.barrier;
  submission.commands = operation.commands;
  submission.keepAlive = std::move(operation.keepAlive);
  submission.gates = std::move(prepared.gates);
  for (const Point &signal : submission.signals)
    signal.semaphore->promised.insert(signal.value);
  if (submission.commands)
    ++submission.commands->executionsInFlight;
  nextId += prepared.images.size();
  barrierPending = operation.isBarrierOperation;
  // In flight before the device can see it.
  inFlight.push_back(std::move(submission));
  ring->publish(prepared.images);
}

/// Several waits for one semaphore are one for the highest value.
static std::vector<Point> mergeWaits(const std::vector<Point> &waits) {
  std::vector<Point> merged;
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

Status QueueState::submit(Operation operation, Hardware::Lock &lock) {
  auto failed = [&](const Status &status) {
    return status.withContext(
        fmt::format("queue '{}': '{}'", label, operation.label));
  };
  operation.waits = mergeWaits(operation.waits);
  while (true) {
    // While we wait for room, others may submit: prepare afresh each time.
    Result<Prepared> prepared = prepare(operation);
    if (!prepared)
      return failed(prepared.status());
    if (ring->room() >= prepared->images.size()) {
      publish(operation, *prepared);
      break;
    }
    releaseGates(prepared->gates);
    if (Status room = makeRoom(prepared->images.size(), operation, lock);
        !room.ok())
      return failed(room);
  }
  TESSERA_RETURN_IF_ERROR(
      writeRegister(mmio::queueDoorbell, ring->published() - 1));
  // Whoever waits for something that this work may signal looks again.
  hardware->hostSignalled.notify_all();
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Completion
//===----------------------------------------------------------------------===//

Status QueueState::update() {
  TESSERA_ASSIGN_OR_RETURN(uint64_t done, readRegister(mmio::queueDone));
  if (done > ring->published())
    return Status(
        StatusCode::DeviceLost,
        fmt::format("queue '{}': the device reports {} packets done of {} "
                    "published",
                    label, done, ring->published()));
  ring->retire(done);
  while (!inFlight.empty() && inFlight.front().last < done) {
    Submission &work = inFlight.front();
    for (const Point &signal : work.signals)
      signal.semaphore->promised.erase(signal.value);
    if (work.commands)
      --work.commands->executionsInFlight;
    releaseGates(work.gates);
    inFlight.pop_front();
  }
  if (!failure.ok())
    return Status::success();
  TESSERA_ASSIGN_OR_RETURN(uint64_t status, readRegister(mmio::queueStatus));
  if (static_cast<mmio::QueueStatus>(status) == mmio::QueueStatus::Faulted)
    return recordFault();
  return Status::success();
}

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
  while (index < ring->published() &&
         ((index ^ ringIndex) & (ring->slots() - 1)) != 0)
    ++index;

  std::string name = "unknown packet", where;
  for (const Submission &work : inFlight)
    if (work.first <= index && index <= work.last) {
      name = work.label;
      if (work.commands) {
        where = fmt::format(", command {}", command);
        if (auto it = work.commands->names.find(command);
            it != work.commands->names.end())
          where += fmt::format(" '{}'", it->second);
        where += fmt::format(", core {}, pc {}", core, pc);
      }
    }
  failure =
      Status(codeOf(cause),
             fmt::format("queue '{}': packet {} '{}'{}: {}, address or value "
                         "{:#x}",
                         label, index, name, where, mmio::faultCauseName(cause),
                         address));
  // Work before the fault goes on and signals; what is behind never starts. Its
  // memory stays with the queue, which may still be finishing what had started.
  for (const Submission &work : inFlight) {
    if (work.last < index)
      continue;
    Status status = failure;
    if (work.first > index)
      status =
          Status(StatusCode::Aborted,
                 fmt::format("queue '{}': packet {} '{}' is aborted: {}", label,
                             work.first, work.label, failure.message()));
    for (const Point &signal : work.signals)
      signal.semaphore->fail(status);
  }
  return Status::success();
}

QueueHandle::~QueueHandle() {
  if (!state)
    return;
  Hardware::Lock lock = state->hardware->lock();
  // What can finish does; a device that fails here is lost anyway. A stopped
  // queue starts nothing any more, but what had started may still be running
  // until the device is at rest.
  Result<bool> idle = state->runUntil(
      [&] { return state->failure.ok() && state->inFlight.empty(); },
      driver::timeInfinite);
  if (!idle || (!*idle && state->failure.ok()))
    device->abandoned.push_back(state);
}

} // namespace tessera::runtime
