//===- Checker.cpp - Races and uninitialised reads --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "check/Checker.h"
#include "core/Sequencer.h"
#include <fmt/format.h>

namespace tessera::sim {

Checker::Checker(const Services &services, const CheckOptions &options)
    : options(options), services(services),
      unitsPerCore(numEngines - 1 + std::max(1u, services.arch.matrix.count)),
      finished(services.arch.cores.count * unitsPerCore) {
  for (uint32_t i = 0; i < services.arch.cores.count; ++i) {
    CoreState &core = cores.emplace_back(unitsPerCore);
    for (UnitState &unit : core.units)
      unit.clock = finished;
  }
}

void Checker::join(VectorClock &into, const VectorClock &other) {
  for (size_t i = 0; i < into.size(); ++i)
    into[i] = std::max(into[i], other[i]);
}

//===----------------------------------------------------------------------===//
// A core's life
//===----------------------------------------------------------------------===//

uint32_t Checker::programOf(const Core &core) {
  for (size_t i = programs.size(); i-- > 0;)
    if (programs[i].kernel == core.task.kernel &&
        programs[i].image == core.task.image)
      return uint32_t(i);
  programs.push_back({core.task.kernel, core.task.image});
  return uint32_t(programs.size() - 1);
}

void Checker::begin(uint32_t index) {
  CoreState &core = cores[index];
  // What this core did before, and every dispatch that is over, precedes.
  VectorClock clock = finished;
  for (const UnitState &unit : core.units)
    join(clock, unit.clock);
  for (UnitState &unit : core.units)
    unit = {clock, {}, {}, noAccess, {}};
  core.semaphores = {};
  core.letters.clear();
  core.barrier.clear();
  core.running = true;
}

void Checker::end(uint32_t index) {
  CoreState &core = cores[index];
  core.running = false;
  for (const UnitState &unit : core.units)
    join(finished, unit.clock);
  // Nothing runs: whatever follows is ordered after all accesses.
  if (std::none_of(cores.begin(), cores.end(),
                   [](const CoreState &c) { return c.running; }))
    global.clear();
}

void Checker::forget() {
  accesses.resize(1);
  global.clear();
  for (CoreState &core : cores) {
    core.spm.clear();
    core.acc.clear();
    core.contentsUnknown = true;
    core.semaphores = {};
    core.letters.clear();
    for (UnitState &unit : core.units) {
      unit.pushes.clear();
      unit.underWay.clear();
      unit.current = noAccess;
    }
  }
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

void Checker::nextInstruction(const Core &core, Engine e, uint32_t pc) {
  UnitState &state = unit(core, e);
  Stamp stamp = ++state.clock[place(core.index, e)];
  state.current = AccessId(accesses.size());
  accesses.push_back(
      {core.index, e, stamp, pc, programOf(core), services.now()});
}

void Checker::executed(const Core &core, uint32_t pc) {
  nextInstruction(core, Engine::Sequencer, pc);
}

void Checker::pushed(const Core &core, Engine queue) {
  unit(core, queue).pushes.push_back(unit(core, Engine::Sequencer).clock);
}

void Checker::took(const Core &core, Engine e,
                   const std::array<isa::SemaphoreStep, isa::maxWaits> &waits) {
  UnitState &state = unit(core, e);
  for (const isa::SemaphoreStep &w : waits) {
    if (w.count == 0)
      continue;
    SemaphoreHistory &h = cores[core.index].semaphores[w.sem];
    h.taken += w.count;
    // A signal surely came before if those that do not follow it are too few.
    std::map<size_t, size_t> sure;
    for (auto &[at, signaller] : h.signallers) {
      uint64_t before = signaller.dropped;
      for (size_t i = 0; i < signaller.signals.size(); ++i) {
        const Signal &signal = signaller.signals[i];
        uint64_t others = before;
        before = signal.units;
        for (auto &[otherAt, other] : h.signallers) {
          if (otherAt == at)
            continue;
          uint64_t units = other.dropped;
          for (const Signal &f : other.signals) {
            if (f.clock[at] >= signal.clock[at])
              break; // this one and the later ones follow
            units = f.units;
          }
          others += units;
        }
        if (others >= h.taken)
          break;
        sure[at] = i + 1;
      }
    }
    for (auto [at, count] : sure) {
      Signaller &signaller = h.signallers[at];
      join(state.clock, signaller.signals[count - 1].clock);
      // Earlier ones are contained in the last one.
      for (size_t i = 1; i < count; ++i) {
        signaller.dropped = signaller.signals.front().units;
        signaller.signals.pop_front();
      }
    }
  }
}

void Checker::started(const Core &core, Engine e, uint32_t pc) {
  UnitState &state = unit(core, e);
  if (!state.pushes.empty()) {
    join(state.clock, state.pushes.front());
    state.pushes.pop_front();
  }
  nextInstruction(core, e, pc);
  state.underWay.push_back(state.clock);
}

void Checker::completed(
    const Core &core, Engine e,
    const std::array<isa::SemaphoreStep, isa::maxSignals> &signals) {
  UnitState &state = unit(core, e);
  VectorClock clock = state.clock;
  if (!state.underWay.empty()) {
    clock = std::move(state.underWay.front());
    state.underWay.pop_front();
  }
  for (const isa::SemaphoreStep &w : signals) {
    if (w.count == 0 || w.sem >= isa::maxSemaphores)
      continue;
    Signaller &h =
        cores[core.index].semaphores[w.sem].signallers[place(core.index, e)];
    h.given += w.count;
    h.signals.push_back({h.given, clock});
  }
  state.completed = std::move(clock);
}

void Checker::sendsFrom(const Core &core, Engine e) {
  UnitState &state = unit(core, e);
  bool arrives = core.scalarUnit().atBarrier() || state.completed.empty();
  cores[core.index].next = {
      place(core.index, e),
      arrives && e == Engine::Sequencer ? state.clock : state.completed};
  if (cores[core.index].next.clock.empty())
    cores[core.index].next.clock = state.clock;
}

void Checker::sent(const Core &from, uint32_t to, uint64_t message) {
  cores[to].letters[message] = cores[from.index].next;
}

void Checker::received(const Core &core, const Message &message) {
  CoreState &state = cores[core.index];
  auto it = state.letters.find(message.id);
  if (it == state.letters.end()) // sent before a snapshot was restored
    return;
  Letter letter = std::move(it->second);
  state.letters.erase(it);
  switch (message.kind) {
  case Message::Kind::Signal: {
    Signaller &h = state.semaphores[message.sem].signallers[letter.sender];
    h.given += message.count;
    h.signals.push_back({h.given, std::move(letter.clock)});
    break;
  }
  case Message::Kind::BarrierArrived:
    state.barrier.resize(letter.clock.size());
    join(state.barrier, letter.clock);
    break;
  case Message::Kind::BarrierOver:
    join(unit(core, Engine::Sequencer).clock, letter.clock);
    break;
  }
}

void Checker::delivered(const Core &core, Engine e, const Core &to, uint8_t sem,
                        uint32_t count) {
  const UnitState &state = unit(core, e);
  Signaller &h =
      cores[to.index].semaphores[sem].signallers[place(core.index, e)];
  h.given += count;
  h.signals.push_back(
      {h.given, state.underWay.empty() ? state.clock : state.underWay.front()});
}

void Checker::barrierComplete(const Core &first) {
  CoreState &state = cores[first.index];
  state.next = {place(first.index, Engine::Sequencer),
                std::move(state.barrier)};
  state.barrier.clear();
}

void Checker::fenced(const Core &core) {
  join(unit(core, Engine::Sequencer).clock, unit(core, Engine::Store).clock);
}

bool Checker::precedes(AccessId id, uint32_t core, Engine e) const {
  const Access &earlier = accesses[id];
  if (earlier.core == core && earlier.unit == e)
    return true;
  const VectorClock &clock = cores[core].units[size_t(e)].clock;
  return clock[place(earlier.core, earlier.unit)] >= earlier.stamp;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

void Checker::read(const Core &core, Engine e, const isa::Descriptor &td) {
  access(core, core, e, td, false);
}
void Checker::write(const Core &core, Engine e, const isa::Descriptor &td) {
  access(core, core, e, td, true);
}
void Checker::writeIn(const Core &owner, const Core &core, Engine e,
                      const isa::Descriptor &td) {
  access(owner, core, e, td, true);
}
void Checker::readBytes(const Core &core, Engine e, isa::Space space,
                        uint64_t low, uint64_t high) {
  CoreState &state = cores[core.index];
  accessBytes(core, e, space, space == isa::Space::Acc ? state.acc : state.spm,
              low, high, false);
}
void Checker::writeBytes(const Core &core, Engine e, isa::Space space,
                         uint64_t low, uint64_t high) {
  CoreState &state = cores[core.index];
  accessBytes(core, e, space, space == isa::Space::Acc ? state.acc : state.spm,
              low, high, true);
}

void Checker::access(const Core &owner, const Core &core, Engine e,
                     const isa::Descriptor &td, bool writes) {
  if (td.space == isa::Space::Global && !options.race)
    return;
  CoreState &state = cores[owner.index];
  Shadow &in = td.space == isa::Space::Global ? global[core.task.root]
               : td.space == isa::Space::Acc  ? state.acc
                                              : state.spm;
  Runs runs(td);
  uint64_t bits = bitWidth(td.format);
  runs.forEach([&](int64_t element) {
    uint64_t first = td.base * 8 + uint64_t(element) * bits;
    uint64_t last = first + runs.runElements * bits;
    accessBytes(core, e, td.space, in, first / 8, (last + 7) / 8, writes);
  });
}

void Checker::accessBytes(const Core &core, Engine e, isa::Space space,
                          Shadow &in, uint64_t low, uint64_t high,
                          bool writes) {
  AccessId self = unit(core, e).current;
  // Neighbouring bytes mostly have the same history: each earlier access is
  // looked at once for a stretch of bytes.
  AccessId lastOrdered = noAccess;
  Shadow::SetId lastOrderedSet = Shadow::noReaders;
  struct Stretch {
    uint64_t low = 0, high = 0;
  } unwritten;
  std::map<std::pair<AccessId, bool>, Stretch> races; // by access, if a write
  auto flushRace = [&](AccessId other, bool otherWrites, const Stretch &race) {
    reportRace(other, self, otherWrites, writes, space, race.low, race.high);
  };
  auto flushUnwritten = [&] {
    if (unwritten.high)
      reportUninitialized(self, space, unwritten.low, unwritten.high);
    unwritten = {};
  };
  /// True if it precedes.
  auto look = [&](AccessId other, bool otherWrites, uint64_t at) {
    if (other == noAccess || other == self || other == lastOrdered)
      return true;
    if (precedes(other, core.index, e)) {
      lastOrdered = other;
      return true;
    }
    Stretch &race = races[{other, otherWrites}];
    if (race.high != at) {
      if (race.high != 0)
        flushRace(other, otherWrites, race);
      race.low = at;
    }
    race.high = at + 1;
    return false;
  };
  auto isOfThisUnit = [&](AccessId id) {
    return accesses[id].core == core.index && accesses[id].unit == e;
  };
  bool checksContents = options.memory && space != isa::Space::Global &&
                        !cores[core.index].contentsUnknown;
  in.forEach(low, high, [&](uint64_t at, Shadow::Byte &byte) {
    if (options.race)
      look(byte.writer, true, at);
    if (writes) {
      if (options.race && byte.readers != lastOrderedSet) {
        bool ordered = true;
        for (AccessId reader : in.readers(byte.readers))
          ordered &= look(reader, false, at);
        if (ordered)
          lastOrderedSet = byte.readers;
      }
      byte = {self, Shadow::noReaders};
      return;
    }
    if (byte.writer == noAccess && checksContents) {
      if (unwritten.high != at) {
        flushUnwritten();
        unwritten.low = at;
      }
      unwritten.high = at + 1;
    }
    // Of each unit only the last read counts.
    byte.readers = in.with(byte.readers, self, isOfThisUnit);
  });
  for (const auto &[other, race] : races)
    flushRace(other.first, other.second, race);
  flushUnwritten();
}

//===----------------------------------------------------------------------===//
// Findings
//===----------------------------------------------------------------------===//

CheckedInstruction Checker::describe(const Access &access) const {
  const Program &program = programs[access.program];
  CheckedInstruction result{access.core, access.unit, program.kernel,
                            access.pc,   "",          access.cycle};
  if (program.image && access.pc < program.image->program.size())
    result.text = isa::print(program.image->program[access.pc]);
  return result;
}

void Checker::add(Finding finding) {
  CheckedInstruction first, second;
  if (!finding.instructions.empty())
    first = finding.instructions.front(), second = finding.instructions.back();
  Key key{finding.kind,          first.kernel, first.pc,
          second.kernel,         second.pc,    finding.space,
          uint32_t(first.engine)};
  auto [at, isNew] = known.try_emplace(key, found.size());
  if (isNew)
    found.push_back(std::move(finding));
  else
    ++found[at->second].occurrences;
}

void Checker::reportRace(AccessId earlier, AccessId later, bool earlierWrites,
                         bool laterWrites, isa::Space space, uint64_t low,
                         uint64_t high) {
  Finding f;
  f.kind = Finding::Kind::Race;
  f.message = fmt::format("nothing orders a {} and a {}",
                          earlierWrites ? "write" : "read",
                          laterWrites ? "write" : "read");
  f.instructions = {describe(accesses[earlier]), describe(accesses[later])};
  f.space = space;
  f.low = low, f.high = high;
  add(std::move(f));
}

void Checker::reportUninitialized(AccessId by, isa::Space space, uint64_t low,
                                  uint64_t high) {
  Finding f;
  f.kind = Finding::Kind::Uninitialized;
  f.message = "a read of what nothing has written";
  f.instructions = {describe(accesses[by])};
  f.space = space;
  f.low = low, f.high = high;
  add(std::move(f));
}

} // namespace tessera::sim
