//===- RetractionTest.cpp - Queues that stop in mid-work -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A queue is taken off the device while it has work there: because something in
// it waits for work that has failed, because it has faulted, or by reset. What
// has started runs to its end exactly once, or stops for good.
//
//===----------------------------------------------------------------------===//

#include "RuntimeFixture.h"
#include "TestKernels.h"
#include <algorithm>

using namespace tessera;
using namespace tessera::runtime;

namespace {

class RetractionTest : public RuntimeTest {
protected:
  /// A packet that is illegal, and is looked at behind all before it.
  static std::array<uint8_t, isa::packetBytes> illegal() {
    auto packet =
        isa::encode(isa::Packet{isa::packetBarrier, 0, isa::NopPacket{}});
    packet[0] = 77;
    return packet;
  }
  /// Work of another queue that fails about `bytes` of a copy later, instead of
  /// signalling `s` = 1.
  void failLater(Semaphore s, uint64_t bytes) {
    failing = queue("failing");
    Buffer scratch = buffer(bytes);
    ASSERT_OK(failing.fill(scratch, 3));
    ASSERT_OK(failing.submitRaw(illegal(), {.signal = {{s, 1}}}));
  }
  /// Matchers take too long for so many words.
  bool isAll(const Buffer &buffer, uint32_t word) {
    std::vector<uint32_t> words = contents(buffer);
    return std::ranges::count(words, word) == std::ptrdiff_t(words.size());
  }
  Queue failing;
};

// An operation of several packets, of which some are done, is not begun again.
TEST_P(RetractionTest, OperationInPart) {
  Queue q = queue("Q"), busy = queue("busy");
  Result<TestKernel> kernel = TestKernel::create(space, TestKernel::spin(100));
  Result<TestKernel> longer =
      TestKernel::create(space, TestKernel::spin(400'000));
  ASSERT_OK(kernel.status());
  ASSERT_OK(longer.status());
  Semaphore a = semaphore("A", true), b = semaphore("B", true);
  Semaphore f = semaphore("F"), s = semaphore("S"), t = semaphore("T"),
            late = semaphore("late");
  ASSERT_OK(a.signal(1));
  ASSERT_OK(b.signal(1));
  ASSERT_OK(busy.dispatch(longer->kernel(), {}, {}));
  failLater(f, 1 << 20);
  // Its waits meet before it, in a packet of their own; then it lacks a core.
  ASSERT_OK(q.dispatch(kernel->kernel(), {}, {},
                       {.wait = {{a, 1}, {b, 1}}, .signal = {{s, 1}, {t, 1}}}));
  ASSERT_OK(q.fill(buffer(64), 7, {.wait = {{f, 1}}, .signal = {{late, 1}}}));
  EXPECT_ERROR(late.wait(1), InvalidArgument, "waits for semaphore 'F'");
  EXPECT_OK(s.wait(1));
  EXPECT_OK(t.wait(1));
  EXPECT_ERROR(q.waitIdle(), InvalidArgument, "'F'");
  EXPECT_OK(q.waitIdle());
  EXPECT_OK(q.status());
}

TEST_P(RetractionTest, CommandBufferInMidRun) {
  Queue q = queue("Q");
  Semaphore f = semaphore("F"), late = semaphore("late"), s = semaphore("S");
  constexpr uint64_t bytes = 1 << 20;
  Buffer x = buffer(bytes, "X"), y = buffer(bytes, "Y"),
         other = buffer(4 * bytes);
  ASSERT_OK(q.fill(x, 1));
  ASSERT_OK(q.waitIdle());
  // Twice it would give another result.
  Result<CommandBuffer> commands = CommandBuffer::create(space, "C");
  ASSERT_OK(commands.status());
  ASSERT_OK(commands->copy(BufferRange(y), BufferRange(x), bytes));
  ASSERT_OK(commands->fill(BufferRange(x), bytes, 9, true));
  for (uint32_t i = 0; i < 8; ++i)
    ASSERT_OK(commands->fill(BufferRange(other), 4 * bytes, i, true));
  ASSERT_OK(commands->finish());
  ASSERT_OK(q.execute(*commands, {}, {.signal = {{s, 1}}}));
  failLater(f, 4 * bytes);
  ASSERT_OK(q.fill(buffer(64), 5, {.wait = {{f, 1}}, .signal = {{late, 1}}}));
  EXPECT_ERROR(late.wait(1), InvalidArgument, "waits for semaphore 'F'");
  EXPECT_OK(s.wait(1));
  EXPECT_TRUE(isAll(x, 9u));
  EXPECT_TRUE(isAll(y, 1u));
  EXPECT_TRUE(isAll(other, 7u));
  EXPECT_FALSE(q.waitIdle().ok());
  EXPECT_OK(q.waitIdle());
}

// A fault of its queue does not stop a command buffer that has started.
TEST_P(RetractionTest, CommandBufferBesideAFault) {
  Queue q = queue("Q");
  Semaphore s = semaphore("S");
  Buffer x = buffer(64, "X"), y = buffer(1 << 20, "Y");
  Result<CommandBuffer> commands = CommandBuffer::create(space, "C");
  ASSERT_OK(commands.status());
  for (uint32_t i = 1; i <= 12; ++i)
    ASSERT_OK(commands->fill(BufferRange(i % 2 ? y : x), i % 2 ? 1 << 20 : 64,
                             i, true));
  ASSERT_OK(commands->finish());
  ASSERT_OK(q.execute(*commands, {}, {.signal = {{s, 1}}}));
  // Nothing is mapped there.
  ASSERT_OK(q.submitRaw(
      isa::encode(isa::Packet{0, 0, isa::FillPacket{4096, 64, 0, {}, {}}})));
  EXPECT_ERROR(q.waitIdle(), PageFault, "'raw packet'");
  EXPECT_OK(s.wait(1));
  EXPECT_TRUE(isAll(x, 12u));
  EXPECT_TRUE(isAll(y, 11u));
  // Of the one at fault nothing more starts.
  ASSERT_OK(q.reset());
  Result<CommandBuffer> bad = CommandBuffer::create(space, "B");
  ASSERT_OK(bad.status());
  ASSERT_OK(bad->fill(BufferRange(x), 64, 20));
  ASSERT_OK(bad->append(illegal(), {}));
  ASSERT_OK(bad->fill(BufferRange(x), 64, 21, true));
  ASSERT_OK(bad->finish());
  ASSERT_OK(q.execute(*bad, {}));
  EXPECT_ERROR(q.waitIdle(), InvalidArgument, "'B', command 1");
  // The null device decodes all of a command buffer before it runs any.
  EXPECT_TRUE(isAll(x, GetParam() == "null" ? 12u : 20u));
}

TEST_P(RetractionTest, ResetStopsCopies) {
  if (GetParam() == "null")
    GTEST_SKIP() << "it copies in no time";
  Queue q = queue("Q"), other = queue("other");
  constexpr uint64_t bytes = 4 << 20;
  Buffer a = buffer(bytes), b = buffer(bytes), c = buffer(bytes);
  ASSERT_OK(q.copy(b, a));
  ASSERT_OK(q.copy(c, b));
  EXPECT_ERROR(q.waitIdle(device.afterCycles(3000)), DeadlineExceeded, "'Q'");
  ASSERT_OK(q.reset());
  dope(b);
  dope(c);
  Buffer d = buffer(bytes);
  for (uint32_t i = 1; i <= 3; ++i)
    ASSERT_OK(other.fill(d, i, {.barrier = true}));
  ASSERT_OK(other.waitIdle());
  EXPECT_TRUE(isAll(d, 3u));
  EXPECT_TRUE(isAll(b, 0xdeadbeefu));
  EXPECT_TRUE(isAll(c, 0xdeadbeefu));
  ASSERT_OK(q.copy(b, d));
  ASSERT_OK(q.waitIdle());
  EXPECT_TRUE(isAll(b, 3u));
}

// Faults of a page are one report; what queues do wrong is their own.
TEST_P(RetractionTest, FaultsOfEachQueueAreTold) {
  Queue q = queue("Q"), r = queue("R");
  for (Queue *each : {&q, &r}) {
    ASSERT_OK(each->submitRaw(illegal()));
    EXPECT_FALSE(each->waitIdle().ok());
  }
  std::vector<FaultReport> faults = device.faults();
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].queue, "Q");
  EXPECT_EQ(faults[1].queue, "R");
  for (Queue *each : {&q, &r}) {
    ASSERT_OK(each->reset());
    ASSERT_OK(each->submitRaw(
        isa::encode(isa::Packet{0, 0, isa::FillPacket{4096, 64, 0, {}, {}}})));
    EXPECT_FALSE(each->waitIdle().ok());
  }
  faults = device.faults();
  ASSERT_EQ(faults.size(), 3u);
  EXPECT_EQ(faults[2].count, 2u);
}

TESSERA_ON_ALL_DRIVERS(RetractionTest);

} // namespace
