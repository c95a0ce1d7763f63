//===- WaitScenarios.cpp - Deadlines and proved deadlocks ----------------===//
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

class WaitConformance : public Conformance {};

TEST_P(WaitConformance, wait_timeout_exact) {
  Queue q = queue();
  Semaphore s = semaphore();
  Buffer a = buffer(1 << 20), b = buffer(1 << 20);
  // How long it takes.
  driver::Time start = device.now();
  ASSERT_OK(q.copy(b, a, {.signal = {{s, 1}}}));
  ASSERT_OK(s.wait(1));
  driver::Time took = device.now() - start;
  ASSERT_GT(took, 4u);
  for (driver::Time part : {took / 2, took / 3, took - 1}) {
    uint64_t next = *s.value() + 1;
    ASSERT_OK(q.copy(b, a, {.signal = {{s, next}}}));
    driver::Time deadline = device.now() + part;
    if (s.wait(next, Deadline::at(deadline)).ok())
      continue; // A warm device may be faster.
    EXPECT_EQ(device.now(), deadline);
    EXPECT_ERROR(s.wait(next, Deadline::poll()), DeadlineExceeded, "not yet");
    EXPECT_EQ(device.now(), deadline);
    ASSERT_OK(s.wait(next));
  }
}

// Waits that end early leave nothing behind.
TEST_P(WaitConformance, waiters_do_not_leak) {
  Semaphore s = semaphore("S", true), t = semaphore("T", true);
  auto state = [&]() -> size_t {
    Result<std::vector<std::byte>> saved = device.driver().save();
    return saved ? saved->size() : 0;
  };
  ASSERT_ERROR(s.wait(1, device.afterCycles(1)), DeadlineExceeded, "'S'");
  size_t before = state();
  for (int i = 0; i < 100'000; ++i)
    ASSERT_ERROR(s.wait(1, Deadline::poll()), DeadlineExceeded, "'S'");
  for (int i = 0; i < 1'000; ++i)
    ASSERT_ERROR(s.wait(1, device.afterCycles(1)), DeadlineExceeded, "'S'");
  EXPECT_EQ(state(), before);
  ASSERT_OK(s.signal(1));
  ASSERT_OK(s.wait(1));
}

TEST_P(WaitConformance, host_deadline) {
  Semaphore s = semaphore("S", true);
  auto begin = Deadline::HostClock::now();
  auto wait = std::chrono::milliseconds(20);
  EXPECT_ERROR(s.wait(1, Deadline::afterHost(wait)), DeadlineExceeded,
               "'S' is 0");
  EXPECT_GE(Deadline::HostClock::now() - begin, wait);
}

TEST_P(WaitConformance, orphan_wait) {
  EXPECT_ERROR(semaphore("orphan").wait(1), Deadlock,
               "'orphan' >= 1, which nothing in flight will signal");
  Semaphore host = semaphore("host", true);
  std::thread signaller([&] { EXPECT_OK(host.signal(1)); });
  EXPECT_OK(host.wait(1));
  signaller.join();
}

TEST_P(WaitConformance, host_call_runs_in_order) {
  Queue q = queue();
  Semaphore s = semaphore("S"), t = semaphore("T");
  Buffer a = buffer(64), b = buffer(64);
  std::vector<uint32_t> seen;
  ASSERT_OK(q.fill(a, 7, {.signal = {{s, 1}}}));
  ASSERT_OK(q.hostCall(
      [&] {
        seen = contents(a);
        return q.fill(b, 8, {.signal = {{t, 1}}}); // Submission is allowed.
      },
      {.wait = {{s, 1}}, .signal = {{s, 2}}}));
  ASSERT_OK(s.wait(2));
  EXPECT_TRUE(allAre(seen, 7));
  EXPECT_EQ(seen.size(), 16u);
  ASSERT_OK(t.wait(1));
  EXPECT_TRUE(allAre(contents(b), 8));

  // As a barrier: after all before, before all behind.
  int calls = 0;
  ASSERT_OK(q.fill(a, 9));
  ASSERT_OK(q.hostCall(
      [&] {
        ++calls;
        EXPECT_TRUE(allAre(contents(a), 9));
        return Status::success();
      },
      {.barrier = true}));
  ASSERT_OK(q.fill(a, 10, {.barrier = true}));
  ASSERT_OK(q.waitIdle());
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(allAre(contents(a), 10));

  // Its failure is that of its signals.
  ASSERT_OK(
      q.hostCall([] { return Status(StatusCode::BusError, "no such luck"); },
                 {.signal = {{s, 3}}, .label = "unlucky"}));
  EXPECT_ERROR(s.wait(3), BusError, "host call 'unlucky': no such luck");
  EXPECT_ERROR(q.waitIdle(), BusError, "no such luck");
  EXPECT_OK(q.waitIdle()); // Told once.
}

TEST_P(WaitConformance, host_call_reentrancy) {
  Queue q = queue();
  Semaphore s = semaphore("S"), never = semaphore("never", true);
  Buffer a = buffer(64);
  Status idle, waited, read;
  std::vector<std::byte> data(64);
  ASSERT_OK(q.hostCall(
      [&] {
        idle = q.waitIdle();
        waited = never.wait(1);
        read = q.readBack(a, data);
        return Status::success();
      },
      {.signal = {{s, 1}}, .label = "inner"}));
  ASSERT_OK(s.wait(1));
  EXPECT_ERROR(idle, FailedPrecondition, "inside the host call 'inner'");
  EXPECT_ERROR(waited, FailedPrecondition, "inside the host call 'inner'");
  EXPECT_ERROR(read, FailedPrecondition, "inside the host call 'inner'");
  ASSERT_OK(q.waitIdle());
}

TEST_P(WaitConformance, deadlock_cycle) {
  Queue q0 = queue("Q0"), q1 = queue("Q1");
  Semaphore s = semaphore("S"), t = semaphore("T");
  Buffer a = buffer(64);
  ASSERT_OK(
      q0.fill(a, 1, {.wait = {{t, 1}}, .signal = {{s, 1}}, .label = "left"}));
  ASSERT_OK(
      q1.fill(a, 2, {.wait = {{s, 1}}, .signal = {{t, 1}}, .label = "right"}));
  for (Semaphore *waited : {&s, &t}) {
    Status status = waited->wait(1);
    EXPECT_EQ(status.code(), StatusCode::Deadlock);
    for (const char *part :
         {"'left' (queue 'Q0', packet 0)", "'right' (queue 'Q1', packet 0)",
          "'S' >= 1", "'T' >= 1", "a cycle"})
      EXPECT_THAT(status.message(), ::testing::HasSubstr(part));
  }
  EXPECT_ERROR(q0.waitIdle(), Deadlock, "'left'");
}

TESSERA_CONFORMANCE(WaitConformance);

} // namespace
