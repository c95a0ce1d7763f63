//===- Queue.cpp - Submission of work -------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/runtime/Queue.h"
#include "DeadlockProof.h"
#include "QueueState.h"
#include "tessera/ISA/Mmio.h"
#include <bit>
#include <cstring>
#include <fmt/format.h>

using namespace tessera::isa;

namespace tessera::runtime {

static Status emptyHandle() {
  return Status(StatusCode::FailedPrecondition, "queue: empty handle");
}

Result<Queue> Queue::create(const AddressSpace &space, QueueOptions options) {
  auto failed = [&](StatusCode code, std::string message) {
    return Status(code, fmt::format("queue '{}': {}", options.label, message));
  };
  if (!space)
    return failed(StatusCode::FailedPrecondition,
                  "the address space is an empty handle");
  if (!std::has_single_bit(options.packets) || options.packets < 4)
    return failed(StatusCode::InvalidArgument,
                  fmt::format("{} packets; must be a power of two from 4 on",
                              options.packets));
  if (options.priority > 15)
    return failed(
        StatusCode::InvalidArgument,
        fmt::format("priority {}; must be 0 to 15", options.priority));

  auto hardware = space.state->hardware;
  Hardware::Lock lock = hardware->lock();
  if (!hardware->closed.ok())
    return failed(StatusCode::FailedPrecondition, hardware->closed.message());
  auto state = std::make_shared<QueueState>();
  state->hardware = hardware;
  state->space = space.state;
  state->generation = hardware->generation;
  state->label = options.label;
  state->priority = options.priority;
  state->inOrder = options.inOrder;
  state->firstIndex = options.firstIndex;
  state->nextId = options.firstId;
  TESSERA_ASSIGN_OR_RETURN(state->ring,
                           Ring::create(hardware, options.packets,
                                        options.firstIndex, options.label));
  hardware->queues.push_back(state.get());

  Queue queue;
  queue.handle = std::make_shared<QueueHandle>();
  queue.handle->device = space.device;
  queue.handle->state = std::move(state);
  return queue;
}

Status Queue::waitIdle(Deadline deadline) const {
  if (!handle)
    return emptyHandle();
  QueueState &queue = *handle->state;
  Hardware::Lock lock = queue.hardware->lock();
  return queue.hardware->waitAndWake([&] { return queue.waitIdle(deadline); });
}

Status QueueState::waitIdle(Deadline deadline) {
  std::optional<ListedWait> listed;
  if (!inFlight.empty())
    listed.emplace(*hardware,
                   Hardware::HostWait{
                       .what = fmt::format("queue '{}' to be idle", label)});
  while (true) {
    TESSERA_ASSIGN_OR_RETURN(
        bool idle, runUntil([&] { return inFlight.empty(); }, deadline));
    if (!hardware->closed.ok())
      return hardware->closed;
    if (!failure.ok())
      return failure;
    if (!lost.ok() && idle)
      return std::exchange(lost, Status::success());
    if (idle) {
      if (hardware->races)
        hardware->races->hostSeesIdle(raceNumber());
      return checkWork();
    }
    std::string context =
        fmt::format("queue '{}': {} operations in flight, oldest '{}'", label,
                    inFlight.size(), inFlight.front().label);
    if (hardware->reached(deadline))
      return Status(StatusCode::DeadlineExceeded, context);
    Verdict verdict = judge(*this);
    if (verdict.kind != Verdict::Kind::HostMaySignal)
      return verdict.status.withContext(context);
    if (!deadline.isInfinite() && !deadline.isHost())
      return Status(StatusCode::DeadlineExceeded, context);
    TESSERA_RETURN_IF_ERROR(hardware->waitForHost(deadline));
  }
}

Status Queue::reset() {
  if (!handle)
    return emptyHandle();
  QueueState &queue = *handle->state;
  Hardware::Lock lock = queue.hardware->lock();
  if (!queue.hardware->closed.ok())
    return Status(StatusCode::FailedPrecondition,
                  fmt::format("queue '{}': {}", queue.label,
                              queue.hardware->closed.message()));
  if (queue.generation != queue.hardware->generation)
    return queue.failure;
  if (queue.slot) {
    // Disabling lets what runs finish; enabling again stops it.
    for (uint64_t enable : {0, 1, 0})
      TESSERA_RETURN_IF_ERROR(queue.writeRegister(mmio::queueEnable, enable));
  }
  queue.cancelAll(Status(StatusCode::Aborted,
                         fmt::format("queue '{}': was reset", queue.label)));
  if (queue.slot)
    TESSERA_RETURN_IF_ERROR(queue.detach());
  queue.failure = queue.lost = Status::success();
  queue.barrierPending = false;
  TESSERA_RETURN_IF_ERROR(queue.hardware->service().status());
  queue.hardware->wakeHost();
  return Status::success();
}

uint64_t Queue::submitted() const {
  if (!handle)
    return 0;
  const QueueState &queue = *handle->state;
  Hardware::Lock lock = queue.hardware->lock();
  return queue.ring->published() + queue.pendingPackets - queue.firstIndex;
}

uint64_t Queue::completed() const {
  if (!handle)
    return 0;
  QueueState &queue = *handle->state;
  Hardware::Lock lock = queue.hardware->lock();
  (void)queue.update();
  return queue.ring->retired() - queue.firstIndex;
}

Status Queue::status() const {
  if (!handle)
    return emptyHandle();
  QueueState &queue = *handle->state;
  Hardware::Lock lock = queue.hardware->lock();
  TESSERA_RETURN_IF_ERROR(queue.update());
  return queue.failure.ok() ? queue.lost : queue.failure;
}

const std::string &Queue::label() const {
  static const std::string none;
  return handle ? handle->state->label : none;
}
uint8_t Queue::priority() const { return handle ? handle->state->priority : 0; }

} // namespace tessera::runtime
