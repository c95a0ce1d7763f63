//===- QueueSlots.cpp - Many queues on few hardware slots ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QueueState.h"
#include "tessera/ISA/Mmio.h"
#include <algorithm>

using namespace tessera::isa;

namespace tessera::runtime {

// A queue takes a slot when it has something to publish, and keeps it until
// another queue wants it. Then the queue that has held one longest publishes no
// more; what the device has of it finishes without the host's help, and the
// slot changes hands. Among those that wait the highest priority goes first;
// being passed over counts as one level, so that nobody is passed over for
// ever.

Status QueueState::attach(uint32_t toSlot) {
  slot = toSlot;
  draining = wantsSlot = false;
  passedOver = 0;
  attachedAt = ++hardware->slotSwitches;
  hardware->slots[toSlot] = this;
  const std::pair<uint64_t, uint64_t> registers[] = {
      {mmio::queueRing, ring->hostOffset()},
      {mmio::queueSize, ring->slots()},
      {mmio::queueContext, space->tables->root()},
      {mmio::queuePriority, priority},
      {mmio::queueFirst, ring->published()},
      {mmio::queueEnable, 1}};
  for (auto [offset, value] : registers)
    if (Status written = writeRegister(offset, value); !written.ok()) {
      hardware->slots[toSlot] = nullptr;
      slot.reset();
      return written;
    }
  TESSERA_ASSIGN_OR_RETURN(slotBase, slotCounters());
  return Status::success();
}

Status QueueState::detach() {
  if (Result<EngineWork> now = slotCounters()) {
    done.copiedBytes += now->copiedBytes - slotBase.copiedBytes;
    done.coresRun += now->coresRun - slotBase.coresRun;
  }
  Status written = writeRegister(mmio::queueEnable, 0);
  hardware->slots[*slot] = nullptr;
  slot.reset();
  draining = stopping = false;
  return written;
}

Result<bool> Hardware::giveSlot(QueueState &queue) {
  if (queue.slot) {
    queue.draining &= std::ranges::any_of(
        queues, [](const QueueState *q) { return q->wantsSlot; });
    return !queue.draining && !queue.stopping;
  }
  queue.wantsSlot = true;
  while (true) {
    auto free = std::ranges::find(slots, nullptr);
    if (free == slots.end()) {
      // Whoever has nothing on the device gives way, longest holder first.
      QueueState *idle = nullptr;
      for (QueueState *holder : slots)
        if (holder->idleOnDevice() && !holder->stopping &&
            (!idle || holder->attachedAt < idle->attachedAt))
          idle = holder;
      if (!idle)
        break;
      free = slots.begin() + *idle->slot;
      TESSERA_RETURN_IF_ERROR(idle->detach());
    }
    QueueState *next = nullptr;
    for (QueueState *waiting : queues)
      if (waiting->wantsSlot &&
          (!next || waiting->priority + waiting->passedOver >
                        next->priority + next->passedOver))
        next = waiting;
    TESSERA_RETURN_IF_ERROR(next->attach(uint32_t(free - slots.begin())));
    for (QueueState *waiting : queues)
      waiting->passedOver += waiting->wantsSlot;
    if (next == &queue)
      return true;
    TESSERA_RETURN_IF_ERROR(next->publishPending().status());
  }

  // As many drain as wait.
  auto wants = std::ranges::count_if(
      queues, [](const QueueState *q) { return q->wantsSlot; });
  auto drains = std::ranges::count_if(
      slots, [](const QueueState *q) { return q->draining; });
  for (; drains < wants; ++drains) {
    QueueState *longest = nullptr;
    for (QueueState *holder : slots)
      if (!holder->draining && !holder->openReservations &&
          (!longest || holder->attachedAt < longest->attachedAt))
        longest = holder;
    if (!longest)
      break;
    longest->draining = true;
  }
  for (QueueState *holder : slots)
    if (holder->draining)
      TESSERA_RETURN_IF_ERROR(
          holder->writeRegister(mmio::queueNotify, holder->ring->published()));
  return false;
}

} // namespace tessera::runtime
