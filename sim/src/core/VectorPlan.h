//===- VectorPlan.h - What a vector instruction is about to do --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A vector instruction goes through four steps: it is checked, which says what
// it reads and writes; its index operands are read, if it has any; its cycles
// are counted; its results are computed, to be committed at completion.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CORE_VECTORPLAN_H
#define TESSERA_SIM_CORE_VECTORPLAN_H

#include "core/Core.h"

namespace tessera::sim {

/// A tensor to be written.
struct VectorOutput {
  isa::Descriptor td;
  ByteInterval interval;
  std::vector<uint8_t> data; ///< Dense; empty with `--timing-only`.
  std::vector<uint8_t> mask; ///< What is 0 stays as it is; empty: all written.
  /// Written element by element of the iteration space, not once for many.
  bool perElement = true;
  template <typename A> void serialize(A &ar) {
    fields(ar, td, interval, data, mask, perElement);
  }
};

struct VectorInput {
  isa::Descriptor td;
  ByteInterval interval;
};

/// How long it takes.
struct VectorCost {
  Cycle ideal = 1; ///< Engine-cycles without bank conflicts.
  Cycle real = 1;  ///< Engine-cycles.
  Cycle tail = 0;  ///< From then to completion, without `latency`.
  uint64_t aluOps = 0, sfuOps = 0; ///< Over all elements.
  /// Of an instruction that walks its operands side by side, of a transpose and
  /// of a topk: `real` follows from when the banks are free for these.
  std::optional<LaneAccesses> accesses;
  std::optional<TileAccesses> tiles;
  std::optional<SortAccesses> sort;
};

struct VectorPlan {
  const isa::MapProgram *program = nullptr; ///< map's.
  isa::Descriptor space; ///< Its extents are the iteration space's.
  uint64_t elements = 0; ///< Of the iteration space.
  std::vector<VectorInput> inputs, oldContents;
  std::vector<VectorOutput> outputs;
  std::vector<int64_t> indices; ///< gather's, in order; −1: a padding row.
  VectorCost cost;
};

/// None, or the fault and its address.
FaultCause checkVector(const Core &core, const QueueEntry &entry,
                       VectorPlan &plan, uint64_t &address);
/// gather's indices. In a run without data they are drawn at random, uniform
/// over the table, and counted.
FaultCause readIndices(Core &core, const QueueEntry &entry, VectorPlan &plan,
                       uint64_t &address);
VectorCost vectorCost(const Architecture &arch, const QueueEntry &entry,
                      const VectorPlan &plan);
/// Fills in the outputs' data from the core's memories.
void computeVector(Core &core, const QueueEntry &entry, VectorPlan &plan);

/// map's or reduce's.
isa::Reduce reductionOf(const QueueEntry &entry);
unsigned reducedDims(const QueueEntry &entry);
inline bool isArg(isa::Reduce kind) {
  return kind == isa::Reduce::ArgMax || kind == isa::Reduce::ArgMin;
}

} // namespace tessera::sim

#endif // TESSERA_SIM_CORE_VECTORPLAN_H
