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
        network(arch, 0) {
    for (uint32_t c = 0; c < scripts.size(); ++c) {
      cores.emplace_back();
      cores[c].free = scripts[c].start;
      for (bool stores : {false, true})
        engines.emplace_back(*this, c, stores);
      times.emplace_back(scripts[c].steps.size());
    }
    // What the queues will hold, not yet to be seen.
    for (uint32_t c = 0; c < scripts.size(); ++c)
      for (size_t i = 0; i < scripts[c].steps.size(); ++i)
        if (Engine *engine = engineOf(c, scripts[c].steps[i])) {
          engine->steps.push_back(i);
          engine->jobs.push_back(jobOf(scripts[c].steps[i]));
        }
    for (Engine &engine : engines)
      engine.model =
          tickingDma(arch, engine.core, engine, engine.jobs, engine.stores);
  }

  CoreTimes run() {
    for (now = 0; !over() && now < 1'000'000; ++now) {
      std::vector<std::pair<Packet, uint32_t>> came = network.arrive();
      for (Engine &engine : engines)
        engine.model->arrive(now);
      answerReads();
      for (const auto &[packet, endpoint] : came)
        takeBurst(packet, endpoint);
      for (Engine &engine : engines)
        engine.model->complete();
      for (uint32_t c = 0; c < cores.size(); ++c)
        if (cores[c].toSend && cores[c].sendAt == now) {
          signal(c, *cores[c].toSend);
          cores[c].toSend = nullptr;
        }
      for (const auto &[packet, endpoint] : came)
        takeMessage(packet, endpoint);
      std::vector<BusyBanks> busy(cores.size());
      for (uint32_t c = 0; c < cores.size(); ++c)
        serve(c, busy[c]);
      answerWrites();
      for (uint32_t c = 0; c < cores.size(); ++c) {
        stepSequencer(c);
        for (Engine *engine : {&engines[2 * c], &engines[2 * c + 1]})
          engine->model->step(busy[c]);
      }
      network.move();
    }
    EXPECT_TRUE(over()) << "the model did not finish";
    for (const Engine &engine : engines)
      for (size_t j = 0; j < engine.jobs.size(); ++j)
        times[engine.core][engine.steps[j]] = engine.model->results()[j];
    return times;
  }

