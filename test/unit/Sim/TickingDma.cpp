//===- TickingDma.cpp - A DMA engine, slot by slot --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TickingDma.h"
#include <algorithm>
#include <map>
#include <set>

namespace tessera::sim::test {

namespace {

class TickingEngine {
public:
  TickingEngine(const Architecture &arch, DmaMemory memory,
                const std::vector<DmaJob> &jobs, bool stores)
      : arch(arch), memory(memory), jobs(jobs), stores(stores),
        slotsPerCycle(stores ? arch.dma.storeBursts : arch.dma.loadBursts),
        spans(jobs.size()) {}

  std::vector<Span> run() {
    for (now = 0; completed < jobs.size() && now < 1'000'000; ++now)
      tick();
    return spans;
  }

private:
  struct State {
    std::vector<DmaElement> left; ///< Elements that are moved, in order.
    size_t next = 0;
    uint64_t ahead = 0;     ///< Slots before the first burst.
    uint64_t busySlots = 0; ///< That the last burst still takes.
    uint32_t mostSlots = 1;
    bool hadBursts = false;
  };

  void tick() {
    // What has arrived.
    for (auto it = arrivals.begin(); it != arrivals.end();)
      if (it->first <= now) {
        --inFlight;
        --outstanding[it->second];
        lastArrival[it->second] = now;
        it = arrivals.erase(it);
      } else {
        ++it;
      }
    complete();
    for (uint32_t slot = 0; slot < slotsPerCycle; ++slot)
      if (!spend())
        break;
  }

  /// Spends a slot; false if none can be spent in this cycle any more.
  bool spend() {
    while (true) {
      if (!active) {
        if (started == jobs.size() || jobs[started].visible > now ||
            idleUntil > now)
          return false;
        begin();
      }
      if (state.ahead > 0) {
        if (--state.ahead == 0 && state.left.empty())
          noBursts(now + 1);
        return true;
      }
      if (state.left.empty() && !state.hadBursts) { // nothing at all
        idleUntil = now + 1;
        noBursts(now + 1);
        return false;
      }
      if (state.busySlots > 0) {
        if (--state.busySlots == 0 && state.next == state.left.size()) {
          active = false;
          if (jobs[started - 1].posted)
            ready[started - 1] = now + 1;
        }
        return true;
      }
      if (inFlight == arch.dma.outstanding)
        return false;
      issue();
    }
  }

  void begin() {
    const DmaJob &job = jobs[started];
    spans[started].begin = now;
    state = {};
    uint64_t padding = 0;
    for (const DmaElement &e : job.elements)
      if (e.isOutside)
        padding += stores ? 0 : job.nearBytes;
      else
        state.left.push_back(e);
    if (job.transpose)
      std::sort(state.left.begin(), state.left.end(),
                [](auto &a, auto &b) { return a.far < b.far; });
    for (uint64_t bytes : {padding, uint64_t(job.indices) * 4})
      for (uint64_t i = 0; i < bytes; i += arch.dma.burstBytes)
        ++state.ahead;
    active = true;
    ++started;
  }

  void noBursts(uint64_t at) {
    ready[started - 1] = at;
    active = false;
  }

  void issue() {
    size_t j = started - 1;
    const DmaJob &job = jobs[j];
    std::map<uint64_t, std::set<uint64_t>> words;
    const DmaElement first = state.left[state.next];
    uint64_t block = first.far / arch.dma.burstBytes, count = 0;
    uint64_t wordBytes =
        job.nearIsAcc ? arch.matrix.cols * 4 : arch.spm.bankWidth;
    uint64_t banks = job.nearIsAcc ? arch.acc.banks : arch.spm.banks;
    do {
      uint64_t word = state.left[state.next].near / wordBytes;
      words[word % banks].insert(word);
      ++state.next, ++count;
    } while (state.next < state.left.size() &&
             state.left[state.next].row == first.row &&
             state.left[state.next].far == first.far + count * job.farBytes &&
             state.left[state.next].far / arch.dma.burstBytes == block);
    state.busySlots = 1;
    if (job.nearBytes != job.farBytes)
      while (state.busySlots * arch.dma.burstBytes < count * job.nearBytes)
        ++state.busySlots;
    if (job.transpose)
      for (auto &[bank, inBank] : words)
        state.busySlots = std::max<uint64_t>(state.busySlots, inBank.size());
    state.mostSlots = std::max(state.mostSlots, uint32_t(state.busySlots));
    slotsOf[j] = state.mostSlots;
    state.hadBursts = true;
    ++inFlight;
    ++outstanding[j];
    if (job.withinCore) {
      arrivals.push_back({now + 1, j});
    } else {
      bus = std::max(now + memory.latency, bus + memory.spacing);
      arrivals.push_back({bus, j});
    }
    if (state.next == state.left.size())
      allIssued.insert(j);
  }

  void complete() {
    while (completed < started) {
      size_t j = completed;
      if (!ready.count(j) && !jobs[j].posted && allIssued.count(j) &&
          outstanding[j] == 0) {
        uint64_t cycles = 0; // to be written into the scratchpad
        for (uint64_t slots = 0; !stores && slots < slotsOf[j];
             slots += slotsPerCycle)
          ++cycles;
        ready[j] = lastArrival[j] + cycles;
      }
      if (!ready.count(j) || ready[j] > now)
        return;
      spans[j].end = now;
      ++completed;
    }
  }

  const Architecture &arch;
  const DmaMemory memory;
  const std::vector<DmaJob> &jobs;
  const bool stores;
  const uint32_t slotsPerCycle;
  std::vector<Span> spans;
  uint64_t now = 0, idleUntil = 0;
  size_t started = 0, completed = 0;
  bool active = false; ///< Slots of job started - 1 are to be spent.
  State state;
  uint64_t inFlight = 0, bus = 0;
  std::vector<std::pair<uint64_t, size_t>> arrivals;
  std::map<size_t, uint64_t> outstanding, lastArrival, ready, slotsOf;
  std::set<size_t> allIssued;
};

} // namespace

std::vector<Span> tickLoads(const Architecture &arch, DmaMemory memory,
                            const std::vector<DmaJob> &jobs) {
  return TickingEngine(arch, memory, jobs, false).run();
}

std::vector<Span> tickStores(const Architecture &arch, DmaMemory memory,
                             const std::vector<DmaJob> &jobs) {
  return TickingEngine(arch, memory, jobs, true).run();
}

} // namespace tessera::sim::test
