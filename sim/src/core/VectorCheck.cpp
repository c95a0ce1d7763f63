//===- VectorCheck.cpp - What a vector instruction reads and writes *- C++
//-*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/VectorPlan.h"

namespace tessera::sim {

using isa::Descriptor;
using isa::Opcode;

isa::Reduce reductionOf(const QueueEntry &entry) {
  if (entry.opcode == Opcode::MAP)
    return isa::Reduce(entry.options[isa::map::reduce]);
  if (entry.opcode == Opcode::REDUCE)
    return isa::Reduce(entry.options[isa::reduce::kind] + 1);
  return isa::Reduce::None;
}

unsigned reducedDims(const QueueEntry &entry) {
  return unsigned(entry.options[entry.opcode == Opcode::MAP
                                    ? unsigned(isa::map::reduce_dims)
                                    : unsigned(isa::reduce::dims)]);
}

namespace {

using Extents = std::array<uint32_t, isa::maxRank>;

class VectorChecker {
public:
  VectorChecker(const Core &core, const QueueEntry &entry, VectorPlan &plan,
                uint64_t &address)
      : core(core), entry(entry), plan(plan), address(address) {}

  FaultCause run() {
    switch (entry.opcode) {
    case Opcode::MAP:
      map();
      break;
    case Opcode::REDUCE:
      reduce();
      break;
    case Opcode::SCAN:
      scan();
      break;
    case Opcode::SELECT:
      select();
      break;
    case Opcode::CONVERT:
      convert();
      break;
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
      address = uint64_t(entry.opcode);
      fault = FaultCause::IllegalInstruction;
    }
    plan.elements = maskedElements(plan.space, ~0u);
    return fault;
  }

private:
  /// The first thing that is wrong counts.
  void require(bool holds, const Descriptor &td) {
    if (fault != FaultCause::None || holds)
      return;
    address = td.base;
    fault = FaultCause::IllegalDescriptor;
  }
  bool local(const Descriptor &td, bool written, ByteInterval &interval) {
    if (fault != FaultCause::None)
      return false;
    fault = core.checkLocal(td, written, interval);
    if (fault != FaultCause::None)
      address = td.base;
    return fault == FaultCause::None;
  }
  void readInto(std::vector<VectorInput> &list, const Descriptor &td) {
    VectorInput input{td, {}};
    if (local(td, false, input.interval))
      list.push_back(input);
  }
  void reads(const Descriptor &td) { readInto(plan.inputs, td); }
  void reads(const Descriptor &td, const Extents &extents) {
    require(td.extents == extents, td);
    reads(td);
  }
  void readsOld(const Descriptor &td) { readInto(plan.oldContents, td); }
  void writes(const Descriptor &td, const Extents &extents,
              bool perElement = true) {
    require(td.extents == extents, td);
    VectorOutput output;
    output.td = td;
    output.perElement = perElement;
    if (local(td, true, output.interval))
      plan.outputs.push_back(std::move(output));
  }
  Extents without(unsigned dims) const {
    Extents extents = plan.space.extents;
    for (unsigned d = 0; d < isa::maxRank; ++d)
      if (dims >> d & 1)
        extents[d] = 1;
    return extents;
  }
  static bool isIndexFormat(const Descriptor &td) {
    return td.format == NumericFormat::I32;
  }

  /// A reduced output and, with argmax and argmin, its indices.
  void reduced(const Descriptor &out, const Descriptor &indices) {
    Extents extents = without(reducedDims(entry));
    writes(out, extents, false);
    bool arg = isArg(reductionOf(entry));
    if (arg) {
      require(isIndexFormat(indices), indices);
      writes(indices, extents, false);
    }
    if (entry.accumulate) {
      readsOld(out);
      if (arg)
        readsOld(indices);
    }
  }

  void map() {
    const auto &maps = core.task.image->maps;
    auto number = uint64_t(entry.options[isa::map::program]);
    if (number >= maps.size()) {
      address = number;
      fault = FaultCause::MapIndex;
      return;
    }
    const isa::MapProgram &program = maps[number];
    plan.program = &program;
    const Descriptor &out0 = entry.operand(isa::map::out0);
    const Descriptor &out1 = entry.operand(isa::map::out1);
    const Descriptor *in = &entry.operand(isa::map::in0);
    plan.space = program.inputs > 0 ? *in : out0;
    for (unsigned i = 0; i < program.inputs; ++i)
      reads(in[i], plan.space.extents);
    isa::Reduce kind = reductionOf(entry);
    if (kind == isa::Reduce::None)
      writes(out0, plan.space.extents);
    else
      reduced(out0, out1);
    if (program.outputs > 1) {
      require(!isArg(kind), out1);
      writes(out1, plan.space.extents);
    }
  }

