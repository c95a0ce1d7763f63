//===- Litmus.cpp - Litmus tests of the memory model ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Litmus.h"
#include "tessera/Support/Random.h"
#include "tessera/driver/SimDriver.h"
#include "tessera/runtime/AddressSpace.h"
#include "tessera/runtime/Queue.h"
#include <fmt/format.h>
#include <set>

using namespace tessera::runtime;

namespace tessera::litmus {

static Step store(unsigned location, uint32_t value) {
  return {true, location, value, 0};
}
static Step load(unsigned location, unsigned result) {
  return {false, location, 0, result};
}

const std::vector<Shape> &shapes() {
  constexpr unsigned x = 0, y = 1;
  static const std::vector<Shape> all = {
      // Message passing: the flag is seen, the data are not.
      {"MP",
       {{store(x, 1), store(y, 1)}, {load(y, 0), load(x, 1)}},
       2,
       {1, 0},
       false},
      // Store buffering: both loads come before both stores.
      {"SB",
       {{store(x, 1), load(y, 0)}, {store(y, 1), load(x, 1)}},
       2,
       {0, 0},
       false},
      // Load buffering: both stores come before both loads.
      {"LB",
       {{load(x, 0), store(y, 1)}, {load(y, 1), store(x, 1)}},
       2,
       {1, 1},
       false},
      // Independent reads of independent writes: two readers disagree.
      {"IRIW",
       {{store(x, 1)},
        {store(y, 1)},
        {load(x, 0), load(y, 1)},
        {load(y, 2), load(x, 3)}},
       4,
       {1, 0, 1, 0},
       false},
      // Write to read causality, over a third thread.
      {"WRC",
       {{store(x, 1)}, {load(x, 0), store(y, 1)}, {load(y, 1), load(x, 2)}},
       3,
       {1, 1, 0},
       false},
      // Two stores each: both first ones win.
      {"2+2W",
       {{store(x, 1), store(y, 2)}, {store(y, 1), store(x, 2)}},
       0,
       {1, 1},
       true},
  };
  return all;
}

std::string Test::name() const {
  std::string_view scope = agent == Agent::Host        ? "system"
                           : order == Order::Semaphore ? "device"
                           : order == Order::Barrier   ? "queue"
                                                       : "relaxed";
  if (agent == Agent::Host)
    return fmt::format("{}/system/{}", shape->name,
                       order == Order::Relaxed ? "relaxed" : "ordered");
  return fmt::format("{}/{}", shape->name, scope);
}

std::vector<Test> tests() {
  std::vector<Test> all;
  for (const Shape &shape : shapes()) {
    all.push_back({&shape, Order::Relaxed, Agent::Queue});
    all.push_back({&shape, Order::Barrier, Agent::Queue});
    all.push_back({&shape, Order::Semaphore, Agent::Queue});
    all.push_back({&shape, Order::Relaxed, Agent::Host});
    all.push_back({&shape, Order::Semaphore, Agent::Host});
  }
  return all;
}

namespace {

/// Locations and registers are this far apart.
constexpr uint64_t stride = 64;
constexpr uint64_t longestPause = 4000; ///< Cycles.
/// Bytes behind the locations that operations of no meaning fill, to take time.
constexpr uint64_t scratch = 1024, scratchBytes = 32 << 10;

class Schedule {
public:
  Schedule(const Test &test, uint64_t seed)
      : test(test), random(seed ^ 0x11a05) {}

  Result<std::vector<uint32_t>> run(uint64_t seed);

private:
  BufferRange location(unsigned index) { return {memory, index * stride, 4}; }
  BufferRange result(unsigned index) {
    return {memory, (2 + index) * stride, 4};
  }
  Status pause() {
    // Nothing signals it: the wait lets time pass. Often very little.
    uint64_t cycles = random.below(random.below(2) ? 8 : longestPause);
    Status status = never.wait(1, device.afterCycles(cycles));
    return status.code() == StatusCode::DeadlineExceeded ? Status::success()
                                                         : status;
  }
  Status submit(size_t thread);
  Status runHost();

