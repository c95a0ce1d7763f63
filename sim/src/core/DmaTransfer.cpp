//===- DmaTransfer.cpp - One instruction of a DMA engine --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/DmaTransfer.h"
#include "check/AccessLog.h"
#include "check/Checker.h"
#include "numerics/Formats.h"
#include "tessera/Support/Random.h"

namespace tessera::sim {

using isa::Descriptor;
using isa::Opcode;
using isa::Space;

namespace {

/// A tensor's dense form as a tensor of its own, whose elements are whole
/// bytes.
Descriptor denseForm(Descriptor td) {
  if (td.format == NumericFormat::I4)
    td.format = NumericFormat::I8;
  td.base = 0;
  int64_t stride = 1;
  for (unsigned d = td.rank; d-- > 0;) {
    td.strides[d] = stride;
    stride *= td.extents[d];
  }
  return td;
}

class TransferBuilder {
public:
  TransferBuilder(Core &core, Engine kind, const QueueEntry &entry,
                  Transfer &transfer, TransferPlan &plan)
      : core(core), kind(kind), entry(entry), transfer(transfer), plan(plan),
        destination(entry.operands[0]), source(entry.operands[1]),
        moves(!core.services.options.timingOnly) {}

  TransferFault build() {
    transfer.destination = destination;
    transfer.writes = true;
    switch (entry.opcode) {
    case Opcode::FILL:
      return fill();
    case Opcode::LOADGATHER:
      return gather();
    case Opcode::STORESCATTER:
      return scatter();
    case Opcode::LOAD:
      return load();
    case Opcode::LOADMULTICAST:
      return multicast();
    default:
      return store();
    }
  }

private:
  TransferFault fill();
  TransferFault load();
  /// What `load` and `load.multicast` have in common: everything but where the
  /// values go.
  TransferFault fetch();
  TransferFault store();
  /// Finds the core that a store goes to, and its tensor there.
  TransferFault aim(Descriptor &to);
  TransferFault gather();
  TransferFault scatter();
  TransferFault multicast();

