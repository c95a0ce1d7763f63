//===- FaultDriverTest.cpp - Injected faults ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each kind of fault does what it says, is logged, and the runtime either
// survives it with the right result or names it.
//
//===----------------------------------------------------------------------===//

#include "tessera/driver/FaultDriver.h"
#include "RuntimeFixture.h"
#include "tessera/driver/SimDriver.h"

using namespace tessera;
using namespace tessera::runtime;
using driver::FaultDriver;
using driver::FaultKind;
using ::testing::Each;

namespace {

class FaultDriverTest : public RuntimeTest {
protected:
  void SetUp() override { start({}); }

  void start(driver::FaultPlan plan) {
    auto made = std::make_unique<FaultDriver>(
        makeDriver(GetParam(), tinyArchitecture()), plan);
    faults = made.get();
    Result<Device> created = Device::create(std::move(made));
    ASSERT_OK(created.status());
    device = *created;
    Result<AddressSpace> madeSpace = AddressSpace::create(device, "context");
    ASSERT_OK(madeSpace.status());
    space = *madeSpace;
  }
  /// Fill, copy, wait; the result must be right.
  void expectWorks(Queue &q, uint32_t value) {
    Buffer a = buffer(4096), b = buffer(4096);
    dope(b);
    ASSERT_OK(q.fill(a, value));
    ASSERT_OK(q.copy(b, a, {.barrier = true}));
    ASSERT_OK(q.waitIdle());
    EXPECT_THAT(contents(b), Each(value));
  }

