//===- WaitScenarios.cpp - Deadlines and proved deadlocks ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConformanceFixture.h"

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
