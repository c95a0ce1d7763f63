//===- CommandProcessor.h - The command processor ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fetches packets from queue rings and command buffers, decodes them, parks
// what must wait, and runs the rest: dispatches on the cores, copies on its
// own DMA engine. docs/device.md tells what each packet does, docs/timing.md
// what it costs.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CP_COMMANDPROCESSOR_H
#define TESSERA_SIM_CP_COMMANDPROCESSOR_H

#include "core/Core.h"
#include "cp/CopyEngine.h"
#include "tessera/ISA/Packet.h"

namespace tessera::sim {

using PacketImage = std::array<uint8_t, isa::packetBytes>;

class CommandProcessor final : public Component,
                               public CoreListener,
                               public CopyListener {
public:
  explicit CommandProcessor(Services &services);
  ~CommandProcessor() override;

  /// The cores are made after the command processor, which they report to.
  void attach(std::vector<Core *> cores) { this->cores = std::move(cores); }

  /// Registers of a queue and timeline semaphores; BusError for anything else.
  Status writeRegister(uint64_t offset, uint64_t value);
  Result<uint64_t> readRegister(uint64_t offset) const;
  Status armSemaphore(uint32_t semaphore, uint64_t value);
  Status stall(StallableUnit unit, uint32_t q, uint64_t cycles);
  void reset();

  std::vector<DeviceInterrupt> interrupts; ///< Pending, oldest first.
  std::vector<DispatchRecord> dispatchRecords;
  std::vector<CommandBufferRecord> commandBufferRecords;
  uint64_t packetsDone = 0;

  void explainWaits(std::vector<std::string> &lines) const;

  void handle(const Event &event) override;
  void coreStarted(uint32_t core) override;
  void coreHalted(uint32_t core) override;
  Core *peer(uint32_t core, uint64_t indexInDispatch) override;
  void coreFaulted(uint32_t core, const CoreFault &fault) override;
  void copyDone(const CopyJob &job, FaultCause fault,
                uint64_t address) override;

  template <typename A> void serialize(A &ar);

private:
  static constexpr uint32_t noCommand = ~uint32_t(0);
  /// Packets of a queue under way or parked; packets read at once.
  static constexpr size_t windowSize = 64;
  static constexpr uint32_t fetchBatch = 8;
  static constexpr uint32_t maxArguments = isa::maxDispatchArguments;
  /// Packets of a command buffer decoded behind one that holds them back, and
  /// dispatches of a queue prepared.
  static constexpr size_t decodedAhead = 3, preparedAhead = 4;

  enum Code : uint8_t {
    Doorbell,
    FetchIssue,
    FetchDone,
    Decoded,
    Completed,
    DispatchIssue,
    RecordRead,
    ArgumentsRead,
    CoreBegin,
    GoArrived,
    CoreDone,
    Watchdog,
    TimestampWritten,
    Translated,
    Resume
  };

  /// A packet read and not yet decoded.
  struct Fetched {
    PacketImage image{};
    uint64_t ringIndex = 0;
    uint32_t command = noCommand;
    uint64_t parent = 0; ///< The indirect packet's slot, or 0.
    Cycle fetchCycle = 0;
    /// When it was read from the ring; of a command buffer's packet: when the
    /// packet was that runs it. It was published before.
    Cycle publishedBy = 0;
    template <typename A> void serialize(A &ar) {
      fields(ar, image, ringIndex, command, parent, fetchCycle, publishedBy);
    }
  };

  /// Where packets come from, a ring or a command buffer: what was read and not
  /// decoded, and the ring's barrier packet that holds the rest back, if any.
  struct Source {
    std::deque<Fetched> buffer;
    uint64_t heldBy = 0;
    template <typename A> void serialize(A &ar) { fields(ar, buffer, heldBy); }
  };

  /// A decoded packet until it is complete.
  struct Slot {
    enum class State : uint8_t { Parked, Running, Completing, Done };
    uint64_t id = 0;
    Fetched fetched;
    isa::Packet packet;
    State state = State::Parked;
    Cycle startCycle = 0, runCycle = 0, haltCycle = 0;
    bool ran = false; ///< runCycle is valid.
    bool illegal = false;
    // dispatch
    bool wantsCores = false; ///< Nothing but its cores is missing, since:
    Cycle wantedSince = 0;
    /// How far its reading has come, which may begin before it starts: the CP
    /// reads; has read all; has told the cores; they know it.
    enum class Step : uint8_t { None, Reading, Read, Told, Known };
    Step step = Step::None;
    bool direct = false;     ///< The cores are told to begin at once.
    bool stale = false;      ///< What is being read has to be read again.
    bool gaveUp = false;     ///< It could not be read before its start.
    Cycle notBefore = 0;     ///< The cores are told, if it started in a stall.
    uint64_t generation = 0; ///< Of the translations that it is read with.
    uint32_t coresLeft = 0, tasksLeft = 0, goLeft = 0;
    uint32_t argumentBytesRead = 0;
    CoreTask task;
    EngineTable engines;
    uint64_t macs = 0, spmPeak = 0, dramRead = 0, dramWritten = 0;
    // indirect
    Source source;
    uint32_t nextCommand = 0, commandCount = 0, childrenLeft = 0;
    bool exhausted = false, fetchBegun = false;
    Cycle firstFetch = 0;
    Traffic trafficBefore;
    // timestamp
    uint64_t stamp = 0;

    template <typename A> void serialize(A &ar);
  };

  struct Queue {
    uint64_t ring = 0, size = 0, context = 0, priority = 0;
    bool enabled = false, faulted = false;
    uint64_t first = 0, published = 0, read = 0, done = 0;
    std::optional<uint64_t> notify; ///< A QueueDone interrupt is asked for.
    uint64_t faultCause = 0, faultPacket = 0, faultCore = 0, faultPc = 0,
             faultAddress = 0;
    uint32_t epoch = 1;
    bool busy = false; ///< Its front end fetches or decodes.
    bool sleeping =
        false;     ///< An unpublished packet was found: until a doorbell.
    Source source; ///< The ring.
    std::deque<Slot> window; ///< In program order.
    std::vector<uint64_t>
        streams; ///< Indirect packets being read, first first.
    uint64_t decodeParent =
        0; ///< Whose packet is being decoded; 0: the ring's.
    // The fetch under way.
    uint64_t fetchParent = 0;
    uint32_t fetchCount = 0;
    Cycle fetchCycle = 0;
    uint64_t coresRun = 0;  ///< Cores that halted in its dispatches.
    Cycle stalledUntil = 0; ///< The front end begins nothing before.

    template <typename A> void serialize(A &ar);
  };
  struct Armed {
    uint32_t semaphore = 0;
    uint64_t value = 0;
    template <typename A> void serialize(A &ar) {
      fields(ar, semaphore, value);
    }
  };

  Status writeQueue(uint32_t q, uint64_t offset, uint64_t value);
  Status enable(uint32_t q, bool on);
  /// What has not started, and with `running` the rest. A command buffer that
  /// has started runs to its end.
  void dropSlots(uint32_t q, bool running);
  /// What is left of a command buffer, but for what of it runs.
  void dropCommands(uint32_t q, uint64_t indirect);

  void post(Cycle cycle, Phase phase, Code code, uint32_t q,
            uint64_t payload = 0);
  Reply reply(Code code, uint32_t q, uint64_t id);
  void requestVirtual(uint32_t q, uint64_t address, uint32_t bytes,
                      Access access, Code code, uint64_t id);
  Slot *find(uint32_t q, uint64_t id);
  static uint64_t pack(uint32_t q, uint64_t id) {
    return uint64_t(q) << 48 | id;
  }

  // Front end: fetch and decode.
  void advance(uint32_t q);
  /// Sets the front end to work on one source; false if it has nothing to do.
  bool work(uint32_t q, Slot *parent);
  Source &sourceOf(Queue &queue, Slot *parent) {
    return parent ? parent->source : queue.source;
  }
  /// Whether an earlier packet of its command buffer holds it back.
  bool held(const Queue &queue, const Slot &slot) const;
  /// Packets of a command buffer that wait behind one that holds them back.
  size_t heldBack(const Queue &queue, uint64_t parent) const;
  void fetchIssue(uint32_t q);
  void fetchDone(uint32_t q, FaultCause fault);
  void decoded(uint32_t q);
  // Back end: start and complete.
  bool waitsMet(const isa::Packet &packet) const;
  bool earlierDone(const Queue &queue, const Slot &slot) const;
  void tryStart(uint32_t q, uint64_t id);
  void start(uint32_t q, Slot &slot);
  void startAll();
  void complete(uint32_t q, Slot &slot);
  void completed(uint32_t q, uint64_t id);
  void retire(uint32_t q);
  void tellDone(uint32_t q);
  void record(uint32_t q, const Slot &slot);
  // Dispatches.
  bool takeCores(uint32_t q, Slot &slot);
  /// Prepares what waits and may be prepared.
  void prepareAll();
  void prepareNext(uint32_t q);
  void issue(uint32_t q, Slot &slot);
  /// It has started: goes on from where its preparation is.
  void resume(uint32_t q, Slot &slot);
  /// It cannot be read: a fault, if it has started.
  void refuse(uint32_t q, Slot &slot, FaultCause cause, uint64_t address);
  void unprepare(uint64_t owner);
  bool placesFree(const Slot &slot) const;
  void tellCores(uint32_t q, Slot &slot);
  void coresTold(uint32_t q, Slot &slot);
  void go(uint32_t q, Slot &slot);
  void beginPrepared(uint32_t q, Slot &slot);
  /// An older dispatch has waited so long that these cores are kept for it.
  bool keptForOthers(const Slot &slot,
                     const std::vector<uint32_t> &wanted) const;
  uint64_t effectivePriority(uint32_t q, const Slot &slot) const;
  void recordRead(uint32_t q, Slot &slot);
  void readArguments(uint32_t q, Slot &slot);
  void freeCores(uint64_t owner);
  /// A dispatch's cores: how many, none if they are not all there; by index in
  /// the dispatch; and all of them.
  uint32_t coresOf(const isa::DispatchPacket &d) const;
  uint32_t coreOf(const isa::DispatchPacket &d, uint32_t index) const {
    return (d.y + index / d.width) * services.arch.cores.meshX + d.x +
           index % d.width;
  }
  std::vector<uint32_t> rectangle(const isa::DispatchPacket &d) const;
  void snapshot(Slot &slot, bool begin);
  void tracePacket(uint32_t q, const Slot &slot, bool begins);
  void tracePart(uint32_t q, const Slot &slot, DispatchPart part);
  std::shared_ptr<const KernelImage>
  image(const std::vector<uint8_t> &text,
        const std::vector<uint8_t> &descriptors,
        const std::vector<uint8_t> &maps);

  FaultCause signal(const isa::SemaphoreValue &completion);
  void semaphoreChanged(uint32_t semaphore);
  /// Interrupts for the values of it that were waited for and are reached.
  void tellArmed(uint32_t semaphore);
  void fault(uint32_t q, uint64_t id, FaultCause cause, uint64_t address,
             uint32_t core = 0, uint32_t pc = 0);
  void interrupt(DeviceInterrupt::Kind kind, uint32_t q, uint32_t payload);

  Services &services;
  uint16_t client;
  ComponentId self;
  CopyEngine copies;
  std::vector<Core *> cores;

  std::vector<Queue> queues;
  std::vector<uint64_t> semaphores;
  std::vector<Armed> armed;
  std::vector<uint64_t> coreOwner; ///< pack(queue, slot) or 0.
  std::vector<uint64_t> coreNext;  ///< Of each core's prepared task.
  uint64_t nextId = 1;
  Cycle dispatchesStalledUntil = 0;
  /// Decoded kernels of late; only saves host time.
  std::vector<std::shared_ptr<const KernelImage>> images;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_CP_COMMANDPROCESSOR_H
