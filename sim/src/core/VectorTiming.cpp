//===- VectorTiming.cpp - The cycles of vector instructions -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules of docs/timing.md, "Vector engine".
//
//===----------------------------------------------------------------------===//

#include "core/VectorPlan.h"
#include <algorithm>
#include <bit>

namespace tessera::sim {

using isa::Descriptor;
using isa::Opcode;

/// Levels of the tree over the 64 partial results of a reduction.
static constexpr Cycle reductionTree = 6;
/// ALU operations of a scan: six distances within a block, and the carry.
static constexpr uint64_t scanOps = 7;
/// The transposer takes tiles of at most this many rows and columns.
static constexpr uint64_t transposerSide = 64;
/// Values that topk sorts at once.
static constexpr uint64_t sortedBlock = 64;

namespace {

class VectorTiming {
public:
  VectorTiming(const Architecture &arch, const QueueEntry &entry,
               const VectorPlan &plan)
      : arch(arch), entry(entry), plan(plan),
        lanes(std::max(1u, arch.vector.lanes)) {}

  VectorCost run() {
    switch (entry.opcode) {
    case Opcode::REDUCE:
      elementwise(0, 0);
      break;
    case Opcode::SCAN:
      elementwise(scanOps, 0);
      break;
    case Opcode::SELECT:
      elementwise(1, 0);
      break;
    case Opcode::CONVERT: {
      bool scales = entry.options[isa::convert::use_scale];
      bool divides = scales && entry.options[isa::convert::divide];
      bool zeros = entry.options[isa::convert::use_zero];
      elementwise(1 + (scales && !divides) + zeros, divides);
      break;
    }
    case Opcode::TRANSPOSE:
      transpose();
      break;
    case Opcode::GATHER:
      gather();
      break;
    case Opcode::TOPK:
      topk();
      break;
    default:
      elementwise(plan.program->aluOps(), plan.program->sfuOps());
    }
    return cost;
  }

private:
  Cycle readCycles(Cycle operands) const {
    return ceilDiv(operands, std::max(1u, arch.vector.readPorts));
  }
  Cycle writeCycles(Cycle operands) const {
    return ceilDiv(operands, std::max(1u, arch.vector.writePorts));
  }

  /// Operands walked side by side, a group of lanes at a time.
  void elementwise(uint64_t aluOps, uint64_t sfuOps) {
    LaneAccesses &accesses = cost.accesses.emplace();
    accesses.readPorts = std::max(1u, arch.vector.readPorts);
    accesses.writePorts = std::max(1u, arch.vector.writePorts);
    for (const VectorInput &input : plan.inputs)
      accesses.reads.push_back(LaneAccesses::operand(input.td, lanes, false));
    bool reduces = false;
    for (const VectorOutput &output : plan.outputs) {
      if (output.perElement)
        accesses.writes.push_back(
            LaneAccesses::operand(output.td, lanes, true));
      reduces |= !output.perElement;
    }
    // Results for many elements together count as one operand, wherever they
    // lie.
    if (reduces)
      accesses.writes.emplace_back().td.space = isa::Space::Global;
    accesses.work = std::max<Cycle>(
        {1, ceilDiv(aluOps, std::max(1u, arch.vector.aluSlots)),
         ceilDiv(sfuOps * lanes, std::max(1u, arch.vector.sfuLanes))});
    accesses.groups = ceilDiv(plan.elements, lanes);
    cost.ideal = accesses.groups *
                 std::max({accesses.work, readCycles(accesses.reads.size()),
                           writeCycles(accesses.writes.size())});
    cost.real = cost.ideal;
    if (reductionOf(entry) != isa::Reduce::None)
      cost.tail = reductionTree;
    cost.aluOps = plan.elements * aluOps;
    cost.sfuOps = plan.elements * sfuOps;
  }

  void transpose() {
    const Descriptor &src = plan.inputs[0].td;
    uint64_t rows = src.extents[src.rank - 2],
             columns = src.extents[src.rank - 1];
    uint64_t matrices = plan.elements / (rows * columns);
    uint64_t side = std::min(lanes, transposerSide);
    cost.tiles = TileAccesses{src, plan.outputs[0].td, side,
                              std::max(1u, arch.vector.readPorts),
                              std::max(1u, arch.vector.writePorts)};
    // Without conflicts a row or column takes a cycle. A tile is written while
    // the next one is read, if one buffer of two is free.
    Cycle filled = 0, drained = 0, drainedBefore = 0;
    for (uint64_t m = 0; m < matrices; ++m)
      for (uint64_t row = 0; row < rows; row += side)
        for (uint64_t column = 0; column < columns; column += side) {
          filled = std::max(filled, drainedBefore) + std::min(side, rows - row);
          drainedBefore = drained;
          drained =
              std::max(filled, drained) + std::min(side, columns - column);
        }
    cost.ideal = drained;
  }

