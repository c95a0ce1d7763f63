//===- TickingDma.cpp - A DMA engine, slot by slot --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TickingDma.h"
#include <deque>
#include <optional>

namespace tessera::sim::test {

namespace {

class TickingEngine final : public TickingDma {
public:
  TickingEngine(const Architecture &arch, DmaMemory memory,
                const std::vector<DmaJob> &jobs, bool stores)
      : arch(arch), memory(memory), jobs(jobs), stores(stores),
        slotsPerCycle(stores ? arch.dma.storeBursts : arch.dma.loadBursts),
        spans(jobs.size()), state(jobs.size()) {}

  std::unique_ptr<TickingDma> clone() const override {
    return std::make_unique<TickingEngine>(*this);
  }
  bool over() const override { return completed == jobs.size(); }
  const std::vector<Span> &results() const override { return spans; }
  void arrive(uint64_t cycle) override;
  std::set<uint64_t> ages() const override;
  void serve(uint64_t age, BusyBanks &busy) override;
  void step(BusyBanks &busy) override;

private:
  enum class Kind { Index, Padding, Read, Write, WriteAtCore };
  /// Words that have asked; then pieces that follow one after the other.
  struct Access {
    Kind kind = Kind::Write;
    size_t job = 0;
    uint64_t age = 0;
    WordsToServe words;
    uint64_t slots = 1;
    std::optional<uint64_t> first; ///< The cycle in which it began.
    std::vector<WordsToServe> rest;
  };
  struct State {
    std::vector<DmaElement> left; ///< Elements that are moved, in order.
    size_t next = 0;
    std::deque<std::pair<Kind, WordsToServe>> ahead;
    uint64_t outstanding = 0;
    uint64_t written = 0; ///< By then what has come is written.
    uint64_t known = 0;   ///< By then the indices are read.
    bool allSent = false, padded = false;
    std::optional<uint64_t> slotsEnd; ///< Of a job without bursts.
    std::optional<uint64_t> ready;
  };
  struct Arrival {
    uint64_t at;
    size_t job;
    std::optional<Access> write; ///< Else it is acknowledged.
  };

  WordsToServe near(const DmaJob &job) const {
    return job.nearIsAcc ? WordsToServe::accRead(arch) : WordsToServe(arch);
  }
  void take(uint64_t slots) {
    uint64_t now = std::min(slots, available);
    available -= now;
    usedSlots += now;
    debt += slots - now;
  }
  uint64_t afterSlots() const {
    return now + (usedSlots > 0) + (debt + slotsPerCycle - 1) / slotsPerCycle;
  }
  bool waits(size_t job, Kind kind) const {
    for (const Access &a : waiting)
      if (a.job == job && a.kind == kind)
        return true;
    return false;
  }
  /// Of the current job.
  bool indicesKnown() const {
    return !waits(started - 1, Kind::Index) &&
           state[started - 1].known <= now + (usedSlots > 0);
  }
  void begin();
  /// Takes the next burst of the current job.
  void cut();
  void moveAhead(BusyBanks &busy);
  bool tryAccess(Access &access, BusyBanks &busy);
  void finished(Access &access);
  void send();

