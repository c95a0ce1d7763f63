//===- DmaEngine.cpp - Load and store engines -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/DmaEngine.h"
#include "check/Checker.h"
#include "numerics/Formats.h"
#include "tessera/Support/Bytes.h"

namespace tessera::sim {

using isa::Opcode;

DmaEngine::DmaEngine(Core &core, Engine kind)
    : QueueEngine(core, kind), storing(kind == Engine::Store),
      burstsPerCycle(std::max(1u, storing ? core.services.arch.dma.storeBursts
                                          : core.services.arch.dma.loadBursts)),
      client(core.services.mmu.addClient()) {}

void DmaEngine::reset() {
  resetQueue();
  firstId += transfers.size();
  transfers.clear();
  issuing = translating = false;
  inFlight = 0;
  slotCycle = finishAt = never;
}

StallCause DmaEngine::idleCause() const {
  if (translating)
    return StallCause::Tlb;
  if (inFlight > 0)
    return StallCause::Dram;
  if (!transfers.empty())
    return StallCause::FillDrain;
  if (waiting)
    return core.waitCause(queue.front().waits);
  return StallCause::QueueEmpty;
}

void DmaEngine::step(Cycle now) {
  if (slotCycle != now)
    slotCycle = now, slots = burstsPerCycle;
  while (core.running()) {
    if (issuing) {
      if (slots == 0)
        return wake(now + 1);
      if (!issueBurst(now))
        break;
      continue;
    }
    if (!headReady(now))
      break;
    QueueEntry entry = pop(now);
    if (!start(entry, now))
      return;
  }
  if (core.running())
    account.wait(idleCause(), now);
}

bool DmaEngine::start(const QueueEntry &entry, Cycle now) {
  Transfer transfer;
  transfer.opcode = entry.opcode;
  transfer.pc = entry.pc;
  transfer.signals = entry.signals;
  transfer.posted = entry.posted;
  transfer.remote = entry.remote;
  if (entry.isSync()) {
    account.wait(StallCause::QueueEmpty, now);
    account.charge(StallCause::Busy, now + 1);
    nextStart = now + 1;
    transfer.issued = true;
    transfer.ready = now + 1;
  } else {
    if (!startTransfer(entry, transfer))
      return false;
    if (entry.opcode == Opcode::FILL) {
      uint64_t bytes = (maskedElements(transfer.destination, ~0u) *
                            bitWidth(transfer.destination.format) +
                        7) /
                       8;
      Cycle cycles = ceilDiv(bytes, core.services.arch.dma.burstBytes);
      account.wait(StallCause::QueueEmpty, now);
      account.charge(StallCause::Busy, now + cycles);
      nextStart = now + cycles;
      transfer.issued = true;
      transfer.ready = now + cycles;
    } else {
      issuing = true;
      run = runPosition = 0;
    }
  }
  transfers.push_back(std::move(transfer));
  scheduleFinish();
  return true;
}

bool DmaEngine::startTransfer(const QueueEntry &entry, Transfer &transfer) {
  auto fail = [&](FaultCause cause, uint64_t address) {
    core.fault(cause, entry.pc, address);
    return false;
  };
  const isa::Descriptor &destination = entry.operands[0];
  transfer.destination = destination;
  bool moves = !core.services.options.timingOnly;

  if (entry.opcode == Opcode::FILL) {
    FaultCause fault =
        destination.space == isa::Space::Spm
            ? core.checkLocal(destination, true, transfer.interval)
            : FaultCause::IllegalDescriptor;
    if (fault != FaultCause::None)
      return fail(fault, destination.base);
    if (moves) {
      size_t bytes = denseBytes(destination.format);
      auto bits = uint32_t(entry.value);
      if (destination.format == NumericFormat::I4)
        bits &= 15;
      transfer.data.resize(denseSize(destination));
      for (size_t i = 0; i < transfer.data.size(); i += bytes)
        std::memcpy(transfer.data.data() + i, &bits, bytes);
    }
    if (Checker *checker = core.services.checker)
      checker->write(core, kind, destination);
    return true;
  }

  const isa::Descriptor &source = entry.operands[1];
  global = storing ? destination : source;
  const isa::Descriptor &local = storing ? source : destination;
  if (global.space != isa::Space::Global ||
      source.extents != destination.extents ||
      source.format != destination.format ||
      (!storing && local.space != isa::Space::Spm))
    return fail(FaultCause::IllegalDescriptor, global.base);
  ByteInterval interval;
  FaultCause fault = core.checkLocal(local, !storing, interval);
  if (fault != FaultCause::None)
    return fail(fault, local.base);
  fault = checkOperand(global, storing);
  if (fault != FaultCause::None)
    return fail(fault, global.base);

  uint64_t at = global.base;
  if (moves)
    transfer.data.resize(denseSize(source));
  if (storing) {
    fault = probeGlobal(core.services.memory, core.task.root, global,
                        Access::Write, at);
    if (fault == FaultCause::None && moves) {
      gatherLocal(core.local(local.space), local, transfer.data.data());
      core.countRead(local);
    }
  } else {
    transfer.interval = interval;
    fault = moves ? gatherGlobal(core.services.memory, core.task.root, global,
                                 transfer.data.data(), at)
                  : probeGlobal(core.services.memory, core.task.root, global,
                                Access::Read, at);
  }
  if (fault != FaultCause::None)
    return fail(fault, at);
  if (Checker *checker = core.services.checker) {
    checker->read(core, kind, source);
    checker->write(core, kind, destination);
  }
  return true;
}

bool DmaEngine::issueBurst(Cycle now) {
  const DmaConfig &dma = core.services.arch.dma;
  if (translating || inFlight >= dma.outstanding)
    return false;
  Runs runs(global);
  int64_t element = runs.offset(run);
  uint64_t bits = bitWidth(global.format);
  uint64_t lead = bits == 4 ? uint64_t(element & 1) * 4 : 0;
  uint64_t start = global.base + (bits == 4 ? uint64_t(element >> 1)
                                            : uint64_t(element) * (bits / 8));
  uint64_t runBytes = (lead + runs.runElements * bits + 7) / 8;

  VirtualRequest request;
  request.root = core.task.root;
  request.address = start + runPosition;
  uint64_t toBoundary = dma.burstBytes - request.address % dma.burstBytes;
  request.bytes = uint32_t(std::min(toBoundary, runBytes - runPosition));
  request.access = storing ? Access::Write : Access::Read;
  request.client = client;
  request.node = core.services.noc.coreNode(core.index);
  request.account = core.index;
  request.reply = {self, BurstDone, core.epoch, firstId + transfers.size() - 1};
  request.translatedCode = Translated;

  Transfer &transfer = transfers.back();
  ++transfer.outstanding;
  ++inFlight;
  --slots;
  translating = !core.services.mmu.request(request);
  account.wait(StallCause::Dram, now);
  account.charge(StallCause::Busy, now + 1);

  runPosition += request.bytes;
  if (runPosition >= runBytes) {
    runPosition = 0;
    if (++run == runs.count) {
      issuing = false;
      transfer.issued = true;
      nextStart = slots > 0 ? now : now + 1;
      if (transfer.posted)
        transfer.ready = now + 1;
      scheduleFinish();
    }
  }
  return true;
}

void DmaEngine::scheduleFinish() {
  if (transfers.empty() || transfers.front().ready == never ||
      finishAt <= transfers.front().ready)
    return;
  finishAt = std::max(transfers.front().ready, core.services.now());
  post(finishAt, Phase::Complete, Finish);
}

bool DmaEngine::commit(const Transfer &t) {
  if (t.opcode == Opcode::WAIT || t.opcode == Opcode::SIGNAL ||
      t.opcode == Opcode::SIGNALCORE)
    return true;
  if (storing) {
    if (t.data.empty())
      return true;
    uint64_t at = t.destination.base;
    FaultCause fault = scatterGlobal(core.services.memory, core.task.root,
                                     t.destination, t.data.data(), at);
    if (fault == FaultCause::None)
      return true;
    core.fault(fault, t.pc, at);
    return false;
  }
  if (!t.data.empty())
    scatterLocal(core.local(t.destination.space), t.destination, t.data.data());
  core.countWrite(t.destination, t.interval);
  return true;
}

void DmaEngine::finishReady(Cycle now) {
  bool any = false;
  while (!transfers.empty() && transfers.front().ready <= now) {
    Transfer t = std::move(transfers.front());
    transfers.pop_front();
    ++firstId;
    any = true;
    if (!commit(t))
      return;
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
    account.wait(idleCause(), now);
  if (storing && idle())
    core.unit(Engine::Sequencer).wake(now); // a fence may wait
  core.checkDone();
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
  default:
    break;
  }
  // A burst is over.
  if (event.fault)
    return core.fault(FaultCause(event.fault),
                      event.payload >= firstId &&
                              event.payload - firstId < transfers.size()
                          ? transfers[event.payload - firstId].pc
                          : 0,
                      global.base);
  bool wasFull = inFlight >= core.services.arch.dma.outstanding;
  --inFlight;
  if (event.payload >= firstId && event.payload - firstId < transfers.size()) {
    Transfer &t = transfers[event.payload - firstId];
    if (--t.outstanding == 0 && t.issued && t.ready == never)
      // A load's last burst takes a cycle to be written into the scratchpad.
      t.ready = storing ? now : now + 1;
  }
  if (!transfers.empty() && transfers.front().ready <= now)
    finishReady(now);
  else
    scheduleFinish();
  if (!core.running())
    return;
  if (wasFull && issuing)
    wake(now);
  if (inFlight == 0 && !issuing) {
    account.wait(idleCause(), now);
    if (storing && idle()) {
      core.unit(Engine::Sequencer).wake(now);
      core.checkDone();
    }
  }
}

} // namespace tessera::sim
