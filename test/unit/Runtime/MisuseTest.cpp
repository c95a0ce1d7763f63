//===- MisuseTest.cpp - Misuse is told and changes nothing ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeFixture.h"
#include "tessera/Arch/IsaKeys.h"
#include "tessera/runtime/Executable.h"
#include "tessera/runtime/MemoryPool.h"
#include "tessera/runtime/Stream.h"
#include "tessera/runtime/VirtualThreads.h"
#include <fmt/format.h>

using namespace tessera;
using namespace tessera::runtime;
using ::testing::Each;

namespace {

class MisuseTest : public RuntimeTest {
protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    Result<Device> made = Device::create(
        makeDriver(GetParam(), tinyArchitecture()), "other device");
    ASSERT_OK(made.status());
    otherDevice = *made;
    Result<AddressSpace> madeSpace =
        AddressSpace::create(otherDevice, "other context");
    ASSERT_OK(madeSpace.status());
    otherSpace = *madeSpace;
  }
  Device otherDevice;
  AddressSpace otherSpace;

  static PoolOptions pool(std::string label) {
    PoolOptions options;
    options.label = std::move(label);
    return options;
  }
};

TEST_P(MisuseTest, HandlesOfAnotherDevice) {
  Queue q = queue("Q");
  Buffer a = buffer(64, "A");
  Result<Semaphore> foreign = Semaphore::create(otherDevice, {.label = "F"});
  ASSERT_OK(foreign.status());
  Result<Buffer> foreignBuffer = otherSpace.allocate(64);
  ASSERT_OK(foreignBuffer.status());
  EXPECT_ERROR(q.fill(a, 1, {.signal = {{*foreign, 1}}}), InvalidArgument,
               "'F' is of another device, 'other device'");
  EXPECT_ERROR(q.fill(a, 1, {.wait = {{*foreign, 1}}}), InvalidArgument, "'F'");
  EXPECT_ERROR(q.copy(a, *foreignBuffer), InvalidArgument, "'other context'");
  EXPECT_ERROR(space.unmap(*foreignBuffer), InvalidArgument, "'other context'");
  Result<MemoryPool> pool =
      MemoryPool::create(otherSpace, MisuseTest::pool("P"));
  ASSERT_OK(pool.status());
  EXPECT_ERROR(pool->allocate(q, 64, {.barrier = true}).status(),
               InvalidArgument, "queue is of address space 'context'");
  EXPECT_EQ(q.submitted(), 0u);
  EXPECT_EQ(pool->statistics().heldBytes, 0u);
}

TEST_P(MisuseTest, PoolsNameWhatIsWrong) {
  Queue q = queue("Q");
  EXPECT_ERROR(MemoryPool::create(AddressSpace()).status(), FailedPrecondition,
               "empty handle");
  PoolOptions nothing, odd;
  nothing.budgetBytes = 0;
  odd.chunkBytes = 1000;
  EXPECT_ERROR(MemoryPool::create(space, nothing).status(), InvalidArgument,
               "0 bytes");
  EXPECT_ERROR(MemoryPool::create(space, odd).status(), InvalidArgument,
               "1000 bytes; must be a multiple of 65536");
  odd.chunkBytes = ~uint64_t(0) << 16;
  EXPECT_ERROR(
      MemoryPool::create(space, odd).status(), InvalidArgument,
      "18446744073709486080 bytes; must be a multiple of 65536, and at "
      "most 2^46");
  Result<MemoryPool> pool = MemoryPool::create(space, MisuseTest::pool("P"));
  ASSERT_OK(pool.status());
  EXPECT_ERROR(pool->allocate(q, 64).status(), InvalidArgument,
               "nothing would order work after");
  EXPECT_ERROR(pool->allocate(q, 0, {.barrier = true}).status(),
               InvalidArgument, "0 bytes");
  EXPECT_ERROR(pool->allocate(q, ~uint64_t(0), {.barrier = true}).status(),
               InvalidArgument, "18446744073709551615 bytes");
  EXPECT_ERROR(pool->allocate(Queue(), 64).status(), FailedPrecondition, "'P'");
  EXPECT_ERROR(MemoryPool().allocate(q, 64).status(), FailedPrecondition,
               "pool: empty handle");
  Buffer plain = buffer(64, "plain"), none;
  EXPECT_ERROR(pool->deallocate(q, plain), InvalidArgument,
               "'plain' is not of this pool");
  EXPECT_ERROR(pool->deallocate(q, none), FailedPrecondition, "empty handle");
  Result<PoolAllocation> block = pool->allocate(q, 64, {.barrier = true});
  ASSERT_OK(block.status());
  EXPECT_ERROR(space.unmap(block->buffer), InvalidArgument, "is of a pool");
  ASSERT_OK(pool->deallocate(q, block->buffer));
  std::byte byte{};
  EXPECT_ERROR(block->buffer.read(0, {&byte, 1}), FailedPrecondition,
               "was deallocated");
  EXPECT_ERROR(q.fill(block->buffer, 0), FailedPrecondition, "was deallocated");
  ASSERT_OK(q.waitIdle());
}

