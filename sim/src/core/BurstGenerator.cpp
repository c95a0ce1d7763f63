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
  if (walk.memoryOrder)
    burst.slots = std::max(burst.slots, bankCycles(position * 8 / bits,
                                                   burst.bytes * 8ull / bits));

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

uint32_t BurstGenerator::bankCycles(uint64_t first, uint64_t count) const {
  // The elements' places in the near tensor, by their row-major number in the
  // order of the walk.
  std::vector<uint64_t> words;
  words.reserve(count);
  const isa::Descriptor &near = walk.near;
  uint64_t bytes = std::max(1u, bitWidth(near.format) / 8);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t number = run * runs.runElements + first + i;
    uint64_t address = near.base;
    for (unsigned d = near.rank; d-- > 0;) {
      address += number % near.extents[d] * uint64_t(near.strides[d]) * bytes;
      number /= near.extents[d];
    }
    words.push_back(address / walk.banks.wordBytes);
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  std::vector<uint32_t> perBank(walk.banks.banks);
  uint32_t most = 1;
  for (uint64_t word : words)
    most = std::max(most, ++perBank[word % walk.banks.banks]);
  return most;
}

} // namespace tessera::sim
