//===- Core.h - One core ----------------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sequencer, queues with their engines, counting semaphores, scratchpad and
// accumulators. The engines are in files of their own; this is what they
// share.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CORE_CORE_H
#define TESSERA_SIM_CORE_CORE_H

#include "core/Banks.h"
#include "core/EngineAccount.h"
#include "core/KernelImage.h"
#include "core/Tensor.h"
#include "kernel/EventQueue.h"
#include "kernel/ZeroedBytes.h"
#include "memory/Mmu.h"
#include "tessera/sim/Device.h"
#include "tessera/sim/KernelAccesses.h"
#include <map>

namespace tessera::sim {

/// What every component of a device uses.
class AccessLog;
class Checker;
struct Services {
  const Architecture &arch;
  const DeviceOptions &options;
  const Clock &clock;
  EventQueue &events;
  Noc &noc;
  MemorySystem &memorySystem;
  Mmu &mmu;
  PhysicalMemory &memory;
  TraceObserver *observer = nullptr;
  Checker *checker = nullptr;    ///< In the checking modes.
  AccessLog *accesses = nullptr; ///< While somebody wants to know.

  /// The core clock's edge at, or after, the present. Only the host acts
  /// between edges.
  Cycle now() const { return clock.ceil(events.now()); }
};

class Core;

struct CoreFault {
  FaultCause cause = FaultCause::None;
  uint32_t pc = 0;
  uint64_t address = 0;
};

/// Who is told about a core's life; calls come within the core's own events.
class CoreListener {
public:
  virtual ~CoreListener() = default;
  virtual void coreStarted(uint32_t core) = 0;
  virtual void coreHalted(uint32_t core) = 0;
  virtual void coreFaulted(uint32_t core, const CoreFault &fault) = 0;
  /// Another core of this core's dispatch; nullptr if there is none.
  virtual Core *peer(uint32_t core, uint64_t indexInDispatch) = 0;
};

/// What a core is to run.
struct CoreTask {
  uint64_t root = 0;
  uint64_t kernel = 0; ///< Virtual address of the record.
  isa::KernelRecord record;
  std::shared_ptr<const KernelImage> image;
  std::vector<uint64_t> arguments;
  uint32_t indexInDispatch = 0, numCores = 1;
  Noc::Rectangle cores; ///< Of the dispatch.
  DispatchPlace place;
  /// The kernel's record and contents have not changed since this cycle, and do
  /// not until the task is over; absent: they may have.
  std::optional<Cycle> unchangedSince;

  template <typename A> void serialize(A &ar);
};

class Core;

/// What one core tells another.
struct Message {
  enum class Kind : uint8_t { Signal, BarrierArrived, BarrierOver };
  Kind kind = Kind::Signal;
  uint64_t id = 0;
  uint8_t sem = 0;
  uint32_t count = 0;
  template <typename A> void serialize(A &ar) {
    fields(ar, kind, id, sem, count);
    if constexpr (A::loading)
      if (sem >= isa::maxSemaphores)
        ar.fail();
  }
};

/// A `signal.core` under way; count 0: none.
struct RemoteSignal {
  uint32_t core = 0; ///< Index in the dispatch.
  uint16_t sem = 0, count = 0;
  template <typename A> void serialize(A &ar) { fields(ar, core, sem, count); }
};

/// What a `load.multicast` goes to; no cores: it is none.
struct Multicast {
  Noc::Rectangle cores; ///< Of the mesh.
  uint16_t sem = 0, count = 0;
  template <typename A> void serialize(A &ar) {
    fields(ar, cores, sem, count);
    if constexpr (A::loading)
      if (sem >= isa::maxSemaphores)
        ar.fail();
  }
};

inline constexpr Cycle never = ~Cycle(0);
inline constexpr uint32_t maxSemaphoreValue = 65535;

/// An instruction in a queue, its descriptors captured.
struct QueueEntry {
  isa::Opcode opcode{};
  uint32_t pc = 0;
  Cycle visible = 0; ///< The engine sees it from here on.
  std::array<isa::SemaphoreStep, isa::maxWaits> waits{};
  std::array<isa::SemaphoreStep, isa::maxSignals> signals{};
  /// Operands in the order: destinations, then sources.
  std::array<isa::Descriptor, 6> operands{};
  /// The fields of the instruction.
  std::array<int64_t, isa::maxFields> options{};
  uint64_t value = 0;           ///< fill: the bits.
  uint8_t maskA = 0, maskB = 0; ///< mma: M, N dimensions.
  uint32_t indexBase = 0;       ///< Vector engine: added to indices.
  bool accumulate = false, posted = false;
  /// load, store: the window of src or dst; `pad` stands for `clip` too.
  isa::Window window;
  bool pad = false, convert = false, transpose = false;
  bool keepWeights = false; ///< mma: keep_b.
  RemoteSignal remote;
  Multicast multicast;

