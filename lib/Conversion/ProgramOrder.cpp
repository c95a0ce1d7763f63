//===- ProgramOrder.cpp - Races between queues and cores ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramOrder.h"
#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <map>

using namespace tessera;
using isa::Queue;

void ProgramOrder::begin(uint32_t core, Queue queue, size_t pc) {
  Event event;
  event.core = core;
  event.queue = queue;
  event.pc = uint32_t(pc);
  event.firstWait = waits.size();
  event.firstSignal = signals.size();
  event.firstAccess = accesses.size();
  events.push_back(event);
}

void ProgramOrder::wait(uint32_t semaphore, uint32_t count) {
  waits.push_back({semaphore, count});
}

void ProgramOrder::signal(uint32_t core, uint32_t semaphore, uint32_t count,
                          bool arrival) {
  signals.push_back({core, semaphore, count, arrival});
  hasArrivals |= arrival;
}

static uint64_t hashOf(const isa::Descriptor &td) {
  uint64_t hash = td.base;
  auto add = [&](uint64_t value) { hash = hash * 0x9e3779b97f4a7c15 + value; };
  add(uint64_t(td.space));
  for (unsigned d = 0; d < td.rank; ++d) {
    add(td.extents[d]);
    add(uint64_t(td.strides[d]));
  }
  return hash;
}

void ProgramOrder::access(const OrderedAccess &access) {
  uint64_t hash = hashOf(access.td);
  auto [first, last] = descriptorNumbers.equal_range(hash);
  while (first != last && !(descriptors[first->second] == access.td))
    ++first;
  if (first == last) {
    first = descriptorNumbers.insert({hash, uint32_t(descriptors.size())});
    descriptors.push_back(access.td);
  }
  accesses.push_back({access.core, first->second, access.writes});
}

void ProgramOrder::fence() { events.back().isFence = true; }

void ProgramOrder::barrier() {
  begin(0, Queue::Seq, 0);
  events.back().isBarrier = true;
}

size_t ProgramOrder::width() const {
  return size_t(numCores) * isa::numQueues +
         (hasArrivals ? size_t(numCores) * numCores : 0);
}

