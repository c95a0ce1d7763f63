//===- Planning.cpp - Operations as packets ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QueueState.h"
#include <algorithm>
#include <fmt/format.h>

using namespace tessera::isa;

namespace tessera::runtime {

Status QueueState::checkPoints(const Operation &operation) const {
  for (const auto *points : {&operation.waits, &operation.signals})
    for (const Point &point : *points)
      if (point.semaphore->hardware != hardware)
        return Status(StatusCode::InvalidArgument,
                      fmt::format("semaphore '{}' is of another device, '{}'",
                                  point.semaphore->label,
                                  point.semaphore->hardware->label));
  for (const auto *points : {&operation.waits, &operation.signals})
    for (const Point &point : *points)
      TESSERA_RETURN_IF_ERROR(point.semaphore->checkAlive());
  for (const Point &wait : operation.waits)
    if (!wait.semaphore->failure.ok()) {
      TESSERA_ASSIGN_OR_RETURN(bool met, wait.semaphore->reached(wait.value));
      if (!met)
        return wait.semaphore->failure.withContext(
            fmt::format("waits for semaphore '{}' >= {}, which failed",
                        wait.semaphore->label, wait.value));
    }
  for (const Point &signal : operation.signals) {
    // Beyond what earlier work promises it is beyond the value, too.
    const auto &producers = signal.semaphore->producers;
    if (!producers.empty() && producers.back().value < signal.value &&
        signal.semaphore->hostSignalled < signal.value)
      continue;
    TESSERA_ASSIGN_OR_RETURN(bool reached,
                             signal.semaphore->reached(signal.value));
    if (reached) {
      TESSERA_ASSIGN_OR_RETURN(uint64_t value, signal.semaphore->value());
      return Status(
          StatusCode::InvalidArgument,
          fmt::format("signal {} does not raise semaphore '{}', which is {}",
                      signal.value, signal.semaphore->label, value));
    }
    if (signal.semaphore->promised(signal.value))
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

Status QueueState::checkUses(Operation &operation) const {
  for (KernelUse &use : operation.uses) {
    const std::shared_ptr<BufferState> &buffer = use.buffer;
    if (!buffer)
      return Status(StatusCode::FailedPrecondition,
                    "uses an empty buffer handle");
    if (buffer->space != space)
      return Status(
          StatusCode::InvalidArgument,
          fmt::format("uses buffer '{}' of address space '{}', the queue is of "
                      "'{}'",
                      buffer->label, buffer->space->label, space->label));
    TESSERA_RETURN_IF_ERROR(buffer->checkUsable());
    if (use.bytes == BufferRange::wholeSize)
      use.bytes = buffer->size - std::min(buffer->size, use.offset);
    TESSERA_RETURN_IF_ERROR(buffer->checkRange(use.offset, use.bytes));
  }
  return Status::success();
}

Status QueueState::checkOrder(const Operation &operation) const {
  for (const Point &signal : operation.signals) {
    const SemaphoreState &semaphore = *signal.semaphore;
    if (semaphore.hostMaySignal)
      continue;
    uint64_t promised =
        semaphore.producers.empty() ? 0 : semaphore.producers.back().value;
    for (const Submission &work : inFlight)
      for (const Point &wait : work.waits) {
        if (!work.inFlight() || work.anyWait ||
            wait.semaphore != signal.semaphore || wait.value > signal.value ||
            wait.value <= promised)
          continue;
        TESSERA_ASSIGN_OR_RETURN(bool reached, semaphore.reached(wait.value));
        if (!reached)
          return Status(
              StatusCode::Deadlock,
              fmt::format("deadlock: '{}', earlier in order, waits for "
                          "semaphore '{}' >= {}, which only this operation "
                          "would signal",
                          work.label, semaphore.label, wait.value));
      }
  }
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
  std::span<const Point> waits(operation.waits.data(), operation.waits.size());
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

  std::vector<Point> waits(operation.waits.begin(), operation.waits.end());
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
  std::vector<Point> signals(operation.signals.begin(),
                             operation.signals.end());
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

} // namespace tessera::runtime
