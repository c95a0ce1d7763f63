//===- DmaEngine.cpp - Load and store engines -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/DmaEngine.h"
#include "check/Checker.h"
#include "noc/Noc.h"

namespace tessera::sim {

using isa::Opcode;

DmaEngine::DmaEngine(Core &core, Engine kind)
    : QueueEngine(core, kind), storing(kind == Engine::Store),
      burstsPerCycle(std::max(1u, storing ? core.services.arch.dma.storeBursts
                                          : core.services.arch.dma.loadBursts)),
      client(core.services.mmu.addClient()), words(core.banks.layout),
      farWords(core.banks.layout) {}

void DmaEngine::reset() {
  resetQueue();
  firstId += transfers.size();
  transfers.clear();
  issuing = translating = blocked = withinCore = false;
  bursts.stop();
  next.reset();
  places.clear();
  freePlaces.clear();
  inFlight = held = 0;
  slotCycle = finishAt = never;
}

StallCause DmaEngine::idleCause() const {
  if (translating)
    return StallCause::Tlb;
  if (blocked ||
      (inFlight > 0 && !transfers.empty() && transfers.front().target))
    return StallCause::BackPressure;
  if (inFlight > 0)
    return held == inFlight ? StallCause::BankConflict : StallCause::Dram;
  if (!transfers.empty())
    return StallCause::FillDrain;
  if (waiting)
    return core.waitCause(queue.front().waits);
  return StallCause::QueueEmpty;
}

bool DmaEngine::headDepends() const {
  if (queue.empty() || transfers.empty())
    return false;
  ByteInterval source = localSource(core, queue.front()),
               indices = localIndices(core, queue.front());
  for (const Transfer &t : transfers)
    if (t.destination.space == isa::Space::Spm &&
        (!t.target || *t.target == core.task.indexInDispatch) &&
        (t.interval.overlaps(source) || t.interval.overlaps(indices)))
      return true;
  return false;
}

void DmaEngine::step(Cycle now) {
  while (core.running()) {
    if (issuing) {
      if (next ? sendAt > now : slotCycle != never && slotCycle > now)
        return wake(next ? sendAt : slotCycle);
      if (!next && (slotCycle == never || slotCycle < now))
        slotCycle = now, slots = burstsPerCycle;
      if (!issueBurst(now))
        break;
      continue;
    }
    if (headDepends() || !headReady(now))
      break;
    QueueEntry entry = pop(now);
    if (!start(entry, now))
      return;
  }
  if (core.running())
    account.waitOn(idleCause(), now);
}

void DmaEngine::takeSlots(uint64_t count) {
  if (count < slots) {
    slots -= uint32_t(count);
    return;
  }
  count -= slots;
  slotCycle += 1 + count / burstsPerCycle;
  slots = burstsPerCycle - uint32_t(count % burstsPerCycle);
}

bool DmaEngine::start(const QueueEntry &entry, Cycle now) {
  Transfer transfer;
  transfer.opcode = entry.opcode;
  transfer.pc = entry.pc;
  transfer.signals = entry.signals;
  transfer.posted = entry.posted;
  transfer.remote = entry.remote;
  auto occupy = [&](Cycle until) {
    account.wait(StallCause::QueueEmpty, now);
    account.charge(StallCause::Busy, until);
    nextStart = until;
    transfer.issued = true;
    transfer.ready = until;
  };
  if (entry.isSync()) {
    occupy(now + 1);
  } else {
    TransferPlan plan;
    TransferFault fault = beginTransfer(core, kind, entry, transfer, plan);
    if (fault.cause != FaultCause::None) {
      core.fault(fault.cause, entry.pc, fault.address);
      return false;
    }
    core.banks.passTo(now);
    if (entry.opcode == Opcode::FILL) {
      Cycle cycles = 0, end = fill(transfer.destination, now, cycles);
      occupy(now + cycles);
      account.charge(StallCause::BankConflict, end);
      nextStart = transfer.ready = end;
    } else {
      if (slotCycle == never || slotCycle < now)
        slotCycle = now, slots = burstsPerCycle;
      bool ahead = plan.indices || transfer.padding;
      if (ahead)
        moveAhead(plan, transfer, now);
      if (plan.hasBursts) {
        issuing = true;
        withinCore = plan.withinCore;
        bursts.start(std::move(plan.bursts));
        transfer.near = bursts.near();
        transfer.near.innerCount = bursts.maxElements();
        transfer.nearIsDense = transfer.near.innerRuns.count == 1 &&
                               transfer.near.isSimple(core.banks.layout);
      } else {
        occupy(std::max({now + 1, afterSlots(), transfer.written}));
        nextStart = ahead ? slotCycle : now + 1;
      }
    }
  }
  transfers.push_back(std::move(transfer));
  scheduleFinish();
  return true;
}

bool DmaEngine::issueBurst(Cycle now) {
  if (translating || blocked || inFlight >= core.services.arch.dma.outstanding)
    return false;
  if (!next)
    readBurst(now);
  if (sendAt > now)
    return true;
  uint32_t node = core.services.noc.coreNode(core.index);
  if (!withinCore && !core.services.memorySystem.accepts(node)) {
    blocked = true;
    core.services.noc.whenAdvanced(node, Noc::Class::Request,
                                   reply(NetworkAdvanced));
    return false;
  }
  Burst burst = *next;
  next.reset();
  Transfer &transfer = transfers.back();
  ++transfer.outstanding;
  ++transfer.numBursts;
  ++inFlight;
  // It may have had to wait for a place in the network: the slots of the cycles
  // before are gone. What was read has taken its own.
  bool tookSlots = storing || withinCore;
  if (slotCycle < now)
    slotCycle = now, slots = burstsPerCycle;
  if (!tookSlots)
    takeSlots(burst.slots);
  else if (afterSlots() <= now)
    takeSlots(1);

  uint64_t id = firstId + transfers.size() - 1;
  if (withinCore) { // behind what comes from outside
    post(now + 1, Phase::Signal, BurstDone, keep(burst, id, 1));
  } else if (transfer.target) {
    burst.row = *transfer.target;
    sendBurst(burst, keep(burst, id, 1));
  } else {
    auto copies = uint32_t(std::max<size_t>(1, transfer.deliveries.size()));
    VirtualRequest request;
    request.root = core.task.root;
    request.address = burst.address;
    request.bytes = burst.bytes;
    request.access = storing ? Access::Write : Access::Read;
    request.client = client;
    request.node = node;
    request.account = core.index;
    request.reply = {self, BurstDone, core.epoch, keep(burst, id, copies)};
    request.translatedCode = Translated;
    request.cores = transfer.multicast.cores;
    translating = !core.services.mmu.request(request);
  }
  account.wait(StallCause::Dram, now);
  account.charge(StallCause::Busy, std::max(now + 1, afterSlots()));
  if (bursts.done())
    lastBurstIssued(now);
  return true;
}

void DmaEngine::sendBurst(const Burst &burst, uint64_t payload) {
  const Core *to = core.peer(*transfers.back().target);
  if (!to) // the dispatch is being torn down
    return;
  Noc &noc = core.services.noc;
  noc.send(noc.coreNode(core.index), noc.coreNode(to->index),
           Noc::Class::Request, burst.bytes, reply(BurstArrived, payload));
}

void DmaEngine::lastBurstIssued(Cycle now) {
  Transfer &transfer = transfers.back();
  issuing = false;
  transfer.issued = true;
  nextStart = slotCycle;
  if (transfer.posted)
    transfer.ready = std::max(now + 1, afterSlots());
  scheduleFinish();
}

void DmaEngine::scheduleFinish() {
  if (transfers.empty() || transfers.front().ready == never ||
      finishAt <= transfers.front().ready)
    return;
  finishAt = std::max(transfers.front().ready, core.services.now());
  post(finishAt, Phase::Complete, Finish);
}

void DmaEngine::finishReady(Cycle now) {
  bool any = false;
  while (!transfers.empty() && transfers.front().ready <= now) {
    Transfer t = std::move(transfers.front());
    transfers.pop_front();
    ++firstId;
    any = true;
    if (!transfers.empty() && !transfers.front().deliveries.empty())
      post(now, Phase::Complete, Deliver); // they waited for this one
    TransferFault fault = commitTransfer(core, t);
    if (fault.cause != FaultCause::None)
      return core.fault(fault.cause, t.pc, fault.address);
    core.trace(TraceEvent::Kind::InstructionEnd, kind, t.opcode, t.pc);
    core.signal(t.signals, kind, t.pc);
    core.signalCore(t.remote, kind, t.pc);
    if (!core.running())
      return;
  }
  scheduleFinish();
  if (!any)
    return;
  if (!issuing)
    account.waitOn(idleCause(), now);
  if (!issuing && !queue.empty())
    wake(std::max(now, nextStart)); // the head may have waited for these
  if (storing && idle())
    core.unit(Engine::Sequencer).wake(now); // a fence may wait
  core.checkDone();
}

/// In order of the queue, like completions: only the oldest transfer's.
void DmaEngine::deliverReady(Cycle now) {
  if (transfers.empty() || transfers.front().deliveries.empty())
    return;
  Transfer &t = transfers.front();
  bool all = true;
  for (Delivery &d : t.deliveries) {
    if (!d.done && d.ready <= now) {
      Core *to = core.peer(d.core);
      if (!to || !to->running())
        return core.fault(FaultCause::CoreNotRunning, t.pc, d.core);
      d.done = true;
      deliverTransfer(*to, t);
      if (Checker *checker = core.services.checker)
        checker->delivered(core, kind, *to, t.multicast.sem, t.multicast.count);
      to->addFromOtherCore(t.multicast.sem, t.multicast.count,
                           isa::Opcode::LOADMULTICAST);
      if (!core.running())
        return;
    }
    all &= d.done;
  }
  if (all) {
    t.ready = now;
    finishReady(now);
  }
}

void DmaEngine::handle(const Event &event) {
  if (!accept(event))
    return;
  Cycle now = core.services.now();
  switch (event.code) {
  case Finish:
    if (finishAt == now)
      finishAt = never;
    return finishReady(now);
  case Translated:
    translating = false;
    return wake(now);
  case NetworkAdvanced:
    blocked = false;
    return wake(now);
  case BurstArrived:
    return burstCameTo(event.payload, now);
  case BurstWritten:
    if (storing) // at another core
      return answer(event.payload);
    if (Transfer *t = transferOf(event.payload); t && !t->deliveries.empty())
      return multicastWritten(event.payload, event.detail, now);
    --held;
    return burstOver(event.payload, now);
  case Deliver:
    return deliverReady(now);
  default:
    return burstCame(event, now);
  }
}

void DmaEngine::burstCame(const Event &event, Cycle now) {
  Transfer *t = transferOf(event.payload);
  if (event.fault)
    return core.fault(FaultCause(event.fault), t ? t->pc : 0,
                      bursts.far().base);
  if (storing || !t)
    return burstOver(event.payload, now);
  if (!t->deliveries.empty())
    return multicastCame(event, now);
  Cycle end = 0, last = writeBurst(core, *t, placeOf(event.payload), now, end);
  t->written = std::max(t->written, end);
  if (last <= now)
    return burstOver(event.payload, now);
  ++held;
  post(last, Phase::Complete, BurstWritten, event.payload);
  if (inFlight == held)
    account.waitOn(idleCause(), now);
}

void DmaEngine::burstOver(uint64_t payload, Cycle now) {
  bool wasFull = inFlight >= core.services.arch.dma.outstanding;
  --inFlight;
  release(payload);
  if (Transfer *t = transferOf(payload))
    if (--t->outstanding == 0 && t->issued && t->ready == never)
      t->ready = storing ? now : t->written;
  goOn(wasFull, now);
}

void DmaEngine::goOn(bool wasFull, Cycle now) {
  if (!transfers.empty() && transfers.front().ready <= now)
    finishReady(now);
  else
    scheduleFinish();
  if (!core.running())
    return;
  if (wasFull && issuing)
    wake(now);
  if (held > 0 && held == inFlight)
    account.waitOn(idleCause(), now);
  if (inFlight == 0 && !issuing) {
    account.waitOn(idleCause(), now);
    if (storing && idle()) {
      core.unit(Engine::Sequencer).wake(now);
      core.checkDone();
    }
  }
}

} // namespace tessera::sim
