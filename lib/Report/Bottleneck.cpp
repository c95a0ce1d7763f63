//===- Bottleneck.cpp - What limits a run, in words -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/Bottleneck.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>

using namespace tessera;
using namespace tessera::report;

/// Cycles that the dispatch's work takes at best, with its measured traffic.
static uint64_t floorOf(const DispatchReport &dispatch) {
  return std::max(dispatch.boundCycles, dispatch.memoryCycles);
}

DispatchVerdict report::judge(const DispatchReport &dispatch) {
  if (2 * floorOf(dispatch) >= dispatch.cycles)
    return {dispatch.limiter, sim::StallCause::Busy};
  // The sequencer waits for the engines and the store engine comes last: what
  // holds the others up says more. A queue that is empty says nothing.
  using enum sim::StallCause;
  std::array<uint64_t, sim::numStallCauses> waits{};
  for (sim::Engine engine :
       {sim::Engine::Load, sim::Engine::Matrix, sim::Engine::Vector})
    for (size_t cause = 0; cause < sim::numStallCauses; ++cause)
      waits[cause] += dispatch.engines[size_t(engine)].byCause[cause];
  for (sim::StallCause cause : {Busy, QueueEmpty, NoKernel})
    waits[size_t(cause)] = 0;
  auto most = std::max_element(waits.begin(), waits.end());
  return {Limiter::None, *most ? sim::StallCause(most - waits.begin()) : Busy};
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

static std::string_view causeText(sim::StallCause cause) {
  using enum sim::StallCause;
  switch (cause) {
  case FillDrain:
    return "pipelines that fill and drain";
  case WeightLoad:
    return "weights that are loaded into the matrix engines";
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
    return "scratchpad bank conflicts";
  case BackPressure:
    return "DMA engines that can take no more";
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
  std::map<Limiter, uint64_t> byLimiter;
  std::map<sim::StallCause, uint64_t> byCause;
  uint64_t inside = 0;
  for (const DispatchReport &dispatch : report.dispatches) {
    DispatchVerdict verdict = judge(dispatch);
    inside += dispatch.cycles;
    if (verdict.limiter != Limiter::None)
      byLimiter[verdict.limiter] += dispatch.cycles;
    else
      byCause[verdict.cause] += dispatch.cycles;
  }
  std::vector<TimePart> parts;
  double total = double(std::max(report.cycles, inside));
  auto add = [&](uint64_t cycles, Limiter limiter, const std::string &what) {
    double share = double(cycles) / total;
    if (cycles)
      parts.push_back({cycles, share, limiter,
                       fmt::format("{} for {}", what, percent(share))});
  };
  for (auto [limiter, cycles] : byLimiter)
    add(cycles, limiter, fmt::format("limited by {}", limiterText(limiter)));
  for (auto [cause, cycles] : byCause)
    add(cycles, Limiter::None, fmt::format("waiting for {}", causeText(cause)));
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
    DispatchVerdict verdict = judge(*worst);
    sentences.push_back(fmt::format(
        "{} loses most: {} cycles where its work needs {}, {} {}.", worst->name,
        worst->cycles, floorOf(*worst),
        verdict.limiter == Limiter::None ? "waiting for" : "limited by",
        verdict.limiter == Limiter::None ? causeText(verdict.cause)
                                         : limiterText(verdict.limiter)));
  }
  if (std::string_view group = scaleGroup(parts.front().limiter);
      !group.empty())
    sentences.push_back(fmt::format(
        "tessera whatif --scale {}=2 measures what twice the speed there "
        "would bring.",
        group));
  return sentences;
}