  const Test &test;
  Random random;
  Device device;
  AddressSpace space;
  Buffer memory;
  Semaphore never;
  std::vector<Queue> queues;
  std::vector<Semaphore> orders;
  std::vector<uint32_t> hostResults;
};

} // namespace

Status Schedule::submit(size_t thread) {
  uint64_t done = 0;
  for (const Step &step : test.shape->threads[thread]) {
    SubmitOptions options;
    if (done > 0 && test.order == Order::Barrier)
      options.barrier = true;
    if (test.order == Order::Semaphore) {
      if (done > 0)
        options.wait = {{orders[thread], done}};
      options.signal = {{orders[thread], done + 1}};
    }
    ++done;
    Queue &queue = queues[thread];
    // Something unordered that may come between, and takes its time.
    if (test.order == Order::Relaxed && done > 1)
      TESSERA_RETURN_IF_ERROR(
          queue.fill({memory, scratch, 64 * (1 + random.below(512))}, 0));
    TESSERA_RETURN_IF_ERROR(
        step.store ? queue.fill(location(step.location), step.value, options)
                   : queue.copy(result(step.result), location(step.location),
                                options));
  }
  return Status::success();
}

Status Schedule::runHost() {
  for (const Step &step : test.shape->threads.front()) {
    TESSERA_RETURN_IF_ERROR(pause());
    uint32_t value = step.value;
    uint64_t at = step.location * stride;
    if (step.store) {
      TESSERA_RETURN_IF_ERROR(
          memory.write(at, std::as_bytes(std::span(&value, 1))));
      continue;
    }
    TESSERA_RETURN_IF_ERROR(
        memory.read(at, std::as_writable_bytes(std::span(&value, 1))));
    hostResults[step.result] = value;
  }
  return Status::success();
}

Result<std::vector<uint32_t>> Schedule::run(uint64_t seed) {
  TESSERA_ASSIGN_OR_RETURN(Architecture arch, loadArchitecture("tiny"));
  arch.cp.queues = 4;
  sim::DeviceOptions options;
  options.hostMemoryBytes = 1 << 20;
  options.explore = true;
  options.seed = seed;
  TESSERA_ASSIGN_OR_RETURN(
      device,
      Device::create(std::make_unique<driver::SimDriver>(arch, options)));
  TESSERA_ASSIGN_OR_RETURN(space, AddressSpace::create(device));
  TESSERA_ASSIGN_OR_RETURN(memory, space.allocate(scratch + scratchBytes));
  TESSERA_ASSIGN_OR_RETURN(never, Semaphore::create(device, {true, "never"}));
  std::vector<std::byte> zeros(stride * 8);
  TESSERA_RETURN_IF_ERROR(memory.write(0, zeros));

  const Shape &shape = *test.shape;
  hostResults.resize(shape.results);
  for (size_t i = 0; i < shape.threads.size(); ++i) {
    TESSERA_ASSIGN_OR_RETURN(Queue queue,
                             Queue::create(space, {.packets = 16}));
    queues.push_back(std::move(queue));
    TESSERA_ASSIGN_OR_RETURN(Semaphore order, Semaphore::create(device));
    orders.push_back(std::move(order));
  }
  // In an order of the seed's, with time between.
  std::vector<size_t> order;
  for (size_t i = test.agent == Agent::Host; i < shape.threads.size(); ++i)
    order.insert(order.begin() + random.below(order.size() + 1), i);
  for (size_t thread : order) {
    TESSERA_RETURN_IF_ERROR(submit(thread));
    if (random.below(2))
      TESSERA_RETURN_IF_ERROR(pause());
  }
  if (test.agent == Agent::Host)
    TESSERA_RETURN_IF_ERROR(runHost());
  for (Queue &queue : queues)
    TESSERA_RETURN_IF_ERROR(queue.waitIdle());

  auto word = [&](const BufferRange &range) -> Result<uint32_t> {
    uint32_t value = 0;
    TESSERA_RETURN_IF_ERROR(memory.read(
        range.offset, std::as_writable_bytes(std::span(&value, 1))));
    return value;
  };
  std::vector<uint32_t> outcome(shape.results);
  for (size_t i = 0; i < shape.threads.size(); ++i)
    for (const Step &step : shape.threads[i])
      if (!step.store) {
        if (i == 0 && test.agent == Agent::Host) {
          outcome[step.result] = hostResults[step.result];
          continue;
        }
        TESSERA_ASSIGN_OR_RETURN(outcome[step.result],
                                 word(result(step.result)));
      }
  if (shape.looksAtMemory)
    for (unsigned i : {0, 1}) {
      TESSERA_ASSIGN_OR_RETURN(uint32_t value, word(location(i)));
      outcome.push_back(value);
    }
  return outcome;
}

Result<std::vector<uint32_t>> runSchedule(const Test &test, uint64_t seed) {
  return Schedule(test, seed).run(seed);
}

Findings explore(const Test &test, uint64_t seed, uint64_t count) {
  Findings findings;
  std::set<std::vector<uint32_t>> outcomes;
  for (uint64_t i = 0; i < count && !findings.violation; ++i) {
    ++findings.schedules;
    Result<std::vector<uint32_t>> outcome = runSchedule(test, seed + i);
    if (!outcome) {
      findings.violation = seed + i;
      findings.what = outcome.status().message();
      break;
    }
    outcomes.insert(*outcome);
    if (*outcome != test.shape->weak)
      continue;
    ++findings.weakSeen;
    if (test.weakAllowed())
      continue;
    findings.violation = seed + i;
    findings.what = "the forbidden outcome:";
    for (uint32_t value : *outcome)
      findings.what += fmt::format(" {}", value);
  }
  findings.outcomes = outcomes.size();
  return findings;
}

} // namespace tessera::litmus
