//===- VectorCompute.cpp - The results of vector instructions ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/VectorPlan.h"
#include "numerics/Conversion.h"
#include "numerics/Formats.h"
#include "numerics/LaneProgram.h"
#include "numerics/Reduction.h"
#include "numerics/TopK.h"
#include "tessera/Support/Random.h"

namespace tessera::sim {

using isa::Descriptor;
using isa::Opcode;
using Lanes = std::vector<uint32_t>;

static std::vector<uint8_t> readDense(Core &core, const Descriptor &td) {
  std::vector<uint8_t> dense(denseSize(td));
  gatherLocal(core.local(td.space), td, dense.data());
  return dense;
}

static Lanes readLanes(Core &core, const Descriptor &td) {
  std::vector<uint8_t> dense = readDense(core, td);
  Lanes lanes(maskedElements(td, ~0u));
  widen(td.format, dense.data(), lanes.size(), lanes.data());
  return lanes;
}

static void writeLanes(VectorOutput &output, const Lanes &lanes) {
  output.data.resize(denseSize(output.td));
  narrow(output.td.format, lanes.data(), lanes.size(), output.data.data());
}

//===----------------------------------------------------------------------===//
// Over some dimensions
//===----------------------------------------------------------------------===//

/// The values of an iteration space, dense and row-major, as slices: one for
/// each place in the kept dimensions.
class Slices {
public:
  Slices(const Descriptor &space, unsigned dims) {
    Descriptor keptPart = space, slicePart = space;
    int64_t stride = 1;
    for (unsigned d = space.rank; d-- > 0;) {
      keptPart.strides[d] = slicePart.strides[d] = stride;
      stride *= space.extents[d];
      (dims >> d & 1 ? keptPart : slicePart).extents[d] = 1;
    }
    kept = places(keptPart);
    slice = places(slicePart);
  }

