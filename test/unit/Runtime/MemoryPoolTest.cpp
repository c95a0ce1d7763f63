//===- MemoryPoolTest.cpp - Refusals, resets and races of pools ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/runtime/MemoryPool.h"
#include "RuntimeFixture.h"
#include <array>

using namespace tessera;
using namespace tessera::runtime;
using ::testing::Each;

namespace {

class MemoryPoolTest : public RuntimeTest {
protected:
  MemoryPool pool(uint64_t bytes = 64 << 10) {
    PoolOptions options;
    options.budgetBytes = options.chunkBytes = bytes;
    options.label = "P";
    Result<MemoryPool> made = MemoryPool::create(space, options);
    EXPECT_OK(made.status());
    return made ? *made : MemoryPool();
  }
};

// What a refused allocation would have taken is neither held nor free early.
TEST_P(MemoryPoolTest, RefusedAllocationChangesNothing) {
  MemoryPool p = pool();
  Queue q0 = queue("Q0"), q1 = queue("Q1");
  Semaphore s = semaphore("S"), t = semaphore("T"), go = semaphore("go", true);
  Semaphore used = semaphore("used", true);
  ASSERT_OK(used.signal(5));
  EXPECT_ERROR(p.allocate(q0, 64 << 10, {.signal = {{used, 5}}}).status(),
               InvalidArgument, "'used'");
  EXPECT_EQ(p.statistics().heldBytes, 0u);
  EXPECT_EQ(p.statistics().peakLiveBytes, 0u);

  Result<PoolAllocation> block = p.allocate(q0, 64 << 10, {.signal = {{s, 1}}});
  ASSERT_OK(block.status());
  Buffer memory = block->buffer;
  ASSERT_OK(q0.fill(memory, 7, {.wait = {{go, 1}}, .signal = {{s, 2}}}));
  ASSERT_OK(p.deallocate(q0, memory, {.wait = {{s, 2}}, .signal = {{s, 3}}}));
  // Ordered after the death or not, and refused for what it signals.
  for (std::vector<TimelinePoint> wait :
       {std::vector<TimelinePoint>{{s, 3}}, std::vector<TimelinePoint>{}}) {
    EXPECT_ERROR(p.allocate(q1, 64 << 10, {.wait = wait, .signal = {{used, 5}}})
                     .status(),
                 InvalidArgument, "'used'");
    PoolStatistics counts = p.statistics();
    EXPECT_EQ(counts.heldBytes, 64u << 10);
    EXPECT_EQ(counts.dyingBytes, 64u << 10);
    EXPECT_EQ(counts.liveBytes, 0u);
    EXPECT_EQ(counts.largestFree, 0u);
    // The memory is still somebody's.
    Result<PoolOutcome> next = p.query(q1, 64 << 10, {.signal = {{t, 1}}});
    ASSERT_OK(next.status());
    EXPECT_EQ(*next, PoolOutcome::NeedsWait);
  }
  ASSERT_OK(go.signal(1));
  ASSERT_OK(q0.waitIdle());
  EXPECT_EQ(*p.query(q1, 64 << 10, {.signal = {{t, 1}}}), PoolOutcome::Reused);
}

// A reset ends all work: what was dying has died.
TEST_P(MemoryPoolTest, GoesOnAfterAReset) {
  MemoryPool p = pool();
  Buffer live;
  {
    Queue q = queue("Q");
    Semaphore s = semaphore("S"), go = semaphore("go", true);
    Result<PoolAllocation> block =
        p.allocate(q, 32 << 10, {.signal = {{s, 1}}});
    Result<PoolAllocation> kept = p.allocate(q, 16 << 10, {.signal = {{s, 2}}});
    ASSERT_OK(block.status());
    ASSERT_OK(kept.status());
    live = kept->buffer;
    ASSERT_OK(p.deallocate(q, block->buffer, {.wait = {{go, 1}}}));
    ASSERT_OK(device.reset());
  }
  Queue q = queue("after");
  Semaphore s = semaphore("T");
  Result<PoolAllocation> block = p.allocate(q, 32 << 10, {.signal = {{s, 1}}});
  ASSERT_OK(block.status());
  ASSERT_OK(q.fill(block->buffer, 4, {.wait = {{s, 1}}}));
  ASSERT_OK(q.fill(live, 5, {.wait = {{s, 1}}}));
  ASSERT_OK(q.waitIdle());
  EXPECT_THAT(contents(live), Each(5u));
  ASSERT_OK(p.deallocate(q, block->buffer));
  ASSERT_OK(p.deallocate(q, live));
  ASSERT_OK(q.waitIdle());
  EXPECT_EQ(*p.trim(), 64u << 10);
}

// Whoever gets memory after its death does not race with the last owner.
TEST_P(MemoryPoolTest, ReuseIsNoRace) {
  device.detectRaces();
  MemoryPool p = pool();
  Queue q0 = queue("Q0"), q1 = queue("Q1");
  Semaphore s = semaphore("S"), t = semaphore("T");
  Result<PoolAllocation> block = p.allocate(q0, 64 << 10, {.signal = {{s, 1}}});
  ASSERT_OK(block.status());
  ASSERT_OK(q0.fill(block->buffer, 1, {.wait = {{s, 1}}, .signal = {{s, 2}}}));
  ASSERT_OK(
      p.deallocate(q0, block->buffer, {.wait = {{s, 2}}, .signal = {{s, 3}}}));
  // The device finishes; the host looks at nothing of Q0.
  EXPECT_ERROR(t.wait(1, device.afterCycles(20'000)), Deadlock, "'T'");
  Result<PoolAllocation> next = p.allocate(q1, 64 << 10, {.signal = {{t, 1}}});
  ASSERT_OK(next.status());
  ASSERT_OK(q1.fill(next->buffer, 2, {.wait = {{t, 1}}}));
  ASSERT_OK(q1.waitIdle());
  for (const RaceReport &race : device.races())
    ADD_FAILURE() << race.print();
}

// What was recorded of a buffer cannot run once the buffer has gone.
TEST_P(MemoryPoolTest, RecordedOperandsMustLive) {
  MemoryPool p = pool();
  Queue q = queue("Q");
  Result<PoolAllocation> block =
      p.allocate(q, 64 << 10, {.barrier = true, .label = "block"});
  ASSERT_OK(block.status());
  Buffer plain = buffer(64, "plain");
  auto record = [&](const Buffer &operand) {
    Result<CommandBuffer> commands = CommandBuffer::create(space, "C");
    EXPECT_OK(commands.status());
    EXPECT_OK(commands->fill(operand, 64, 1));
    EXPECT_OK(commands->finish());
    return *commands;
  };
  CommandBuffer ofBlock = record(block->buffer), ofPlain = record(plain);
  Semaphore go = semaphore("go", true);
  ASSERT_OK(q.execute(ofBlock, {}));
  ASSERT_OK(q.execute(ofPlain, {}, {.wait = {{go, 1}}}));
  // In flight through a command buffer, it is in use.
  EXPECT_ERROR(space.unmap(plain), FailedPrecondition, "in use by 'C'");
  ASSERT_OK(go.signal(1));
  ASSERT_OK(q.waitIdle());
  ASSERT_OK(p.deallocate(q, block->buffer, {.barrier = true}));
  ASSERT_OK(space.unmap(plain));
  EXPECT_ERROR(q.execute(ofBlock, {}), FailedPrecondition,
               "'block' was deallocated");
  EXPECT_ERROR(q.execute(ofPlain, {}), FailedPrecondition,
               "'plain' was unmapped");
  ASSERT_OK(q.waitIdle());
}

// Memory that is given back before its last owner's death is not free before.
TEST_P(MemoryPoolTest, DroppedBeforeTheDeath) {
  MemoryPool p = pool();
  Queue q0 = queue("Q0"), q1 = queue("Q1");
  Semaphore s = semaphore("S"), go = semaphore("go", true);
  Result<PoolAllocation> block = p.allocate(q0, 64 << 10, {.signal = {{s, 1}}});
  ASSERT_OK(block.status());
  ASSERT_OK(q0.fill(block->buffer, 7, {.wait = {{go, 1}}, .signal = {{s, 2}}}));
  ASSERT_OK(
      p.deallocate(q0, block->buffer, {.wait = {{s, 2}}, .signal = {{s, 3}}}));
  for (int round = 1; round <= 3; ++round) {
    // Allocated, ordered after the death or made to wait for it, and dropped.
    SubmitOptions options{.signal = {{semaphore("T"), 1}}};
    if (round == 2)
      options.wait = {{s, 3}};
    Result<PoolAllocation> next = p.allocate(q1, 64 << 10, options);
    ASSERT_OK(next.status());
    EXPECT_EQ(next->outcome,
              round == 2 ? PoolOutcome::Reused : PoolOutcome::NeedsWait);
  }
  EXPECT_EQ(p.statistics().liveBytes, 0u);
  EXPECT_EQ(p.statistics().dyingBytes, 64u << 10);
  EXPECT_EQ(*p.trim(), 0u);
  ASSERT_OK(go.signal(1));
  ASSERT_OK(q0.waitIdle());
  ASSERT_OK(q1.waitIdle());
  EXPECT_EQ(*p.trim(), 64u << 10);
}

// A deallocation that fails ends neither the queue's use of pools nor the use
// of the memory by those who have it still.
TEST_P(MemoryPoolTest, FailedDeallocations) {
  MemoryPool p = pool(128 << 10);
  Queue q = queue("Q"), user = queue("user");
  Semaphore s = semaphore("S"), never = semaphore("never");
  Semaphore go = semaphore("go", true);
  Result<PoolAllocation> block = p.allocate(q, 128 << 10, {.signal = {{s, 1}}});
  ASSERT_OK(block.status());
  ASSERT_OK(user.fill(block->buffer, 7, {.wait = {{go, 1}}}));
  ASSERT_OK(p.deallocate(q, block->buffer, {.wait = {{never, 1}}}));
  block->buffer = Buffer();
  ASSERT_OK(q.hostCall([] { return Status(StatusCode::Aborted, "no"); },
                       {.signal = {{never, 1}}}));
  EXPECT_ERROR(q.waitIdle(), Aborted, "no");
  ASSERT_OK(q.waitIdle());
  // Still in use.
  EXPECT_ERROR(p.allocate(q, 64 << 10, {.signal = {{s, 2}}}).status(),
               ResourceExhausted, "over budget");
  ASSERT_OK(go.signal(1));
  ASSERT_OK(user.waitIdle());
  Result<PoolAllocation> next = p.allocate(q, 64 << 10, {.signal = {{s, 2}}});
  ASSERT_OK(next.status());
  EXPECT_EQ(next->outcome, PoolOutcome::Reused);
  ASSERT_OK(p.deallocate(q, next->buffer));
  ASSERT_OK(q.waitIdle());
  EXPECT_EQ(*p.trim(), 128u << 10);
}

// Use of memory that nothing orders before its deallocation is a race.
TEST_P(MemoryPoolTest, UseAfterDeallocationIsARace) {
  device.detectRaces();
  MemoryPool p = pool();
  Queue q = queue("Q"), user = queue("user");
  Semaphore s = semaphore("S"), go = semaphore("go", true);
  Result<PoolAllocation> block = p.allocate(q, 64 << 10, {.signal = {{s, 1}}});
  ASSERT_OK(block.status());
  ASSERT_OK(user.fill(block->buffer, 1, {.wait = {{s, 1}, {go, 1}}}));
  ASSERT_OK(p.deallocate(q, block->buffer, {.wait = {{s, 1}}}));
  ASSERT_OK(go.signal(1));
  ASSERT_OK(user.waitIdle());
  ASSERT_OK(q.waitIdle());
  ASSERT_EQ(device.races().size(), 1u);
  EXPECT_THAT(device.races()[0].print(), ::testing::HasSubstr("'deallocate'"));
}

TEST_P(MemoryPoolTest, DeadlinesOfAllocations) {
  MemoryPool p = pool();
  Queue q = queue("Q");
  Semaphore s = semaphore("S");
  Result<PoolAllocation> block = p.allocate(q, 64 << 10, {.signal = {{s, 1}}});
  ASSERT_OK(block.status());
  EXPECT_ERROR(
      p.allocate(q, 64 << 10, {.signal = {{s, 2}}}, device.afterCycles(100))
          .status(),
      DeadlineExceeded, "over budget: pool 'P'");
  EXPECT_ERROR(p.allocate(q, 64 << 10, {.signal = {{s, 2}}},
                          Deadline::afterHost(std::chrono::milliseconds(1)))
                   .status(),
               DeadlineExceeded, "over budget: pool 'P'");
}

TESSERA_ON_ALL_DRIVERS(MemoryPoolTest);

} // namespace
