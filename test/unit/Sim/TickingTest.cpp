//===- TickingTest.cpp - Engines against the ticking model -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TickingModel.h"
#include "tessera/Support/Random.h"

namespace tessera::sim::test {

using isa::Space;

/// A machine without limits that the models do not have.
static Architecture machine() {
  Architecture a = tinyArchitecture();
  a.queueDepth = 64;
  a.acc.bytes = 65536;
  return a;
}

static void compareMatrix(const Architecture &arch, std::vector<MatrixJob> jobs,
                          const std::string &what) {
  Kernel k;
  std::vector<uint32_t> places;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const MatrixJob &j = jobs[i];
    NumericFormat sum =
        isFloat(j.format) ? NumericFormat::F32 : NumericFormat::I32;
    unsigned t = unsigned(i) * 3;
    k.td(t, tensor(Space::Acc, sum, {j.m, j.n}, j.accBase));
    isa::Descriptor a = tensor(Space::Spm, j.format, {j.m, j.k}, j.aBase),
                    b = j.byColumn
                            ? tensor(Space::Spm, j.format, {j.n, j.k}, j.bBase)
                            : tensor(Space::Spm, j.format, {j.k, j.n}, j.bBase);
    a.strides[0] = int64_t(j.rowOfA());
    b.strides[0] = int64_t(j.rowOfB());
    k.td(t + 1, a);
    k.td(t + 2, b);
  }
  for (size_t i = 0; i < jobs.size(); ++i) {
    const MatrixJob &j = jobs[i];
    unsigned t = unsigned(i) * 3;
    for (uint64_t pause = 0; pause < jobs[i].visible; ++pause)
      k.li(1, 0);
    places.push_back(uint32_t(k.program.size()));
    jobs[i].visible = k.program.size() + 1;
    k.mma(t, t + 1, t + 2, j.accumulate, {}, {}, j.byColumn);
    k.program.back().fields[isa::mma::keep_b] = j.keepWeights;
  }
  k.halt();
  DeviceOptions options = Machine::smallHost();
  options.timingOnly = true;
  Machine m(arch, options);
  m.run(k);
  // Which side `b` comes in by is said by its last extent above 1.
  for (MatrixJob &j : jobs) {
    j.bPitch = uint32_t(j.rowOfB());
    bool byColumn = j.byColumn ? j.k > 1 : j.n == 1 && j.k > 1;
    if (byColumn != j.byColumn) // one row or column: its elements' distance
      j.bPitch = j.byColumn ? j.bPitch : 1;
    j.byColumn = byColumn;
  }
  std::vector<Span> expected = tickMatrix(arch, jobs);
  for (size_t i = 0; i < jobs.size(); ++i) {
    Span actual = m.span(places[i]);
    const MatrixJob &j = jobs[i];
    EXPECT_EQ(actual.begin, expected[i].begin) << what << ", mma " << i;
    EXPECT_EQ(actual.end, expected[i].end)
        << what << ", mma " << i << ": " << formatName(j.format) << " " << j.m
        << "x" << j.k << "x" << j.n;
  }
}

TEST(Ticking, MatrixOneProduct) {
  for (uint32_t rows : {1u, 4u, 8u})
    for (uint32_t columns : {1u, 4u, 16u})
      for (uint32_t fill : {1u, 3u}) {
        Architecture arch = machine();
        arch.matrix.rows = rows;
        arch.matrix.cols = columns;
        arch.matrix.fillLatency = fill;
        for (NumericFormat format :
             {NumericFormat::BF16, NumericFormat::F32, NumericFormat::I8})
          for (uint32_t m : {1u, 3u, 8u, 19u})
            for (uint32_t k : {1u, 8u, 20u})
              for (uint32_t n : {1u, 16u, 18u})
                for (bool byColumn : {false, true})
                  compareMatrix(arch, {{0, format, m, k, n, byColumn}},
                                std::to_string(rows) + "x" +
                                    std::to_string(columns) + " fill " +
                                    std::to_string(fill));
      }
}

