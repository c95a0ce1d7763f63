//===- TickingCores.cpp - Cores that talk, cycle by cycle ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TickingCores.h"
#include "../Noc/FlitModel.h"
#include <deque>
#include <map>
#include <set>

namespace tessera::sim::test {

namespace {

using Kind = CoreStep::Kind;
using noc::Packet;
using noc::TrafficClass;

/// Bytes of a message between cores.
constexpr uint32_t messageBytes = 8;

class TickingCores {
public:
  TickingCores(const Architecture &arch, const std::vector<CoreScript> &scripts,
               uint64_t latency, uint64_t spacing)
      : arch(arch), scripts(scripts), latency(latency), spacing(spacing),
        network(arch, 1), cores(scripts.size()) {
    for (size_t c = 0; c < cores.size(); ++c) {
      cores[c].free = scripts[c].start;
      cores[c].load.slots = arch.dma.loadBursts;
      cores[c].store.slots = arch.dma.storeBursts;
      times.emplace_back(scripts[c].steps.size());
    }
  }

  CoreTimes run() {
    for (now = 0; !over() && now < 1'000'000; ++now) {
      std::vector<std::pair<Packet, uint32_t>> came = network.arrive();
      answerReads();
      for (const auto &[packet, endpoint] : came)
        takeBurst(packet, endpoint);
      for (uint32_t c = 0; c < cores.size(); ++c) {
        complete(c, cores[c].load);
        complete(c, cores[c].store);
      }
      for (uint32_t c = 0; c < cores.size(); ++c)
        if (cores[c].toSend && cores[c].sendAt == now) {
          signal(c, *cores[c].toSend);
          cores[c].toSend = nullptr;
        }
      for (const auto &[packet, endpoint] : came)
        takeMessage(packet, endpoint);
      for (uint32_t c = 0; c < cores.size(); ++c) {
        stepSequencer(c);
        stepEngine(c, cores[c].load);
        stepEngine(c, cores[c].store);
      }
      network.move();
    }
    EXPECT_TRUE(over()) << "the model did not finish";
    return times;
  }

private:
  /// An instruction in an engine: what of it is under way.
  struct Operation {
    size_t step = 0;
    const CoreStep *what = nullptr;
    std::deque<uint32_t> toIssue; ///< Bytes of each burst.
    uint32_t issued = 0, acknowledged = 0;
    std::map<uint32_t, uint32_t> arrived; ///< Of a multicast, by core.
    std::map<uint32_t, uint64_t> written; ///< When the last is in its memory.
    std::set<uint32_t> told;
    std::optional<uint64_t> ready;
  };
  struct Entry {
    size_t step = 0;
    uint64_t visible = 0;
  };
  struct Engine {
    uint32_t slots = 1;
    std::deque<Entry> queue;
    std::deque<uint64_t> underWay; ///< Numbers of operations, oldest first.
    uint32_t inFlight = 0;
    uint64_t syncUntil = 0;
  };
  struct Core {
    size_t next = 0;
    uint64_t free = 0; ///< The sequencer's next instruction not before.
    std::array<uint32_t, 32> semaphores{};
    bool atBarrier = false, released = false;
    const CoreStep *toSend = nullptr; ///< The sequencer's `signal.core`.
    uint64_t sendAt = 0;
    Engine load, store;
  };
  struct Letter {
    enum class Kind { Burst, Answer, Read, Data, Signal, Arrived, Over };
    Kind kind = Kind::Burst;
    uint64_t operation = 0;
    uint32_t core = 0; ///< The sender.
    const CoreStep *what = nullptr;
    uint32_t bytes = 0;
  };

  bool over() const {
    for (size_t c = 0; c < cores.size(); ++c)
      if (cores[c].next < scripts[c].steps.size() || cores[c].toSend)
        return false;
    return operations.empty() && letters.empty();
  }

  void send(uint32_t from, uint32_t to, TrafficClass traffic, uint32_t bytes,
            Letter letter, noc::Rectangle to_cores = {}) {
    Packet packet;
    packet.source = from;
    packet.destination = to;
    packet.traffic = traffic;
    packet.bytes = bytes;
    packet.cores = to_cores;
    packet.payload = nextLetter++;
    copies[packet.payload] =
        to_cores.empty() ? 1 : uint32_t(to_cores.width) * to_cores.height;
    letters[packet.payload] = letter;
    network.send(packet);
  }
  void opened(uint64_t letter) {
    if (--copies[letter] == 0)
      letters.erase(letter);
  }

