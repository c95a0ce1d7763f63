//===- Reservation.cpp - Slots that are written later --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QueueState.h"
#include <fmt/format.h>

using namespace tessera::isa;

namespace tessera::runtime {

Result<Reservation> Queue::reserve(uint32_t count,
                                   const SubmitOptions &options) {
  if (!handle)
    return Status(StatusCode::FailedPrecondition, "queue: empty handle");
  QueueState &queue = *handle->state;
  Hardware::Lock lock = queue.hardware->lock();
  Operation operation = start("reservation", options);
  auto refuse = [&](StatusCode code, const std::string &what) {
    return Status(code, fmt::format("queue '{}': '{}': {}", queue.label,
                                    operation.label, what));
  };
  if (count == 0 || count > queue.capacity())
    return refuse(StatusCode::InvalidArgument,
                  fmt::format("{} slots; 1 to {} can be reserved", count,
                              queue.capacity()));
  if (!queue.failure.ok())
    return refuse(StatusCode::FailedPrecondition,
                  "the queue has stopped: " + queue.failure.message());
  // The slots come behind what is published: nothing may be parked before them.
  auto ready = [&]() -> bool {
    if (queue.pending || !queue.failure.ok())
      return false;
    Result<bool> slot = queue.hardware->giveSlot(queue);
    return slot && *slot && queue.room() >= count;
  };
  if (!ready()) {
    if (options.whenFull == WhenFull::Wait) {
      ListedWait listed(
          *queue.hardware,
          {.what = fmt::format("{} slots of queue '{}'", count, queue.label)});
      TESSERA_RETURN_IF_ERROR(
          queue.runUntil(ready, Deadline::infinite()).status());
    }
    if (!ready()) {
      if (!queue.pending)
        queue.wantsSlot = false; // Nobody else is to drain for it.
      return refuse(StatusCode::ResourceExhausted,
                    fmt::format("{} slots cannot be reserved now: {} "
                                "operations are parked, room for {}, the queue "
                                "has {} device slot",
                                count, queue.pending, queue.room(),
                                queue.slot ? "a" : "no"));
    }
  }
  operation.reserved = count;
  TESSERA_RETURN_IF_ERROR(queue.submit(operation));
  Reservation reservation;
  reservation.handle = handle;
  reservation.first = queue.published.back()->first;
  reservation.life = queue.life;
  reservation.packets.resize(count);
  reservation.written.assign(count, false);
  return reservation;
}

Status Reservation::write(uint32_t slot, std::span<const uint8_t> packet) {
  if (!handle)
    return Status(StatusCode::FailedPrecondition,
                  "reservation: empty, or published already");
  const std::string &label = handle->state->label;
  if (slot >= packets.size())
    return Status(StatusCode::InvalidArgument,
                  fmt::format("queue '{}': reservation: slot {} of {}", label,
                              slot, packets.size()));
  if (packet.size() != packetBytes)
    return Status(StatusCode::InvalidArgument,
                  fmt::format("queue '{}': reservation: {} bytes; a packet has "
                              "{}",
                              label, packet.size(), packetBytes));
  if (packet[0] == uint8_t(PacketType::Invalid))
    return Status(StatusCode::InvalidArgument,
                  fmt::format("queue '{}': reservation: slot {}: the Invalid "
                              "type would never be read",
                              label, slot));
  std::copy(packet.begin(), packet.end(), packets[slot].begin());
  written[slot] = true;
  return Status::success();
}

Status Reservation::publish() {
  if (!handle)
    return Status(StatusCode::FailedPrecondition,
                  "reservation: empty, or published already");
  QueueState &queue = *handle->state;
  for (size_t i = 0; i < written.size(); ++i)
    if (!written[i])
      return Status(StatusCode::FailedPrecondition,
                    fmt::format("queue '{}': reservation: slot {} of {} was "
                                "not written",
                                queue.label, i, written.size()));
  Hardware::Lock lock = queue.hardware->lock();
  TESSERA_RETURN_IF_ERROR(
      queue.hardware->spend(queue.hardware->costs.submitNs));
  TESSERA_RETURN_IF_ERROR(queue.update());
  // A queue that stopped has taken the slots back.
  if (queue.life != life)
    return Status(
        StatusCode::Aborted,
        fmt::format("queue '{}': reservation of {} packets: the queue "
                    "stopped before they were published",
                    queue.label, packets.size()));
  // Last to first, so that the device cannot begin before all are there.
  for (size_t i = packets.size(); i-- > 0;)
    queue.ring->publishAt(first + i, packets[i]);
  std::shared_ptr<QueueHandle> held = std::move(handle);
  --queue.openReservations;
  TESSERA_RETURN_IF_ERROR(queue.ringDoorbell());
  queue.hardware->wakeHost();
  return Status::success();
}

Reservation &Reservation::operator=(Reservation &&other) {
  if (this != &other) {
    this->~Reservation();
    new (this) Reservation(std::move(other));
  }
  return *this;
}

Reservation::~Reservation() {
  if (!handle)
    return;
  auto nothing = encode(Packet{0, 0, NopPacket{}});
  for (uint32_t i = 0; i < packets.size(); ++i)
    if (!written[i])
      (void)write(i, nothing);
  // A queue that has stopped needs nothing from us.
  (void)publish();
}

} // namespace tessera::runtime