TEST(Ticking, MatrixKeptWeights) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    Architecture arch = machine();
    arch.matrix.fillLatency = 1 + uint32_t(random.below(3));
    std::vector<MatrixJob> jobs;
    for (unsigned i = 0, count = 2 + unsigned(random.below(7)); i < count;
         ++i) {
      MatrixJob j;
      bool keeps =
          i > 0 && random.below(2) && jobs.back().k <= 8 && jobs.back().n <= 8;
      j.k = keeps ? jobs.back().k : 1 + uint32_t(random.below(10));
      j.n = keeps ? jobs.back().n : 1 + uint32_t(random.below(10));
      j.m = 1 + uint32_t(random.below(12));
      j.keepWeights = keeps;
      j.accumulate = random.below(2);
      j.accBase = uint32_t(random.below(3)) * 4096;
      j.visible = random.below(4) ? 0 : random.below(40);
      jobs.push_back(j);
    }
    compareMatrix(arch, jobs, "seed " + std::to_string(seed));
    if (HasFailure())
      return;
  }
}

/// Few and narrow banks, rows at any distance: reads of `a` and of the next
/// weights meet in many ways, and single reads take several cycles.
TEST(Ticking, MatrixBanks) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    auto pick = [&](std::initializer_list<uint32_t> values) {
      return values.begin()[random.below(values.size())];
    };
    Architecture arch = machine();
    arch.matrix.rows = pick({2, 4, 8});
    arch.matrix.cols = pick({2, 8, 16});
    arch.matrix.fillLatency = pick({1, 3});
    arch.spm.banks = pick({1, 2, 3, 4, 8, 16, 70});
    arch.spm.bankWidth = pick({4, 16, 32});
    std::vector<MatrixJob> jobs;
    for (unsigned i = 0, count = 1 + unsigned(random.below(5)); i < count;
         ++i) {
      MatrixJob j;
      j.format = random.below(3)
                     ? NumericFormat::BF16
                     : (seed % 2 ? NumericFormat::F32 : NumericFormat::I8);
      j.m = pick({1, 5, 8, 20});
      j.k = pick({2, 4, 8, 9, 24});
      j.n = pick({2, 4, 8, 17});
      j.byColumn = random.below(2);
      j.accBase = pick({0, 4096});
      j.accumulate = random.below(2);
      j.visible = random.below(3) ? 0 : pick({1, 7, 40});
      j.aBase = 4 * random.below(64);
      j.bBase = 32768 + 4 * random.below(64);
      j.aPitch = j.k + uint32_t(random.below(3)) * pick({1, 3, 8, 32});
      j.bPitch = (j.byColumn ? j.k : j.n) +
                 uint32_t(random.below(3)) * pick({1, 3, 8, 32});
      jobs.push_back(j);
    }
    compareMatrix(arch, jobs, "seed " + std::to_string(seed));
    if (HasFailure())
      return;
  }
}

TEST(Ticking, MatrixRandomSequences) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    auto pick = [&](std::initializer_list<uint32_t> values) {
      return values.begin()[random.below(values.size())];
    };
    Architecture arch = machine();
    arch.matrix.rows = pick({1, 2, 4, 8});
    arch.matrix.cols = pick({1, 4, 8, 16});
    arch.matrix.fillLatency = pick({1, 2, 5});
    arch.matrix.macsScale[NumericFormat::F32] = seed % 3 ? 0.5 : 0.25;
    std::vector<MatrixJob> jobs;
    for (unsigned i = 0, count = 2 + unsigned(random.below(6)); i < count;
         ++i) {
      MatrixJob j;
      if (!jobs.empty() && random.below(3) == 0)
        j = jobs[random.below(jobs.size())]; // the same shape and rows again
      else {
        j.format = random.below(3) ? NumericFormat::BF16 : NumericFormat::F32;
        j.m = pick({1, 2, 5, 8, 13, 30});
        j.k = pick({2, 4, 8, 9, 24});
        j.n = pick({1, 4, 8, 17, 32});
        j.byColumn = random.below(2);
        j.accBase = pick({0, 64, 4096});
      }
      j.accumulate = random.below(2);
      j.visible = random.below(4) ? 0 : pick({1, 7, 40, 150});
      jobs.push_back(j);
    }
    compareMatrix(arch, jobs, "seed " + std::to_string(seed));
    if (HasFailure())
      return;
  }
}

