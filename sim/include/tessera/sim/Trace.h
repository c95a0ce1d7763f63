//===- Trace.h - Observing a simulation ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An observer sees plain-data events; observing changes no simulated cycle.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_TRACE_H
#define TESSERA_SIM_TRACE_H

#include "tessera/sim/Statistics.h"
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::sim {

struct TraceEvent {
  enum class Kind : uint8_t {
    /// value: packet id; core: first core of the rectangle; id: queue.
    DispatchBegin,
    DispatchEnd,
    /// A dispatch's next part: value: packet id; id: which; core: queue.
    DispatchStep,
    /// A copy (opcode 0) or fill (1), from start to completion signal. id:
    /// queue;
    /// pc: packet id; value: bytes.
    TransferBegin,
    TransferEnd,
    /// The same, while the copy engine is at it: one at a time.
    CopyEngineBegin,
    CopyEngineEnd,
    InstructionBegin, ///< engine, pc, opcode.
    InstructionEnd,
    Semaphore, ///< A core's semaphore changed: id and its new value.
    Timeline,  ///< A timeline semaphore changed: id and its new value.
    Mark,      ///< `mark`: value is its identifier.
    HostBegin, ///< The host begins a step; id: which, HostStep; core: thread.
    HostEnd,
    /// Mean rate since the sample before, in megabytes (10⁶) a second, value:
    /// of
    /// a DRAM channel, id; of a link from a router, core, to NetworkPlace id.
    /// Only when it is another than at the sample before.
    ChannelRate,
    LinkRate,
  };
  Kind kind = Kind::Mark;
  Engine engine = Engine::Sequencer;
  uint8_t opcode = 0;
  uint32_t core = 0;
  uint32_t pc = 0; ///< Instruction index in the kernel.
  uint32_t id = 0;
  uint64_t value = 0;
  uint64_t timeFs = 0;
};

/// The parts of a dispatch, in order (docs/device.md has what each costs).
enum class DispatchPart : uint8_t {
  Start,     ///< Its packet starts: waits met, cores taken.
  Record,    ///< The kernel record is read.
  Arguments, ///< The arguments are read, if there are any.
  Load,      ///< A message to the cores, which load the code.
  Run,       ///< From the first instruction on.
  Signal,    ///< All halted: messages back, completion.
};
const char *dispatchPartName(DispatchPart part);

/// What the host does for a run.
enum class HostStep : uint8_t { Load, Write, Submit, Wait, Read };
const char *hostStepName(HostStep step);

/// An end of a link.
struct NetworkPlace {
  enum class Kind : uint8_t {
    Router,
    Core,
    CommandProcessor,
    Host,
    Channel,
    Slice
  };
  Kind kind = Kind::Router;
  uint32_t index = 0;

  /// Both in a number, and back.
  uint32_t code() const { return uint32_t(kind) << 24 | index; }
  static NetworkPlace of(uint32_t code) {
    return {Kind(code >> 24), code & 0xffffff};
  }
  std::string name() const; ///< "router 3", "host", …
};
/// Of whose rate an event tells: "channel 0, MB/s", "router 3 to core 3, MB/s".
std::string rateName(const TraceEvent &rate);

class TraceObserver {
public:
  virtual ~TraceObserver() = default;
  virtual void event(const TraceEvent &event) = 0;
};

/// Collects events and writes them as Chrome trace JSON (one process per core,
/// one thread per engine). Keeps at most `capacity` events and counts the rest.
class ChromeTraceWriter final : public TraceObserver {
public:
  explicit ChromeTraceWriter(size_t capacity = 1 << 20) : capacity(capacity) {}

  /// Its rows are the cores': what the command processor does in parts, and
  /// copies and fills, are Perfetto's only.
  static bool keeps(TraceEvent::Kind kind);
  void event(const TraceEvent &event) override;
  uint64_t dropped() const { return droppedEvents; }
  /// The document; the same events give the same bytes.
  std::string json() const;

private:
  size_t capacity;
  uint64_t droppedEvents = 0;
  std::vector<TraceEvent> events;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_TRACE_H