  void signal(uint32_t from, const CoreStep &step) {
    send(from, step.core, TrafficClass::Request, messageBytes,
         {Letter::Kind::Signal, 0, from, &step, 0});
  }

  uint32_t memoryNode() const { return uint32_t(cores.size()) + 2; }

  void answerReads() {
    while (!reads.empty() && reads.front().first == now) {
      Letter letter = reads.front().second;
      reads.pop_front();
      letter.kind = Letter::Kind::Data;
      send(memoryNode(), 0, TrafficClass::Response, letter.bytes, letter,
           letter.what->cores);
    }
  }

  /// What an engine moves has come somewhere.
  void takeBurst(const Packet &packet, uint32_t endpoint) {
    Letter letter = letters.at(packet.payload);
    switch (letter.kind) {
    case Letter::Kind::Burst:
      opened(packet.payload);
      letter.kind = Letter::Kind::Answer;
      return send(endpoint, letter.core, TrafficClass::Response, 0, letter);
    case Letter::Kind::Answer: {
      opened(packet.payload);
      --cores[letter.core].store.inFlight;
      Operation &o = operations.at(letter.operation);
      ++o.acknowledged;
      return dropIfOver(letter.operation);
    }
    case Letter::Kind::Read: {
      opened(packet.payload);
      bus = std::max(now + latency, bus + spacing);
      return reads.push_back({bus, letter});
    }
    case Letter::Kind::Data: {
      opened(packet.payload);
      Operation &o = operations.at(letter.operation);
      uint32_t before = slowest(o);
      if (++o.arrived[endpoint] == o.issued && o.toIssue.empty())
        o.written[endpoint] = now + 1;
      cores[letter.core].load.inFlight -= slowest(o) - before;
      return;
    }
    default:
      return;
    }
  }

  static uint32_t slowest(const Operation &o) {
    uint32_t least = ~0u;
    for (auto [core, bursts] : o.arrived)
      least = std::min(least, bursts);
    return least;
  }

  void takeMessage(const Packet &packet, uint32_t endpoint) {
    auto it = letters.find(packet.payload);
    if (it == letters.end())
      return;
    Letter letter = it->second;
    switch (letter.kind) {
    case Letter::Kind::Signal:
      opened(packet.payload);
      cores[endpoint].semaphores[letter.what->sem] += letter.what->count;
      return;
    case Letter::Kind::Arrived:
      opened(packet.payload);
      if (++arrivals < cores.size())
        return;
      arrivals = 0;
      return send(
          0, 0, TrafficClass::Request, messageBytes,
          {Letter::Kind::Over, 0, 0, nullptr, 0},
          {0, 0, uint16_t(arch.cores.meshX), uint16_t(arch.cores.meshY)});
    case Letter::Kind::Over:
      opened(packet.payload);
      cores[endpoint].released = true;
      return;
    default:
      return;
    }
  }

  void complete(uint32_t c, Engine &engine) {
    while (!engine.underWay.empty()) {
      uint64_t number = engine.underWay.front();
      Operation &o = operations.at(number);
      if (o.what->kind == Kind::Multicast) {
        for (auto [core, cycle] : o.written)
          if (cycle <= now && o.told.insert(core).second)
            cores[core].semaphores[o.what->sem] += o.what->count;
        if (o.told.size() == o.arrived.size())
          o.ready = now;
      } else if (o.what->kind == Kind::Store && !o.what->posted &&
                 o.toIssue.empty() && o.acknowledged == o.issued) {
        o.ready = now;
      }
      if (!o.ready || *o.ready > now)
        return;
      times[c][o.step].end = now;
      if (o.what->kind == Kind::Signal)
        signal(c, *o.what);
      engine.underWay.pop_front();
      dropIfOver(number);
    }
  }

  /// A posted store is complete before its bursts are acknowledged.
  void dropIfOver(uint64_t number) {
    auto it = operations.find(number);
    if (it == operations.end())
      return;
    const Operation &o = it->second;
    bool isStore = o.what->kind == Kind::Store;
    if (o.toIssue.empty() && o.ready && *o.ready <= now &&
        (!isStore || o.acknowledged == o.issued) && !isQueued(number))
      operations.erase(it);
  }
  bool isQueued(uint64_t number) const {
    for (const Core &core : cores)
      for (const Engine *engine : {&core.load, &core.store})
        for (uint64_t other : engine->underWay)
          if (other == number)
            return true;
    return false;
  }

