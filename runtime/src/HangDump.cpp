//===- HangDump.cpp - Everything that tells why nothing moves -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QueueState.h"
#include "tessera/ISA/Mmio.h"
#include "tessera/Support/Mutant.h"
#include <fmt/format.h>

using namespace tessera::isa;

namespace tessera::runtime {

/// Operations listed of a queue.
static constexpr size_t listedOperations = 16;

static std::string producerOf(const SemaphoreState &semaphore, uint64_t value) {
  for (const QueueState *queue : semaphore.hardware->queues)
    for (const Submission &work : queue->inFlight)
      for (const Point &signal : work.signals)
        if (work.inFlight() && signal.semaphore.get() == &semaphore &&
            signal.value >= value)
          return fmt::format("'{}' (queue '{}', packet {})", work.label,
                             queue->label, work.first - queue->firstIndex);
  return semaphore.hostMaySignal ? "the host" : "nobody";
}

static WaitState stateOf(const SemaphoreState &semaphore, uint64_t target) {
  WaitState wait;
  wait.semaphore = semaphore.label;
  wait.target = target;
  if (Result<uint64_t> value = semaphore.value())
    wait.value = *value;
  wait.producer = producerOf(semaphore, target);
  wait.failure = semaphore.failure;
  return wait;
}

static std::string_view statusName(uint64_t status) {
  static constexpr std::string_view names[] = {"disabled", "idle", "running",
                                               "faulted", "stopping"};
  return status < std::size(names) ? names[status] : "unknown status";
}

QueueDump QueueState::dump() const {
  QueueDump dump;
  dump.label = label;
  dump.slot = slot;
  dump.published = ring->published() - firstIndex;
  dump.retired = ring->retired() - firstIndex;
  dump.read = dump.done = dump.retired;
  dump.status = "not attached";
  if (slot) {
    if (Result<uint64_t> read = readRegister(mmio::queueRead))
      dump.read = *read - firstIndex;
    if (Result<uint64_t> done = readRegister(mmio::queueDone))
      dump.done = *done - firstIndex;
    Result<uint64_t> status = readRegister(mmio::queueStatus);
    dump.status =
        status ? statusName(*status) : statusCodeName(status.status().code());
  }
  dump.failure = failure;
  if (ring->published() != ring->retired()) {
    PacketImage image = ring->image(ring->retired());
    Result<Packet> packet = decodePacket(image);
    dump.head = fmt::format("packet {}: {}", dump.retired,
                            packet ? print(*packet)
                            : image[0] == uint8_t(PacketType::Invalid)
                                ? std::string("reserved, not published")
                                : packet.status().message());
  }
  for (const Submission &work : inFlight) {
    if (!work.inFlight())
      continue;
    if (dump.operations.size() == listedOperations) {
      ++dump.moreOperations;
      continue;
    }
    OperationState &operation = dump.operations.emplace_back();
    operation.label = work.label;
    operation.published = work.stage != Stage::Pending;
    if (operation.published) {
      operation.first = work.first - firstIndex;
      operation.last = work.last - firstIndex;
    }
    operation.barrier = work.barrier;
    for (const Point &wait : work.waits) {
      Result<bool> met = wait.semaphore->reached(wait.value);
      if ((!met || !*met) && !TESSERA_MUTANT("dump-without-waits"))
        operation.waits.push_back(stateOf(*wait.semaphore, wait.value));
    }
  }
  dump.events = flight.events();
  for (FlightEvent &event : dump.events) {
    event.first -= firstIndex;
    event.last -= firstIndex;
  }
  return dump;
}

HangDump Device::hangDump() const {
  HangDump dump;
  if (!state)
    return {};
  const Hardware &hardware = *state->hardware;
  Hardware::Lock lock = state->hardware->lock();
  dump.device = hardware.label;
  dump.lost = hardware.alive();
  dump.time = hardware.driver->now();
  for (const QueueState *queue : hardware.queues)
    dump.queues.push_back(queue->dump());
  for (const Hardware::HostWait &wait : hardware.hostWaits)
    if (wait.semaphore)
      dump.hostWaits.push_back(stateOf(*wait.semaphore, wait.value));
    else
      dump.otherWaits.push_back(wait.what);
  dump.wayPoints = hardware.driver->wayPoints();
  return dump;
}

} // namespace tessera::runtime