  void reduce() {
    const Descriptor &dst = entry.operand(isa::reduce::dst);
    const Descriptor &src = entry.operand(isa::reduce::src);
    plan.space = src;
    require(isFloat(src.format) == isFloat(dst.format), dst);
    reads(src);
    reduced(dst, entry.operand(isa::reduce::indices));
  }

  void scan() {
    const Descriptor &dst = entry.operand(isa::scan::dst);
    const Descriptor &src = entry.operand(isa::scan::src);
    const Descriptor &total = entry.operand(isa::scan::total);
    plan.space = src;
    require(isFloat(src.format) == isFloat(dst.format), dst);
    reads(src);
    writes(dst, src.extents);
    bool writesTotal = entry.options[isa::scan::with_total] != 0;
    if (!writesTotal && !entry.accumulate)
      return;
    Extents extents = without(unsigned(entry.options[isa::scan::dims]));
    require(isFloat(src.format) == isFloat(total.format), total);
    require(total.extents == extents, total);
    if (entry.accumulate)
      readsOld(total);
    if (writesTotal)
      writes(total, extents, false);
  }

  void select() {
    const Descriptor &dst = entry.operand(isa::select::dst);
    const Descriptor &a = entry.operand(isa::select::a);
    const Descriptor &b = entry.operand(isa::select::b);
    plan.space = dst;
    reads(entry.operand(isa::select::mask), dst.extents);
    require(a.format == dst.format, a);
    reads(a, dst.extents);
    if (!entry.options[isa::select::keep]) {
      require(b.format == dst.format, b);
      reads(b, dst.extents);
    }
    writes(dst, dst.extents);
  }

  void convert() {
    const Descriptor &dst = entry.operand(isa::convert::dst);
    const Descriptor &src = entry.operand(isa::convert::src);
    plan.space = dst;
    reads(src, dst.extents);
    if (entry.options[isa::convert::use_scale]) {
      const Descriptor &scale = entry.operand(isa::convert::scale);
      require(isFloat(scale.format), scale);
      reads(scale, dst.extents);
    }
    if (entry.options[isa::convert::use_zero]) {
      const Descriptor &zero = entry.operand(isa::convert::zero);
      require(!isFloat(zero.format) &&
                  !(isFloat(src.format) && isFloat(dst.format)),
              zero);
      reads(zero, dst.extents);
    }
    writes(dst, dst.extents);
  }

  void transpose() {
    const Descriptor &dst = entry.operand(isa::transpose::dst);
    const Descriptor &src = entry.operand(isa::transpose::src);
    plan.space = src;
    require(src.rank >= 2, src);
    require(dst.rank == src.rank && dst.format == src.format, dst);
    Extents exchanged = src.extents;
    if (src.rank >= 2)
      std::swap(exchanged[src.rank - 1], exchanged[src.rank - 2]);
    reads(src);
    writes(dst, exchanged);
  }

  void gather() {
    const Descriptor &dst = entry.operand(isa::gather::dst);
    const Descriptor &src = entry.operand(isa::gather::src);
    const Descriptor &index = entry.operand(isa::gather::index);
    plan.space = dst;
    require(src.rank >= 1, src);
    require(!isFloat(index.format), index);
    require(dst.rank == index.rank + src.rank - 1 && dst.format == src.format,
            dst);
    if (fault != FaultCause::None)
      return;
    Extents extents;
    extents.fill(1);
    std::copy_n(index.extents.begin(), index.rank, extents.begin());
    std::copy_n(src.extents.begin() + 1, src.rank - 1,
                extents.begin() + index.rank);
    reads(index);
    reads(src);
    writes(dst, extents);
  }

  void topk() {
    const Descriptor &dst = entry.operand(isa::topk::dst);
    const Descriptor &src = entry.operand(isa::topk::src);
    const Descriptor &indices = entry.operand(isa::topk::indices);
    plan.space = src;
    require(src.rank >= 1, src);
    require(dst.rank == src.rank && dst.format == src.format, dst);
    require(isIndexFormat(indices), indices);
    if (fault != FaultCause::None)
      return;
    Extents extents = src.extents;
    uint32_t &k = extents[src.rank - 1];
    require(dst.extents[src.rank - 1] <= k, dst);
    k = dst.extents[src.rank - 1];
    reads(src);
    if (entry.accumulate) {
      readsOld(dst);
      readsOld(indices);
    }
    writes(dst, extents, false);
    writes(indices, extents, false);
  }

  const Core &core;
  const QueueEntry &entry;
  VectorPlan &plan;
  uint64_t &address;
  FaultCause fault = FaultCause::None;
};

} // namespace

FaultCause checkVector(const Core &core, const QueueEntry &entry,
                       VectorPlan &plan, uint64_t &address) {
  return VectorChecker(core, entry, plan, address).run();
}

} // namespace tessera::sim