  const Architecture &arch;
  const DmaMemory memory;
  const std::vector<DmaJob> &jobs;
  const bool stores;
  const uint32_t slotsPerCycle;
  std::vector<Span> spans;
  std::vector<State> state;
  uint64_t now = 0, idleUntil = 0;
  size_t started = 0, completed = 0;
  bool active = false; ///< Job started - 1 has something to begin.
  uint64_t available = 0, usedSlots = 0, debt = 0; ///< Slots.
  /// The next burst: where it goes, and its words at the source.
  std::optional<Access> burst;
  std::optional<WordsToServe> source;
  bool isRead = false, asked = false;
  uint64_t inFlight = 0, bus = 0;
  std::vector<Arrival> arrivals;
  std::deque<Access> waiting; ///< In the order in which they asked.
};

void TickingEngine::arrive(uint64_t cycle) {
  now = cycle;
  available = slotsPerCycle;
  usedSlots = std::min<uint64_t>(debt, available);
  available -= usedSlots;
  debt -= usedSlots;
  for (size_t i = 0; i < arrivals.size();) {
    if (arrivals[i].at > now) {
      ++i;
      continue;
    }
    Arrival a = std::move(arrivals[i]);
    arrivals.erase(arrivals.begin() + long(i));
    State &s = state[a.job];
    if (!a.write) {
      --inFlight;
      if (--s.outstanding == 0 && s.allSent && !s.ready)
        s.ready = now;
      continue;
    }
    const DmaJob &job = jobs[a.job];
    if (job.multicast && !s.padded) {
      // The padding first, a piece after the other.
      s.padded = true;
      Access padding{Kind::Padding,
                     a.job,
                     askedAt(now, Asks::Comes),
                     WordsToServe(arch),
                     1,
                     {},
                     {}};
      uint64_t inPiece = 0;
      for (const DmaElement &e : job.elements)
        if (e.isOutside) {
          if (inPiece == 0)
            padding.rest.emplace_back(arch);
          padding.rest.back().add(e.near, job.nearBytes * 8);
          inPiece = (inPiece + 1) % (arch.dma.burstBytes / job.nearBytes);
        }
      if (!padding.rest.empty()) {
        padding.words = padding.rest.front();
        padding.rest.erase(padding.rest.begin());
        waiting.push_back(std::move(padding));
      }
    }
    a.write->age = askedAt(now, job.withinCore ? Asks::IsCopied : Asks::Comes);
    waiting.push_back(std::move(*a.write));
  }
  for (size_t j = completed; j < started; ++j)
    if (State &s = state[j]; !s.ready && !waits(j, Kind::Padding)) {
      if (s.slotsEnd)
        s.ready = std::max({spans[j].begin + 1, *s.slotsEnd, s.written});
      else if (!stores && s.allSent && s.outstanding == 0)
        s.ready = s.written;
    }
  while (completed < started && state[completed].ready &&
         *state[completed].ready <= now)
    spans[completed++].end = now;
}

std::set<uint64_t> TickingEngine::ages() const {
  std::set<uint64_t> all;
  for (const Access &a : waiting)
    all.insert(a.age);
  if (active && !state[started - 1].ahead.empty())
    all.insert(askedAt(spans[started - 1].begin, Asks::Begins));
  return all;
}

bool TickingEngine::tryAccess(Access &access, BusyBanks &busy) {
  if (!access.words.serve(busy))
    return false;
  if (!access.first) {
    access.first = now;
    if (access.kind == Kind::Read)
      take(access.slots);
  }
  if (access.words.cyclesLeft() == 0)
    finished(access);
  return true;
}

void TickingEngine::finished(Access &access) {
  State &s = state[access.job];
  switch (access.kind) {
  case Kind::Index:
    s.known = std::max(s.known, now + 1);
    break;
  case Kind::Padding:
    s.written = std::max(s.written, now + 1);
    break;
  case Kind::Read:
    isRead = true;
    break;
  case Kind::WriteAtCore: // whose answer takes a cycle
    arrivals.push_back({now + 1, access.job, {}});
    break;
  case Kind::Write:
    s.written = std::max(
        {s.written, now + 1,
         *access.first + (access.slots + slotsPerCycle - 1) / slotsPerCycle});
    --inFlight;
    --s.outstanding;
    break;
  }
}

void TickingEngine::serve(uint64_t age, BusyBanks &busy) {
  for (Access &a : waiting)
    if (a.age == age && a.words.cyclesLeft() > 0)
      tryAccess(a, busy);
  for (size_t i = 0; i < waiting.size();)
    if (waiting[i].words.cyclesLeft() > 0) {
      ++i;
    } else if (!waiting[i].rest.empty()) { // from the next cycle on
      waiting[i].words = waiting[i].rest.front();
      waiting[i].rest.erase(waiting[i].rest.begin());
      ++i;
    } else {
      waiting.erase(waiting.begin() + long(i));
    }
  if (active && askedAt(spans[started - 1].begin, Asks::Begins) == age)
    moveAhead(busy);
}

void TickingEngine::moveAhead(BusyBanks &busy) {
  State &s = state[started - 1];
  const DmaJob &job = jobs[started - 1];
  while (!s.ahead.empty() && available > 0) {
    auto &[kind, words] = s.ahead.front();
    if (kind == Kind::Padding && !indicesKnown())
      return;
    if (job.multicast) { // each core writes its own
      take(1);
      s.ahead.pop_front();
      continue;
    }
    Access access{kind,
                  started - 1,
                  askedAt(spans[started - 1].begin, Asks::Begins),
                  words,
                  words.cyclesLeft(),
                  {},
                  {}};
    if (!tryAccess(access, busy))
      return;
    take(access.slots);
    s.ahead.pop_front();
    if (access.words.cyclesLeft() > 0)
      waiting.push_back(std::move(access));
  }
}

void TickingEngine::begin() {
  const DmaJob &job = jobs[started];
  State &s = state[started];
  spans[started].begin = now;
  ++started;
  active = true;
  auto pieces = [&](Kind kind, uint64_t perPiece, uint64_t bits,
                    const std::vector<uint64_t> &addresses) {
    for (size_t i = 0; i < addresses.size(); ++i) {
      if (i % perPiece == 0)
        s.ahead.emplace_back(kind, WordsToServe(arch));
      s.ahead.back().second.add(addresses[i], bits);
    }
  };
  std::vector<uint64_t> indices, padding;
  for (uint32_t i = 0; i < job.indices; ++i)
    indices.push_back(job.indexBase + 4 * i);
  for (const DmaElement &e : job.elements)
    if (!e.isOutside)
      s.left.push_back(e);
    else if (!stores)
      padding.push_back(e.near);
  pieces(Kind::Index, arch.dma.burstBytes / 4, 32, indices);
  pieces(Kind::Padding, arch.dma.burstBytes / job.nearBytes, job.nearBytes * 8,
         padding);
  if (job.transpose)
    std::sort(s.left.begin(), s.left.end(),
              [](auto &a, auto &b) { return a.far < b.far; });
  idleUntil = s.ahead.empty() && s.left.empty() ? now + 1 : 0;
}

void TickingEngine::cut() {
  size_t j = started - 1;
  State &s = state[j];
  const DmaJob &job = jobs[j];
  WordsToServe far(arch), words = near(job);
  const DmaElement first = s.left[s.next];
  uint64_t block = first.far / arch.dma.burstBytes, count = 0;
  do {
    words.add(s.left[s.next].near, job.nearBytes * 8);
    far.add(s.left[s.next].far, job.farBytes * 8);
    ++s.next, ++count;
  } while (s.next < s.left.size() && s.left[s.next].row == first.row &&
           s.left[s.next].far == first.far + count * job.farBytes &&
           s.left[s.next].far / arch.dma.burstBytes == block);
  uint64_t slots = std::max<uint64_t>(1, words.cyclesLeft());
  if (job.nearBytes != job.farBytes)
    while (slots * arch.dma.burstBytes < count * job.nearBytes)
      ++slots;
  if (job.withinCore)
    slots = std::max<uint64_t>(slots, far.cyclesLeft());
  burst = Access{stores ? Kind::WriteAtCore : Kind::Write,
                 j,
                 0,
                 stores ? far : words,
                 slots,
                 {},
                 {}};
  source = stores ? words : far;
  isRead = asked = false;
}

void TickingEngine::step(BusyBanks &busy) {
  while (true) {
    if (!active) {
      if (started == jobs.size() || jobs[started].visible > now ||
          idleUntil > now || available == 0)
        return;
      begin();
      moveAhead(busy);
    }
    State &s = state[started - 1];
    if (!s.ahead.empty())
      return;
    if (!indicesKnown())
      return;
    if (s.left.empty()) {
      s.slotsEnd = afterSlots();
      active = false;
      continue;
    }
    const DmaJob &job = jobs[started - 1];
    if (inFlight == arch.dma.outstanding)
      return;
    if (!burst) {
      if (available == 0)
        return;
      cut();
    }
    if ((stores || job.withinCore) && !asked) {
      asked = true;
      Access read{Kind::Read, started - 1,  askedAt(now, Asks::Begins),
                  *source,    burst->slots, {},
                  {}};
      tryAccess(read, busy);
      if (read.words.cyclesLeft() > 0)
        waiting.push_back(std::move(read));
    }
    if (stores || job.withinCore) {
      if (!isRead)
        return;
      if (usedSlots == 0)
        take(1);
    } else {
      take(burst->slots);
    }
    send();
  }
}

void TickingEngine::send() {
  size_t j = started - 1;
  State &s = state[j];
  const DmaJob &job = jobs[j];
  ++inFlight;
  ++s.outstanding;
  if (stores && memory.writesAtCore) {
    arrivals.push_back({now + 1, j, std::move(burst)});
  } else {
    std::optional<Access> write;
    if (!stores)
      write = std::move(burst);
    if (job.withinCore) {
      arrivals.push_back({now + 1, j, std::move(write)});
    } else {
      bus = std::max(now + memory.latency, bus + memory.spacing);
      arrivals.push_back({bus, j, std::move(write)});
    }
  }
  burst.reset();
  if (s.next < s.left.size())
    return;
  s.allSent = true;
  active = false;
  if (job.posted)
    s.ready = std::max(now + 1, afterSlots());
}

std::vector<Span> runAlone(TickingEngine engine) {
  for (uint64_t now = 0; !engine.over() && now < 1'000'000; ++now) {
    BusyBanks busy;
    engine.arrive(now);
    for (uint64_t age : engine.ages())
      engine.serve(age, busy);
    engine.step(busy);
  }
  return engine.results();
}

} // namespace

std::unique_ptr<TickingDma> tickingDma(const Architecture &arch,
                                       DmaMemory memory,
                                       const std::vector<DmaJob> &jobs,
                                       bool stores) {
  return std::make_unique<TickingEngine>(arch, memory, jobs, stores);
}

std::vector<Span> tickLoads(const Architecture &arch, DmaMemory memory,
                            const std::vector<DmaJob> &jobs) {
  return runAlone(TickingEngine(arch, memory, jobs, false));
}

std::vector<Span> tickStores(const Architecture &arch, DmaMemory memory,
                             const std::vector<DmaJob> &jobs) {
  return runAlone(TickingEngine(arch, memory, jobs, true));
}

} // namespace tessera::sim::test
