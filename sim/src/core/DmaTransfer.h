//===- DmaTransfer.h - One instruction of a DMA engine ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an instruction of the data movement group moves: its operands checked,
// its source read, its bursts laid out; and, at completion, its destination
// written. When that happens is the engine's business.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CORE_DMATRANSFER_H
#define TESSERA_SIM_CORE_DMATRANSFER_H

#include "core/BurstGenerator.h"
#include "core/Core.h"
#include "core/Padding.h"

namespace tessera::sim {

/// One of the cores to which a multicast goes.
struct Delivery {
  uint32_t core = 0;    ///< Its index in the dispatch.
  uint32_t node = 0;    ///< Its endpoint of the network.
  uint32_t written = 0; ///< Bursts.
  Cycle end = 0;        ///< All that has come is written.
  bool padded = false;
  Cycle ready = never;
  bool done = false;
  template <typename A> void serialize(A &ar) {
    fields(ar, core, node, written, end, padded, ready, done);
  }
};

struct Transfer {
  isa::Opcode opcode{};
  uint32_t pc = 0;
  std::array<isa::SemaphoreStep, isa::maxSignals> signals{};
  RemoteSignal remote;
  isa::Descriptor destination;
  bool writes = false;   ///< There is a destination; a clipped one may be
                         ///< empty.
  ByteInterval interval; ///< Of a local destination.
  /// A store to another core: its index in the dispatch. `destination` is then
  /// a tensor in its SPM.
  std::optional<uint32_t> target;
  std::vector<uint8_t> data; ///< Read at start, committed at completion.
  /// store.scatter: offsets of the rows in bytes, or noRow. `destination` is
  /// then the table.
  std::vector<int64_t> rows;
  Multicast multicast;
  std::vector<Delivery> deliveries;
  uint32_t numBursts = 0; ///< Issued.
  uint32_t outstanding = 0;
  bool issued = false, posted = false;
  AccessPattern near;             ///< What its bursts need on the near side.
  bool nearIsDense = false;       ///< None of them has two words in a bank.
  std::optional<Padding> padding; ///< What no burst brings.
  Cycle written = 0; ///< By then what a load has brought is written.
  Cycle ready = never;
  template <typename A> void serialize(A &ar) {
    fields(ar, opcode, pc, signals, remote, destination, writes, interval,
           target, data, rows, multicast, deliveries, numBursts, outstanding,
           issued, posted, near, nearIsDense, padding, written, ready);
  }
};

/// What the engine has to issue for a transfer.
struct TransferPlan {
  BurstWalk bursts;
  bool hasBursts = false;
  bool withinCore = false;                ///< The bursts do not leave the core.
  std::optional<isa::Descriptor> indices; ///< Read before the first burst.
};

struct TransferFault {
  FaultCause cause = FaultCause::None;
  uint64_t address = 0;
};

/// Checks the instruction, reads what it reads and tells the checker of its
/// accesses. Fills in everything of `transfer` that concerns data.
TransferFault beginTransfer(Core &core, Engine kind, const QueueEntry &entry,
                            Transfer &transfer, TransferPlan &plan);
/// Writes what a multicast brings to one of its cores.
void deliverTransfer(Core &to, const Transfer &transfer);
/// Writes the destination.
TransferFault commitTransfer(Core &core, const Transfer &transfer);

/// Bytes of the core's own memories that the instruction reads; {0, 0} if it
/// reads none, or if an operand is malformed.
ByteInterval localSource(const Core &core, const QueueEntry &entry);
ByteInterval localIndices(const Core &core, const QueueEntry &entry);

} // namespace tessera::sim

#endif // TESSERA_SIM_CORE_DMATRANSFER_H
