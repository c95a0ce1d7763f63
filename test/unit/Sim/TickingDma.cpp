//===- TickingDma.cpp - A DMA engine, slot by slot --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TickingDma.h"
#include <deque>
#include <map>
#include <optional>

namespace tessera::sim::test {

namespace {

class TickingEngine final : public TickingDma {
public:
  TickingEngine(const Architecture &arch, DmaMemory memory,
                const std::vector<DmaJob> &jobs, bool stores, uint32_t self = 0,
                DmaOutside *outside = nullptr)
      : arch(arch), memory(memory), jobs(jobs), stores(stores), self(self),
        outside(outside),
        slotsPerCycle(stores ? arch.dma.storeBursts : arch.dma.loadBursts),
        spans(jobs.size()), state(jobs.size()) {}

  std::unique_ptr<TickingDma> clone() const override {
    return std::make_unique<TickingEngine>(*this);
  }
  bool over() const override { return numComplete == jobs.size(); }
  const std::vector<Span> &results() const override { return spans; }
  void arrive(uint64_t cycle) override;
  void came(uint64_t burst, uint32_t core) override;
  void answered(uint64_t burst) override;
  void complete() override;
  std::set<uint64_t> ages(uint32_t core) const override;
  void serve(uint64_t age, BusyBanks &busy, uint32_t core) override;
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
    std::optional<uint64_t> first = {}; ///< The cycle in which it began.
    std::vector<WordsToServe> rest = {};
    uint32_t core = 0;  ///< In whose banks.
    uint64_t burst = 0; ///< Number.
  };
  /// A core that a multicast goes to.
  struct Target {
    bool padded = false, told = false;
    uint64_t bursts = 0; ///< That are written there.
    uint64_t end = 0;    ///< By then all that has come is.
  };
  struct UnderWay {
    size_t job = 0;
    Access write;
    size_t copies = 1; ///< That are not over.
  };
  struct State {
    std::vector<DmaElement> left; ///< Elements that are moved, in order.
    size_t next = 0;
    std::deque<std::pair<Kind, WordsToServe>> ahead;
    uint64_t outstanding = 0;
    uint64_t written = 0; ///< By then what has come is written.
    uint64_t known = 0;   ///< By then the indices are read.
    uint64_t sent = 0;
    bool allSent = false;
    std::map<uint32_t, Target> targets;
    std::optional<uint64_t> slotsEnd; ///< Of a job without bursts.
    std::optional<uint64_t> ready;
  };
  struct Arrival {
    uint64_t at, burst;
    bool isAnswer = false;
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
  bool waits(size_t job, Kind kind, uint32_t core) const {
    for (const Access &a : waiting)
      if (a.job == job && a.kind == kind && a.core == core)
        return true;
    return false;
  }
  /// Of the current job.
  bool indicesKnown() const {
    return !waits(started - 1, Kind::Index, self) &&
           state[started - 1].known <= now + (usedSlots > 0);
  }
  void begin();
  /// Takes the next burst of the current job.
  void cut();
  void moveAhead(BusyBanks &busy);
  bool tryAccess(Access &access, BusyBanks &busy);
  void finished(Access &access);
  void over(uint64_t burst);
  void padAt(size_t job, uint32_t core);
  void send();

