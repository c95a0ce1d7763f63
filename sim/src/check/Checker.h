//===- Checker.h - Races, uninitialised reads, synchronisation --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows the run by happens-before. Each unit of a core (sequencer and queues)
// numbers its instructions; a vector clock says how many of every unit
// precede. Order comes from queues, from pushing, from semaphores and from the
// end of a dispatch, never from what merely came earlier in this run.
//
// Of a semaphore's units a wait is sure only of those that the others cannot
// have given: with several signallers, a signaller's units count as received
// only where all that the others gave until now does not suffice.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CHECK_CHECKER_H
#define TESSERA_SIM_CHECK_CHECKER_H

#include "check/Shadow.h"
#include "core/Core.h"
#include "tessera/sim/Check.h"
#include <deque>
#include <map>
#include <tuple>

namespace tessera::sim {

class Checker {
public:
  Checker(const Services &services, const CheckOptions &options);

  // --- A core's life ---
  void begin(uint32_t core);
  void end(uint32_t core);
  /// The state was replaced: what is in memory counts as written and ordered.
  void forget();

  // --- Its instructions, in the order in which things happen ---
  /// The sequencer executes an instruction of its own.
  void executed(const Core &core, uint32_t pc);
  void pushed(const Core &core, Engine queue);
  /// The unit's next instruction took its waits.
  void took(const Core &core, Engine unit,
            const std::array<isa::SemaphoreStep, isa::maxWaits> &waits);
  void started(const Core &core, Engine unit, uint32_t pc);
  void
  completed(const Core &core, Engine unit,
            const std::array<isa::SemaphoreStep, isa::maxSignals> &signals);
  /// The unit's latest completion, or what its sequencer did until now, is
  /// what the core's next message tells of.
  void sendsFrom(const Core &core, Engine unit);
  void sent(const Core &from, uint32_t to, uint64_t message);
  void received(const Core &core, const Message &message);
  /// What the unit's oldest instruction under way brought to another core is
  /// there, and adds to a semaphore of that core.
  void delivered(const Core &core, Engine unit, const Core &to, uint8_t sem,
                 uint32_t count);
  /// All have come to the barrier; messages that say so follow.
  void barrierComplete(const Core &first);
  /// The sequencer has waited for all stores.
  void fenced(const Core &core);
  /// Accesses of the instruction that the unit started last.
  void read(const Core &core, Engine unit, const isa::Descriptor &td);
  void write(const Core &core, Engine unit, const isa::Descriptor &td);
  /// The same in another core's memory.
  void writeIn(const Core &owner, const Core &core, Engine unit,
               const isa::Descriptor &td);
  void readBytes(const Core &core, Engine unit, isa::Space space, uint64_t low,
                 uint64_t high);
  void writeBytes(const Core &core, Engine unit, isa::Space space, uint64_t low,
                  uint64_t high);

  // --- Synchronisation ---
  void semaphoresLeft(const Core &core);
  /// What is wrong now that nothing happens any more.
  static std::vector<Finding> deadlocks(const Core &core, Cycle now);

  const std::vector<Finding> &findings() const { return found; }
  const CheckOptions options;

private:
  using Stamp = uint32_t;
  using VectorClock = std::vector<Stamp>; ///< By core and unit.
  struct Access {
    uint32_t core = 0;
    Engine unit{};
    Stamp stamp = 0;
    uint32_t pc = 0, program = 0; ///< Of `programs`.
    Cycle cycle = 0;
  };
  struct Signal {
    uint64_t units = 0; ///< Given by this signaller up to here.
    VectorClock clock;
  };
  struct Signaller {
    uint64_t given = 0;
    uint64_t dropped = 0; ///< By signals that are no longer in the list.
    std::deque<Signal> signals;
  };
  struct SemaphoreHistory {
    uint64_t taken = 0;
    std::map<size_t, Signaller> signallers; ///< By core and unit.
  };
  /// A message on its way.
  struct Letter {
    size_t sender = 0; ///< Core and unit.
    VectorClock clock;
  };
  struct UnitState {
    VectorClock clock;
    std::deque<VectorClock> pushes;   ///< Of what is in the queue.
    std::deque<VectorClock> underWay; ///< Started, not complete.
    AccessId current = noAccess;
    VectorClock completed; ///< Of the instruction that completed last.
  };
  struct CoreState {
    explicit CoreState(size_t units) : units(units) {}
    std::vector<UnitState> units; ///< By Engine.
    std::array<SemaphoreHistory, isa::maxSemaphores> semaphores;
    Shadow spm, acc;
    Letter next; ///< What is sent next tells of this.
    std::map<uint64_t, Letter> letters;
    VectorClock barrier; ///< On the first core: of those that arrived.
    bool running = false;
    uint32_t program = 0;
    bool contentsUnknown = false;
  };
  struct Program {
    uint64_t kernel = 0;
    std::shared_ptr<const KernelImage> image;
  };

  static void join(VectorClock &into, const VectorClock &other);
  size_t place(uint32_t core, Engine unit) const {
    return core * unitsPerCore + size_t(unit);
  }
  UnitState &unit(const Core &core, Engine e) {
    return cores[core.index].units[size_t(e)];
  }
  bool precedes(AccessId earlier, uint32_t core, Engine unit) const;
  void nextInstruction(const Core &core, Engine unit, uint32_t pc);
  void access(const Core &owner, const Core &core, Engine unit,
              const isa::Descriptor &td, bool writes);
  void accessBytes(const Core &core, Engine unit, isa::Space space, Shadow &in,
                   uint64_t low, uint64_t high, bool writes);
  void reportRace(AccessId earlier, AccessId later, bool earlierWrites,
                  bool laterWrites, isa::Space space, uint64_t low,
                  uint64_t high);
  void reportUninitialized(AccessId by, isa::Space space, uint64_t low,
                           uint64_t high);
  CheckedInstruction describe(const Access &access) const;
  void add(Finding finding);
  uint32_t programOf(const Core &core);

  const Services &services;
  const size_t unitsPerCore;
  std::vector<CoreState> cores;
  VectorClock finished; ///< Everything of dispatches that are over.
  std::map<uint64_t, Shadow> global; ///< By level-3 table of the context.
  std::vector<Access> accesses{1};   ///< The first stands for none.
  std::vector<Program> programs;
  std::vector<Finding> found;
  using Key = std::tuple<Finding::Kind, uint64_t, uint32_t, uint64_t, uint32_t,
                         isa::Space, uint32_t>;
  std::map<Key, size_t> known; ///< Index in `found`.
};

} // namespace tessera::sim

#endif // TESSERA_SIM_CHECK_CHECKER_H
