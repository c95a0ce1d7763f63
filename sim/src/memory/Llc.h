//===- Llc.h - Memory-side cache --------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tags of a write-back cache with a slice in front of every DRAM channel:
// 64-byte lines, least recently used, sets chosen by a hash of the line. Data
// is where it always is (PhysicalMemory), so that whoever reads, host and
// command processor among them, sees the last value written. docs/timing.md,
// "Memory-side cache".
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_MEMORY_LLC_H
#define TESSERA_SIM_MEMORY_LLC_H

#include "kernel/Clock.h"
#include "kernel/Serialize.h"
#include "tessera/Arch/Architecture.h"
#include <vector>

namespace tessera::sim {

struct LlcCounters {
  uint64_t hits = 0, misses = 0; ///< Lines; one on its way is a hit.
  uint64_t fills = 0, writeBacks = 0;
  uint64_t bypasses = 0; ///< Misses for which no line could be given up.
  template <typename A> void serialize(A &ar) {
    fields(ar, hits, misses, fills, writeBacks, bypasses);
  }
};

class Llc {
public:
  static constexpr uint64_t lineBytes = 64;
  /// The line's data is on its way, it is not known until when.
  static constexpr Cycle unknown = ~Cycle(0);

  explicit Llc(const Architecture &arch);

  bool present() const { return sets != 0; }

  struct Outcome {
    bool cached = true; ///< False: goes past the cache.
    bool fetches = false;
    bool writesBack = false;
    uint64_t victim = 0; ///< The line to write back.
    Cycle ready = 0;     ///< DRAM clock of the data, or unknown.
  };
  /// Looks line `line` (address / 64) of `channel` up; a miss takes a line.
  /// `whole`: all of it is written, so nothing is fetched.
  Outcome access(uint32_t channel, uint64_t line, bool write, bool whole);
  /// The data that was fetched for the line is there at `ready`.
  void filled(uint32_t channel, uint64_t line, Cycle ready);

  const LlcCounters &counters() const { return count; }

  template <typename A> void serialize(A &ar) {
    size_t size = lines.size();
    fields(ar, lines, useClock, count);
    if constexpr (A::loading)
      if (lines.size() != size)
        ar.fail();
  }

private:
  struct Line {
    uint64_t tag = 0; ///< Line + 1; 0: empty.
    uint64_t lastUse = 0;
    Cycle ready = 0;
    bool dirty = false;
    template <typename A> void serialize(A &ar) {
      fields(ar, tag, lastUse, ready, dirty);
    }
  };
  Line *setOf(uint32_t channel, uint64_t line);

  uint64_t sets; ///< Of a channel's slice.
  uint32_t ways;
  std::vector<Line> lines; ///< Channel × set × way.
  uint64_t useClock = 0;
  LlcCounters count;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_MEMORY_LLC_H
