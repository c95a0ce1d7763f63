//===- TickingCores.h - Cores that talk, cycle by cycle --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A second model of what cores do to one another: stores into other cores'
// scratchpads, multicast loads, messages from queues and sequencers, barriers.
// Every cycle of every sequencer is executed, DMA engines spend their slots and
// serve their words one by one (TickingDma), also those that come from other
// cores, and the network between them is the one that moves every flit.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_SIM_TICKINGCORES_H
#define TESSERA_TEST_UNIT_SIM_TICKINGCORES_H

#include "TickingDma.h"
#include "noc/Network.h"

namespace tessera::sim::test {

/// An instruction of a core's sequencer.
struct CoreStep {
  enum class Kind {
    Pause,  ///< `cycles` cycles of scalar work.
    Mark,   ///< Tells when.
    Load,   ///< From memory, within the core, or a multicast.
    Store,  ///< To another core.
    Signal, ///< To `core`: from the sequencer, or through a queue.
    Wait,   ///< The sequencer, for a semaphore.
    Barrier
  };
  Kind kind = Kind::Pause;
  uint64_t cycles = 1;
  uint32_t core = 0;
  DmaMove move;             ///< Of a load or store.
  bool isMulticast = false; ///< A load, to `cores`.
  noc::Rectangle cores;
  isa::Queue queue = isa::Queue::Seq; ///< Of a Signal: seq, ld or st.
  uint8_t sem = 0;
  uint32_t count = 1;

  isa::Queue unit() const {
    return kind == Kind::Store    ? isa::Queue::St
           : kind == Kind::Load   ? isa::Queue::Ld
           : kind == Kind::Signal ? queue
                                  : isa::Queue::Seq;
  }
};

/// When a core begins its first step, and what follows.
struct CoreScript {
  uint64_t start = 0;
  std::vector<CoreStep> steps;
};

/// Of each step of each core: a mark's cycle; begin and end in its queue.
using CoreTimes = std::vector<std::vector<Span>>;

/// The memory answers with open rows: `latency` cycles after a request came,
/// one answer every `spacing` cycles.
CoreTimes tickCores(const Architecture &arch,
                    const std::vector<CoreScript> &scripts,
                    uint64_t latency = 14, uint64_t spacing = 4);

} // namespace tessera::sim::test

#endif // TESSERA_TEST_UNIT_SIM_TICKINGCORES_H
