//===- Dispatch.cpp - Command processor: dispatches -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/CommandProcessor.h"
#include "tessera/Support/Mutant.h"
#include <algorithm>

namespace tessera::sim {

/// Kernels whose decoded form is kept.
static constexpr size_t imagesKept = 64;
/// Bytes of the messages that tell a core its task, that start a prepared one,
/// and that say it is done.
static constexpr uint32_t taskBytes = 64, goBytes = 8, doneBytes = 8;

uint32_t CommandProcessor::coresOf(const isa::DispatchPacket &d) const {
  const CoresConfig &mesh = services.arch.cores;
  uint32_t count = uint32_t(d.width) * d.height;
  if (count == 0 || uint32_t(d.x) + d.width > mesh.meshX ||
      uint32_t(d.y) + d.height > mesh.meshY ||
      coreOf(d, count - 1) >= cores.size())
    return 0;
  return count;
}

std::vector<uint32_t>
CommandProcessor::rectangle(const isa::DispatchPacket &d) const {
  std::vector<uint32_t> result(coresOf(d));
  for (uint32_t i = 0; i != result.size(); ++i)
    result[i] = coreOf(d, i);
  return result;
}

bool CommandProcessor::takeCores(uint32_t q, Slot &slot) {
  std::vector<uint32_t> wanted =
      rectangle(std::get<isa::DispatchPacket>(slot.packet.body));
  bool free = !keptForOthers(slot, wanted);
  for (uint32_t core : wanted)
    free &= coreOwner[core] == 0;
  if (!free) {
    if (!slot.wantsCores)
      slot.wantedSince = services.now();
    slot.wantsCores = true;
    return false;
  }
  for (uint32_t core : wanted)
    coreOwner[core] = pack(q, slot.id);
  slot.coresLeft = uint32_t(wanted.size());
  return true;
}

bool CommandProcessor::keptForOthers(
    const Slot &slot, const std::vector<uint32_t> &wanted) const {
  // By then no priority stands above its own.
  constexpr uint64_t levels = 16;
  uint64_t patience = levels * services.arch.cp.ageing;
  for (const Queue &queue : queues)
    for (const Slot &other : queue.window) {
      if (other.state != Slot::State::Parked || !other.wantsCores ||
          other.id == slot.id ||
          services.now() - other.wantedSince < patience ||
          (slot.wantsCores && std::pair(slot.wantedSince, slot.id) <
                                  std::pair(other.wantedSince, other.id)))
        continue;
      std::vector<uint32_t> kept =
          rectangle(std::get<isa::DispatchPacket>(other.packet.body));
      if (std::ranges::find_first_of(kept, wanted) != kept.end())
        return true;
    }
  return false;
}

void CommandProcessor::freeCores(uint64_t owner) {
  for (uint32_t core = 0; core < coreOwner.size(); ++core)
    if (coreOwner[core] == owner) {
      cores[core]->abort(); // does nothing if it has halted
      coreOwner[core] = 0;
    }
}

void CommandProcessor::snapshot(Slot &slot, bool begin) {
  auto apply = [&](uint64_t &value, uint64_t now) {
    value = begin ? value - now : value + now;
  };
  for (uint32_t index :
       rectangle(std::get<isa::DispatchPacket>(slot.packet.body))) {
    CoreStatistics s = cores[index]->statistics();
    begin ? slot.engines -= s.engines : slot.engines += s.engines;
    apply(slot.macs, s.totalMacs());
    if (!begin)
      slot.spmPeak = std::max(slot.spmPeak, cores[index]->taskPeak());
    apply(slot.dramRead, s.dramBytesRead);
    apply(slot.dramWritten, s.dramBytesWritten);
  }
}

void CommandProcessor::tracePart(uint32_t q, const Slot &slot,
                                 DispatchPart part) {
  if (!services.observer || slot.state == Slot::State::Parked)
    return;
  TraceEvent event;
  event.kind = TraceEvent::Kind::DispatchStep;
  event.id = uint32_t(part);
  event.core = q;
  event.value = slot.packet.id;
  event.timeFs = services.events.now();
  services.observer->event(event);
}

void CommandProcessor::recordRead(uint32_t q, Slot &slot) {
  uint64_t root = queues[q].context;
  const auto &d = std::get<isa::DispatchPacket>(slot.packet.body);
  uint64_t address = d.kernel;
  std::array<uint8_t, isa::kernelRecordBytes> bytes;
  FaultCause cause = services.memory.readVirtual(
      root, d.kernel, bytes.data(), bytes.size(), Access::Read, address);
  if (cause != FaultCause::None)
    return refuse(q, slot, cause, address);
  Result<isa::KernelRecord> record = isa::decodeKernelRecord(bytes);
  if (!record || d.numArguments > maxArguments ||
      d.numArguments < record->numArguments)
    return refuse(q, slot, FaultCause::IllegalPacket, d.kernel);
  const isa::KernelRecord &r = *record;
  uint64_t descriptorBytes = uint64_t(r.numDescriptors) * isa::descriptorBytes;
  if (uint64_t(r.textBytes) + r.mapBytes > services.arch.imemBytes)
    return refuse(q, slot, FaultCause::InstructionMemoryOverflow,
                  uint64_t(r.textBytes) + r.mapBytes);
  if (descriptorBytes > services.arch.tdmemBytes)
    return refuse(q, slot, FaultCause::DescriptorMemoryOverflow,
                  descriptorBytes);
  slot.task.root = root;
  slot.task.place = {q, slot.fetched.ringIndex, slot.fetched.command};
  slot.task.kernel = d.kernel;
  slot.task.record = r;
  slot.argumentBytesRead = 0;
  slot.task.arguments.assign(d.numArguments, 0);
  readArguments(q, slot);
}

void CommandProcessor::readArguments(uint32_t q, Slot &slot) {
  const auto &d = std::get<isa::DispatchPacket>(slot.packet.body);
  uint64_t left = uint64_t(d.numArguments) * 8 - slot.argumentBytesRead;
  uint64_t address = d.arguments + slot.argumentBytesRead;
  if (left > 0) {
    // In reads that stay within a page.
    uint64_t part =
        std::min(left, isa::smallPageBytes - address % isa::smallPageBytes);
    if (slot.argumentBytesRead == 0)
      tracePart(q, slot, DispatchPart::Arguments);
    slot.argumentBytesRead += uint32_t(part);
    return requestVirtual(q, address, uint32_t(part), Access::Read,
                          ArgumentsRead, slot.id);
  }
  uint64_t root = slot.task.root;
  const isa::KernelRecord &r = slot.task.record;
  address = d.arguments;
  FaultCause cause = services.memory.readVirtual(
      root, d.arguments, slot.task.arguments.data(),
      slot.task.arguments.size() * 8, Access::Read, address);
  std::vector<uint8_t> text(r.textBytes),
      descriptors(uint64_t(r.numDescriptors) * isa::descriptorBytes),
      maps(r.mapBytes);
  auto read = [&](std::vector<uint8_t> &bytes, uint64_t from, Access access) {
    if (cause == FaultCause::None && !bytes.empty())
      cause = services.memory.readVirtual(root, from, bytes.data(),
                                          bytes.size(), access, address);
  };
  read(text, r.text, Access::Execute);
  read(descriptors, r.descriptors, Access::Read);
  read(maps, r.mapPrograms, Access::Read);
  if (cause != FaultCause::None)
    return refuse(q, slot, cause, address);
  slot.task.image = image(text, descriptors, maps);
  slot.task.numCores = coresOf(d);
  slot.task.cores = {d.x, d.y, d.width, d.height};
  slot.task.unchangedSince.reset();
  if (slot.packet.flags & isa::packetPrefetch)
    slot.task.unchangedSince = slot.fetched.publishedBy;
  slot.step = Slot::Step::Read;
  if (slot.state == Slot::State::Parked)
    return prepareNext(q); // the cores are told, and the next one is read
  if (services.now() < slot.notBefore)
    return post(slot.notBefore, Phase::Start, Resume, q, slot.id);
  tellCores(q, slot);
}

/// One message along a tree; the cores act when it has come to the last.
void CommandProcessor::tellCores(uint32_t q, Slot &slot) {
  tracePart(q, slot, DispatchPart::Load);
  slot.direct = slot.state == Slot::State::Running;
  if (slot.direct && TESSERA_MUTANT("dispatch-not-run")) {
    freeCores(pack(q, slot.id));
    return complete(q, slot);
  }
  if (!slot.direct)
    for (uint32_t core :
         rectangle(std::get<isa::DispatchPacket>(slot.packet.body)))
      coreNext[core] = pack(q, slot.id);
  slot.step = Slot::Step::Told;
  slot.tasksLeft = slot.task.numCores;
  services.noc.multicast(services.noc.cpNode(), slot.task.cores,
                         Noc::Class::Request, taskBytes,
                         reply(CoreBegin, q, slot.id), Phase::Signal);
}

void CommandProcessor::coresTold(uint32_t q, Slot &slot) {
  if (slot.stale) {
    unprepare(pack(q, slot.id));
    return issue(q, slot);
  }
  slot.step = Slot::Step::Known;
  uint32_t index = 0;
  for (uint32_t core :
       rectangle(std::get<isa::DispatchPacket>(slot.packet.body))) {
    CoreTask task = slot.task;
    task.indexInDispatch = index++;
    if (slot.direct)
      cores[core]->begin(std::move(task));
    else
      cores[core]->prepare(std::move(task));
  }
}

//===----------------------------------------------------------------------===//
// Preparing
//===----------------------------------------------------------------------===//

void CommandProcessor::issue(uint32_t q, Slot &slot) {
  slot.step = Slot::Step::Reading;
  slot.stale = false;
  slot.generation = services.mmu.generation();
  post(std::max(services.now(), dispatchesStalledUntil) +
           services.arch.cp.dispatch,
       Phase::Start, DispatchIssue, q, slot.id);
}

bool CommandProcessor::placesFree(const Slot &slot) const {
  for (uint32_t core :
       rectangle(std::get<isa::DispatchPacket>(slot.packet.body)))
    if (coreNext[core] != 0)
      return false;
  return true;
}

void CommandProcessor::prepareAll() {
  for (uint32_t q = 0; q < queues.size(); ++q)
    prepareNext(q);
}

void CommandProcessor::prepareNext(uint32_t q) {
  Queue &queue = queues[q];
  if (queue.faulted || !queue.enabled)
    return;
  size_t ahead = 0;
  for (Slot &slot : queue.window) {
    if (slot.state != Slot::State::Parked || slot.gaveUp || slot.illegal ||
        !(slot.packet.flags & isa::packetPrefetch) ||
        coresOf(std::get<isa::DispatchPacket>(slot.packet.body)) == 0)
      continue;
    switch (slot.step) {
    case Slot::Step::None:
      return issue(q, slot);
    case Slot::Step::Reading: // one after the other
      return;
    case Slot::Step::Read:
      if (placesFree(slot))
        tellCores(q, slot);
      break;
    case Slot::Step::Told:
    case Slot::Step::Known:
      break;
    }
    if (++ahead == preparedAhead)
      return;
  }
}

void CommandProcessor::resume(uint32_t q, Slot &slot) {
  bool current = slot.generation == services.mmu.generation() ||
                 TESSERA_MUTANT("prepared-outlives-mapping");
  bool reading =
      slot.step == Slot::Step::None || slot.step == Slot::Step::Reading;
  if (!reading && services.now() < dispatchesStalledUntil)
    return post(dispatchesStalledUntil, Phase::Start, Resume, q, slot.id);
  switch (slot.step) {
  case Slot::Step::None:
    return issue(q, slot);
  case Slot::Step::Reading: // and goes on; the cores are told later
    slot.stale = !current;
    slot.notBefore = dispatchesStalledUntil;
    return;
  case Slot::Step::Read:
    return current ? tellCores(q, slot) : issue(q, slot);
  case Slot::Step::Told:
    slot.stale = !current;
    if (current)
      go(q, slot);
    return;
  case Slot::Step::Known:
    if (current)
      return go(q, slot);
    unprepare(pack(q, slot.id));
    return issue(q, slot);
  }
}

void CommandProcessor::go(uint32_t q, Slot &slot) {
  tracePart(q, slot, DispatchPart::Load);
  if (TESSERA_MUTANT("dispatch-not-run")) {
    unprepare(pack(q, slot.id));
    freeCores(pack(q, slot.id));
    return complete(q, slot);
  }
  slot.goLeft = slot.task.numCores;
  services.noc.multicast(services.noc.cpNode(), slot.task.cores,
                         Noc::Class::Request, goBytes,
                         reply(GoArrived, q, slot.id), Phase::Signal);
}

void CommandProcessor::beginPrepared(uint32_t q, Slot &slot) {
  for (uint32_t core :
       rectangle(std::get<isa::DispatchPacket>(slot.packet.body))) {
    coreNext[core] = 0;
    cores[core]->beginPrepared();
  }
  prepareAll(); // there is a place again
}

void CommandProcessor::refuse(uint32_t q, Slot &slot, FaultCause cause,
                              uint64_t address) {
  if (slot.state == Slot::State::Running)
    return fault(q, slot.id, cause, address);
  slot.step = Slot::Step::None;
  slot.gaveUp = true;
  prepareNext(q);
}

void CommandProcessor::unprepare(uint64_t owner) {
  for (uint32_t core = 0; core < coreNext.size(); ++core)
    if (coreNext[core] == owner) {
      cores[core]->dropPrepared();
      coreNext[core] = 0;
    }
}

//===----------------------------------------------------------------------===//
// The cores' reports
//===----------------------------------------------------------------------===//

void CommandProcessor::coreStarted(uint32_t core) {
  auto q = uint32_t(coreOwner[core] >> 48);
  Slot *slot = find(q, coreOwner[core] & ((uint64_t(1) << 48) - 1));
  if (!slot || slot->ran)
    return;
  slot->ran = true;
  slot->runCycle = services.now();
  tracePart(q, *slot, DispatchPart::Run);
  const auto &d = std::get<isa::DispatchPacket>(slot->packet.body);
  // An absurdly large budget is none.
  if (d.budget != 0 && d.budget < (uint64_t(1) << 40))
    post(slot->runCycle + d.budget + TESSERA_MUTANT("watchdog-late"),
         Phase::Start, Watchdog, q, slot->id);
}

void CommandProcessor::coreHalted(uint32_t core) {
  auto q = uint32_t(coreOwner[core] >> 48);
  uint64_t id = coreOwner[core] & ((uint64_t(1) << 48) - 1);
  Slot *slot = find(q, id);
  if (!slot)
    return;
  slot->haltCycle = services.now();
  ++queues[q].coresRun;
  bool lastHalt = true;
  for (uint32_t other :
       rectangle(std::get<isa::DispatchPacket>(slot->packet.body)))
    lastHalt &= !cores[other]->running();
  if (lastHalt) {
    snapshot(*slot, false);
    tracePart(q, *slot, DispatchPart::Signal);
  }
  services.noc.send(services.noc.coreNode(core), services.noc.cpNode(),
                    Noc::Class::Response, doneBytes, reply(CoreDone, q, id),
                    Phase::Signal);
}

Core *CommandProcessor::peer(uint32_t core, uint64_t indexInDispatch) {
  Slot *slot = find(uint32_t(coreOwner[core] >> 48),
                    coreOwner[core] & ((uint64_t(1) << 48) - 1));
  if (!slot)
    return nullptr;
  const auto &dispatch = std::get<isa::DispatchPacket>(slot->packet.body);
  return indexInDispatch < coresOf(dispatch)
             ? cores[coreOf(dispatch, uint32_t(indexInDispatch))]
             : nullptr;
}

void CommandProcessor::coreFaulted(uint32_t core, const CoreFault &f) {
  auto q = uint32_t(coreOwner[core] >> 48);
  fault(q, coreOwner[core] & ((uint64_t(1) << 48) - 1), f.cause, f.address,
        core, f.pc);
}

std::shared_ptr<const KernelImage>
CommandProcessor::image(const std::vector<uint8_t> &text,
                        const std::vector<uint8_t> &descriptors,
                        const std::vector<uint8_t> &maps) {
  for (const auto &known : images)
    if (known->text == text && known->descriptorBytes == descriptors &&
        known->mapBytes == maps)
      return known;
  if (images.size() == imagesKept)
    images.erase(images.begin());
  images.push_back(KernelImage::decode(text, descriptors, maps));
  return images.back();
}

} // namespace tessera::sim
