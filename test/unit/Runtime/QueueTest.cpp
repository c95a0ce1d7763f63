//===- QueueTest.cpp - Operations of a queue ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeFixture.h"

using namespace tessera;
using namespace tessera::runtime;
using ::testing::Each;
using ::testing::ElementsAre;

namespace {

class QueueTest : public RuntimeTest {};

TEST_P(QueueTest, FillAndCopyRanges) {
  Queue q = queue();
  Buffer a = buffer(64), b = buffer(64);
  dope(a), dope(b);
  EXPECT_OK(q.fill({a, 16, 32}, 7));
  EXPECT_OK(q.copy({b, 0, 16}, {a, 24, 16}, {.barrier = true}));
  EXPECT_OK(q.waitIdle());
  std::vector<uint32_t> words = contents(b);
  EXPECT_THAT(std::span(words).first(4), ElementsAre(7, 7, 7, 7));
  EXPECT_EQ(words[4], 0xdeadbeef);
  EXPECT_EQ(contents(a)[3], 0xdeadbeef);
  EXPECT_EQ(contents(a)[12], 0xdeadbeef);
  EXPECT_EQ(q.submitted(), 2u);
  EXPECT_EQ(q.completed(), 2u);
}

// A copy over page borders of both sizes, through 2 MiB and 64 KiB pages.
TEST_P(QueueTest, CopyAcrossPages) {
  Queue q = queue();
  uint64_t size = (2 << 20) + 3 * 65536;
  Buffer a = buffer(size), b = buffer(size);
  std::vector<uint32_t> words(size / 4);
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = i;
  EXPECT_OK(a.write(0, std::as_bytes(std::span(words))));
  EXPECT_OK(q.copy({b, 4, size - 8}, {a, 8, size - 8}));
  EXPECT_OK(q.waitIdle());
  std::vector<uint32_t> moved = contents(b);
  for (size_t i = 1; i + 1 < words.size(); ++i)
    ASSERT_EQ(moved[i], i + 1);
}

// update_captures_source: the old contents arrive.
TEST_P(QueueTest, UpdateCapturesAndReadBackReturns) {
  Queue q = queue();
  Buffer a = buffer(64);
  std::vector<uint32_t> data(16, 1), read(16);
  EXPECT_OK(q.update(a, std::as_bytes(std::span(data))));
  data.assign(16, 2);
  EXPECT_OK(q.readBack(a, std::as_writable_bytes(std::span(read)),
                       {.barrier = true}));
  EXPECT_THAT(read, Each(1u));
}

TEST_P(QueueTest, TimestampsGrow) {
  Queue q = queue();
  Buffer a = buffer(16);
  EXPECT_OK(q.timestamp({a, 0}));
  EXPECT_OK(q.barrier());
  EXPECT_OK(q.timestamp({a, 8}));
  EXPECT_OK(q.waitIdle());
  uint64_t times[2];
  EXPECT_OK(a.read(0, std::as_writable_bytes(std::span(times))));
  EXPECT_LT(0u, times[0]);
  EXPECT_LT(times[0], times[1]);
  EXPECT_LE(times[1], device.now());
}

TEST_P(QueueTest, SeveralSignalsAndAHugeValue) {
  Queue q = queue();
  Buffer a = buffer(64);
  Semaphore s = semaphore("S"), t = semaphore("T"), u = semaphore("U");
  EXPECT_OK(q.fill(a, 1, {.signal = {{s, 1}, {t, 2}, {u, 1ull << 40}}}));
  EXPECT_OK(s.wait(1));
  EXPECT_OK(t.wait(2));
  EXPECT_OK(u.wait(1ull << 40));
  EXPECT_OK(q.signal({.signal = {{u, ~0ull}}}));
  EXPECT_OK(u.wait(~0ull));
  // A timeline ends at 2^64 - 1.
  EXPECT_ERROR(q.signal({.signal = {{u, 1}}}), InvalidArgument, "'U'");
}

TEST_P(QueueTest, EmptySemaphoreIsSatisfied) {
  Queue q = queue();
  Buffer a = buffer(64);
  EXPECT_OK(
      q.fill(a, 1, {.wait = {{Semaphore(), 7}}, .signal = {{Semaphore(), 7}}}));
  EXPECT_OK(q.waitIdle());
  EXPECT_THAT(contents(a), Each(1u));
}

TEST_P(QueueTest, MisuseIsNamedAndChangesNothing) {
  Queue q = queue("transfers");
  Buffer a = buffer(64, "A");
  Result<AddressSpace> otherSpace = AddressSpace::create(device, "other");
  ASSERT_OK(otherSpace.status());
  Result<Buffer> foreign = otherSpace->allocate(64);
  ASSERT_OK(foreign.status());
  Semaphore s = semaphore("S");

  EXPECT_ERROR(q.copy(a, BufferRange(a, 60, 8)), InvalidArgument,
               "buffer 'A': bytes 60 to 68");
  EXPECT_ERROR(q.copy({a, 0, 8}, {a, 32, 16}), InvalidArgument, "16 bytes");
  EXPECT_ERROR(q.fill({a, 0, 6}, 0), InvalidArgument, "multiples of 4");
  EXPECT_ERROR(q.fill({a, 64}, 0), InvalidArgument, "0 bytes");
  EXPECT_ERROR(q.fill(Buffer(), 0, {.label = "clear"}), FailedPrecondition,
               "'clear'");
  EXPECT_ERROR(q.fill(*foreign, 0), InvalidArgument, "'other'");
  EXPECT_ERROR(q.signal({}), InvalidArgument, "'transfers'");
  EXPECT_ERROR(q.fill(a, 0, {.signal = {{s, 0}}}), InvalidArgument, "'S'");
  EXPECT_ERROR(q.fill(a, 0, {.signal = {{s, 1}, {s, 2}}}), InvalidArgument,
               "twice");
  EXPECT_ERROR(q.timestamp({a, 4}), InvalidArgument, "multiple of 8");
  EXPECT_ERROR(q.execute(CommandBuffer(), {}), FailedPrecondition, "'execute'");
  EXPECT_ERROR(q.dispatch({}, a, {}), FailedPrecondition, "empty kernel");
  EXPECT_EQ(q.submitted(), 0u);

  EXPECT_OK(q.fill(a, 0, {.wait = {{s, 1}}, .signal = {{s, 2}}}));
  EXPECT_ERROR(q.fill(a, 0, {.signal = {{s, 2}}}), InvalidArgument, "promised");

  EXPECT_ERROR(Queue().waitIdle(), FailedPrecondition, "empty handle");
  EXPECT_ERROR(Queue::create(space, {.packets = 3}).status(), InvalidArgument,
               "power of two");
  EXPECT_ERROR(Queue::create(space, {.priority = 16}).status(), InvalidArgument,
               "priority 16");
}

// 64 queues on the device's 4 slots, each waiting for its neighbour: first to
// last submitted, the last one starts the chain.
TEST_P(QueueTest, ManyQueuesShareTheSlots) {
  ASSERT_EQ(device.architecture().cp.queues, 4u);
  std::vector<Queue> all;
  std::vector<Semaphore> s;
  std::vector<Buffer> buffers;
  constexpr int count = 64;
  for (int i = 0; i <= count; ++i) {
    if (i < count)
      all.push_back(queue("Q" + std::to_string(i)));
    s.push_back(semaphore("S" + std::to_string(i)));
    buffers.push_back(buffer(64));
  }
  for (int i = 0; i < count; ++i)
    ASSERT_OK(all[i].copy(buffers[i], buffers[i + 1],
                          {.wait = {{s[i + 1], 1}}, .signal = {{s[i], 1}}}));
  Queue last = queue("last");
  ASSERT_OK(last.fill(buffers[count], 42, {.signal = {{s[count], 1}}}));
  ASSERT_OK(s[0].wait(1));
  EXPECT_THAT(contents(buffers[0]), Each(42u));
  for (Queue &q : all)
    EXPECT_OK(q.waitIdle());
  EXPECT_GE(device.statistics().slotSwitches, 65u);
}

TESSERA_ON_ALL_DRIVERS(QueueTest);

} // namespace