private:
  struct Engine final : DmaOutside {
    Engine(TickingCores &all, uint32_t core, bool stores)
        : all(all), core(core), stores(stores) {}
    bool takes() override {
      return all.network.queued(core, TrafficClass::Request) <
             all.arch.noc.buffers;
    }
    void send(uint64_t burst, size_t job, uint32_t bytes) override {
      all.sendBurst(*this, burst, job, bytes);
    }
    void written(uint64_t burst, uint32_t at) override {
      answers.push_back({burst, at});
    }
    void delivered(size_t job, uint32_t at) override {
      const CoreStep &s = all.scripts[core].steps[steps[job]];
      all.cores[at].semaphores[s.sem] += s.count;
    }
    void completed(size_t job) override {
      const CoreStep &s = all.scripts[core].steps[steps[job]];
      if (s.kind == Kind::Signal)
        all.signal(core, s);
    }

    TickingCores &all;
    const uint32_t core;
    const bool stores;
    std::vector<size_t> steps; ///< Of each job.
    std::vector<DmaJob> jobs;
    size_t pushed = 0;
    std::vector<std::pair<uint64_t, uint32_t>> answers; ///< By which cores.
    std::unique_ptr<TickingDma> model;
  };
  struct Core {
    size_t next = 0;
    uint64_t free = 0; ///< The sequencer's next instruction not before.
    std::array<uint32_t, 32> semaphores{};
    bool atBarrier = false, released = false;
    const CoreStep *toSend = nullptr; ///< The sequencer's `signal.core`.
    uint64_t sendAt = 0;
  };
  struct Letter {
    enum class Kind { Burst, Answer, Read, Data, Signal, Arrived, Over };
    Kind kind = Kind::Burst;
    Engine *engine = nullptr; ///< Whose burst.
    uint64_t burst = 0;
    const CoreStep *what = nullptr;
    uint32_t bytes = 0;
  };

  Engine *engineOf(uint32_t core, const CoreStep &step) {
    switch (step.unit()) {
    case isa::Queue::Ld:
      return &engines[2 * core];
    case isa::Queue::St:
      return &engines[2 * core + 1];
    default:
      return nullptr;
    }
  }
  DmaJob jobOf(const CoreStep &step) const {
    DmaJob job;
    if (step.kind == Kind::Signal)
      job.isSync = true;
    else
      job = step.move.job();
    if (step.kind == Kind::Store)
      job.cores = {step.core};
    const noc::Rectangle &to = step.cores;
    if (step.isMulticast)
      for (uint32_t y = to.y; y < uint32_t(to.y) + to.height; ++y)
        for (uint32_t x = to.x; x < uint32_t(to.x) + to.width; ++x)
          job.cores.push_back(y * arch.cores.meshX + x);
    job.visible = ~uint64_t(0);
    return job;
  }

  bool over() const {
    for (size_t c = 0; c < cores.size(); ++c)
      if (cores[c].next < scripts[c].steps.size() || cores[c].toSend)
        return false;
    for (const Engine &engine : engines)
      if (!engine.model->over())
        return false;
    return letters.empty();
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
    Letter letter{Letter::Kind::Signal};
    letter.what = &step;
    send(from, step.core, TrafficClass::Request, messageBytes, letter);
  }

  uint32_t memoryNode() const { return uint32_t(cores.size()) + 2; }

  void sendBurst(Engine &engine, uint64_t burst, size_t job, uint32_t bytes) {
    Letter letter{engine.stores ? Letter::Kind::Burst : Letter::Kind::Read};
    letter.engine = &engine;
    letter.burst = burst;
    letter.what = &scripts[engine.core].steps[engine.steps[job]];
    letter.bytes = bytes;
    if (engine.stores)
      send(engine.core, letter.what->core, TrafficClass::Request, bytes,
           letter);
    else
      send(engine.core, memoryNode(), TrafficClass::Request, 0, letter);
  }

  void answerReads() {
    while (!reads.empty() && reads.front().first == now) {
      Letter letter = reads.front().second;
      reads.pop_front();
      letter.kind = Letter::Kind::Data;
      // To many it goes in the virtual channel of endpoint 0.
      uint32_t to = letter.what->isMulticast ? 0 : letter.engine->core;
      send(memoryNode(), to, TrafficClass::Response, letter.bytes, letter,
           letter.what->cores);
    }
  }

  /// In the order of the engines, whoever asked for the banks first.
  void answerWrites() {
    for (Engine &engine : engines) {
      for (auto [burst, at] : engine.answers) {
        Letter letter{Letter::Kind::Answer};
        letter.engine = &engine;
        letter.burst = burst;
        send(at, engine.core, TrafficClass::Response, 0, letter);
      }
      engine.answers.clear();
    }
  }

  /// What an engine moves has come somewhere.
  void takeBurst(const Packet &packet, uint32_t endpoint) {
    Letter letter = letters.at(packet.payload);
    switch (letter.kind) {
    case Letter::Kind::Burst:
    case Letter::Kind::Data:
      opened(packet.payload);
      return letter.engine->model->came(letter.burst, endpoint);
    case Letter::Kind::Answer:
      opened(packet.payload);
      return letter.engine->model->answered(letter.burst);
    case Letter::Kind::Read:
      opened(packet.payload);
      bus = std::max(now + latency, bus + spacing);
      return reads.push_back({bus, letter});
    default:
      return;
    }
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
          0, 0, TrafficClass::Request, messageBytes, {Letter::Kind::Over},
          {0, 0, uint16_t(arch.cores.meshX), uint16_t(arch.cores.meshY)});
    case Letter::Kind::Over:
      opened(packet.payload);
      cores[endpoint].released = true;
      return;
    default:
      return;
    }
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
             {Letter::Kind::Arrived});
      core.atBarrier = true;
      if (!core.released)
        return;
      core.atBarrier = core.released = false;
      break;
    case Kind::Load:
    case Kind::Store:
    case Kind::Signal:
      if (Engine *engine = engineOf(c, step)) {
        engine->jobs[engine->pushed++].visible = now + 1;
      } else {
        core.toSend = &step;
        core.sendAt = now + 1;
      }
      break;
    }
    ++core.next;
    core.free = now + cycles;
  }

  /// Who asked for a core's banks, from wherever, in the order of age.
  void serve(uint32_t c, BusyBanks &busy) {
    std::set<uint64_t> ages;
    for (Engine &engine : engines)
      ages.merge(engine.model->ages(c));
    for (uint64_t age : ages)
      for (Engine &engine : engines)
        engine.model->serve(age, busy, c);
  }

  const Architecture &arch;
  const std::vector<CoreScript> &scripts;
  const uint64_t latency, spacing;
  noc::test::FlitModel network;
  std::vector<Core> cores;
  std::deque<Engine> engines; ///< Load and store of each core.
  CoreTimes times;
  uint64_t now = 0, bus = 0;
  uint64_t nextLetter = 1;
  std::map<uint64_t, Letter> letters;
  std::map<uint64_t, uint32_t> copies;           ///< That have not come yet.
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
