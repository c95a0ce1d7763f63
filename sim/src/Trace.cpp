//===- Trace.cpp - Chrome trace JSON ----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/sim/Trace.h"
#include "tessera/ISA/Instruction.h"
#include <deque>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <tuple>

namespace tessera::sim {

const char *dispatchPartName(DispatchPart part) {
  switch (part) {
  case DispatchPart::Start:
    return "start";
  case DispatchPart::Record:
    return "kernel record";
  case DispatchPart::Arguments:
    return "arguments";
  case DispatchPart::Load:
    return "load code";
  case DispatchPart::Run:
    return "run";
  case DispatchPart::Signal:
    return "signal";
  }
  return "?";
}

const char *hostStepName(HostStep step) {
  switch (step) {
  case HostStep::Load:
    return "load program";
  case HostStep::Write:
    return "write inputs";
  case HostStep::Submit:
    return "submit";
  case HostStep::Wait:
    return "wait";
  case HostStep::Read:
    return "read outputs";
  }
  return "?";
}

std::string NetworkPlace::name() const {
  switch (kind) {
  case Kind::Router:
    return fmt::format("router {}", index);
  case Kind::Core:
    return fmt::format("core {}", index);
  case Kind::CommandProcessor:
    return "command processor";
  case Kind::Host:
    return "host";
  case Kind::Channel:
    return fmt::format("channel {}", index);
  case Kind::Slice:
    return fmt::format("slice {}", index);
  }
  return "?";
}

std::string rateName(const TraceEvent &rate) {
  if (rate.kind == TraceEvent::Kind::ChannelRate)
    return fmt::format("channel {}, MB/s", rate.id);
  return fmt::format("router {} to {}, MB/s", rate.core,
                     NetworkPlace::of(rate.id).name());
}

bool ChromeTraceWriter::keeps(TraceEvent::Kind kind) {
  switch (kind) {
  case TraceEvent::Kind::DispatchStep:
  case TraceEvent::Kind::TransferBegin:
  case TraceEvent::Kind::TransferEnd:
  case TraceEvent::Kind::CopyEngineBegin:
  case TraceEvent::Kind::CopyEngineEnd:
    return false;
  default:
    return true;
  }
}

void ChromeTraceWriter::event(const TraceEvent &event) {
  if (!keeps(event.kind))
    return;
  if (events.size() >= capacity)
    ++droppedEvents;
  else
    events.push_back(event);
}

/// Time in the format's unit, microseconds, exactly.
static std::string microseconds(uint64_t fs) {
  return fmt::format("{}.{:09}", fs / 1'000'000'000, fs % 1'000'000'000);
}

/// Dispatches have a thread of their own beside the engines'.
static constexpr unsigned dispatchThread = maxEngines;

std::string ChromeTraceWriter::json() const {
  std::string out = "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped\":";
  out += fmt::format("{}}},\"traceEvents\":[", droppedEvents);
  bool first = true;
  auto line = [&](const std::string &text) {
    out += first ? "\n" : ",\n";
    out += text;
    first = false;
  };
  uint32_t cores = 0;
  unsigned engines = numEngines;
  for (const TraceEvent &e : events) {
    if (e.kind != TraceEvent::Kind::LinkRate)
      cores = std::max(cores, e.core + 1);
    engines = std::max(engines, unsigned(e.engine) + 1);
  }
  for (uint32_t core = 0; core < cores; ++core) {
    line(fmt::format("{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},"
                     "\"args\":{{\"name\":"
                     "\"core {}\"}}}}",
                     core, core));
    auto nameThread = [&](unsigned thread, std::string_view name) {
      line(fmt::format(
          "{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},"
          "\"args\":{{\"name\":\"{}\"}}}}",
          core, thread, name));
    };
    for (unsigned engine = 0; engine < engines; ++engine)
      nameThread(engine, engineName(Engine(engine)));
    nameThread(dispatchThread, "dispatch");
  }
  line(fmt::format("{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},"
                   "\"args\":{{\"name\":\"host\"}}}}",
                   cores));
  line(fmt::format("{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},"
                   "\"args\":{{\"name\":\"memory and network\"}}}}",
                   cores + 1));
  // Instructions of one pc may be under way several times; the oldest ends
  // first.
  std::map<std::tuple<uint32_t, Engine, uint32_t>, std::deque<uint64_t>> open;
  uint64_t numInstructions = 0;
  auto instructionId = [&](const TraceEvent &e) {
    std::deque<uint64_t> &ids = open[{e.core, e.engine, e.pc}];
    if (e.kind == TraceEvent::Kind::InstructionBegin) {
      ids.push_back(numInstructions);
      return numInstructions++;
    }
    uint64_t id = ids.empty() ? numInstructions++ : ids.front();
    if (!ids.empty())
      ids.pop_front();
    return id;
  };
  for (const TraceEvent &e : events) {
    std::string ts = microseconds(e.timeFs);
    const isa::InstInfo *info = isa::lookupInst(e.opcode);
    std::string_view mnemonic = info ? info->mnemonic : "?";
    switch (e.kind) {
    case TraceEvent::Kind::DispatchBegin:
    case TraceEvent::Kind::DispatchEnd:
      line(fmt::format(
          "{{\"ph\":\"{}\",\"name\":\"dispatch {}\",\"pid\":{},\"tid\":{},"
          "\"ts\":{}}}",
          e.kind == TraceEvent::Kind::DispatchBegin ? "B" : "E", e.value,
          e.core, dispatchThread, ts));
      break;
    case TraceEvent::Kind::DispatchStep:
    case TraceEvent::Kind::TransferBegin:
    case TraceEvent::Kind::TransferEnd:
    case TraceEvent::Kind::CopyEngineBegin:
    case TraceEvent::Kind::CopyEngineEnd:
      break; // event() keeps none.
    case TraceEvent::Kind::InstructionBegin:
    case TraceEvent::Kind::InstructionEnd:
      // Instructions of an engine overlap: asynchronous events.
      line(fmt::format(
          "{{\"ph\":\"{}\",\"cat\":\"{}\",\"name\":\"{}\",\"id\":{},\"pid\":{},"
          "\"tid\":{},\"ts\":{},\"args\":{{\"pc\":{}}}}}",
          e.kind == TraceEvent::Kind::InstructionBegin ? "b" : "e",
          engineName(e.engine), mnemonic, instructionId(e), e.core,
          unsigned(e.engine), ts, e.pc));
      break;
    case TraceEvent::Kind::Semaphore:
      line(fmt::format(
          "{{\"ph\":\"C\",\"name\":\"s{}\",\"pid\":{},\"ts\":{},\"args\":{{"
          "\"value\":{}}}}}",
          e.id, e.core, ts, e.value));
      break;
    case TraceEvent::Kind::Timeline:
      line(fmt::format("{{\"ph\":\"C\",\"name\":\"timeline "
                       "{}\",\"pid\":0,\"ts\":{},\"args\":{{"
                       "\"value\":{}}}}}",
                       e.id, ts, e.value));
      break;
    case TraceEvent::Kind::ChannelRate:
    case TraceEvent::Kind::LinkRate:
      line(fmt::format(
          "{{\"ph\":\"C\",\"name\":\"{}\",\"pid\":{},\"ts\":{},\"args\":{{"
          "\"value\":{}}}}}",
          rateName(e), cores + 1, ts, e.value));
      break;
    case TraceEvent::Kind::HostBegin:
    case TraceEvent::Kind::HostEnd:
      line(fmt::format("{{\"ph\":\"{}\",\"name\":\"{}\",\"pid\":{},\"tid\":0,"
                       "\"ts\":{}}}",
                       e.kind == TraceEvent::Kind::HostBegin ? "B" : "E",
                       hostStepName(HostStep(e.id)), cores, ts));
      break;
    case TraceEvent::Kind::Mark:
      line(fmt::format("{{\"ph\":\"i\",\"s\":\"t\",\"name\":\"mark "
                       "{}\",\"pid\":{},\"tid\":{},"
                       "\"ts\":{}}}",
                       e.value, e.core, unsigned(e.engine), ts));
      break;
    }
  }
  out += "\n]}\n";
  return out;
}

} // namespace tessera::sim
