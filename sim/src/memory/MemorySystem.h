//===- MemorySystem.h - What a physical access costs ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Requests of at most one DMA burst go over the NoC to a DRAM channel, a
// shared SRAM slice or the host link and back; the requester gets an event
// when the data is there or the write is acknowledged. DRAM channels are
// simulated command by command (memory/dram); the other targets are servers
// with a bandwidth and a latency (docs/timing.md); the interface does not say
// so.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_MEMORY_MEMORYSYSTEM_H
#define TESSERA_SIM_MEMORY_MEMORYSYSTEM_H

#include "kernel/EventQueue.h"
#include "memory/dram/Channel.h"
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
  template <typename A> void serialize(A &ar) {
    fields(ar, space, write, bytes, address, node, account, reply);
  }
};

/// Bytes that one requester moved.
struct Traffic {
  uint64_t dramRead = 0, dramWritten = 0;
  template <typename A> void serialize(A &ar) {
    fields(ar, dramRead, dramWritten);
  }
};

class MemorySystem final : public Component {
public:
  MemorySystem(const Architecture &arch, const Clock &clock, EventQueue &events,
               Noc &noc);

  /// Sends a request now; the reply comes as an event of phase Complete at an
  /// edge of the core clock.
  void request(const MemoryRequest &request);

  void handle(const Event &event) override;

  const Traffic &traffic(uint32_t account) const { return perAccount[account]; }
  /// Of all DRAM channels.
  dram::ChannelCounters dramCounters() const;
  uint64_t sharedBytesRead = 0, sharedBytesWritten = 0;
  uint64_t hostBytesRead = 0, hostBytesWritten = 0;

  template <typename A> void serialize(A &ar) {
    for (Port &port : ports)
      fields(ar, port);
    fields(ar, transfers, freeTransfers, sliceFree, hostFree, perAccount,
           sharedBytesRead, sharedBytesWritten, hostBytesRead,
           hostBytesWritten);
    if constexpr (A::loading)
      if (!consistent())
        ar.fail();
  }

private:
  enum Code : uint8_t { Arrive, Step };

  /// A DRAM request under way.
  struct Transfer {
    MemoryRequest request;
    uint32_t atoms = 0; ///< Not yet read, or not yet accepted.
    Cycle done = 0;     ///< DRAM clock of the last one so far.
    template <typename A> void serialize(A &ar) {
      fields(ar, request, atoms, done);
    }
  };
  /// A DRAM channel, with the atoms that its queues have no room for yet.
  struct Port {
    explicit Port(const DramConfig &dram) : channel(dram) {}
    dram::Channel channel;
    std::vector<dram::Access> waiting; ///< From `first` on.
    uint64_t first = 0;
    Cycle scheduled = ~Cycle(0); ///< Clock of the step that counts.
    Cycle open = 0;              ///< First clock without a step.
    template <typename A> void serialize(A &ar) {
      fields(ar, channel, waiting, first, scheduled, open);
      if constexpr (A::loading)
        if (first > waiting.size())
          ar.fail();
    }
  };

  void sendToDram(const MemoryRequest &r);
  void arrive(uint64_t transfer);
  void step(uint32_t channel);
  void schedule(uint32_t channel, Cycle clock);
  void atomDone(uint64_t transfer, Cycle clock);
  Time accessShared(const MemoryRequest &r, Time arrival, uint32_t &node);
  Time accessHost(const MemoryRequest &r, Time arrival);
  /// Sends the answer from `node`, which it leaves at `time`.
  void reply(const MemoryRequest &r, uint32_t node, Time time);
  bool consistent() const;

  const Architecture &arch;
  const Clock &clock;
  EventQueue &events;
  Noc &noc;
  const ComponentId self;
  const uint64_t interleave; ///< Bytes in a row on one slice of shared SRAM.

  const Clock dramClock;
  const uint64_t atomBytes;
  DramMapping mapping;
  std::vector<Port> ports;
  std::vector<Transfer> transfers;
  std::vector<uint32_t> freeTransfers;
  std::vector<dram::Completion> completions; ///< Within a step.

  std::vector<Time> sliceFree;
  std::array<Time, 2> hostFree{}; ///< Device to host, host to device.
  std::vector<Traffic> perAccount;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_MEMORY_MEMORYSYSTEM_H
