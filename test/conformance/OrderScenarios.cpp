//===- OrderScenarios.cpp - Order between operations ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConformanceFixture.h"
#include "tessera/Support/Random.h"
#include "tessera/runtime/Stream.h"

using namespace tessera;
using namespace tessera::runtime;
using ::testing::Each;

namespace {

class OrderConformance : public Conformance {};

TEST_P(OrderConformance, fifo_same_queue) {
  Queue q = queue();
  Semaphore s = semaphore();
  Random random(3);
  bool stalls = device.driver().stall(driver::Unit::CopyEngine, 0, 1).ok();
  for (uint64_t i = 1; i <= 1000; ++i) {
    // Engines of random latency.
    if (stalls && i % 4 == 0)
      ASSERT_OK(device.driver().stall(i % 8 ? driver::Unit::CopyEngine
                                            : driver::Unit::QueueFrontEnd,
                                      0, 1 + random.below(3000)));
    uint64_t bytes = 4 * (1 + random.below(2000));
    Buffer a = buffer(bytes), b = buffer(bytes);
    dope(b);
    ASSERT_OK(q.fill(a, i));
    ASSERT_OK(q.barrier());
    ASSERT_OK(q.copy(b, a, {.signal = {{s, i}}}));
    ASSERT_OK(s.wait(i));
    ASSERT_TRUE(allAre(contents(b), i)) << bytes;
  }
}

// Two independent operations, the long one first. Without a barrier the short
// one may start before the long one has ended; with one it may not.
TEST_P(OrderConformance, no_barrier_may_overlap) {
  for (bool barrier : {false, true}) {
    Queue q = queue();
    Semaphore s = semaphore("S"), t = semaphore("T");
    Buffer a = buffer(1 << 20), b = buffer(1 << 20), stamp = buffer(8);
    std::vector<uint32_t> data(a.size() / 4, 17);
    ASSERT_OK(a.write(0, std::as_bytes(std::span(data))));
    dope(b);
    ASSERT_OK(q.copy(b, a, {.signal = {{s, 1}}}));
    ASSERT_OK(q.timestamp(stamp, {.signal = {{t, 1}}, .barrier = barrier}));
    ASSERT_OK(s.wait(1));
    driver::Time end = device.now();
    ASSERT_OK(t.wait(1));
    uint64_t start = 0;
    ASSERT_OK(stamp.read(0, std::as_writable_bytes(std::span(&start, 1))));
    EXPECT_TRUE(allAre(contents(b), 17));
    if (barrier)
      EXPECT_GE(start, end);
    else if (GetParam() == "simulator")
      EXPECT_LT(start, end);
  }
}

// A barrier looks at all that came before it, not only at what came last, and
// holds back all that comes behind it, not only what comes next, until it
// starts.
TEST_P(OrderConformance, barrier_orders_both_sides) {
  Queue producer = queue("producer"), q = queue("Q");
  Semaphore s = semaphore("S");
  Buffer a = buffer(1 << 18), b = buffer(1 << 18), stamps = buffer(4 * 8);
  auto stamp = [&](uint64_t i, const SubmitOptions &options) {
    return q.timestamp({stamps, 8 * i, 8}, options);
  };
  auto times = [&] {
    std::array<uint64_t, 4> values{};
    EXPECT_OK(stamps.read(0, std::as_writable_bytes(std::span(values))));
    return values;
  };
  // Before it: a long operation, then a short one that ends first.
  ASSERT_OK(q.copy(b, a, {.signal = {{s, 1}}}));
  ASSERT_OK(stamp(0, {}));
  ASSERT_OK(stamp(1, {.barrier = true}));
  ASSERT_OK(s.wait(1));
  driver::Time end = device.now();
  ASSERT_OK(q.waitIdle());
  EXPECT_GE(times()[1], end);
  if (GetParam() == "simulator")
    EXPECT_LT(times()[0], end);

  // Behind it, and it waits for what another queue's long operation signals:
  // two operations without waits of their own.
  ASSERT_OK(producer.copy(b, a, {.signal = {{s, 2}}}));
  ASSERT_OK(stamp(1, {.wait = {{s, 2}}, .barrier = true}));
  ASSERT_OK(stamp(2, {}));
  ASSERT_OK(stamp(3, {}));
  ASSERT_OK(s.wait(2));
  end = device.now();
  ASSERT_OK(q.waitIdle());
  for (uint64_t i : {1, 2, 3})
    EXPECT_GE(times()[i], end) << i;
}

// Each of four alternatives alone; then one that fails before any is met.
TEST_P(OrderConformance, barrier_or_any) {
  Queue q = queue();
  Semaphore done = semaphore("done");
  for (int first = 0; first < 4; ++first) {
    SubmitOptions options;
    std::vector<Semaphore> gates;
    for (int i = 0; i < 4; ++i) {
      gates.push_back(semaphore("gate" + std::to_string(i), true));
      options.wait.push_back({gates[i], 1});
    }
    options.signal = {{done, uint64_t(first + 1)}};
    ASSERT_OK(q.barrierAny(options));
    ASSERT_ERROR(done.wait(first + 1, device.afterCycles(5000)),
                 DeadlineExceeded, "'done'");
    ASSERT_OK(gates[first].signal(1));
    ASSERT_OK(done.wait(first + 1, device.afterCycles(50'000)));
  }

  BufferOptions readOnly;
  readOnly.access.write = false;
  Result<Buffer> target = space.allocate(64, readOnly);
  ASSERT_OK(target.status());
  Semaphore failing = semaphore("failing"), gate = semaphore("gate", true);
  ASSERT_OK(q.barrierAny({.wait = {{gate, 1}, {failing, 1}},
                          .signal = {{done, 5}},
                          .label = "any"}));
  Queue bad = queue("bad");
  ASSERT_OK(bad.fill(*target, 1, {.signal = {{failing, 1}}}));
  EXPECT_ERROR(done.wait(5), PageFault, "'failing' >= 1, which failed");
}

// All 24 release orders of four waits, then nine waits over chained packets.
TEST_P(OrderConformance, barrier_and_all) {
  std::vector<Semaphore> gates;
  for (int i = 0; i < 9; ++i)
    gates.push_back(semaphore("gate" + std::to_string(i), true));
  Semaphore done = semaphore("done");
  Queue q = queue();
  std::array<int, 4> order{0, 1, 2, 3};
  uint64_t round = 0;
  do {
    ++round;
    SubmitOptions options;
    for (int i : {0, 1, 2, 3})
      options.wait.push_back({gates[i], round});
    options.signal = {{done, round}};
    ASSERT_OK(q.barrier(options));
    for (int i = 0; i < 4; ++i) {
      ASSERT_LT(*done.value(), round);
      ASSERT_OK(gates[order[i]].signal(round));
      ASSERT_EQ(done.wait(round, device.afterCycles(5000)).ok(), i == 3);
    }
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(round, 24u);

  Buffer a = buffer(64);
  dope(a);
  for (bool barrier : {true, false}) {
    ++round;
    SubmitOptions options;
    for (Semaphore &gate : gates)
      options.wait.push_back({gate, round});
    options.wait.push_back({Semaphore(), 99}); // Null counts as satisfied.
    options.signal = {{done, round}};
    ASSERT_OK(barrier ? q.barrier(options) : q.fill(a, round, options));
    for (int i = 0; i < 9; ++i) {
      ASSERT_LT(*done.value(), round);
      ASSERT_OK(gates[i].signal(round));
      ASSERT_EQ(done.wait(round, device.afterCycles(5000)).ok(), i == 8) << i;
    }
  }
  EXPECT_THAT(contents(a), Each(uint32_t(round)));

  // What the device itself will signal, it waits for: four queues of its slots
  // finish one after the other.
  std::array<Buffer, 3> parts;
  Semaphore t[3] = {semaphore("T0"), semaphore("T1"), semaphore("T2")};
  Buffer all = buffer(3 << 14);
  dope(all);
  std::vector<Queue> producers;
  SubmitOptions options;
  for (int i = 0; i < 3; ++i) {
    producers.push_back(queue("producer" + std::to_string(i)));
    parts[i] = buffer(1 << 14);
    dope(parts[i]);
    ASSERT_OK(producers[i].fill(parts[i], 5, {.signal = {{t[i], 1}}}));
    options.wait.push_back({t[i], 1});
  }
  options.signal = {{done, ++round}};
  ASSERT_OK(q.barrier(options));
  for (uint64_t i = 0; i < 3; ++i)
    ASSERT_OK(q.copy({all, i << 14, 1 << 14}, parts[i]));
  ASSERT_OK(done.wait(round));
  for (Semaphore &part : t)
    EXPECT_EQ(*part.value(), 1u);
  ASSERT_OK(q.waitIdle());
  EXPECT_TRUE(allAre(contents(all), 5));
}

TEST_P(OrderConformance, wait_before_signal) {
  Queue q0 = queue("Q0"), q1 = queue("Q1");
  Semaphore s = semaphore("S"), t = semaphore("T");
  Buffer a = buffer(4096), b = buffer(4096);
  dope(b);
  ASSERT_OK(q1.copy(b, a, {.wait = {{s, 1}}, .signal = {{t, 1}}}));
  ASSERT_OK(q0.fill(a, 77, {.signal = {{s, 1}}}));
  ASSERT_OK(t.wait(1));
  EXPECT_TRUE(allAre(contents(b), 77));
}

// The read waits only for the last of a chain, whose first link is the write.
TEST_P(OrderConformance, transitive_skip) {
  constexpr int links = 5;
  std::vector<Queue> queues;
  for (int i = 0; i < 3; ++i)
    queues.push_back(queue("Q" + std::to_string(i)));
  Semaphore s = semaphore("S"), t = semaphore("T");
  Buffer a = buffer(1 << 16), b = buffer(1 << 16), other = buffer(64);
  for (uint32_t round = 0; round < 8; ++round) {
    dope(a), dope(b);
    uint64_t base = round * (links + 1);
    // Submitted last to first.
    ASSERT_OK(queues[1].copy(
        b, a, {.wait = {{s, base + links}}, .signal = {{t, round + 1}}}));
    for (int link = links - 1; link >= 1; --link)
      ASSERT_OK(queues[link % 3].fill(
          other, link,
          {.wait = {{s, base + link}}, .signal = {{s, base + link + 1}}}));
    ASSERT_OK(queues[0].fill(a, 100 + round, {.signal = {{s, base + 1}}}));
    ASSERT_OK(t.wait(round + 1));
    ASSERT_TRUE(allAre(contents(b), 100 + round));
    ASSERT_OK(queues[0].signal({.signal = {{s, base + links + 1}}}));
    ASSERT_OK(s.wait(base + links + 1));
  }
}

// In a plain queue order comes from semaphores alone.
TEST_P(OrderConformance, same_queue_forward_wait) {
  Queue q = queue();
  Semaphore s = semaphore("S"), t = semaphore("T");
  Buffer a = buffer(64), b = buffer(64);
  dope(b);
  ASSERT_OK(q.copy(b, a, {.wait = {{s, 1}}, .signal = {{t, 1}}}));
  ASSERT_OK(q.fill(a, 5, {.signal = {{s, 1}}}));
  ASSERT_OK(t.wait(1));
  EXPECT_TRUE(allAre(contents(b), 5));

  // Behind a barrier it never can.
  ASSERT_OK(q.fill(a, 6, {.wait = {{s, 2}}, .signal = {{t, 2}}, .label = "X"}));
  ASSERT_OK(q.barrier());
  ASSERT_OK(q.fill(a, 7, {.signal = {{s, 2}}, .label = "Y"}));
  Status status = t.wait(2);
  EXPECT_EQ(status.code(), StatusCode::Deadlock);
  for (const char *part : {"'X'", "'S' >= 2", "'Y'", "cycle"})
    EXPECT_THAT(status.message(), ::testing::HasSubstr(part));

  // In order it is certain at submission, and refused.
  Result<Stream> stream = Stream::create(space);
  ASSERT_OK(stream.status());
  Semaphore u = semaphore("U");
  ASSERT_OK(stream->fill(a, 8, {.wait = {{u, 1}}, .label = "X"}));
  EXPECT_ERROR(stream->fill(a, 9, {.signal = {{u, 1}}, .label = "Y"}), Deadlock,
               "'X', earlier in order, waits for semaphore 'U' >= 1");
  // Another queue can still do it.
  ASSERT_OK(queue("other").signal({.signal = {{u, 1}}}));
  ASSERT_OK(stream->waitIdle());
  EXPECT_TRUE(allAre(contents(a), 8));
}

TEST_P(OrderConformance, fan_out_values) {
  Queue producer = queue("producer"), consumer = queue("consumer");
  Semaphore s = semaphore("S"), t = semaphore("T");
  Buffer source = buffer(64);
  std::vector<Buffer> sinks;
  for (uint64_t i = 1; i <= 3; ++i) {
    sinks.push_back(buffer(64));
    dope(sinks.back());
    ASSERT_OK(consumer.copy(sinks.back(), source,
                            {.wait = {{s, 2 * i - 1}}, .signal = {{t, i}}}));
  }
  for (uint64_t i = 1; i <= 3; ++i)
    ASSERT_OK(producer.fill(
        source, i, {.wait = {{t, i - 1}}, .signal = {{s, 2 * i - 1}}}));
  ASSERT_OK(t.wait(3));
  for (uint64_t i = 1; i <= 3; ++i)
    EXPECT_TRUE(allAre(contents(sinks[i - 1]), i));
}

TESSERA_CONFORMANCE(OrderConformance);

} // namespace
