//===- DmaBanksTest.cpp - Bursts at the memories' banks ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules of docs/timing.md, Memory banks, for bursts. The machine has 16
// banks of 16 bytes, so a burst of 64 bytes needs four of them.
//
//===----------------------------------------------------------------------===//

#include "DmaFixture.h"
#include "core/Banks.h"
#include <functional>

namespace tessera::sim::test {

using isa::Opcode;
using isa::Space;

namespace {

constexpr uint32_t streamed = 40;

/// An `mma` that begins in cycle s holds bank 0 from s + 8 to s + 47: its
/// weights lie in banks 8 to 15 and take 8 cycles, then come 40 rows that are a
/// whole turn of the banks apart. `push` issues what is to meet it, visible in
/// s + 11; without the stream nothing else needs a bank.
struct Meeting {
  explicit Meeting(bool streams,
                   const std::function<void(Body &)> &prepare = {})
      : streams(streams) {
    a = tensor(Space::Spm, BF16, {streamed, 8}, 0);
    a.strides[0] = 128;
    k.td(20, tensor(Space::Acc, F32, {streamed, 8}, 0));
    k.td(21, a);
    k.spm(22, BF16, {8, 8}, 16384 + 128);
    if (prepare)
      prepare(k);
  }
  /// Cycles from the beginning to the end of what was pushed.
  uint64_t run(const std::function<void(Body &)> &push) {
    k.rest();
    stream = k.here();
    if (streams)
      k.mma(20, 21, 22);
    else
      k.li(1, 0);
    k.pause(9);
    pc = k.here();
    push(k);
    k.halt();
    record = m.run(k);
    if (streams) {
      EXPECT_EQ(m.span(pc).begin, m.span(stream).begin + 11);
    }
    return length(m, pc);
  }
  uint64_t conflicts(Engine engine) const {
    return record.engines[size_t(engine)][StallCause::BankConflict];
  }

