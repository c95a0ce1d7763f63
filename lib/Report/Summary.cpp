//===- Summary.cpp - A run for the terminal -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Text.h"
#include "tessera/Report/RunReport.h"
#include <algorithm>
#include <fmt/color.h>
#include <fmt/format.h>

using namespace tessera;
using namespace tessera::report;

namespace {
class Summary {
public:
  Summary(const RunReport &report, const SummaryOptions &options)
      : report(report), options(options) {}
  std::string format();

private:
  std::string styled(const fmt::text_style &style, std::string text) const {
    return options.color ? fmt::format(style, "{}", text) : text;
  }
  std::string bold(std::string value) const {
    return styled(fmt::emphasis::bold, std::move(value));
  }
  void row(std::string_view name, std::string value) {
    text += fmt::format("  {:<13} {}\n", name, value);
  }
  void figures();
  void verification();
  void stalls();
  void dispatches();
  void memorySide();
  void channels(const sim::MemoryStatistics &memory);
  void links(const sim::MemoryStatistics &memory);
  void explanation();

  const RunReport &report;
  const SummaryOptions &options;
  std::string text;
};
} // namespace

void Summary::figures() {
  if (report.accuracy) {
    const Accuracy &accuracy = *report.accuracy;
    double part =
        accuracy.total ? double(accuracy.correct) / double(accuracy.total) : 0;
    row("accuracy",
        bold(fmt::format("{:.2f} %", part * 100)) +
            fmt::format("  ({} of {})", groupedText(accuracy.correct),
                        groupedText(accuracy.total)));
  }
  row("time",
      bold(durationText(report.timeMicroseconds)) +
          fmt::format("  {} cycles at {} GHz{}", groupedText(report.cycles),
                      report.machine.clockGhz,
                      report.runs > 1 ? fmt::format(", {} runs", report.runs)
                                      : ""));
  row("matrix",
      fmt::format("{} of peak, {} MACs", percentText(report.matrixUtilization),
                  groupedText(report.macs)));
  row("vector", fmt::format("{} busy", percentText(report.vectorUtilization)));
  if (report.drawnIndices)
    row("warning",
        styled(fmt::fg(fmt::terminal_color::yellow),
               fmt::format("{} {} of gathers and scatters drawn by lot: "
                           "without data their cycles are an estimate",
                           groupedText(report.drawnIndices),
                           report.drawnIndices == 1 ? "index" : "indices")));
  row("DRAM", fmt::format("{:.2f} of {:.1f} GB/s ({}), {} read, {} written{}",
                          report.dramBandwidthGbps, report.dramPeakGbps,
                          percentText(report.dramUtilization),
                          bytesText(report.dramBytesRead),
                          bytesText(report.dramBytesWritten),
                          report.dramRowHitRate
                              ? fmt::format(", row hits {}",
                                            percentText(*report.dramRowHitRate))
                              : ""));
  row("scratchpad",
      fmt::format("{} of {} a core at most", bytesText(report.spmPeakBytes),
                  bytesText(report.spmBytes)));
  row("bound", fmt::format("{} cycles, limited by {}: efficiency {}",
                           groupedText(report.boundCycles),
                           bold(std::string(limiterName(report.limiter))),
                           bold(percentText(report.boundEfficiency))));
  row("roofline", fmt::format("{} cycles, {} of the bound; layer by layer {}, "
                              "critical path {}",
                              groupedText(report.rooflineCycles),
                              percentText(report.rooflineEfficiency),
                              groupedText(report.layerwiseCycles),
                              groupedText(report.criticalPathCycles)));
}

void Summary::verification() {
  for (const OutputCheck &output : report.outputs) {
    auto color =
        output.ok ? fmt::terminal_color::green : fmt::terminal_color::red;
    row("verified",
        fmt::format("{}  {}: max error {:.3g} absolute, {:.3g} relative, "
                    "tolerance {:.3g} ({})",
                    styled(fmt::fg(color), output.ok ? "ok" : "FAILED"),
                    output.name, output.maxAbsError, output.maxRelError,
                    output.tolerance, output.reason));
  }
}

