//===- TraceTest.cpp - Traces of programs of one's own -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/runtime/Trace.h"
#include "RuntimeFixture.h"
#include "TestKernels.h"
#include "tessera/Support/File.h"
#include <filesystem>
#include <unistd.h>

using namespace tessera;
using namespace tessera::runtime;

namespace {

class TraceTest : public RuntimeTest {
protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    folder = std::filesystem::path(::testing::TempDir()) /
             ("trace-" + GetParam() + "-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string file(const std::string &name) { return folder / name; }
  bool traces() const { return GetParam() != "null"; }

  /// Two queues, whose packets have the same numbers; the end, in cycles.
  uint64_t work() {
    Result<TestKernel> kernel = TestKernel::create(space, TestKernel::spin(50));
    EXPECT_OK(kernel.status());
    Queue q = queue("Q"), other = queue("other");
    Semaphore s = semaphore("S"), t = semaphore("T");
    for (uint64_t i = 1; i <= 3; ++i) {
      EXPECT_OK(q.dispatch(kernel->kernel(), {}, {}, {.signal = {{s, i}}}));
      EXPECT_OK(other.dispatch(kernel->kernel(), {}, {}, {.signal = {{t, i}}}));
    }
    EXPECT_OK(s.wait(3));
    EXPECT_OK(t.wait(3));
    EXPECT_OK(q.waitIdle());
    EXPECT_OK(other.waitIdle());
    return device.now() / device.cycleTime();
  }
  std::filesystem::path folder;
};

TEST_P(TraceTest, HoldsHostQueuesAndCores) {
  Result<Trace> trace = Trace::begin(device, file("a.pftrace"));
  if (!traces()) {
    EXPECT_ERROR(trace.status(), Unsupported, "does not tell");
    EXPECT_TRUE(std::filesystem::is_empty(folder));
    return;
  }
  ASSERT_OK(trace.status());
  (void)work();
  EXPECT_ERROR(Trace::begin(device, file("b.pftrace")).status(),
               FailedPrecondition, "a trace already");
  ASSERT_OK(trace->finish());
  EXPECT_ERROR(trace->finish(), FailedPrecondition, "finished already");
  Result<std::vector<uint8_t>> bytes = readFile(file("a.pftrace"));
  ASSERT_OK(bytes.status());
  std::string text(bytes->begin(), bytes->end());
  // Names are written once.
  for (const char *name :
       {"host", "thread", "submit", "wait", "queue 0", "queue 1", "dispatch 0",
        "dispatch 2", "kernel record", "signal", "timeline"})
    EXPECT_NE(text.find(name), text.npos) << name;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  // Another one begins where it is wanted.
  Result<Trace> again = Trace::begin(device, file("b.pftrace"));
  ASSERT_OK(again.status());
  ASSERT_OK(again->finish());
}

// Copies and fills are slices of their queue, and of the engine when their turn
// has come.
TEST_P(TraceTest, HoldsTransfers) {
  if (!traces())
    return;
  for (bool transfers : {false, true}) {
    Result<Trace> trace = Trace::begin(device, file("a.pftrace"));
    ASSERT_OK(trace.status());
    Queue q = queue("Q");
    if (transfers) {
      Buffer a = buffer(4096), b = buffer(4096);
      ASSERT_OK(q.fill(a, 1));
      ASSERT_OK(q.copy(b, a, {.barrier = true}));
    } else {
      ASSERT_OK(q.barrier());
    }
    ASSERT_OK(q.waitIdle());
    ASSERT_OK(trace->finish());
    Result<std::vector<uint8_t>> bytes = readFile(file("a.pftrace"));
    ASSERT_OK(bytes.status());
    std::string text(bytes->begin(), bytes->end());
    for (const char *name : {"copy engine", "fill", "copy", "bytes"})
      EXPECT_EQ(text.find(name) != text.npos, transfers) << name;
  }
}

TEST_P(TraceTest, ChangesNoCycle) {
  if (!traces())
    return;
  uint64_t cycles[2];
  for (bool traced : {false, true}) {
    SetUp(); // A fresh device.
    Trace trace;
    if (traced) {
      Result<Trace> begun = Trace::begin(device, file("a.pftrace"));
      ASSERT_OK(begun.status());
      trace = *begun;
    }
    cycles[traced] = work();
  }
  EXPECT_EQ(cycles[0], cycles[1]);
}

TEST_P(TraceTest, WithoutItsEndThereIsNoFile) {
  if (!traces())
    return;
  {
    Result<Trace> trace = Trace::begin(device, file("a.pftrace"));
    ASSERT_OK(trace.status());
    (void)work();
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  Result<Trace> trace = Trace::begin(device, file("a.pftrace"));
  ASSERT_OK(trace.status());
  ASSERT_OK(device.close());
  ASSERT_OK(trace->finish());
}

TEST_P(TraceTest, MisuseIsNamed) {
  EXPECT_ERROR(Trace::begin(Device(), "x.pftrace").status(), FailedPrecondition,
               "trace 'x.pftrace': the device is an empty handle");
  EXPECT_ERROR(Trace().finish(), FailedPrecondition, "trace: empty handle");
  if (!traces())
    return;
  EXPECT_ERROR(Trace::begin(device, file("a.json")).status(), InvalidArgument,
               "ends in .pftrace");
  EXPECT_FALSE(Trace::begin(device, file("no/such/a.pftrace")).ok());
  Result<Trace> trace = Trace::begin(device, file("a.pftrace"));
  ASSERT_OK(trace.status());
  if (Result<Snapshot> snapshot = device.snapshot())
    EXPECT_ERROR(device.restore(*snapshot), FailedPrecondition,
                 "whose time cannot go back");
}

TESSERA_ON_ALL_DRIVERS(TraceTest);

} // namespace
