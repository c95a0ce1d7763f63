//===- ConformanceTest.cpp - Named scenarios of the runtime ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each test is a scenario of docs/runtime.md and carries its name. S and T are
// timelines at 0; "doped" buffers hold a pattern no right answer contains.
//
//===----------------------------------------------------------------------===//

#include "RuntimeFixture.h"
#include "tessera/Support/Random.h"
#include <thread>

using namespace tessera;
using namespace tessera::runtime;
using ::testing::Each;

namespace {

class Conformance : public RuntimeTest {
protected:
  static bool allAre(const std::vector<uint32_t> &words, uint32_t value) {
    for (uint32_t word : words)
      if (word != value)
        return false;
    return true;
  }
};

TEST_P(Conformance, fifo_same_queue) {
  Queue q = queue();
  Semaphore s = semaphore();
  Random random(3);
  for (uint64_t i = 1; i <= 100; ++i) {
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

// All 24 release orders of four waits, then nine waits over chained packets.
TEST_P(Conformance, barrier_and_all) {
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
}

TEST_P(Conformance, wait_before_signal) {
  Queue q0 = queue("Q0"), q1 = queue("Q1");
  Semaphore s = semaphore("S"), t = semaphore("T");
  Buffer a = buffer(4096), b = buffer(4096);
  dope(b);
  ASSERT_OK(q1.copy(b, a, {.wait = {{s, 1}}, .signal = {{t, 1}}}));
  ASSERT_OK(q0.fill(a, 77, {.signal = {{s, 1}}}));
  ASSERT_OK(t.wait(1));
  EXPECT_TRUE(allAre(contents(b), 77));
}

// In a plain queue order comes from semaphores alone.
TEST_P(Conformance, same_queue_forward_wait) {
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
}

TEST_P(Conformance, fan_out_values) {
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

TEST_P(Conformance, drop_handles_in_flight) {
  Semaphore go = semaphore("go", true);
  Buffer b = buffer(4096);
  dope(b);
  {
    Queue q = queue();
    Buffer a = buffer(4096);
    ASSERT_OK(go.signal(1));
    ASSERT_OK(q.fill(a, 3, {.wait = {{go, 1}}}));
    ASSERT_OK(q.copy(b, a, {.barrier = true}));
  }
  EXPECT_TRUE(allAre(contents(b), 3));

  // Work that cannot finish keeps its memory; dropping everything is defined.
  Queue parked = queue("parked");
  Semaphore never = semaphore("never");
  ASSERT_OK(parked.fill(b, 4, {.wait = {{never, 1}}}));
  parked = Queue();
  b = Buffer();
  never = Semaphore();
  space = AddressSpace();
  device = Device();
}

TEST_P(Conformance, bad_packet_isolated) {
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

  Queue other = queue("other");
  Buffer a = buffer(64);
  uint32_t value = 0;
  for (auto &[what, packet] : kinds) {
    SCOPED_TRACE(what);
    Queue q = queue("Q0");
    Semaphore s = semaphore("S");
    ASSERT_OK(q.fill(a, ++value));
    ASSERT_OK(q.waitIdle());
    ASSERT_OK(q.submitRaw(packet, {.label = "bad"}));
    EXPECT_ERROR(q.waitIdle(), InvalidArgument,
                 "queue 'Q0': packet 1 'bad': IllegalPacket");
    EXPECT_ERROR(q.fill(a, 0, {.signal = {{s, 1}}}), FailedPrecondition,
                 "has stopped");
    dope(a);
    ASSERT_OK(other.fill(a, ++value));
    ASSERT_OK(other.waitIdle());
    EXPECT_TRUE(allAre(contents(a), value));
  }
}

// Packet 2 of 5 faults, barriers between.
TEST_P(Conformance, head_fault_abort_rest) {
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
  ASSERT_OK(go.signal(1));
  EXPECT_OK(s[0].wait(1));
  EXPECT_ERROR(s[1].wait(1), PageFault, "'op1': ProtectionFault");
  for (int i = 2; i < 5; ++i)
    EXPECT_ERROR(s[i].wait(1), Aborted, "'op1'");
  EXPECT_TRUE(allAre(contents(a), 1));
  // What depends on the failed work elsewhere fails too.
  Queue other = queue("other");
  EXPECT_ERROR(other.fill(a, 9, {.wait = {{s[1], 1}}}), PageFault, "'S1'");
}

// A failure reaches a wait through work of another queue.
TEST_P(Conformance, failure_propagates) {
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

TEST_P(Conformance, memory_fault_kinds) {
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
}

TEST_P(Conformance, ring_full) {
  Queue q = queue("small", 4);
  Buffer a = buffer(64);
  Semaphore go = semaphore("go", true);
  for (uint32_t i = 1; i <= 3; ++i)
    ASSERT_OK(q.fill(a, i, {.wait = {{go, 1}}, .barrier = true}));
  EXPECT_ERROR(q.fill(a, 9, {.whenFull = WhenFull::Fail}), ResourceExhausted,
               "room for 0 of 3");
  EXPECT_EQ(q.submitted(), 3u);
  // A batch that could never fit is refused, also when there is room.
  SubmitOptions wide;
  std::vector<Semaphore> signals;
  for (int i = 0; i < 5; ++i)
    signals.push_back(semaphore("S" + std::to_string(i)));
  for (Semaphore &s : signals)
    wide.signal.push_back({s, 1});
  EXPECT_ERROR(q.fill(a, 9, wide), InvalidArgument, "needs 5 packets");
  // A blocking submission waits for room, and goes on when the stall is gone.
  std::thread host([&] { EXPECT_OK(go.signal(1)); });
  ASSERT_OK(q.fill(a, 3, {.barrier = true}));
  host.join();
  for (uint32_t i = 4; i <= 20; ++i)
    ASSERT_OK(q.fill(a, i, {.barrier = true}));
  ASSERT_OK(q.waitIdle());
  EXPECT_EQ(q.completed(), 21u);
  EXPECT_TRUE(allAre(contents(a), 20));

  // Where nobody can make room, that is said.
  Semaphore never = semaphore("never");
  for (uint32_t i = 1; i <= 3; ++i)
    ASSERT_OK(q.fill(a, i, {.wait = {{never, 1}}, .label = "stuck"}));
  EXPECT_ERROR(q.fill(a, 9), Deadlock, "'never' >= 1, which nothing in flight");
}

// Ring indices many times around, ids across 2^32.
TEST_P(Conformance, wrap_everything) {
  QueueOptions options;
  options.packets = 4;
  options.firstId = 0xfffffff0;
  Result<Queue> q = Queue::create(space, options);
  ASSERT_OK(q.status());
  Semaphore s = semaphore();
  Buffer a = buffer(64), b = buffer(64);
  for (uint32_t i = 1; i <= 200; ++i) {
    ASSERT_OK(q->fill(a, i));
    ASSERT_OK(q->copy(b, a, {.signal = {{s, i}}, .barrier = true}));
    if (i % 7 == 0) {
      ASSERT_OK(s.wait(i));
      ASSERT_TRUE(allAre(contents(b), i));
    } else {
      // The next fill must not overtake this copy.
      ASSERT_OK(q->barrier());
    }
  }
  ASSERT_OK(q->waitIdle());
  EXPECT_TRUE(allAre(contents(b), 200));
}

TEST_P(Conformance, wait_timeout_exact) {
  Queue q = queue();
  Semaphore s = semaphore();
  Buffer a = buffer(1 << 20), b = buffer(1 << 20);
  // How long it takes.
  driver::Time start = device.now();
  ASSERT_OK(q.copy(b, a, {.signal = {{s, 1}}}));
  ASSERT_OK(s.wait(1));
  driver::Time took = device.now() - start;
  ASSERT_GT(took, 4u);
  for (driver::Time part : {took / 2, took / 3, took - 1}) {
    uint64_t next = *s.value() + 1;
    ASSERT_OK(q.copy(b, a, {.signal = {{s, next}}}));
    driver::Time deadline = device.now() + part;
    if (s.wait(next, Deadline::at(deadline)).ok())
      continue; // A warm device may be faster.
    EXPECT_EQ(device.now(), deadline);
    EXPECT_ERROR(s.wait(next, Deadline::poll()), DeadlineExceeded, "not yet");
    EXPECT_EQ(device.now(), deadline);
    ASSERT_OK(s.wait(next));
  }
}

TEST_P(Conformance, deadlock_cycle) {
  Queue q0 = queue("Q0"), q1 = queue("Q1");
  Semaphore s = semaphore("S"), t = semaphore("T");
  Buffer a = buffer(64);
  ASSERT_OK(
      q0.fill(a, 1, {.wait = {{t, 1}}, .signal = {{s, 1}}, .label = "left"}));
  ASSERT_OK(
      q1.fill(a, 2, {.wait = {{s, 1}}, .signal = {{t, 1}}, .label = "right"}));
  for (Semaphore *waited : {&s, &t}) {
    Status status = waited->wait(1);
    EXPECT_EQ(status.code(), StatusCode::Deadlock);
    for (const char *part :
         {"'left' (queue 'Q0', packet 0)", "'right' (queue 'Q1', packet 0)",
          "'S' >= 1", "'T' >= 1", "a cycle"})
      EXPECT_THAT(status.message(), ::testing::HasSubstr(part));
  }
  EXPECT_ERROR(q0.waitIdle(), Deadlock, "'left'");
}

// Threads share queues; each waits for its own work while others submit.
TEST_P(Conformance, many_threads) {
  Queue queues[2] = {queue("Q0", 16), queue("Q1", 16)};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Semaphore s = semaphore("S" + std::to_string(t));
      Buffer a = buffer(256), b = buffer(256);
      for (uint32_t i = 1; i <= 30; ++i) {
        ASSERT_OK(
            queues[t % 2].fill(a, 100 * t + i, {.signal = {{s, 2 * i - 1}}}));
        ASSERT_OK(queues[i % 2].copy(
            b, a, {.wait = {{s, 2 * i - 1}}, .signal = {{s, 2 * i}}}));
        ASSERT_OK(s.wait(2 * i));
        ASSERT_TRUE(allAre(contents(b), 100 * t + i));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (Queue &q : queues) {
    EXPECT_OK(q.waitIdle());
    EXPECT_EQ(q.completed(), 120u);
  }
}

TEST_P(Conformance, oom_kinds) {
  uint64_t total = device.driver().memorySize(isa::PhysicalSpace::Dram);
  uint64_t half = total / 2;
  Buffer first = buffer(half, "first");
  BufferOptions options;
  options.label = "second";
  EXPECT_ERROR(space.allocate(half, options).status(), OutOfMemory, "'second'");
  first = Buffer();
  EXPECT_OK(space.allocate(half, options).status());
}

TESSERA_ON_ALL_DRIVERS(Conformance);

} // namespace
