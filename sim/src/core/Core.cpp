//===- Core.cpp - One core --------------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Core.h"
#include "check/Checker.h"
#include "core/CoreState.h"
#include "tessera/Support/Hash.h"
#include <fmt/format.h>

namespace tessera::sim {

StallCause waitFor(Engine engine) {
  if (matrixNumber(engine))
    engine = Engine::Matrix;
  return StallCause(unsigned(StallCause::WaitSequencer) + unsigned(engine));
}

//===----------------------------------------------------------------------===//
// Unit
//===----------------------------------------------------------------------===//

Unit::Unit(Core &core, Engine kind)
    : core(core), kind(kind), self(core.services.events.add(*this)) {}

void Unit::post(Cycle cycle, Phase phase, uint8_t code, uint64_t payload,
                uint32_t detail) {
  Event event;
  event.time = core.services.clock.at(cycle);
  event.phase = phase;
  event.component = self;
  event.code = code;
  event.epoch = core.epoch;
  event.payload = payload;
  event.detail = detail;
  core.services.events.post(event);
}

Reply Unit::reply(uint8_t code, uint64_t payload) const {
  return {self, code, core.epoch, payload};
}

void Unit::wake(Cycle cycle) {
  if (wakeAt <= cycle)
    return;
  wakeAt = cycle;
  post(cycle, Phase::Start, Step);
}

bool Unit::accept(const Event &event) {
  if (event.epoch != core.epoch)
    return false;
  if (event.code != Step)
    return true;
  Cycle now = core.services.now();
  if (now == wakeAt) { // else an earlier request took its place
    wakeAt = never;
    step(now);
  }
  return false;
}

//===----------------------------------------------------------------------===//
// QueueEngine
//===----------------------------------------------------------------------===//

const isa::Descriptor &QueueEntry::operand(unsigned field) const {
  const isa::InstInfo *info = isa::lookupInst(uint8_t(opcode));
  unsigned before = 0;
  for (unsigned i = 0; i < field; ++i)
    before += info->fields[i].kind == isa::OperandKind::DescReg;
  return operands[before];
}

QueueEngine::QueueEngine(Core &core, Engine kind)
    : Unit(core, kind), depth(std::max(1u, core.services.arch.queueDepth)) {}

void QueueEngine::push(const QueueEntry &entry) {
  queue.push_back(entry);
  if (Checker *checker = core.services.checker)
    checker->pushed(core, kind);
  if (queue.size() == 1)
    wake(entry.visible);
}

bool QueueEngine::headReady(Cycle now) {
  if (queue.empty())
    return false;
  const QueueEntry &entry = queue.front();
  Cycle earliest = std::max(entry.visible, nextStart);
  if (earliest > now) {
    wake(earliest);
    return false;
  }
  if (taken)
    return true;
  bool waited = waiting;
  account.waitingAt(entry.pc);
  if (!core.take(entry.waits, kind, entry.pc)) {
    waiting = core.running();
    if (waiting)
      lacking = core.missing(entry.waits);
    return false;
  }
  // Only now it is known whose signal was the last one missing.
  if (waited && EngineAccount::isSemaphoreWait(account.openCause()))
    account.resolve(core.signalledBy(lacking));
  waiting = false;
  taken = true;
  return true;
}

QueueEntry QueueEngine::pop(Cycle now) {
  QueueEntry entry = queue.front();
  queue.pop_front();
  taken = false;
  core.unit(Engine::Sequencer).wake(now);
  if (Checker *checker = core.services.checker)
    checker->started(core, kind, entry.pc);
  account.executing(entry.pc);
  core.trace(TraceEvent::Kind::InstructionBegin, kind, entry.opcode, entry.pc);
  return entry;
}

void QueueEngine::resetQueue() {
  queue.clear();
  waiting = taken = false;
  nextStart = 0;
  forgetWake();
}

//===----------------------------------------------------------------------===//
// Core
//===----------------------------------------------------------------------===//

static uint32_t matrixEnginesOf(const Architecture &arch) {
  return std::clamp(arch.matrix.count, 1u, isa::maxMatrixEngines);
}

Core::Core(Services &services, uint32_t index, CoreListener &listener)
    : services(services), index(index), spm(services.arch.spm.bytes),
      acc(services.arch.acc.bytes), banks(services.arch),
      semaphores(std::min(services.arch.semaphores, isa::maxSemaphores)),
      listener(listener) {
  loader = std::make_unique<CodeLoader>(*this);
  sequencer = std::make_unique<Sequencer>(*this);
  load = std::make_unique<DmaEngine>(*this, Engine::Load);
  store = std::make_unique<DmaEngine>(*this, Engine::Store);
  unitList = {Engine::Sequencer, Engine::Load, Engine::Store};
  for (uint32_t i = 0; i < matrixEnginesOf(services.arch); ++i) {
    matrix.push_back(std::make_unique<MatrixEngine>(*this, i));
    unitList.push_back(matrixEngine(i));
  }
  vector = std::make_unique<VectorEngine>(*this);
  unitList.push_back(Engine::Vector);
  services.noc.setReceiver(index, sequencer->id());
}

Core::~Core() = default;

Unit &Core::unit(Engine kind) {
  if (kind == Engine::Sequencer)
    return *sequencer;
  return engine(kind);
}

QueueEngine &Core::engine(Engine kind) {
  switch (kind) {
  case Engine::Load:
    return *load;
  case Engine::Store:
    return *store;
  case Engine::Vector:
    return *vector;
  default:
    return *matrix[*matrixNumber(kind)];
  }
}

void Core::begin(CoreTask newTask) {
  task = std::move(newTask);
  loader->begin();
  setUp();
}

void Core::prepare(CoreTask newTask) {
  next = std::move(newTask);
  loader->prepare();
}

void Core::beginPrepared() {
  if (!next) // of a damaged snapshot
    return;
  task = std::move(*next);
  next.reset();
  loader->beginPrepared();
  setUp();
}

void Core::dropPrepared() {
  next.reset();
  loader->dropPrepared();
}

void Core::setUp() {
  assert(!isRunning && "a core runs one kernel at a time");
  ++epoch;
  isRunning = true;
  for (Semaphore &s : semaphores)
    s = Semaphore();
  inbox.clear();
  banks.clear();
  arrivedAtBarrier = 0;
  // Other cores' messages may come before the code has: it has not halted.
  sequencer->reset();
  if (services.checker)
    services.checker->begin(index);
  size_t profiled = services.options.profile ? task.image->program.size() : 0;
  executions.assign(profiled, 0);
  taskSpmPeak = 0;
  Cycle now = services.now();
  for (Engine e : unitList) {
    unit(e).account.wait(StallCause::InstructionFetch, now);
    unit(e).account.profile(profiled);
  }
}

void Core::codeLoaded() {
  Cycle now = services.now();
  for (Engine e : unitList)
    unit(e).account.wait(StallCause::QueueEmpty, now);
  listener.coreStarted(index);
  sequencer->start();
}

void Core::abort() {
  if (!isRunning)
    return;
  ++epoch;
  isRunning = false;
  inbox.clear();
  if (services.checker)
    services.checker->end(index);
  Cycle now = services.now();
  loader->end();
  sequencer->reset();
  for (Engine e : unitList) {
    if (e != Engine::Sequencer)
      engine(e).reset();
    unit(e).account.wait(StallCause::NoKernel, now);
    unit(e).account.cut(now);
  }
  collectProfile(profile);
  for (Semaphore &s : semaphores)
    s = Semaphore();
}

void Core::fault(FaultCause cause, uint32_t pc, uint64_t address) {
  if (!isRunning)
    return;
  abort();
  listener.coreFaulted(index, {cause, pc, address});
}

bool Core::sequencerHalted() const { return sequencer->halted(); }

bool Core::allIdle() const {
  return load->idle() && store->idle() && vector->idle() &&
         std::all_of(matrix.begin(), matrix.end(),
                     [](const auto &engine) { return engine->idle(); });
}

void Core::checkDone() {
  if (!isRunning || !sequencer->halted() || !allIdle() || !inbox.empty())
    return;
  if (services.checker)
    services.checker->semaphoresLeft(*this);
  for (size_t i = 0; i < semaphores.size(); ++i)
    if (semaphores[i].value != 0)
      return fault(FaultCause::SemaphoreNotZero, sequencer->pc(), i);
  ++epoch;
  isRunning = false;
  if (services.checker)
    services.checker->end(index);
  Cycle now = services.now();
  for (Engine e : unitList)
    unit(e).account.wait(StallCause::NoKernel, now);
  collectProfile(profile);
  loader->end();
  listener.coreHalted(index);
}

bool Core::take(const std::array<isa::SemaphoreStep, isa::maxWaits> &waits,
                Engine unit, uint32_t pc) {
  bool there = true;
  for (const isa::SemaphoreStep &w : waits) {
    if (w.count == 0)
      continue;
    if (w.sem >= semaphores.size()) {
      fault(FaultCause::IllegalInstruction, pc, w.sem);
      return false;
    }
    there &= semaphores[w.sem].value >= w.count;
  }
  for (const isa::SemaphoreStep &w : waits) {
    if (w.count == 0)
      continue;
    Semaphore &s = semaphores[w.sem];
    if (s.waiter && *s.waiter != unit) {
      fault(FaultCause::SemaphoreWaiters, pc, w.sem);
      return false;
    }
    if (there) {
      s.waiter.reset();
      s.value -= w.count;
      trace(TraceEvent::Kind::Semaphore, unit, isa::Opcode::WAIT, pc, w.sem,
            s.value);
    } else {
      s.waiter = unit;
    }
  }
  if (there && services.checker)
    services.checker->took(*this, unit, waits);
  return there;
}

StallCause Core::waitCause(
    const std::array<isa::SemaphoreStep, isa::maxWaits> &waits) const {
  // The last entry that is still missing, or else the last one.
  uint8_t sem = uint8_t(semaphores.size());
  bool missing = false;
  for (const isa::SemaphoreStep &w : waits) {
    if (w.count == 0 || w.sem >= semaphores.size())
      continue;
    const Semaphore &s = semaphores[w.sem];
    bool lacks = s.value < w.count;
    if (lacks || !missing)
      sem = w.sem;
    missing |= lacks;
  }
  return signalledBy(sem);
}

uint8_t Core::missing(
    const std::array<isa::SemaphoreStep, isa::maxWaits> &waits) const {
  uint8_t sem = 0;
  for (const isa::SemaphoreStep &w : waits)
    if (w.count && semaphores[w.sem].value < w.count)
      sem = w.sem;
  return sem;
}

StallCause Core::signalledBy(uint8_t sem) const {
  if (sem >= semaphores.size())
    return StallCause::WaitSequencer;
  return semaphores[sem].byOtherCore ? StallCause::Barrier
                                     : waitFor(semaphores[sem].lastSignaller);
}

void Core::signal(
    const std::array<isa::SemaphoreStep, isa::maxSignals> &signals, Engine by,
    uint32_t pc) {
  if (services.checker)
    services.checker->completed(*this, by, signals);
  for (const isa::SemaphoreStep &w : signals) {
    if (w.count == 0)
      continue;
    if (w.sem >= semaphores.size())
      return fault(FaultCause::IllegalInstruction, pc, w.sem);
    Semaphore &s = semaphores[w.sem];
    if (s.value + w.count > maxSemaphoreValue)
      return fault(FaultCause::SemaphoreOverflow, pc, w.sem);
    s.value += w.count;
    s.lastSignaller = by;
    s.byOtherCore = false;
    trace(TraceEvent::Kind::Semaphore, by, isa::Opcode::SIGNAL, pc, w.sem,
          s.value);
    if (s.waiter)
      unit(*s.waiter).wake(services.now());
  }
}

void Core::trace(TraceEvent::Kind kind, Engine engine, isa::Opcode opcode,
                 uint32_t pc, uint32_t id, uint64_t value) {
  if (!services.observer)
    return;
  TraceEvent event;
  event.kind = kind;
  event.engine = engine;
  event.opcode = uint8_t(opcode);
  event.core = index;
  event.pc = pc;
  event.id = id;
  event.value = value;
  event.timeFs = services.events.now();
  services.observer->event(event);
}

FaultCause Core::checkLocal(const isa::Descriptor &td, bool written,
                            ByteInterval &interval) const {
  if (td.space != isa::Space::Spm && td.space != isa::Space::Acc)
    return FaultCause::IllegalDescriptor;
  FaultCause fault = checkOperand(td, written);
  if (fault != FaultCause::None)
    return fault;
  if (!localInterval(td, localBytes(td.space), interval))
    return td.space == isa::Space::Acc ? FaultCause::AccOutOfBounds
                                       : FaultCause::SpmOutOfBounds;
  return FaultCause::None;
}

void Core::countRead(const isa::Descriptor &td) {
  uint64_t bytes = (maskedElements(td, ~0u) * bitWidth(td.format) + 7) / 8;
  (td.space == isa::Space::Acc ? counters.accBytesRead
                               : counters.spmBytesRead) += bytes;
}

void Core::countWrite(const isa::Descriptor &td, const ByteInterval &interval) {
  uint64_t bytes = (maskedElements(td, ~0u) * bitWidth(td.format) + 7) / 8;
  if (td.space == isa::Space::Acc) {
    counters.accBytesWritten += bytes;
  } else {
    counters.spmBytesWritten += bytes;
    taskSpmPeak = std::max(taskSpmPeak, interval.high);
    counters.spmPeakBytes = std::max(counters.spmPeakBytes, taskSpmPeak);
  }
}

CoreStatistics Core::statistics() {
  CoreStatistics result = counters;
  result.engines = EngineTable(unsigned(matrix.size()));
  Cycle now = services.now();
  for (Engine e : unitList)
    result.engines[size_t(e)] = unit(e).account.at(now);
  const Traffic &traffic = services.memorySystem.traffic(index);
  result.dramBytesRead = traffic.dramRead;
  result.dramBytesWritten = traffic.dramWritten;
  return result;
}

void Core::collectProfile(Profile &into) {
  if (executions.empty())
    return;
  std::vector<InstructionStatistics> &sums = into[task.kernel];
  sums.resize(std::max(sums.size(), executions.size()));
  for (size_t pc = 0; pc < executions.size(); ++pc) {
    sums[pc].count += executions[pc];
    for (Engine e : unitList) {
      const auto &byInstruction = unit(e).account.instructions();
      if (pc >= byInstruction.size()) // of a damaged snapshot
        continue;
      const EngineCycles &cycles = byInstruction[pc];
      (e == Engine::Sequencer ? sums[pc].issue : sums[pc].execution) += cycles;
    }
  }
}

void Core::addProfile(Profile &result) {
  for (const auto &[kernel, instructions] : profile) {
    std::vector<InstructionStatistics> &sums = result[kernel];
    sums.resize(std::max(sums.size(), instructions.size()));
    for (size_t pc = 0; pc < instructions.size(); ++pc) {
      sums[pc].count += instructions[pc].count;
      sums[pc].issue += instructions[pc].issue;
      sums[pc].execution += instructions[pc].execution;
    }
  }
  if (isRunning)
    collectProfile(result);
}

void Core::explainWaits(std::vector<std::string> &lines) const {
  if (!isRunning)
    return;
  auto describe =
      [&](Engine kind, const char *mnemonic, uint32_t pc,
          const std::array<isa::SemaphoreStep, isa::maxWaits> &waits) {
        std::string text;
        for (const isa::SemaphoreStep &w : waits)
          if (w.count && w.sem < semaphores.size() &&
              semaphores[w.sem].value < w.count)
            text +=
                fmt::format("{}s{} >= {} (it is {})", text.empty() ? "" : ", ",
                            w.sem, w.count, semaphores[w.sem].value);
        lines.push_back(fmt::format("core {}, {}: `{}` at pc {} waits for {}",
                                    index, engineName(kind), mnemonic, pc,
                                    text));
      };
  if (const isa::Instruction *inst = sequencer->waitingInstruction())
    describe(Engine::Sequencer, "wait", sequencer->pc(), inst->waits);
  else if (std::optional<Engine> full = sequencer->blockedOnQueue())
    lines.push_back(fmt::format(
        "core {}, sequencer: pc {} waits for a place in the {} queue", index,
        sequencer->pc(), engineName(*full)));
  for (Engine kind : unitList) {
    if (kind == Engine::Sequencer)
      continue;
    const QueueEngine &e = engine(kind);
    if (e.waitsForSemaphore() && e.head()) {
      const isa::InstInfo *info = isa::lookupInst(uint8_t(e.head()->opcode));
      describe(kind, info ? std::string(info->mnemonic).c_str() : "?",
               e.head()->pc, e.head()->waits);
    }
  }
}

void Core::wayPoints(std::vector<std::string> &lines) const {
  if (isRunning)
    lines.push_back(fmt::format(
        "core {}: kernel {:#x}, sequencer at pc {}, {} instructions executed",
        index, task.kernel, sequencer->pc(), counters.instructions));
}

uint64_t Core::memoryHash(uint64_t seed) const {
  return hashBytes(std::span<const uint8_t>(acc),
                   hashBytes(std::span<const uint8_t>(spm), seed));
}

template void Core::serialize(Saver &);
template void Core::serialize(Loader &);

} // namespace tessera::sim