  TransferFault local(const Descriptor &td, bool written) {
    ByteInterval interval;
    TransferFault fault{core.checkLocal(td, written, interval), td.base};
    if (written)
      transfer.interval = interval;
    return fault;
  }
  TransferFault global(const Descriptor &td, bool written) {
    if (td.space != Space::Global)
      return illegal(td);
    return {checkOperand(td, written), td.base};
  }
  static TransferFault illegal(const Descriptor &td) {
    return {FaultCause::IllegalDescriptor, td.base};
  }
  TransferFault formats() const {
    if (source.format == destination.format ||
        (entry.convert && isFloat(source.format) &&
         isFloat(destination.format)))
      return {};
    return illegal(destination);
  }
  /// What `transpose`, `pad` and `clip` need.
  TransferFault options() const {
    bool nibbles = source.format == NumericFormat::I4;
    bool isWindow = !entry.window.covers(destination);
    if (nibbles && (entry.transpose || isWindow))
      return illegal(source);
    return {};
  }
  /// Reads or probes one global tensor.
  TransferFault readGlobal(const Descriptor &td, uint8_t *dense) {
    TransferFault fault{FaultCause::None, td.base};
    const PhysicalMemory &memory = core.services.memory;
    uint64_t root = core.task.root;
    fault.cause =
        moves ? gatherGlobal(memory, root, td, dense, fault.address)
              : probeGlobal(memory, root, td, Access::Read, fault.address);
    return fault;
  }
  TransferFault probeWritten(const Descriptor &td) const {
    TransferFault fault{FaultCause::None, td.base};
    fault.cause = probeGlobal(core.services.memory, core.task.root, td,
                              Access::Write, fault.address);
    return fault;
  }
  /// Turns dense elements of the source into those of the destination.
  void convert(std::vector<uint8_t> &dense) const {
    if (source.format == destination.format)
      return;
    size_t count = dense.size() / denseBytes(source.format);
    std::vector<uint32_t> lanes(count);
    widen(source.format, dense.data(), count, lanes.data());
    dense.resize(count * denseBytes(destination.format));
    narrow(destination.format, lanes.data(), count, dense.data());
  }
  /// `count` elements of the source's padding value, in the destination's
  /// format.
  std::vector<uint8_t> padding(uint64_t count) const {
    size_t bytes = denseBytes(source.format);
    uint32_t bits = source.padding;
    if (source.format == NumericFormat::I4)
      bits &= 15;
    std::vector<uint8_t> one(bytes);
    std::memcpy(one.data(), &bits, bytes);
    convert(one);
    std::vector<uint8_t> all;
    all.reserve(count * one.size());
    for (uint64_t i = 0; i < count; ++i)
      all.insert(all.end(), one.begin(), one.end());
    return all;
  }
  void readLocal(const Descriptor &td, std::vector<uint8_t> &dense) {
    if (!moves)
      return;
    dense.resize(denseSize(td));
    gatherLocal(core.local(td.space), td, dense.data());
    core.countRead(td);
  }
  void walk(const Descriptor &far, const Descriptor &near) {
    plan.hasBursts = true;
    plan.withinCore = far.space != Space::Global && !transfer.target;
    plan.bursts.far = far;
    plan.bursts.near = near;
    plan.bursts.memoryOrder = entry.transpose;
    plan.bursts.burstBytes = std::max(1u, core.services.arch.dma.burstBytes);
  }
  void pad(uint64_t elements) {
    if (elements != 0)
      transfer.padding = Padding{destination, entry.window, {}};
  }
  void tell(const Descriptor &td, bool written) {
    AccessLog *log = core.services.accesses;
    if (log && td.space == Space::Global)
      log->add(core.task, td, written);
    Checker *checker = core.services.checker;
    if (!checker)
      return;
    if (written)
      checker->write(core, kind, td);
    else
      checker->read(core, kind, td);
  }
  /// Checks the index tensor and gives the rows of `table` that it names, as
  /// offsets in bytes.
  TransferFault rowsOf(const Descriptor &table, const Descriptor &dense,
                       std::vector<int64_t> &rows);
  /// One row of a table, at offset 0.
  static Descriptor rowOf(Descriptor table) {
    table.extents[0] = 1;
    return table;
  }
  static Descriptor at(Descriptor row, int64_t offset) {
    row.base += uint64_t(offset);
    return row;
  }

