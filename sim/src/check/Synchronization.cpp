//===- Synchronization.cpp - Semaphores left over, deadlock -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "check/Checker.h"
#include "core/Sequencer.h"
#include <fmt/format.h>

namespace tessera::sim {

static CheckedInstruction instructionAt(const Core &core, Engine engine,
                                        uint32_t pc, Cycle cycle) {
  CheckedInstruction result{core.index, engine, core.task.kernel,
                            pc,         "",     cycle};
  if (core.task.image && pc < core.task.image->program.size())
    result.text = isa::print(core.task.image->program[pc]);
  return result;
}

template <size_t N>
static bool names(const std::array<isa::SemaphoreStep, N> &steps, size_t sem) {
  for (const isa::SemaphoreStep &s : steps)
    if (s.count && s.sem == sem)
      return true;
  return false;
}

void Checker::semaphoresLeft(const Core &core) {
  if (!options.sync)
    return;
  Finding f;
  f.kind = Finding::Kind::SemaphoreNotZero;
  std::string left;
  const std::vector<isa::Instruction> &program = core.task.image->program;
  for (size_t s = 0; s < core.semaphores.size(); ++s) {
    if (core.semaphores[s].value == 0)
      continue;
    left += fmt::format("{}s{} is {}", left.empty() ? "" : ", ", s,
                        core.semaphores[s].value);
    for (uint32_t pc = 0; pc < program.size(); ++pc)
      if (names(program[pc].signals, s) || names(program[pc].waits, s)) {
        Engine engine = engineOf(program[pc].queue());
        f.instructions.push_back(
            instructionAt(core, engine, pc, services.now()));
      }
  }
  if (left.empty())
    return;
  f.message = fmt::format("at the end of the program {}; what signals and "
                          "waits on it",
                          left);
  add(std::move(f));
}

namespace {
/// What one unit waits for.
struct Blocked {
  uint32_t pc = 0;
  std::string reason;
  std::optional<Engine> next; ///< Who would have to go on.
};
} // namespace

static Blocked
waitingFor(const Core &core, uint32_t pc,
           const std::array<isa::SemaphoreStep, isa::maxWaits> &waits) {
  Blocked result;
  result.pc = pc;
  for (const isa::SemaphoreStep &w : waits) {
    if (!w.count || core.semaphores[w.sem].value >= w.count)
      continue;
    std::string who;
    for (Engine e : core.units()) {
      if (e == Engine::Sequencer)
        continue;
      for (const QueueEntry &entry : core.engine(e).pending())
        if (names(entry.signals, w.sem) && who.empty()) {
          who = fmt::format("pc {} in the {} queue would signal it", entry.pc,
                            engineName(e));
          result.next = e;
        }
    }
    if (who.empty() && !core.sequencerHalted()) {
      who = "the sequencer has issued nothing that signals it";
      result.next = Engine::Sequencer;
    }
    if (who.empty())
      who = "no instruction is left that signals it";
    result.reason += fmt::format("{}waits for s{} >= {}, which is {}; {}",
                                 result.reason.empty() ? "" : "; ", w.sem,
                                 w.count, core.semaphores[w.sem].value, who);
  }
  return result;
}

static std::optional<Blocked> blocked(const Core &core, Engine unit) {
  if (unit != Engine::Sequencer) {
    const QueueEngine &engine = core.engine(unit);
    if (!engine.waitsForSemaphore() || !engine.head())
      return std::nullopt;
    return waitingFor(core, engine.head()->pc, engine.head()->waits);
  }
  const Sequencer &sequencer = core.scalarUnit();
  if (const isa::Instruction *wait = sequencer.waitingInstruction())
    return waitingFor(core, sequencer.pc(), wait->waits);
  if (std::optional<Engine> full = sequencer.blockedOnQueue())
    return Blocked{
        sequencer.pc(),
        fmt::format("waits for a place in the {} queue", engineName(*full)),
        full};
  if (sequencer.atBarrier())
    return Blocked{sequencer.pc(),
                   "waits at a barrier to which another core does not come",
                   std::nullopt};
  if (!sequencer.halted() && !core.engine(Engine::Store).idle())
    return Blocked{sequencer.pc(), "waits for the stores before it",
                   Engine::Store};
  return std::nullopt;
}

std::vector<Finding> Checker::deadlocks(const Core &core, Cycle now) {
  std::array<std::optional<Blocked>, maxEngines> units;
  std::optional<Engine> at;
  for (Engine e : core.units())
    if ((units[size_t(e)] = blocked(core, e)) && !at)
      at = e;
  if (!at)
    return {};
  // From any blocked unit along what it waits for: into a cycle, or to an end.
  std::vector<Engine> path;
  while (at && units[size_t(*at)] &&
         std::find(path.begin(), path.end(), *at) == path.end()) {
    path.push_back(*at);
    at = units[size_t(*at)]->next;
  }
  bool cycle = at && units[size_t(*at)];
  if (cycle)
    path.erase(path.begin(), std::find(path.begin(), path.end(), *at));
  Finding f;
  f.kind = Finding::Kind::Deadlock;
  f.message = cycle ? "deadlock: units of the core wait for one another"
                    : "deadlock: a unit waits for what cannot come";
  for (Engine e : path) {
    const Blocked &b = *units[size_t(e)];
    CheckedInstruction inst = instructionAt(core, e, b.pc, now);
    inst.text += " -- " + b.reason;
    f.instructions.push_back(std::move(inst));
  }
  return {std::move(f)};
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string_view checkName(Finding::Kind kind) {
  switch (kind) {
  case Finding::Kind::Race:
    return "race";
  case Finding::Kind::Uninitialized:
    return "memory";
  case Finding::Kind::SemaphoreNotZero:
  case Finding::Kind::Deadlock:
    break;
  }
  return "sync";
}

std::string print(const Finding &finding, const PlaceNamer &place) {
  std::string text =
      fmt::format("{}: {}", checkName(finding.kind), finding.message);
  if (finding.high > finding.low) {
    std::string_view memory =
        finding.space == isa::Space::Global ? "device memory"
        : finding.space == isa::Space::Acc  ? "the accumulators"
                                            : "the scratchpad";
    text += fmt::format(": bytes {:#x} to {:#x} of {}", finding.low,
                        finding.high - 1, memory);
  }
  if (finding.occurrences > 1)
    text += fmt::format(" ({} times)", finding.occurrences);
  text += "\n";
  for (const CheckedInstruction &i : finding.instructions) {
    std::string where = place ? place(i.kernel, i.pc) : "";
    text += fmt::format("  core {}, {}, cycle {}, pc {}{}{}: {}\n", i.core,
                        engineName(i.engine), i.cycle, i.pc,
                        where.empty() ? "" : ", ", where, i.text);
  }
  return text;
}

} // namespace tessera::sim
