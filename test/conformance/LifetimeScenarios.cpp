//===- LifetimeScenarios.cpp - Handles that go while work runs -----------===//
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

class LifetimeConformance : public Conformance {};

TEST_P(LifetimeConformance, drop_handles_in_flight) {
  Semaphore go = semaphore("go", true);
  Buffer b = buffer(4096);
  dope(b);
  {
    Queue q = queue();
    Buffer a = buffer(4096);
    ASSERT_OK(go.signal(1));
    ASSERT_OK(q.fill(a, 3, {.wait = {{go, 1}}}));
    ASSERT_OK(q.copy(b, a, {.barrier = true}));
  }
  EXPECT_TRUE(allAre(contents(b), 3));

  // Work that cannot finish keeps its memory; dropping everything is defined.
  Queue parked = queue("parked");
  Semaphore never = semaphore("never");
  ASSERT_OK(parked.fill(b, 4, {.wait = {{never, 1}}}));
  parked = Queue();
  b = Buffer();
  never = Semaphore();
  space = AddressSpace();
  device = Device();
}

TEST_P(LifetimeConformance, destroy_device_pending) {
  Queue q = queue("Q", 256);
  Semaphore never = semaphore("never", true), s = semaphore("S");
  Buffer a = buffer(64);
  dope(a);
  int called = 0;
  for (uint64_t i = 1; i <= 100; ++i)
    ASSERT_OK(q.fill(a, 1, {.wait = {{never, 1}}, .signal = {{s, i}}}));
  ASSERT_OK(q.hostCall(
      [&] {
        ++called;
        return Status::success();
      },
      {.wait = {{s, 100}}}));
  Status waited, idle;
  std::thread waiter([&] { waited = s.wait(100); });
  std::thread idler([&] { idle = q.waitIdle(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_OK(device.close());
  waiter.join();
  idler.join();
  EXPECT_ERROR(waited, Cancelled, "closed");
  EXPECT_ERROR(idle, Cancelled, "closed");
  for (uint64_t i = 1; i <= 100; ++i)
    EXPECT_ERROR(s.wait(i), Cancelled, "closed");
  EXPECT_ERROR(q.waitIdle(), Cancelled, "closed");
  EXPECT_EQ(called, 0);
  EXPECT_TRUE(allAre(contents(a), 0xdeadbeef));
  EXPECT_EQ(device.statistics().operationsCancelled, 101u);

  // After the end everything is refused and can still be dropped.
  EXPECT_ERROR(q.fill(a, 1), FailedPrecondition, "closed");
  EXPECT_ERROR(never.signal(1), FailedPrecondition, "closed");
  EXPECT_ERROR(Queue::create(space).status(), FailedPrecondition, "closed");
  EXPECT_ERROR(device.close(), FailedPrecondition, "closed");
}

TESSERA_CONFORMANCE(LifetimeConformance);

} // namespace
