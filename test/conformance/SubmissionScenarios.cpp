//===- SubmissionScenarios.cpp - Rings, publication, threads -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConformanceFixture.h"
#include <thread>

using namespace tessera;
using namespace tessera::runtime;

namespace {

class SubmissionConformance : public Conformance {};

TEST_P(SubmissionConformance, ring_full) {
  Queue q = queue("small", 4);
  Buffer a = buffer(64);
  Semaphore go = semaphore("go", true);
  for (uint32_t i = 1; i <= 3; ++i)
    ASSERT_OK(q.fill(a, i, {.wait = {{go, 1}}, .barrier = true}));
  EXPECT_ERROR(q.fill(a, 9, {.whenFull = WhenFull::Fail}), ResourceExhausted,
               "room for 0 of 3");
  EXPECT_EQ(q.submitted(), 3u);
  // A batch that could never fit is refused, also when there is room.
  SubmitOptions wide;
  std::vector<Semaphore> signals;
  for (int i = 0; i < 5; ++i)
    signals.push_back(semaphore("S" + std::to_string(i)));
  for (Semaphore &s : signals)
    wide.signal.push_back({s, 1});
  EXPECT_ERROR(q.fill(a, 9, wide), InvalidArgument, "needs 5 packets");
  // A blocking submission waits for room, and goes on when the stall is gone.
  std::thread host([&] { EXPECT_OK(go.signal(1)); });
  ASSERT_OK(q.fill(a, 3, {.barrier = true}));
  host.join();
  for (uint32_t i = 4; i <= 20; ++i)
    ASSERT_OK(q.fill(a, i, {.barrier = true}));
  ASSERT_OK(q.waitIdle());
  EXPECT_EQ(q.completed(), 21u);
  EXPECT_TRUE(allAre(contents(a), 20));

  // Where nobody can make room, that is said.
  Semaphore never = semaphore("never");
  for (uint32_t i = 1; i <= 3; ++i)
    ASSERT_OK(q.fill(a, i, {.wait = {{never, 1}}, .label = "stuck"}));
  EXPECT_ERROR(q.fill(a, 9), Deadlock, "'never' >= 1, which nothing in flight");
}

// Ring indices many times around, ids across 2^32.
TEST_P(SubmissionConformance, wrap_everything) {
  QueueOptions options;
  options.packets = 4;
  options.firstId = 0xfffffff0;
  Result<Queue> q = Queue::create(space, options);
  ASSERT_OK(q.status());
  Semaphore s = semaphore();
  Buffer a = buffer(64), b = buffer(64);
  for (uint32_t i = 1; i <= 200; ++i) {
    ASSERT_OK(q->fill(a, i));
    ASSERT_OK(q->copy(b, a, {.signal = {{s, i}}, .barrier = true}));
    if (i % 7 == 0) {
      ASSERT_OK(s.wait(i));
      ASSERT_TRUE(allAre(contents(b), i));
    } else {
      // The next fill must not overtake this copy.
      ASSERT_OK(q->barrier());
    }
  }
  ASSERT_OK(q->waitIdle());
  EXPECT_TRUE(allAre(contents(b), 200));
}

// Threads share queues; each waits for its own work while others submit.
TEST_P(SubmissionConformance, many_threads) {
  Queue queues[2] = {queue("Q0", 16), queue("Q1", 16)};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Semaphore s = semaphore("S" + std::to_string(t));
      Buffer a = buffer(256), b = buffer(256);
      for (uint32_t i = 1; i <= 30; ++i) {
        ASSERT_OK(
            queues[t % 2].fill(a, 100 * t + i, {.signal = {{s, 2 * i - 1}}}));
        ASSERT_OK(queues[i % 2].copy(
            b, a, {.wait = {{s, 2 * i - 1}}, .signal = {{s, 2 * i}}}));
        ASSERT_OK(s.wait(2 * i));
        ASSERT_TRUE(allAre(contents(b), 100 * t + i));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (Queue &q : queues) {
    EXPECT_OK(q.waitIdle());
    EXPECT_EQ(q.completed(), 120u);
  }
}

TESSERA_CONFORMANCE(SubmissionConformance);

} // namespace