  void stepSequencer(uint32_t c) {
    Core &core = cores[c];
    if (core.next == scripts[c].steps.size() || core.free > now)
      return;
    const CoreStep &step = scripts[c].steps[core.next];
    uint64_t cycles = 1;
    switch (step.kind) {
    case Kind::Pause:
      cycles = step.cycles;
      break;
    case Kind::Mark:
      times[c][core.next].begin = now;
      break;
    case Kind::Wait:
      if (core.semaphores[step.sem] < step.count)
        return;
      core.semaphores[step.sem] -= step.count;
      break;
    case Kind::Barrier:
      if (!core.atBarrier)
        send(c, 0, TrafficClass::Request, messageBytes,
             {Letter::Kind::Arrived, 0, c, nullptr, 0});
      core.atBarrier = true;
      if (!core.released)
        return;
      core.atBarrier = core.released = false;
      break;
    case Kind::Store:
    case Kind::Multicast:
    case Kind::Signal:
      if (step.unit() == isa::Queue::Seq) {
        core.toSend = &step;
        core.sendAt = now + 1;
      } else {
        (step.unit() == isa::Queue::Ld ? core.load : core.store)
            .queue.push_back({core.next, now + 1});
      }
      break;
    }
    ++core.next;
    core.free = now + cycles;
  }

  void begin(uint32_t c, Engine &engine) {
    Entry entry = engine.queue.front();
    engine.queue.pop_front();
    times[c][entry.step].begin = now;
    Operation o;
    o.step = entry.step;
    o.what = &scripts[c].steps[entry.step];
    if (o.what->kind == Kind::Signal) {
      o.ready = now + 1;
      engine.syncUntil = now + 1;
    }
    for (uint64_t at = o.what->address, end = at + o.what->bytes; at < end;) {
      uint64_t limit =
          std::min(end, (at / arch.dma.burstBytes + 1) * arch.dma.burstBytes);
      o.toIssue.push_back(uint32_t(limit - at));
      at = limit;
    }
    const noc::Rectangle &to = o.what->cores;
    for (uint32_t y = to.y; y < uint32_t(to.y) + to.height; ++y)
      for (uint32_t x = to.x; x < uint32_t(to.x) + to.width; ++x)
        o.arrived[y * arch.cores.meshX + x] = 0;
    engine.underWay.push_back(nextOperation);
    operations[nextOperation++] = std::move(o);
  }

  void stepEngine(uint32_t c, Engine &engine) {
    for (uint32_t slots = engine.slots; slots > 0;) {
      Operation *last = engine.underWay.empty()
                            ? nullptr
                            : &operations.at(engine.underWay.back());
      if (!last || last->toIssue.empty()) {
        if (engine.queue.empty() || engine.queue.front().visible > now ||
            engine.syncUntil > now)
          return;
        begin(c, engine);
        continue;
      }
      if (engine.inFlight == arch.dma.outstanding)
        return;
      uint32_t bytes = last->toIssue.front();
      last->toIssue.pop_front();
      ++last->issued;
      ++engine.inFlight;
      --slots;
      Letter letter{Letter::Kind::Burst, engine.underWay.back(), c, last->what,
                    bytes};
      if (last->what->kind == Kind::Store) {
        send(c, last->what->core, TrafficClass::Request, bytes, letter);
        if (last->what->posted && last->toIssue.empty())
          last->ready = now + 1;
      } else {
        letter.kind = Letter::Kind::Read;
        send(c, memoryNode(), TrafficClass::Request, 0, letter);
      }
    }
  }

  const Architecture &arch;
  const std::vector<CoreScript> &scripts;
  const uint64_t latency, spacing;
  noc::test::FlitModel network;
  std::vector<Core> cores;
  CoreTimes times;
  uint64_t now = 0, bus = 0;
  uint64_t nextLetter = 1, nextOperation = 1;
  std::map<uint64_t, Letter> letters;
  std::map<uint64_t, uint32_t> copies; ///< That have not come yet.
  std::map<uint64_t, Operation> operations;
  std::deque<std::pair<uint64_t, Letter>> reads; ///< When they are answered.
  size_t arrivals = 0;                           ///< At the barrier.
};

} // namespace

CoreTimes tickCores(const Architecture &arch,
                    const std::vector<CoreScript> &scripts, uint64_t latency,
                    uint64_t spacing) {
  return TickingCores(arch, scripts, latency, spacing).run();
}

} // namespace tessera::sim::test