  /// Of a vector instruction: what the descriptor field held when pushed.
  const isa::Descriptor &operand(unsigned field) const;

  /// Passes through the queue without work for the engine.
  bool isSync() const {
    return opcode == isa::Opcode::WAIT || opcode == isa::Opcode::SIGNAL ||
           opcode == isa::Opcode::SIGNALCORE;
  }
  template <typename A> void serialize(A &ar);
};

/// Common to the sequencer and the queues' engines.
class Unit : public Component {
public:
  Unit(Core &core, Engine kind);

  /// Asks for step() in the start phase of `cycle`.
  void wake(Cycle cycle);
  EngineAccount account;

  template <typename A> void serializeUnit(A &ar) {
    fields(ar, account, wakeAt);
  }

  enum Code : uint8_t {
    Step,
    Finish,
    BurstDone,
    Translated,
    Signalled,
    HaltCheck,
    MessageArrived,
    NetworkAdvanced,
    BroadcastArrived,
    BurstArrived,
    BurstWritten,
    Deliver
  };

  void post(Cycle cycle, Phase phase, uint8_t code, uint64_t payload = 0,
            uint32_t detail = 0);
  /// What makes an event for this life of the unit.
  Reply reply(uint8_t code, uint64_t payload = 0) const;
  ComponentId id() const { return self; }

protected:
  virtual void step(Cycle now) = 0;
  /// True if the event is for this life of the core; Step events are handled.
  bool accept(const Event &event);
  void forgetWake() { wakeAt = never; }

  Core &core;
  const Engine kind;
  ComponentId self;

private:
  Cycle wakeAt = never;
};

/// An engine behind a queue.
class QueueEngine : public Unit {
public:
  QueueEngine(Core &core, Engine kind);

  bool full() const { return queue.size() >= depth; }
  void push(const QueueEntry &entry);
  /// Nothing queued, nothing under way.
  virtual bool idle() const = 0;
  virtual void reset() = 0;
  const QueueEntry *head() const {
    return queue.empty() ? nullptr : &queue.front();
  }
  bool waitsForSemaphore() const { return waiting; }
  const std::deque<QueueEntry> &pending() const { return queue; }

  template <typename A> void serializeQueue(A &ar) {
    serializeUnit(ar);
    fields(ar, queue, waiting, taken, lacking, nextStart);
  }

protected:
  /// True if the head can be seen and its waits were taken (once); otherwise
  /// the engine is woken when that changes.
  bool headReady(Cycle now);
  /// Removes the head; the sequencer may refill its place.
  QueueEntry pop(Cycle now);
  void resetQueue();

  std::deque<QueueEntry> queue;
  unsigned depth;
  bool waiting = false; ///< The head waits for semaphores.
  bool taken = false;   ///< The head's waits were taken.
  uint8_t lacking = 0;  ///< The semaphore that was missing at the last look.
  Cycle nextStart = 0;  ///< The queue's next instruction not before.
};

struct Semaphore {
  uint32_t value = 0;
  /// The unit that waits now, or none.
  std::optional<Engine> waiter;
  Engine lastSignaller = Engine::Sequencer;
  bool byOtherCore = false; ///< The last signal came from another core.
  template <typename A> void serialize(A &ar) {
    fields(ar, value, waiter, lastSignaller, byOtherCore);
  }
};

class Sequencer;
class DmaEngine;
class MatrixEngine;
class VectorEngine;
class CodeLoader;

class Core {
public:
  Core(Services &services, uint32_t index, CoreListener &listener);
  ~Core();

  void begin(CoreTask task);
  /// Loads what `task` needs while another task runs, if there is room, or
  /// waits for one. A core has one prepared task.
  void prepare(CoreTask task);
  /// The prepared task begins, as with begin().
  void beginPrepared();
  void dropPrepared();
  const CoreTask *nextTask() const { return next ? &*next : nullptr; }
  /// Stops at once; whatever was under way is lost. The prepared task stays.
  void abort();
  bool running() const { return isRunning; }
  /// Engine-cycles and counters up to now.
  CoreStatistics statistics();
  /// Highest byte of the scratchpad written since the task began, plus one.
  uint64_t taskPeak() const { return taskSpmPeak; }
  /// What its units wait for, for people.
  void explainWaits(std::vector<std::string> &lines) const;
  /// Where the core is, one line if it runs.
  void wayPoints(std::vector<std::string> &lines) const;
  uint64_t memoryHash(uint64_t seed) const;
  /// Adds the cycles by instruction up to now.
  using Profile = std::map<uint64_t, std::vector<InstructionStatistics>>;
  void addProfile(Profile &result);

