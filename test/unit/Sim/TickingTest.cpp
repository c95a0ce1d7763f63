//===- TickingTest.cpp - Engines against the ticking model -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TickingModel.h"
#include "tessera/Support/Random.h"
#include <bit>

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
  for (uint64_t seed = 0; seed < randomPrograms(300); ++seed) {
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
  for (uint64_t seed = 0; seed < randomPrograms(400); ++seed) {
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

/// Both engines at work, on few banks: who began first goes first.
TEST(Ticking, AllEnginesShareTheBanks) {
  for (uint64_t seed = 0; seed < randomPrograms(600); ++seed) {
    Random random(seed);
    auto pick = [&](std::initializer_list<uint32_t> values) {
      return values.begin()[random.below(values.size())];
    };
    Architecture arch = machine();
    arch.matrix.rows = arch.matrix.cols = pick({4, 8});
    arch.spm.banks = pick({1, 2, 4, 7, 16});
    arch.spm.bankWidth = pick({4, 16, 32});
    arch.acc.banks = pick({1, 2, 8});
    arch.matrix.fillLatency = pick({1, 4});
    arch.vector.lanes = pick({4, 8, 16});
    arch.vector.latency = pick({1, 8, 40});
    arch.vector.readPorts = pick({1, 2, 3});
    arch.vector.writePorts = pick({1, 2});
    arch.imemBytes = arch.tdmemBytes = 1 << 20;
    arch.noc.clockGhz = 8; // takes all requests of a cycle
    arch.dma.loadBursts = pick({1, 1, 2});
    arch.dma.storeBursts = pick({1, 1, 3});
    arch.dma.outstanding = pick({1, 3, 64});
    isa::MapProgram sum;
    sum.inputs = 2;
    sum.ops = {{isa::LaneOpcode::ADDF, 0, 0, 1, 0, 0}};
    Kernel k;
    k.maps.push_back(sum);
    // Memory and translations at hand, the data's row open.
    k.td(31, tensor(Space::Spm, NumericFormat::F32, {1024}, 0));
    k.td(30,
         tensor(Space::Global, NumericFormat::F32, {1024}, Machine::dataArea));
    k.load(31, 30, {}, {{0, 1}});
    k.wait(isa::Queue::Seq, {{0, 1}});
    k.pause(400);
    CoreJobs jobs;
    std::vector<uint32_t> matrixAt, vectorAt, loadsAt, storesAt;
    uint64_t drawn = 0;
    for (unsigned i = 0, count = 2 + unsigned(random.below(8)); i < count;
         ++i) {
      for (uint32_t pause = pick({0, 0, 5, 30}); pause > 0; --pause)
        k.li(1, 0);
      if (random.below(2)) {
        bool stores = random.below(2), copies = !stores && random.below(2);
        DmaJob j;
        j.withinCore = copies;
        uint32_t elements = pick({4, 16, 40});
        isa::Descriptor near = tensor(
                            Space::Spm, NumericFormat::F32, {elements},
                            (stores ? 40960 : 57344) + 4 * random.below(64)),
                        far = tensor(stores   ? Space::Core
                                     : copies ? Space::Spm
                                              : Space::Global,
                                     NumericFormat::F32, {elements},
                                     (stores   ? 61440
                                      : copies ? 0
                                               : Machine::dataArea) +
                                         4 * random.below(64));
        near.strides[0] = pick({1, 1, 2, 32});
        j.nearIsAcc = stores && random.below(3) == 0;
        if (j.nearIsAcc)
          near.space = Space::Acc, near.base &= 8191;
        for (uint32_t e = 0; e < elements; ++e)
          j.elements.push_back({far.base + 4 * e,
                                near.base + uint64_t(near.strides[0]) * 4 * e,
                                0, false});
        k.td(6, stores ? far : near);
        k.td(7, stores ? near : far);
        (stores ? storesAt : loadsAt).push_back(uint32_t(k.program.size()));
        j.visible = k.program.size() + 1;
        if (stores)
          k.store(6, 7);
        else
          k.load(6, 7);
        (stores ? jobs.stores : jobs.loads).push_back(j);
      } else if (random.below(2)) {
        MatrixJob j;
        if (random.below(3) == 0)
          j.format = NumericFormat::F32; // two beats a row, or more
        j.m = pick({5, 8, 30});
        j.k = pick({4, 9, 24});
        j.n = pick({4, 8, 17});
        j.byColumn = random.below(2);
        j.accumulate = random.below(2);
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
        k.td(0, tensor(Space::Acc, NumericFormat::F32, {j.m, j.n}, 0));
        k.td(1, a);
        k.td(2, b);
        matrixAt.push_back(uint32_t(k.program.size()));
        j.visible = k.program.size() + 1;
        k.mma(0, 1, 2, j.accumulate, {}, {}, j.byColumn);
        jobs.matrix.push_back(j);
      } else {
        VectorJob j;
        j.elements = pick({3, 16, 61});
        j.aluOps = 1;
        auto operand = [&](unsigned reg, uint64_t area) {
          VectorOperand o{area + 4 * random.below(64), pick({1, 1, 2, 8}),
                          random.below(3) == 0};
          if (o.isAcc)
            o.base &= 8191;
          isa::Descriptor td = tensor(o.isAcc ? Space::Acc : Space::Spm,
                                      NumericFormat::F32, {j.elements}, o.base);
          td.strides[0] = o.stride;
          k.td(reg, td);
          return o;
        };
        uint64_t to = 49152 + 2048 * random.below(2);
        uint32_t kind = pick({0, 1, 2, 3});
        if (kind == 0) {
          j.inputs = {operand(4, 40960), operand(5, 45056)};
          j.outputs = {operand(3, to)};
        } else if (kind == 1) {
          isa::Descriptor src = tensor(Space::Spm, NumericFormat::F32,
                                       {pick({3, 8, 20}), pick({3, 8, 20})},
                                       40960 + 4 * random.below(64));
          uint32_t apart = pick({1, 1, 8, 32});
          if (apart > 1)
            src.strides = {1, apart};
          j.elements = src.extents[0] * src.extents[1];
          j.transposed = src;
          j.outputs = {{to, 1}};
          k.td(4, src);
          k.td(3, tensor(Space::Spm, NumericFormat::F32,
                         {src.extents[1], src.extents[0]}, to));
        } else if (kind == 2) {
          VectorJob::Sort sort{pick({1, 3}), pick({5, 16, 70}), 1};
          sort.k = 1 + uint32_t(random.below(sort.row));
          j.sorted = sort;
          j.elements = sort.rows * sort.row;
          uint64_t from = 40960 + 4 * random.below(64);
          j.inputs = {{from, 1}};
          j.outputs = {{to, 1}, {to + 4096, 1}};
          k.td(4, tensor(Space::Spm, NumericFormat::F32, {sort.rows, sort.row},
                         from));
          k.td(3,
               tensor(Space::Spm, NumericFormat::F32, {sort.rows, sort.k}, to));
          k.td(5, tensor(Space::Spm, NumericFormat::I32, {sort.rows, sort.k},
                         to + 4096));
        } else {
          uint32_t width = pick({1, 3, 8}), count = pick({3, 16, 30});
          // As a run without data draws them.
          Random draw(drawn);
          drawn += count;
          j.elements = count * width;
          for (uint32_t n = 0; n < count; ++n) {
            uint64_t row = draw.below(100);
            for (uint32_t e = 0; e < width; ++e)
              j.gathered.push_back(40960 + (row * width + e) * 4);
          }
          j.outputs = {{to, 1}};
          k.td(4, tensor(Space::Spm, NumericFormat::F32, {100, width}, 40960));
          k.td(5, tensor(Space::Spm, NumericFormat::I32, {count}, 45056));
          k.td(3, tensor(Space::Spm, NumericFormat::F32, {count, width}, to));
        }
        vectorAt.push_back(uint32_t(k.program.size()));
        j.visible = k.program.size() + 1;
        if (kind == 0)
          k.map(0, 3, {4, 5});
        else if (kind == 1)
          k.add(isa::Opcode::TRANSPOSE,
                {{isa::transpose::src, 4}, {isa::transpose::dst, 3}});
        else if (kind == 2)
          k.add(isa::Opcode::TOPK, {{isa::topk::src, 4},
                                    {isa::topk::dst, 3},
                                    {isa::topk::indices, 5}});
        else
          k.add(isa::Opcode::GATHER, {{isa::gather::src, 4},
                                      {isa::gather::index, 5},
                                      {isa::gather::dst, 3}});
        jobs.vector.push_back(j);
      }
    }
    k.halt();
    DeviceOptions options = Machine::smallHost();
    options.timingOnly = true;
    Machine m(arch, options);
    m.run(k);
    // Time counts from the cycle in which the first one is visible.
    uint64_t shift = ~uint64_t(0), origin = 0;
    auto findFirst = [&](const auto &list,
                         const std::vector<uint32_t> &places) {
      if (!list.empty() && list[0].visible < shift) {
        shift = list[0].visible;
        origin = m.span(places[0]).begin;
      }
    };
    findFirst(jobs.matrix, matrixAt);
    findFirst(jobs.vector, vectorAt);
    findFirst(jobs.loads, loadsAt);
    findFirst(jobs.stores, storesAt);
    auto moveBack = [&](auto &list) {
      for (auto &job : list)
        job.visible -= shift;
    };
    moveBack(jobs.matrix);
    moveBack(jobs.vector);
    moveBack(jobs.loads);
    moveBack(jobs.stores);
    CoreSpans expected = tickCore(arch, jobs);
    auto compare = [&](const std::vector<uint32_t> &places,
                       const std::vector<Span> &spans, const char *engine) {
      for (size_t i = 0; i < places.size(); ++i) {
        Span actual = m.span(places[i]);
        ASSERT_EQ(actual.begin - origin, spans[i].begin)
            << "seed " << seed << ", " << engine << " " << i;
        ASSERT_EQ(actual.end - origin, spans[i].end)
            << "seed " << seed << ", " << engine << " " << i;
      }
    };
    compare(loadsAt, expected.loads, "load");
    compare(storesAt, expected.stores, "store");
    compare(matrixAt, expected.matrix, "mma");
    compare(vectorAt, expected.vector, "vector");
    if (HasFatalFailure())
      return;
  }
}

TEST(Ticking, MatrixRandomSequences) {
  for (uint64_t seed = 0; seed < randomPrograms(400); ++seed) {
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

//===----------------------------------------------------------------------===//
// Vector
//===----------------------------------------------------------------------===//

namespace {

/// An instruction of random kind over one-dimensional f32 operands, as the
/// model sees it and as the kernel says it.
class VectorSequence {
public:
  VectorSequence(Kernel &kernel, Random &random, unsigned lanes)
      : kernel(kernel), random(random), lanes(lanes) {}

  void add() {
    VectorJob job;
    // Whole groups: a partial one counts as much as the first.
    job.elements = lanes * uint32_t(1 + random.below(6));
    switch (random.below(5)) {
    case 0:
      reduce(job);
      break;
    case 1:
      scan(job);
      break;
    case 2:
      select(job);
      break;
    case 3:
      convert(job);
      break;
    default:
      map(job);
    }
    jobs.push_back(std::move(job));
  }
  /// Appends the instructions themselves.
  std::vector<uint32_t> finish() {
    std::vector<uint32_t> places;
    for (size_t i = 0; i < pending.size(); ++i) {
      places.push_back(uint32_t(kernel.program.size()));
      kernel.program.push_back(pending[i]);
      jobs[i].visible = kernel.program.size();
    }
    return places;
  }
  std::vector<VectorJob> jobs;

private:
  uint32_t pick(std::initializer_list<uint32_t> values) {
    return values.begin()[random.below(values.size())];
  }
  unsigned operand(const VectorOperand &o, uint32_t elements,
                   NumericFormat format = NumericFormat::F32) {
    isa::Descriptor td = tensor(Space::Spm, format, {elements}, o.base);
    td.strides[0] = o.stride;
    kernel.td(reg, td);
    return reg++;
  }
  unsigned input(VectorJob &job, NumericFormat format = NumericFormat::F32) {
    job.inputs.push_back({pick({0, 16, 4096, 8192}), pick({1, 2, 4, 16, 64})});
    return operand(job.inputs.back(), job.elements, format);
  }
  unsigned output(VectorJob &job, NumericFormat format = NumericFormat::F32) {
    job.outputs.push_back({pick({0, 32768, 49152}), pick({1, 2, 4, 8, 16})});
    return operand(job.outputs.back(), job.elements, format);
  }
  unsigned result(VectorJob &job) {
    job.result = VectorOperand{pick({0, 4096, 32768}), 1};
    return operand(*job.result, 1);
  }
  void instruction(isa::Opcode code,
                   std::initializer_list<std::pair<unsigned, int64_t>> fields) {
    isa::Instruction inst;
    inst.opcode = code;
    for (auto [field, value] : fields)
      inst.fields[field] = value;
    pending.push_back(inst);
  }

  void reduce(VectorJob &job) {
    unsigned src = input(job), dst = result(job);
    job.tree = 6;
    instruction(isa::Opcode::REDUCE, {{isa::reduce::src, src},
                                      {isa::reduce::dst, dst},
                                      {isa::reduce::dims, 1}});
  }
  void scan(VectorJob &job) {
    unsigned src = input(job), dst = output(job), total = 0;
    bool withTotal = random.below(2);
    if (withTotal)
      total = result(job);
    job.aluOps = 7;
    instruction(isa::Opcode::SCAN, {{isa::scan::src, src},
                                    {isa::scan::dst, dst},
                                    {isa::scan::total, total},
                                    {isa::scan::with_total, withTotal},
                                    {isa::scan::dims, 1}});
  }
  void select(VectorJob &job) {
    bool keep = random.below(2);
    unsigned mask = input(job), a = input(job), b = keep ? 0 : input(job);
    job.aluOps = 1;
    unsigned dst = output(job);
    instruction(isa::Opcode::SELECT, {{isa::select::mask, mask},
                                      {isa::select::a, a},
                                      {isa::select::b, b},
                                      {isa::select::dst, dst},
                                      {isa::select::keep, keep}});
  }
  void convert(VectorJob &job) {
    // i32 has the width of f32, so that the operands stay the model's.
    bool scales = random.below(2), zeros = random.below(2);
    bool divides = random.below(2);
    unsigned src = input(job), scale = scales ? input(job) : 0;
    unsigned zero = zeros ? input(job, NumericFormat::I32) : 0;
    unsigned dst = output(job, NumericFormat::I32);
    job.aluOps = 1 + (scales && !divides) + zeros;
    job.sfuOps = scales && divides;
    instruction(isa::Opcode::CONVERT, {{isa::convert::src, src},
                                       {isa::convert::scale, scale},
                                       {isa::convert::zero, zero},
                                       {isa::convert::dst, dst},
                                       {isa::convert::use_scale, scales},
                                       {isa::convert::use_zero, zeros},
                                       {isa::convert::divide, divides}});
  }
  void map(VectorJob &job) {
    job.aluOps = pick({0, 1, 2, 5});
    job.sfuOps = pick({0, 0, 1, 2});
    isa::MapProgram program;
    unsigned in[4] = {}, out[2] = {};
    program.inputs = uint8_t(1 + random.below(4));
    program.outputs = uint8_t(1 + random.below(2));
    for (unsigned i = 0; i < program.inputs; ++i)
      in[i] = input(job);
    for (unsigned i = 0; i < program.outputs; ++i)
      out[i] = output(job);
    isa::LaneInst op;
    op.opcode = isa::LaneOpcode::ADDF;
    program.ops.assign(job.aluOps, op);
    op.opcode = isa::LaneOpcode::EXP;
    program.ops.insert(program.ops.end(), job.sfuOps, op);
    instruction(isa::Opcode::MAP,
                {{isa::map::program, int64_t(kernel.maps.size())},
                 {isa::map::out0, out[0]},
                 {isa::map::out1, out[1]},
                 {isa::map::in0, in[0]},
                 {isa::map::in1, in[1]},
                 {isa::map::in2, in[2]},
                 {isa::map::in3, in[3]}});
    kernel.maps.push_back(program);
  }

  Kernel &kernel;
  Random &random;
  unsigned lanes, reg = 0;
  std::vector<isa::Instruction> pending;
};

Architecture vectorMachine(Random &random) {
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
  return arch;
}

/// Runs one vector instruction twice and returns how long the first occupies
/// the engine: until the second starts.
uint64_t occupied(const Architecture &arch, Kernel &k,
                  const isa::Instruction &inst, bool withData = false,
                  const std::vector<int32_t> &data = {}, uint64_t at = 0) {
  if (withData) {
    auto count = uint32_t(data.size());
    k.td(30, tensor(Space::Spm, NumericFormat::I32, {count}, at));
    k.td(31,
         tensor(Space::Global, NumericFormat::I32, {count}, Machine::dataArea));
    k.load(30, 31, {}, {{0, 1}});
    k.wait(isa::Queue::Vx, {{0, 1}});
  }
  auto first = uint32_t(k.program.size());
  k.program.insert(k.program.end(), 2, inst);
  k.halt();
  DeviceOptions options = Machine::smallHost();
  options.timingOnly = !withData;
  Machine m(arch, options);
  if (withData)
    m.write(Machine::dataArea, data);
  m.run(k);
  return m.span(first + 1).begin - m.span(first).begin;
}

} // namespace

TEST(Ticking, VectorRandomSequences) {
  for (uint64_t seed = 0; seed < randomPrograms(600); ++seed) {
    Random random(seed);
    Architecture arch = vectorMachine(random);
    Kernel k;
    VectorSequence sequence(k, random, arch.vector.lanes);
    for (unsigned i = 0, count = 1 + unsigned(random.below(4)); i < count; ++i)
      sequence.add();
    std::vector<uint32_t> places = sequence.finish();
    k.halt();
    DeviceOptions options = Machine::smallHost();
    options.timingOnly = true;
    Machine m(arch, options);
    m.run(k);
    std::vector<Span> expected = tickVector(arch, sequence.jobs);
    for (size_t i = 0; i < places.size(); ++i) {
      Span actual = m.span(places[i]);
      EXPECT_EQ(actual.begin, expected[i].begin)
          << "seed " << seed << ", " << i;
      EXPECT_EQ(actual.end, expected[i].end)
          << "seed " << seed << ": " << isa::print(k.program[places[i]]);
    }
    if (HasFailure())
      return;
  }
}

TEST(Ticking, VectorTransposes) {
  for (uint64_t seed = 0; seed < randomPrograms(400); ++seed) {
    Random random(seed);
    Architecture arch = vectorMachine(random);
    auto upTo = [&](uint64_t n) { return 1 + uint32_t(random.below(n)); };
    uint32_t matrices = upTo(3), rows = upTo(20), columns = upTo(20);
    // Elements of a source row apart, so that they share banks.
    const uint32_t apart[] = {1, 1, 4, 16, 64};
    uint32_t stride = apart[random.below(5)];
    Kernel k;
    isa::Descriptor src =
        tensor(Space::Spm, NumericFormat::F32, {matrices, rows, columns}, 0);
    src.strides = {rows, stride == 1 ? int64_t(columns) : 1, stride};
    if (stride == 1)
      src.strides[0] = int64_t(rows) * columns;
    k.td(0, src);
    k.td(1, tensor(Space::Spm, NumericFormat::F32, {matrices, columns, rows},
                   32768));
    isa::Instruction inst;
    inst.opcode = isa::Opcode::TRANSPOSE;
    inst.fields[isa::transpose::src] = 0;
    inst.fields[isa::transpose::dst] = 1;
    EXPECT_EQ(occupied(arch, k, inst), tickTranspose(arch, src, 32768))
        << "seed " << seed;
    if (HasFailure())
      return;
  }
}

TEST(Ticking, VectorGathers) {
  for (uint64_t seed = 0; seed < randomPrograms(200); ++seed) {
    Random random(seed);
    Architecture arch = vectorMachine(random);
    const uint32_t widths[] = {1, 2, 3, 8, 40};
    uint32_t width = widths[random.below(5)];
    uint32_t tableRows = 4096 / width;
    std::vector<int32_t> indices(1 + random.below(30));
    for (int32_t &index : indices)
      index = int32_t(random.below(tableRows)) & ~(random.below(2) ? 63 : 0);
    auto count = uint32_t(indices.size());
    Kernel k;
    k.td(0, tensor(Space::Spm, NumericFormat::F32, {tableRows, width}, 0));
    k.td(1, tensor(Space::Spm, NumericFormat::I32, {count}, 20480));
    k.td(2, tensor(Space::Spm, NumericFormat::F32, {count, width}, 32768));
    isa::Instruction inst;
    inst.opcode = isa::Opcode::GATHER;
    inst.fields[isa::gather::src] = 0;
    inst.fields[isa::gather::index] = 1;
    inst.fields[isa::gather::dst] = 2;
    EXPECT_EQ(occupied(arch, k, inst, true, indices, 20480),
              tickGather(arch, 0, width, indices, 32768))
        << "seed " << seed;
    if (HasFailure())
      return;
  }
}

TEST(Ticking, VectorTopks) {
  for (uint64_t seed = 0; seed < randomPrograms(150); ++seed) {
    Random random(seed);
    Architecture arch = vectorMachine(random);
    uint32_t rows = 1 + uint32_t(random.below(3));
    uint32_t row = 1 + uint32_t(random.below(random.below(2) ? 300 : 30));
    uint32_t k = 1 + uint32_t(random.below(row));
    std::vector<int32_t> bits;
    std::vector<std::vector<float>> values(rows);
    for (std::vector<float> &r : values)
      for (uint32_t i = 0; i < row; ++i) {
        r.push_back(float(random.between(-20, 20))); // many are equal
        bits.push_back(std::bit_cast<int32_t>(r.back()));
      }
    Kernel kernel;
    kernel.td(0, tensor(Space::Spm, NumericFormat::F32, {rows, row}, 0));
    kernel.td(1, tensor(Space::Spm, NumericFormat::F32, {rows, k}, 16384));
    kernel.td(2, tensor(Space::Spm, NumericFormat::I32, {rows, k}, 32768));
    kernel.td(29, tensor(Space::Global, NumericFormat::I32, {rows, k},
                         Machine::dataArea + 65536));
    kernel.td(30, tensor(Space::Spm, NumericFormat::F32, {rows, row}, 0));
    kernel.td(31, tensor(Space::Global, NumericFormat::F32, {rows, row},
                         Machine::dataArea));
    kernel.load(30, 31, {}, {{0, 1}});
    kernel.wait(isa::Queue::Vx, {{0, 1}});
    auto first = uint32_t(kernel.program.size());
    for (int i = 0; i < 2; ++i)
      kernel.add(
          isa::Opcode::TOPK,
          {{isa::topk::src, 0}, {isa::topk::dst, 1}, {isa::topk::indices, 2}});
    kernel.signal(isa::Queue::Vx, {{1, 1}});
    kernel.store(29, 2, {{1, 1}});
    kernel.halt();
    Machine m(arch);
    m.write(Machine::dataArea, bits);
    m.run(kernel);
    std::vector<std::vector<int32_t>> best;
    uint64_t expected = tickTopk(arch, values, k, best);
    EXPECT_EQ(m.span(first + 1).begin - m.span(first).begin, expected)
        << "seed " << seed << ": " << rows << " rows of " << row << ", k " << k;
    auto places = m.read<int32_t>(Machine::dataArea + 65536, rows * k);
    for (uint32_t r = 0; r < rows; ++r)
      EXPECT_EQ(std::vector<int32_t>(places.begin() + r * k,
                                     places.begin() + (r + 1) * k),
                best[r])
          << "seed " << seed << ", row " << r;
    if (HasFailure())
      return;
  }
}

} // namespace tessera::sim::test
