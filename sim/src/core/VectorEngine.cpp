//===- VectorEngine.cpp - The vector engine ---------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/VectorEngine.h"
#include "check/Checker.h"
#include "numerics/Formats.h"

namespace tessera::sim {

using isa::Opcode;

/// Levels of the tree over the 64 partial results of a reduction.
static constexpr Cycle reductionTree = 6;

VectorEngine::VectorEngine(Core &core) : QueueEngine(core, Engine::Vector) {}

void VectorEngine::reset() {
  resetQueue();
  operations.clear();
  finishAt = never;
}

void VectorEngine::step(Cycle now) {
  while (core.running() && headReady(now)) {
    const QueueEntry &entry = queue.front();
    if (entry.opcode == Opcode::MAP) {
      Plan plan;
      uint64_t address = 0;
      FaultCause fault = check(entry, plan, address);
      if (fault != FaultCause::None)
        return core.fault(fault, entry.pc, address);
      Cycle ready = dependencesReady(entry, plan);
      if (ready > now) {
        account.wait(StallCause::FillDrain, now);
        return wake(ready);
      }
      QueueEntry head = pop(now);
      start(head, plan, now);
      continue;
    }
    QueueEntry head = pop(now);
    account.wait(StallCause::QueueEmpty, now);
    account.charge(StallCause::Busy, now + 1);
    nextStart = now + 1;
    Operation operation;
    operation.opcode = head.opcode;
    operation.pc = head.pc;
    operation.signals = head.signals;
    operation.remote = head.remote;
    operation.ready = now + 1;
    if (!operations.empty())
      operation.ready = std::max(operation.ready, operations.back().ready);
    operations.push_back(std::move(operation));
    scheduleFinish();
  }
  if (!core.running())
    return;
  if (!operations.empty())
    account.wait(StallCause::FillDrain, now);
  else if (waiting)
    account.wait(core.waitCause(queue.front().waits), now);
  else
    account.wait(StallCause::QueueEmpty, now);
}

FaultCause VectorEngine::check(const QueueEntry &entry, Plan &plan,
                               uint64_t &address) const {
  const auto &maps = core.task.image->maps;
  address = entry.value;
  if (entry.value >= maps.size())
    return FaultCause::MapIndex;
  const isa::MapProgram &program = maps[entry.value];
  plan.program = &program;
  plan.space = program.inputs > 0 ? entry.operands[2] : entry.operands[0];

  for (unsigned i = 0; i < program.inputs; ++i) {
    const isa::Descriptor &td = entry.operands[2 + i];
    address = td.base;
    if (td.extents != plan.space.extents)
      return FaultCause::IllegalDescriptor;
    FaultCause fault = core.checkLocal(td, false, plan.inputs[i]);
    if (fault != FaultCause::None)
      return fault;
  }
  bool reduces = entry.reduce != isa::Reduce::None;
  for (unsigned i = 0; i < program.outputs; ++i) {
    Output output;
    output.td = entry.operands[i];
    address = output.td.base;
    for (unsigned d = 0; d < isa::maxRank; ++d) {
      bool reduced = i == 0 && reduces && (entry.maskA >> d & 1);
      if (output.td.extents[d] != (reduced ? 1 : plan.space.extents[d]))
        return FaultCause::IllegalDescriptor;
    }
    FaultCause fault = core.checkLocal(output.td, true, output.interval);
    if (fault != FaultCause::None)
      return fault;
    plan.outputs.push_back(std::move(output));
  }
  plan.elements = maskedElements(plan.space, ~0u);
  return FaultCause::None;
}

Cycle VectorEngine::dependencesReady(const QueueEntry &entry,
                                     const Plan &plan) const {
  Cycle ready = 0;
  auto depends = [&](const isa::Descriptor &td, const ByteInterval &interval) {
    for (const Operation &o : operations)
      for (const Output &output : o.outputs)
        if (output.td.space == td.space && output.interval.overlaps(interval))
          ready = std::max(ready, o.ready);
  };
  for (unsigned i = 0; i < plan.program->inputs; ++i)
    depends(entry.operands[2 + i], plan.inputs[i]);
  if (entry.accumulate && entry.reduce != isa::Reduce::None)
    depends(plan.outputs[0].td, plan.outputs[0].interval);
  return ready;
}

Cycle VectorEngine::bankCycles(const isa::Descriptor &td) const {
  if (td.space != isa::Space::Spm)
    return 1;
  const SpmConfig &spm = core.services.arch.spm;
  Runs runs(td);
  uint64_t bits = bitWidth(td.format);
  uint64_t left = std::min<uint64_t>(core.services.arch.vector.lanes,
                                     runs.runElements * runs.count);
  std::vector<uint64_t> words;
  for (uint64_t r = 0; left > 0; ++r) {
    uint64_t take = std::min(left, runs.runElements);
    int64_t firstBit = runs.offset(r) * int64_t(bits);
    uint64_t low = td.base * 8 + uint64_t(firstBit),
             high = low + take * bits - 1;
    for (uint64_t w = low / 8 / spm.bankWidth; w <= high / 8 / spm.bankWidth;
         ++w)
      words.push_back(w);
    left -= take;
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  std::vector<Cycle> perBank(std::max(1u, spm.banks));
  Cycle most = 1;
  for (uint64_t w : words)
    most = std::max(most, ++perBank[w % perBank.size()]);
  return most;
}

void VectorEngine::start(const QueueEntry &entry, Plan &plan, Cycle now) {
  const VectorConfig &vector = core.services.arch.vector;
  const isa::MapProgram &program = *plan.program;
  bool reduces = entry.reduce != isa::Reduce::None;

  Cycle reads = 0, writes = 0;
  for (unsigned i = 0; i < program.inputs; ++i)
    reads += bankCycles(entry.operands[2 + i]);
  for (unsigned i = 0; i < program.outputs; ++i)
    writes += i == 0 && reduces ? 1 : bankCycles(plan.outputs[i].td);
  uint64_t lanes = std::max(1u, vector.lanes);
  Cycle work = std::max<Cycle>(
      {1, ceilDiv(program.aluOps(), std::max(1u, vector.aluSlots)),
       ceilDiv(program.sfuOps() * lanes, std::max(1u, vector.sfuLanes))});
  auto ports = [&](Cycle in, Cycle out) {
    return std::max(ceilDiv(in, std::max(1u, vector.readPorts)),
                    ceilDiv(out, std::max(1u, vector.writePorts)));
  };
  Cycle groups = ceilDiv(plan.elements, lanes);
  Cycle ideal = groups * std::max(work, ports(program.inputs, program.outputs));
  Cycle real = groups * std::max(work, ports(reads, writes));

  Operation operation;
  operation.opcode = entry.opcode;
  operation.pc = entry.pc;
  operation.signals = entry.signals;
  operation.ready = now + real + vector.latency + (reduces ? reductionTree : 0);
  if (!operations.empty())
    operation.ready = std::max(operation.ready, operations.back().ready);
  account.wait(StallCause::FillDrain, now);
  account.charge(StallCause::Busy, now + ideal);
  account.charge(StallCause::BankConflict, now + real);
  nextStart = now + real;

  CoreStatistics &c = core.counters;
  c.vectorElements += plan.elements;
  c.vectorAluOps += plan.elements * program.aluOps();
  c.vectorSfuOps += plan.elements * program.sfuOps();
  for (unsigned i = 0; i < program.inputs; ++i)
    core.countRead(entry.operands[2 + i]);
  if (Checker *checker = core.services.checker) {
    for (unsigned i = 0; i < program.inputs; ++i)
      checker->read(core, kind, entry.operands[2 + i]);
    if (reduces && entry.accumulate)
      checker->read(core, kind, plan.outputs[0].td);
    for (const Output &output : plan.outputs)
      checker->write(core, kind, output.td);
  }
  if (!core.services.options.timingOnly)
    compute(entry, plan);
  operation.outputs = std::move(plan.outputs);
  operations.push_back(std::move(operation));
  scheduleFinish();
}

void VectorEngine::compute(const QueueEntry &entry, Plan &plan) {
  const isa::MapProgram &program = *plan.program;
  bool reduces = entry.reduce != isa::Reduce::None;
  std::array<std::vector<uint8_t>, isa::maxMapInputs> inputs;
  for (unsigned i = 0; i < program.inputs; ++i) {
    const isa::Descriptor &td = entry.operands[2 + i];
    inputs[i].resize(denseSize(td));
    gatherLocal(core.local(td.space), td, inputs[i].data());
  }
  for (unsigned i = reduces ? 1 : 0; i < program.outputs; ++i)
    plan.outputs[i].data.resize(denseSize(plan.outputs[i].td));
  std::vector<uint32_t> values(reduces ? plan.elements : 0);

  LaneRegisters regs{};
  for (uint64_t at = 0; at < plan.elements; at += laneChunk) {
    auto count = unsigned(std::min<uint64_t>(laneChunk, plan.elements - at));
    for (unsigned i = 0; i < program.inputs; ++i) {
      NumericFormat format = entry.operands[2 + i].format;
      widen(format, inputs[i].data() + at * denseBytes(format), count,
            regs.value[i].data());
    }
    runLaneProgram(program, regs, count);
    for (unsigned i = 0; i < program.outputs; ++i) {
      const uint32_t *lanes = regs.value[program.outRegs[i]].data();
      Output &output = plan.outputs[i];
      if (i == 0 && reduces)
        std::copy_n(lanes, count, values.begin() + long(at));
      else
        narrow(output.td.format, lanes, count,
               output.data.data() + at * denseBytes(output.td.format));
    }
  }
  if (reduces)
    reduceInto(plan.outputs[0], entry, plan, values);
}

void VectorEngine::reduceInto(Output &output, const QueueEntry &entry,
                              const Plan &plan,
                              const std::vector<uint32_t> &values) {
  // The dense values as a tensor of their own: kept dimensions, then reduced.
  isa::Descriptor kept = plan.space, reduced = plan.space;
  int64_t stride = 1;
  for (unsigned d = plan.space.rank; d-- > 0;) {
    bool isReduced = entry.maskA >> d & 1;
    kept.strides[d] = reduced.strides[d] = stride;
    stride *= plan.space.extents[d];
    (isReduced ? kept : reduced).extents[d] = 1;
  }
  NumericFormat format = output.td.format;
  std::vector<uint32_t> results(maskedElements(kept, ~0u));
  output.data.resize(denseSize(output.td));
  if (entry.accumulate) {
    gatherLocal(core.local(output.td.space), output.td, output.data.data());
    widen(format, output.data.data(), results.size(), results.data());
  }
  Reduction reduction(entry.reduce, isFloat(format));
  Runs keptRuns(kept), reducedRuns(reduced);
  size_t index = 0;
  keptRuns.forEach([&](int64_t keptOffset) {
    for (uint64_t i = 0; i < keptRuns.runElements; ++i, ++index) {
      reduction.reset();
      reducedRuns.forEach([&](int64_t offset) {
        size_t at = size_t(keptOffset + offset) + i;
        for (uint64_t j = 0; j < reducedRuns.runElements; ++j)
          reduction.add(values[at + j]);
      });
      uint32_t value = reduction.finish();
      results[index] =
          entry.accumulate ? reduction.combine(value, results[index]) : value;
    }
  });
  narrow(format, results.data(), results.size(), output.data.data());
}

void VectorEngine::scheduleFinish() {
  if (operations.empty() || finishAt <= operations.front().ready)
    return;
  finishAt = operations.front().ready;
  post(finishAt, Phase::Complete, Finish);
}

void VectorEngine::finishReady(Cycle now) {
  while (!operations.empty() && operations.front().ready <= now) {
    Operation o = std::move(operations.front());
    operations.pop_front();
    for (Output &output : o.outputs) {
      if (!output.data.empty())
        scatterLocal(core.local(output.td.space), output.td,
                     output.data.data());
      core.countWrite(output.td, output.interval);
    }
    core.trace(TraceEvent::Kind::InstructionEnd, kind, o.opcode, o.pc);
    core.signal(o.signals, kind, o.pc);
    core.signalCore(o.remote, kind, o.pc);
    if (!core.running())
      return;
  }
  scheduleFinish();
  if (operations.empty())
    account.wait(waiting ? core.waitCause(queue.front().waits)
                         : StallCause::QueueEmpty,
                 now);
  core.checkDone();
}

void VectorEngine::handle(const Event &event) {
  if (!accept(event) || event.code != Finish)
    return;
  Cycle now = core.services.now();
  if (finishAt == now)
    finishAt = never;
  finishReady(now);
}

} // namespace tessera::sim