  const Architecture &arch;
  const DmaMemory memory;
  const std::vector<DmaJob> &jobs;
  const bool stores;
  const uint32_t self; ///< Its core.
  DmaOutside *const outside;
  const uint32_t slotsPerCycle;
  std::vector<Span> spans;
  std::vector<State> state;
  uint64_t now = 0, idleUntil = 0;
  size_t started = 0, numComplete = 0;
  bool active = false; ///< Job started - 1 has something to begin.
  uint64_t available = 0, usedSlots = 0, debt = 0; ///< Slots.
  /// The next burst: where it goes, and its words at the source.
  std::optional<Access> burst;
  uint32_t burstBytes = 0;
  std::optional<WordsToServe> source;
  bool isRead = false, asked = false;
  uint64_t inFlight = 0, bus = 0;
  std::vector<Arrival> arrivals;
  std::map<uint64_t, UnderWay> underWay;
  uint64_t nextBurst = 0;
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
    Arrival a = arrivals[i];
    arrivals.erase(arrivals.begin() + long(i));
    if (a.isAnswer)
      answered(a.burst);
    else
      came(a.burst, self);
  }
}

void TickingEngine::came(uint64_t number, uint32_t core) {
  Access write = underWay.at(number).write;
  const DmaJob &job = jobs[write.job];
  if (!stores && !job.cores.empty() && !state[write.job].targets[core].padded)
    padAt(write.job, core);
  write.age = askedAt(now, job.withinCore ? Asks::IsCopied : Asks::Comes);
  write.core = core;
  write.burst = number;
  waiting.push_back(std::move(write));
}

/// The padding first, a piece after the other.
void TickingEngine::padAt(size_t j, uint32_t core) {
  const DmaJob &job = jobs[j];
  state[j].targets[core].padded = true;
  Access padding{Kind::Padding, j, askedAt(now, Asks::Comes),
                 WordsToServe(arch)};
  padding.core = core;
  uint64_t inPiece = 0;
  for (const DmaElement &e : job.elements)
    if (e.isOutside) {
      if (inPiece == 0)
        padding.rest.emplace_back(arch);
      padding.rest.back().add(e.near, job.nearBytes * 8);
      inPiece = (inPiece + 1) % (arch.dma.burstBytes / job.nearBytes);
    }
  if (padding.rest.empty())
    return;
  padding.words = padding.rest.front();
  padding.rest.erase(padding.rest.begin());
  waiting.push_back(std::move(padding));
}

void TickingEngine::answered(uint64_t number) {
  State &s = state[underWay.at(number).job];
  over(number);
  if (s.outstanding == 0 && s.allSent && !s.ready)
    s.ready = now;
}

/// A burst, or a copy of it, needs nothing more.
void TickingEngine::over(uint64_t number) {
  UnderWay &burst = underWay.at(number);
  if (--burst.copies > 0)
    return;
  --inFlight;
  --state[burst.job].outstanding;
  underWay.erase(number);
}

void TickingEngine::complete() {
  for (size_t j = numComplete; j < started; ++j)
    if (State &s = state[j];
        !s.ready && s.targets.empty() && !waits(j, Kind::Padding, self)) {
      if (s.slotsEnd)
        s.ready = std::max({spans[j].begin + 1, *s.slotsEnd, s.written});
      else if (!stores && s.allSent && s.outstanding == 0)
        s.ready = s.written;
    }
  for (; numComplete < started; ++numComplete) {
    State &s = state[numComplete];
    bool all = !s.targets.empty();
    for (auto &[core, t] : s.targets) {
      if (!t.told && s.allSent && t.bursts == s.sent && t.end <= now &&
          !waits(numComplete, Kind::Padding, core)) {
        t.told = true;
        if (outside)
          outside->delivered(numComplete, core);
      }
      all &= t.told;
    }
    if (all)
      s.ready = now;
    if (!s.ready || *s.ready > now)
      return;
    spans[numComplete].end = now;
    if (outside)
      outside->completed(numComplete);
  }
}

std::set<uint64_t> TickingEngine::ages(uint32_t core) const {
  std::set<uint64_t> all;
  for (const Access &a : waiting)
    if (a.core == core)
      all.insert(a.age);
  if (core == self && active && !state[started - 1].ahead.empty())
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
    if (s.targets.empty())
      s.written = std::max(s.written, now + 1);
    else
      s.targets.at(access.core).end = now + 1;
    break;
  case Kind::Read:
    isRead = true;
    break;
  case Kind::WriteAtCore:
    if (outside)
      outside->written(access.burst, access.core);
    else // its answer takes a cycle
      arrivals.push_back({now + 1, access.burst, true});
    break;
  case Kind::Write: {
    uint64_t end =
        std::max(now + 1, *access.first + (access.slots + slotsPerCycle - 1) /
                                              slotsPerCycle);
    if (s.targets.empty()) {
      s.written = std::max(s.written, end);
    } else {
      Target &t = s.targets.at(access.core);
      ++t.bursts;
      t.end = std::max(t.end, end);
    }
    over(access.burst);
    break;
  }
  }
}

void TickingEngine::serve(uint64_t age, BusyBanks &busy, uint32_t core) {
  for (Access &a : waiting)
    if (a.core == core && a.age == age && a.words.cyclesLeft() > 0)
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
  if (core == self && active &&
      askedAt(spans[started - 1].begin, Asks::Begins) == age)
    moveAhead(busy);
}

