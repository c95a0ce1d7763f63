//===- LossScenarios.cpp - Lost devices and hung kernels ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConformanceFixture.h"
#include "TestKernels.h"
#include "tessera/ISA/Mmio.h"
#include "tessera/driver/FaultDriver.h"
#include <thread>

using namespace tessera;
using namespace tessera::runtime;
using driver::FaultDriver;
using driver::FaultKind;

namespace {

class LossConformance : public Conformance {
protected:
  void SetUp() override {
    auto made = std::make_unique<FaultDriver>(
        makeDriver(GetParam(), tinyArchitecture()));
    faults = made.get();
    Result<Device> created = Device::create(std::move(made));
    ASSERT_OK(created.status());
    device = *created;
    Result<AddressSpace> madeSpace = AddressSpace::create(device, "context");
    ASSERT_OK(madeSpace.status());
    space = *madeSpace;
  }
  FaultDriver *faults = nullptr;
};

// Loss under every kind of wait.
TEST_P(LossConformance, device_lost) {
  Device second;
  {
    Result<Device> made =
        Device::create(makeDriver(GetParam(), tinyArchitecture()), "second");
    ASSERT_OK(made.status());
    second = *made;
  }
  (void)buffer(64); // Its page tables stay.
  uint64_t before = device.bytesInUse(isa::PhysicalSpace::Dram);
  {
    Buffer a = buffer(64);
    Queue q = queue("Q"), full = queue("full", 4);
    Semaphore s = semaphore("S"), host = semaphore("host", true);
    ASSERT_OK(q.fill(a, 1, {.wait = {{host, 1}}, .signal = {{s, 1}}}));
    for (int i = 0; i < 3; ++i)
      ASSERT_OK(full.fill(a, 1, {.wait = {{host, 1}}}));
    // Threads that wait while the device goes.
    std::array<Status, 4> ended;
    std::vector<uint32_t> words(16);
    std::vector<std::thread> threads;
    threads.emplace_back([&] { ended[0] = host.wait(1); });
    threads.emplace_back([&] { ended[1] = s.wait(1); });
    threads.emplace_back([&] { ended[2] = q.waitIdle(); });
    threads.emplace_back([&] { ended[3] = full.fill(a, 1); });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    faults->loseDevice("the cable was pulled");
    for (std::thread &thread : threads)
      thread.join();
    for (const Status &status : ended)
      EXPECT_ERROR(status, DeviceLost, "the cable was pulled");
    // And waits that begin afterwards.
    EXPECT_EQ(s.wait(1, device.afterCycles(10)).code(), StatusCode::DeviceLost);
    EXPECT_EQ(s.wait(1, Deadline::poll()).code(), StatusCode::DeviceLost);
    EXPECT_EQ(q.waitIdle().code(), StatusCode::DeviceLost);
    EXPECT_EQ(q.readBack(a, std::as_writable_bytes(std::span(words))).code(),
              StatusCode::DeviceLost);
    EXPECT_EQ(host.signal(1).code(), StatusCode::DeviceLost);
    EXPECT_EQ(a.write(0, std::as_bytes(std::span(words))).code(),
              StatusCode::DeviceLost);
    EXPECT_EQ(device.hangDump().lost.code(), StatusCode::DeviceLost);

    // The other device does not notice.
    Result<AddressSpace> otherSpace = AddressSpace::create(second);
    ASSERT_OK(otherSpace.status());
    Result<Queue> other = Queue::create(*otherSpace);
    Result<Buffer> b = otherSpace->allocate(64);
    ASSERT_OK(b.status());
    ASSERT_OK(other->fill(*b, 5));
    ASSERT_OK(other->waitIdle());
    EXPECT_TRUE(allAre(contents(*b), 5));

    // What was made before a reset can only be dropped.
    ASSERT_OK(device.reset());
    EXPECT_EQ(s.wait(1).code(), StatusCode::DeviceLost);
    EXPECT_ERROR(q.fill(a, 1), FailedPrecondition, "before the device's reset");
  }
  EXPECT_EQ(device.bytesInUse(isa::PhysicalSpace::Dram), before);
  // Address spaces stay, and new queues and semaphores work.
  Queue q = queue("Q");
  Semaphore s = semaphore("S");
  Buffer a = buffer(64);
  dope(a);
  ASSERT_OK(q.fill(a, 6, {.signal = {{s, 1}}}));
  ASSERT_OK(s.wait(1));
  EXPECT_TRUE(allAre(contents(a), 6));
}

// After a reset the device is as new: its registers and timelines are at 0.
TEST_P(LossConformance, reset_starts_afresh) {
  std::vector<uint32_t> raised;
  {
    Queue q = queue("Q");
    Buffer a = buffer(64);
    Semaphore s = semaphore("S"), host = semaphore("host", true);
    ASSERT_OK(q.fill(a, 1, {.signal = {{s, 7}}}));
    ASSERT_OK(host.signal(9));
    ASSERT_OK(s.wait(7));
    raised = {s.index(), host.index()};
    for (uint32_t index : raised)
      ASSERT_GT(*device.driver().mmioRead(isa::mmio::semaphoreBase + 8 * index),
                0u);
    // In the middle of something.
    ASSERT_OK(q.fill(a, 2, {.wait = {{s, 8}}}));
    faults->loseDevice("a brown-out");
    EXPECT_EQ(s.wait(8).code(), StatusCode::DeviceLost);
    ASSERT_OK(device.reset());
  }
  for (uint32_t index = 1; index < isa::mmio::numSemaphores; ++index)
    ASSERT_EQ(*device.driver().mmioRead(isa::mmio::semaphoreBase + 8 * index),
              0u)
        << index;
  uint32_t queues = device.driver().architecture().cp.queues;
  for (uint32_t q = 0; q < queues; ++q)
    for (uint64_t offset : {isa::mmio::queueEnable, isa::mmio::queueRead,
                            isa::mmio::queueDone, isa::mmio::queueDoneMask,
                            isa::mmio::faultCause, isa::mmio::faultAddress})
      ASSERT_EQ(*device.driver().mmioRead(isa::mmio::queueBase +
                                          q * isa::mmio::queueStride + offset),
                0u)
          << "queue " << q << ", register " << offset;
  EXPECT_TRUE(device.driver().takeInterrupts().empty());
  // Every index again: no wait of a new life is met by an old value.
  std::vector<Semaphore> fresh;
  for (uint32_t i = 0; i < 40; ++i) {
    fresh.push_back(semaphore("fresh" + std::to_string(i)));
    ASSERT_EQ(*fresh.back().value(), 0u);
  }
}

// A bit of a page table flips beyond repair: nothing can be trusted any more.
TEST_P(LossConformance, device_lost_by_page_table) {
  Buffer a = buffer(64);
  Queue q = queue("Q");
  faults->arm(FaultKind::TableFlip);
  EXPECT_ERROR(q.fill(a, 1), DeviceLost, "page table entry");
  EXPECT_ERROR(q.waitIdle(), DeviceLost, "page table entry");
  ASSERT_OK(device.reset());
  q = queue("Q");
  ASSERT_OK(q.fill(a, 2));
  ASSERT_OK(q.waitIdle());
  EXPECT_TRUE(allAre(contents(a), 2));
}

// The device says that it is done with what it never ran.
TEST_P(LossConformance, silent_misexecution) {
  Queue q = queue("Q");
  Buffer a = buffer(64), b = buffer(64);
  dope(b);
  ASSERT_OK(q.fill(a, 3));
  ASSERT_OK(q.copy(b, a, {.barrier = true}));
  ASSERT_OK(q.waitIdle());
  EXPECT_TRUE(allAre(contents(b), 3));
  Result<TestKernel> kernel = TestKernel::create(space, TestKernel::spin(10));
  ASSERT_OK(kernel.status());
  ASSERT_OK(q.submitRaw(kernel->packet()));
  ASSERT_OK(q.waitIdle());
  EXPECT_OK(device.checkWork());

  faults->arm(FaultKind::SkipPacket);
  dope(b);
  ASSERT_OK(q.copy(b, a, {.label = "skipped"}));
  EXPECT_ERROR(q.waitIdle(), Internal, "engines count");
  ASSERT_EQ(faults->count(FaultKind::SkipPacket), 1u);
  EXPECT_TRUE(allAre(contents(b), 0xdeadbeef));
  EXPECT_ERROR(device.checkWork(), Internal, "queue 'Q'");

  Queue other = queue("other");
  faults->arm(FaultKind::SkipPacket);
  ASSERT_OK(other.submitRaw(kernel->packet()));
  EXPECT_ERROR(other.waitIdle(), Internal, "1 cores run");
}

// Doorbells lost, late, twice and torn: nothing lost, nothing twice.
TEST_P(LossConformance, doorbell_lost) {
  Queue q = queue("Q");
  Buffer a = buffer(64);
  uint32_t value = 0;
  for (FaultKind kind : {FaultKind::DropDoorbell, FaultKind::DelayDoorbell,
                         FaultKind::DuplicateDoorbell, FaultKind::TearFetch}) {
    SCOPED_TRACE(driver::faultKindName(kind));
    for (int i = 0; i < 3; ++i) {
      faults->arm(kind);
      dope(a);
      ASSERT_OK(q.fill(a, ++value, {.barrier = true}));
      ASSERT_OK(q.waitIdle());
      ASSERT_TRUE(allAre(contents(a), value));
    }
  }
  EXPECT_EQ(q.completed(), value);
}

TEST_P(LossConformance, signals_must_grow) {
  Queue q = queue("Q");
  Semaphore s = semaphore("S");
  auto signal = [&](uint64_t value) {
    return isa::encode(
        isa::Packet{0, 0, isa::SignalPacket{{s.index(), value}}});
  };
  ASSERT_OK(q.submitRaw(signal(5)));
  ASSERT_OK(q.waitIdle());
  ASSERT_OK(q.submitRaw(signal(5), {.label = "again"}));
  EXPECT_ERROR(q.waitIdle(), InvalidArgument, "'again': NonIncreasingSignal");
  EXPECT_EQ(device.faults().at(0).unit, "command processor");
}

TESSERA_CONFORMANCE(LossConformance);

/// Kernels run on the simulator only.
class KernelConformance : public Conformance {};

TEST_P(KernelConformance, hang_watchdog) {
  constexpr uint64_t budget = 100;
  Queue q = queue("Q"), other = queue("other");
  auto run = [&](const std::vector<isa::Instruction> &program) {
    Result<TestKernel> kernel = TestKernel::create(space, program);
    EXPECT_OK(kernel.status());
    EXPECT_OK(q.submitRaw(kernel->packet(budget), {.label = "kernel"}));
    Status status = q.waitIdle();
    if (!status.ok())
      EXPECT_OK(q.reset());
    return status;
  };
  // A kernel of exactly the budget lives, one cycle more is too much.
  EXPECT_OK(run(TestKernel::spin(budget - 1)));
  EXPECT_OK(run(TestKernel::spin(budget)));
  EXPECT_ERROR(run(TestKernel::spin(budget + 1)), Timeout, "Watchdog");
  EXPECT_ERROR(run(TestKernel::endless()), Timeout, "queue 'Q': packet");
  ASSERT_EQ(device.faults().size(), 1u);
  EXPECT_EQ(device.faults()[0].count, 2u);
  EXPECT_EQ(device.faults()[0].unit, "core 0");
  // After that work runs, here and elsewhere, on the same core.
  EXPECT_OK(run(TestKernel::spin(budget)));
  Buffer a = buffer(64);
  ASSERT_OK(other.fill(a, 4));
  ASSERT_OK(other.waitIdle());
  EXPECT_TRUE(allAre(contents(a), 4));
}

// Code that a dispatch was prepared from is unmapped before the dispatch
// starts: it faults, as one that was not prepared does.
TEST_P(KernelConformance, unmap_prepared) {
  for (uint8_t flags : {uint8_t(0), uint8_t(isa::packetPrefetch)}) {
    Queue q = queue("Q"), first = queue("first");
    Semaphore ran = semaphore("ran"), s = semaphore("S");
    Result<TestKernel> before =
        TestKernel::create(space, TestKernel::spin(20'000));
    Result<TestKernel> kernel = TestKernel::create(space, TestKernel::spin(9));
    ASSERT_OK(before.status());
    ASSERT_OK(kernel.status());
    ASSERT_OK(first.dispatch(before->kernel(), {}, {},
                             {.signal = {{ran, 1}}, .label = "before"}));
    isa::DispatchPacket body;
    body.kernel = kernel->record.address();
    body.wait = {ran.index(), 1};
    body.completion = {s.index(), 1};
    ASSERT_OK(q.submitRaw(
        isa::encode(isa::Packet{flags, 0, body}),
        {.wait = {{ran, 1}}, .signal = {{s, 1}}, .label = "after"}));
    EXPECT_ERROR(s.wait(1, device.afterCycles(10'000)), DeadlineExceeded,
                 "'S'");
    ASSERT_OK(space.unmap(kernel->text));
    EXPECT_ERROR(s.wait(1), PageFault, "'after'");
    ASSERT_OK(first.waitIdle());
  }
}

INSTANTIATE_TEST_SUITE_P(Drivers, KernelConformance,
                         ::testing::Values("simulator"));

} // namespace