  FaultDriver *faults = nullptr;
};

TEST_P(FaultDriverTest, SurvivesDoorbellsLostLateAndTwice) {
  Queue q = queue();
  uint32_t value = 0;
  for (FaultKind kind : {FaultKind::DropDoorbell, FaultKind::DelayDoorbell,
                         FaultKind::DuplicateDoorbell, FaultKind::TearFetch})
    for (uint64_t skip : {0, 1}) {
      SCOPED_TRACE(driver::faultKindName(kind));
      uint64_t before = faults->count(kind);
      faults->arm(kind, skip);
      expectWorks(q, ++value);
      // Packets of a null device are read without a doorbell, so that a fetch
      // may come too early to be torn.
      if (GetParam() == "simulator")
        EXPECT_EQ(faults->count(kind), before + 1);
    }
  EXPECT_EQ(q.completed(), 16u);
}

TEST_P(FaultDriverTest, SurvivesInterruptsLostLateAndTwice) {
  Queue q = queue();
  Semaphore s = semaphore();
  Buffer a = buffer(64);
  uint64_t value = 0;
  for (FaultKind kind : {FaultKind::DropInterrupt, FaultKind::DelayInterrupt,
                         FaultKind::DuplicateInterrupt}) {
    SCOPED_TRACE(driver::faultKindName(kind));
    faults->arm(kind);
    ++value;
    ASSERT_OK(q.fill(a, uint32_t(value), {.signal = {{s, value}}}));
    ASSERT_OK(s.wait(value));
    // An eager device may be done before anybody asks for an interrupt.
    if (GetParam() != "eager")
      EXPECT_EQ(faults->count(kind), 1u);
    EXPECT_THAT(contents(a), Each(uint32_t(value)));
  }
}

TEST_P(FaultDriverTest, CountsCorrectedFlips) {
  Queue q = queue();
  faults->arm(FaultKind::CorrectedFlip, 1);
  expectWorks(q, 3);
  ASSERT_EQ(faults->count(FaultKind::CorrectedFlip), 1u);
  EXPECT_THAT(faults->log().back().what, ::testing::HasSubstr("bit"));
}

TEST_P(FaultDriverTest, UncorrectedFlipPoisonsItsPage) {
  Buffer only = buffer(64, "only");
  Queue q = queue("Q");
  faults->arm(FaultKind::UncorrectedFlip);
  ASSERT_OK(q.fill(only, 1));
  EXPECT_ERROR(q.waitIdle(), PageFault, "PoisonedPage");
  EXPECT_EQ(faults->count(FaultKind::UncorrectedFlip), 1u);
}

TEST_P(FaultDriverTest, TableFlipAndLinkLossLoseTheDevice) {
  for (FaultKind kind : {FaultKind::TableFlip, FaultKind::LinkLoss}) {
    start({});
    Buffer a = buffer(64);
    Queue q = queue("Q");
    faults->arm(kind);
    EXPECT_EQ(q.fill(a, 1).code(), StatusCode::DeviceLost);
    EXPECT_EQ(q.waitIdle().code(), StatusCode::DeviceLost);
    EXPECT_EQ(faults->count(kind), 1u);
  }
}

TEST_P(FaultDriverTest, FailedAllocationChangesNothing) {
  uint64_t used = device.bytesInUse(isa::PhysicalSpace::Dram);
  faults->arm(FaultKind::FailAllocation);
  EXPECT_ERROR(space.allocate(64).status(), OutOfMemory, "refuses 65536 bytes");
  EXPECT_EQ(device.bytesInUse(isa::PhysicalSpace::Dram), used);
  EXPECT_OK(space.allocate(64).status());
}

TEST_P(FaultDriverTest, SeedDecidesFaults) {
  std::vector<std::string> logs;
  for (uint64_t seed : {7, 7, 8}) {
    driver::FaultPlan plan;
    plan.seed = seed;
    for (FaultKind kind : {FaultKind::DropDoorbell, FaultKind::DelayDoorbell,
                           FaultKind::TearFetch, FaultKind::DuplicateDoorbell})
      plan[kind] = 200;
    start(plan);
    Queue q = queue("Q", 16);
    Buffer a = buffer(64);
    for (uint32_t i = 1; i <= 100; ++i)
      ASSERT_OK(q.fill(a, i, {.barrier = true}));
    ASSERT_OK(q.waitIdle());
    EXPECT_THAT(contents(a), Each(100u));
    std::string log;
    for (const driver::InjectedFault &fault : faults->log())
      log += std::to_string(fault.time) + fault.what;
    logs.push_back(log);
  }
  EXPECT_EQ(logs[0], logs[1]);
  EXPECT_NE(logs[0], logs[2]);
}

TESSERA_ON_ALL_DRIVERS(FaultDriverTest);

/// Cycles that a fill takes with `kind` armed.
uint64_t cyclesOfFill(std::optional<FaultKind> kind, uint64_t &stalled) {
  auto made = std::make_unique<FaultDriver>(
      std::make_unique<driver::SimDriver>(tinyArchitecture()));
  FaultDriver *faults = made.get();
  Result<Device> device = Device::create(std::move(made));
  Result<AddressSpace> space = AddressSpace::create(*device);
  Result<Queue> q = Queue::create(*space);
  Result<Buffer> a = space->allocate(64);
  EXPECT_OK(q->fill(*a, 1));
  EXPECT_OK(q->waitIdle());
  if (kind)
    faults->arm(*kind);
  Result<Semaphore> s = Semaphore::create(*device);
  uint64_t before = device->now();
  EXPECT_OK(q->fill(*a, 2, {.signal = {{*s, 1}}}));
  EXPECT_OK(s->wait(1));
  stalled = 0;
  if (kind)
    std::sscanf(faults->log().at(0).what.c_str(),
                "queue 0, doorbell 1, %lu cycles", &stalled);
  return (device->now() - before) / device->cycleTime();
}

// A stall that outlasts the way of the packet to the unit delays it by what is
// left of it: by all of it less the cycles that the packet needs to get there.
TEST(FaultDriverStallTest, HoldsUnitsBack) {
  uint64_t stalled = 0;
  uint64_t plain = cyclesOfFill(std::nullopt, stalled);
  for (FaultKind kind : {FaultKind::StallCopies, FaultKind::StallQueue}) {
    uint64_t held = cyclesOfFill(kind, stalled);
    ASSERT_GT(stalled, 1000u) << "seed 0 gives a long stall";
    EXPECT_GT(held, plain + stalled / 4);
    EXPECT_LT(held, plain + stalled);
  }
  EXPECT_EQ(cyclesOfFill(FaultKind::StallCores, stalled), plain);
}

} // namespace
