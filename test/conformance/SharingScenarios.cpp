//===- SharingScenarios.cpp - Queues that compete ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConformanceFixture.h"

using namespace tessera;
using namespace tessera::runtime;

namespace {

class SharingConformance : public Conformance {};

// Eight queues flood; one of lower priority has 100 operations, one of higher
// priority one now and then. All on fewer slots than queues.
TEST_P(SharingConformance, no_starvation_priority) {
  std::vector<Queue> flood;
  auto make = [&](const std::string &label, uint8_t priority) {
    QueueOptions options;
    options.packets = 16;
    options.priority = priority;
    options.label = label;
    Result<Queue> made = Queue::create(space, options);
    EXPECT_OK(made.status());
    return made ? *made : Queue();
  };
  for (int i = 0; i < 8; ++i)
    flood.push_back(make("flood" + std::to_string(i), 8));
  Queue low = make("low", 0), high = make("high", 15);
  Semaphore s = semaphore("S"), t = semaphore("T");
  Buffer a = buffer(256), b = buffer(256), c = buffer(64), d = buffer(64);
  auto topUp = [&] {
    // No more than a ring's worth: an eager device works meanwhile.
    for (Queue &q : flood)
      for (int i = 0; i < 16; ++i)
        if (!q.copy(b, a, {.whenFull = WhenFull::Fail}).ok())
          break;
  };
  topUp();
  // Of the low priority one operation after the other: the next when the last
  // has completed, each time behind a full flood.
  uint64_t most = 0, mostHigh = 0;
  for (uint32_t i = 1; i <= 100; ++i) {
    uint64_t before = 0, after = 0;
    for (Queue &q : flood)
      before += q.completed();
    ASSERT_OK(low.fill(c, i, {.signal = {{s, i}}}));
    if (i % 10 == 0) {
      ASSERT_OK(high.fill(d, i, {.signal = {{t, i}}}));
      ASSERT_OK(t.wait(i));
      for (Queue &q : flood)
        after += q.completed();
      mostHigh = std::max(mostHigh, after - before);
      topUp();
    }
    int rounds = 0;
    while (!s.wait(i, device.afterCycles(20'000)).ok()) {
      topUp();
      ASSERT_LT(++rounds, 1000) << "operation " << i << " starves";
    }
    after = 0;
    for (Queue &q : flood)
      after += q.completed();
    most = std::max(most, after - before);
    topUp();
  }
  // A queue of priority p is passed over at most W + 15 - p times, W the number
  // of others that wait; each time by a batch of at most 15 packets, after what
  // the 4 holders of slots had left.
  constexpr uint64_t batch = 15, holders = 4, others = 9;
  EXPECT_LE(most, batch * (holders + others + 15));
  EXPECT_LE(mostHigh, batch * (holders + others));
  ASSERT_OK(low.waitIdle());
  EXPECT_TRUE(allAre(contents(c), 100));
}

// 64 queues, each a ring of work that hops from queue to queue.
TEST_P(SharingConformance, many_queues_few_slots) {
  constexpr uint32_t count = 64, hops = 6;
  std::vector<Queue> queues;
  std::vector<Semaphore> s;
  std::vector<Buffer> buffers;
  for (uint32_t i = 0; i < count; ++i) {
    queues.push_back(queue("Q" + std::to_string(i), 16));
    s.push_back(semaphore("S" + std::to_string(i)));
    buffers.push_back(buffer(256));
  }
  // Token i starts in buffer i and moves on by 7 at every hop.
  for (uint32_t i = 0; i < count; ++i) {
    ASSERT_OK(queues[i].fill(buffers[i], 1000 + i, {.signal = {{s[i], 1}}}));
    for (uint32_t hop = 1; hop <= hops; ++hop)
      ASSERT_OK(queues[(i + 7 * hop) % count].barrier(
          {.wait = {{s[i], hop}}, .signal = {{s[i], hop + 1}}}));
  }
  for (uint32_t i = 0; i < count; ++i) {
    ASSERT_OK(s[i].wait(hops + 1));
    ASSERT_TRUE(allAre(contents(buffers[i]), 1000 + i));
  }
  for (Queue &q : queues)
    ASSERT_OK(q.waitIdle());
}

// One of them faults: those that depend on it fail, and keep no slot.
TEST_P(SharingConformance, failed_dependents_leave_their_slots) {
  BufferOptions options;
  options.access.write = false;
  Result<Buffer> readOnly = space.allocate(64, options);
  ASSERT_OK(readOnly.status());
  Buffer a = buffer(64);
  Semaphore s = semaphore("S");
  std::vector<Queue> dependents;
  Queue bad = queue("bad");
  ASSERT_OK(bad.fill(*readOnly, 1, {.signal = {{s, 1}}}));
  for (int i = 0; i < 3; ++i) {
    dependents.push_back(queue("dependent" + std::to_string(i)));
    ASSERT_OK(dependents[i].fill(a, 1, {.wait = {{s, 1}}}));
    ASSERT_OK(dependents[i].fill(a, 2));
  }
  EXPECT_ERROR(s.wait(1), PageFault, "'bad'");
  for (Queue &q : dependents)
    EXPECT_ERROR(q.waitIdle(), PageFault, "'S' >= 1, which failed");
  for (int i = 0; i < 4; ++i) {
    Queue q = queue("after");
    ASSERT_OK(q.fill(a, 10 + i));
    ASSERT_OK(q.waitIdle());
    EXPECT_TRUE(allAre(contents(a), 10 + i));
  }
  // They go on.
  ASSERT_OK(dependents[0].fill(a, 20));
  ASSERT_OK(dependents[0].waitIdle());
  EXPECT_TRUE(allAre(contents(a), 20));
}

TESSERA_CONFORMANCE(SharingConformance);

} // namespace