  Core &core;
  const Engine kind;
  const QueueEntry &entry;
  Transfer &transfer;
  TransferPlan &plan;
  const Descriptor &destination, &source;
  const bool moves;
};

} // namespace

#define RETURN_IF_FAULT(expression)                                            \
  do {                                                                         \
    if (TransferFault found = (expression); found.cause != FaultCause::None)   \
      return found;                                                            \
  } while (false)

TransferFault TransferBuilder::fill() {
  if (destination.space != Space::Spm)
    return illegal(destination);
  RETURN_IF_FAULT(local(destination, true));
  if (moves) {
    size_t bytes = denseBytes(destination.format);
    auto bits = uint32_t(entry.value);
    if (destination.format == NumericFormat::I4)
      bits &= 15;
    transfer.data.resize(denseSize(destination));
    for (size_t i = 0; i < transfer.data.size(); i += bytes)
      std::memcpy(transfer.data.data() + i, &bits, bytes);
  }
  tell(destination, true);
  return {};
}

TransferFault TransferBuilder::fetch() {
  if (destination.space != Space::Spm || source.extents != destination.extents)
    return illegal(destination);
  RETURN_IF_FAULT(formats());
  RETURN_IF_FAULT(options());
  RETURN_IF_FAULT(local(destination, true));
  // Only the elements inside the window exist.
  uint64_t elements = destination.numElements();
  std::optional<Descriptor> inside = entry.window.inside(source);
  std::vector<uint8_t> values;
  if (inside) {
    if (inside->space == Space::Global) {
      RETURN_IF_FAULT(global(*inside, false));
      if (moves)
        values.resize(denseSize(*inside));
      RETURN_IF_FAULT(readGlobal(*inside, values.data()));
    } else {
      RETURN_IF_FAULT(local(*inside, false));
      readLocal(*inside, values);
    }
    walk(*inside, *entry.window.inside(destination));
    tell(*inside, false);
    elements -= inside->numElements();
  }
  pad(elements);
  if (moves) {
    convert(values);
    if (elements == 0) {
      transfer.data = std::move(values);
    } else {
      transfer.data = padding(destination.numElements());
      if (inside)
        scatterLocal(transfer.data.data(),
                     *entry.window.inside(denseForm(destination)),
                     values.data());
    }
  }
  return {};
}

TransferFault TransferBuilder::load() {
  RETURN_IF_FAULT(fetch());
  tell(destination, true);
  return {};
}

TransferFault TransferBuilder::aim(Descriptor &to) {
  uint64_t number = isa::coreOfBase(to.base);
  Core *peer = core.peer(number);
  if (!peer || !peer->running())
    return {FaultCause::CoreNotRunning, number};
  to.space = Space::Spm;
  to.base = isa::offsetOfBase(to.base);
  transfer.target = uint32_t(number);
  return {};
}

TransferFault TransferBuilder::store() {
  if (source.extents != destination.extents || source.space == Space::Global)
    return illegal(destination);
  RETURN_IF_FAULT(formats());
  RETURN_IF_FAULT(options());
  RETURN_IF_FAULT(local(source, false));
  if (destination.space != Space::Core && destination.space != Space::Global)
    return illegal(destination);
  std::optional<Descriptor> inside = entry.window.inside(destination);
  transfer.writes = inside.has_value();
  if (!inside)
    return {};
  // A window's own base may lie before the core's scratchpad.
  if (inside->space == Space::Core)
    RETURN_IF_FAULT(aim(*inside));
  if (transfer.target) {
    RETURN_IF_FAULT(local(*inside, true));
  } else {
    RETURN_IF_FAULT(global(*inside, true));
    RETURN_IF_FAULT(probeWritten(*inside));
  }
  Descriptor from = *entry.window.inside(source);
  readLocal(from, transfer.data);
  convert(transfer.data);
  transfer.destination = *inside;
  walk(*inside, from);
  tell(from, false);
  Checker *checker = core.services.checker;
  if (checker && transfer.target)
    checker->writeIn(*core.peer(*transfer.target), core, kind, *inside);
  else
    tell(*inside, true);
  return {};
}

TransferFault TransferBuilder::rowsOf(const Descriptor &table,
                                      const Descriptor &dense,
                                      std::vector<int64_t> &rows) {
  const Descriptor &index = entry.operands[2];
  if (index.space != Space::Spm || index.format != NumericFormat::I32)
    return illegal(index);
  RETURN_IF_FAULT(local(index, false));
  if (table.rank == 0 || dense.rank != table.rank ||
      dense.extents[0] != index.numElements() ||
      !std::equal(table.extents.begin() + 1, table.extents.end(),
                  dense.extents.begin() + 1))
    return illegal(dense);
  int64_t bits = bitWidth(table.format);
  if (bits == 4 && table.strides[0] % 2 != 0)
    return {FaultCause::Misaligned, table.base};
  plan.indices = index;

  std::vector<int32_t> indices(index.numElements());
  if (moves) {
    gatherLocal(core.local(index.space), index,
                reinterpret_cast<uint8_t *>(indices.data()));
  } else {
    // No data moves, so nobody knows the indices: any row is as likely.
    Random random(core.counters.drawnIndices + (uint64_t(core.index) << 40));
    for (int32_t &i : indices)
      i = int32_t(random.below(std::min<uint64_t>(table.extents[0], 1u << 31)));
    core.counters.drawnIndices += indices.size();
  }
  core.countRead(index);
  tell(index, false);
  for (int32_t i : indices) {
    if (i >= 0 && uint32_t(i) < table.extents[0])
      rows.push_back(int64_t(i) * table.strides[0] * bits / 8);
    else if (entry.pad)
      rows.push_back(noRow);
    else
      return {FaultCause::IndexOutOfRange, uint64_t(int64_t(i))};
  }
  return {};
}

TransferFault TransferBuilder::multicast() {
  if (source.space != Space::Global)
    return illegal(source);
  RETURN_IF_FAULT(fetch());
  // Without a burst there is no message to the cores.
  if (!plan.hasBursts)
    return illegal(destination);
  transfer.multicast = entry.multicast;
  transfer.writes = false; // each core's part is delivered by itself
  const Noc::Rectangle &to = entry.multicast.cores, &all = core.task.cores;
  for (uint32_t y = to.y; y < uint32_t(to.y) + to.height; ++y)
    for (uint32_t x = to.x; x < uint32_t(to.x) + to.width; ++x) {
      uint32_t number = (y - all.y) * all.width + (x - all.x);
      Core *peer = core.peer(number);
      if (!peer || !peer->running())
        return {FaultCause::CoreNotRunning, number};
      transfer.deliveries.push_back(
          {number, core.services.noc.coreNode(peer->index)});
      if (Checker *checker = core.services.checker)
        checker->writeIn(*peer, core, kind, destination);
    }
  // The memory sends each burst along a tree as one message.
  plan.bursts.burstBytes = core.services.memorySystem.pieceLimit();
  return {};
}

void deliverTransfer(Core &to, const Transfer &transfer) {
  if (!transfer.data.empty())
    scatterLocal(to.local(transfer.destination.space), transfer.destination,
                 transfer.data.data());
  to.countWrite(transfer.destination, transfer.interval);
}

TransferFault TransferBuilder::gather() {
  if (destination.space != Space::Spm || source.space != Space::Global)
    return illegal(destination);
  RETURN_IF_FAULT(formats());
  RETURN_IF_FAULT(local(destination, true));
  std::vector<int64_t> rows;
  RETURN_IF_FAULT(rowsOf(source, destination, rows));
  Descriptor row = rowOf(source);
  RETURN_IF_FAULT(global(row, false));
  size_t rowBytes = denseSize(row);
  std::vector<uint8_t> values(moves ? rowBytes * rows.size() : 0);
  uint64_t absent = 0;
  uint8_t *to = values.data();
  for (int64_t offset : rows) {
    if (offset == noRow) {
      ++absent;
    } else {
      RETURN_IF_FAULT(readGlobal(at(row, offset), to));
      if (moves) // else it is any row
        tell(at(row, offset), false);
    }
    to += moves ? rowBytes : 0;
  }
  if (moves) {
    convert(values);
    transfer.data = std::move(values);
    std::vector<uint8_t> pad = padding(row.numElements());
    for (size_t i = 0; i < rows.size(); ++i)
      if (rows[i] == noRow)
        std::copy(pad.begin(), pad.end(),
                  transfer.data.begin() + long(i * pad.size()));
  }
  pad(absent * row.numElements());
  for (size_t i = 0; absent != 0 && i < rows.size(); ++i)
    transfer.padding->absentRows.push_back(rows[i] == noRow);
  if (absent < rows.size()) {
    walk(row, destination);
    plan.bursts.rows = std::move(rows);
  }
  tell(destination, true);
  return {};
}

TransferFault TransferBuilder::scatter() {
  if (destination.space != Space::Global || source.space == Space::Global)
    return illegal(destination);
  RETURN_IF_FAULT(formats());
  RETURN_IF_FAULT(local(source, false));
  if (destination.extents[0] > 1 && destination.strides[0] == 0)
    return illegal(destination);
  RETURN_IF_FAULT(rowsOf(destination, source, transfer.rows));
  Descriptor row = rowOf(destination);
  RETURN_IF_FAULT(global(row, true));
  transfer.writes = false;
  for (int64_t offset : transfer.rows) {
    if (offset == noRow)
      continue;
    transfer.writes = true;
    Descriptor to = at(row, offset);
    RETURN_IF_FAULT(probeWritten(to));
  }
  readLocal(source, transfer.data);
  convert(transfer.data);
  // Without data it is any row.
  int64_t step = source.strides[0] * bitWidth(source.format);
  for (size_t i = 0; moves && i < transfer.rows.size(); ++i)
    if (transfer.rows[i] != noRow) {
      // A row of i4 may begin within a byte.
      tell(step % 8 == 0 ? at(rowOf(source), int64_t(i) * step / 8) : source,
           false);
      tell(at(row, transfer.rows[i]), true);
    }
  transfer.destination = row;
  if (transfer.writes) {
    walk(row, source);
    plan.bursts.rows = transfer.rows;
  }
  return {};
}

#undef RETURN_IF_FAULT

TransferFault beginTransfer(Core &core, Engine kind, const QueueEntry &entry,
                            Transfer &transfer, TransferPlan &plan) {
  return TransferBuilder(core, kind, entry, transfer, plan).build();
}

TransferFault commitTransfer(Core &core, const Transfer &t) {
  if (!t.writes)
    return {};
  const Descriptor &to = t.destination;
  if (to.space != Space::Global) {
    Core *owner = t.target ? core.peer(*t.target) : &core;
    if (!owner || !owner->running())
      return {FaultCause::CoreNotRunning, *t.target};
    if (!t.data.empty())
      scatterLocal(owner->local(to.space), to, t.data.data());
    owner->countWrite(to, t.interval);
    return {};
  }
  if (t.data.empty())
    return {};
  TransferFault fault{FaultCause::None, to.base};
  auto write = [&](const Descriptor &td, const uint8_t *data) {
    fault.address = td.base;
    fault.cause = scatterGlobal(core.services.memory, core.task.root, td, data,
                                fault.address);
    return fault.cause == FaultCause::None;
  };
  if (t.rows.empty()) {
    write(to, t.data.data());
    return fault;
  }
  size_t rowBytes = denseSize(to);
  if (t.data.size() < rowBytes * t.rows.size()) // of a damaged snapshot
    return fault;
  const uint8_t *data = t.data.data();
  for (int64_t offset : t.rows) {
    Descriptor row = to;
    row.base += uint64_t(offset);
    if (offset != noRow && !write(row, data))
      return fault;
    data += rowBytes;
  }
  return fault;
}

ByteInterval localSource(const Core &core, const QueueEntry &entry) {
  ByteInterval interval;
  const Descriptor &td = entry.operands[1];
  bool reads = entry.opcode == Opcode::LOAD || entry.opcode == Opcode::STORE ||
               entry.opcode == Opcode::STORESCATTER;
  if (!reads || td.space != Space::Spm)
    return {};
  // A window's own bounds may reach beyond the memory.
  std::optional<Descriptor> inside = entry.window.inside(td);
  if (!inside || !localInterval(*inside, core.localBytes(td.space), interval))
    return {};
  return interval;
}

ByteInterval localIndices(const Core &core, const QueueEntry &entry) {
  ByteInterval interval;
  const Descriptor &td = entry.operands[2];
  bool reads = (entry.opcode == Opcode::LOADGATHER ||
                entry.opcode == Opcode::STORESCATTER) &&
               td.space == Space::Spm;
  if (!reads || !localInterval(td, core.localBytes(td.space), interval))
    return {};
  return interval;
}

} // namespace tessera::sim