TEST_P(MisuseTest, QueuesNameWhatIsWrong) {
  Queue q = queue("Q", 16);
  Semaphore s = semaphore("S");
  EXPECT_ERROR(q.barrierAny({}), InvalidArgument, "0 waits");
  EXPECT_ERROR(q.barrierAny({.wait = {{s, 1}, {s, 2}, {s, 3}, {s, 4}, {s, 5}}}),
               InvalidArgument, "5 waits");
  EXPECT_ERROR(
      q.barrierAny({.wait = {{s, 1}}, .signal = {{s, uint64_t(1) << 32}}}),
      InvalidArgument, "4294967296");
  EXPECT_ERROR(q.hostCall({}), InvalidArgument, "empty function");
  EXPECT_ERROR(q.reserve(0).status(), InvalidArgument, "0 slots");
  EXPECT_ERROR(q.reserve(16).status(), InvalidArgument, "1 to 15");
  EXPECT_ERROR(Queue().reset(), FailedPrecondition, "empty handle");
  EXPECT_ERROR(Queue().hostCall([] { return Status::success(); }),
               FailedPrecondition, "empty handle");
  EXPECT_ERROR(Stream::create(AddressSpace()).status(), FailedPrecondition,
               "'stream'");
  EXPECT_EQ(q.submitted(), 0u);

  Result<Reservation> slots = q.reserve(2);
  ASSERT_OK(slots.status());
  auto nothing = isa::encode(isa::Packet{0, 0, isa::NopPacket{}});
  EXPECT_ERROR(slots->publish(), FailedPrecondition, "slot 0 of 2");
  EXPECT_ERROR(slots->write(2, nothing), InvalidArgument, "slot 2 of 2");
  EXPECT_ERROR(slots->write(0, std::span(nothing).first(8)), InvalidArgument,
               "8 bytes");
  nothing[0] = uint8_t(isa::PacketType::Invalid);
  EXPECT_ERROR(slots->write(0, nothing), InvalidArgument, "Invalid type");
  EXPECT_ERROR(Reservation().publish(), FailedPrecondition, "empty");
}

TEST_P(MisuseTest, RangesThatOverflow) {
  Queue q = queue("Q");
  Buffer a = buffer(64, "A");
  EXPECT_ERROR(q.fill({a, ~uint64_t(0) - 3, 8}, 0), InvalidArgument,
               "'A': 8 bytes from 18446744073709551612 on");
  EXPECT_ERROR(q.fill({a, 8, ~uint64_t(0) - 7}, 0), InvalidArgument, "'A'");
  EXPECT_ERROR(q.update({a, 60}, std::vector<std::byte>(8)), InvalidArgument,
               "'A'");
  EXPECT_ERROR(space.unmap(65536, ~uint64_t(0) - 65535), InvalidArgument,
               "beyond the address space");
  EXPECT_ERROR(space.protect(~uint64_t(0) << 16, 65536, {}), InvalidArgument,
               "48-bit");
  EXPECT_ERROR(space.reserve(uint64_t(1) << 60).status(), OutOfMemory,
               "virtual addresses");
  EXPECT_EQ(q.submitted(), 0u);
}