std::string ProgramOrder::tooLarge() const {
  constexpr uint64_t most = uint64_t(1) << 29;
  uint64_t work = uint64_t(events.size()) * width();
  return work <= most
             ? ""
             : fmt::format("{} instructions on {} cores are too many to look "
                           "for races",
                           events.size(), numCores);
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

static isa::Descriptor::Range rangeOf(const isa::Descriptor &td) {
  isa::Descriptor::Range range = td.byteRange();
  return {int64_t(td.base) + range.low, int64_t(td.base) + range.high};
}

/// Calls `visit(low, high)` for each element, in whole bytes, until it says
/// false.
template <typename Visit>
static bool forEachElement(const isa::Descriptor &td, Visit visit) {
  std::array<uint32_t, isa::maxRank> index{};
  int64_t bits = bitWidth(td.format);
  while (true) {
    int64_t offset = 0;
    for (unsigned d = 0; d < td.rank; ++d)
      offset += int64_t(index[d]) * td.strides[d];
    int64_t low = int64_t(td.base) * 8 + offset * bits;
    if (!visit(low / 8, (low + bits + 7) / 8))
      return false;
    unsigned d = td.rank;
    while (d > 0 && ++index[d - 1] == td.extents[d - 1])
      index[--d] = 0;
    if (d == 0)
      return true;
  }
}

static uint64_t numElements(const isa::Descriptor &td) {
  uint64_t count = 1;
  for (unsigned d = 0; d < td.rank; ++d)
    count *= td.extents[d];
  return count;
}

/// Whether both touch some byte. Their ranges overlap.
static bool touchSame(const isa::Descriptor &a, const isa::Descriptor &b) {
  isa::Descriptor::Range x = rangeOf(a), y = rangeOf(b);
  int64_t low = std::max(x.low, y.low), high = std::min(x.high, y.high);
  auto isDense = [](const isa::Descriptor &td, isa::Descriptor::Range range) {
    return numElements(td) * bitWidth(td.format) >=
           uint64_t(range.high - range.low) * 8;
  };
  if (isDense(a, x) && isDense(b, y))
    return true;
  std::vector<bool> touched(size_t(high - low));
  auto clamp = [&](int64_t at) {
    return size_t(std::clamp(at, low, high) - low);
  };
  forEachElement(a, [&](int64_t from, int64_t to) {
    for (size_t i = clamp(from); i < clamp(to); ++i)
      touched[i] = true;
    return true;
  });
  return !forEachElement(b, [&](int64_t from, int64_t to) {
    for (size_t i = clamp(from); i < clamp(to); ++i)
      if (touched[i])
        return false;
    return true;
  });
}

//===----------------------------------------------------------------------===//
// Clocks
//===----------------------------------------------------------------------===//

namespace tessera {

/// One way through the events with vector clocks: of every queue how many of
/// its instructions are certain to have completed, and of every two cores how
/// many loads of the one are certain to have arrived at the other.
class OrderPass {
public:
  using Clock = std::vector<uint32_t>;
  /// Signallers that may have given more than assumed before a wait.
  struct Doubt {
    uint32_t count = 0;
    uint32_t signaller = 0; ///< If it is one.
  };

  OrderPass(const ProgramOrder &order, std::vector<Doubt> &doubts)
      : order(order), doubts(doubts),
        clocks(size_t(order.numCores) * isa::numQueues, Clock(order.width())),
        numbers(clocks.size()),
        semaphores(size_t(order.numCores) * isa::maxSemaphores),
        memories(size_t(order.numCores) * 2) {}

  /// The first race; sets `hasNewDoubts`.
  std::optional<ProgramOrder::Race> run();
  bool hasNewDoubts = false;

private:
  struct Signal {
    uint64_t begin; ///< Units given before it.
    uint32_t signaller;
    Clock clock;
  };
  struct Signaller {
    Clock taken;            ///< Of its last signal that a wait took.
    uint32_t waiting = 0;   ///< Signals that no wait has taken.
    size_t waitsBefore = 0; ///< Before its last signal.
  };
  struct Semaphore {
    uint64_t given = 0, taken = 0;
    std::deque<Signal> signals; ///< Not taken.
    std::map<uint32_t, Signaller> signallers;
    std::vector<size_t> waits; ///< So far: place in `doubts`.
    std::vector<uint32_t> waiterNumbers;
    uint32_t waiter = 0; ///< Its queue.
  };
  /// The last access of a queue to some bytes.
  struct Last {
    uint32_t unit, number;
    size_t event;
    bool writes;
  };
  struct Bytes {
    isa::Descriptor td;
    int64_t high;
    std::vector<Last> last;
  };
  struct Memory {
    std::multimap<int64_t, Bytes> bytes; ///< By the first one.
    int64_t longest = 0;
  };

  uint32_t unitOf(const ProgramOrder::Event &event) const {
    return event.core * isa::numQueues + uint32_t(event.queue);
  }
  size_t arrivalAt(uint32_t core, uint32_t from) const {
    return clocks.size() + size_t(core) * order.numCores + from;
  }
  static void join(Clock &into, const Clock &other) {
    for (size_t i = 0; i < other.size(); ++i)
      into[i] = std::max(into[i], other[i]);
  }
  void meet();
  void takeWait(size_t wait, uint32_t unit, uint32_t core, Clock &clock);
  void giveSignal(const ProgramOrder::Signal &signal, uint32_t unit,
                  uint32_t core, const Clock &start);
  void doubt(size_t wait, uint32_t signaller);
  std::optional<ProgramOrder::Race> touch(size_t event, uint32_t unit,
                                          const OrderedAccess &access,
                                          const Clock &clock);
  /// Whether the queue's instruction had started, somebody has seen its effect.
  bool hasStarted(uint32_t unit, uint32_t number, const Clock &clock) const;
  bool isBefore(const Last &earlier, uint32_t core, const Clock &clock) const;

  const ProgramOrder &order;
  std::vector<Doubt> &doubts; ///< Of each wait.
  std::vector<Clock> clocks;  ///< Of each queue's last instruction: its start.
  std::vector<uint32_t> numbers;
  std::vector<Semaphore> semaphores;
  std::vector<Memory> memories; ///< SPM and ACC of each core.
};

} // namespace tessera

void OrderPass::meet() {
  Clock all(order.width());
  for (uint32_t core = 0; core < order.numCores; ++core)
    join(all, clocks[core * isa::numQueues + uint32_t(Queue::Seq)]);
  for (uint32_t core = 0; core < order.numCores; ++core)
    clocks[core * isa::numQueues + uint32_t(Queue::Seq)] = all;
}

void OrderPass::doubt(size_t wait, uint32_t signaller) {
  Doubt &known = doubts[wait];
  if (known.count > 0 && known.signaller == signaller)
    return;
  if (known.count > 1)
    return;
  ++known.count;
  known.signaller = signaller;
  hasNewDoubts = true;
}

void OrderPass::takeWait(size_t wait, uint32_t unit, uint32_t core,
                         Clock &clock) {
  const ProgramOrder::Wait &info = order.waits[wait];
  Semaphore &s = semaphores[core * isa::maxSemaphores + info.semaphore];
  s.taken += info.count;
  while (!s.signals.empty() && s.signals.front().begin < s.taken) {
    Signaller &from = s.signallers[s.signals.front().signaller];
    from.taken = std::move(s.signals.front().clock);
    --from.waiting;
    s.signals.pop_front();
  }
  for (auto &[number, from] : s.signallers)
    if (from.waiting > 0)
      doubt(wait, number);
  s.waiter = unit;
  s.waits.push_back(wait);
  s.waiterNumbers.push_back(numbers[unit]);
  // With one signaller in doubt, the others cannot have made up for it.
  for (auto &[number, from] : s.signallers)
    if (!from.taken.empty() &&
        (doubts[wait].count == 0 ||
         (doubts[wait].count == 1 && doubts[wait].signaller == number)))
      join(clock, from.taken);
}

void OrderPass::giveSignal(const ProgramOrder::Signal &signal, uint32_t unit,
                           uint32_t core, const Clock &start) {
  Semaphore &s =
      semaphores[signal.core * isa::maxSemaphores + signal.semaphore];
  Signal given{s.given, unit, start};
  s.given += signal.count;
  if (signal.arrival) {
    given.clock[unit] = numbers[unit] - 1;
    given.clock[arrivalAt(signal.core, core)] = numbers[unit];
  } else {
    given.clock[unit] = numbers[unit];
  }
  // No wait so far counted on it: does it come after them in every run?
  Signaller &from = s.signallers[unit];
  for (size_t i = from.waitsBefore; i < s.waits.size(); ++i)
    if (!hasStarted(s.waiter, s.waiterNumbers[i], given.clock))
      doubt(s.waits[i], unit);
  from.waitsBefore = s.waits.size();
  ++from.waiting;
  s.signals.push_back(std::move(given));
}

bool OrderPass::hasStarted(uint32_t unit, uint32_t number,
                           const Clock &clock) const {
  if (clock[unit] >= number)
    return true;
  if (!order.hasArrivals || unit % isa::numQueues != uint32_t(Queue::Ld))
    return false;
  for (uint32_t core = 0; core < order.numCores; ++core)
    if (clock[arrivalAt(core, unit / isa::numQueues)] >= number)
      return true;
  return false;
}

bool OrderPass::isBefore(const Last &earlier, uint32_t core,
                         const Clock &clock) const {
  if (clock[earlier.unit] >= earlier.number)
    return true;
  uint32_t from = earlier.unit / isa::numQueues;
  return order.hasArrivals &&
         earlier.unit % isa::numQueues == uint32_t(Queue::Ld) &&
         clock[arrivalAt(core, from)] >= earlier.number;
}

std::optional<ProgramOrder::Race> OrderPass::touch(size_t event, uint32_t unit,
                                                   const OrderedAccess &access,
                                                   const Clock &clock) {
  bool isAcc = access.td.space == isa::Space::Acc;
  Memory &memory = memories[access.core * 2 + isAcc];
  isa::Descriptor::Range range = rangeOf(access.td);
  Bytes *same = nullptr;
  for (auto it = memory.bytes.lower_bound(range.low - memory.longest);
       it != memory.bytes.end() && it->first < range.high; ++it) {
    Bytes &bytes = it->second;
    if (bytes.high <= range.low)
      continue;
    if (bytes.td == access.td)
      same = &bytes;
    for (const Last &last : bytes.last) {
      if (last.unit == unit || (!last.writes && !access.writes) ||
          isBefore(last, access.core, clock) || !touchSame(bytes.td, access.td))
        continue;
      const ProgramOrder::Event &other = order.events[last.event];
      return ProgramOrder::Race{
          order.events[event].core, order.events[event].pc,
          fmt::format(
              "race: {} bytes {} to {} of core {}'s {}, which "
              "instruction {} of core {} {}, and nothing orders the two",
              access.writes ? "writes" : "reads",
              std::max(range.low, it->first),
              std::min(range.high, bytes.high) - 1, access.core,
              isAcc ? "ACC" : "SPM", other.pc, other.core,
              last.writes ? "writes" : "reads")};
    }
  }
  if (!same) {
    auto added = memory.bytes.insert({range.low, {access.td, range.high, {}}});
    same = &added->second;
    memory.longest = std::max(memory.longest, range.high - range.low);
  }
  for (Last &last : same->last)
    if (last.unit == unit && last.writes == access.writes) {
      last.number = numbers[unit];
      last.event = event;
      return std::nullopt;
    }
  same->last.push_back({unit, numbers[unit], event, access.writes});
  return std::nullopt;
}

std::optional<ProgramOrder::Race> OrderPass::run() {
  std::optional<ProgramOrder::Race> race;
  for (size_t i = 0; i < order.events.size(); ++i) {
    const ProgramOrder::Event &event = order.events[i];
    if (event.isBarrier) {
      meet();
      continue;
    }
    uint32_t unit = unitOf(event);
    uint32_t sequencer = event.core * isa::numQueues + uint32_t(Queue::Seq);
    bool isLast = i + 1 == order.events.size();
    auto end = [&](auto member, size_t size) {
      return isLast ? size : size_t(order.events[i + 1].*member);
    };
    Clock &clock = clocks[unit];
    if (unit != sequencer)
      join(clock, clocks[sequencer]);
    ++numbers[unit];
    for (size_t w = event.firstWait,
                e = end(&ProgramOrder::Event::firstWait, order.waits.size());
         w < e; ++w)
      takeWait(w, unit, event.core, clock);
    if (event.isFence) {
      uint32_t store = event.core * isa::numQueues + uint32_t(Queue::St);
      clock[store] = std::max(clock[store], numbers[store]);
    }
    for (size_t
             a = event.firstAccess,
             e = end(&ProgramOrder::Event::firstAccess, order.accesses.size());
         a < e && !race; ++a)
      race = touch(i, unit,
                   {order.accesses[a].core,
                    order.descriptors[order.accesses[a].descriptor],
                    order.accesses[a].writes},
                   clock);
    // The sequencer's instructions are over when they were executed.
    if (unit == sequencer)
      clock[unit] = numbers[unit];
    for (size_t
             s = event.firstSignal,
             e = end(&ProgramOrder::Event::firstSignal, order.signals.size());
         s < e; ++s)
      giveSignal(order.signals[s], unit, event.core, clock);
  }
  return race;
}

std::optional<ProgramOrder::Race> ProgramOrder::findRace() const {
  std::vector<OrderPass::Doubt> doubts(waits.size());
  while (true) {
    OrderPass pass(*this, doubts);
    std::optional<Race> race = pass.run();
    if (!pass.hasNewDoubts)
      return race;
  }
}
