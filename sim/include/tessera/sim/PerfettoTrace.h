//===- PerfettoTrace.h - Traces for Perfetto -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An observer that writes a Perfetto protobuf trace while the simulation runs,
// in bounded memory: names are written once and referred to by number, times as
// differences. docs/trace.md describes tracks and arguments.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_PERFETTOTRACE_H
#define TESSERA_SIM_PERFETTOTRACE_H

#include "tessera/sim/Trace.h"
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tessera::sim {

/// What a dispatch of the traced program is, by the identifier of its packet.
struct TracedDispatch {
  std::string name;
  std::string nodes;           ///< Of the model, in words.
  std::vector<uint32_t> cores; ///< That run it.
  /// First instruction and source location of each stretch of the kernel.
  std::vector<std::pair<uint32_t, std::string>> locations;
};

class PerfettoTraceWriter final : public TraceObserver {
public:
  /// Takes bytes of the trace, in order.
  using Sink = std::function<void(std::span<const uint8_t>)>;

  PerfettoTraceWriter(std::map<uint64_t, TracedDispatch> dispatches, Sink sink);

  void event(const TraceEvent &event) override;
  /// Gives the sink what is left.
  void finish();
  uint64_t events() const { return numEvents; }

private:
  using Bytes = std::vector<uint8_t>;
  /// A numbered list of texts, each of which is written once.
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  struct Interned {
    uint32_t field; ///< In InternedData.
    std::unordered_map<std::string, uint64_t, TextHash, std::equal_to<>>
        numbers;
  };
  /// Tracks of one name, as many as there are slices at a time.
  struct Lanes {
    std::vector<uint64_t> tracks;
    /// What is open in each lane: key of the slice and whether it is.
    std::vector<std::pair<uint64_t, bool>> open;
  };
  struct CoreTracks {
    uint64_t process = 0, kernel = 0;
    std::array<Lanes, maxEngines> engines;
    std::map<uint32_t, uint64_t> semaphores;
    const TracedDispatch *dispatch = nullptr;
  };

  CoreTracks &coreTracks(uint32_t core);
  uint64_t intern(Interned &list, std::string_view text);
  uint64_t addTrack(std::string_view name, uint64_t parent, bool counter);
  uint64_t addProcess(std::string_view name);
  uint64_t openLane(Lanes &lanes, std::string_view name, uint64_t parent,
                    uint64_t key);
  /// The lane in which `key` is open longest; 0 if in none.
  static uint64_t closeLane(Lanes &lanes, uint64_t key);

  void dispatchBegins(const TraceEvent &event);
  void dispatchEnds(const TraceEvent &event);
  void dispatchSteps(const TraceEvent &event);
  void transferBegins(const TraceEvent &event);
  void copyEngineBegins(const TraceEvent &event);
  void hostSteps(const TraceEvent &event);
  static uint64_t partKey(uint32_t queue, uint64_t packet);
  /// In the lanes of a queue, whose dispatches have their packets' identifiers.
  static uint64_t transferKey(uint32_t packet) {
    return uint64_t(1) << 32 | packet;
  }
  void instructionBegins(const TraceEvent &event);
  void counter(uint64_t track, uint64_t value, uint64_t timeFs);
  void sliceBegins(uint64_t track, std::string_view name, uint64_t timeFs,
                   const Bytes &annotations);
  void sliceEnds(uint64_t track, uint64_t timeFs);
  void annotate(Bytes &into, std::string_view name, std::string_view text);
  void annotate(Bytes &into, std::string_view name, uint64_t number);
  /// A packet with a track event and the texts that are new in it.
  void writeEvent(const Bytes &trackEvent, uint64_t timeFs);
  void writePacket(const Bytes &packet);

  std::map<uint64_t, TracedDispatch> dispatches;
  Sink sink;
  Bytes buffer;      ///< Not given to the sink yet.
  Bytes newInterned; ///< Entries of InternedData for the next packet.
  /// What the functions of their names build.
  Bytes packetBytes, eventBytes, annotationBytes, annotationsBytes;
  Interned eventNames{2, {}}, annotationNames{3, {}}, annotationTexts{29, {}};
  std::map<uint32_t, CoreTracks> cores;
  std::map<uint32_t, uint64_t> timelines;
  /// Of channels and links: whether it is a link, from, and which or to.
  std::map<std::tuple<bool, uint32_t, uint32_t>, uint64_t> rates;
  uint64_t traffic = 0;   ///< Process of these.
  uint64_t processor = 0; ///< Process of the command processor.
  uint64_t host = 0;
  std::map<uint32_t, uint64_t> hostThreads; ///< Tracks by number.
  std::map<uint32_t, Lanes> queueLanes;     ///< Dispatches by queue.
  Lanes partLanes;
  uint64_t copyEngine = 0; ///< Track.
  uint64_t submission = 0; ///< Arrow from it to the next dispatch; 0: none.
  uint64_t numFlows = 0, numTracks = 0, numProcesses = 0, numEvents = 0;
  uint64_t lastNs = 0;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_PERFETTOTRACE_H
