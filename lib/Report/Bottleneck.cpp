//===- Bottleneck.cpp - What limits a run, in words -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/Bottleneck.h"
#include "Text.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>

using namespace tessera;
using namespace tessera::report;

/// Cycles that the dispatch's work takes at best, with its measured traffic.
static uint64_t floorOf(const DispatchReport &dispatch) {
  return std::max(dispatch.boundCycles, dispatch.memoryCycles);
}

/// Of one kind of engine; of `Matrix`: of all matrix engines.
static sim::EngineCycles cyclesOf(const DispatchReport &dispatch,
                                  sim::Engine engine) {
  return engine == sim::Engine::Matrix ? dispatch.engines.matrix()
                                       : dispatch.engines[size_t(engine)];
}

/// The engine that a cause is a wait for.
static std::optional<sim::Engine> waitedFor(sim::StallCause cause) {
  using enum sim::StallCause;
  switch (cause) {
  case WaitLoad:
    return sim::Engine::Load;
  case WaitStore:
    return sim::Engine::Store;
  case WaitMatrix:
    return sim::Engine::Matrix;
  case WaitVector:
    return sim::Engine::Vector;
  default:
    return std::nullopt;
  }
}

/// The largest of an engine's causes; QueueEmpty if it had nothing to do.
static sim::StallCause largest(const sim::EngineCycles &cycles) {
  sim::EngineCycles counted = cycles;
  using enum sim::StallCause;
  for (sim::StallCause cause : {QueueEmpty, NoKernel})
    counted.byCause[size_t(cause)] = 0;
  auto most = std::max_element(counted.byCause.begin(), counted.byCause.end());
  return *most ? sim::StallCause(most - counted.byCause.begin()) : QueueEmpty;
}

DispatchVerdict report::judge(const DispatchReport &dispatch) {
  DispatchVerdict verdict;
  if (2 * floorOf(dispatch) >= dispatch.cycles) {
    verdict.limiter = dispatch.limiter;
    return verdict;
  }
  if (2 * dispatch.kernelCycles < dispatch.cycles) {
    verdict.outsideKernel = true;
    return verdict;
  }
  // The sequencer waits for the engines and the store engine comes last: what
  // holds the others up says more.
  sim::EngineCycles waits;
  for (sim::Engine engine :
       {sim::Engine::Load, sim::Engine::Matrix, sim::Engine::Vector})
    waits += cyclesOf(dispatch, engine);
  waits.byCause[size_t(sim::StallCause::Busy)] = 0;
  verdict.cause = largest(waits);
  // An engine that others wait for may wait itself; the way is short, and a
  // circle ends it.
  for (size_t steps = 0; steps < sim::numEngines; ++steps) {
    std::optional<sim::Engine> next = waitedFor(verdict.cause);
    if (!next)
      break;
    sim::StallCause own = largest(cyclesOf(dispatch, *next));
    if (own == sim::StallCause::QueueEmpty)
      break;
    verdict.engine = next;
    verdict.cause = own;
  }
  return verdict;
}

static std::string percent(double part) {
  return fmt::format("{:.0f} %", part * 100);
}

static std::string_view limiterText(Limiter limiter) {
  switch (limiter) {
  case Limiter::None:
    return "nothing";
  case Limiter::Matrix:
    return "the matrix engines";
  case Limiter::Vector:
    return "the vector engines";
  case Limiter::MatrixAndVector:
    return "matrix and vector engines together";
  case Limiter::Dram:
    return "DRAM bandwidth";
  }
  return "";
}

static std::string_view engineText(sim::Engine engine) {
  switch (engine) {
  case sim::Engine::Sequencer:
    return "the sequencers";
  case sim::Engine::Load:
    return "the load engines";
  case sim::Engine::Store:
    return "the store engines";
  case sim::Engine::Vector:
    return "the vector engines";
  default:
    return "the matrix engines";
  }
}

static std::string_view causeText(sim::StallCause cause) {
  using enum sim::StallCause;
  switch (cause) {
  case FillDrain:
    return "pipelines that fill and drain";
  case WeightLoad:
    return "weights that are loaded into the array";
  case WaitSequencer:
    return "signals of the sequencers";
  case WaitLoad:
    return "loads";
  case WaitStore:
    return "stores";
  case WaitMatrix:
    return "the matrix engines";
  case WaitVector:
    return "the vector engines";
  case BankConflict:
    return "memory banks";
  case BackPressure:
    return "a network that can take no more";
  case Dram:
    return "answers of the DRAM";
  case Tlb:
    return "address translation";
  case InstructionFetch:
    return "instructions to be fetched";
  case Barrier:
    return "other cores";
  case Busy:
  case QueueEmpty:
  case NoKernel:
    break;
  }
  return "work to be issued";
}

