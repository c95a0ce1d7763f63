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

VectorEngine::VectorEngine(Core &core) : InOrderEngine(core, Engine::Vector) {}

void VectorEngine::step(Cycle now) {
  while (core.running() && headReady(now)) {
    const QueueEntry &entry = queue.front();
    if (!entry.isSync()) {
      VectorPlan plan;
      uint64_t address = 0;
      FaultCause fault = checkVector(core, entry, plan, address);
      if (fault != FaultCause::None)
        return core.fault(fault, entry.pc, address);
      Cycle ready = dependencesReady(plan);
      if (ready > now) {
        account.wait(StallCause::FillDrain, now);
        return wake(ready);
      }
      if (entry.opcode == Opcode::GATHER) {
        fault = readIndices(core, entry, plan, address);
        if (fault != FaultCause::None)
          return core.fault(fault, entry.pc, address);
      }
      QueueEntry head = pop(now);
      start(head, plan, now);
      continue;
    }
    startSync(pop(now), now);
  }
  if (core.running())
    rest(now);
}

Cycle VectorEngine::dependencesReady(const VectorPlan &plan) const {
  Cycle ready = 0;
  for (const std::vector<VectorInput> *list : {&plan.inputs, &plan.oldContents})
    for (const VectorInput &input : *list)
      for (const Operation &o : operations)
        for (const VectorOutput &output : o.results.outputs)
          if (output.td.space == input.td.space &&
              output.interval.overlaps(input.interval))
            ready = std::max(ready, o.ready);
  return ready;
}

void VectorEngine::start(const QueueEntry &entry, VectorPlan &plan, Cycle now) {
  const Architecture &arch = core.services.arch;
  VectorCost cost = vectorCost(arch, entry, plan);
  core.banks.passTo(now);
  if (cost.accesses)
    cost.real = core.banks.place(*cost.accesses, now) - now;
  else if (cost.tiles)
    cost.real = core.banks.place(*cost.tiles, now) - now;
  else if (cost.sort)
    cost.real = std::max(cost.ideal, core.banks.place(*cost.sort, now) - now);
  account.wait(StallCause::FillDrain, now);
  account.charge(StallCause::Busy, now + cost.ideal);
  account.charge(StallCause::BankConflict, now + cost.real);
  nextStart = now + cost.real;

  CoreStatistics &c = core.counters;
  c.vectorElements += plan.elements;
  c.vectorAluOps += cost.aluOps;
  c.vectorSfuOps += cost.sfuOps;
  for (const VectorInput &input : plan.inputs) {
    isa::Descriptor read = input.td;
    if (entry.opcode == Opcode::GATHER && &input == &plan.inputs[1])
      read.rank = plan.outputs[0].td.rank, // as many elements as are taken
          read.extents = plan.outputs[0].td.extents;
    core.countRead(read);
  }
  for (const VectorInput &old : plan.oldContents)
    core.countRead(old.td);
  if (!core.services.options.timingOnly)
    computeVector(core, entry, plan);
  if (core.services.checker)
    reportAccesses(entry, plan);
  started(entry, now + cost.real + arch.vector.latency + cost.tail,
          {std::move(plan.outputs)});
}

/// Calls f(low, high) for the bytes of each run of `td`, moved by `elements`.
template <typename F>
static void forEachBytes(const isa::Descriptor &td, int64_t elements, F f) {
  Runs runs(td);
  uint64_t bits = bitWidth(td.format);
  runs.forEach([&](int64_t offset) {
    uint64_t first = td.base * 8 + uint64_t(offset + elements) * bits;
    f(first / 8, (first + runs.runElements * bits + 7) / 8);
  });
}

void VectorEngine::reportAccesses(const QueueEntry &entry,
                                  const VectorPlan &plan) {
  Checker &checker = *core.services.checker;
  bool gathers = entry.opcode == Opcode::GATHER;
  for (const VectorInput &input : plan.inputs)
    if (!gathers || &input == &plan.inputs[0])
      checker.read(core, kind, input.td);
  for (const VectorInput &old : plan.oldContents)
    checker.read(core, kind, old.td);
  // Only the rows that are used, as far as these are known.
  if (gathers && !core.services.options.timingOnly) {
    isa::Descriptor row = plan.inputs[1].td;
    row.extents[0] = 1;
    for (int64_t index : plan.indices)
      if (index >= 0)
        forEachBytes(row, index * row.strides[0],
                     [&](uint64_t low, uint64_t high) {
                       checker.readBytes(core, kind, row.space, low, high);
                     });
  }
  for (const VectorOutput &output : plan.outputs) {
    if (output.mask.empty()) {
      checker.write(core, kind, output.td);
      continue;
    }
    isa::Descriptor one = output.td;
    one.extents.fill(1);
    size_t at = 0;
    Runs runs(output.td);
    runs.forEach([&](int64_t offset) {
      for (uint64_t i = 0; i < runs.runElements; ++i)
        if (output.mask[at++])
          forEachBytes(one, offset + int64_t(i),
                       [&](uint64_t low, uint64_t high) {
                         checker.writeBytes(core, kind, one.space, low, high);
                       });
    });
  }
}

void VectorEngine::commit(const VectorResults &results) {
  for (const VectorOutput &output : results.outputs)
    write(output);
}

void VectorEngine::write(const VectorOutput &output) {
  uint8_t *memory = core.local(output.td.space);
  core.countWrite(output.td, output.interval);
  if (output.data.empty())
    return;
  if (output.mask.empty())
    return scatterLocal(memory, output.td, output.data.data());
  std::vector<uint8_t> merged(output.data.size());
  gatherLocal(memory, output.td, merged.data());
  size_t bytes = denseBytes(output.td.format);
  for (size_t i = 0; i < output.mask.size(); ++i)
    if (output.mask[i])
      std::copy_n(output.data.begin() + long(i * bytes), bytes,
                  merged.begin() + long(i * bytes));
  scatterLocal(memory, output.td, merged.data());
}

} // namespace tessera::sim