TEST(Ticking, VectorRandomSequences) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    auto pick = [&](std::initializer_list<uint32_t> values) {
      return values.begin()[random.below(values.size())];
    };
    Architecture arch = machine();
    arch.vector.lanes = pick({4, 8, 16});
    arch.vector.aluSlots = pick({1, 2, 3});
    arch.vector.sfuLanes = pick({1, 2, 4});
    arch.vector.latency = pick({1, 8, 20});
    arch.vector.readPorts = pick({1, 2, 3});
    arch.vector.writePorts = pick({1, 2});
    Kernel k;
    std::vector<VectorJob> jobs;
    std::vector<uint32_t> places;
    unsigned count = 1 + unsigned(random.below(4));
    for (unsigned i = 0; i < count; ++i) {
      VectorJob j;
      // Whole groups: a partial one counts as much as the first.
      j.elements = arch.vector.lanes * uint32_t(1 + random.below(6));
      j.aluOps = pick({0, 1, 2, 5});
      j.sfuOps = pick({0, 0, 1, 2});
      for (unsigned in = 0, n = 1 + unsigned(random.below(4)); in < n; ++in)
        j.inputs.push_back(
            {pick({0, 16, 4096, 8192}), pick({1, 2, 4, 16, 64})});
      for (unsigned out = 0, n = 1 + unsigned(random.below(2)); out < n; ++out)
        j.outputs.push_back({pick({0, 32768, 49152}), pick({1, 2, 4, 8, 16})});
      isa::MapProgram program;
      program.inputs = uint8_t(j.inputs.size());
      program.outputs = uint8_t(j.outputs.size());
      for (unsigned op = 0; op < j.aluOps; ++op) {
        isa::LaneInst inst;
        inst.opcode = isa::LaneOpcode::ADDF;
        program.ops.push_back(inst);
      }
      for (unsigned op = 0; op < j.sfuOps; ++op) {
        isa::LaneInst inst;
        inst.opcode = isa::LaneOpcode::EXP;
        program.ops.push_back(inst);
      }
      k.maps.push_back(program);
      auto operand = [&](unsigned reg, const VectorOperand &o) {
        isa::Descriptor td =
            tensor(Space::Spm, NumericFormat::F32, {j.elements}, o.base);
        td.strides[0] = o.stride;
        k.td(reg, td);
      };
      for (unsigned in = 0; in < j.inputs.size(); ++in)
        operand(i * 6 + 2 + in, j.inputs[in]);
      for (unsigned out = 0; out < j.outputs.size(); ++out)
        operand(i * 6 + out, j.outputs[out]);
      jobs.push_back(std::move(j));
    }
    for (unsigned i = 0; i < count; ++i) {
      places.push_back(uint32_t(k.program.size()));
      jobs[i].visible = k.program.size() + 1;
      k.map(i, i * 6, {});
      isa::Instruction &inst = k.program.back();
      inst.fields[isa::map::out1] = i * 6 + 1;
      const unsigned fields[] = {isa::map::in0, isa::map::in1, isa::map::in2,
                                 isa::map::in3};
      for (unsigned in = 0; in < jobs[i].inputs.size(); ++in)
        inst.fields[fields[in]] = i * 6 + 2 + in;
    }
    k.halt();
    DeviceOptions options = Machine::smallHost();
    options.timingOnly = true;
    Machine m(arch, options);
    m.run(k);
    std::vector<Span> expected = tickVector(arch, jobs);
    for (unsigned i = 0; i < count; ++i) {
      Span actual = m.span(places[i]);
      EXPECT_EQ(actual.begin, expected[i].begin)
          << "seed " << seed << ", " << i;
      EXPECT_EQ(actual.end, expected[i].end) << "seed " << seed << ", " << i;
    }
    if (HasFailure())
      return;
  }
}

} // namespace tessera::sim::test
