//===- MatrixEnginesTest.cpp - Several matrix engines ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TickingModel.h"
#include "tessera/Support/Random.h"
#include <bit>

namespace tessera::sim::test {

using isa::Opcode;
using isa::Queue;
using isa::Space;
using isa::mmio::FaultCause;

namespace {

Architecture engines(uint32_t count,
                     const Architecture &like = tinyArchitecture()) {
  Architecture a = like;
  a.matrix.count = count;
  return a;
}

/// mma on an engine; t0, t1: accumulators, t2, t3: [20, 8] left operands, t4,
/// t5: [8, 8] right operands, loaded by the first six instructions.
struct Products : Kernel {
  explicit Products(uint64_t secondLeft = 4096) {
    td(0, tensor(Space::Acc, NumericFormat::F32, {20, 8}, 0));
    td(1, tensor(Space::Acc, NumericFormat::F32, {20, 8}, 4096));
    td(2, tensor(Space::Spm, NumericFormat::BF16, {20, 8}, 0));
    td(3, tensor(Space::Spm, NumericFormat::BF16, {20, 8}, secondLeft));
    td(4, tensor(Space::Spm, NumericFormat::BF16, {8, 8}, 32768));
    td(5, tensor(Space::Spm, NumericFormat::BF16, {8, 8}, 40960));
  }
  isa::Instruction &on(unsigned engine, unsigned acc, unsigned a, unsigned b,
                       bool accumulate = false,
                       std::initializer_list<Step> waits = {},
                       std::initializer_list<Step> signals = {}) {
    mma(acc, a, b, accumulate, waits, signals);
    program.back().fields[isa::mma::queue] = engine;
    return program.back();
  }
};

/// Cycles of an engine by cause.
uint64_t cycles(const DispatchRecord &record, unsigned engine,
                StallCause cause) {
  return record.engines[size_t(matrixEngine(engine))][cause];
}

} // namespace

TEST(MatrixEngines, RunSideBySide) {
  Machine m(engines(2, conflictFreeArchitecture()));
  Products k;
  k.on(0, 0, 2, 4);
  k.on(1, 1, 3, 5);
  k.halt();
  DispatchRecord r = m.run(k);
  // Pushed in 6 and 7, taken a cycle later. L = 8, M = 20 rows, R + C - 2 + F =
  // 15: 7 + 8 + 20 + 15 = 50, and one later. One engine would take until 70.
  EXPECT_EQ(m.span(6).begin, 7u);
  EXPECT_EQ(m.span(6).end, 50u);
  EXPECT_EQ(m.span(7).begin, 8u);
  EXPECT_EQ(m.span(7).end, 51u);
  // Each has an account of its own.
  ASSERT_EQ(r.engines.size(), numEngines + 1);
  for (unsigned engine : {0u, 1u}) {
    EXPECT_EQ(cycles(r, engine, StallCause::Busy), 20u);
    EXPECT_EQ(cycles(r, engine, StallCause::WeightLoad), 8u);
    EXPECT_EQ(cycles(r, engine, StallCause::BankConflict), 0u);
  }
  EXPECT_EQ(r.engines.matrix()[StallCause::Busy], 40u);
  Statistics s = m.device.statistics();
  EXPECT_EQ(s.busy(Engine::Matrix), 40u);
  for (const EngineCycles &engine : s.cores[0].engines)
    EXPECT_EQ(engine.total(), s.cycles);
}

TEST(MatrixEngines, ShareTheBanks) {
  // 16 banks of 16 bytes: row i of `a` is one word, in bank i mod 16 for the
  // first engine and, 16 bytes further, in bank i + 1 for the second one.
  Machine m(engines(2));
  Products k(4096 + 16);
  k.on(0, 0, 2, 4);
  k.on(1, 1, 3, 5);
  k.halt();
  DispatchRecord r = m.run(k);
  // Weights: row i in bank i, by the first engine in 7 + i, by the second in
  // 8 + i: they never meet. Rows: the first needs bank i in 15 + i. The second
  // would need bank 1 in 16, as the first does, and a cycle later it would
  // write its sums to the same one of two banks: it goes in 18 + i, beside the
  // first one's i + 3.
  EXPECT_EQ(m.span(6).end, 50u);
  EXPECT_EQ(m.span(7).end, 53u);
  EXPECT_EQ(cycles(r, 0, StallCause::BankConflict), 0u);
  EXPECT_EQ(cycles(r, 1, StallCause::BankConflict), 2u);
  EXPECT_EQ(cycles(r, 1, StallCause::Busy), 20u);
}

TEST(MatrixEngines, TheLowerNumberGoesFirstAtEqualTime) {
  // Both take their waits in the cycle in which the sequencer's signals are
  // seen, and all their words lie in the one bank.
  Architecture arch = engines(3);
  arch.spm.banks = 1;
  Machine m(arch);
  Products k;
  k.on(2, 1, 3, 5, false, {{2, 1}});
  k.on(1, 0, 2, 4, false, {{1, 1}});
  k.signal(Queue::Seq, {{1, 1}, {2, 1}});
  k.halt();
  m.run(k);
  EXPECT_EQ(m.span(6).begin, m.span(7).begin);
  EXPECT_LT(m.span(7).end, m.span(6).end);
  // 8 rows of weights, then 20 rows, by each: mx1 in 9 … 36, mx2's weights in
  // 37 … 44, its rows in 45 … 64; each ends 15 later.
  EXPECT_EQ(m.span(7).begin, 9u);
  EXPECT_EQ(m.span(7).end, 37 + 15u);
  EXPECT_EQ(m.span(6).end, 65 + 15u);
}

TEST(MatrixEngines, EachKeepsItsOwnWeights) {
  Products k;
  k.on(0, 0, 2, 4);
  k.on(1, 1, 3, 5);
  k.on(0, 0, 3, 4).fields[isa::mma::keep_b] = 1;
  k.halt();
  Machine good(engines(2, conflictFreeArchitecture()));
  good.run(k);
  // The kept block follows the first one's rows at once: 35 + 20 + 15.
  EXPECT_EQ(good.span(8).end, 70u);
  // The second engine has not got what the first one loaded.
  Products wrong;
  wrong.on(0, 0, 2, 4);
  wrong.on(1, 1, 2, 4).fields[isa::mma::keep_b] = 1;
  wrong.halt();
  Machine bad(engines(2));
  isa::Packet packet;
  packet.body = bad.place(wrong);
  bad.submit(packet);
  bad.settle();
  EXPECT_EQ(bad.fault(), FaultCause::IllegalDescriptor);
  EXPECT_EQ(bad.queueRegister(isa::mmio::faultPc), 7u);
}

TEST(MatrixEngines, AreOrderedBySemaphores) {
  // The second engine adds to what the first one wrote.
  DeviceOptions options = Machine::smallHost();
  options.checks.race = options.checks.sync = true;
  for (bool ordered : {true, false}) {
    Machine m(engines(2), options);
    Kernel k;
    k.td(0, tensor(Space::Acc, NumericFormat::F32, {4, 8}, 0));
    k.td(1, tensor(Space::Spm, NumericFormat::F32, {4, 8}, 0));
    k.td(2, tensor(Space::Spm, NumericFormat::F32, {8, 8}, 4096));
    k.td(3,
         tensor(Space::Global, NumericFormat::F32, {4, 8}, Machine::dataArea));
    k.add(Opcode::FILL, {{isa::fill::dst, 1}, {isa::fill::value, 0x3f800000}});
    k.add(Opcode::FILL, {{isa::fill::dst, 2}, {isa::fill::value, 0x40000000}},
          {}, {{0, 1}, {1, 1}});
    k.mma(0, 1, 2, false, {{0, 1}}, {{2, 1}});
    k.mma(0, 1, 2, true, {{1, 1}}, {{3, 1}});
    k.program.back().fields[isa::mma::queue] = 1;
    if (ordered)
      k.program.back().waits[1] = {2, 1};
    k.store(3, 0, {{3, 1}});
    if (!ordered)
      k.program.back().waits[1] = {2, 1};
    k.halt();
    m.run(k);
    std::vector<Finding> findings = m.device.findings();
    if (ordered) {
      // 8 products of 1 · 2, twice.
      EXPECT_EQ(m.read<float>(Machine::dataArea, 32),
                std::vector<float>(32, 32.0f));
      EXPECT_TRUE(findings.empty()) << print(findings[0], nullptr);
      continue;
    }
    ASSERT_FALSE(findings.empty());
    EXPECT_EQ(findings[0].kind, Finding::Kind::Race);
    EXPECT_EQ(findings[0].space, Space::Acc);
    EXPECT_EQ(findings[0].instructions[0].engine, Engine::Matrix);
    EXPECT_EQ(findings[0].instructions[1].engine, Engine::Matrix1);
    EXPECT_EQ(findings[0].instructions[1].text,
              "isa.mma acc = t0, a = t1, b = t2, m_dims = [0], n_dims = [1], "
              "accumulate = yes, ra = r0, queue = mx1 wait(s1 >= 1) signal(s3 "
              "+= 1)");
  }
}

/// Of one unit's reads of a byte every one counts, however many units read it.
TEST(MatrixEngines, RacesWithAnyOfManyReaders) {
  for (unsigned reader = 0; reader < 8; ++reader) {
    DeviceOptions options = Machine::smallHost();
    options.checks.race = true;
    Machine m(engines(8), options);
    Kernel k;
    k.td(1, tensor(Space::Spm, NumericFormat::F32, {4, 8}, 0));
    k.td(2, tensor(Space::Spm, NumericFormat::F32, {8, 8}, 4096));
    for (unsigned engine = 0; engine < 8; ++engine)
      k.td(3 + engine,
           tensor(Space::Acc, NumericFormat::F32, {4, 8}, engine * 1024));
    // All read `a` after it was filled; the next fill waits for all but one.
    k.add(Opcode::FILL, {{isa::fill::dst, 1}});
    k.add(Opcode::FILL, {{isa::fill::dst, 2}}, {}, {{30, 8}});
    k.wait(Queue::Seq, {{30, 8}});
    for (unsigned engine = 0; engine < 8; ++engine) {
      k.mma(3 + engine, 1, 2);
      k.program.back().fields[isa::mma::queue] = engine;
      if (engine != reader)
        k.program.back().signals[0] = {31, 1};
    }
    k.wait(Queue::Seq, {{31, 7}});
    k.add(Opcode::FILL, {{isa::fill::dst, 1}, {isa::fill::value, 1}});
    k.halt();
    m.run(k);
    std::vector<Finding> findings = m.device.findings();
    bool named = false;
    for (const Finding &f : findings)
      named |= f.kind == Finding::Kind::Race && f.space == Space::Spm &&
               f.instructions[0].engine == matrixEngine(reader);
    EXPECT_TRUE(named) << "reader " << reader;
  }
}

// Blocks, weights that are held, sums under way and banks that are taken, of
// both engines at once.
TEST(MatrixEngines, SnapshotsGoOn) {
  Products k(4096 + 16);
  k.td(10, tensor(Space::Spm, NumericFormat::BF16, {4096}, 0));
  k.td(11,
       tensor(Space::Global, NumericFormat::BF16, {4096}, Machine::dataArea));
  k.td(12, tensor(Space::Spm, NumericFormat::BF16, {8192}, 32768));
  k.td(13,
       tensor(Space::Global, NumericFormat::BF16, {8192}, Machine::dataArea));
  k.load(10, 11, {}, {{0, 1}, {1, 1}});
  k.load(12, 13, {}, {{0, 1}, {1, 1}});
  k.wait(Queue::Mx, {{0, 2}});
  k.wait(Queue::Mx1, {{1, 2}});
  for (unsigned i = 0; i < 3; ++i)
    for (unsigned engine : {0u, 1u}) {
      k.on(engine, engine, 2 + engine, 4 + engine, i != 0);
      k.on(engine, 1 - engine, 3 - engine, 4 + engine, i != 0)
          .fields[isa::mma::keep_b] = 1;
    }
  k.halt();
  Machine m(engines(2));
  std::vector<uint16_t> values(8192);
  Random random(1);
  for (uint16_t &v : values)
    v = uint16_t(std::bit_cast<uint32_t>(random.uniformFloat(-1, 1)) >> 16);
  m.write(Machine::dataArea, values);
  isa::Packet packet;
  packet.body = m.place(k);
  m.submit(packet);
  expectSnapshotsGoOn(m, 31);
}

TEST(MatrixEngines, AnotherOneThanTheCoreHasFaults) {
  for (uint32_t count : {1u, 2u, 7u})
    for (Opcode opcode :
         {Opcode::MMA, Opcode::WAIT, Opcode::SIGNAL, Opcode::SIGNALCORE}) {
      Kernel k;
      k.li(1, 0);
      isa::Instruction &inst = k.add(opcode);
      if (opcode == Opcode::MMA)
        inst.fields[isa::mma::queue] = count;
      else
        inst.fields[0] = int64_t(isa::matrixQueue(count));
      if (opcode == Opcode::SIGNALCORE)
        inst.fields[isa::signal_core::count] = 1;
      k.halt();
      Machine m(engines(count));
      isa::Packet packet;
      packet.body = m.place(k);
      m.submit(packet);
      m.settle();
      EXPECT_EQ(m.fault(), FaultCause::NoSuchQueue);
      EXPECT_EQ(m.queueRegister(isa::mmio::faultPc), 1u);
      EXPECT_EQ(m.queueRegister(isa::mmio::faultAddress), count);
    }
}

TEST(MatrixEngines, AFullQueueIsAWaitForTheMatrixEngines) {
  Architecture arch = engines(2, conflictFreeArchitecture());
  arch.queueDepth = 1;
  Machine m(arch);
  Products k;
  for (int i = 0; i < 3; ++i)
    k.on(1, 1, 3, 5);
  k.halt();
  DispatchRecord r = m.run(k);
  // The first is pushed in 6 and taken in 7, so the second is pushed in 7. It
  // is taken when the first one's rows start, in 15: the third is pushed then
  // instead of in 8.
  EXPECT_EQ(r.engines[size_t(Engine::Sequencer)][StallCause::WaitMatrix], 7u);
}

TEST(MatrixEngines, DeadlocksNameTheQueue) {
  DeviceOptions options = Machine::smallHost();
  options.checks.sync = true;
  Machine m(engines(2), options);
  Kernel k;
  k.wait(Queue::Mx1, {{3, 1}});
  k.signal(Queue::Mx, {{4, 1}});
  k.halt();
  isa::Packet packet;
  packet.body = m.place(k);
  m.submit(packet);
  m.settle();
  std::string text;
  for (const Finding &f : m.device.findings())
    text += print(f, nullptr);
  EXPECT_NE(text.find("matrix1"), std::string::npos) << text;
  EXPECT_NE(text.find("waits for s3 >= 1"), std::string::npos) << text;
}

//===----------------------------------------------------------------------===//
// Against the ticking model
//===----------------------------------------------------------------------===//

/// Random products on two to four engines that meet in few banks.
TEST(MatrixEngines, AgreeWithTheTickingModel) {
  for (uint64_t seed = 0; seed < randomPrograms(300); ++seed) {
    Random random(seed);
    auto pick = [&](std::initializer_list<uint32_t> values) {
      return values.begin()[random.below(values.size())];
    };
    Architecture arch = engines(pick({2, 3, 4}));
    arch.queueDepth = 64;
    arch.acc.bytes = 65536;
    arch.matrix.rows = arch.matrix.cols = pick({4, 8});
    arch.matrix.fillLatency = pick({1, 3});
    arch.spm.banks = pick({1, 2, 4, 7, 16});
    arch.spm.bankWidth = pick({4, 16, 32});
    Kernel k;
    std::vector<std::vector<MatrixJob>> jobs(arch.matrix.count);
    std::vector<std::vector<uint32_t>> places(arch.matrix.count);
    for (unsigned i = 0, count = 2 + unsigned(random.below(7)); i < count;
         ++i) {
      for (uint32_t pause = pick({0, 0, 3, 30}); pause > 0; --pause)
        k.li(1, 0);
      size_t engine = random.below(arch.matrix.count);
      MatrixJob j;
      j.format = random.below(3) ? NumericFormat::BF16 : NumericFormat::F32;
      j.m = pick({2, 5, 8, 30});
      j.k = pick({4, 9, 24});
      j.n = pick({4, 8, 17});
      j.byColumn = random.below(2);
      j.accumulate = random.below(2);
      j.accBase = uint32_t(engine) * 8192 + pick({0, 4096});
      j.aBase = 4 * random.below(64);
      j.bBase = 32768 + 4 * random.below(64);
      j.aPitch = j.k + pick({0, 8, 32});
      j.bPitch = (j.byColumn ? j.k : j.n) + pick({0, 8, 32});
      isa::Descriptor a = tensor(Space::Spm, j.format, {j.m, j.k}, j.aBase),
                      b = tensor(
                          Space::Spm, j.format,
                          {j.byColumn ? j.n : j.k, j.byColumn ? j.k : j.n},
                          j.bBase);
      a.strides[0] = j.aPitch;
      b.strides[0] = j.bPitch;
      k.td(0, tensor(Space::Acc, NumericFormat::F32, {j.m, j.n}, j.accBase));
      k.td(1, a);
      k.td(2, b);
      places[engine].push_back(uint32_t(k.program.size()));
      j.visible = k.program.size() + 1;
      k.mma(0, 1, 2, j.accumulate, {}, {}, j.byColumn);
      k.program.back().fields[isa::mma::queue] = int64_t(engine);
      jobs[engine].push_back(j);
    }
    k.halt();
    DeviceOptions options = Machine::smallHost();
    options.timingOnly = true;
    Machine m(arch, options);
    m.run(k);
    CoreSpans spans =
        tickCore(arch, {jobs[0], {}, {}, {}, {jobs.begin() + 1, jobs.end()}});
    std::vector<std::vector<Span>> expected = {spans.matrix};
    expected.insert(expected.end(), spans.furtherMatrix.begin(),
                    spans.furtherMatrix.end());
    for (size_t engine = 0; engine < jobs.size(); ++engine)
      for (size_t i = 0; i < jobs[engine].size(); ++i) {
        Span actual = m.span(places[engine][i]);
        EXPECT_EQ(actual.begin, expected[engine][i].begin)
            << "seed " << seed << ", engine " << engine << ", mma " << i;
        EXPECT_EQ(actual.end, expected[engine][i].end)
            << "seed " << seed << ", engine " << engine << ", mma " << i;
      }
    if (HasFailure())
      return;
  }
}

} // namespace tessera::sim::test
