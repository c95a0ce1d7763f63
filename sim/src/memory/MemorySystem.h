//===- MemorySystem.h - What a physical access costs ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Requests of at most one DMA burst go over the NoC to a DRAM channel, a
// shared SRAM slice or the host link and back; the requester gets an event
// when the data is there or the write is acknowledged. Today each target is a
// server with a bandwidth and a latency (docs/timing.md); the interface does
// not say so.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_MEMORY_MEMORYSYSTEM_H
#define TESSERA_SIM_MEMORY_MEMORYSYSTEM_H

#include "kernel/EventQueue.h"
#include "noc/Noc.h"
#include "tessera/Arch/Architecture.h"
#include "tessera/ISA/Mmio.h"
#include "tessera/ISA/PageTable.h"

namespace tessera::sim {

/// Whom to tell, and how.
struct Reply {
  ComponentId component = 0;
  uint8_t code = 0;
  uint32_t epoch = 0;
  uint64_t payload = 0;
  template <typename A> void serialize(A &ar) {
    fields(ar, component, code, epoch, payload);
  }
};

struct MemoryRequest {
  isa::PhysicalSpace space = isa::PhysicalSpace::Dram;
  bool write = false;
  uint32_t bytes = 0;
  uint64_t address = 0;
  uint32_t node = 0; ///< Where it starts in the NoC.
  uint32_t account =
      0; ///< Whose traffic it is: a core, or cores.count: the CP.
  Reply reply;
};

/// Bytes that one requester moved.
struct Traffic {
  uint64_t dramRead = 0, dramWritten = 0;
  template <typename A> void serialize(A &ar) {
    fields(ar, dramRead, dramWritten);
  }
};

class MemorySystem {
public:
  MemorySystem(const Architecture &arch, const Clock &clock, EventQueue &events,
               Noc &noc);

  /// Sends a request now; the reply comes as an event of phase Complete at an
  /// edge of the core clock.
  void request(const MemoryRequest &request);

  const Traffic &traffic(uint32_t account) const { return perAccount[account]; }
  uint64_t sharedBytesRead = 0, sharedBytesWritten = 0;
  uint64_t hostBytesRead = 0, hostBytesWritten = 0;

  /// The fixed part of a DRAM access, and the bus time of one atom, in fs.
  uint64_t readLatencyFs() const { return dramReadFs; }
  uint64_t writeLatencyFs() const { return dramWriteFs; }
  uint64_t atomFs() const { return dramAtomFs; }

  template <typename A> void serialize(A &ar) {
    fields(ar, channelFree, sliceFree, hostFree, perAccount, sharedBytesRead,
           sharedBytesWritten, hostBytesRead, hostBytesWritten);
  }

private:
  Time accessDram(const MemoryRequest &r, Time arrival, uint32_t &node);
  Time accessShared(const MemoryRequest &r, Time arrival, uint32_t &node);
  Time accessHost(const MemoryRequest &r, Time arrival);

  const Architecture &arch;
  const Clock &clock;
  EventQueue &events;
  Noc &noc;
  uint64_t interleave; ///< Bytes in a row on one channel.
  uint64_t atomBytes, dramAtomFs, dramReadFs, dramWriteFs;
  std::vector<Time> channelFree, sliceFree;
  std::array<Time, 2> hostFree{}; ///< Device to host, host to device.
  std::vector<Traffic> perAccount;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_MEMORY_MEMORYSYSTEM_H