void Summary::stalls() {
  text += "\n" + bold("Engine cycles by cause, since reset") + "\n";
  struct Row {
    size_t cause;
    uint64_t total = 0;
  };
  std::vector<Row> rows;
  for (size_t cause = 0; cause < sim::numStallCauses; ++cause) {
    Row entry{cause};
    for (const sim::EngineCycles &engine : report.engines)
      entry.total += engine.byCause[cause];
    if (entry.total)
      rows.push_back(entry);
  }
  std::sort(rows.begin(), rows.end(), [](const Row &a, const Row &b) {
    return a.total != b.total ? a.total > b.total : a.cause < b.cause;
  });
  text += fmt::format("  {:<18}", "");
  for (size_t engine = 0; engine < report.engines.size(); ++engine)
    text += fmt::format("{:>11}", sim::engineName(sim::Engine(engine)));
  text += '\n';
  for (const Row &entry : rows) {
    text += fmt::format("  {:<18}",
                        sim::stallCauseName(sim::StallCause(entry.cause)));
    for (const sim::EngineCycles &engine : report.engines) {
      uint64_t total = 0;
      for (uint64_t cycles : engine.byCause)
        total += cycles;
      uint64_t own = engine.byCause[entry.cause];
      text +=
          own ? fmt::format("{:>11}", percentText(double(own) / double(total)))
              : fmt::format("{:>11}", "·");
    }
    text += '\n';
  }
}

void Summary::dispatches() {
  std::vector<const DispatchReport *> longest;
  for (const DispatchReport &dispatch : report.dispatches)
    longest.push_back(&dispatch);
  // Pointers into one vector: equal ones stay in the program's order.
  std::sort(longest.begin(), longest.end(),
            [](const DispatchReport *a, const DispatchReport *b) {
              return a->cycles != b->cycles ? a->cycles > b->cycles : a < b;
            });
  size_t shown = options.verbose
                     ? longest.size()
                     : std::min(longest.size(), options.topDispatches);
  if (shown == 0)
    return;
  text +=
      fmt::format("\n{}\n", bold(fmt::format("Longest dispatches ({} of {})",
                                             shown, longest.size())));
  size_t width = 8;
  for (size_t i = 0; i < shown; ++i)
    width = std::max(width, std::min<size_t>(longest[i]->name.size(), 32));
  text += fmt::format("  {:<{}} {:>14} {:>8} {:>14}  {:<13} {:>8} {:>11}  {}\n",
                      "", width, "cycles", "of all", "bound", "limiter",
                      "matrix", "DRAM", "operators");
  for (size_t i = 0; i < shown; ++i) {
    const DispatchReport &dispatch = *longest[i];
    double part =
        report.cycles ? double(dispatch.cycles) / double(report.cycles) : 0;
    std::string ops =
        nameText(fmt::format("{}", fmt::join(dispatch.ops, ", ")), 60);
    text += fmt::format(
        "  {:<{}.32} {:>14} {:>8} {:>14}  {:<13} {:>8} {:>11}  {:.60}\n",
        nameText(dispatch.name, 31), width, groupedText(dispatch.cycles),
        percentText(part), groupedText(dispatch.boundCycles),
        limiterName(dispatch.limiter), percentText(dispatch.matrixUtilization),
        bytesText(dispatch.dramBytesRead + dispatch.dramBytesWritten), ops);
  }
}

void Summary::channels(const sim::MemoryStatistics &memory) {
  if (memory.channels.empty() || report.timeMicroseconds <= 0)
    return;
  double peak = report.dramPeakGbps * 1e3 * report.timeMicroseconds /
                double(memory.channels.size());
  size_t least = 0, most = 0;
  uint64_t hits = 0, misses = 0, conflicts = 0, turnarounds = 0, refreshes = 0;
  auto atoms = [&](size_t i) {
    return memory.channels[i].reads + memory.channels[i].writes;
  };
  for (size_t i = 0; i < memory.channels.size(); ++i) {
    const sim::ChannelStatistics &channel = memory.channels[i];
    least = atoms(i) < atoms(least) ? i : least;
    most = atoms(i) > atoms(most) ? i : most;
    hits += channel.rowHits, misses += channel.rowMisses;
    conflicts += channel.rowConflicts, turnarounds += channel.turnarounds;
    refreshes += channel.refreshes;
  }
  auto part = [&](size_t i) {
    return percentText(double(atoms(i) * memory.atomBytes) / peak);
  };
  row("channels", fmt::format("{} of peak in channel {} to {} in channel {}",
                              part(least), least, part(most), most));
  row("rows", fmt::format("{} hits, {} misses, {} conflicts; {} turnarounds, "
                          "{} refreshes",
                          groupedText(hits), groupedText(misses),
                          groupedText(conflicts), groupedText(turnarounds),
                          groupedText(refreshes)));
}

