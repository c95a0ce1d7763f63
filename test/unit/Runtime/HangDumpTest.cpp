//===- HangDumpTest.cpp - Why nothing moves, from another thread ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeFixture.h"
#include "TestKernels.h"
#include "tessera/runtime/MemoryPool.h"
#include "tessera/runtime/Stream.h"
#include <atomic>
#include <thread>

using namespace tessera;
using namespace tessera::runtime;
using ::testing::HasSubstr;

namespace {

class HangDumpTest : public RuntimeTest {
protected:
  /// The dump once it lists a wait that is none for a semaphore.
  HangDump dumpOfWait() {
    HangDump dump;
    do {
      std::this_thread::yield();
      dump = device.hangDump();
    } while (dump.otherWaits.empty());
    return dump;
  }
};

// Every kind of wait is listed while it lasts.
TEST_P(HangDumpTest, ListsEveryWait) {
  if (GetParam() == "recorded")
    GTEST_SKIP() << "several threads cannot be recorded";
  Queue q = queue("Q", 4);
  Buffer a = buffer(64);
  Semaphore go = semaphore("go", true), s = semaphore("S");
  for (int i = 0; i < 3; ++i)
    ASSERT_OK(q.fill(a, 1, {.wait = {{go, 1}}}));
  PoolOptions options;
  options.label = "P";
  options.budgetBytes = options.chunkBytes = 65536;
  Result<MemoryPool> pool = MemoryPool::create(space, options);
  ASSERT_OK(pool.status());
  Queue owner = queue("owner");
  Result<PoolAllocation> all =
      pool->allocate(owner, 65536, {.signal = {{s, 1}}});
  ASSERT_OK(all.status());
  const std::pair<std::string, std::function<void()>> waits[] = {
      {"queue 'Q' to be idle", [&] { EXPECT_OK(q.waitIdle()); }},
      {"room for 1 packets in queue 'Q'", [&] { EXPECT_OK(q.fill(a, 2)); }},
      {"4096 bytes of pool 'P'", [&] {
         EXPECT_OK(pool->allocate(owner, 4096, {.signal = {{s, 2}}},
                                  Deadline::infinite())
                       .status());
       }}};
  for (const auto &[what, wait] : waits) {
    std::thread waiter(wait);
    HangDump dump = dumpOfWait();
    EXPECT_THAT(dump.otherWaits, ::testing::ElementsAre(what));
    EXPECT_THAT(dump.print(), HasSubstr("a host thread waits for " + what));
    if (what.find("pool") == what.npos) {
      ASSERT_OK(go.signal(*go.value() + 1));
      waiter.join();
      // Full again for the next one.
      ASSERT_OK(q.waitIdle());
      for (int i = 0; i < 3; ++i)
        ASSERT_OK(q.fill(a, 1, {.wait = {{go, *go.value() + 1}}}));
    } else {
      ASSERT_OK(pool->deallocate(owner, all->buffer));
      waiter.join();
    }
    EXPECT_TRUE(device.hangDump().otherWaits.empty());
  }
  ASSERT_OK(go.signal(*go.value() + 1));
  ASSERT_OK(q.waitIdle());
}

// A kernel that never ends keeps nobody from asking why, and from ending it.
TEST_P(HangDumpTest, OfAnEndlessKernel) {
  if (GetParam() == "null" || GetParam() == "recorded")
    GTEST_SKIP() << "no kernels, or one thread only";
  Queue q = queue("Q");
  Result<TestKernel> kernel = TestKernel::create(space, TestKernel::endless());
  ASSERT_OK(kernel.status());
  Semaphore s = semaphore("S");
  ASSERT_OK(q.dispatch(kernel->kernel(), {}, {}, {.signal = {{s, 1}}}));
  for (Deadline deadline :
       {Deadline::infinite(), Deadline::afterHost(std::chrono::hours(1)),
        Deadline::at(uint64_t(1) << 62)}) {
    std::thread waiter(
        [&] { EXPECT_ERROR(s.wait(1, deadline), Aborted, "was reset"); });
    HangDump dump;
    do
      dump = device.hangDump();
    while (dump.hostWaits.empty() || dump.time == 0);
    EXPECT_THAT(dump.print(), HasSubstr("has not finished"));
    EXPECT_OK(q.reset());
    waiter.join();
    s = semaphore("S");
    ASSERT_OK(q.dispatch(kernel->kernel(), {}, {}, {.signal = {{s, 1}}}));
  }
  ASSERT_OK(q.reset());
}

// The proof of a deadlock goes along chains of any length, in either order, and
// tells their ends.
TEST_P(HangDumpTest, LongChainsOfWaits) {
  constexpr uint64_t length = 4000;
  for (bool forwards : {true, false}) {
    Semaphore s = semaphore("S"), never = semaphore("never");
    Buffer a = buffer(64);
    Result<Queue> made = Queue::create(
        space, {.packets = 8192, .firstIndex = 100, .label = "Q"});
    ASSERT_OK(made.status());
    for (uint64_t n = 1; n <= length; ++n) {
      uint64_t i = forwards ? n : length + 1 - n;
      ASSERT_OK(made->fill(
          a, 1,
          {.wait = {i == 1 ? TimelinePoint{never, 1} : TimelinePoint{s, i - 1}},
           .signal = {{s, i}},
           .label = "link " + std::to_string(i)}));
    }
    Status status = s.wait(length);
    ASSERT_ERROR(status, Deadlock, "'link 4000' (queue 'Q', packet ");
    EXPECT_THAT(status.message(),
                HasSubstr("semaphore 'never' >= 1, which nothing in flight"));
    EXPECT_THAT(status.message(), HasSubstr("more) …"));
    EXPECT_LT(status.message().size(), 4096u);
    EXPECT_THAT(status.message(),
                HasSubstr(forwards ? "'link 1' (queue 'Q', packet 0)"
                                   : "'link 1' (queue 'Q', packet 3999)"));
    ASSERT_OK(made->reset());
  }
}

// A host call that runs will come back: nothing that waits for it is dead.
TEST_P(HangDumpTest, RunningHostCallIsNoDeadlock) {
  if (GetParam() == "recorded")
    GTEST_SKIP() << "several threads cannot be recorded";
  Queue q = queue("Q");
  Semaphore s = semaphore("S");
  std::atomic<bool> runs = false, waits = false;
  std::thread other([&] {
    while (!runs)
      std::this_thread::yield();
    waits = true;
    EXPECT_OK(s.wait(1));
  });
  ASSERT_OK(q.hostCall(
      [&] {
        runs = true;
        // Long enough for the other one to find the device at rest.
        while (!waits)
          std::this_thread::yield();
        while (device.hangDump().hostWaits.size() < 2)
          std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        return Status::success();
      },
      {.signal = {{s, 1}}}));
  EXPECT_OK(s.wait(1));
  other.join();
}

TESSERA_ON_ALL_DRIVERS(HangDumpTest);

} // namespace
