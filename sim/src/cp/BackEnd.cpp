//===- BackEnd.cpp - Command processor: running packets ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Sequencer.h"
#include "cp/CommandProcessor.h"
#include "tessera/Support/Bytes.h"
#include "tessera/Support/Mutant.h"
#include <algorithm>

namespace tessera::sim {

void CommandProcessor::handle(const Event &event) {
  auto q = uint32_t(event.payload >> 48);
  uint64_t id = event.payload & ((uint64_t(1) << 48) - 1);
  Queue &queue = queues[q];
  if (event.epoch != queue.epoch)
    return;
  switch (Code(event.code)) {
  case Doorbell:
    queue.sleeping = false;
    return advance(q);
  case FetchIssue:
    return fetchIssue(q);
  case FetchDone:
    return fetchDone(q, FaultCause(event.fault));
  case Decoded:
    return decoded(q);
  case Completed:
    return completed(q, id);
  default:
    break;
  }
  Slot *slot = find(q, id);
  if (!slot)
    return;
  bool preparing =
      slot->state == Slot::State::Parked && slot->step != Slot::Step::None;
  if (slot->state != Slot::State::Running && !preparing)
    return;
  if (slot->stale && (event.code == RecordRead || event.code == ArgumentsRead))
    return issue(q, *slot);
  if (event.fault) {
    uint64_t address = 0;
    if (auto *d = std::get_if<isa::DispatchPacket>(&slot->packet.body))
      address = event.code == RecordRead ? d->kernel : d->arguments;
    else if (auto *t = std::get_if<isa::TimestampPacket>(&slot->packet.body))
      address = t->destination;
    return refuse(q, *slot, FaultCause(event.fault), address);
  }
  switch (Code(event.code)) {
  case DispatchIssue:
    slot->stale = false;
    slot->generation = services.mmu.generation();
    tracePart(q, *slot, DispatchPart::Record);
    return requestVirtual(
        q, std::get<isa::DispatchPacket>(slot->packet.body).kernel,
        isa::kernelRecordBytes, Access::Read, RecordRead, id);
  case RecordRead:
    return recordRead(q, *slot);
  case ArgumentsRead:
    return readArguments(q, *slot);
  case CoreBegin:
    if (--slot->tasksLeft == 0)
      coresTold(q, *slot);
    return;
  case GoArrived:
    if (--slot->goLeft == 0)
      beginPrepared(q, *slot);
    return;
  case Resume:
    return resume(q, *slot);
  case CoreDone:
    if (--slot->coresLeft == 0) {
      freeCores(pack(q, id));
      complete(q, *slot);
      startAll();
    }
    return;
  case Watchdog: {
    const auto &d = std::get<isa::DispatchPacket>(slot->packet.body);
    for (uint32_t core : rectangle(d))
      if (cores[core]->running())
        return fault(q, id, FaultCause::Watchdog, d.budget, core,
                     cores[core]->scalarUnit().pc());
    return;
  }
  case TimestampWritten: {
    uint64_t at = std::get<isa::TimestampPacket>(slot->packet.body).destination;
    FaultCause cause = services.memory.writeVirtual(
        queue.context, at, &slot->stamp, sizeof(uint64_t), at);
    if (cause != FaultCause::None)
      return fault(q, id, cause, at);
    return complete(q, *slot);
  }
  default:
    return;
  }
}

//===----------------------------------------------------------------------===//
// Starting
//===----------------------------------------------------------------------===//

bool CommandProcessor::waitsMet(const isa::Packet &packet) const {
  auto met = [&](const isa::SemaphoreValue &w) {
    if (TESSERA_MUTANT("wait-one-too-low") && w.semaphore &&
        w.semaphore < semaphores.size() &&
        semaphores[w.semaphore] + 1 >= w.value)
      return true;
    return w.semaphore == 0 || (w.semaphore < semaphores.size() &&
                                semaphores[w.semaphore] >= w.value);
  };
  return std::visit(
      [&](const auto &body) {
        if constexpr (requires { body.waits; })
          return (body.any && !TESSERA_MUTANT("any-wait-as-all")) ||
                         TESSERA_MUTANT("all-waits-as-any")
                     ? std::any_of(body.waits.begin(), body.waits.end(), met)
                     : std::all_of(body.waits.begin(), body.waits.end(), met);
        else if constexpr (requires { body.wait; })
          return met(body.wait);
        else
          return true;
      },
      packet.body);
}

bool CommandProcessor::earlierDone(const Queue &queue, const Slot &slot) const {
  bool lastOnly = TESSERA_MUTANT("barrier-sees-last-only");
  for (size_t i = 0; i < queue.window.size(); ++i) {
    const Slot &earlier = queue.window[i];
    if (earlier.id == slot.id)
      return true;
    if (lastOnly && i + 1 < queue.window.size() &&
        queue.window[i + 1].id != slot.id)
      continue;
    if (earlier.state != Slot::State::Done && earlier.id != slot.fetched.parent)
      return false;
  }
  return true;
}

/// A semaphore that a packet waits on or signals and that does not exist.
static std::optional<uint32_t> badSemaphore(const isa::Packet &packet,
                                            size_t count) {
  std::optional<uint32_t> bad;
  auto look = [&](const isa::SemaphoreValue &s) {
    if (s.semaphore >= count)
      bad = s.semaphore;
  };
  std::visit(
      [&](const auto &body) {
        if constexpr (requires { body.completion; })
          look(body.completion);
        if constexpr (requires { body.wait; })
          look(body.wait);
        if constexpr (requires { body.waits; })
          for (const isa::SemaphoreValue &w : body.waits)
            look(w);
      },
      packet.body);
  return bad;
}

void CommandProcessor::tryStart(uint32_t q, uint64_t id) {
  Queue &queue = queues[q];
  Slot *slot = find(q, id);
  if (!slot || slot->state != Slot::State::Parked ||
      (queue.faulted && !slot->fetched.parent &&
       !TESSERA_MUTANT("parked-start-after-fault")))
    return;
  if (held(queue, *slot))
    return prepareNext(q);
  if (slot->illegal)
    return fault(q, id, FaultCause::IllegalPacket, slot->fetched.image[0]);
  if (std::optional<uint32_t> bad =
          badSemaphore(slot->packet, semaphores.size()))
    return fault(q, id, FaultCause::SemaphoreRange, *bad);
  if ((slot->packet.flags & isa::packetBarrier) &&
      !TESSERA_MUTANT("barrier-dropped") && !earlierDone(queue, *slot))
    return prepareNext(q);
  if (!waitsMet(slot->packet))
    return prepareNext(q);
  if (std::holds_alternative<isa::DispatchPacket>(slot->packet.body)) {
    if (coresOf(std::get<isa::DispatchPacket>(slot->packet.body)) == 0)
      return fault(q, id, FaultCause::IllegalPacket, id);
    if (!takeCores(q, *slot))
      return prepareNext(q);
  }
  slot->state = Slot::State::Running;
  slot->startCycle = services.now();
  bool ofBuffer = slot->fetched.parent != 0;
  bool barrier = slot->packet.flags & isa::packetBarrier;
  start(q, *slot);
  prepareNext(q);
  if (ofBuffer && barrier) {
    startAll(); // what it held back
    advance(q);
  } else if (queue.source.heldBy == id) {
    queue.source.heldBy = 0;
    advance(q);
  }
}

void CommandProcessor::start(uint32_t q, Slot &slot) {
  uint64_t root = queues[q].context;
  tracePacket(q, slot, /*begins=*/true);
  if (std::holds_alternative<isa::DispatchPacket>(slot.packet.body)) {
    snapshot(slot, true);
    tracePart(q, slot, DispatchPart::Start);
    resume(q, slot);
  } else if (TESSERA_MUTANT("completed-without-running") &&
             std::holds_alternative<isa::CopyPacket>(slot.packet.body)) {
    complete(q, slot);
  } else if (auto *copy = std::get_if<isa::CopyPacket>(&slot.packet.body)) {
    if (TESSERA_MUTANT("completion-before-data"))
      (void)signal(copy->completion);
    copies.start({pack(q, slot.id), slot.packet.id, queues[q].priority, 0, root,
                  copy->destination, copy->source, copy->size, 0, false});
  } else if (auto *fill = std::get_if<isa::FillPacket>(&slot.packet.body)) {
    copies.start({pack(q, slot.id), slot.packet.id, queues[q].priority, 0, root,
                  fill->destination, 0, fill->size, fill->pattern, true});
  } else if (auto *indirect =
                 std::get_if<isa::IndirectPacket>(&slot.packet.body)) {
    if (indirect->address % isa::packetBytes != 0)
      return fault(q, slot.id, FaultCause::Misaligned, indirect->address);
    slot.commandCount = indirect->count;
    const Traffic &cp =
        services.memorySystem.traffic(services.arch.cores.count);
    slot.trafficBefore = cp;
    for (uint32_t c = 0; c < services.arch.cores.count; ++c) {
      slot.trafficBefore.dramRead += services.memorySystem.traffic(c).dramRead;
      slot.trafficBefore.dramWritten +=
          services.memorySystem.traffic(c).dramWritten;
    }
    if (indirect->count == 0) {
      slot.exhausted = true;
      slot.firstFetch = services.now();
      return complete(q, slot);
    }
    queues[q].streams.push_back(slot.id);
    advance(q);
  } else if (auto *stamp =
                 std::get_if<isa::TimestampPacket>(&slot.packet.body)) {
    if (stamp->destination % 8 != 0)
      return fault(q, slot.id, FaultCause::Misaligned, stamp->destination);
    slot.stamp = services.events.now();
    requestVirtual(q, stamp->destination, 8, Access::Write, TimestampWritten,
                   slot.id);
  } else {
    if (auto *i = std::get_if<isa::InterruptPacket>(&slot.packet.body))
      interrupt(DeviceInterrupt::Kind::Packet, q, i->payload);
    complete(q, slot);
  }
}

uint64_t CommandProcessor::effectivePriority(uint32_t q,
                                             const Slot &slot) const {
  uint64_t age = slot.wantsCores ? services.now() - slot.wantedSince : 0;
  return queues[q].priority + age / services.arch.cp.ageing;
}

/// Highest priority first; of equals who waits for cores longest; else by queue
/// and program order.
void CommandProcessor::startAll() {
  if (TESSERA_MUTANT("wake-up-lost"))
    return;
  struct Candidate {
    uint64_t priority = 0;
    Cycle since = 0;
    uint32_t queue = 0;
    uint64_t slot = 0;
  };
  std::vector<Candidate> parked;
  for (uint32_t q = 0; q < queues.size(); ++q)
    for (const Slot &slot : queues[q].window)
      if (slot.state == Slot::State::Parked)
        parked.push_back({effectivePriority(q, slot),
                          slot.wantsCores ? slot.wantedSince : services.now(),
                          q, slot.id});
  std::stable_sort(parked.begin(), parked.end(),
                   [](const Candidate &a, const Candidate &b) {
                     return a.priority != b.priority ? a.priority > b.priority
                                                     : a.since < b.since;
                   });
  for (const Candidate &candidate : parked)
    tryStart(candidate.queue, candidate.slot);
  prepareAll();
}

//===----------------------------------------------------------------------===//
// Completing
//===----------------------------------------------------------------------===//

void CommandProcessor::complete(uint32_t q, Slot &slot) {
  slot.state = Slot::State::Completing;
  post(services.now() + services.arch.cp.signal +
           (TESSERA_MUTANT("observer-takes-time") && services.observer),
       Phase::Signal, Completed, q, slot.id);
}

void CommandProcessor::completed(uint32_t q, uint64_t id) {
  Slot *slot = find(q, id);
  if (!slot || slot->state != Slot::State::Completing)
    return;
  FaultCause cause = FaultCause::None;
  uint64_t value = 0;
  std::visit(
      [&](const auto &body) {
        if constexpr (requires { body.completion; }) {
          value = body.completion.value;
          cause = signal(body.completion);
        }
      },
      slot->packet.body);
  if (cause != FaultCause::None)
    return fault(q, id, cause, value);
  record(q, *slot);
  slot->state = Slot::State::Done;
  ++packetsDone;
  if (uint64_t parentId = slot->fetched.parent)
    if (Slot *parent = find(q, parentId)) {
      --parent->childrenLeft;
      if (parent->exhausted && parent->childrenLeft == 0 &&
          parent->state == Slot::State::Running)
        complete(q, *parent);
    }
  retire(q);
  startAll();
  advance(q);
}

void CommandProcessor::retire(uint32_t q) {
  Queue &queue = queues[q];
  // What a command buffer ran is gone at once; packets of the ring in order.
  std::erase_if(queue.window, [](const Slot &s) {
    return s.state == Slot::State::Done && s.fetched.parent;
  });
  while (!queue.window.empty() &&
         queue.window.front().state == Slot::State::Done &&
         queue.window.front().fetched.ringIndex == queue.done) {
    if (TESSERA_MUTANT("done-counts-twice"))
      ++queue.done;
    ++queue.done;
    queue.window.pop_front();
  }
  tellDone(q);
}

void CommandProcessor::tellDone(uint32_t q) {
  Queue &queue = queues[q];
  if (!queue.notify || int64_t(queue.done - *queue.notify) < 0)
    return;
  queue.notify.reset();
  interrupt(DeviceInterrupt::Kind::QueueDone, q, 0);
}

/// A slice of its queue begins or ends; packets that do nothing have none.
void CommandProcessor::tracePacket(uint32_t q, const Slot &slot, bool begins) {
  if (!services.observer)
    return;
  TraceEvent event;
  using Kind = TraceEvent::Kind;
  event.kind = begins ? Kind::TransferBegin : Kind::TransferEnd;
  event.id = q;
  event.timeFs = services.events.now();
  if (auto *d = std::get_if<isa::DispatchPacket>(&slot.packet.body)) {
    event.kind = begins ? Kind::DispatchBegin : Kind::DispatchEnd;
    event.core = coreOf(*d, 0);
    event.value = slot.packet.id;
  } else if (auto *copy = std::get_if<isa::CopyPacket>(&slot.packet.body)) {
    event.pc = slot.packet.id;
    event.value = copy->size;
  } else if (auto *fill = std::get_if<isa::FillPacket>(&slot.packet.body)) {
    event.opcode = 1;
    event.pc = slot.packet.id;
    event.value = fill->size;
  } else {
    return;
  }
  services.observer->event(event);
}

void CommandProcessor::record(uint32_t q, const Slot &slot) {
  Cycle now = services.now();
  tracePacket(q, slot, /*begins=*/false);
  if (auto *d = std::get_if<isa::DispatchPacket>(&slot.packet.body)) {
    DispatchRecord r;
    r.queue = q;
    r.ringIndex = slot.fetched.ringIndex;
    if (slot.fetched.command != noCommand)
      r.commandIndex = slot.fetched.command;
    r.packetId = slot.packet.id;
    r.kernel = d->kernel;
    r.x = d->x, r.y = d->y, r.width = d->width, r.height = d->height;
    r.fetchCycle = slot.fetched.fetchCycle;
    r.startCycle = slot.startCycle;
    r.runCycle = slot.runCycle;
    r.haltCycle = slot.haltCycle;
    r.endCycle = now;
    r.macs = slot.macs;
    r.spmPeakBytes = slot.spmPeak;
    r.dramBytesRead = slot.dramRead, r.dramBytesWritten = slot.dramWritten;
    r.engines = slot.engines;
    dispatchRecords.push_back(r);
  } else if (std::holds_alternative<isa::IndirectPacket>(slot.packet.body)) {
    CommandBufferRecord r;
    r.queue = q;
    r.ringIndex = slot.fetched.ringIndex;
    r.packetId = slot.packet.id;
    r.firstFetchCycle = slot.firstFetch;
    r.endCycle = now;
    Traffic sum;
    for (uint32_t c = 0; c <= services.arch.cores.count; ++c) {
      sum.dramRead += services.memorySystem.traffic(c).dramRead;
      sum.dramWritten += services.memorySystem.traffic(c).dramWritten;
    }
    r.dramBytesRead = sum.dramRead - slot.trafficBefore.dramRead;
    r.dramBytesWritten = sum.dramWritten - slot.trafficBefore.dramWritten;
    commandBufferRecords.push_back(r);
  }
}

void CommandProcessor::copyDone(const CopyJob &job, FaultCause cause,
                                uint64_t address) {
  auto q = uint32_t(job.slot >> 48);
  uint64_t id = job.slot & ((uint64_t(1) << 48) - 1);
  Slot *slot = find(q, id);
  if (!slot || slot->state != Slot::State::Running)
    return;
  if (cause != FaultCause::None)
    return fault(q, id, cause, address);
  complete(q, *slot);
}

} // namespace tessera::sim
