//===- MemoryScenarios.cpp - Allocation under pressure -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConformanceFixture.h"
#include "tessera/runtime/MemoryPool.h"
#include "tessera/runtime/Stream.h"
#include <thread>

using namespace tessera;
using namespace tessera::runtime;

namespace {

class MemoryConformance : public Conformance {};

TEST_P(MemoryConformance, oom_kinds) {
  uint64_t total = device.driver().memorySize(isa::PhysicalSpace::Dram);
  uint64_t half = total / 2;
  Buffer first = buffer(half, "first");
  BufferOptions options;
  options.label = "second";
  EXPECT_ERROR(space.allocate(half, options).status(), OutOfMemory, "'second'");
  first = Buffer();
  EXPECT_OK(space.allocate(half, options).status());
}

// With a pool: told apart; retry works; pending frees are waited for.
TEST_P(MemoryConformance, oom_kinds_of_pools) {
  Result<Stream> stream = Stream::create(space);
  ASSERT_OK(stream.status());
  PoolOptions options;
  options.budgetBytes = 1 << 20;
  options.chunkBytes = 1 << 20;
  Result<MemoryPool> pool = MemoryPool::create(space, options);
  ASSERT_OK(pool.status());
  constexpr uint64_t quarter = 256 << 10;
  std::vector<Buffer> parts;
  for (int i = 0; i < 4; ++i) {
    Result<PoolAllocation> part = pool->allocate(*stream, quarter);
    ASSERT_OK(part.status());
    EXPECT_EQ(part->outcome, i ? PoolOutcome::Reused : PoolOutcome::Fresh);
    parts.push_back(part->buffer);
  }
  EXPECT_ERROR(pool->allocate(*stream, quarter).status(), ResourceExhausted,
               "over budget");
  ASSERT_OK(pool->deallocate(*stream, parts[0]));
  ASSERT_OK(pool->deallocate(*stream, parts[2]));
  ASSERT_OK(stream->waitIdle());
  EXPECT_ERROR(pool->allocate(*stream, 2 * quarter).status(), OutOfMemory,
               "fragmented");
  ASSERT_OK(pool->deallocate(*stream, parts[1]));
  ASSERT_OK(stream->waitIdle());
  Result<PoolAllocation> retry = pool->allocate(*stream, 3 * quarter);
  ASSERT_OK(retry.status());
  EXPECT_EQ(retry->outcome, PoolOutcome::Reused);

  PoolOptions greedy;
  greedy.chunkBytes = 64 << 10;
  Result<MemoryPool> all = MemoryPool::create(space, greedy);
  ASSERT_OK(all.status());
  uint64_t dram = device.driver().memorySize(isa::PhysicalSpace::Dram);
  EXPECT_ERROR(all->allocate(*stream, dram).status(), OutOfMemory, "exhausted");

  // Freed behind the allocation itself: it would wait for itself.
  Queue q0 = queue("Q0"), q1 = queue("Q1");
  Semaphore s = semaphore("S"), t = semaphore("T");
  ASSERT_OK(q0.fill(parts[3], 1, {.wait = {{s, 1}}, .signal = {{t, 1}}}));
  ASSERT_OK(pool->deallocate(q0, parts[3], {.wait = {{t, 1}}}));
  EXPECT_ERROR(pool->allocate(q1, quarter, {.signal = {{s, 1}}}).status(),
               Deadlock, "behind this allocation itself");
  // Ordered after nothing, it waits for the pending free.
  Semaphore u = semaphore("U");
  Result<PoolAllocation> waits =
      pool->allocate(q1, quarter, {.signal = {{u, 1}}});
  ASSERT_OK(waits.status());
  EXPECT_EQ(waits->outcome, PoolOutcome::NeedsWait);
  ASSERT_OK(q1.signal({.signal = {{s, 1}}}));
  ASSERT_OK(u.wait(1));

  PoolStatistics counts = pool->statistics();
  EXPECT_EQ(counts.overBudget, 1u);
  EXPECT_EQ(counts.fragmented, 1u);
  EXPECT_EQ(counts.neededWait, 1u);
  EXPECT_EQ(counts.heldBytes, 1u << 20);
}

// Q0 deallocates at S, Q1 allocates the same size: the memory is the same and
// its first write comes after S.
TEST_P(MemoryConformance, dealloca_alloca_reuse) {
  Queue q0 = queue("Q0"), q1 = queue("Q1");
  PoolOptions options;
  options.budgetBytes = options.chunkBytes = 64 << 10;
  Result<MemoryPool> pool = MemoryPool::create(space, options);
  ASSERT_OK(pool.status());
  Semaphore s = semaphore("S"), t = semaphore("T"), go = semaphore("go", true);
  Buffer out = buffer(64 << 10);
  for (uint32_t round = 1; round <= 6; ++round) {
    // Odd rounds: Q1 comes after the deallocation by S. Even ones: it does not,
    // and has to wait for it.
    bool ordered = round % 2;
    uint64_t base = 4 * uint64_t(round);
    dope(out);
    Result<PoolAllocation> first =
        pool->allocate(q0, 64 << 10, {.signal = {{s, base}}});
    ASSERT_OK(first.status());
    uint64_t address = first->buffer.address();
    ASSERT_OK(
        q0.fill(first->buffer, round,
                {.wait = {{s, base}, {go, round}}, .signal = {{s, base + 1}}}));
    ASSERT_OK(q0.copy(out, first->buffer,
                      {.wait = {{s, base + 1}}, .signal = {{s, base + 2}}}));
    ASSERT_OK(
        pool->deallocate(q0, first->buffer,
                         {.wait = {{s, base + 2}}, .signal = {{s, base + 3}}}));
    EXPECT_ERROR(q0.fill(first->buffer, 0), FailedPrecondition,
                 "was deallocated");
    SubmitOptions allocation{.signal = {{t, base}}};
    if (ordered)
      allocation.wait = {{s, base + 3}};
    Result<PoolAllocation> second = pool->allocate(q1, 64 << 10, allocation);
    ASSERT_OK(second.status());
    EXPECT_EQ(second->outcome,
              ordered ? PoolOutcome::Reused : PoolOutcome::NeedsWait);
    EXPECT_EQ(second->buffer.address(), address);
    ASSERT_OK(q1.fill(second->buffer, 0xbad,
                      {.wait = {{t, base}}, .signal = {{t, base + 1}}}));
    EXPECT_ERROR(t.wait(base + 1, device.afterCycles(5000)), DeadlineExceeded,
                 "'T'");
    ASSERT_OK(go.signal(round));
    ASSERT_OK(t.wait(base + 1));
    ASSERT_GE(*s.value(), base + 2);
    ASSERT_TRUE(allAre(contents(out), round));
    ASSERT_OK(pool->deallocate(q1, second->buffer));
    EXPECT_ERROR(pool->deallocate(q1, second->buffer), FailedPrecondition,
                 "was deallocated");
    ASSERT_OK(q1.waitIdle());
  }
  EXPECT_EQ(pool->statistics().liveBytes, 0u);
  Result<uint64_t> trimmed = pool->trim();
  ASSERT_OK(trimmed.status());
  EXPECT_EQ(*trimmed, 64u << 10);
}

// A thread that waits for memory is woken by another's deallocation.
TEST_P(MemoryConformance, pool_waiters_are_woken) {
  Queue q = queue();
  PoolOptions options;
  options.budgetBytes = options.chunkBytes = 64 << 10;
  Result<MemoryPool> pool = MemoryPool::create(space, options);
  ASSERT_OK(pool.status());
  Semaphore s = semaphore("S");
  Result<PoolAllocation> first =
      pool->allocate(q, 64 << 10, {.signal = {{s, 1}}});
  ASSERT_OK(first.status());
  Status waited;
  std::thread waiter([&] {
    waited =
        pool->allocate(q, 64 << 10, {.signal = {{s, 2}}}, Deadline::infinite())
            .status();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_OK(pool->deallocate(q, first->buffer));
  waiter.join();
  EXPECT_OK(waited);
  ASSERT_OK(s.wait(2));
}

TEST_P(MemoryConformance, unmap_in_flight) {
  Queue q = queue("Q"), other = queue("other");
  Semaphore go = semaphore("go", true), s = semaphore("S");
  Buffer a = buffer(64 << 10, "A"), b = buffer(64 << 10, "B");
  ASSERT_OK(
      q.fill(a, 1, {.wait = {{go, 1}}, .signal = {{s, 1}}, .label = "use"}));
  EXPECT_ERROR(space.unmap(a), FailedPrecondition, "'A' is in use by 'use'");
  // Deferred: no new use, and it goes with the last one.
  uint64_t used = device.bytesInUse(isa::PhysicalSpace::Dram);
  ASSERT_OK(space.unmap(a, WhenInUse::Defer));
  EXPECT_ERROR(q.fill(a, 2), FailedPrecondition, "'A' was unmapped");
  EXPECT_ERROR(space.unmap(a), FailedPrecondition, "'A' was unmapped");
  EXPECT_EQ(device.bytesInUse(isa::PhysicalSpace::Dram), used);
  ASSERT_OK(go.signal(1));
  ASSERT_OK(s.wait(1));
  ASSERT_OK(q.waitIdle());
  EXPECT_EQ(device.bytesInUse(isa::PhysicalSpace::Dram), used - (64 << 10));

  // Forced: exactly that queue faults.
  Buffer c = buffer(64 << 10, "C");
  ASSERT_OK(
      q.fill(c, 1, {.wait = {{go, 2}}, .signal = {{s, 2}}, .label = "hit"}));
  ASSERT_OK(other.fill(b, 3, {.wait = {{go, 2}}}));
  ASSERT_OK(space.unmap(c, WhenInUse::Force));
  ASSERT_OK(go.signal(2));
  EXPECT_ERROR(s.wait(2), PageFault, "'hit'");
  ASSERT_OK(other.waitIdle());
  EXPECT_TRUE(allAre(contents(b), 3));
}

TEST_P(MemoryConformance, protect_in_place) {
  Queue q = queue("Q");
  Buffer a = buffer(64 << 10);
  ASSERT_OK(q.fill(a, 1));
  ASSERT_OK(q.waitIdle());
  ASSERT_OK(
      space.protect(a.address(), 64 << 10, {.read = true, .write = false}));
  ASSERT_OK(q.fill(a, 2));
  EXPECT_ERROR(q.waitIdle(), PageFault, "ProtectionFault");
  EXPECT_TRUE(allAre(contents(a), 1));
  ASSERT_OK(q.reset());
  ASSERT_OK(space.protect(a.address(), 64 << 10, {}));
  ASSERT_OK(q.fill(a, 3));
  ASSERT_OK(q.waitIdle());
  EXPECT_TRUE(allAre(contents(a), 3));
  EXPECT_ERROR(space.protect(a.address(), 128 << 10, {}), FailedPrecondition,
               "is not mapped");
}

TESSERA_CONFORMANCE(MemoryConformance);

} // namespace
