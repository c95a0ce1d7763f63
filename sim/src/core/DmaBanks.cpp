//===- DmaBanks.cpp - What data movement needs of the banks -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A burst asks for the banks when it is next to be read, or when it has come:
// docs/timing.md, Memory banks.
//
//===----------------------------------------------------------------------===//

#include "core/DmaEngine.h"
#include "noc/Noc.h"

namespace tessera::sim {

//===----------------------------------------------------------------------===//
// Bursts under way
//===----------------------------------------------------------------------===//

/// The transfer's number is in the upper half, the place's in the lower.
static uint32_t placeIn(uint64_t payload) { return uint32_t(payload); }

uint64_t DmaEngine::keep(const Burst &burst, uint64_t id, uint32_t copies) {
  uint32_t place;
  if (freePlaces.empty()) {
    place = uint32_t(places.size());
    places.emplace_back();
  } else {
    place = freePlaces.back();
    freePlaces.pop_back();
  }
  places[place] = {burst, copies};
  return id << 32 | place;
}

Burst DmaEngine::placeOf(uint64_t payload) const {
  uint32_t place = placeIn(payload);
  return place < places.size() ? places[place].burst : Burst();
}

bool DmaEngine::release(uint64_t payload) {
  uint32_t place = placeIn(payload);
  if (place >= places.size() || places[place].copies == 0 ||
      --places[place].copies != 0)
    return false;
  freePlaces.push_back(place);
  return true;
}

Transfer *DmaEngine::transferOf(uint64_t payload) {
  uint32_t index = uint32_t(payload >> 32) - uint32_t(firstId);
  return index < transfers.size() ? &transfers[index] : nullptr;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

BankAccess &DmaEngine::nearWords(Transfer &transfer, const Burst &burst) {
  AccessPattern &near = transfer.near;
  near.outerFirst = burst.row;
  near.innerFirst = burst.first;
  near.innerCount = burst.count;
  near.access(0, words);
  return words;
}

void DmaEngine::readBurst(Cycle now) {
  next = bursts.next();
  sendAt = now;
  Transfer &transfer = transfers.back();
  if (!storing && !withinCore && transfer.nearIsDense)
    return;
  BankAccess *read = &nearWords(transfer, *next);
  next->slots = std::max(next->slots, read->cycles());
  if (withinCore) {
    read = &farWords;
    read->clear(bursts.far().space);
    read->add(next->address, next->address + next->bytes);
    next->slots = std::max(next->slots, read->cycles());
  } else if (!storing) {
    return; // its slots are those of its request
  }
  core.banks.passTo(now);
  AccessCycles made = core.banks.place(*read, now);
  account.wait(StallCause::Dram, now);
  beginAt(made.first);
  takeSlots(next->slots);
  account.charge(StallCause::Busy, afterSlots());
  sendAt = made.end - 1;
  account.charge(StallCause::BankConflict, sendAt);
}

void DmaEngine::beginAt(Cycle cycle) {
  if (cycle <= slotCycle)
    return;
  account.charge(StallCause::BankConflict, cycle);
  slotCycle = cycle, slots = burstsPerCycle;
}

void DmaEngine::moveAhead(const TransferPlan &plan, Transfer &transfer,
                          Cycle now) {
  account.wait(StallCause::QueueEmpty, now);
  auto move = [&] {
    unsigned cycles = words.cycles();
    AccessCycles made = core.banks.place(words, slotCycle);
    beginAt(made.first);
    takeSlots(cycles);
    account.charge(StallCause::Busy, afterSlots());
    return made.end;
  };
  uint64_t bytes = core.services.arch.dma.burstBytes;
  if (plan.indices) {
    AccessPattern pattern;
    pattern.td = *plan.indices;
    pattern.setEnds();
    pattern.innerCount = pattern.innerStep = std::max<uint64_t>(1, bytes / 4);
    Cycle known = 0;
    for (uint64_t i = 0; i * pattern.innerStep < pattern.innerEnd; ++i) {
      pattern.access(i, words);
      known = std::max(known, move());
    }
    if (known > afterSlots())
      beginAt(known);
  }
  if (!transfer.padding)
    return;
  // The cores that a multicast goes to write their own.
  PaddingWalk walk(*transfer.padding, bytes);
  while (walk.next(words))
    if (transfer.deliveries.empty()) {
      transfer.written = std::max(transfer.written, move());
    } else {
      takeSlots(1);
      account.charge(StallCause::Busy, afterSlots());
    }
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Cycle DmaEngine::fill(const isa::Descriptor &td, Cycle now, Cycle &cycles) {
  AccessPattern pattern;
  pattern.td = td;
  pattern.setEnds();
  pattern.innerCount = pattern.innerStep = std::max<uint64_t>(
      1, uint64_t(core.services.arch.dma.burstBytes) * 8 / bitWidth(td.format));
  cycles = ceilDiv(pattern.innerEnd, pattern.innerStep);
  return core.banks.place(BankUser::Fill, pattern, cycles, now, 1);
}

Cycle DmaEngine::writeBurst(Core &to, Transfer &transfer, const Burst &burst,
                            Cycle now, Cycle &end) {
  BankAccess &access = nearWords(transfer, burst);
  access.cycles();
  to.banks.passTo(now);
  AccessCycles made = to.banks.place(access, now);
  end = std::max(made.end, made.first + ceilDiv(burst.slots, burstsPerCycle));
  return made.end - 1;
}

void DmaEngine::burstCameTo(uint64_t payload, Cycle now) {
  Burst burst = placeOf(payload);
  Core *to = core.peer(burst.row);
  if (!to) // the dispatch is being torn down
    return;
  farWords.clear();
  farWords.add(burst.address, burst.address + burst.bytes);
  farWords.cycles();
  to->banks.passTo(now);
  // Also if it is written at once: answers of a cycle leave in the order in
  // which their bursts came.
  Cycle last = to->banks.place(farWords, now).end - 1;
  post(last, Phase::Complete, BurstWritten, payload);
}

void DmaEngine::answer(uint64_t payload) {
  const Core *from = core.peer(placeOf(payload).row);
  if (!from)
    return;
  Noc &noc = core.services.noc;
  noc.send(noc.coreNode(from->index), noc.coreNode(core.index),
           Noc::Class::Response, 0, reply(BurstDone, payload));
}

//===----------------------------------------------------------------------===//
// Multicasts
//===----------------------------------------------------------------------===//

void DmaEngine::pad(Core &to, Delivery &delivery, const Padding &padding,
                    Cycle now) {
  delivery.padded = true;
  PaddingWalk walk(padding, core.services.arch.dma.burstBytes);
  for (Cycle at = now; walk.next(words);) {
    words.cycles();
    AccessCycles made = to.banks.place(words, at);
    delivery.end = std::max(delivery.end, made.end);
    at = made.end;
  }
}

void DmaEngine::multicastCame(const Event &event, Cycle now) {
  Transfer &t = *transferOf(event.payload);
  for (Delivery &d : t.deliveries) {
    if (d.node != event.detail)
      continue;
    Core *to = core.peer(d.core);
    if (!to || !to->running())
      return core.fault(FaultCause::CoreNotRunning, t.pc, d.core);
    to->banks.passTo(now);
    if (t.padding && !d.padded)
      pad(*to, d, *t.padding, now);
    Cycle end = 0, last = writeBurst(*to, t, placeOf(event.payload), now, end);
    d.end = std::max(d.end, end);
    if (last <= now)
      return multicastWritten(event.payload, event.detail, now);
    return post(last, Phase::Complete, BurstWritten, event.payload,
                event.detail);
  }
}

void DmaEngine::multicastWritten(uint64_t payload, uint32_t node, Cycle now) {
  Transfer &t = *transferOf(payload);
  bool wasFull = inFlight >= core.services.arch.dma.outstanding;
  for (Delivery &d : t.deliveries)
    if (d.node == node && ++d.written == t.numBursts && t.issued) {
      d.ready = d.end;
      post(d.ready, Phase::Complete, Deliver);
    }
  if (release(payload)) // all cores have written it
    --inFlight;
  goOn(wasFull, now);
}

} // namespace tessera::sim
