//===- MemorySystem.h - What a physical access costs ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Requests go over the network to DRAM channels, slices of the shared SRAM or
// the host link, and back; the requester gets an event when the data is there
// or the write is acknowledged. A request that reaches over a burst, a channel
// or a slice is cut into pieces, each a message of its own; it is answered when
// the last piece is. DRAM channels are simulated command by command
// (memory/dram).
//
// Every queue is finite: a channel or slice takes a few messages from the
// network, and none while its answers find no way into the network. So the
// network backs up into the requesters' queues, and these ask accepts() before
// they send.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_MEMORY_MEMORYSYSTEM_H
#define TESSERA_SIM_MEMORY_MEMORYSYSTEM_H

#include "kernel/EventQueue.h"
#include "memory/HostLink.h"
#include "memory/Llc.h"
#include "memory/SharedSlices.h"
#include "memory/dram/AtomMap.h"
#include "noc/Noc.h"
#include "tessera/Arch/Architecture.h"
#include "tessera/ISA/Mmio.h"
#include "tessera/ISA/PageTable.h"

namespace tessera::sim {

struct MemoryRequest {
  isa::PhysicalSpace space = isa::PhysicalSpace::Dram;
  bool write = false;
  bool walk = false; ///< Of a page table.
  uint32_t bytes = 0;
  uint64_t address = 0;
  uint32_t node = 0; ///< The requester's endpoint.
  uint32_t account =
      0; ///< Whose traffic it is: a core, or cores.count: the CP.
  /// Of a read: cores that all get the data, instead of the requester. Each
  /// gives an event of its own, whose `detail` is the core's endpoint.
  Noc::Rectangle cores;
  Reply reply;
  template <typename A> void serialize(A &ar) {
    fields(ar, space, write, walk, bytes, address, node, account, cores, reply);
  }
};

/// DRAM bytes of one requester, whole atoms.
struct Traffic {
  uint64_t dramRead = 0, dramWritten = 0;
  template <typename A> void serialize(A &ar) {
    fields(ar, dramRead, dramWritten);
  }
};

/// DRAM bytes by what they were for; they add up to all.
struct DramBytes {
  uint64_t useful = 0;    ///< Asked for by cores.
  uint64_t overFetch = 0; ///< The rest of the cores' atoms.
  uint64_t walks = 0;     ///< Page walks, whole atoms.
  uint64_t commands = 0;  ///< The command processor, whole atoms.
  uint64_t cache = 0;     ///< Fills and write-backs, if there is a cache.
  uint64_t total() const {
    return useful + overFetch + walks + commands + cache;
  }
  template <typename A> void serialize(A &ar) {
    fields(ar, useful, overFetch, walks, commands, cache);
  }
};

class MemorySystem final : public Component {
public:
  /// `everyClock` executes an event for every DRAM clock with work, instead of
  /// going through many clocks in one; the same happens at the same times.
  MemorySystem(const Architecture &arch, const Clock &clock, EventQueue &events,
               Noc &noc, bool everyClock = false);

  /// Sends a request now; the reply comes as an event of phase Complete at an
  /// edge of the core clock.
  void request(const MemoryRequest &request);
  /// Whether the network takes a request from `node` at once. Those with few
  /// requests under way need not ask; see Noc::whenAdvanced for when to ask
  /// again.
  bool accepts(uint32_t node) const {
    return noc.accepts(node, Noc::Class::Request);
  }

  /// An access that crosses no multiple of it is one message.
  uint32_t pieceLimit() const {
    return uint32_t(std::min<uint64_t>(burstBytes, channelBytes));
  }

  void handle(const Event &event) override;

  const Traffic &traffic(uint32_t account) const { return perAccount[account]; }
  const DramBytes &dramBytes() const { return byPurpose; }
  const std::vector<SliceCounters> &sliceCounters() const {
    return slices.counters();
  }
  const HostLink &hostLink() const { return link; }
  const LlcCounters &cacheCounters() const { return llc.counters(); }
  uint32_t channelCount() const { return uint32_t(ports.size()); }
  const dram::Channel &channel(uint32_t index) const {
    return ports[index].channel;
  }
  /// Of all DRAM channels.
  dram::ChannelCounters dramCounters() const;
  /// Atoms at the channels that have not had their command.
  uint64_t waitingAtoms() const;
  /// Atoms of requests that were sent and have not come to their channel.
  uint64_t underWay() const { return atomsUnderWay; }
  bool cached() const { return llc.present(); }
  /// DRAM bytes of all accounts together.
  uint64_t bytesOfAccounts() const;
  uint64_t atomSize() const { return atomBytes; }
  uint64_t sharedBytesRead = 0, sharedBytesWritten = 0;
  uint64_t hostBytesRead = 0, hostBytesWritten = 0;

  template <typename A> void serialize(A &ar) {
    for (Port &port : ports)
      fields(ar, port);
    fields(ar, llc, llcNext, lineWaits, slices, link, pieces, freePieces,
           wholes, freeWholes, held, perAccount, byPurpose, atomsUnderWay,
           sharedBytesRead, sharedBytesWritten, hostBytesRead,
           hostBytesWritten);
    if constexpr (A::loading)
      if (!consistent())
        ar.fail();
  }

private:
  enum Code : uint8_t { Arrive, Step, PieceDone, Advanced };
  static constexpr uint32_t noWhole = ~uint32_t(0);
  /// Answers that a memory holds for the network before it takes no more
  /// requests.
  static constexpr uint32_t answersHeld = 64;