TEST_P(MisuseTest, EmptyHandles) {
  Device none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.label(), "");
  EXPECT_EQ(none.now(), 0u);
  EXPECT_EQ(none.cycleTime(), 0u);
  EXPECT_EQ(none.bytesInUse(isa::PhysicalSpace::Dram), 0u);
  EXPECT_EQ(none.memoryStatistics(isa::PhysicalSpace::Dram).total, 0u);
  EXPECT_EQ(none.statistics().operationsAccepted, 0u);
  EXPECT_TRUE(none.faults().empty());
  none.detectRaces();
  EXPECT_TRUE(none.races().empty());
  EXPECT_TRUE(none.hangDump().queues.empty());
  EXPECT_ERROR(none.checkWork(), FailedPrecondition, "device: empty handle");
  EXPECT_ERROR(none.close(), FailedPrecondition, "device: empty handle");
  EXPECT_ERROR(none.reset(), FailedPrecondition, "device: empty handle");
  EXPECT_ERROR(AddressSpace::create(none).status(), FailedPrecondition,
               "empty handle");
  EXPECT_ERROR(Semaphore::create(none).status(), FailedPrecondition,
               "empty handle");
  EXPECT_ERROR(VirtualThreads(none, 1).run(), FailedPrecondition,
               "empty handle");
  AddressSpace nowhere;
  EXPECT_ERROR(nowhere.allocate(64).status(), FailedPrecondition,
               "address space: empty handle");
  EXPECT_ERROR(nowhere.reserve(65536).status(), FailedPrecondition,
               "address space: empty handle");
  EXPECT_ERROR(nowhere.unmap(Buffer()), FailedPrecondition, "empty handle");
  EXPECT_ERROR(Queue::create(nowhere).status(), FailedPrecondition,
               "empty handle");
  EXPECT_ERROR(CommandBuffer::create(nowhere).status(), FailedPrecondition,
               "empty handle");
  EXPECT_ERROR(Executable::load(nowhere, Object()).status(), FailedPrecondition,
               "empty handle");
  EXPECT_ERROR(Executable().kernel("k").status(), FailedPrecondition,
               "empty handle");
  EXPECT_ERROR(Semaphore().wait(1), FailedPrecondition, "empty handle");
  EXPECT_ERROR(Semaphore().signal(1), FailedPrecondition, "empty handle");
  EXPECT_ERROR(Semaphore().value().status(), FailedPrecondition,
               "empty handle");
  std::byte byte{};
  EXPECT_ERROR(Buffer().read(0, {&byte, 1}), FailedPrecondition,
               "empty handle");
  EXPECT_ERROR(Buffer().write(0, {&byte, 1}), FailedPrecondition,
               "empty handle");
  CommandBuffer commands;
  EXPECT_ERROR(commands.copy(Binding{0}, Binding{1}, 4), FailedPrecondition,
               "empty handle");
  EXPECT_ERROR(commands.uses(Buffer(), Use::Read), FailedPrecondition,
               "empty handle");
  EXPECT_ERROR(commands.finish(), FailedPrecondition, "empty handle");
  Queue q = queue("Q");
  EXPECT_ERROR(q.execute(commands, {}), FailedPrecondition,
               "empty or not finished");
  EXPECT_ERROR(q.dispatch(Kernel(), {}, {}), FailedPrecondition,
               "empty kernel handle");
  EXPECT_EQ(q.submitted(), 0u);
}

TEST_P(MisuseTest, VirtualThreads) {
  VirtualThreads threads(device, 1);
  threads.add({});
  EXPECT_ERROR(threads.run(), InvalidArgument, "thread 0 is an empty function");
  VirtualThreads once(device, 1);
  int ran = 0;
  once.add([&] { ++ran; });
  ASSERT_OK(once.run());
  EXPECT_ERROR(once.run(), FailedPrecondition, "they have run already");
  EXPECT_EQ(ran, 1);
  VirtualThreads thrown(device, 1);
  thrown.add([&] { ++ran; });
  thrown.add([]() { throw 7; });
  EXPECT_ERROR(thrown.run(), Internal, "thread 1 threw an exception");
  EXPECT_EQ(ran, 2);
}

