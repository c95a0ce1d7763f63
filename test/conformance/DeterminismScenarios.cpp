//===- DeterminismScenarios.cpp - Same seed, same run ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConformanceFixture.h"
#include "TestKernels.h"
#include "tessera/Support/Hash.h"
#include "tessera/Support/Random.h"
#include "tessera/driver/RecordDriver.h"
#include "tessera/driver/SimDriver.h"
#include "tessera/runtime/VirtualThreads.h"
#include <atomic>
#include <set>
#include <thread>

using namespace tessera;
using namespace tessera::runtime;

namespace {

/// Hashes every event.
class TraceHash final : public sim::TraceObserver {
public:
  void event(const sim::TraceEvent &e) override {
    uint64_t words[] = {uint64_t(e.kind),
                        uint64_t(e.engine),
                        e.opcode,
                        e.core,
                        e.pc,
                        e.id,
                        e.value,
                        e.timeFs};
    hash = hashBytes(std::as_bytes(std::span(words)), hash);
    ++count;
    chromeCount += sim::ChromeTraceWriter::keeps(e.kind);
  }
  uint64_t hash = 0, count = 0;
  uint64_t chromeCount = 0; ///< Of the kinds that ChromeTraceWriter keeps.
};

/// What must be equal in equal runs.
struct RunResult {
  uint64_t time = 0, memory = 0, trace = 0, turns = 0;
  bool operator==(const RunResult &) const = default;
};

/// Virtual threads that share two queues and one buffer each; every copy is
/// checked by the thread itself.
void work(Device &device, AddressSpace &space, uint64_t seed, unsigned threads,
          uint64_t &turns) {
  Result<Queue> first = Queue::create(space, {.packets = 16, .label = "Q0"});
  Result<Queue> second = Queue::create(space, {.packets = 16, .label = "Q1"});
  ASSERT_OK(first.status());
  ASSERT_OK(second.status());
  Queue queues[2] = {*first, *second};
  VirtualThreads virtualThreads(device, seed);
  for (unsigned t = 0; t < threads; ++t)
    virtualThreads.add([&, t] {
      Result<Buffer> a = space.allocate(256), b = space.allocate(256);
      Result<Semaphore> s = Semaphore::create(device);
      ASSERT_OK(a.status());
      ASSERT_OK(b.status());
      ASSERT_OK(s.status());
      for (uint32_t i = 1; i <= 10; ++i) {
        uint32_t value = 1000 * t + i;
        ASSERT_OK(
            queues[(t + i) % 2].fill(*a, value, {.signal = {{*s, 2 * i - 1}}}));
        ASSERT_OK(queues[t % 2].copy(
            *b, *a, {.wait = {{*s, 2 * i - 1}}, .signal = {{*s, 2 * i}}}));
        ASSERT_OK(s->wait(2 * i));
        std::vector<uint32_t> words(64);
        ASSERT_OK(b->read(0, std::as_writable_bytes(std::span(words))));
        for (uint32_t word : words)
          ASSERT_EQ(word, value);
      }
    });
  ASSERT_OK(virtualThreads.run());
  turns = virtualThreads.turns();
}

/// More queues than the device has slots, all parked behind one signal of the
/// host: they come to their turns in an order of the runtime's.
void compete(Device &device, AddressSpace &space) {
  Result<Semaphore> go = Semaphore::create(device, {true, "go"});
  Result<Semaphore> done = Semaphore::create(device);
  Result<Buffer> log = space.allocate(8 * 64);
  ASSERT_OK(go.status());
  ASSERT_OK(done.status());
  ASSERT_OK(log.status());
  std::vector<Queue> queues;
  for (uint64_t i = 0; i < 12; ++i) {
    Result<Queue> q = Queue::create(space, {.packets = 16});
    ASSERT_OK(q.status());
    queues.push_back(*q);
    for (uint64_t k = 0; k < 3; ++k)
      ASSERT_OK(q->timestamp({*log, 8 * (3 * i + k), 8}, {.wait = {{*go, 1}}}));
  }
  ASSERT_OK(go->signal(1));
  for (Queue &q : queues)
    ASSERT_OK(q.waitIdle());
}

/// Leaves a heap in which the order of new objects' addresses is random, for as
/// long as the result lives.
std::vector<std::unique_ptr<std::byte[]>> scramble(uint64_t seed) {
  Random random(seed);
  std::vector<std::unique_ptr<std::byte[]>> blocks;
  for (int i = 0; i < 4000; ++i)
    blocks.push_back(
        std::make_unique<std::byte[]>(16 + 16 * random.below(200)));
  for (size_t i = blocks.size() - 1; i > 0; --i)
    std::swap(blocks[i], blocks[random.below(i + 1)]);
  // Every other one of a mixed order goes.
  for (size_t i = 0; i < blocks.size(); i += 2)
    blocks[i].reset();
  return blocks;
}

RunResult runOnSimulator(uint64_t seed, unsigned threads) {
  RunResult run;
  TraceHash trace;
  sim::DeviceOptions options;
  options.hostMemoryBytes = 4 << 20;
  options.explore = true;
  options.seed = seed;
  auto made = std::make_unique<driver::SimDriver>(tinyArchitecture(), options);
  driver::SimDriver *simulator = made.get();
  simulator->device().setTraceObserver(&trace);
  Result<Device> device = Device::create(std::move(made));
  EXPECT_OK(device.status());
  Result<AddressSpace> space = AddressSpace::create(*device);
  EXPECT_OK(space.status());
  work(*device, *space, seed, threads, run.turns);
  compete(*device, *space);
  run.time = device->now();
  run.memory = simulator->device().memoryHash();
  run.trace = trace.hash;
  EXPECT_GT(trace.count, 0u);
  return run;
}

// Same seed, 1 to 4 threads, on a loaded host.
TEST(DeterminismConformance, bit_identical) {
  std::vector<RunResult> alone;
  for (unsigned threads = 1; threads <= 4; ++threads)
    alone.push_back(runOnSimulator(5, threads));
  std::atomic<bool> stop = false;
  std::vector<std::thread> load;
  for (int i = 0; i < 4; ++i)
    load.emplace_back([&] {
      while (!stop)
        std::this_thread::yield();
    });
  for (unsigned threads = 1; threads <= 4; ++threads) {
    // Where objects lie must not matter.
    std::vector<std::unique_ptr<std::byte[]>> kept = scramble(threads);
    EXPECT_EQ(runOnSimulator(5, threads), alone[threads - 1]) << threads;
  }
  // Another seed is another schedule.
  std::set<uint64_t> traces;
  for (uint64_t seed = 1; seed <= 5; ++seed)
    traces.insert(runOnSimulator(seed, 3).trace);
  EXPECT_GT(traces.size(), 1u);
  stop = true;
  for (std::thread &thread : load)
    thread.join();
}

class RecordConformance : public Conformance {};

TEST_P(RecordConformance, record_replay) {
  Architecture arch = tinyArchitecture();
  auto made = std::make_unique<driver::RecordDriver>(
      makeDriver(GetParam(), arch),
      driver::RecordOptions{.threadsTakeTurns = true});
  driver::RecordDriver *recorder = made.get();
  Result<Device> recorded = Device::create(std::move(made));
  ASSERT_OK(recorded.status());
  Result<AddressSpace> context = AddressSpace::create(*recorded);
  ASSERT_OK(context.status());
  uint64_t turns = 0;
  work(*recorded, *context, 3, 2, turns);
  // Faults are part of it.
  Result<Queue> bad = Queue::create(*context, {.packets = 16});
  ASSERT_OK(bad.status());
  std::array<uint8_t, 64> zeros{};
  ASSERT_OK(bad->submitRaw(zeros));
  EXPECT_ERROR(bad->waitIdle(), InvalidArgument, "IllegalPacket");

  driver::Recording recording = recorder->recording();
  std::vector<uint8_t> file = encodeRecording(recording);
  Result<driver::Recording> read = driver::decodeRecording(file);
  ASSERT_OK(read.status());
  Result<driver::ReplayReport> report =
      driver::replay(*read, *makeDriver(GetParam(), arch));
  ASSERT_OK(report.status());
  EXPECT_FALSE(report->divergence) << report->divergence->print();
  EXPECT_EQ(report->operations, recording.operations.size());
  EXPECT_EQ(report->end, recorded->now());

  // A device that comes to something else is caught at the operation.
  size_t at = 0;
  for (size_t i = 0; i < recording.operations.size(); ++i)
    if (recording.operations[i].kind ==
            driver::RecordedOperation::Kind::RegisterRead &&
        i > recording.operations.size() / 2) {
      at = i;
      break;
    }
  ASSERT_GT(at, 0u);
  ++read->operations[at].result;
  report = driver::replay(*read, *makeDriver(GetParam(), arch));
  ASSERT_OK(report.status());
  ASSERT_TRUE(report->divergence);
  EXPECT_EQ(report->divergence->operation, at);

  // What cannot be replayed fails when it is recorded.
  EXPECT_EQ(recorder->save().status().code(), StatusCode::Unsupported);
  driver::RecordDriver strict(makeDriver(GetParam(), arch));
  ASSERT_OK(strict.mmioRead(0).status());
  std::thread second([&] {
    EXPECT_ERROR(strict.mmioRead(0).status(), FailedPrecondition,
                 "virtual threads");
  });
  second.join();
}

TESSERA_CONFORMANCE(RecordConformance);

struct Observed {
  uint64_t time = 0, memory = 0, dispatches = 0, dropped = 0;
};

Observed observe(sim::TraceObserver *observer, bool profile, int runs) {
  Observed observed;
  sim::DeviceOptions options;
  options.hostMemoryBytes = 4 << 20;
  options.profile = profile;
  auto made = std::make_unique<driver::SimDriver>(tinyArchitecture(), options);
  driver::SimDriver *simulator = made.get();
  simulator->device().setTraceObserver(observer);
  Result<Device> device = Device::create(std::move(made));
  Result<AddressSpace> space = AddressSpace::create(*device);
  Result<Queue> q = Queue::create(*space);
  Result<Buffer> a = space->allocate(4096);
  EXPECT_OK(a.status());
  Result<TestKernel> kernel = TestKernel::create(*space, TestKernel::spin(50));
  EXPECT_OK(kernel.status());
  for (int i = 0; i < runs; ++i) {
    EXPECT_OK(q->submitRaw(kernel->packet()));
    EXPECT_OK(q->fill(*a, uint32_t(i), {.barrier = true}));
  }
  EXPECT_OK(q->waitIdle());
  observed.time = device->now();
  observed.memory = simulator->device().memoryHash();
  observed.dispatches = simulator->device().statistics().dispatches.size();
  return observed;
}

// Observers on and off: same outputs and cycles, a record for each dispatch,
// drops counted.
TEST(DeterminismConformance, profiler_inert) {
  constexpr int runs = 20;
  Observed off = observe(nullptr, false, runs);
  TraceHash hash;
  Observed on = observe(&hash, true, runs);
  EXPECT_EQ(on.time, off.time);
  EXPECT_EQ(on.memory, off.memory);
  EXPECT_EQ(off.dispatches, uint64_t(runs));
  EXPECT_EQ(on.dispatches, uint64_t(runs));
  sim::ChromeTraceWriter all(1 << 16), few(10);
  EXPECT_EQ(observe(&all, false, runs).time, off.time);
  EXPECT_EQ(all.dropped(), 0u);
  EXPECT_EQ(observe(&few, false, runs).time, off.time);
  EXPECT_EQ(few.dropped(), hash.chromeCount - 10);
}

} // namespace
