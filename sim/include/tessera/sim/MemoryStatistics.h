//===- MemoryStatistics.h - What the memory side counts ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counters since reset of every DRAM channel and bank, link and buffer of the
// network, slice of shared SRAM, the memory-side cache and the host link. Made
// when asked for; docs/timing.md says what happens when.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_MEMORYSTATISTICS_H
#define TESSERA_SIM_MEMORYSTATISTICS_H

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::sim {

struct BankStatistics {
  uint64_t accesses = 0;  ///< Column commands.
  uint64_t activates = 0; ///< Rows opened.
};

/// Clocks are DRAM clocks.
struct ChannelStatistics {
  uint64_t reads = 0, writes = 0;   ///< Atoms on the data bus.
  uint64_t readsFromWriteQueue = 0; ///< Atoms that a waiting write had.
  uint64_t rowHits = 0, rowMisses = 0, rowConflicts = 0;
  uint64_t activates = 0, precharges = 0, turnarounds = 0;
  uint64_t refreshes = 0, refreshClocks = 0;
  uint64_t dataClocks = 0;
  /// Atoms waiting, summed over clocks, and the waits of those served: equal
  /// when nothing waits.
  uint64_t occupancyClocks = 0, waitClocks = 0;
  std::vector<BankStatistics> banks;
};

/// Cycles are network cycles.
struct LinkStatistics {
  std::string from, to; ///< "router 3", "core 3", "channel 0", …
  uint64_t messages = 0, flits = 0, bytes = 0;
  uint64_t blockedCycles = 0; ///< Idle, somebody asking, no place beyond.
};

struct BufferStatistics {
  std::string at; ///< "router 3 from core 3, channel 0"
  uint64_t arrived = 0, left = 0;
  uint64_t occupancyCycles = 0, waitCycles = 0;
};

struct SliceStatistics {
  uint64_t requests = 0, bytes = 0;
  uint64_t bankBusyCycles = 0, conflictCycles = 0;
};

struct CacheStatistics {
  uint64_t hits = 0, misses = 0, fills = 0, writeBacks = 0, bypasses = 0;
};

struct HostLinkStatistics {
  uint64_t requests = 0, bytes = 0, busyFs = 0;
};

struct MemoryStatistics {
  uint64_t atomBytes = 0;
  /// DRAM bytes by what they were for; together all that was moved.
  uint64_t usefulBytes = 0, overFetchBytes = 0, walkBytes = 0, commandBytes = 0,
           cacheBytes = 0;
  std::vector<ChannelStatistics> channels;
  uint64_t messagesInjected = 0, messagesEjected = 0;
  std::vector<LinkStatistics> links;
  std::vector<BufferStatistics> buffers;
  std::vector<SliceStatistics> slices;
  CacheStatistics cache;
  HostLinkStatistics toHost, toDevice;

  uint64_t dramBytes() const {
    return usefulBytes + overFetchBytes + walkBytes + commandBytes + cacheBytes;
  }
};

} // namespace tessera::sim

#endif // TESSERA_SIM_MEMORYSTATISTICS_H