void TickingEngine::moveAhead(BusyBanks &busy) {
  State &s = state[started - 1];
  while (!s.ahead.empty() && available > 0) {
    auto &[kind, words] = s.ahead.front();
    if (kind == Kind::Padding && !indicesKnown())
      return;
    if (!s.targets.empty()) { // each core writes its own
      take(1);
      s.ahead.pop_front();
      continue;
    }
    Access access{kind, started - 1,
                  askedAt(spans[started - 1].begin, Asks::Begins), words,
                  words.cyclesLeft()};
    access.core = self;
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
  if (job.isSync) {
    s.ready = idleUntil = now + 1;
    return;
  }
  active = true;
  if (!stores)
    for (uint32_t core : job.cores)
      s.targets[core];
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
  burst = Access{stores ? Kind::WriteAtCore : Kind::Write, j, 0,
                 stores ? far : words, slots};
  burstBytes = uint32_t(count * job.farBytes);
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
      if (!active)
        continue;
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
      Access read{Kind::Read, started - 1, askedAt(now, Asks::Begins), *source,
                  burst->slots};
      read.core = self;
      tryAccess(read, busy);
      if (read.words.cyclesLeft() > 0)
        waiting.push_back(std::move(read));
    }
    if (stores || job.withinCore) {
      if (!isRead)
        return;
    }
    if (outside && !job.withinCore && !outside->takes())
      return;
    if (!stores && !job.withinCore)
      take(burst->slots);
    else if (usedSlots == 0)
      take(1);
    send();
  }
}

void TickingEngine::send() {
  size_t j = started - 1;
  State &s = state[j];
  const DmaJob &job = jobs[j];
  ++inFlight;
  ++s.outstanding;
  ++s.sent;
  uint64_t number = nextBurst++;
  underWay.emplace(number, UnderWay{j, std::move(*burst),
                                    std::max<size_t>(1, s.targets.size())});
  if (job.withinCore) {
    arrivals.push_back({now + 1, number});
  } else if (outside) {
    outside->send(number, j, burstBytes);
  } else if (stores && memory.writesAtCore) {
    arrivals.push_back({now + 1, number});
  } else {
    bus = std::max(now + memory.latency, bus + memory.spacing);
    arrivals.push_back({bus, number, stores});
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
    engine.complete();
    for (uint64_t age : engine.ages(0))
      engine.serve(age, busy, 0);
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

std::unique_ptr<TickingDma> tickingDma(const Architecture &arch, uint32_t core,
                                       DmaOutside &outside,
                                       const std::vector<DmaJob> &jobs,
                                       bool stores) {
  return std::make_unique<TickingEngine>(arch, DmaMemory(), jobs, stores, core,
                                         &outside);
}

DmaJob DmaMove::job() const {
  DmaJob job;
  job.farBytes = bitWidth(far.format) / 8;
  job.nearBytes = bitWidth(near.format) / 8;
  job.transpose = transpose;
  job.withinCore = far.space == isa::Space::Spm;
  job.nearIsAcc = near.space == isa::Space::Acc;
  job.posted = posted;
  job.indices = uint32_t(indices.size());
  job.indexBase = indexBase;
  std::array<uint32_t, 3> extents = {1, 1, 1};
  std::copy_n(near.extents.begin(), near.rank, extents.begin());
  for (uint32_t i = 0; i < extents[0]; ++i)
    for (uint32_t j = 0; j < extents[1]; ++j)
      for (uint32_t l = 0; l < extents[2]; ++l) {
        std::array<int64_t, 3> at = {i, j, l}, from = at;
        DmaElement element;
        // A base names a core in its upper half.
        element.far = isa::offsetOfBase(far.base), element.near = near.base;
        if (far.space != isa::Space::Core)
          element.far = far.base;
        for (unsigned d = 0; d < near.rank; ++d) {
          if (!indices.empty() && d == 0) {
            from[0] = indices[i];
            element.row = i;
            element.isOutside = from[0] < 0 || from[0] >= far.extents[0];
          }
          if (windows) {
            from[d] += origin[d];
            element.isOutside |= from[d] < 0 || from[d] >= size[d];
          }
          element.far += uint64_t(from[d] * far.strides[d]) * job.farBytes;
          element.near += uint64_t(at[d] * near.strides[d]) * job.nearBytes;
        }
        job.elements.push_back(element);
      }
  return job;
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
