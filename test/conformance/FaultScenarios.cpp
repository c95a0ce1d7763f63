//===- FaultScenarios.cpp - Faults of packets and queues -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConformanceFixture.h"
#include "TestKernels.h"
#include "tessera/driver/FaultDriver.h"

using namespace tessera;
using namespace tessera::runtime;

namespace {

class FaultConformance : public Conformance {};

TEST_P(FaultConformance, bad_packet_isolated) {
  std::vector<std::pair<const char *, std::array<uint8_t, 64>>> kinds;
  auto valid = isa::encode(isa::Packet{0, 0, isa::NopPacket{}});
  auto zeros = valid;
  zeros.fill(0);
  kinds.push_back({"a zeroed packet", zeros});
  auto unknown = valid;
  unknown[0] = 0x55;
  kinds.push_back({"an unknown type", unknown});
  auto reserved = valid;
  reserved[2] = 1;
  kinds.push_back({"a reserved byte", reserved});
  auto empty = isa::encode(
      isa::Packet{0, 0, isa::CopyPacket{1 << 20, 2 << 20, 4, {}, {}}});
  std::fill_n(empty.begin() + 24, 8, 0);
  kinds.push_back({"a copy of nothing", empty});

  Queue other = queue("other"), waiting = queue("waiting"),
        hosted = queue("hosted");
  Semaphore go = semaphore("go", true), t = semaphore("T");
  Buffer a = buffer(64), b = buffer(1 << 18), c = buffer(1 << 18),
         d = buffer(64);
  uint32_t value = 0;
  for (auto &[what, packet] : kinds) {
    SCOPED_TRACE(what);
    Queue q = queue("Q0");
    Semaphore s = semaphore("S");
    ASSERT_OK(q.fill(a, ++value));
    ASSERT_OK(q.waitIdle());
    // Work of others under way: what runs, what the device has parked behind
    // it, what is parked on the host.
    uint64_t round = (value + 1) / 2;
    dope(d);
    ASSERT_OK(other.copy(c, b, {.signal = {{t, 2 * round - 1}}}));
    ASSERT_OK(waiting.fill(
        d, 99 + value,
        {.wait = {{t, 2 * round - 1}}, .signal = {{t, 2 * round}}}));
    ASSERT_OK(hosted.fill({d, 0, 32}, 199 + value,
                          {.wait = {{go, round}, {t, 2 * round}}}));
    ASSERT_OK(q.submitRaw(packet, {.label = "bad"}));
    EXPECT_ERROR(q.waitIdle(), InvalidArgument,
                 "queue 'Q0': packet 1 'bad': IllegalPacket");
    EXPECT_ERROR(q.fill(a, 0, {.signal = {{s, 1}}}), FailedPrecondition,
                 "has stopped");
    dope(a);
    ASSERT_OK(other.fill(a, ++value));
    ASSERT_OK(other.waitIdle());
    EXPECT_TRUE(allAre(contents(a), value));
    ASSERT_OK(waiting.waitIdle());
    EXPECT_TRUE(allAre(contents(d), 98 + value));
    ASSERT_OK(go.signal(round));
    ASSERT_OK(hosted.waitIdle());
    EXPECT_EQ(contents(d)[0], 198 + value);
    EXPECT_EQ(contents(d)[8], 98 + value);
  }
}

// Packet 2 of 5 faults, barriers between.
TEST_P(FaultConformance, head_fault_abort_rest) {
  Queue q = queue("Q");
  Buffer a = buffer(64, "A");
  dope(a);
  BufferOptions options;
  options.access.write = false;
  Result<Buffer> readOnly = space.allocate(64, options);
  ASSERT_OK(readOnly.status());
  Semaphore go = semaphore("go", true);
  std::vector<Semaphore> s;
  for (int i = 0; i < 5; ++i) {
    s.push_back(semaphore("S" + std::to_string(i)));
    SubmitOptions submit{.signal = {{s[i], 1}}, .barrier = true};
    if (i == 0)
      submit.wait = {{go, 1}};
    submit.label = "op" + std::to_string(i);
    ASSERT_OK(q.fill(i == 1 ? *readOnly : a, 1 + i, submit));
  }
  // Operations without a barrier or a wait, behind the last of those: parked,
  // read or not yet read when the fault comes.
  Buffer untouched = buffer(64);
  dope(untouched);
  for (int i = 0; i < 20; ++i)
    ASSERT_OK(q.fill(untouched, 50 + i));
  ASSERT_OK(go.signal(1));
  EXPECT_OK(s[0].wait(1));
  EXPECT_ERROR(s[1].wait(1), PageFault, "'op1': ProtectionFault");
  for (int i = 2; i < 5; ++i)
    EXPECT_ERROR(s[i].wait(1), Aborted, "'op1'");
  EXPECT_TRUE(allAre(contents(a), 1));
  EXPECT_TRUE(allAre(contents(untouched), 0xdeadbeef));
  // What depends on the failed work elsewhere fails too.
  Queue other = queue("other");
  EXPECT_ERROR(other.fill(a, 9, {.wait = {{s[1], 1}}}), PageFault, "'S1'");
  // One report, of the first fault.
  ASSERT_EQ(device.faults().size(), 1u);
  FaultReport report = device.faults().front();
  EXPECT_EQ(report.cause, isa::mmio::FaultCause::ProtectionFault);
  EXPECT_EQ(report.queue, "Q");
  EXPECT_EQ(report.packet, 1u);
  EXPECT_EQ(report.operation, "op1");
  EXPECT_EQ(report.unit, "copy engine");
  EXPECT_EQ(report.address, readOnly->address());
  EXPECT_EQ(report.count, 1u);
  // Reset, the queue takes work again.
  ASSERT_OK(q.reset());
  ASSERT_OK(q.fill(a, 77));
  ASSERT_OK(q.waitIdle());
  EXPECT_TRUE(allAre(contents(a), 77));

  // A reservation that was not published when the queue stopped never runs; the
  // same again works once the queue is reset.
  auto packet = isa::encode(
      isa::Packet{0, 0, isa::FillPacket{a.address(), 64, 78, {}, {}}});
  Result<Reservation> slot = q.reserve(1);
  ASSERT_OK(slot.status());
  ASSERT_OK(slot->write(0, packet));
  Queue second = queue("second");
  Result<Reservation> late = second.reserve(1);
  ASSERT_OK(late.status());
  ASSERT_OK(late->write(0, packet));
  ASSERT_OK(slot->publish());
  ASSERT_OK(q.waitIdle());
  EXPECT_TRUE(allAre(contents(a), 78));
  ASSERT_OK(second.reset());
  EXPECT_ERROR(late->publish(), Aborted, "stopped before they were published");
  late = second.reserve(1);
  ASSERT_OK(late.status());
  ASSERT_OK(late->write(0, packet));
  dope(a);
  ASSERT_OK(late->publish());
  ASSERT_OK(second.waitIdle());
  EXPECT_TRUE(allAre(contents(a), 78));
}

// Two faults under way at once: the first one is the queue's.
TEST_P(FaultConformance, first_fault_wins) {
  Queue q = queue("Q");
  Buffer a = buffer(64);
  Semaphore s = semaphore("S"), t = semaphore("T");
  BufferOptions options;
  options.access.write = false;
  Result<Buffer> readOnly = space.allocate(64, options);
  ASSERT_OK(readOnly.status());
  ASSERT_OK(q.fill(*readOnly, 1, {.signal = {{s, 1}}, .label = "first"}));
  ASSERT_OK(
      q.fill({*readOnly, 32, 32}, 2, {.signal = {{t, 1}}, .label = "second"}));
  Status status = q.waitIdle();
  EXPECT_EQ(status.code(), StatusCode::PageFault);
  ASSERT_EQ(device.faults().size(), 1u);
  FaultReport report = device.faults().front();
  // Which comes first is open; an unexplored device takes them in order.
  bool second = GetParam() == "exploring" && report.operation == "second";
  EXPECT_EQ(report.operation, second ? "second" : "first");
  EXPECT_EQ(report.address, readOnly->address() + (second ? 32 : 0));
  EXPECT_THAT(status.message(),
              ::testing::HasSubstr("'" + report.operation + "'"));
  EXPECT_EQ((second ? t : s).wait(1).code(), StatusCode::PageFault);
  EXPECT_FALSE((second ? s : t).wait(1).ok());
}

// A failure reaches a wait through work of another queue.
TEST_P(FaultConformance, failure_propagates) {
  Queue q0 = queue("Q0"), q1 = queue("Q1");
  Semaphore s = semaphore("S"), t = semaphore("T");
  Buffer a = buffer(64);
  BufferOptions options;
  options.access.write = false;
  Result<Buffer> readOnly = space.allocate(64, options);
  ASSERT_OK(readOnly.status());
  ASSERT_OK(q1.fill(
      a, 1, {.wait = {{s, 1}}, .signal = {{t, 1}}, .label = "dependent"}));
  ASSERT_OK(q0.fill(*readOnly, 1, {.signal = {{s, 1}}}));
  EXPECT_ERROR(t.wait(1), PageFault, "'dependent'");
}

TEST_P(FaultConformance, memory_fault_kinds) {
  Buffer a = buffer(2 * 65536);
  BufferOptions options;
  options.access = {.read = false, .write = true, .execute = false};
  Result<Buffer> writeOnly = space.allocate(64, options);
  ASSERT_OK(writeOnly.status());
  uint64_t unmapped = a.address() + 2 * 65536;
  auto copyOf = [](uint64_t to, uint64_t from, uint64_t bytes) {
    return isa::encode(
        isa::Packet{0, 0, isa::CopyPacket{to, from, bytes, {}, {}}});
  };
  auto expectFault = [&](std::array<uint8_t, 64> packet,
                         const std::string &text) {
    Queue q = queue("Q");
    ASSERT_OK(q.submitRaw(packet));
    Status status = q.waitIdle();
    EXPECT_EQ(status.code(), StatusCode::PageFault);
    EXPECT_THAT(status.message(), ::testing::HasSubstr(text));
  };
  char text[80];
  std::snprintf(text, sizeof(text), "PageFault, address or value 0x%llx",
                (unsigned long long)unmapped);
  expectFault(copyOf(unmapped, a.address(), 64), text);
  expectFault(copyOf(a.address(), unmapped, 64), text);
  // Straddling: the first byte that is not mapped.
  expectFault(copyOf(unmapped - 32, a.address(), 64), text);
  std::snprintf(text, sizeof(text), "ProtectionFault, address or value 0x%llx",
                (unsigned long long)writeOnly->address());
  expectFault(copyOf(a.address(), writeOnly->address(), 64), text);
  // The byte, not the page.
  for (uint64_t into : {36, 0x1234}) {
    std::snprintf(text, sizeof(text), "PageFault, address or value 0x%llx",
                  (unsigned long long)(unmapped + into));
    expectFault(copyOf(unmapped + into, a.address(), 16), text);
    expectFault(copyOf(a.address(), unmapped + into, 16), text);
  }
  // One report for each kind and page, with a count.
  std::vector<FaultReport> reports = device.faults();
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].cause, isa::mmio::FaultCause::PageFault);
  EXPECT_EQ(reports[0].address, unmapped);
  EXPECT_EQ(reports[0].count, 7u);
  EXPECT_EQ(reports[1].cause, isa::mmio::FaultCause::ProtectionFault);
  EXPECT_EQ(reports[1].address, writeOnly->address());
  EXPECT_EQ(reports[1].count, 1u);
  EXPECT_EQ(reports[1].unit, "copy engine");

  if (GetParam() == "null")
    return; // It runs no code.
  // Code in a page that must not be executed.
  Result<TestKernel> kernel =
      TestKernel::create(space, TestKernel::spin(10), {.executable = false});
  ASSERT_OK(kernel.status());
  Queue q = queue("Q");
  ASSERT_OK(q.submitRaw(kernel->packet(), {.label = "code"}));
  EXPECT_ERROR(q.waitIdle(), PageFault, "'code': ProtectionFault");
  EXPECT_EQ(device.faults().back().unit, "core 0");
  EXPECT_EQ(device.faults().back().address, kernel->text.address());
}

