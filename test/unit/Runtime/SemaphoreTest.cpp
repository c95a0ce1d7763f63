//===- SemaphoreTest.cpp - Timelines from the host ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeFixture.h"
#include <thread>

using namespace tessera;
using namespace tessera::runtime;

namespace {

class SemaphoreTest : public RuntimeTest {};

TEST_P(SemaphoreTest, HostSignals) {
  Semaphore s = semaphore("host", true);
  EXPECT_OK(s.signal(3));
  EXPECT_OK(s.wait(2));
  EXPECT_OK(s.wait(3, Deadline::poll()));
  EXPECT_EQ(*s.value(), 3u);
  EXPECT_ERROR(s.signal(3), InvalidArgument, "'host'");
  EXPECT_ERROR(s.wait(4, Deadline::poll()), DeadlineExceeded, "'host' is 3");
}

TEST_P(SemaphoreTest, OnlyWhereItWasSaid) {
  EXPECT_ERROR(semaphore("device's").signal(1), FailedPrecondition,
               "'device's'");
  EXPECT_ERROR(Semaphore().wait(1), FailedPrecondition, "empty handle");
  EXPECT_ERROR(Semaphore::create(Device()).status(), FailedPrecondition,
               "empty handle");
}

// orphan_wait: nobody can signal, so it is a deadlock; a host handle exists, so
// it is none.
TEST_P(SemaphoreTest, OrphanWait) {
  EXPECT_ERROR(semaphore("orphan").wait(1), Deadlock,
               "'orphan' >= 1, which nothing in flight will signal");
  Semaphore host = semaphore("host", true);
  std::thread signaller([&] { EXPECT_OK(host.signal(1)); });
  EXPECT_OK(host.wait(1));
  signaller.join();
}

TEST_P(SemaphoreTest, AllIndicesCanBeUsedAgain) {
  for (int round = 0; round < 2; ++round) {
    std::vector<Semaphore> all;
    Status status;
    while (true) {
      Result<Semaphore> made = Semaphore::create(device, {true, "many"});
      if (!made) {
        status = made.status();
        break;
      }
      EXPECT_EQ(*made->value(), 0u);
      EXPECT_OK(made->signal(5));
      EXPECT_OK(made->wait(5));
      all.push_back(*made);
    }
    EXPECT_EQ(all.size(), 4095u);
    EXPECT_EQ(status.code(), StatusCode::ResourceExhausted);
  }
}

TESSERA_ON_ALL_DRIVERS(SemaphoreTest);

} // namespace