TEST_P(MisuseTest, FillsThatAreNotAligned) {
  Queue q = queue("Q");
  Buffer a = buffer(64, "A");
  Result<CommandBuffer> commands = CommandBuffer::create(space, "C");
  ASSERT_OK(commands.status());
  EXPECT_ERROR(q.fill({a, 2, 8}, 1), InvalidArgument, "offset 2 of buffer 'A'");
  EXPECT_ERROR(commands->fill(BufferRange(a, 2, 8), 8, 1), InvalidArgument,
               "'C': fill of buffer 'A' from offset 2");
  EXPECT_ERROR(commands->fill(Binding{3, 6}, 8, 1), InvalidArgument,
               "'C': fill of binding 3 from offset 6");
  EXPECT_EQ(commands->numCommands(), 0u);
  EXPECT_EQ(commands->numBindings(), 0u);
}

TEST_P(MisuseTest, HostCallsThatThrow) {
  Queue q = queue("Q");
  Semaphore s = semaphore("S");
  ASSERT_OK(q.hostCall([]() -> Status { throw 7; },
                       {.signal = {{s, 1}}, .label = "bad"}));
  EXPECT_ERROR(s.wait(1), Internal, "host call 'bad': it threw");
  EXPECT_ERROR(q.waitIdle(), Internal, "it threw");
  ASSERT_OK(q.waitIdle());
}

TEST_P(MisuseTest, DeclaredUses) {
  Queue q = queue("Q");
  Buffer a = buffer(64, "A");
  Result<CommandBuffer> commands = CommandBuffer::create(space, "C");
  ASSERT_OK(commands.status());
  EXPECT_ERROR(commands->uses(Buffer(), Use::Read), FailedPrecondition,
               "'C': operand is an empty buffer handle");
  EXPECT_ERROR(commands->uses({a, 60, 8}, Use::Read), InvalidArgument, "'A'");
  Result<Buffer> foreign = otherSpace.allocate(64);
  ASSERT_OK(foreign.status());
  EXPECT_ERROR(commands->uses(*foreign, Use::Read), InvalidArgument,
               "another address space");
  EXPECT_ERROR(q.fill(a, 1, {.uses = {{*foreign, Use::Read}}}), InvalidArgument,
               "'other context'");
  EXPECT_ERROR(q.fill(a, 1, {.uses = {{{a, 32, 40}, Use::Read}}}),
               InvalidArgument, "bytes 32 to 72");
  EXPECT_EQ(q.submitted(), 0u);
}

