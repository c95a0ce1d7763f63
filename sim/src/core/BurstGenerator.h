//===- BurstGenerator.h - Cutting tensors into bursts -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The address generator of a DMA engine: walks the far side of a transfer
// (global memory mostly) in runs of adjacent elements and cuts these at
// multiples of the burst, row by row for a gather or scatter. It also says
// which elements of the near side, the core's own memory, a burst moves.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CORE_BURSTGENERATOR_H
#define TESSERA_SIM_CORE_BURSTGENERATOR_H

#include "core/Banks.h"
#include <limits>

namespace tessera::sim {

/// A row that a gather or scatter leaves out.
inline constexpr int64_t noRow = std::numeric_limits<int64_t>::min();

struct Burst {
  uint64_t address = 0; ///< Of its first byte.
  uint32_t bytes = 0;
  uint32_t slots = 1; ///< Of the engine that it takes for its bytes.
  /// The elements that it moves: `count` from `first` on of a row, in the order
  /// of the walk.
  uint64_t first = 0, row = 0, count = 0;
  template <typename A> void serialize(A &ar) {
    fields(ar, address, bytes, slots, first, row, count);
  }
};

/// What a generator walks over. Both descriptors have the same extents, unless
/// there are rows.
struct BurstWalk {
  isa::Descriptor far, near;
  /// In the order in which the far side lies in memory, not in row-major order.
  bool memoryOrder = false;
  /// If there are any: offsets of far rows, in bytes, or noRow. `far` is then
  /// one row, and `near` has a row for each of these.
  std::vector<int64_t> rows;
  uint32_t burstBytes = 1;

  template <typename A> void serialize(A &ar) {
    fields(ar, far, near, memoryOrder, rows, burstBytes);
    if constexpr (A::loading) {
      burstBytes = std::max(1u, burstBytes);
      for (unsigned d = 0; d < isa::maxRank; ++d)
        if (far.extents[d] == 0 || near.extents[d] == 0) {
          ar.fail();
          far = near = isa::Descriptor();
        }
    }
  }
};

class BurstGenerator {
public:
  BurstGenerator() : runs(walk.far) {}

  void start(BurstWalk newWalk);
  void stop() { *this = BurstGenerator(); }
  bool done() const { return row >= numRows(); }
  /// The next burst; not if done.
  Burst next();
  /// The far tensor, or one row of it.
  const isa::Descriptor &far() const { return walk.far; }
  /// The near side's accesses: outer index is the row, inner ones are elements
  /// in the order of the walk.
  AccessPattern near() const;
  /// The most elements of a burst.
  uint64_t maxElements() const {
    return std::max<uint64_t>(1, uint64_t(walk.burstBytes) * 8 /
                                     bitWidth(walk.far.format));
  }

  template <typename A> void serialize(A &ar) {
    fields(ar, walk, started, row, run, position);
    if constexpr (A::loading) {
      runs = Runs(walk.far);
      run %= std::max<uint64_t>(1, runs.count);
    }
  }

private:
  uint64_t numRows() const {
    return walk.rows.empty() ? started : walk.rows.size();
  }
  void skipAbsentRows();

  BurstWalk walk;
  Runs runs;
  bool started = false;
  uint64_t row = 0, run = 0;
  uint64_t position = 0; ///< Bytes of the run that were issued.
};

} // namespace tessera::sim

#endif // TESSERA_SIM_CORE_BURSTGENERATOR_H