  size_t count() const { return kept.size(); }
  size_t length() const { return slice.size(); }
  /// Where element `j` of slice `i` is among all values.
  size_t at(size_t i, size_t j) const { return kept[i] + slice[j]; }

private:
  static std::vector<size_t> places(const Descriptor &td) {
    std::vector<size_t> result;
    result.reserve(maskedElements(td, ~0u));
    Runs runs(td);
    runs.forEach([&](int64_t offset) {
      for (uint64_t i = 0; i < runs.runElements; ++i)
        result.push_back(size_t(offset) + i);
    });
    return result;
  }
  std::vector<size_t> kept, slice;
};

static void reduceValues(Core &core, const QueueEntry &entry, VectorPlan &plan,
                         const Lanes &values) {
  isa::Reduce kind = reductionOf(entry);
  Slices slices(plan.space, reducedDims(entry));
  VectorOutput &output = plan.outputs[0];
  bool asFloat = isFloat(output.td.format);
  Lanes results(slices.count()), places(isArg(kind) ? slices.count() : 0);
  if (entry.accumulate) {
    results = readLanes(core, output.td);
    if (isArg(kind))
      places = readLanes(core, plan.outputs[1].td);
  }
  if (isArg(kind)) {
    ArgReduction reduction(kind, asFloat);
    for (size_t i = 0; i < slices.count(); ++i) {
      reduction.reset();
      if (entry.accumulate)
        reduction.add(results[i], places[i]);
      for (size_t j = 0; j < slices.length(); ++j)
        reduction.add(values[slices.at(i, j)], uint32_t(j) + entry.indexBase);
      results[i] = reduction.value();
      places[i] = reduction.index();
    }
    writeLanes(plan.outputs[1], places);
  } else {
    Reduction reduction(kind, asFloat);
    for (size_t i = 0; i < slices.count(); ++i) {
      reduction.reset();
      for (size_t j = 0; j < slices.length(); ++j)
        reduction.add(values[slices.at(i, j)]);
      uint32_t value = reduction.finish();
      results[i] =
          entry.accumulate ? reduction.combine(value, results[i]) : value;
    }
  }
  writeLanes(output, results);
}

static void computeScan(Core &core, const QueueEntry &entry, VectorPlan &plan) {
  const Descriptor &src = entry.operand(isa::scan::src);
  const Descriptor &total = entry.operand(isa::scan::total);
  bool exclusive = entry.options[isa::scan::exclusive] != 0;
  bool reverse = entry.options[isa::scan::reverse] != 0;
  Lanes values = readLanes(core, src);
  Slices slices(plan.space, unsigned(entry.options[isa::scan::dims]));
  Scan scan(isa::Reduce(entry.options[isa::scan::kind] + 1),
            isFloat(src.format));
  Lanes totals(slices.count(), scan.identity());
  if (entry.accumulate)
    totals = readLanes(core, total);
  size_t length = slices.length();
  for (size_t i = 0; i < slices.count(); ++i) {
    auto at = [&](size_t j) -> uint32_t & {
      return values[slices.at(i, reverse ? length - 1 - j : j)];
    };
    scan.start(totals[i]);
    for (size_t first = 0; first < length; first += Scan::block) {
      auto count = unsigned(std::min<size_t>(Scan::block, length - first));
      // results[j] follows what is before element j.
      std::array<uint32_t, Scan::block + 1> results;
      results[0] = scan.carry();
      for (unsigned j = 0; j < count; ++j)
        results[j + 1] = at(first + j);
      scan.run(results.data() + 1, count);
      for (unsigned j = 0; j < count; ++j)
        at(first + j) = results[exclusive ? j : j + 1];
    }
    totals[i] = scan.carry();
  }
  writeLanes(plan.outputs[0], values);
  if (plan.outputs.size() > 1)
    writeLanes(plan.outputs[1], totals);
}

static void computeTopK(Core &core, const QueueEntry &entry, VectorPlan &plan) {
  const Descriptor &src = entry.operand(isa::topk::src);
  const Descriptor &dst = entry.operand(isa::topk::dst);
  size_t row = src.extents[src.rank - 1], k = dst.extents[dst.rank - 1];
  Lanes values = readLanes(core, src);
  size_t rows = values.size() / row;
  Lanes best(rows * k), places(rows * k);
  if (entry.accumulate) {
    best = readLanes(core, dst);
    places = readLanes(core, entry.operand(isa::topk::indices));
  }
  TopK top(isFloat(src.format), entry.options[isa::topk::smallest] != 0);
  for (size_t r = 0; r < rows; ++r) {
    top.reset();
    if (entry.accumulate)
      for (size_t i = 0; i < k; ++i)
        top.add(best[r * k + i], places[r * k + i]);
    for (size_t j = 0; j < row; ++j)
      top.add(values[r * row + j], uint32_t(j) + entry.indexBase);
    top.finish(k, &best[r * k], &places[r * k]);
  }
  writeLanes(plan.outputs[0], best);
  writeLanes(plan.outputs[1], places);
}

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

static void computeMap(Core &core, const QueueEntry &entry, VectorPlan &plan) {
  const isa::MapProgram &program = *plan.program;
  bool reduces = reductionOf(entry) != isa::Reduce::None;
  std::array<std::vector<uint8_t>, isa::maxMapInputs> inputs;
  for (unsigned i = 0; i < program.inputs; ++i)
    inputs[i] = readDense(core, plan.inputs[i].td);
  for (unsigned i = reduces ? 1 : 0; i < program.outputs; ++i)
    plan.outputs[i].data.resize(denseSize(plan.outputs[i].td));
  Lanes values(reduces ? plan.elements : 0);

  LaneRegisters regs{};
  for (uint64_t at = 0; at < plan.elements; at += laneChunk) {
    auto count = unsigned(std::min<uint64_t>(laneChunk, plan.elements - at));
    for (unsigned i = 0; i < program.inputs; ++i) {
      NumericFormat format = plan.inputs[i].td.format;
      widen(format, inputs[i].data() + at * denseBytes(format), count,
            regs.value[i].data());
    }
    runLaneProgram(program, regs, count);
    for (unsigned i = 0; i < program.outputs; ++i) {
      const uint32_t *lanes = regs.value[program.outRegs[i]].data();
      VectorOutput &output = plan.outputs[i];
      if (i == 0 && reduces)
        std::copy_n(lanes, count, values.begin() + long(at));
      else
        narrow(output.td.format, lanes, count,
               output.data.data() + at * denseBytes(output.td.format));
    }
  }
  if (reduces)
    reduceValues(core, entry, plan, values);
}

static void computeSelect(Core &core, const QueueEntry &entry,
                          VectorPlan &plan) {
  const Descriptor &mask = entry.operand(isa::select::mask);
  bool keeps = entry.options[isa::select::keep] != 0;
  Lanes chosen = readLanes(core, mask);
  if (isFloat(mask.format))
    for (uint32_t &lane : chosen)
      lane &= 0x7fffffff;
  VectorOutput &output = plan.outputs[0];
  output.data = readDense(core, entry.operand(isa::select::a));
  if (keeps) {
    for (uint32_t lane : chosen)
      output.mask.push_back(lane != 0);
    return;
  }
  std::vector<uint8_t> other = readDense(core, entry.operand(isa::select::b));
  size_t bytes = denseBytes(output.td.format);
  for (size_t i = 0; i < chosen.size(); ++i)
    if (!chosen[i])
      std::copy_n(other.begin() + long(i * bytes), bytes,
                  output.data.begin() + long(i * bytes));
}

static void computeConvert(Core &core, const QueueEntry &entry,
                           VectorPlan &plan) {
  auto has = [&](unsigned field) { return entry.options[field] != 0; };
  const Descriptor &src = entry.operand(isa::convert::src);
  VectorOutput &output = plan.outputs[0];
  Conversion conversion;
  conversion.from = src.format;
  conversion.to = output.td.format;
  conversion.usesScale = has(isa::convert::use_scale);
  conversion.usesZero = has(isa::convert::use_zero);
  conversion.divides = has(isa::convert::divide);
  conversion.saturates = has(isa::convert::saturate);
  conversion.rounding = isa::Rounding(entry.options[isa::convert::rounding]);
  Lanes values = readLanes(core, src), scales, zeros;
  if (conversion.usesScale)
    scales = readLanes(core, entry.operand(isa::convert::scale));
  if (conversion.usesZero)
    zeros = readLanes(core, entry.operand(isa::convert::zero));
  output.data.resize(denseSize(output.td));
  conversion.run(values.size(), values.data(), scales.data(), zeros.data(),
                 output.data.data());
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

static void computeTranspose(Core &core, const QueueEntry &entry,
                             VectorPlan &plan) {
  Descriptor src = entry.operand(isa::transpose::src);
  std::swap(src.extents[src.rank - 1], src.extents[src.rank - 2]);
  std::swap(src.strides[src.rank - 1], src.strides[src.rank - 2]);
  plan.outputs[0].data = readDense(core, src);
}

static void computeGather(Core &core, const QueueEntry &entry,
                          VectorPlan &plan) {
  const Descriptor &src = entry.operand(isa::gather::src);
  std::vector<uint8_t> table = readDense(core, src);
  size_t rowBytes = table.size() / src.extents[0];
  size_t bytes = denseBytes(src.format);
  std::vector<uint8_t> padding(rowBytes);
  uint32_t pad =
      src.format == NumericFormat::I4 ? src.padding & 15 : src.padding;
  for (size_t i = 0; i < rowBytes; i += bytes)
    std::memcpy(padding.data() + i, &pad, bytes);
  std::vector<uint8_t> &data = plan.outputs[0].data;
  data.reserve(plan.indices.size() * rowBytes);
  for (int64_t index : plan.indices) {
    const uint8_t *row =
        index < 0 ? padding.data() : table.data() + size_t(index) * rowBytes;
    data.insert(data.end(), row, row + rowBytes);
  }
}

FaultCause readIndices(Core &core, const QueueEntry &entry, VectorPlan &plan,
                       uint64_t &address) {
  const Descriptor &index = entry.operand(isa::gather::index);
  int64_t rows = entry.operand(isa::gather::src).extents[0];
  size_t count = maskedElements(index, ~0u);
  if (core.services.options.timingOnly) {
    Random random(core.counters.drawnIndices + (uint64_t(core.index) << 40));
    for (size_t i = 0; i < count; ++i)
      plan.indices.push_back(int64_t(random.below(uint64_t(rows))));
    core.counters.drawnIndices += count;
    return FaultCause::None;
  }
  for (uint32_t lane : readLanes(core, index)) {
    int64_t value = int32_t(lane);
    if (value < 0 || value >= rows) {
      if (!entry.options[isa::gather::pad]) {
        address = uint64_t(value);
        return FaultCause::IndexOutOfRange;
      }
      value = -1;
    }
    plan.indices.push_back(value);
  }
  return FaultCause::None;
}

void computeVector(Core &core, const QueueEntry &entry, VectorPlan &plan) {
  switch (entry.opcode) {
  case Opcode::REDUCE:
    return reduceValues(core, entry, plan, readLanes(core, plan.space));
  case Opcode::SCAN:
    return computeScan(core, entry, plan);
  case Opcode::SELECT:
    return computeSelect(core, entry, plan);
  case Opcode::CONVERT:
    return computeConvert(core, entry, plan);
  case Opcode::TRANSPOSE:
    return computeTranspose(core, entry, plan);
  case Opcode::GATHER:
    return computeGather(core, entry, plan);
  case Opcode::TOPK:
    return computeTopK(core, entry, plan);
  default:
    return computeMap(core, entry, plan);
  }
}

} // namespace tessera::sim
