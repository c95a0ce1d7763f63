//===- ProgramOrder.h - Races between queues and cores --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From one run of a dispatch, one instruction at a time, what is ordered in
// every run, and accesses to SPM and ACC that are not.
//
// The n-th unit that a wait takes is assumed to come from the signal that gave
// it in this run. That is certain if no other signal of the semaphore could
// have come before the wait: the later ones of the same signaller, which
// signals in order, or those that the assumed order puts after the wait. If all
// the waits that the assumption rests on pass that test, no run can be the
// first to differ. Waits that fail order nothing but what a single signaller
// gives, and the rest is tested again without them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_PROGRAMORDER_H
#define TESSERA_LIB_CONVERSION_PROGRAMORDER_H

#include "tessera/ISA/Descriptor.h"
#include "tessera/ISA/Instruction.h"
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace tessera {

/// Bytes of a core's SPM or ACC that an instruction touches.
struct OrderedAccess {
  uint32_t core = 0;
  isa::Descriptor td; ///< Its space is Spm or Acc, its base within the memory.
  bool writes = false;
};

class ProgramOrder {
public:
  explicit ProgramOrder(uint32_t numCores) : numCores(numCores) {}

  /// The next instruction in the order of the run. What follows belongs to it.
  void begin(uint32_t core, isa::Queue queue, size_t pc);
  void wait(uint32_t semaphore, uint32_t count);
  /// When it completes. With `arrival` as soon as what it writes into that
  /// core's memory is there.
  void signal(uint32_t core, uint32_t semaphore, uint32_t count,
              bool arrival = false);
  void access(const OrderedAccess &access);
  /// The sequencer goes on when the core's stores have completed.
  void fence();
  /// All cores' sequencers have met.
  void barrier();

  struct Race {
    uint32_t core = 0; ///< Of the later instruction.
    size_t pc = 0;
    std::string what;
  };
  /// The first in the order of the run.
  std::optional<Race> findRace() const;
  /// Why findRace would take too long; empty if it does not.
  std::string tooLarge() const;

private:
  friend class OrderPass;
  struct Wait {
    uint32_t semaphore, count;
  };
  struct Signal {
    uint32_t core, semaphore, count;
    bool arrival;
  };
  /// Programs run for millions of instructions: descriptors are kept once.
  struct Access {
    uint32_t core, descriptor;
    bool writes;
  };
  struct Event {
    uint32_t core = 0, pc = 0;
    isa::Queue queue = isa::Queue::Seq;
    bool isFence = false, isBarrier = false;
    uint32_t firstWait = 0, firstSignal = 0, firstAccess = 0;
  };
  size_t width() const;

  const uint32_t numCores;
  bool hasArrivals = false;
  std::vector<Event> events;
  std::vector<Wait> waits;
  std::vector<Signal> signals;
  std::vector<Access> accesses;
  std::vector<isa::Descriptor> descriptors;
  std::unordered_multimap<uint64_t, uint32_t> descriptorNumbers; ///< By hash.
};

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_PROGRAMORDER_H
