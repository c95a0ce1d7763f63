//===- TickingDmaTest.cpp - DMA engines against slot by slot ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TickingDma.h"
#include "tessera/Support/Random.h"
#include <algorithm>

namespace tessera::sim::test {

using isa::Opcode;
using isa::Queue;
using isa::Space;

namespace {

enum class Path {
  Load,       ///< Memory to scratchpad, also by index.
  WithinCore, ///< Scratchpad to scratchpad.
  Store,      ///< Scratchpad or accumulators to memory, also by index.
  ToCore      ///< To a core's scratchpad; this one's.
};

/// Random transfers on one path, as instructions and as lists of elements.
class RandomMoves {
public:
  RandomMoves(uint64_t seed, Path path)
      : random(seed), path(path),
        stores(path == Path::Store || path == Path::ToCore),
        toMemory(path == Path::Load || path == Path::Store) {
    arch = tinyArchitecture();
    arch.queueDepth = 64;
    arch.noc.clockGhz = 8; // takes all requests of a cycle
    arch.imemBytes = arch.tdmemBytes = 1 << 20;
    (stores ? arch.dma.storeBursts : arch.dma.loadBursts) =
        pick({1, 1, 2, 3, 4});
    arch.dram.writeQueue = 4096; // what comes is acknowledged
    arch.dma.outstanding = pick({1, 2, 5, 64});
    arch.dma.burstBytes = toMemory ? 64 : pick({16, 32, 64, 128});
    arch.spm.banks = pick({4, 16, 32});
    arch.spm.bankWidth = pick({8, 16});
    count = 1 + random.below(5);
    // Memory and translations at hand, the data's rows open.
    k.td(31, tensor(Space::Spm, NumericFormat::F32, {1024}, 0));
    k.td(30,
         tensor(Space::Global, NumericFormat::F32, {1024}, Machine::dataArea));
    if (stores)
      k.store(30, 31, {}, {{0, 1}});
    else
      k.load(31, 30, {}, {{0, 1}});
    k.wait(Queue::Seq, {{0, 1}});
    for (unsigned i = 0; i < count; ++i)
      prepare(i);
    k.pause(400);
    k.li(22, 1 << 16 | 1 << 24); // this core alone
    for (unsigned i = 0; i < count; ++i)
      push(i);
    if (multicasts != 0)
      k.wait(Queue::Seq, {{1, multicasts}});
    k.halt();
  }

  Architecture arch;
  Kernel k;
  std::vector<DmaJob> jobs;
  std::vector<uint32_t> places;
  uint64_t firstVisible = 0;

private:
  uint32_t pick(std::initializer_list<uint32_t> values) {
    return values.begin()[random.below(values.size())];
  }
  /// Extents, and strides that leave gaps or none but never touch by accident.
  void layOut(isa::Descriptor &td, uint64_t &span) {
    const std::array<unsigned, 3> inOrder = {0, 1, 2};
    std::array<unsigned, 3> order = inOrder;
    if (random.below(3) == 0)
      std::swap(order[1], order[2]);
    if (random.below(4) == 0)
      std::swap(order[0], order[2]);
    uint64_t stride = random.below(4) ? 1 : 2;
    for (unsigned i = 3; i-- > 0;) {
      td.strides[order[i]] = int64_t(stride);
      stride *= td.extents[order[i]];
      // In another order the last element of one row may lie before the first
      // of the next, and be no part of its run.
      if (random.below(3) == 0 || order != inOrder)
        stride += 2 + random.below(5);
    }
    span = stride;
  }

  void prepare(unsigned i) {
    DmaMove p;
    NumericFormat farFormat =
        random.below(2) ? NumericFormat::F32 : NumericFormat::BF16;
    p.convert = random.below(3) == 0;
    NumericFormat nearFormat =
        p.convert
            ? (random.below(2) ? NumericFormat::F32 : NumericFormat::F8E4M3FN)
            : farFormat;
    p.transpose = random.below(3) == 0;
    bool gathers = toMemory && random.below(3) == 0;
    p.posted = stores && random.below(4) == 0;
    p.near.rank = p.far.rank = 3;
    p.near.format = nearFormat, p.far.format = farFormat;
    p.near.space = stores && random.below(3) == 0 ? Space::Acc : Space::Spm;
    p.far.space = toMemory                   ? Space::Global
                  : path == Path::WithinCore ? Space::Spm
                                             : Space::Core;
    for (unsigned d = 0; d < 3; ++d)
      p.near.extents[d] = p.far.extents[d] = pick({1, 2, 3, 5, 8});
    uint64_t span = 0;
    do // within the warmed area
      layOut(p.far, span);
    while (span * bitWidth(farFormat) / 8 > 4096 - 64);
    layOut(p.near, span);
    p.near.base = 8192 + 4 * random.below(16);
    p.far.base = (toMemory ? Machine::dataArea : 0) + 4 * random.below(16);
    p.indexBase = 4096 + 64 * i;
    if (gathers) {
      p.transpose = false;
      uint32_t rows = p.far.extents[0];
      unsigned n = unsigned(p.near.extents[0]);
      for (unsigned r = 0; r < n; ++r)
        p.indices.push_back(int32_t(random.between(-1, rows)));
    } else if (random.below(2)) {
      p.windows = true;
      for (unsigned d = 0; d < 3; ++d) {
        p.origin[d] = random.between(-3, 2);
        p.size[d] = random.between(0, 8);
        // What is inside must lie in the warmed area.
        p.size[d] = std::min<int64_t>(p.size[d], p.far.extents[d]);
      }
    }
    // The destination first.
    const unsigned far = i * 3 + (stores ? 0 : 1);
    k.td(stores ? i * 3 + 1 : i * 3, p.near);
    k.td(far, p.far);
    if (p.windows)
      for (unsigned d = 0; d < 3; ++d) {
        k.li(20, p.origin[d]);
        k.li(21, p.size[d]);
        k.add(Opcode::TDWINDOW, {{isa::td_window::td, far},
                                 {isa::td_window::src, far},
                                 {isa::td_window::ra, 20},
                                 {isa::td_window::rb, 21},
                                 {isa::td_window::dim, d},
                                 {isa::td_window::step, 1}});
      }
    if (gathers) {
      uint64_t at = p.indexBase;
      for (int32_t index : p.indices) {
        k.td(29, tensor(Space::Spm, NumericFormat::I32, {1}, at));
        k.add(Opcode::FILL,
              {{isa::fill::dst, 29}, {isa::fill::value, uint32_t(index)}});
        at += 4;
      }
      k.td(i * 3 + 2, tensor(Space::Spm, NumericFormat::I32,
                             {uint32_t(p.indices.size())}, p.indexBase));
    }
    plans.push_back(p);
    jobs.push_back(p.job());
  }

