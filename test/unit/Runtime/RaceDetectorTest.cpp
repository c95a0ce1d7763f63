//===- RaceDetectorTest.cpp - Happens-before of host and device -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small programs checked by hand, then random ones against a detector that
// knows nothing of vector clocks: it closes the graph of edges transitively.
//
//===----------------------------------------------------------------------===//

#include "RaceDetector.h"
#include "tessera/Support/Random.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::runtime;
using ::testing::HasSubstr;
using Detector = RaceDetector;

namespace {

Detector::Access bytes(uint64_t low, uint64_t high, bool write) {
  return {isa::PhysicalSpace::Dram, 1000 + low, 1000 + high, write, "A", 1000};
}

class RaceDetectorTest : public ::testing::Test {
protected:
  Detector::NodePointer submit(uint32_t queue, std::string label,
                               Detector::Access access,
                               std::vector<Detector::Point> waits = {},
                               std::vector<Detector::Point> signals = {},
                               bool barrier = false) {
    Detector::Operation operation;
    operation.label = std::move(label);
    operation.waits = std::move(waits);
    operation.signals = std::move(signals);
    operation.barrier = barrier;
    operation.accesses = {access};
    return detector.submit(queue, std::move(operation));
  }
  Detector detector;
  uint32_t q0 = detector.addQueue("Q0"), q1 = detector.addQueue("Q1");
  Detector::Point s1{7, 1, "S"}, s2{7, 2, "S"};
};

// Whatever is looked at first, chains of any length are followed to their ends.
TEST_F(RaceDetectorTest, LongChains) {
  constexpr uint64_t length = 100'000;
  std::vector<Detector::NodePointer> nodes;
  for (uint64_t i = 0; i < length; ++i)
    nodes.push_back(submit(i % 2 ? q0 : q1, "link", bytes(0, 8, true),
                           {{i, 1, "S"}}, {{i + 1, 1, "S"}}));
  // Barriers in a queue of their own, without an end.
  uint32_t q2 = detector.addQueue("Q2");
  for (uint64_t i = 0; i < length; ++i)
    nodes.push_back(
        submit(q2, "barrier", bytes(64, 72, true), {}, {}, /*barrier=*/true));
  detector.complete(nodes[length - 1]);
  detector.complete(nodes.back());
  EXPECT_TRUE(detector.reports().empty());
  for (const Detector::NodePointer &node : nodes)
    detector.complete(node);
  EXPECT_TRUE(detector.reports().empty());
}

// A barrier that never ran has ordered nothing; the next one orders all before.
TEST_F(RaceDetectorTest, BarriersThatWereDropped) {
  auto a = submit(q1, "write", bytes(0, 8, true), {}, {s1});
  auto b = submit(q0, "read", bytes(64, 72, false), {s1});
  detector.complete(a);
  detector.complete(b);
  std::vector<Detector::NodePointer> dropped;
  for (int i = 0; i < 3; ++i)
    dropped.push_back(
        submit(q0, "dropped", bytes(128, 136, true), {}, {}, true));
  for (const auto &node : dropped)
    detector.drop(node);
  auto c = submit(q0, "again", bytes(0, 8, true), {}, {}, true);
  detector.complete(c);
  EXPECT_TRUE(detector.reports().empty());
  dropped = {submit(q0, "dropped", bytes(128, 136, true), {}, {}, true)};
  detector.drop(dropped[0]);
  detector.hostSeesIdle(q0);
  detector.hostAccess("read", bytes(0, 8, false));
  EXPECT_TRUE(detector.reports().empty());
}

TEST_F(RaceDetectorTest, NamesBothSitesAndTheMissingEdge) {
  auto a = submit(q0, "fill", bytes(0, 64, true), {}, {s1});
  auto b = submit(q1, "copy", bytes(32, 96, false));
  detector.complete(a);
  detector.complete(b);
  ASSERT_EQ(detector.reports().size(), 1u);
  const RaceReport &report = detector.reports().front();
  EXPECT_EQ(report.first, "'fill' (queue 'Q0', operation 0)");
  EXPECT_EQ(report.second, "'copy' (queue 'Q1', operation 0)");
  EXPECT_TRUE(report.firstWrites && !report.secondWrites);
  EXPECT_EQ(report.low, 32u);
  EXPECT_EQ(report.high, 64u);
  EXPECT_THAT(report.missing, HasSubstr("wait for semaphore 'S' >= 1"));
}

TEST_F(RaceDetectorTest, SemaphoresAndBarriersOrder) {
  auto a = submit(q0, "a", bytes(0, 64, true), {}, {s1});
  auto b = submit(q1, "b", bytes(0, 64, true), {s1}, {s2});
  auto c = submit(q1, "c", bytes(0, 64, true), {}, {}, true);
  auto d = submit(q1, "d", bytes(0, 8, true));
  // Completion is drained in another order than it came.
  for (const auto &node : {d, c, b, a})
    detector.complete(node);
  // d starts once c has started: c and d are not ordered, d and b are.
  ASSERT_EQ(detector.reports().size(), 1u);
  EXPECT_THAT(detector.reports()[0].print(), HasSubstr("'c'"));
  EXPECT_THAT(detector.reports()[0].print(), HasSubstr("'d'"));
}

TEST_F(RaceDetectorTest, DisjointBytesAndReadsDoNotRace) {
  for (auto access : {bytes(0, 8, true), bytes(8, 16, true),
                      bytes(16, 24, false), bytes(16, 24, false)})
    detector.complete(submit(q0, "x", access));
  EXPECT_TRUE(detector.reports().empty());
}

TEST_F(RaceDetectorTest, TheHostIsAnAgent) {
  detector.hostAccess("write", bytes(0, 8, true));
  auto a = submit(q0, "a", bytes(0, 8, true), {}, {s1}); // Submitted after.
  detector.complete(a);
  EXPECT_TRUE(detector.reports().empty());
  detector.hostAccess("read", bytes(0, 8, false)); // No wait yet.
  ASSERT_EQ(detector.reports().size(), 1u);
  EXPECT_THAT(detector.reports()[0].missing,
              HasSubstr("let the host wait for semaphore 'S' >= 1"));
  detector.hostSees(s1);
  detector.hostAccess("read", bytes(0, 8, false));
  EXPECT_EQ(detector.reports().size(), 1u);
  // In flight while the host writes.
  auto b = submit(q0, "b", bytes(0, 8, false));
  detector.hostAccess("write", bytes(4, 5, true));
  detector.complete(b);
  ASSERT_EQ(detector.reports().size(), 2u);
  EXPECT_THAT(detector.reports()[1].missing,
              HasSubstr("later, or let it wait for a semaphore"));
  // Waiting for a signal of the host after its access.
  Detector::Point host{9, 1, "H"};
  auto c = submit(q1, "c", bytes(100, 108, true), {host});
  detector.hostAccess("write", bytes(100, 108, true));
  detector.hostSignals(host);
  detector.complete(c);
  EXPECT_EQ(detector.reports().size(), 2u);
}

// A wait that was met before anything was signalled follows no signal.
TEST_F(RaceDetectorTest, WaitsMetFromTheBeginningOrderNothing) {
  Detector::Point zero{7, 0, "S"};
  auto a = submit(q0, "a", bytes(0, 8, true), {}, {s1});
  auto b = submit(q1, "b", bytes(0, 8, true), {zero});
  detector.complete(a);
  detector.complete(b);
  EXPECT_EQ(detector.reports().size(), 1u);
  // The same of a semaphore that was at 5 when the detector came.
  Detector::Point five{77, 5, "T"}, six{77, 6, "T"};
  detector.hostSignals(five);
  auto c = submit(q0, "c", bytes(100, 108, true), {}, {six});
  auto d = submit(q1, "d", bytes(100, 108, true), {five});
  auto e = submit(q1, "e", bytes(100, 104, true), {six});
  detector.complete(c);
  detector.complete(d);
  EXPECT_EQ(detector.reports().size(), 2u);
  EXPECT_THAT(detector.reports()[1].print(), ::testing::HasSubstr("'d'"));
  detector.complete(e); // Follows c, not d.
  ASSERT_EQ(detector.reports().size(), 3u);
  EXPECT_THAT(detector.reports()[2].print(), ::testing::HasSubstr("'e'"));
}

TEST_F(RaceDetectorTest, SamePairIsOneReport) {
  auto a = submit(q0, "a", bytes(0, 8, true));
  detector.observe(a, "", bytes(8, 16, true));
  auto b = submit(q1, "b", bytes(0, 16, true));
  detector.complete(a);
  detector.complete(b);
  ASSERT_EQ(detector.reports().size(), 1u);
  EXPECT_EQ(detector.reports()[0].occurrences, 2u);
  EXPECT_EQ(detector.reports()[0].low, 0u);
  EXPECT_EQ(detector.reports()[0].high, 16u);
}

TEST_F(RaceDetectorTest, DroppedOperationsAndForgottenBytesDoNotCount) {
  auto a = submit(q0, "a", bytes(0, 8, true));
  detector.drop(a);
  detector.complete(submit(q1, "b", bytes(0, 8, true)));
  EXPECT_TRUE(detector.reports().empty());
  detector.forget(isa::PhysicalSpace::Dram, 1000, 1008);
  detector.complete(submit(q0, "c", bytes(0, 8, true)));
  EXPECT_TRUE(detector.reports().empty());
}

// Programs of up to 12 operations on 3 queues and 3 timelines, one byte each of
// 4: the pairs that race, by transitive closure over operations' starts and
// ends, and by the detector, must be the same.
TEST_F(RaceDetectorTest, AgreesWithTransitiveClosure) {
  uint64_t races = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    Detector checked;
    for (int q = 0; q < 3; ++q)
      checked.addQueue("Q" + std::to_string(q));
    struct Op {
      uint32_t queue = 0;
      uint64_t number = 0, byte = 0;
      bool write = false, barrier = false;
      std::vector<std::pair<uint64_t, uint64_t>> waits, signals;
    };
    std::vector<Op> ops(2 + random.below(11));
    uint64_t next[3] = {}, numbers[3] = {};
    std::vector<Detector::NodePointer> nodes;
    for (Op &op : ops) {
      op.queue = random.below(3);
      op.number = numbers[op.queue]++;
      op.byte = random.below(4);
      op.write = random.below(2);
      op.barrier = random.below(4) == 0;
      Detector::Operation operation;
      operation.label = "op";
      operation.barrier = op.barrier;
      operation.accesses = {bytes(op.byte, op.byte + 1, op.write)};
      // Waits for what was signalled before: no cycles. A signal follows the
      // one before it on its timeline, as it must.
      uint64_t s = random.below(3);
      if (random.below(2) && next[s]) {
        uint64_t value = 1 + random.below(next[s]);
        op.waits.push_back({s, value});
      }
      uint64_t t = random.below(3);
      if (random.below(2)) {
        if (next[t])
          op.waits.push_back({t, next[t]});
        op.signals.push_back({t, ++next[t]});
      }
      for (auto [semaphore, value] : op.waits)
        operation.waits.push_back({semaphore, value, "S"});
      for (auto [semaphore, value] : op.signals)
        operation.signals.push_back({semaphore, value, "S"});
      nodes.push_back(checked.submit(op.queue, operation));
    }
    // Start of i: 2i, end: 2i + 1.
    size_t n = ops.size();
    std::vector<std::vector<bool>> before(2 * n, std::vector<bool>(2 * n));
    for (size_t i = 0; i < n; ++i) {
      before[2 * i][2 * i + 1] = true;
      for (size_t j = 0; j < n; ++j) {
        if (ops[j].queue == ops[i].queue && ops[j].number < ops[i].number) {
          if (ops[i].barrier)
            before[2 * j + 1][2 * i] = true;
          if (ops[j].barrier)
            before[2 * j][2 * i] = true;
        }
        for (auto [s, v] : ops[i].waits)
          for (auto [t, u] : ops[j].signals)
            if (s == t && u <= v)
              before[2 * j + 1][2 * i] = true;
      }
    }
    for (size_t k = 0; k < 2 * n; ++k)
      for (size_t i = 0; i < 2 * n; ++i)
        for (size_t j = 0; j < 2 * n; ++j)
          if (before[i][k] && before[k][j])
            before[i][j] = true;
    bool anyRace = false;
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < i; ++j)
        anyRace |= ops[i].byte == ops[j].byte &&
                   (ops[i].write || ops[j].write) &&
                   !before[2 * j + 1][2 * i] && !before[2 * i + 1][2 * j];
    // Drained in any order.
    while (!nodes.empty()) {
      size_t i = random.below(nodes.size());
      checked.complete(nodes[i]);
      nodes.erase(nodes.begin() + i);
    }
    ASSERT_EQ(!checked.reports().empty(), anyRace) << "seed " << seed;
    races += anyRace;
  }
  // The programs must be of both kinds.
  EXPECT_GT(races, 300u);
  EXPECT_LT(races, 1990u);
}

} // namespace