// A poisoned page under four queues: a storm is one report.
TEST_P(FaultConformance, fault_storm) {
  auto made = std::make_unique<driver::FaultDriver>(
      makeDriver(GetParam(), tinyArchitecture()));
  driver::FaultDriver *faults = made.get();
  Result<Device> stormy = Device::create(std::move(made));
  ASSERT_OK(stormy.status());
  Result<AddressSpace> context = AddressSpace::create(*stormy);
  ASSERT_OK(context.status());
  Result<Buffer> only = context->allocate(64);
  ASSERT_OK(only.status());
  std::vector<Queue> queues;
  for (int i = 0; i < 4; ++i) {
    Result<Queue> q = Queue::create(
        *context, {.packets = 16, .label = "Q" + std::to_string(i)});
    ASSERT_OK(q.status());
    queues.push_back(*q);
  }
  // Of the only page a bit flips beyond repair.
  faults->arm(driver::FaultKind::UncorrectedFlip);
  for (Queue &q : queues)
    ASSERT_OK(q.fill(*only, 1));
  for (Queue &q : queues)
    EXPECT_ERROR(q.waitIdle(), PageFault, "PoisonedPage");
  ASSERT_EQ(stormy->faults().size(), 1u);
  FaultReport report = stormy->faults().front();
  EXPECT_EQ(report.cause, isa::mmio::FaultCause::PoisonedPage);
  EXPECT_EQ(report.address, only->address());
  EXPECT_EQ(report.count, 4u);
  EXPECT_THAT(report.print(), ::testing::HasSubstr("(first of 4)"));
}

TESSERA_CONFORMANCE(FaultConformance);

} // namespace
