//===- SharedSlices.h - Shared SRAM -----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The slices' banks, in core cycles and in closed form: a slice takes its
// requests in order, one a cycle, each when all the banks that it touches are
// free. docs/timing.md, "Shared SRAM".
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_MEMORY_SHAREDSLICES_H
#define TESSERA_SIM_MEMORY_SHAREDSLICES_H

#include "kernel/Clock.h"
#include "kernel/Serialize.h"
#include "tessera/Arch/Architecture.h"
#include <vector>

namespace tessera::sim {

struct SliceCounters {
  uint64_t requests = 0, bytes = 0;
  uint64_t busyCycles = 0;     ///< Of banks.
  uint64_t conflictCycles = 0; ///< Requests waiting for a busy bank.
  template <typename A> void serialize(A &ar) {
    fields(ar, requests, bytes, busyCycles, conflictCycles);
  }
};

class SharedSlices {
public:
  explicit SharedSlices(const Architecture &arch);

  uint32_t sliceOf(uint64_t address) const {
    return uint32_t(address / unit % numSlices);
  }
  /// Bytes of consecutive addresses in one slice.
  uint64_t unitBytes() const { return unit; }

  struct Service {
    Cycle start = 0; ///< The banks begin.
    Cycle ready = 0; ///< The answer leaves.
  };
  /// A request that arrived at its slice at `now`, after all earlier ones;
  /// it stays within a unit.
  Service access(uint64_t address, uint64_t bytes, Cycle now);

  const std::vector<SliceCounters> &counters() const { return counts; }

  template <typename A> void serialize(A &ar) {
    size_t banksBefore = bankFree.size();
    fields(ar, bankFree, sliceNext, counts);
    if constexpr (A::loading)
      if (bankFree.size() != banksBefore || sliceNext.size() != numSlices ||
          counts.size() != numSlices)
        ar.fail();
  }

private:
  const uint32_t numSlices, banks, bankWidth, latency;
  const uint64_t unit;
  std::vector<Cycle> bankFree; ///< Slice × bank.
  std::vector<Cycle> sliceNext;
  std::vector<SliceCounters> counts;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_MEMORY_SHAREDSLICES_H