  // --- For the core's own units ---
  void codeLoaded();
  void fault(FaultCause cause, uint32_t pc, uint64_t address);
  /// Takes all waits or none; on none the unit is registered as waiting. A
  /// fault may result: check running().
  bool take(const std::array<isa::SemaphoreStep, isa::maxWaits> &waits,
            Engine unit, uint32_t pc);
  void signal(const std::array<isa::SemaphoreStep, isa::maxSignals> &signals,
              Engine unit, uint32_t pc);
  /// The unit that the longest of `waits` is waiting for.
  StallCause
  waitCause(const std::array<isa::SemaphoreStep, isa::maxWaits> &waits) const;
  /// The last of `waits` that is still missing; they are missing.
  uint8_t
  missing(const std::array<isa::SemaphoreStep, isa::maxWaits> &waits) const;
  /// The wait cause that names who signalled the semaphore last.
  StallCause signalledBy(uint8_t sem) const;
  /// Sends what a completed `signal.core` says, if it is one.
  void signalCore(const RemoteSignal &remote, Engine by, uint32_t pc);
  /// Another core of this core's dispatch; nullptr if there is none.
  Core *peer(uint64_t indexInDispatch) {
    return listener.peer(index, indexInDispatch);
  }
  /// The sequencer has come to a barrier.
  void arriveAtBarrier();
  /// A message from another core has arrived; one that is not expected (any
  /// more) does nothing.
  void receive(uint64_t id);
  /// Another core adds to a semaphore.
  void addFromOtherCore(uint8_t sem, uint32_t count, isa::Opcode by);
  /// Ends the dispatch on this core if everything is over.
  void checkDone();
  void trace(TraceEvent::Kind kind, Engine engine, isa::Opcode opcode,
             uint32_t pc, uint32_t id = 0, uint64_t value = 0);
  bool allIdle() const;
  QueueEngine &engine(Engine kind);
  const QueueEngine &engine(Engine kind) const {
    return const_cast<Core *>(this)->engine(kind);
  }
  /// Whether the core has this unit: it has as many matrix engines as the
  /// architecture says.
  bool has(Engine kind) const {
    return unsigned(kind) < numEngines - 1 + matrix.size();
  }
  /// Its units, in the order in which they act at equal time.
  const std::vector<Engine> &units() const { return unitList; }
  const Sequencer &scalarUnit() const { return *sequencer; }
  bool sequencerHalted() const;
  Unit &unit(Engine kind);
  const uint8_t *local(isa::Space space) const {
    return const_cast<Core *>(this)->local(space);
  }
  uint8_t *local(isa::Space space) {
    return space == isa::Space::Acc ? acc.data() : spm.data();
  }
  uint64_t localBytes(isa::Space space) const {
    return space == isa::Space::Acc ? acc.size() : spm.size();
  }
  /// Checks an operand in SPM or ACC and says where it lies; None, or the
  /// fault.
  FaultCause checkLocal(const isa::Descriptor &td, bool written,
                        ByteInterval &interval) const;
  /// Counts traffic of the local memories.
  void countRead(const isa::Descriptor &td);
  void countWrite(const isa::Descriptor &td, const ByteInterval &interval);

  Services &services;
  const uint32_t index;
  uint32_t epoch = 1; ///< Of the current life; see Event::epoch.
  CoreTask task;
  ZeroedBytes spm, acc;
  Banks banks;
  std::vector<Semaphore> semaphores;
  CoreStatistics counters;          ///< Without the engine table.
  uint64_t taskSpmPeak = 0;         ///< As counters.spmPeakBytes, of this task.
  std::vector<uint64_t> executions; ///< Of each instruction, if profiled.

  template <typename A> void serialize(A &ar);

private:
  /// Sets the core up for `task`, but for its code.
  void setUp();
  void send(Core &to, Message message);
  void releaseBarrier();
  void collectProfile(Profile &into);

  CoreListener &listener;
  std::optional<CoreTask> next; ///< Prepared.
  std::vector<Engine> unitList;
  Profile profile; ///< Of kernels that are over.
  bool isRunning = false;
  std::vector<Message> inbox; ///< On their way to this core.
  uint64_t nextMessage = 1;
  uint32_t arrivedAtBarrier = 0; ///< On the dispatch's first core.
  std::unique_ptr<CodeLoader> loader;
  std::unique_ptr<Sequencer> sequencer;
  std::unique_ptr<DmaEngine> load, store;
  std::vector<std::unique_ptr<MatrixEngine>> matrix;
  std::unique_ptr<VectorEngine> vector;
};

/// The wait cause that names an engine.
StallCause waitFor(Engine engine);

} // namespace tessera::sim

#endif // TESSERA_SIM_CORE_CORE_H
