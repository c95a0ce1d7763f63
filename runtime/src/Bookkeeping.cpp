//===- Bookkeeping.cpp - What diagnosis needs to know of operations -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Called where operations are accepted, end or fault: feeds the flight
// recorder, the race detector, the fault reports and the account of the
// engines' work.
//
//===----------------------------------------------------------------------===//

#include "QueueState.h"
#include "tessera/ISA/Mmio.h"
#include "tessera/Support/Bytes.h"
#include "tessera/Support/Mutant.h"
#include <fmt/format.h>

using namespace tessera::isa;

namespace tessera::runtime {

//===----------------------------------------------------------------------===//
// Packets of an operation
//===----------------------------------------------------------------------===//

std::vector<Packet> commandsOf(const CommandBufferState &commands) {
  std::vector<uint8_t> bytes = commands.packets;
  for (const CommandBufferState::PatchSite &site : commands.sites)
    if (!site.target && site.offset + 8 <= bytes.size() &&
        site.binding.index < commands.bound.size())
      storeLittleEndian(bytes.data() + site.offset,
                        commands.bound[site.binding.index] +
                            site.binding.offset);
  std::vector<Packet> packets;
  for (size_t at = 0; at + packetBytes <= bytes.size(); at += packetBytes) {
    if (bytes[at] == uint8_t(PacketType::Return))
      break;
    if (Result<Packet> packet =
            decodePacket(std::span(bytes).subspan(at, packetBytes)))
      packets.push_back(*packet);
  }
  return packets;
}

/// Calls f(packet) for each packet that the operation is, or runs.
template <typename F>
static void forEachPacket(const Operation &operation, F f) {
  if (operation.commands) {
    for (const Packet &packet : commandsOf(*operation.commands))
      f(packet);
  } else if (!operation.raw.empty()) {
    if (Result<Packet> packet = decodePacket(operation.raw))
      f(*packet);
  } else if (!operation.hostCall && !operation.isBarrierOperation &&
             !operation.reserved) {
    f(operation.packet);
  }
}

static void addWork(EngineWork &work, const Packet &packet) {
  if (const auto *copy = std::get_if<CopyPacket>(&packet.body)) {
    work.copiedBytes += copy->size;
  } else if (const auto *fill = std::get_if<FillPacket>(&packet.body)) {
    work.copiedBytes += fill->size;
  } else if (const auto *dispatch = std::get_if<DispatchPacket>(&packet.body)) {
    work.coresRun += uint64_t(dispatch->width) * dispatch->height;
  }
}

EngineWork engineWorkOf(const CommandBufferState &commands) {
  EngineWork work;
  for (const Packet &packet : commandsOf(commands))
    addWork(work, packet);
  return work;
}

EngineWork QueueState::workOf(const Operation &operation) const {
  if (operation.commands)
    return operation.commands->work;
  EngineWork work;
  if (operation.raw.empty())
    addWork(work, operation.packet);
  else
    forEachPacket(operation,
                  [&](const Packet &packet) { addWork(work, packet); });
  return work;
}

//===----------------------------------------------------------------------===//
// The account of work
//===----------------------------------------------------------------------===//

Result<EngineWork> QueueState::slotCounters() const {
  EngineWork work;
  TESSERA_ASSIGN_OR_RETURN(work.copiedBytes, readRegister(mmio::queueCopied));
  TESSERA_ASSIGN_OR_RETURN(work.coresRun, readRegister(mmio::queueCoresRun));
  return work;
}

Status QueueState::checkWork() const {
  if (workUnknown || !failure.ok() || TESSERA_MUTANT("work-not-checked"))
    return Status::success();
  EngineWork sum = done;
  if (slot) {
    TESSERA_ASSIGN_OR_RETURN(EngineWork now, slotCounters());
    sum.copiedBytes += now.copiedBytes - slotBase.copiedBytes;
    sum.coresRun += now.coresRun - slotBase.coresRun;
  }
  if (sum.copiedBytes == expected.copiedBytes &&
      sum.coresRun == expected.coresRun)
    return Status::success();
  return Status(
      StatusCode::Internal,
      fmt::format("queue '{}': its {} operations are reported complete, but "
                  "they ask for {} bytes copied and {} cores run, and the "
                  "device's engines count {} and {}",
                  label, operations, expected.copiedBytes, expected.coresRun,
                  sum.copiedBytes, sum.coresRun));
}

//===----------------------------------------------------------------------===//
// Races
//===----------------------------------------------------------------------===//

RaceDetector::Point racePoint(const SemaphoreState &semaphore, uint64_t value) {
  return {semaphore.serial, value, semaphore.label};
}

uint32_t QueueState::raceNumber() {
  if (!raceQueue)
    raceQueue = hardware->races->addQueue(label);
  return *raceQueue;
}

/// A range of virtual addresses as accesses to buffers of the space; what is no
/// buffer's is left out.
static void addAccess(const AddressSpaceState &space, uint64_t address,
                      uint64_t bytes, bool write,
                      std::vector<RaceDetector::Access> &accesses) {
  auto it = space.buffers.upper_bound(address);
  if (it == space.buffers.begin() || bytes == 0)
    return;
  const BufferState &buffer = *std::prev(it)->second;
  uint64_t offset = address - buffer.address;
  if (offset >= buffer.mappedBytes)
    return;
  bytes = std::min(bytes, buffer.mappedBytes - offset);
  accesses.push_back({buffer.physicalSpace, buffer.physical + offset,
                      buffer.physical + offset + bytes, write, buffer.label,
                      buffer.physical});
}

static void addAccesses(const AddressSpaceState &space, const Packet &packet,
                        std::vector<RaceDetector::Access> &accesses) {
  if (const auto *copy = std::get_if<CopyPacket>(&packet.body)) {
    addAccess(space, copy->source, copy->size, false, accesses);
    addAccess(space, copy->destination, copy->size, true, accesses);
  } else if (const auto *fill = std::get_if<FillPacket>(&packet.body)) {
    addAccess(space, fill->destination, fill->size, true, accesses);
  } else if (const auto *stamp = std::get_if<TimestampPacket>(&packet.body)) {
    addAccess(space, stamp->destination, 8, true, accesses);
  } else if (const auto *dispatch = std::get_if<DispatchPacket>(&packet.body)) {
    addAccess(space, dispatch->kernel, kernelRecordBytes, false, accesses);
    addAccess(space, dispatch->arguments, 8 * uint64_t(dispatch->numArguments),
              false, accesses);
  }
}

/// What its kernels do, as far as somebody has declared it.
static void addDeclaredUses(const AddressSpaceState &space,
                            const Operation &operation,
                            std::vector<RaceDetector::Access> &accesses) {
  auto add = [&](uint64_t address, uint64_t bytes, Use use) {
    if (use != Use::Unknown)
      addAccess(space, address, bytes, use != Use::Read, accesses);
  };
  for (const KernelUse &use : operation.uses)
    add(use.buffer->address + use.offset, use.bytes, use.use);
  if (!operation.commands)
    return;
  const CommandBufferState &commands = *operation.commands;
  for (const auto &use : commands.kernelUses)
    add(use.buffer->address + use.offset, use.bytes, use.use);
  for (size_t i = 0; i < commands.requirements.size(); ++i)
    add(commands.bound[i], commands.requirements[i].bytes,
        commands.requirements[i].use);
}

void Hardware::collectAccesses() {
  for (const driver::DispatchAccesses &dispatch : driver->takeAccesses()) {
    QueueState *queue =
        dispatch.queue < slots.size() ? slots[dispatch.queue] : nullptr;
    if (queue)
      queue->noteAccesses(dispatch);
  }
}

void QueueState::noteAccesses(const driver::DispatchAccesses &dispatch) {
  auto work = std::ranges::find_if(published, [&](const Submission *each) {
    return dispatch.packet - each->first <= each->last - each->first;
  });
  if (work == published.end() || !(*work)->raceNode)
    return;
  std::string kernel;
  if (dispatch.command) {
    kernel = fmt::format("command {}", *dispatch.command);
    if ((*work)->commands)
      if (std::string name = (*work)->commands->nameOf(*dispatch.command);
          !name.empty())
        kernel += " '" + name + "'";
  }
  for (const auto &[set, writes] :
       {std::pair(&dispatch.read, false), std::pair(&dispatch.written, true)})
    for (const auto &[low, high] : *set) {
      std::vector<RaceDetector::Access> accesses;
      addAccess(*space, low, high - low, writes, accesses);
      for (RaceDetector::Access &access : accesses)
        hardware->races->observe((*work)->raceNode, kernel, std::move(access));
    }
}

//===----------------------------------------------------------------------===//
// The life of an operation
//===----------------------------------------------------------------------===//

void QueueState::noteSubmission(Submission &work, const Operation &operation) {
  flight.add(FlightEvent::Kind::Submitted, hardware->seenTime, work.first,
             work.last, work.label);
  // What will stand in reserved slots nobody has told.
  workUnknown |= operation.reserved != 0;
  if (!hardware->races)
    return;
  RaceDetector::Operation noted;
  noted.label = work.label;
  noted.barrier = work.barrier;
  noted.releasesToHost = operation.release == Scope::System;
  // Of alternatives none is sure.
  if (!work.anyWait || work.waits.size() == 1)
    for (const Point &wait : work.waits)
      noted.waits.push_back(racePoint(*wait.semaphore, wait.value));
  for (const Point &signal : work.signals)
    noted.signals.push_back(racePoint(*signal.semaphore, signal.value));
  forEachPacket(operation, [&](const Packet &packet) {
    addAccesses(*space, packet, noted.accesses);
  });
  addDeclaredUses(*space, operation, noted.declared);
  noted.accesses.insert(noted.accesses.end(), noted.declared.begin(),
                        noted.declared.end());
  work.raceNode = hardware->races->submit(raceNumber(), std::move(noted));
}

void QueueState::noteCompletion(Submission &work) {
  flight.add(FlightEvent::Kind::Completed, hardware->seenTime, work.first,
             work.last, work.label);
  expected.copiedBytes += work.work.copiedBytes;
  expected.coresRun += work.work.coresRun;
  if (work.raceNode)
    hardware->races->complete(work.raceNode);
  work.raceNode.reset();
}

void QueueState::noteCancellation(Submission &work, bool faulted) {
  flight.add(faulted ? FlightEvent::Kind::Faulted : FlightEvent::Kind::Aborted,
             hardware->seenTime, work.first, work.last, work.label);
  if (work.raceNode)
    hardware->races->drop(work.raceNode);
  work.raceNode.reset();
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

void QueueState::noteFault(const Submission *culprit, mmio::FaultCause cause,
                           uint64_t index, uint32_t command, uint64_t core,
                           uint64_t pc, uint64_t address) {
  // Whoever runs into the same page has the same fault; what a packet or a
  // kernel says that is wrong is its queue's own.
  bool ofPage = cause == mmio::FaultCause::PageFault ||
                cause == mmio::FaultCause::ProtectionFault ||
                cause == mmio::FaultCause::PoisonedPage ||
                cause == mmio::FaultCause::BusError;
  for (FaultReport &known : hardware->faults)
    if (known.cause == cause && !TESSERA_MUTANT("storm-not-coalesced") &&
        (ofPage ? known.address / smallPageBytes == address / smallPageBytes
                : known.address == address && known.queue == label)) {
      ++known.count;
      return;
    }
  FaultReport report;
  report.cause = cause;
  report.queue = label;
  report.packet = index - firstIndex;
  report.pc = uint32_t(pc);
  report.address = address;
  report.time = hardware->driver->now();
  uint8_t type = ring->image(index)[0];
  if (culprit) {
    report.operation = culprit->label;
    if (const auto &commands = culprit->commands) {
      report.command = command;
      if (auto it = commands->names.find(command); it != commands->names.end())
        report.commandName = it->second;
      if (size_t(command) * packetBytes < commands->packets.size())
        type = commands->packets[size_t(command) * packetBytes];
    }
  }
  switch (PacketType(type)) {
  case PacketType::Dispatch:
    report.unit = fmt::format("core {}", core);
    break;
  case PacketType::Copy:
  case PacketType::Fill:
    report.unit = "copy engine";
    break;
  default:
    report.unit = "command processor";
  }
  hardware->faults.push_back(std::move(report));
}

} // namespace tessera::runtime
