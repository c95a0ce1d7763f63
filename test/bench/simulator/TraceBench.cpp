//===- TraceBench.cpp - Host time of tracing --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   trace-bench [--benchmark_…]
//
// `record`: what an event costs on the simulation's path. `encode`: how fast
// the other thread makes a Perfetto trace of events: instructions of four cores
// and the semaphores that they signal.
//
//===----------------------------------------------------------------------===//

#include "tessera/ISA/Instruction.h"
#include "tessera/sim/BackgroundTrace.h"
#include "tessera/sim/PerfettoTrace.h"
#include <benchmark/benchmark.h>

using namespace tessera;
using namespace tessera::sim;

/// Five events for each instruction of a loop of four.
static std::vector<TraceEvent> makeEvents(size_t count) {
  const std::pair<Engine, isa::Opcode> loop[] = {
      {Engine::Load, isa::Opcode::LOAD},
      {Engine::Matrix, isa::Opcode::MMA},
      {Engine::Vector, isa::Opcode::MAP},
      {Engine::Store, isa::Opcode::STORE}};
  std::vector<TraceEvent> events;
  for (uint64_t i = 0; events.size() < count; ++i) {
    auto [engine, opcode] = loop[i % 4];
    TraceEvent event;
    event.engine = engine;
    event.opcode = uint8_t(opcode);
    event.core = uint32_t(i / 4 % 4);
    event.pc = uint32_t(40 + i % 4);
    auto add = [&](TraceEvent::Kind kind, uint64_t ns, uint32_t id,
                   uint64_t value) {
      event.kind = kind;
      event.timeFs = (100 * i + ns) * 1'000'000;
      event.id = id, event.value = value;
      events.push_back(event);
    };
    add(TraceEvent::Kind::Semaphore, 0, uint32_t(i % 8), 0);
    add(TraceEvent::Kind::InstructionBegin, 1, 0, 0);
    add(TraceEvent::Kind::InstructionEnd, 90, 0, 0);
    add(TraceEvent::Kind::Semaphore, 90, uint32_t(i % 8), 1);
  }
  return events;
}

namespace {
struct Nobody final : TraceObserver {
  void event(const TraceEvent &) override {}
};
} // namespace

static void record(benchmark::State &state) {
  std::vector<TraceEvent> events = makeEvents(4096);
  Nobody nobody;
  BackgroundTrace trace(nobody);
  TraceObserver &observer = trace;
  for (auto _ : state)
    for (const TraceEvent &event : events)
      observer.event(event);
  state.SetItemsProcessed(int64_t(state.iterations() * events.size()));
  trace.finish();
}
BENCHMARK(record);

static void encode(benchmark::State &state) {
  std::vector<TraceEvent> events = makeEvents(1 << 18);
  size_t bytes = 0;
  for (auto _ : state) {
    TracedDispatch dispatch{"conv", "conv1", {0, 1, 2, 3}, {{0, "conv1"}}};
    PerfettoTraceWriter writer(
        {{0, dispatch}},
        [&](std::span<const uint8_t> part) { bytes += part.size(); });
    TraceEvent begin;
    begin.kind = TraceEvent::Kind::DispatchBegin;
    writer.event(begin);
    for (const TraceEvent &event : events)
      writer.event(event);
    writer.finish();
  }
  state.SetItemsProcessed(int64_t(state.iterations() * events.size()));
  state.counters["bytes_per_event"] =
      double(bytes) / double(state.iterations() * events.size());
}
BENCHMARK(encode);

BENCHMARK_MAIN();