  void gather() {
    const Descriptor &dst = plan.outputs[0].td;
    const Descriptor &src = entry.operand(isa::gather::src);
    LaneAccesses &accesses = cost.accesses.emplace();
    accesses.readPorts = std::max(1u, arch.vector.readPorts);
    accesses.writePorts = std::max(1u, arch.vector.writePorts);
    // The indices take a port, wherever they lie.
    accesses.reads.emplace_back().td.space = isa::Space::Global;
    accesses.writes.push_back(LaneAccesses::operand(dst, lanes, true));
    accesses.groups = ceilDiv(plan.elements, lanes);
    Descriptor row = src;
    row.extents[0] = 1;
    // Used while the instruction starts; the plan lives as long.
    accesses.gathered = [&plan = plan, &src, lanes = lanes,
                         runs = Runs(row)](uint64_t group, BankAccess &access) {
      access.clear(src.space);
      uint64_t rowElements = runs.runElements * runs.count;
      uint64_t bits = bitWidth(src.format);
      uint64_t last = std::min((group + 1) * lanes, plan.elements);
      for (uint64_t at = group * lanes; at < last;) {
        int64_t index = plan.indices[at / rowElements];
        uint64_t inRow = at % rowElements, inRun = inRow % runs.runElements;
        uint64_t take = std::min(runs.runElements - inRun, last - at);
        if (index >= 0) { // padding is at hand
          int64_t element = index * src.strides[0] +
                            runs.offset(inRow / runs.runElements) +
                            int64_t(inRun);
          uint64_t low = src.base * 8 + uint64_t(element) * bits;
          access.add(low / 8, (low + take * bits + 7) / 8);
        }
        at += take;
      }
    };
    cost.ideal = accesses.groups * std::max(readCycles(2), writeCycles(1));
    cost.aluOps = plan.elements;
  }

  void topk() {
    const Descriptor &src = plan.inputs[0].td, &dst = plan.outputs[0].td;
    uint64_t row = src.extents[src.rank - 1], k = dst.extents[dst.rank - 1];
    uint64_t rows = plan.elements / row;
    uint64_t block = std::min(sortedBlock, std::bit_ceil(row));
    uint64_t stages = uint64_t(std::countr_zero(block));
    uint64_t blocks = ceilDiv(row, block);
    uint64_t merges = blocks - 1 + (entry.accumulate ? 1 : 0);
    // A merge with a block of the best takes the better halves of both (one
    // stage) and sorts them; with more blocks the rest is sorted too and goes
    // on to the next.
    uint64_t best = ceilDiv(k, block);
    cost.aluOps = rows * block *
                  (blocks * stages * (stages + 1) / 2 +
                   merges * ((stages + 1) * best + stages * (best - 1)));
    Cycle work =
        ceilDiv(cost.aluOps, lanes * std::max(1u, arch.vector.aluSlots));
    Cycle reading = ceilDiv(rows * blocks * block, lanes);
    Cycle writing = ceilDiv(rows * k, lanes);
    cost.ideal = std::max({Cycle(1), work, reading, writing * writeCycles(2)});
    SortAccesses &sort = cost.sort.emplace();
    sort.values.readPorts = sort.results.readPorts =
        std::max(1u, arch.vector.readPorts);
    sort.values.writePorts = sort.results.writePorts =
        std::max(1u, arch.vector.writePorts);
    sort.values.groups = reading;
    sort.results.groups = writing;
    sort.results.user = BankUser::VectorDrain;
    if (row == blocks * block)
      sort.values.reads.push_back(LaneAccesses::operand(src, lanes, false));
    else // what a row lacks of its last block is not read
      sort.values.gathered = [&src, row, padded = blocks * block, lanes = lanes,
                              values = rows * row, runs = Runs(src)](
                                 uint64_t group, BankAccess &access) {
        access.clear(src.space);
        uint64_t bits = bitWidth(src.format);
        for (uint64_t i = group * lanes; i < (group + 1) * lanes; ++i) {
          uint64_t at = i / padded * row + i % padded;
          if (i % padded >= row || at >= values)
            continue;
          int64_t element = runs.offset(at / runs.runElements) +
                            int64_t(at % runs.runElements);
          uint64_t low = src.base * 8 + uint64_t(element) * bits;
          access.add(low / 8, (low + bits + 7) / 8);
        }
      };
    for (const VectorOutput &output : plan.outputs)
      sort.results.writes.push_back(
          LaneAccesses::operand(output.td, lanes, true));
  }

  const Architecture &arch;
  const QueueEntry &entry;
  const VectorPlan &plan;
  uint64_t lanes;
  VectorCost cost;
};

} // namespace

VectorCost vectorCost(const Architecture &arch, const QueueEntry &entry,
                      const VectorPlan &plan) {
  return VectorTiming(arch, entry, plan).run();
}

} // namespace tessera::sim