void Summary::links(const sim::MemoryStatistics &memory) {
  std::vector<const sim::LinkStatistics *> busiest;
  for (const sim::LinkStatistics &link : memory.links)
    if (link.flits)
      busiest.push_back(&link);
  // Pointers into one vector: equal ones stay in the network's order.
  std::sort(busiest.begin(), busiest.end(),
            [](const sim::LinkStatistics *a, const sim::LinkStatistics *b) {
              return a->flits != b->flits ? a->flits > b->flits : a < b;
            });
  busiest.resize(std::min<size_t>(busiest.size(), 8));
  double cycles = double(report.cycles) * report.machine.networkCyclesPerCycle;
  for (const sim::LinkStatistics *link : busiest)
    row(link == busiest.front() ? "busiest links" : "",
        fmt::format("{} to {}: {} busy, {}, blocked for {} cycles", link->from,
                    link->to, percentText(double(link->flits) / cycles),
                    bytesText(link->bytes), groupedText(link->blockedCycles)));
}

void Summary::memorySide() {
  text += "\n" + bold("Memory side") + "\n";
  const FootprintReport &f = report.footprint;
  row("in DRAM",
      fmt::format("{} of weights, {} of code and commands, {} of "
                  "inputs, {} of outputs, {} of intermediate tensors",
                  bytesText(f.weights), bytesText(f.code), bytesText(f.inputs),
                  bytesText(f.outputs), bytesText(f.arena)));
  if (report.memory) {
    const sim::MemoryStatistics &memory = *report.memory;
    row("DRAM traffic",
        fmt::format(
            "{} asked for by cores, {} fetched beside it, {} of page "
            "tables, {} of commands{}",
            bytesText(memory.usefulBytes), bytesText(memory.overFetchBytes),
            bytesText(memory.walkBytes), bytesText(memory.commandBytes),
            memory.cacheBytes
                ? fmt::format(", {} of the cache", bytesText(memory.cacheBytes))
                : ""));
    if (memory.cache.hits + memory.cache.misses)
      row("cache", fmt::format("{} hits, {} misses, {} fills, {} write-backs, "
                               "{} around it",
                               groupedText(memory.cache.hits),
                               groupedText(memory.cache.misses),
                               groupedText(memory.cache.fills),
                               groupedText(memory.cache.writeBacks),
                               groupedText(memory.cache.bypasses)));
    channels(memory);
    links(memory);
  }
  row("translation",
      fmt::format("{} hits, {} misses, {} walks", groupedText(report.tlbHits),
                  groupedText(report.tlbMisses),
                  groupedText(report.pageWalks)));
  row("wall time", fmt::format("{:.3f} s compiling, {:.3f} s simulating",
                               report.compileSeconds, report.simulateSeconds));
}

void Summary::explanation() {
  for (const std::string &sentence : report.explanation)
    text += fmt::format("{}{}\n",
                        &sentence == &report.explanation.front() ? "\n" : "",
                        sentence);
}

std::string Summary::format() {
  text += bold(fmt::format("{} on {}", nameText(report.model, 200),
                           nameText(report.arch, 80)));
  text += fmt::format(" ({})\n", report.format);
  figures();
  verification();
  stalls();
  dispatches();
  if (options.verbose)
    memorySide();
  explanation();
  return std::move(text);
}

std::string report::formatSummary(const RunReport &report,
                                  const SummaryOptions &options) {
  return Summary(report, options).format();
}