  /// A message to a memory, until its answer is sent.
  struct Piece {
    enum class Kind : uint8_t { Message, Fill, WriteBack };
    Kind kind = Kind::Message;
    bool releases = true;  ///< Its message's room, when the channel has it.
    MemoryRequest request; ///< Of this piece alone.
    uint32_t whole = noWhole;
    uint32_t target = 0;  ///< Channel or slice.
    uint32_t offered = 0; ///< Atoms that the channel has taken.
    uint32_t atoms = 0;   ///< Not yet read, or not yet accepted.
    Cycle done = 0;       ///< DRAM clock of the last one so far.
    Time notBefore = 0;   ///< The cache has looked its lines up.
    template <typename A> void serialize(A &ar) {
      fields(ar, kind, releases, request, whole, target, offered, atoms, done,
             notBefore);
    }
  };
  /// A request of several pieces.
  struct Whole {
    Reply reply;
    uint32_t left = 0; ///< Answers to come.
    template <typename A> void serialize(A &ar) { fields(ar, reply, left); }
  };
  /// A DRAM channel, with the pieces that its queues have no room for yet.
  struct Port {
    explicit Port(const DramConfig &dram) : channel(dram) { offered.atoms = 0; }
    dram::Channel channel;
    std::vector<uint32_t> waiting; ///< Pieces, from `first` on.
    uint64_t first = 0;
    Cycle scheduled = ~Cycle(0); ///< Clock of the step that counts.
    Cycle open = 0;              ///< First clock not gone through.
    /// What the first piece that waits is to offer next, as far as it lies in a
    /// row; no atoms: it is to be looked up.
    dram::Access offered;
    bool waits() const { return first != waiting.size(); }
    template <typename A> void serialize(A &ar) {
      fields(ar, channel, waiting, first, scheduled, open);
      if constexpr (A::loading) {
        offered.atoms = 0;
        if (first > waiting.size())
          ar.fail();
      }
    }
  };

  /// A piece that waits for a line.
  struct LineWait {
    uint64_t line = 0;
    uint32_t piece = 0;
    template <typename A> void serialize(A &ar) { fields(ar, line, piece); }
  };

  uint64_t pieceBytes(const MemoryRequest &r) const;
  void send(const MemoryRequest &piece, uint32_t whole);
  void account(const MemoryRequest &piece);
  uint32_t newPiece();
  void arriveAtChannel(uint32_t piece);
  void lookUp(uint32_t piece, Cycle now);
  void moveLine(uint32_t piece, Piece::Kind kind, uint64_t line);
  void lineFilled(uint64_t line, uint32_t channel, Cycle clock);
  uint32_t atomsOf(const MemoryRequest &r) const {
    return uint32_t(((r.address + r.bytes - 1) >> atomShift) -
                    (r.address >> atomShift) + 1);
  }
  void arrive(uint32_t piece);
  void offer(uint32_t channel, Cycle now);
  bool offerAlone(uint32_t channel, Cycle now);
  /// Room in the channel's queue for the first piece that waits.
  uint32_t roomForFirst(const Port &port) const {
    return port.channel.requests().room(
        pieces[port.waiting[port.first]].request.write);
  }
  Cycle nextClock(const Port &port) const;
  /// Goes through all of a channel's clocks up to and including `last`.
  void goThrough(uint32_t channel, Cycle last);
  void finishAtoms();
  /// Sees to it that the channel is gone through before anybody can tell.
  void schedule(uint32_t channel);
  void step(uint32_t channel);
  void atomsDone(uint64_t piece, Cycle clock, uint32_t atoms);
  /// Sends the answer, which is ready at `time`, from the memory's endpoint.
  void answer(uint32_t piece, uint32_t endpoint, Time time);
  void pieceDone(uint64_t whole);
  /// Gives a slice's or the link's room back from `time` on, or when there is
  /// a place for its answers.
  void release(uint32_t endpoint, Time time);
  void advanced(uint32_t endpoint);
  void watch(uint32_t endpoint);
  bool answersFull(uint32_t endpoint) const {
    return noc.state().waiting(endpoint, Noc::Class::Response) >= answersHeld;
  }
  bool consistent() const;

  const Architecture &arch;
  const Clock &clock;
  EventQueue &events;
  Noc &noc;
  const ComponentId self;
  const bool everyClock;

  const Clock dramClock;
  const uint64_t atomBytes, burstBytes;
  const unsigned atomShift; ///< From an address to its atom.
  DramMapping mapping;
  uint64_t channelBytes; ///< Consecutive addresses on one channel.
  std::vector<Port> ports;
  dram::AtomMap atomMap;
  Llc llc;
  std::vector<Cycle> llcNext; ///< Core cycle of a slice's next look-up.
  std::vector<LineWait> lineWaits;
  SharedSlices slices;
  HostLink link;

  std::vector<Piece> pieces;
  std::vector<uint32_t> freePieces;
  std::vector<Whole> wholes;
  std::vector<uint32_t> freeWholes;
  std::vector<uint32_t> held; ///< Room not given back yet, by endpoint.
  std::vector<dram::Completion> completions; ///< Within an event.

  std::vector<Traffic> perAccount;
  DramBytes byPurpose;
  uint64_t atomsUnderWay = 0;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_MEMORY_MEMORYSYSTEM_H
