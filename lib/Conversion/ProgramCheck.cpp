//===- ProgramCheck.cpp - Prove a dispatch's program ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/ProgramCheck.h"
#include "CheckedCore.h"
#include <algorithm>
#include <fmt/format.h>

using namespace tessera;
using Step = CheckedCore::Step;

namespace {

class Dispatch {
public:
  Dispatch(std::span<const isa::Instruction> program,
           std::span<const isa::Descriptor> descriptors,
           std::span<const isa::MapProgram> mapPrograms,
           const ProgramCheckOptions &options)
      : program(program), options(options), order(options.numCores),
        atBarrier(options.numCores) {
    for (uint32_t i = 0; i < options.numCores; ++i)
      cores.emplace_back(program, descriptors, mapPrograms, options, i);
  }

  /// Each core goes on until it has to wait for another one.
  ProgramCheckResult run() {
    while (true) {
      bool progress = false;
      for (uint32_t i = 0; i < cores.size() && !result.endsHere; ++i)
        progress |= runCore(i);
      if (result.endsHere)
        return result.result;
      if (std::all_of(cores.begin(), cores.end(),
                      [](const CheckedCore &c) { return c.halted(); }))
        return finish();
      if (std::all_of(atBarrier.begin(), atBarrier.end(),
                      [](bool at) { return at; })) {
        for (CheckedCore &core : cores)
          core.passBarrier();
        order.barrier();
        std::fill(atBarrier.begin(), atBarrier.end(), false);
        progress = true;
      }
      if (!progress)
        return deadlock();
    }
  }

private:
  /// True if it executed anything.
  bool runCore(uint32_t index) {
    CheckedCore &core = cores[index];
    bool progress = false;
    while (!core.halted() && !atBarrier[index]) {
      if (steps == options.maxSteps) {
        end(index, Status::success());
        result.result.unproven =
            fmt::format("it runs for more than {} instructions", steps);
        return progress;
      }
      size_t at = core.pc();
      Result<Step> step = core.step();
      if (!step) {
        end(index, step.status(), at);
        return progress;
      }
      switch (*step) {
      case Step::Waits:
        return progress;
      case Step::Barrier:
        atBarrier[index] = true;
        return true;
      case Step::Unknown:
        end(index, Status::success());
        result.result.unproven = core.reason;
        return progress;
      case Step::Done:
      case Step::Halted:
        break;
      }
      progress = true;
      ++steps;
      std::vector<CheckedMessage> messages = core.takeMessages();
      record(index, at, messages, core.takeAccesses());
      for (const CheckedMessage &message : messages)
        if (Status status = cores[message.core].receive(message);
            !status.ok()) {
          end(index, status, at);
          return progress;
        }
    }
    return progress;
  }

  /// What the instruction means for the order of others.
  void record(uint32_t core, size_t at,
              const std::vector<CheckedMessage> &messages,
              const std::vector<OrderedAccess> &accesses) {
    const isa::Instruction &inst = program[at];
    bool isScalar = inst.info().group == isa::InstGroup::Scalar;
    if (isScalar || inst.opcode == isa::Opcode::BARRIER)
      return;
    order.begin(core, inst.queue(), at);
    for (const isa::SemaphoreStep &wait : inst.waits)
      if (wait.count != 0)
        order.wait(wait.sem, wait.count);
    for (const isa::SemaphoreStep &signal : inst.signals)
      if (signal.count != 0)
        order.signal(core, signal.sem, signal.count);
    if (inst.opcode == isa::Opcode::FENCE)
      order.fence();
    bool isMulticast = inst.opcode == isa::Opcode::LOADMULTICAST;
    for (const CheckedMessage &message : messages) {
      order.signal(uint32_t(message.core), message.sem, message.count,
                   /*arrival=*/isMulticast);
      for (OrderedAccess access : accesses)
        if (isMulticast) {
          access.core = uint32_t(message.core);
          order.access(access);
        }
    }
    for (const OrderedAccess &access : accesses)
      if (!isMulticast)
        order.access(access);
  }

  void end(uint32_t core, Status status, std::optional<size_t> at = {}) {
    result.endsHere = true;
    result.result.core = core;
    result.result.instruction = at ? *at : cores[core].pc();
    if (!status.ok() && cores.size() > 1)
      status = status.withContext(fmt::format("core {}", core));
    result.result.status = std::move(status);
  }

  ProgramCheckResult finish() {
    for (uint32_t i = 0; i < cores.size(); ++i)
      if (Status status = cores[i].checkSemaphoresLeft(); !status.ok()) {
        end(i, status);
        return result.result;
      }
    result.result.unproven = order.tooLarge();
    if (!result.result.unproven.empty())
      return result.result;
    if (auto race = order.findRace())
      end(race->core, {StatusCode::FailedPrecondition, race->what}, race->pc);
    return result.result;
  }

  /// Nobody can go on.
  ProgramCheckResult deadlock() {
    for (uint32_t i = 0; i < cores.size(); ++i)
      if (!cores[i].halted() && !atBarrier[i]) {
        end(i, {StatusCode::FailedPrecondition,
                "deadlock: " + cores[i].explainWait()});
        return result.result;
      }
    for (uint32_t i = 0; i < cores.size(); ++i)
      if (!cores[i].halted()) {
        end(i, {StatusCode::FailedPrecondition,
                "deadlock: at a barrier to which a core that has halted does "
                "not come"});
        return result.result;
      }
    return result.result;
  }

  std::span<const isa::Instruction> program;
  const ProgramCheckOptions &options;
  ProgramOrder order;
  std::vector<CheckedCore> cores;
  std::vector<bool> atBarrier;
  uint64_t steps = 0;
  struct {
    ProgramCheckResult result;
    bool endsHere = false;
  } result;
};

} // namespace

ProgramCheckResult
tessera::checkProgram(std::span<const isa::Instruction> program,
                      std::span<const isa::Descriptor> descriptors,
                      std::span<const isa::MapProgram> mapPrograms,
                      const ProgramCheckOptions &options) {
  return Dispatch(program, descriptors, mapPrograms, options).run();
}

bool tessera::dependsOnCore(std::span<const isa::Instruction> program) {
  return std::any_of(program.begin(), program.end(),
                     [](const isa::Instruction &inst) {
                       return inst.opcode == isa::Opcode::COREID ||
                              inst.opcode == isa::Opcode::SIGNALCORE ||
                              inst.opcode == isa::Opcode::LOADMULTICAST;
                     });
}
