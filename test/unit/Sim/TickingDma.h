//===- TickingDma.h - A DMA engine, slot by slot ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A second model of a load or store engine that knows neither runs nor
// dimensions: it has a list of elements, takes as many of them into a burst as
// lie side by side in one aligned block, and spends slots one at a time.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_SIM_TICKINGDMA_H
#define TESSERA_TEST_UNIT_SIM_TICKINGDMA_H

#include "SimFixture.h"
#include "TickingBanks.h"
#include <memory>

namespace tessera::sim::test {

struct DmaElement {
  uint64_t far = 0, near = 0; ///< Byte addresses.
  uint32_t row = 0;           ///< Bursts do not go from one row to another.
  bool isOutside = false; ///< Of a window, or of a table: padded or dropped.
};

struct DmaJob {
  uint64_t visible = 0;
  bool isSync = false;              ///< A cycle of the queue, and nothing else.
  std::vector<DmaElement> elements; ///< In row-major order.
  uint32_t farBytes = 4, nearBytes = 4; ///< Of an element.
  bool transpose = false, withinCore = false;
  bool nearIsAcc = false; ///< Else the near side is the scratchpad.
  bool posted = false;    ///< Of a store.
  uint32_t indices = 0;
  uint64_t indexBase = 0;
  /// Of a multicast; of a store, the one that it goes to if not to memory.
  std::vector<uint32_t> cores;
};

/// A transfer of at most three dimensions: both sides have the same extents.
struct DmaMove {
  isa::Descriptor near, far;
  /// What of the far side exists, if there are windows.
  bool windows = false;
  std::array<int64_t, 3> origin{}, size{};
  bool transpose = false, convert = false, posted = false;
  /// Of a gather or scatter: rows of the far side, 4 bytes each in the
  /// scratchpad.
  std::vector<int32_t> indices;
  uint64_t indexBase = 0;

  /// Its elements one by one.
  DmaJob job() const;
};

/// A memory, or another core, that answers a burst `latency` cycles after its
/// issue at the earliest, and one every `spacing` cycles.
struct DmaMemory {
  uint64_t latency = 16, spacing = 4;
  /// A store's bursts are written by a core, after a cycle, and answered.
  bool writesAtCore = false;
};

/// What an engine meets outside of its core.
class DmaOutside {
public:
  virtual ~DmaOutside() = default;
  /// Whether its core's port into the network has a place.
  virtual bool takes() = 0;
  /// A burst of a job leaves, of so many bytes on the far side.
  virtual void send(uint64_t burst, size_t job, uint32_t bytes) = 0;
  /// A store's burst is written at another core.
  virtual void written(uint64_t burst, uint32_t core) = 0;
  /// A multicast is complete at a core, and for the engine a job.
  virtual void delivered(size_t job, uint32_t core) = 0;
  virtual void completed(size_t job) = 0;
};

/// Each with the banks to itself.
std::vector<Span> tickLoads(const Architecture &arch, DmaMemory memory,
                            const std::vector<DmaJob> &jobs);
std::vector<Span> tickStores(const Architecture &arch, DmaMemory memory,
                             const std::vector<DmaJob> &jobs);

/// An engine whose accesses meet others' in the banks.
class TickingDma {
public:
  virtual ~TickingDma() = default;
  virtual std::unique_ptr<TickingDma> clone() const = 0;
  virtual bool over() const = 0;
  virtual const std::vector<Span> &results() const = 0;
  /// A new cycle: what comes by itself in it,
  virtual void arrive(uint64_t cycle) = 0;
  /// what comes from outside: a burst to a core, an answer;
  virtual void came(uint64_t burst, uint32_t core) = 0;
  virtual void answered(uint64_t burst) = 0;
  /// and what is complete then.
  virtual void complete() = 0;
  /// When its accesses at a core asked (askedAt) that still wait.
  virtual std::set<uint64_t> ages(uint32_t core = 0) const = 0;
  /// Serves those that asked at `age`.
  virtual void serve(uint64_t age, BusyBanks &busy, uint32_t core = 0) = 0;
  /// What the engine begins in this cycle.
  virtual void step(BusyBanks &busy) = 0;
};
std::unique_ptr<TickingDma> tickingDma(const Architecture &arch,
                                       DmaMemory memory,
                                       const std::vector<DmaJob> &jobs,
                                       bool stores);
/// An engine of one of several cores.
std::unique_ptr<TickingDma> tickingDma(const Architecture &arch, uint32_t core,
                                       DmaOutside &outside,
                                       const std::vector<DmaJob> &jobs,
                                       bool stores);

} // namespace tessera::sim::test

#endif // TESSERA_TEST_UNIT_SIM_TICKINGDMA_H