  void push(unsigned i) {
    const DmaMove &p = plans[i];
    for (uint64_t pause = random.below(4) ? 0 : random.below(40); pause > 0;
         --pause)
      k.li(1, 0);
    places.push_back(uint32_t(k.program.size()));
    jobs[i].visible = k.program.size() + 1;
    if (stores && !p.indices.empty())
      k.add(Opcode::STORESCATTER, {{isa::store_scatter::dst, i * 3},
                                   {isa::store_scatter::src, i * 3 + 1},
                                   {isa::store_scatter::index, i * 3 + 2},
                                   {isa::store_scatter::clip, 1},
                                   {isa::store_scatter::convert, p.convert},
                                   {isa::store_scatter::posted, p.posted}});
    else if (stores)
      k.add(Opcode::STORE, {{isa::store::dst, i * 3},
                            {isa::store::src, i * 3 + 1},
                            {isa::store::clip, p.windows},
                            {isa::store::convert, p.convert},
                            {isa::store::transpose, p.transpose},
                            {isa::store::posted, p.posted}});
    else if (!p.indices.empty())
      k.add(Opcode::LOADGATHER, {{isa::load_gather::dst, i * 3},
                                 {isa::load_gather::src, i * 3 + 1},
                                 {isa::load_gather::index, i * 3 + 2},
                                 {isa::load_gather::pad, 1},
                                 {isa::load_gather::convert, p.convert}});
    else if (path == Path::Load && random.below(3) == 0 &&
             std::ranges::any_of(jobs[i].elements, [](const DmaElement &e) {
               return !e.isOutside;
             })) {
      ++multicasts;
      jobs[i].cores = {0};
      k.add(Opcode::LOADMULTICAST,
            {{isa::load_multicast::dst, i * 3},
             {isa::load_multicast::src, i * 3 + 1},
             {isa::load_multicast::ra, 22},
             {isa::load_multicast::sem, 1},
             {isa::load_multicast::count, 1},
             {isa::load_multicast::pad, p.windows},
             {isa::load_multicast::convert, p.convert},
             {isa::load_multicast::transpose, p.transpose}});
    } else
      k.add(Opcode::LOAD, {{isa::load::dst, i * 3},
                           {isa::load::src, i * 3 + 1},
                           {isa::load::pad, p.windows},
                           {isa::load::convert, p.convert},
                           {isa::load::transpose, p.transpose}});
  }

  Random random;
  const Path path;
  const bool stores, toMemory;
  unsigned count = 0;
  uint16_t multicasts = 0;
  std::vector<DmaMove> plans;
};

void compare(Path path, DmaMemory memory, uint64_t seeds) {
  uint64_t outside = 0, inside = 0;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    RandomMoves moves(seed, path);
    Machine m(moves.arch);
    m.run(moves.k);
    // Time counts from the cycle in which the first one is visible.
    Span first = m.span(moves.places[0]);
    uint64_t shift = moves.jobs[0].visible;
    for (DmaJob &job : moves.jobs)
      job.visible -= shift;
    bool stores = path == Path::Store || path == Path::ToCore;
    std::vector<Span> expected =
        (stores ? tickStores : tickLoads)(moves.arch, memory, moves.jobs);
    for (size_t i = 0; i < moves.jobs.size(); ++i) {
      Span actual = m.span(moves.places[i]);
      EXPECT_EQ(actual.begin - first.begin, expected[i].begin)
          << "seed " << seed << ", " << i << ": "
          << isa::print(moves.k.program[moves.places[i]]);
      EXPECT_EQ(actual.end - first.begin, expected[i].end)
          << "seed " << seed << ", " << i << ": "
          << isa::print(moves.k.program[moves.places[i]]);
      for (const DmaElement &e : moves.jobs[i].elements)
        ++(e.isOutside ? outside : inside);
    }
    if (testing::Test::HasFailure()) {
      for (const isa::Descriptor &td : moves.k.descriptors)
        ADD_FAILURE() << isa::print(td);
      return;
    }
  }
  EXPECT_GT(outside, inside / 20);
}

} // namespace

// An atom of 64 bytes takes 4 cycles; 10 until the first one, 1 to memory and 1
// back.
TEST(TickingDma, Loads) { compare(Path::Load, {16, 4}, 400); }

TEST(TickingDma, CopiesWithinTheCore) { compare(Path::WithinCore, {}, 400); }

// A write is acknowledged when it comes to its channel, which has room: 1 cycle
// there, 1 back.
TEST(TickingDma, Stores) { compare(Path::Store, {2, 0}, 400); }

// As many to the core and back.
TEST(TickingDma, StoresToACore) { compare(Path::ToCore, {2, 0, true}, 400); }

} // namespace tessera::sim::test
