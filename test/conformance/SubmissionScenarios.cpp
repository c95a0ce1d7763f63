//===- SubmissionScenarios.cpp - Rings, publication, threads -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConformanceFixture.h"
#include "tessera/ISA/Mmio.h"
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

// Four threads reserve; the lowest index publishes last.
TEST_P(SubmissionConformance, publication_order) {
  Queue q = queue("Q", 16);
  Buffer a = buffer(64);
  dope(a);
  std::vector<Semaphore> s;
  std::vector<Reservation> reservations;
  for (uint32_t i = 0; i < 4; ++i) {
    s.push_back(semaphore("S" + std::to_string(i)));
    Result<Reservation> made = q.reserve(
        1, {.signal = {{s[i], 1}}, .label = "op" + std::to_string(i)});
    ASSERT_OK(made.status());
    reservations.push_back(std::move(*made));
  }
  auto publish = [&](uint32_t i) {
    isa::FillPacket fill{a.address(), 64, 10 + i, {}, {s[i].index(), 1}};
    ASSERT_OK(reservations[i].write(
        0, isa::encode(isa::Packet{isa::packetBarrier, i, fill})));
    ASSERT_OK(reservations[i].publish());
  };
  std::vector<std::thread> threads;
  for (uint32_t i = 1; i < 4; ++i)
    threads.emplace_back([&, i] { publish(i); });
  for (std::thread &thread : threads)
    thread.join();
  // Not skipped: nothing runs.
  for (uint32_t i = 0; i < 4; ++i)
    EXPECT_ERROR(s[i].wait(1, device.afterCycles(20000)), DeadlineExceeded,
                 "not yet 1");
  EXPECT_TRUE(allAre(contents(a), 0xdeadbeef));
  publish(0);
  // In index order.
  for (uint32_t i = 0; i < 4; ++i) {
    ASSERT_OK(s[i].wait(1));
    for (uint32_t later = i + 1; later < 4; ++later)
      if (GetParam() == "simulator")
        EXPECT_EQ(*s[later].value(), 0u);
  }
  ASSERT_OK(q.waitIdle());
  EXPECT_TRUE(allAre(contents(a), 13));
  EXPECT_ERROR(reservations[0].publish(), FailedPrecondition, "already");
}

// A reservation that is dropped holds nobody up.
TEST_P(SubmissionConformance, reservation_dropped) {
  Queue q = queue("Q", 16);
  Buffer a = buffer(64);
  {
    Result<Reservation> made = q.reserve(3);
    ASSERT_OK(made.status());
    ASSERT_OK(q.fill(a, 5));
  }
  ASSERT_OK(q.waitIdle());
  EXPECT_EQ(q.completed(), 4u);
  EXPECT_TRUE(allAre(contents(a), 5));
}

// Doorbells are wake-ups: whatever index they carry, nothing is lost or done
// twice.
TEST_P(SubmissionConformance, doorbells) {
  Queue q = queue("Q");
  Buffer a = buffer(64), b = buffer(64);
  auto bell = [&](uint64_t index) {
    return device.driver().mmioWrite(
        isa::mmio::queueBase + isa::mmio::queueDoorbell, index);
  };
  for (uint32_t round = 1; round <= 20; ++round) {
    ASSERT_OK(q.fill(a, round, {.barrier = true}));
    uint64_t last = q.submitted() - 1;
    ASSERT_OK(bell(last));                    // Duplicate.
    ASSERT_OK(bell(0));                       // First.
    ASSERT_OK(bell(last > 3 ? last - 3 : 0)); // Stale.
    ASSERT_OK(q.copy(b, a, {.barrier = true}));
    if (round % 3 == 0)
      ASSERT_OK(q.waitIdle());
  }
  ASSERT_OK(q.waitIdle());
  EXPECT_EQ(q.completed(), 40u);
  EXPECT_TRUE(allAre(contents(b), 20));
  if (GetParam() == "simulator") {
    // Beyond what is published: the header says what is there.
    ASSERT_OK(bell(q.submitted() + 5));
    ASSERT_OK(q.fill(a, 21));
    ASSERT_OK(q.waitIdle());
    EXPECT_TRUE(allAre(contents(a), 21));
  }
}

// Ring indices from just below 2^32 and 2^64, many times around the ring, ids
// across 2^32.
TEST_P(SubmissionConformance, wrap_everything) {
  for (uint64_t firstIndex : {~uint64_t(0) - 50, (uint64_t(1) << 32) - 50}) {
    QueueOptions options;
    options.packets = 4;
    options.firstId = 0xfffffff0;
    options.firstIndex = firstIndex;
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
    EXPECT_EQ(q->completed(), q->submitted());

    // A fault names its packet beyond the wrap, too.
    uint64_t packet = q->submitted();
    BufferOptions readOnly;
    readOnly.access.write = false;
    Result<Buffer> target = space.allocate(64, readOnly);
    ASSERT_OK(target.status());
    ASSERT_OK(q->fill(*target, 1, {.label = "bad"}));
    EXPECT_ERROR(q->waitIdle(), PageFault,
                 "packet " + std::to_string(packet) + " 'bad'");

    // Timelines end.
    Queue other = queue();
    ASSERT_OK(other.signal({.signal = {{s, ~uint64_t(0)}}}));
    ASSERT_OK(s.wait(~uint64_t(0)));
    EXPECT_ERROR(other.signal({.signal = {{s, 0}}}), InvalidArgument, "'S'");
  }
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
