//===- BurstGenerator.cpp - Cutting tensors into bursts ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/BurstGenerator.h"
#include "kernel/Clock.h"
#include <algorithm>
#include <numeric>

namespace tessera::sim {

/// Both descriptors with their dimensions by falling distance in `far`.
static void sortByDistance(isa::Descriptor &far, isa::Descriptor &near) {
  std::array<unsigned, isa::maxRank> order;
  std::iota(order.begin(), order.end(), 0);
  auto distance = [&](unsigned d) {
    uint64_t stride = uint64_t(far.strides[d]);
    return far.strides[d] < 0 ? -stride : stride;
  };
  std::sort(
      order.begin(), order.begin() + far.rank, [&](unsigned a, unsigned b) {
        return distance(a) != distance(b) ? distance(a) > distance(b) : a < b;
      });
  isa::Descriptor oldFar = far, oldNear = near;
  for (unsigned d = 0; d < far.rank; ++d) {
    far.extents[d] = oldFar.extents[order[d]];
    far.strides[d] = oldFar.strides[order[d]];
    near.extents[d] = oldNear.extents[order[d]];
    near.strides[d] = oldNear.strides[order[d]];
  }
}

void BurstGenerator::start(BurstWalk newWalk) {
  walk = std::move(newWalk);
  if (walk.memoryOrder)
    sortByDistance(walk.far, walk.near);
  runs = Runs(walk.far);
  started = true;
  row = run = position = 0;
  skipAbsentRows();
}

void BurstGenerator::skipAbsentRows() {
  while (row < walk.rows.size() && walk.rows[row] == noRow)
    ++row;
}

Burst BurstGenerator::next() {
  const isa::Descriptor &far = walk.far;
  uint64_t bits = bitWidth(far.format);
  int64_t element = runs.offset(run);
  uint64_t start =
      far.base + (walk.rows.empty() ? 0 : uint64_t(walk.rows[row]));
  uint64_t lead = bits == 4 ? uint64_t(element & 1) * 4 : 0;
  start += bits == 4 ? uint64_t(element >> 1) : uint64_t(element) * (bits / 8);
  uint64_t runBytes = (lead + runs.runElements * bits + 7) / 8;

  Burst burst;
  burst.address = start + position;
  uint64_t toBoundary = walk.burstBytes - burst.address % walk.burstBytes;
  burst.bytes = uint32_t(std::min(toBoundary, runBytes - position));
  if (walk.near.format != far.format)
    burst.slots =
        uint32_t(ceilDiv(uint64_t(burst.bytes) * bitWidth(walk.near.format),
                         bits * walk.burstBytes));
  burst.row = row;
  uint64_t before = position == 0 ? 0 : (position * 8 - lead) / bits;
  burst.first = run * runs.runElements + before;
  burst.count =
      std::min(((position + burst.bytes) * 8 - lead) / bits, runs.runElements) -
      before;

  position += burst.bytes;
  if (position >= runBytes) {
    position = 0;
    if (++run >= runs.count) {
      run = 0;
      ++row;
      skipAbsentRows();
    }
  }
  return burst;
}

AccessPattern BurstGenerator::near() const {
  AccessPattern pattern;
  pattern.td = walk.near;
  pattern.outer = walk.rows.empty() ? 0 : 1;
  pattern.setEnds();
  return pattern;
}

} // namespace tessera::sim
