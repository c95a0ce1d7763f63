//===- PerfettoTrace.cpp - Traces for Perfetto ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Field numbers are those of Perfetto's published trace format.
//
//===----------------------------------------------------------------------===//

#include "tessera/sim/PerfettoTrace.h"
#include "tessera/ISA/Instruction.h"
#include <algorithm>
#include <fmt/format.h>

namespace tessera::sim {

using Bytes = std::vector<uint8_t>;

namespace {
/// Fields of the messages that are written.
namespace field {
namespace trace {
enum : uint32_t { packet = 1 };
}
namespace packet {
enum : uint32_t {
  clockSnapshot = 6,
  timestamp = 8,
  sequence = 10,
  trackEvent = 11,
  internedData = 12,
  sequenceFlags = 13,
  defaults = 59,
  trackDescriptor = 60,
};
}
namespace clocks {
enum : uint32_t { clock = 1 };
}
namespace clock {
enum : uint32_t { id = 1, timestamp = 2, incremental = 3, unit = 4 };
}
namespace defaults {
enum : uint32_t { clock = 58 };
}
namespace descriptor {
enum : uint32_t { uuid = 1, name = 2, process = 3, parent = 5, counter = 8 };
}
namespace process {
enum : uint32_t { pid = 1, name = 6 };
}
namespace event {
enum : uint32_t {
  annotation = 4,
  type = 9,
  nameNumber = 10,
  track = 11,
  counterValue = 30,
  flows = 47,
};
}
namespace annotation {
enum : uint32_t { nameNumber = 1, number = 3, textNumber = 17 };
}
namespace interned {
enum : uint32_t { number = 1, text = 2 };
}
} // namespace field

enum EventType : uint64_t { Begin = 1, End = 2, Instant = 3, Counter = 4 };

/// Sequence flags.
constexpr uint64_t stateCleared = 1, needsState = 2;
/// The boot clock of the format, and one of this sequence in differences.
constexpr uint64_t bootClock = 6, deltaClock = 64;
constexpr uint64_t sequenceNumber = 1;
constexpr size_t flushBytes = 64 << 10;
} // namespace

static void putVarint(Bytes &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out.push_back(uint8_t(value) | 0x80);
  out.push_back(uint8_t(value));
}
static void putNumber(Bytes &out, uint32_t field, uint64_t value) {
  putVarint(out, uint64_t(field) << 3);
  putVarint(out, value);
}
template <typename Range>
static void putBytes(Bytes &out, uint32_t field, const Range &bytes) {
  putVarint(out, uint64_t(field) << 3 | 2);
  putVarint(out, bytes.size());
  out.insert(out.end(), bytes.begin(), bytes.end());
}

/// A fixed64.
static void putFixed(Bytes &out, uint32_t field, uint64_t value) {
  putVarint(out, uint64_t(field) << 3 | 1);
  for (unsigned i = 0; i != 8; ++i)
    out.push_back(uint8_t(value >> (8 * i)));
}

PerfettoTraceWriter::PerfettoTraceWriter(
    std::map<uint64_t, TracedDispatch> dispatches, Sink sink)
    : dispatches(std::move(dispatches)), sink(std::move(sink)) {
  Bytes boot, delta, snapshot, defaults, packet;
  putNumber(boot, field::clock::id, bootClock);
  putNumber(boot, field::clock::timestamp, 0);
  putNumber(delta, field::clock::id, deltaClock);
  putNumber(delta, field::clock::timestamp, 0);
  putNumber(delta, field::clock::incremental, 1);
  putNumber(delta, field::clock::unit, 1); // Nanoseconds.
  putBytes(snapshot, field::clocks::clock, boot);
  putBytes(snapshot, field::clocks::clock, delta);
  putNumber(defaults, field::defaults::clock, deltaClock);
  putBytes(packet, field::packet::clockSnapshot, snapshot);
  putNumber(packet, field::packet::sequence, sequenceNumber);
  putNumber(packet, field::packet::sequenceFlags, stateCleared);
  putBytes(packet, field::packet::defaults, defaults);
  writePacket(packet);
  processor = addProcess("command processor");
}

/// Emptied, its memory kept: most events need no allocation.
static Bytes &cleared(Bytes &bytes) {
  bytes.clear();
  return bytes;
}

void PerfettoTraceWriter::finish() {
  if (!buffer.empty())
    sink(buffer);
  buffer.clear();
}

void PerfettoTraceWriter::writePacket(const Bytes &packet) {
  putBytes(buffer, field::trace::packet, packet);
  if (buffer.size() >= flushBytes)
    finish();
}

void PerfettoTraceWriter::writeEvent(const Bytes &trackEvent, uint64_t timeFs) {
  // Rounded times never run backwards, nor do differences of them.
  uint64_t ns = std::max(lastNs, timeFs / 1'000'000);
  Bytes &packet = cleared(packetBytes);
  putNumber(packet, field::packet::timestamp, ns - lastNs);
  putNumber(packet, field::packet::sequence, sequenceNumber);
  putNumber(packet, field::packet::sequenceFlags, needsState);
  if (!newInterned.empty())
    putBytes(packet, field::packet::internedData, newInterned);
  putBytes(packet, field::packet::trackEvent, trackEvent);
  newInterned.clear();
  lastNs = ns;
  ++numEvents;
  writePacket(packet);
}

uint64_t PerfettoTraceWriter::intern(Interned &list, std::string_view text) {
  if (auto found = list.numbers.find(text); found != list.numbers.end())
    return found->second;
  uint64_t number = list.numbers.size() + 1;
  list.numbers.emplace(text, number);
  Bytes entry;
  putNumber(entry, field::interned::number, number);
  putBytes(entry, field::interned::text, text);
  putBytes(newInterned, list.field, entry);
  return number;
}

uint64_t PerfettoTraceWriter::addTrack(std::string_view name, uint64_t parent,
                                       bool counter) {
  Bytes descriptor, packet;
  putNumber(descriptor, field::descriptor::uuid, ++numTracks);
  putBytes(descriptor, field::descriptor::name, name);
  putNumber(descriptor, field::descriptor::parent, parent);
  if (counter)
    putBytes(descriptor, field::descriptor::counter, Bytes());
  putNumber(packet, field::packet::sequence, sequenceNumber);
  putBytes(packet, field::packet::trackDescriptor, descriptor);
  writePacket(packet);
  return numTracks;
}

uint64_t PerfettoTraceWriter::addProcess(std::string_view name) {
  Bytes process, descriptor, packet;
  putNumber(process, field::process::pid, ++numProcesses);
  putBytes(process, field::process::name, name);
  putNumber(descriptor, field::descriptor::uuid, ++numTracks);
  putBytes(descriptor, field::descriptor::process, process);
  putNumber(packet, field::packet::sequence, sequenceNumber);
  putBytes(packet, field::packet::trackDescriptor, descriptor);
  writePacket(packet);
  return numTracks;
}

PerfettoTraceWriter::CoreTracks &
PerfettoTraceWriter::coreTracks(uint32_t core) {
  auto [place, isNew] = cores.try_emplace(core);
  CoreTracks &tracks = place->second;
  if (isNew) {
    tracks.process = addProcess(fmt::format("core {}", core));
    tracks.kernel = addTrack("kernel", tracks.process, false);
  }
  return tracks;
}

uint64_t PerfettoTraceWriter::openLane(Lanes &lanes, std::string_view name,
                                       uint64_t parent, uint64_t key) {
  for (size_t i = 0; i < lanes.open.size(); ++i)
    if (!lanes.open[i].second) {
      lanes.open[i] = {key, true};
      return lanes.tracks[i];
    }
  lanes.tracks.push_back(addTrack(name, parent, false));
  lanes.open.emplace_back(key, true);
  return lanes.tracks.back();
}

uint64_t PerfettoTraceWriter::closeLane(Lanes &lanes, uint64_t key) {
  for (size_t i = 0; i < lanes.open.size(); ++i)
    if (lanes.open[i] == std::pair(key, true)) {
      lanes.open[i].second = false;
      return lanes.tracks[i];
    }
  return 0;
}

void PerfettoTraceWriter::annotate(Bytes &into, std::string_view name,
                                   std::string_view text) {
  Bytes &annotation = cleared(annotationBytes);
  putNumber(annotation, field::annotation::nameNumber,
            intern(annotationNames, name));
  putNumber(annotation, field::annotation::textNumber,
            intern(annotationTexts, text));
  putBytes(into, field::event::annotation, annotation);
}

void PerfettoTraceWriter::annotate(Bytes &into, std::string_view name,
                                   uint64_t number) {
  Bytes &annotation = cleared(annotationBytes);
  putNumber(annotation, field::annotation::nameNumber,
            intern(annotationNames, name));
  putNumber(annotation, field::annotation::number, number);
  putBytes(into, field::event::annotation, annotation);
}

void PerfettoTraceWriter::sliceBegins(uint64_t track, std::string_view name,
                                      uint64_t timeFs,
                                      const Bytes &annotations) {
  Bytes &event = cleared(eventBytes);
  event.insert(event.end(), annotations.begin(), annotations.end());
  putNumber(event, field::event::type, Begin);
  putNumber(event, field::event::nameNumber, intern(eventNames, name));
  putNumber(event, field::event::track, track);
  writeEvent(event, timeFs);
}

void PerfettoTraceWriter::sliceEnds(uint64_t track, uint64_t timeFs) {
  Bytes &event = cleared(eventBytes);
  putNumber(event, field::event::type, End);
  putNumber(event, field::event::track, track);
  writeEvent(event, timeFs);
}

void PerfettoTraceWriter::counter(uint64_t track, uint64_t value,
                                  uint64_t timeFs) {
  Bytes &event = cleared(eventBytes);
  putNumber(event, field::event::type, Counter);
  putNumber(event, field::event::track, track);
  putNumber(event, field::event::counterValue, value);
  writeEvent(event, timeFs);
}

void PerfettoTraceWriter::dispatchBegins(const TraceEvent &event) {
  auto found = dispatches.find(event.value);
  const TracedDispatch *dispatch =
      found == dispatches.end() ? nullptr : &found->second;
  std::string name =
      dispatch ? dispatch->name : fmt::format("dispatch {}", event.value);
  Bytes annotations;
  annotate(annotations, "packet", event.value);
  if (dispatch && !dispatch->nodes.empty())
    annotate(annotations, "nodes", dispatch->nodes);
  // An arrow from what submitted it, and one to each of its cores.
  if (submission)
    putFixed(annotations, field::event::flows, submission);
  submission = 0;
  uint64_t flow = numFlows + 1;
  for (size_t i = 0; dispatch && i < dispatch->cores.size(); ++i)
    putFixed(annotations, field::event::flows, ++numFlows);
  uint64_t track =
      openLane(queueLanes[event.id], fmt::format("queue {}", event.id),
               processor, event.value);
  sliceBegins(track, name, event.timeFs, annotations);
  if (!dispatch)
    return;
  for (uint32_t core : dispatch->cores) {
    CoreTracks &tracks = coreTracks(core);
    tracks.dispatch = dispatch;
    Bytes arrow;
    putFixed(arrow, field::event::flows, flow++);
    sliceBegins(tracks.kernel, name, event.timeFs, arrow);
  }
}

void PerfettoTraceWriter::hostSteps(const TraceEvent &event) {
  if (!host)
    host = addProcess("host");
  auto [place, isNew] = hostThreads.try_emplace(event.core);
  if (isNew)
    place->second = addTrack(
        event.core ? fmt::format("thread {}", event.core + 1) : "thread", host,
        false);
  uint64_t hostThread = place->second;
  if (event.kind == TraceEvent::Kind::HostEnd)
    return sliceEnds(hostThread, event.timeFs);
  Bytes arrow;
  if (HostStep(event.id) == HostStep::Submit) {
    submission = ++numFlows;
    putFixed(arrow, field::event::flows, submission);
  }
  sliceBegins(hostThread, hostStepName(HostStep(event.id)), event.timeFs,
              arrow);
}

void PerfettoTraceWriter::dispatchEnds(const TraceEvent &event) {
  if (auto found = dispatches.find(event.value); found != dispatches.end())
    for (uint32_t core : found->second.cores) {
      CoreTracks &tracks = coreTracks(core);
      if (tracks.dispatch == &found->second) {
        tracks.dispatch = nullptr;
        sliceEnds(tracks.kernel, event.timeFs);
      }
    }
  if (uint64_t track = closeLane(partLanes, partKey(event.id, event.value)))
    sliceEnds(track, event.timeFs);
  if (uint64_t track = closeLane(queueLanes[event.id], event.value))
    sliceEnds(track, event.timeFs);
}

/// Queues number their packets each by itself.
uint64_t PerfettoTraceWriter::partKey(uint32_t queue, uint64_t packet) {
  return uint64_t(queue) << 32 | packet;
}

void PerfettoTraceWriter::dispatchSteps(const TraceEvent &event) {
  uint64_t key = partKey(event.core, event.value);
  if (uint64_t track = closeLane(partLanes, key))
    sliceEnds(track, event.timeFs);
  uint64_t track = openLane(partLanes, "parts of dispatches", processor, key);
  sliceBegins(track, dispatchPartName(DispatchPart(event.id)), event.timeFs,
              {});
}

static const char *transferName(const TraceEvent &event) {
  return event.opcode ? "fill" : "copy";
}

void PerfettoTraceWriter::transferBegins(const TraceEvent &event) {
  Bytes annotations;
  annotate(annotations, "packet", event.pc);
  annotate(annotations, "bytes", event.value);
  if (submission)
    putFixed(annotations, field::event::flows, submission);
  submission = 0;
  uint64_t track =
      openLane(queueLanes[event.id], fmt::format("queue {}", event.id),
               processor, transferKey(event.pc));
  sliceBegins(track, transferName(event), event.timeFs, annotations);
}

void PerfettoTraceWriter::copyEngineBegins(const TraceEvent &event) {
  if (!copyEngine)
    copyEngine = addTrack("copy engine", processor, false);
  Bytes annotations;
  annotate(annotations, "queue", event.id);
  annotate(annotations, "packet", event.pc);
  annotate(annotations, "bytes", event.value);
  sliceBegins(copyEngine, transferName(event), event.timeFs, annotations);
}

void PerfettoTraceWriter::instructionBegins(const TraceEvent &event) {
  CoreTracks &tracks = coreTracks(event.core);
  const isa::InstInfo *info = isa::lookupInst(event.opcode);
  Bytes &annotations = cleared(annotationsBytes);
  annotate(annotations, "pc", event.pc);
  if (tracks.dispatch) {
    const auto &locations = tracks.dispatch->locations;
    auto after = std::upper_bound(
        locations.begin(), locations.end(), event.pc,
        [](uint32_t pc, const auto &entry) { return pc < entry.first; });
    if (after != locations.begin())
      annotate(annotations, "source", std::prev(after)->second);
  }
  uint64_t track = openLane(tracks.engines[size_t(event.engine)],
                            engineName(event.engine), tracks.process, event.pc);
  sliceBegins(track, info ? info->mnemonic : "?", event.timeFs, annotations);
}

void PerfettoTraceWriter::event(const TraceEvent &event) {
  switch (event.kind) {
  case TraceEvent::Kind::DispatchBegin:
    return dispatchBegins(event);
  case TraceEvent::Kind::DispatchEnd:
    return dispatchEnds(event);
  case TraceEvent::Kind::DispatchStep:
    return dispatchSteps(event);
  case TraceEvent::Kind::TransferBegin:
    return transferBegins(event);
  case TraceEvent::Kind::TransferEnd:
    if (uint64_t track = closeLane(queueLanes[event.id], transferKey(event.pc)))
      sliceEnds(track, event.timeFs);
    return;
  case TraceEvent::Kind::CopyEngineBegin:
    return copyEngineBegins(event);
  case TraceEvent::Kind::CopyEngineEnd:
    if (copyEngine)
      sliceEnds(copyEngine, event.timeFs);
    return;
  case TraceEvent::Kind::InstructionBegin:
    return instructionBegins(event);
  case TraceEvent::Kind::InstructionEnd: {
    Lanes &lanes = coreTracks(event.core).engines[size_t(event.engine)];
    if (uint64_t track = closeLane(lanes, event.pc))
      sliceEnds(track, event.timeFs);
    return;
  }
  case TraceEvent::Kind::HostBegin:
  case TraceEvent::Kind::HostEnd:
    return hostSteps(event);
  case TraceEvent::Kind::Semaphore: {
    CoreTracks &tracks = coreTracks(event.core);
    auto [place, isNew] = tracks.semaphores.try_emplace(event.id);
    if (isNew)
      place->second =
          addTrack(fmt::format("s{}", event.id), tracks.process, true);
    return counter(place->second, event.value, event.timeFs);
  }
  case TraceEvent::Kind::Timeline: {
    auto [place, isNew] = timelines.try_emplace(event.id);
    if (isNew)
      place->second =
          addTrack(fmt::format("timeline {}", event.id), processor, true);
    return counter(place->second, event.value, event.timeFs);
  }
  case TraceEvent::Kind::ChannelRate:
  case TraceEvent::Kind::LinkRate: {
    bool link = event.kind == TraceEvent::Kind::LinkRate;
    auto [place, isNew] =
        rates.try_emplace({link, link ? event.core : 0, event.id});
    if (isNew) {
      if (traffic == 0)
        traffic = addProcess("memory and network");
      place->second = addTrack(rateName(event), traffic, true);
    }
    return counter(place->second, event.value, event.timeFs);
  }
  case TraceEvent::Kind::Mark: {
    Bytes bytes;
    putNumber(bytes, field::event::type, Instant);
    putNumber(bytes, field::event::nameNumber,
              intern(eventNames, fmt::format("mark {}", event.value)));
    putNumber(bytes, field::event::track, coreTracks(event.core).kernel);
    return writeEvent(bytes, event.timeFs);
  }
  }
}

} // namespace tessera::sim
