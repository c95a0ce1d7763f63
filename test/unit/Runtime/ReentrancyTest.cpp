//===- ReentrancyTest.cpp - The world changes under a call ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Host calls that end what they are part of, and submissions that wait for room
// while others take away what they name.
//
//===----------------------------------------------------------------------===//

#include "RuntimeFixture.h"
#include "tessera/runtime/MemoryPool.h"
#include "tessera/runtime/Stream.h"
#include <array>
#include <thread>

using namespace tessera;
using namespace tessera::runtime;
using ::testing::Each;

namespace {

class ReentrancyTest : public RuntimeTest {
protected:
  /// Leaves the queue of 4 slots without room until `go` is 1, and has
  /// `meanwhile` called by the device while a submission waits for that.
  void fillUp(Queue &q, Semaphore go, Buffer &scratch,
              std::function<Status()> meanwhile) {
    Queue helper = queue("helper");
    Semaphore tick = semaphore("tick");
    for (int i = 0; i < 3; ++i)
      ASSERT_OK(q.fill(scratch, 9, {.wait = {{go, 1}}}));
    // The device must have something to do before the call is due.
    ASSERT_OK(helper.fill(scratch, 8, {.signal = {{tick, 1}}}));
    ASSERT_OK(helper.hostCall(
        [meanwhile, go]() mutable {
          Status status = meanwhile();
          Status opened = go.signal(1);
          return status.ok() ? opened : status;
        },
        {.wait = {{tick, 1}}, .label = "meanwhile"}));
    helpers.push_back(helper);
  }
  std::vector<Queue> helpers;
};

// The last handle of a queue goes with the function of its own host call.
TEST_P(ReentrancyTest, HostCallOwnsItsQueue) {
  Semaphore s = semaphore("S");
  Buffer a = buffer(64);
  {
    Queue q = queue("Q");
    ASSERT_OK(q.hostCall([q, a]() mutable { return q.fill(a, 5); },
                         {.signal = {{s, 1}}}));
    ASSERT_OK(q.hostCall([q] { return Status::success(); },
                         {.wait = {{s, 1}}, .signal = {{s, 2}}}));
  }
  ASSERT_OK(s.wait(2));
  Queue other = queue("other");
  ASSERT_OK(other.fill(a, 6));
  ASSERT_OK(other.waitIdle());
}

// The same with the device: everything goes when the call has ended.
TEST_P(ReentrancyTest, HostCallOwnsItsDevice) {
  Semaphore s = semaphore("S");
  {
    Queue q = queue("Q");
    Device held = device;
    ASSERT_OK(q.hostCall([q, held, space = space] { return Status::success(); },
                         {.signal = {{s, 1}}}));
  }
  space = AddressSpace();
  device = Device();
  ASSERT_OK(s.wait(1));
}

TEST_P(ReentrancyTest, HostCallResetsItsQueue) {
  Queue q = queue("Q");
  Semaphore s = semaphore("S");
  Buffer a = buffer(64);
  int calls = 0;
  ASSERT_OK(q.hostCall(
      [&] {
        ++calls;
        Status first = q.reset();
        Status second = q.reset();
        return first.ok() ? second : first;
      },
      {.signal = {{s, 1}}, .label = "reset twice"}));
  EXPECT_ERROR(s.wait(1), Aborted, "was reset");
  EXPECT_EQ(calls, 1);
  ASSERT_OK(q.fill(a, 3));
  ASSERT_OK(q.waitIdle());
  EXPECT_THAT(contents(a), Each(3u));
}

TEST_P(ReentrancyTest, HostCallClosesTheDevice) {
  Queue q = queue("Q");
  Semaphore s = semaphore("S");
  ASSERT_OK(q.hostCall(
      [&] {
        Status reset = q.reset();
        Status closed = device.close();
        return reset.ok() ? closed : reset;
      },
      {.signal = {{s, 1}}}));
  EXPECT_FALSE(s.wait(1).ok());
  DeviceStatistics counts = device.statistics();
  EXPECT_EQ(counts.operationsAccepted,
            counts.operationsCompleted + counts.operationsCancelled);
  EXPECT_ERROR(q.fill(buffer(64), 1), FailedPrecondition, "was closed");
}

TEST_P(ReentrancyTest, HostCallResetsTheDevice) {
  Queue q = queue("Q");
  Semaphore s = semaphore("S");
  ASSERT_OK(q.hostCall(
      [&] {
        Status first = device.reset();
        Status second = device.reset();
        return first.ok() ? second : first;
      },
      {.signal = {{s, 1}}}));
  EXPECT_ERROR(s.wait(1), DeviceLost, "reset");
  Queue fresh = queue("fresh");
  Buffer a = buffer(64);
  ASSERT_OK(fresh.fill(a, 3));
  ASSERT_OK(fresh.waitIdle());
}

// While an execution waits for room, another one binds other buffers.
TEST_P(ReentrancyTest, BindingsAreThoseOfTheExecution) {
  Result<CommandBuffer> commands = CommandBuffer::create(space, "clear");
  ASSERT_OK(commands.status());
  ASSERT_OK(commands->fill(Binding{0}, 64, 1));
  ASSERT_OK(commands->finish());
  Queue q = queue("Q", 4), other = queue("other");
  Semaphore go = semaphore("go", true), done = semaphore("done");
  Buffer a = buffer(64, "A"), b = buffer(64, "B"), scratch = buffer(64);
  fillUp(q, go, scratch, [&] {
    return other.execute(*commands, std::array{b}, {.signal = {{done, 1}}});
  });
  Status executed = q.execute(*commands, std::array{a});
  ASSERT_OK(done.wait(1));
  if (!executed.ok()) { // The other execution may still be in flight.
    EXPECT_ERROR(executed, FailedPrecondition, "other bindings");
    ASSERT_OK(q.execute(*commands, std::array{a}));
  }
  ASSERT_OK(q.waitIdle());
  EXPECT_THAT(contents(b), Each(1u));
  EXPECT_THAT(contents(a), Each(1u));
}

TEST_P(ReentrancyTest, BufferGoesWhileASubmissionWaits) {
  for (bool withCommands : {false, true}) {
    Queue q = queue("Q", 4);
    Semaphore go = semaphore("go", true);
    Buffer a = buffer(64, "A"), scratch = buffer(64);
    Result<CommandBuffer> commands = CommandBuffer::create(space, "clear");
    ASSERT_OK(commands.status());
    ASSERT_OK(commands->fill(Binding{0}, 64, 1));
    ASSERT_OK(commands->finish());
    fillUp(q, go, scratch, [&] { return space.unmap(a); });
    EXPECT_ERROR(withCommands ? q.execute(*commands, std::array{a})
                              : q.fill(a, 1, {.label = "late"}),
                 FailedPrecondition, "buffer 'A' was unmapped");
    EXPECT_OK(q.waitIdle());
    for (Queue &helper : helpers)
      EXPECT_OK(helper.waitIdle());
  }
}

// Of two deallocations of the same buffer one is refused, whichever waits.
TEST_P(ReentrancyTest, DeallocatedWhileADeallocationWaits) {
  Queue q = queue("Q", 4), other = queue("other");
  Semaphore go = semaphore("go", true), s = semaphore("S");
  Buffer scratch = buffer(64);
  PoolOptions options;
  options.label = "P";
  Result<MemoryPool> pool = MemoryPool::create(space, options);
  ASSERT_OK(pool.status());
  Result<PoolAllocation> block =
      pool->allocate(other, 256, {.signal = {{s, 1}}, .label = "block"});
  Result<PoolAllocation> second =
      pool->allocate(other, 256, {.signal = {{s, 2}}, .label = "second"});
  ASSERT_OK(block.status());
  ASSERT_OK(second.status());
  fillUp(q, go, scratch, [&] {
    Status first = pool->deallocate(other, block->buffer);
    // Another one on the queue that waits, which takes a turn of its own.
    return first;
  });
  EXPECT_ERROR(pool->deallocate(q, block->buffer), FailedPrecondition,
               "'block' was deallocated");
  ASSERT_OK(pool->deallocate(q, second->buffer));
  ASSERT_OK(q.waitIdle());
  ASSERT_OK(other.waitIdle());
  EXPECT_EQ(pool->statistics().liveBytes, 0u);
  EXPECT_TRUE(pool->trim().ok());
  EXPECT_EQ(pool->statistics().heldBytes, 0u);
}

// Host calls run one after the other, however they are submitted: what one may
// not do it may not do after it has submitted another one either.
TEST_P(ReentrancyTest, HostCallsDoNotNest) {
  Queue q = queue("Q"), r = queue("R");
  Semaphore s = semaphore("S"), never = semaphore("never", true);
  int depth = 0, deepest = 0, left = 5000;
  auto enter = [&] { deepest = std::max(deepest, ++depth); };
  Status submitted, waited;
  ASSERT_OK(q.hostCall(
      [&] {
        enter();
        submitted = r.hostCall([&] {
          enter();
          --depth;
          return Status::success();
        });
        waited = never.wait(1, device.afterCycles(1000));
        --depth;
        return Status::success();
      },
      {.signal = {{s, 1}}, .label = "outer"}));
  ASSERT_OK(s.wait(1));
  ASSERT_OK(submitted);
  EXPECT_ERROR(waited, FailedPrecondition, "inside the host call 'outer'");
  // A chain of them, each of which submits the next.
  uint64_t value = 1;
  std::function<Status()> link = [&]() -> Status {
    enter();
    Status next = --left ? q.hostCall(link, {.signal = {{s, ++value}}})
                         : Status::success();
    --depth;
    return next;
  };
  ASSERT_OK(q.hostCall(link, {.signal = {{s, ++value}}}));
  ASSERT_OK(s.wait(5001));
  EXPECT_EQ(deepest, 1);
  ASSERT_OK(r.waitIdle());
}

// The program may hold a lock while it submits that its host calls take.
TEST_P(ReentrancyTest, SubmissionsRunNoHostCalls) {
  Queue q = queue("Q");
  Buffer a = buffer(64);
  Semaphore go = semaphore("go", true), s = semaphore("S");
  bool submitting = true, inside = false;
  int ran = 0;
  auto call = [&] {
    inside |= submitting;
    ++ran;
    return Status::success();
  };
  ASSERT_OK(q.hostCall(call));
  ASSERT_OK(q.hostCall(call, {.wait = {{go, 1}}, .signal = {{s, 1}}}));
  ASSERT_OK(go.signal(1));
  ASSERT_OK(q.fill(a, 1));
  ASSERT_OK(q.signal({.signal = {{go, 2}}}));
  EXPECT_EQ(*s.value(), 0u);
  submitting = false;
  EXPECT_ERROR(s.wait(2, Deadline::poll()), DeadlineExceeded, "'S'");
  EXPECT_EQ(ran, 2);
  EXPECT_FALSE(inside);
  ASSERT_OK(q.waitIdle());
}

// What a host call submits to its own stream comes behind it, also if another
// thread lets the device run meanwhile.
TEST_P(ReentrancyTest, StreamBehindARunningHostCall) {
  if (GetParam() == "recorded")
    GTEST_SKIP() << "several threads cannot be recorded";
  Result<Stream> made = Stream::create(space);
  ASSERT_OK(made.status());
  Stream stream = *made;
  Buffer a = buffer(64), b = buffer(1 << 20);
  Queue other = queue("other");
  Semaphore s = semaphore("S"), t = semaphore("T"), u = semaphore("U");
  bool early = true;
  ASSERT_OK(stream.hostCall(
      [&]() -> Status {
        Status filled = stream.fill(a, 1, {.signal = {{t, 1}}});
        std::thread runs([&] {
          EXPECT_OK(other.fill(b, 2, {.signal = {{u, 1}}}));
          EXPECT_OK(u.wait(1));
        });
        runs.join();
        early = *t.value() != 0;
        return filled;
      },
      {.signal = {{s, 1}}}));
  ASSERT_OK(s.wait(1));
  ASSERT_OK(t.wait(1));
  EXPECT_FALSE(early);
}

TESSERA_ON_ALL_DRIVERS(ReentrancyTest);

} // namespace
