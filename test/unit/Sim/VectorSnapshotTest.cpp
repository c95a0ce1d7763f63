//===- VectorSnapshotTest.cpp - Vector instructions under way -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VectorFixture.h"
#include "tessera/Support/Random.h"

namespace tessera::sim::test {

using isa::Opcode;
using F = NumericFormat;

TEST(VectorSnapshot, ResultsUnderWayAndInTheQueueAreKept) {
  // A chain in which every instruction waits for the one before: the queue is
  // full, results, indices and masks are under way.
  Random random(1);
  Kernel k;
  k.td(0, tensor(isa::Space::Spm, F::F32, {8, 16}, 0));
  k.td(1, tensor(isa::Space::Spm, F::F32, {8, 16}, 1024));
  k.td(2, tensor(isa::Space::Spm, F::F32, {8, 4}, 2048));
  k.td(3, tensor(isa::Space::Spm, F::I32, {8, 4}, 3072));
  k.td(4, tensor(isa::Space::Spm, F::F32, {32}, 0));
  k.td(5, tensor(isa::Space::Spm, F::I32, {32}, 3072));
  k.td(6, tensor(isa::Space::Spm, F::F32, {32}, 4096));
  k.td(7, tensor(isa::Space::Spm, F::F32, {1}, 5120));
  k.td(8, tensor(isa::Space::Spm, F::I32, {1}, 5184));
  k.td(30, tensor(isa::Space::Spm, F::F32, {2048}, 0));
  k.td(31, tensor(isa::Space::Global, F::F32, {2048}, Machine::dataArea));
  k.li(9, 100);
  k.load(30, 31, {}, {{0, 1}});
  k.wait(isa::Queue::Vx, {{0, 1}});
  k.add(Opcode::SCAN,
        {{isa::scan::src, 0}, {isa::scan::dst, 1}, {isa::scan::dims, 2}});
  k.add(Opcode::TOPK,
        {{isa::topk::src, 1}, {isa::topk::dst, 2}, {isa::topk::indices, 3}});
  k.add(
      Opcode::GATHER,
      {{isa::gather::src, 4}, {isa::gather::index, 5}, {isa::gather::dst, 6}});
  k.add(Opcode::SELECT, {{isa::select::mask, 5},
                         {isa::select::a, 6},
                         {isa::select::dst, 4},
                         {isa::select::keep, 1}});
  k.add(Opcode::REDUCE, {{isa::reduce::src, 4},
                         {isa::reduce::dst, 7},
                         {isa::reduce::indices, 8},
                         {isa::reduce::kind, 4},
                         {isa::reduce::dims, 1},
                         {isa::reduce::rb, 9}});
  k.signal(isa::Queue::Vx, {{1, 1}});
  k.store(31, 30, {{1, 1}});
  k.halt();
  Machine reference;
  std::vector<float> values(2048);
  for (float &v : values)
    v = random.uniformFloat(-1, 1);
  reference.write(Machine::dataArea, values);
  isa::Packet packet;
  packet.body = reference.place(k);
  reference.submit(packet);
  expectSnapshotsGoOn(reference, 7);
}

} // namespace tessera::sim::test