/// "limited by DRAM bandwidth", "waiting for the matrix engines, these for
/// memory banks".
static std::string describe(const DispatchVerdict &verdict) {
  if (verdict.limiter != Limiter::None)
    return fmt::format("limited by {}", limiterText(verdict.limiter));
  if (verdict.outsideKernel)
    return "starting and ending kernels";
  if (!verdict.engine)
    return fmt::format("waiting for {}", causeText(verdict.cause));
  std::string_view engine = engineText(*verdict.engine);
  if (verdict.cause == sim::StallCause::Busy)
    return fmt::format("waiting for {}, which are busy", engine);
  return fmt::format("waiting for {}, which wait for {}", engine,
                     causeText(verdict.cause));
}

/// The group of `tessera whatif --scale` that speeds a limiter up.
static std::string_view scaleGroup(Limiter limiter) {
  switch (limiter) {
  case Limiter::Matrix:
    return "matrix";
  case Limiter::Vector:
    return "vector";
  case Limiter::Dram:
    return "dram";
  default:
    return "";
  }
}

namespace {
/// A part of the run's time, in words with its share.
struct TimePart {
  uint64_t cycles = 0;
  double share = 0;
  Limiter limiter = Limiter::None;
  std::string text;
};
} // namespace

/// Where the time goes, the largest part first. Dispatches may overlap: then
/// the parts are of their sum.
static std::vector<TimePart> timeParts(const RunReport &report) {
  std::map<DispatchVerdict, uint64_t> byVerdict;
  uint64_t inside = 0;
  for (const DispatchReport &dispatch : report.dispatches) {
    inside += dispatch.cycles;
    byVerdict[judge(dispatch)] += dispatch.cycles;
  }
  std::vector<TimePart> parts;
  double total = double(std::max(report.cycles, inside));
  auto add = [&](uint64_t cycles, Limiter limiter, const std::string &what) {
    double share = double(cycles) / total;
    if (cycles)
      parts.push_back({cycles, share, limiter,
                       fmt::format("{} for {}", what, percent(share))});
  };
  for (const auto &[verdict, cycles] : byVerdict)
    add(cycles, verdict.limiter, describe(verdict));
  add(std::max(report.cycles, inside) - inside, Limiter::None,
      "between dispatches");
  std::sort(parts.begin(), parts.end(), [](const auto &a, const auto &b) {
    return a.cycles != b.cycles ? a.cycles > b.cycles : a.text < b.text;
  });
  return parts;
}

std::string report::mainPart(const RunReport &report) {
  std::vector<TimePart> parts = timeParts(report);
  return parts.empty() ? "" : parts.front().text;
}

std::vector<std::string> report::explain(const RunReport &report) {
  std::vector<std::string> sentences;
  std::vector<TimePart> parts = timeParts(report);
  if (parts.empty())
    return sentences;
  std::string where;
  for (const TimePart &part : parts)
    if (part.share >= 0.005)
      where += (where.empty() ? "" : ", ") + part.text;
  sentences.push_back(fmt::format("The run is {} of its time.", where));

  auto lost = [](const DispatchReport &d) {
    return d.cycles - std::min(d.cycles, floorOf(d));
  };
  auto worst = std::max_element(
      report.dispatches.begin(), report.dispatches.end(),
      [&](const auto &a, const auto &b) { return lost(a) < lost(b); });
  if (worst != report.dispatches.end() && lost(*worst) > 0) {
    // Equal dispatches share a kernel, which has the name of the first one.
    std::string name = worst->ops.empty()
                           ? worst->name
                           : fmt::format("{}", fmt::join(worst->ops, ", "));
    sentences.push_back(
        fmt::format("{} loses most: {} cycles where its work needs {}, {}.",
                    nameText(name, 80), worst->cycles, floorOf(*worst),
                    describe(judge(*worst))));
  }
  if (std::string_view group = scaleGroup(parts.front().limiter);
      !group.empty())
    sentences.push_back(fmt::format(
        "tessera whatif --scale {}=2 measures what twice the speed there "
        "would bring.",
        group));
  return sentences;
}