// A null handle is a wait that is met already, whatever the others say.
TEST_P(MisuseTest, AlternativesWithAnEmptySemaphore) {
  Queue q = queue("Q");
  Semaphore s = semaphore("S", true), t = semaphore("T");
  ASSERT_OK(
      q.barrierAny({.wait = {{s, 1}, {Semaphore(), 3}}, .signal = {{t, 1}}}));
  ASSERT_OK(t.wait(1, device.afterCycles(100'000)));
  ASSERT_OK(q.waitIdle());
}

TEST_P(MisuseTest, DispatchesThatCannotBe) {
  Queue q = queue("Q");
  const Architecture &arch = device.architecture();
  auto columns = uint8_t(arch.cores.meshX), rows = uint8_t(arch.cores.meshY);
  Buffer code = buffer(64);
  Kernel kernel{"k", code.address(), 0, {}};
  Result<CommandBuffer> commands = CommandBuffer::create(space, "C");
  ASSERT_OK(commands.status());
  for (CoreRectangle cores :
       {CoreRectangle{0, 0, 0, 1}, CoreRectangle{0, 0, 1, 0},
        CoreRectangle{columns, 0, 1, 1}, CoreRectangle{0, rows, 1, 1},
        CoreRectangle{0, 0, uint8_t(columns + 1), 1},
        CoreRectangle{255, 0, 255, 1}}) {
    std::string text = fmt::format("{} x {} cores at ({}, {})", cores.width,
                                   cores.height, cores.x, cores.y);
    EXPECT_ERROR(q.dispatch(kernel, {}, cores), InvalidArgument, text);
    EXPECT_ERROR(commands->dispatch(kernel, BufferRange(), cores),
                 InvalidArgument, text);
  }
  kernel.numArguments = 1 << 20;
  Buffer arguments = buffer(8 << 20);
  EXPECT_ERROR(q.dispatch(kernel, arguments, {}), InvalidArgument,
               "1048576 arguments; at most 4096");
  EXPECT_ERROR(commands->dispatch(kernel, BufferRange(arguments), {}),
               InvalidArgument, "1048576 arguments; at most 4096");
  EXPECT_EQ(commands->numCommands(), 0u);
  EXPECT_EQ(q.submitted(), 0u);
  EXPECT_OK(q.status());
}

// A deadline further away than the clock reaches is none at all.
TEST_P(MisuseTest, DeadlinesBeyondTheClocks) {
  EXPECT_TRUE(device.afterCycles(~uint64_t(0)).isInfinite());
  EXPECT_TRUE(
      device.afterCycles(~uint64_t(0) / device.cycleTime() + 1).isInfinite());
  Queue q = queue("Q");
  Buffer a = buffer(64);
  Semaphore s = semaphore("S");
  ASSERT_OK(q.fill(a, 1, {.signal = {{s, 1}}}));
  ASSERT_OK(
      s.wait(1, Deadline::afterHost(Deadline::HostClock::duration::max())));
  EXPECT_EQ(Deadline::afterHost(-std::chrono::seconds(1)).isHost(), true);
}

// Signals from the host and from work grow together.
TEST_P(MisuseTest, SignalsThatWouldNotGrow) {
  Queue q = queue("Q");
  Buffer a = buffer(64);
  Semaphore s = semaphore("S", true), go = semaphore("go", true);
  ASSERT_OK(
      q.fill(a, 1, {.wait = {{go, 1}}, .signal = {{s, 5}}, .label = "five"}));
  EXPECT_ERROR(s.signal(10), InvalidArgument,
               "'S': signal 10 would overtake 5, which 'five' signals");
  EXPECT_ERROR(s.signal(5), InvalidArgument, "'S'");
  ASSERT_OK(s.signal(3));
  EXPECT_ERROR(q.fill(a, 1, {.signal = {{s, 3}}}), InvalidArgument, "'S'");
  // Nor do host calls overtake anybody; of several signals none is given then.
  Queue r = queue("R");
  Semaphore t = semaphore("T"), done = semaphore("done");
  ASSERT_OK(q.fill(a, 1, {.wait = {{go, 1}}, .signal = {{t, 3}}}));
  ASSERT_OK(r.hostCall([] { return Status::success(); },
                       {.signal = {{done, 1}, {t, 5}}, .label = "call"}));
  EXPECT_ERROR(done.wait(1), InvalidArgument,
               "'call': semaphore 'T': signal 5 would overtake 3");
  EXPECT_EQ(*done.value(), 0u);
  ASSERT_OK(go.signal(1));
  ASSERT_OK(s.wait(5));
  ASSERT_OK(q.waitIdle());
  EXPECT_EQ(*t.value(), 3u); // It has failed for whoever waits for more.
  ASSERT_OK(s.signal(10));
  EXPECT_ERROR(q.fill(a, 1, {.signal = {{s, 7}}}), InvalidArgument,
               "signal 7 does not raise semaphore 'S', which is 10");
  ASSERT_OK(q.waitIdle());
}

// What was made before a reset says so at every use.
TEST_P(MisuseTest, ObjectsOfBeforeAReset) {
  Queue old = queue("old");
  Semaphore s = semaphore("S", true), reached = semaphore("R", true);
  Buffer a = buffer(64);
  ASSERT_OK(reached.signal(2));
  ASSERT_OK(reached.wait(2));
  ASSERT_OK(device.reset());
  EXPECT_ERROR(old.fill(a, 1), FailedPrecondition, "'old'");
  EXPECT_ERROR(old.reset(), DeviceLost, "'old' was made before");
  EXPECT_ERROR(old.fill(a, 1), FailedPrecondition, "'old'");
  EXPECT_ERROR(s.signal(1), DeviceLost, "'S' was made before");
  EXPECT_ERROR(s.wait(1), DeviceLost, "'S' was made before");
  EXPECT_ERROR(s.value().status(), DeviceLost, "'S' was made before");
  Queue q = queue("Q");
  EXPECT_ERROR(q.fill(a, 1, {.wait = {{s, 1}}}), DeviceLost, "'S'");
  EXPECT_ERROR(q.fill(a, 1, {.wait = {{reached, 2}}}), DeviceLost, "'R'");
  EXPECT_ERROR(q.fill(a, 1, {.signal = {{s, 1}}}), DeviceLost, "'S'");
  EXPECT_EQ(q.submitted(), 0u);
  ASSERT_OK(q.fill(a, 1));
  ASSERT_OK(q.waitIdle());
}

// Slots that are held by reservations can still be given up by the host.
TEST_P(MisuseTest, ReservationsHoldAllSlots) {
  std::vector<Queue> holders;
  std::vector<Reservation> held;
  for (uint32_t i = 0; i < device.architecture().cp.queues; ++i) {
    holders.push_back(queue("holder"));
    Result<Reservation> slots = holders.back().reserve(1);
    ASSERT_OK(slots.status());
    held.push_back(std::move(*slots));
  }
  Queue q = queue("Q");
  Buffer a = buffer(64);
  Semaphore s = semaphore("S");
  ASSERT_OK(q.fill(a, 6, {.signal = {{s, 1}}}));
  EXPECT_ERROR(s.wait(1, device.afterCycles(1000)), DeadlineExceeded, "'S'");
  EXPECT_ERROR(q.waitIdle(device.afterCycles(1000)), DeadlineExceeded, "'Q'");
  held.pop_back(); // Its slot becomes a packet that does nothing.
  ASSERT_OK(s.wait(1));
  EXPECT_THAT(contents(a), Each(6u));
}

// A kernel that an executable has says which address space it is of.
TEST_P(MisuseTest, KernelsOfAnotherSpace) {
  Object object;
  object.architectureName = "tiny";
  object.isaKeys = isaKeys(device.architecture());
  object.timingHash = device.architecture().timingHash();
  KernelCode code;
  code.name = "k";
  code.text.resize(16);
  object.kernels.push_back(code);
  auto nothing = isa::encode(isa::Packet{0, 0, isa::NopPacket{}});
  object.commands.assign(nothing.begin(), nothing.end());
  Result<Executable> loaded = Executable::load(otherSpace, object, "E");
  ASSERT_OK(loaded.status());
  Result<Kernel> kernel = loaded->kernel("k");
  ASSERT_OK(kernel.status());
  Queue q = queue("Q");
  EXPECT_ERROR(q.dispatch(*kernel, {}, {}), InvalidArgument,
               "kernel 'k' is of another address space, 'other context'");
  Result<CommandBuffer> commands = CommandBuffer::create(space, "C");
  ASSERT_OK(commands.status());
  EXPECT_ERROR(commands->dispatch(*kernel, BufferRange(), {}), InvalidArgument,
               "'C': kernel 'k' is of another address space");
  EXPECT_EQ(q.submitted(), 0u);
}

TEST_P(MisuseTest, Snapshots) {
  EXPECT_ERROR(Device().snapshot().status(), FailedPrecondition,
               "empty handle");
  EXPECT_ERROR(device.restore(Snapshot()), FailedPrecondition,
               "empty snapshot");
  Queue q = queue("Q");
  Buffer a = buffer(64);
  Semaphore go = semaphore("go", true), s = semaphore("S");
  ASSERT_OK(q.fill(a, 1, {.signal = {{s, 1}}}));
  ASSERT_OK(q.waitIdle());
  if (GetParam() == "null" || GetParam() == "recorded") {
    EXPECT_ERROR(device.snapshot().status(), Unsupported,
                 GetParam() == "null" ? "null device" : "recording");
    return;
  }
  Result<Snapshot> snapshot = device.snapshot();
  ASSERT_OK(snapshot.status());
  driver::Time then = device.now();
  EXPECT_ERROR(otherDevice.restore(*snapshot), InvalidArgument,
               "another device");
  ASSERT_OK(q.fill(a, 2, {.wait = {{go, 1}}, .signal = {{s, 2}}}));
  EXPECT_ERROR(device.restore(*snapshot), FailedPrecondition,
               "'fill' of queue 'Q' is in flight");
  ASSERT_OK(go.signal(1));
  ASSERT_OK(s.wait(2));
  EXPECT_THAT(contents(a), Each(2u));
  // Twice the same from the same state on, to the cycle.
  driver::Time ends[2];
  for (driver::Time &end : ends) {
    ASSERT_OK(q.waitIdle());
    ASSERT_OK(device.restore(*snapshot));
    EXPECT_EQ(device.now(), then);
    EXPECT_EQ(*s.value(), 1u);
    EXPECT_THAT(contents(a), Each(1u));
    ASSERT_OK(q.fill(a, 3, {.signal = {{s, 2}}}));
    ASSERT_OK(s.wait(2));
    end = device.now();
    EXPECT_THAT(contents(a), Each(3u));
  }
  // Injected faults have a history of their own.
  if (GetParam() != "unreliable")
    EXPECT_EQ(ends[0], ends[1]);
  // A failure that came since is undone, too.
  ASSERT_OK(q.hostCall([] { return Status(StatusCode::Aborted, "no"); },
                       {.signal = {{s, 3}}}));
  EXPECT_ERROR(s.wait(3), Aborted, "no");
  EXPECT_ERROR(q.waitIdle(), Aborted, "no");
  ASSERT_OK(device.restore(*snapshot));
  ASSERT_OK(q.signal({.signal = {{s, 3}}}));
  ASSERT_OK(s.wait(3));
  ASSERT_OK(q.waitIdle());
  Buffer more = buffer(64);
  EXPECT_ERROR(device.restore(*snapshot), FailedPrecondition, "came or went");
  more = Buffer();
  ASSERT_OK(device.restore(*snapshot));
}

// What the runtime takes for a while, and what comes and goes between, is no
// obstacle: its memory, its page tables, its semaphores.
TEST_P(MisuseTest, SnapshotsAroundTransfers) {
  if (GetParam() == "null" || GetParam() == "recorded")
    GTEST_SKIP() << "no snapshots";
  Queue q = queue("Q");
  Buffer a = buffer(64, "A"), b = buffer(64, "B");
  Semaphore s = semaphore("S"), t = semaphore("T");
  ASSERT_OK(q.fill(a, 1, {.signal = {{s, 1}}}));
  ASSERT_OK(q.waitIdle());
  Result<Snapshot> snapshot = device.snapshot();
  ASSERT_OK(snapshot.status());
  std::vector<std::byte> data(64, std::byte{7});
  for (int round = 0; round < 3; ++round) {
    // Enough for page tables that were not there.
    for (int i = 0; i < 40; ++i)
      ASSERT_OK(q.update(b, data, {.barrier = true}));
    ASSERT_OK(q.fill(a, 2, {.wait = {{s, 1}, {t, 0}}, .signal = {{t, 1}}}));
    ASSERT_OK(t.wait(1));
    ASSERT_OK(q.readBack(b, data));
    EXPECT_EQ(data[63], std::byte{7});
    EXPECT_FALSE(space.allocate(uint64_t(1) << 45).ok());
    ASSERT_OK(q.waitIdle());
    ASSERT_OK(device.restore(*snapshot));
    EXPECT_EQ(*t.value(), 0u);
    EXPECT_THAT(contents(a), Each(1u));
    EXPECT_THAT(contents(b), Each(0u));
    // Two waits that are not met meet in a semaphore of the runtime's own.
    Semaphore u = semaphore("U"), v = semaphore("V");
    ASSERT_OK(q.fill(b, 5, {.wait = {{u, 1}, {v, 1}}, .signal = {{t, 1}}}));
    ASSERT_OK(q.signal({.signal = {{u, 1}}}));
    ASSERT_OK(q.signal({.signal = {{v, 1}}}));
    ASSERT_OK(t.wait(1));
    ASSERT_OK(q.waitIdle());
    u = v = Semaphore();
    ASSERT_OK(device.restore(*snapshot));
  }
  // Pages that are another's, or may be used otherwise, are.
  ASSERT_OK(space.protect(a.address(), 65536, {.write = false}));
  EXPECT_ERROR(device.restore(*snapshot), FailedPrecondition, "came or went");
  ASSERT_OK(space.protect(a.address(), 65536, {}));
  ASSERT_OK(device.restore(*snapshot));
  b = Buffer();
  EXPECT_ERROR(device.restore(*snapshot), FailedPrecondition, "came or went");
  b = buffer(64, "B");
  EXPECT_ERROR(device.restore(*snapshot), FailedPrecondition, "came or went");
}

TESSERA_ON_ALL_DRIVERS(MisuseTest);

} // namespace
