//===- HostCostScenarios.cpp - What the host takes ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Signals alone touch no memory but the ring: what they take does not depend on
// when they come, so that a device whose host costs nothing tells to the cycle
// what one whose host costs something must take.
//
//===----------------------------------------------------------------------===//

#include "ConformanceFixture.h"
#include "tessera/runtime/VirtualThreads.h"
#include <thread>

using namespace tessera;
using namespace tessera::runtime;

namespace {

class HostCostConformance : public Conformance {
protected:
  /// Another device of the same kind whose host has these costs.
  struct Costly {
    Device device;
    AddressSpace space;
    Queue queue;
    Semaphore s;
  };
  Costly costly(const HostCosts &costs) {
    Costly made;
    Result<Device> device = Device::create(
        makeDriver(GetParam(), tinyArchitecture()), "costly", costs);
    EXPECT_OK(device.status());
    made.device = *device;
    made.space = *AddressSpace::create(made.device, "context");
    made.queue = *Queue::create(made.space, {.packets = 64, .label = "Q"});
    made.s = *Semaphore::create(made.device, {true, "S"});
    return made;
  }
  /// Whether times are exact: the others run on at register writes, or lose
  /// doorbells, or choose by the time.
  bool exact() const {
    return GetParam() == "null" || GetParam() == "simulator" ||
           GetParam() == "recorded";
  }
  void expectTime(driver::Time found, driver::Time expected) {
    if (exact())
      EXPECT_EQ(found, expected);
    else
      EXPECT_GE(found, expected);
  }
  static constexpr driver::Time ns = 1'000'000; // Femtoseconds.
};

// Each call takes what it costs, on an idle device as well as on a busy one.
TEST_P(HostCostConformance, host_costs) {
  // Without: how long a signal takes from its doorbell to the end of the wait.
  Costly free = costly({});
  driver::Time start = free.device.now();
  ASSERT_OK(free.queue.signal({.signal = {{free.s, 1}}}));
  if (exact()) {
    EXPECT_EQ(free.device.now(), start);
  }
  ASSERT_OK(free.s.wait(1));
  driver::Time took = free.device.now() - start;
  EXPECT_EQ(free.device.statistics().hostTime, 0u);

  HostCosts costs{.submitNs = 700, .accessNs = 110, .wakeNs = 2'000};
  Costly c = costly(costs);
  start = c.device.now();
  // The doorbell rings after 700 ns, the wake-up comes 2,000 ns after the end.
  ASSERT_OK(c.queue.signal({.signal = {{c.s, 1}}}));
  expectTime(c.device.now() - start, 700 * ns);
  ASSERT_OK(c.s.wait(1));
  if (exact()) { // Else the wait may have found what it waits for.
    EXPECT_EQ(c.device.now() - start, (700 + 2'000) * ns + took);
  }
  // What is there already wakes nobody.
  driver::Time now = c.device.now();
  ASSERT_OK(c.s.wait(1));
  EXPECT_EQ(c.device.now(), now);
  // Three operations one after the other; a look and a signal of the host's.
  for (uint64_t i = 2; i <= 4; ++i)
    ASSERT_OK(c.queue.signal({.signal = {{c.s, i}}}));
  expectTime(c.device.now() - now, 3 * 700 * ns);
  ASSERT_OK(c.queue.waitIdle());
  now = c.device.now();
  EXPECT_EQ(*c.s.value(), 4u);
  expectTime(c.device.now() - now, 110 * ns);
  ASSERT_OK(c.s.signal(5));
  expectTime(c.device.now() - now, 220 * ns);
  // What is refused costs nothing.
  now = c.device.now();
  EXPECT_ERROR(c.s.signal(5), InvalidArgument, "does not raise");
  expectTime(c.device.now() - now, 110 * ns); // It had to be looked at.
  now = c.device.now();
  EXPECT_ERROR(c.queue.signal({.signal = {{c.s, 4}}}), InvalidArgument, "4");
  EXPECT_EQ(c.device.now(), now);
  // A wait that comes to its deadline wakes nobody: the deadline is exact.
  Semaphore never = *Semaphore::create(c.device, {.label = "never"});
  ASSERT_OK(c.queue.signal({.wait = {{c.s, 9}}, .signal = {{never, 1}}}));
  now = c.device.now();
  EXPECT_EQ(never.wait(1, Deadline::poll()).code(),
            StatusCode::DeadlineExceeded);
  EXPECT_EQ(c.device.now(), now);
  ASSERT_OK(c.s.signal(9));
  ASSERT_OK(c.queue.waitIdle());
  // The account: five submissions, one look, three signals of the host's of
  // which one was refused, and wake-ups.
  driver::Time counted = c.device.statistics().hostTime;
  driver::Time calls = (5 * 700 + 4 * 110) * ns;
  ASSERT_GE(counted, calls);
  EXPECT_EQ((counted - calls) % (2'000 * ns), 0u);

  EXPECT_ERROR(Device::create(makeDriver(GetParam(), tinyArchitecture()), "d",
                              {.wakeNs = ~uint64_t(0)})
                   .status(),
               InvalidArgument, "d: host costs: wakeNs");
}

// The function of a host call begins late; its own calls come before its
// signals.
TEST_P(HostCostConformance, host_costs_of_host_calls) {
  Costly c = costly({.submitNs = 500, .hostCallNs = 3'000});
  driver::Time began = 0, submitted = 0;
  Semaphore t = *Semaphore::create(c.device, {.label = "T"});
  ASSERT_OK(c.queue.hostCall(
      [&] {
        began = c.device.now();
        Status status = c.queue.signal({.signal = {{t, 1}}});
        submitted = c.device.now();
        return status;
      },
      {.wait = {{c.s, 1}}, .signal = {{c.s, 2}}, .label = "call"}));
  driver::Time start = c.device.now();
  ASSERT_OK(c.s.signal(1));
  ASSERT_OK(c.s.wait(2));
  driver::Time end = c.device.now();
  EXPECT_GE(began, start + 3'000 * ns);
  if (exact()) {
    EXPECT_EQ(submitted, began); // Owed until the function has come back.
  }
  EXPECT_GE(end, began + 500 * ns);
  EXPECT_EQ(c.device.statistics().hostTime, (500 + 3'000 + 500) * ns);
  ASSERT_OK(c.queue.waitIdle());
}

// Virtual threads work at the same time; other threads share a processor.
TEST_P(HostCostConformance, host_costs_of_threads) {
  constexpr unsigned threads = 4, rounds = 5;
  for (uint64_t seed : {1, 2, 3}) {
    Costly c = costly({.submitNs = 1'000, .wakeNs = 400});
    std::vector<Semaphore> done;
    for (unsigned i = 0; i < threads; ++i)
      done.push_back(
          *Semaphore::create(c.device, {false, "S" + std::to_string(i)}));
    Semaphore all = *Semaphore::create(c.device, {true, "all"});
    driver::Time start = c.device.now();
    VirtualThreads group(c.device, seed);
    std::array<driver::Time, threads> ends{};
    for (unsigned i = 0; i < threads; ++i)
      group.add([&, i] {
        for (uint64_t round = 1; round <= rounds; ++round)
          EXPECT_OK(c.queue.signal({.signal = {{done[i], round}}}));
        ends[i] = c.device.now();
        // One thread waits for the host alone while others still work: that is
        // no deadlock.
        if (i == 0)
          EXPECT_OK(all.wait(1));
        if (i + 1 == threads) {
          EXPECT_OK(c.queue.signal({.signal = {{done[0], rounds + 1}}}));
          EXPECT_OK(all.signal(1));
        }
      });
    ASSERT_OK(group.run());
    for (driver::Time end : ends)
      expectTime(end - start, rounds * 1'000 * ns);
    EXPECT_GE(c.device.statistics().hostTime,
              (threads * rounds + 1) * 1'000 * ns);
    ASSERT_OK(c.queue.waitIdle());
  }
  // The same work of one thread takes the sum.
  Costly c = costly({.submitNs = 1'000});
  driver::Time start = c.device.now();
  for (uint64_t i = 1; i <= threads * rounds; ++i)
    ASSERT_OK(c.queue.signal({.signal = {{c.s, i}}}));
  expectTime(c.device.now() - start, threads * rounds * 1'000 * ns);
  ASSERT_OK(c.queue.waitIdle());
}

// Real threads one after the other, whatever their interleaving.
TEST_P(HostCostConformance, host_costs_of_free_running_threads) {
  Costly c = costly({.submitNs = 1'000});
  driver::Time start = c.device.now();
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      for (unsigned round = 0; round < 4; ++round)
        EXPECT_OK(c.queue.barrier());
    });
  for (std::thread &thread : threads)
    thread.join();
  expectTime(c.device.now() - start, 12 * 1'000 * ns);
  EXPECT_EQ(c.device.statistics().hostTime, 12 * 1'000 * ns);
  ASSERT_OK(c.queue.waitIdle());
}

TESSERA_CONFORMANCE(HostCostConformance);

} // namespace