  const bool streams;
  Machine m;
  Body k;
  isa::Descriptor a;
  uint32_t stream = 0, pc = 0;
  DispatchRecord record;
};

/// 16 values at a bank.
isa::Descriptor atBank(unsigned bank) {
  return tensor(Space::Spm, F32, {16}, 49152 + 16 * bank);
}

} // namespace

// Issued in s + 11, it comes in s + 27 and is written in s + 48, behind the
// last row. All that is under way waits for banks from s + 27 on.
TEST(DmaBanks, ABurstThatComesGoesAroundAStream) {
  for (bool streams : {false, true}) {
    Meeting meeting(streams, [](Body &k) {
      k.td(0, atBank(0));
      k.global(1, F32, {16}, data);
    });
    EXPECT_EQ(meeting.run([](Body &k) { k.load(0, 1); }),
              streams ? 48u - 11 + 1 : 17u);
    EXPECT_EQ(meeting.conflicts(Engine::Load), streams ? 48u - 27 : 0u);
  }
}

// Of two bursts the second, in banks 4 to 7, comes in s + 31 and is written at
// once. While it is under way the engine waits for the memory, then for banks.
TEST(DmaBanks, BurstsDoNotWaitForEachOther) {
  Meeting meeting(true, [](Body &k) {
    k.spm(0, F32, {32}, 49152);
    k.global(1, F32, {32}, data);
  });
  EXPECT_EQ(meeting.run([](Body &k) { k.load(0, 1); }), 48u - 11 + 1);
  EXPECT_EQ(meeting.conflicts(Engine::Load), 48u - 31);
}

// With one place the second burst is issued when the first is written, in
// s + 48; it comes 16 later.
TEST(DmaBanks, ABurstKeepsItsPlaceUntilItIsWritten) {
  Meeting meeting(true, [](Body &k) {
    k.spm(0, F32, {32}, 49152);
    k.global(1, F32, {32}, data);
  });
  Architecture arch = tinyArchitecture();
  arch.dma.outstanding = 1;
  Machine one(arch);
  meeting.run([](Body &k) { k.load(0, 1); });
  one.run(meeting.k);
  EXPECT_EQ(length(one, meeting.pc), 48u + 16 + 1 - 11);
}

// It is read in s + 48, sent then, and acknowledged two cycles later.
TEST(DmaBanks, AStoreReadsWhatItSends) {
  for (bool streams : {false, true}) {
    Meeting meeting(streams, [](Body &k) {
      k.global(0, F32, {16}, data);
      k.td(1, atBank(0));
    });
    EXPECT_EQ(meeting.run([](Body &k) { k.store(0, 1); }),
              streams ? 48u - 11 + 2 : 2u);
    EXPECT_EQ(meeting.conflicts(Engine::Store), streams ? 48u - 11 : 0u);
  }
}

// Of a row whose elements are a turn of the banks apart each is a word of bank
// 1: 8 cycles to be read, from s + 11 on; the burst is sent in the last.
TEST(DmaBanks, ABurstIsSentWithItsLastWords) {
  Meeting meeting(false, [](Body &k) {
    k.global(0, F32, {8}, data);
    isa::Descriptor apart = tensor(Space::Spm, F32, {8}, 49152 + 16);
    apart.strides[0] = 64;
    k.td(1, apart);
  });
  EXPECT_EQ(meeting.run([](Body &k) { k.store(0, 1); }), 7u + 2);
}

// A copy reads, and writes a cycle later: either may have to wait. What waits
// to be read is not under way.
TEST(DmaBanks, ACopyReadsAndWrites) {
  for (unsigned from : {0u, 4u}) {
    Meeting meeting(true, [&](Body &k) {
      k.td(0, atBank(4 - from));
      k.td(1, atBank(from));
    });
    // Read in s + 48, written in s + 49; or read in s + 11, here in s + 12.
    EXPECT_EQ(meeting.run([](Body &k) { k.load(0, 1); }),
              from == 0 ? 49u + 1 - 11 : 48u + 1 - 11);
    EXPECT_EQ(meeting.conflicts(Engine::Load), from == 0 ? 48u - 11 : 48 - 12);
  }
}

// 96 values in 6 pieces: bank 0 is in the first and the fifth; the other pieces
// follow the first.
TEST(DmaBanks, AFillGoesAroundAStream) {
  for (bool streams : {false, true}) {
    Meeting meeting(streams, [](Body &k) { k.spm(0, F32, {96}, 49152); });
    EXPECT_EQ(meeting.run([](Body &k) { k.fill(0); }),
              streams ? 48u - 11 + 6 : 6u);
    EXPECT_EQ(meeting.conflicts(Engine::Load), streams ? 48u - 11 : 0u);
  }
}

// The indices, in bank 0, are read in s + 48; the row's burst is issued in
// s + 49 and comes 16 later, to banks 4 to 7.
TEST(DmaBanks, AGatherReadsItsIndices) {
  for (bool streams : {false, true}) {
    Meeting meeting(streams, [](Body &k) {
      k.spm(2, I32, {1}, 49152);
      k.fill(2);
      isa::Descriptor row = atBank(4),
                      table = tensor(Space::Global, F32, {4, 16}, data);
      row.rank = 2, row.extents = {1, 16, 1, 1, 1, 1}, row.strides = {16, 1};
      k.td(0, row);
      k.td(1, table);
    });
    EXPECT_EQ(meeting.run([](Body &k) { k.gather(0, 1, 2); }),
              streams ? 49u - 11 + 16 + 1 : 18u);
  }
}

// Four values outside the window, to bank 0, are written in s + 48, but the
// burst of the other twelve does not wait for that.
TEST(DmaBanks, PaddingIsWritten) {
  for (bool streams : {false, true}) {
    Meeting meeting(streams, [](Body &k) {
      k.td(0, atBank(0));
      k.global(1, F32, {16}, data);
      k.window(1, 0, -4, 12);
    });
    EXPECT_EQ(meeting.run([](Body &k) {
      k.load(0, 1);
      k.flag(isa::load::pad);
    }),
              streams ? 48u - 11 + 1 + 16 + 1 : 18u);
  }
}

// A burst that comes to a core's scratchpad, this one's here, in s + 12 is
// written in s + 48 and answered then.
TEST(DmaBanks, AStoreToACoreIsAnsweredWhenItIsWritten) {
  for (bool streams : {false, true}) {
    Meeting meeting(streams, [](Body &k) {
      isa::Descriptor to = atBank(0);
      to.space = Space::Core;
      k.td(0, to);
      k.td(1, atBank(4));
    });
    EXPECT_EQ(meeting.run([](Body &k) { k.store(0, 1); }),
              streams ? 48u - 11 + 1 : 2u);
  }
}

// A burst of another core's engine goes around this core's streams: ten rows in
// bank 0.
TEST(DmaBanks, AnotherCoresBurstGoesAroundAStream) {
  Architecture arch = tinyArchitecture();
  Banks banks(arch), others(arch);
  AccessPattern rows;
  rows.td = tensor(Space::Spm, NumericFormat::I8, {10, 16}, 0);
  rows.td.strides[0] = 256;
  rows.outer = 1;
  rows.setEnds();
  rows.outerStep = 1;
  EXPECT_EQ(banks.place(BankUser::MatrixA, rows, 10, 100, 1), 110u);
  BankAccess access(others.layout);
  access.add(0, 4);
  access.cycles();
  EXPECT_EQ(banks.place(access, 102).first, 110u);
}

// What comes, or is read, is there before what starts later.
TEST(DmaBanks, AStreamGoesAroundWhatIsKnown) {
  Architecture arch = tinyArchitecture();
  Banks banks(arch);
  BankAccess access(banks.layout);
  access.add(0, 4);
  access.add(256, 260); // twice in bank 0
  EXPECT_EQ(access.cycles(), 2u);
  AccessCycles made = banks.place(access, 100);
  EXPECT_EQ(made.first, 100u);
  EXPECT_EQ(made.end, 102u);
  // A second one finds bank 0 taken in both cycles.
  made = banks.place(access, 100);
  EXPECT_EQ(made.first, 102u);
  EXPECT_EQ(made.end, 104u);
  AccessPattern rows;
  rows.td = tensor(Space::Spm, NumericFormat::I8, {10, 16}, 0);
  rows.td.strides[0] = 256;
  rows.outer = 1;
  rows.setEnds();
  rows.outerStep = 1;
  rows.innerCount = 16;
  EXPECT_EQ(banks.place(BankUser::MatrixA, rows, 10, 99, 1), 113u);
  // One comes when the rows are known: behind the last.
  made = banks.place(access, 104);
  EXPECT_EQ(made.end, 115u);
}

} // namespace tessera::sim::test
