//===- DramBench.cpp - Bandwidth and latency of a DRAM ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// dram-bench drives the simulator's DRAM channels alone with a pattern or a
// trace, so that the model can be compared with others (docs/validation.md).
//
//===----------------------------------------------------------------------===//

#include "DramConfiguration.h"
#include "DramRun.h"
#include <CLI/CLI.hpp>
#include <chrono>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace tessera;
using namespace tessera::bench;

namespace {

struct Options {
  std::string dram, mapping, pattern, trace, json;
  uint64_t transactions = 0; ///< 0: the pattern's own number.
  uint32_t run = 0;          ///< Atoms; 0: transactions come singly.
  bool noRefresh = false, singly = false;
};

int fail(const std::string &message) {
  fmt::print(stderr, "dram-bench: error: {}\n", message);
  return 1;
}

nlohmann::ordered_json toJson(const Options &options, const DramConfig &dram,
                              const RunResult &run) {
  double ns = double(run.cycles) * dram.tckNs;
  double bytes = double(run.transactions) * double(dram.atomBytes());
  const sim::dram::ChannelCounters &c = run.counters;
  nlohmann::ordered_json json;
  json["dram"] = options.dram;
  json["mapping"] = dram.mapping;
  json["pattern"] = options.trace.empty() ? options.pattern : "trace";
  json["refresh"] = dram.refresh == RefreshMode::None      ? "none"
                    : dram.refresh == RefreshMode::AllBank ? "all-bank"
                                                           : "per-bank";
  json["tck_ns"] = dram.tckNs;
  json["transactions"] = run.transactions;
  json["transaction_bytes"] = dram.atomBytes();
  json["reads"] = run.reads;
  json["writes"] = run.transactions - run.reads;
  json["cycles"] = run.cycles;
  json["time_ns"] = ns;
  json["bandwidth_gbps"] = bytes / ns;
  json["peak_gbps"] = dram.peakBytesPerNs();
  json["fraction_of_peak"] = bytes / ns / dram.peakBytesPerNs();
  json["read_latency_ns"] = {{"mean", run.meanLatency() * dram.tckNs},
                             {"median", run.percentile(0.5) * dram.tckNs},
                             {"p99", run.percentile(0.99) * dram.tckNs},
                             {"min", run.percentile(0) * dram.tckNs},
                             {"max", run.percentile(1) * dram.tckNs}};
  json["row_hits"] = c.rowHits;
  json["row_misses"] = c.rowMisses;
  json["row_conflicts"] = c.rowConflicts;
  json["column_reads"] = c.reads;
  json["column_writes"] = c.writes;
  json["reads_from_write_queue"] = c.readsFromWriteQueue;
  json["activates"] = c.activates;
  json["precharges"] = c.precharges;
  json["turnarounds"] = c.turnarounds;
  json["refreshes"] = c.refreshes;
  json["refresh_cycles"] = c.refreshClocks;
  json["data_cycles"] = c.dataClocks;
  return json;
}

int run(const Options &options) {
  Result<DramConfig> loaded = loadDram(options.dram, options.mapping);
  if (!loaded)
    return fail(loaded.status().message());
  DramConfig dram = *loaded;
  if (options.noRefresh)
    dram.refresh = RefreshMode::None;

  Loop loop;
  std::function<Transaction()> next;
  std::vector<Transaction> trace;
  std::optional<PatternSource> source;
  if (!options.trace.empty()) {
    Result<std::vector<Transaction>> read = readTrace(options.trace, dram);
    if (!read)
      return fail(read.status().message());
    trace = std::move(*read);
    loop.transactions = trace.size();
    if (options.transactions && options.transactions < trace.size())
      loop.transactions = options.transactions;
    next = [&, at = size_t(0)]() mutable { return trace[at++]; };
  } else {
    PatternKind kind = *patternNamed(options.pattern);
    if (kind == PatternKind::Idle) {
      loop.outstanding = 1;
      loop.idleClocks = 200;
      loop.transactions = 3'000;
    }
    if (options.transactions)
      loop.transactions = options.transactions;
    source.emplace(kind, dram);
    next = [&] { return source->next(); };
  }

  auto start = std::chrono::steady_clock::now();
  RunResult result =
      options.run == 0
          ? runDram(dram, loop, next)
          : runDramRows(dram, {loop.transactions, options.run, options.singly},
                        next);
  double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();

  nlohmann::ordered_json json = toJson(options, dram, result);
  if (!options.json.empty()) {
    std::ofstream file(options.json);
    file << json.dump(2) << '\n';
    if (!file.flush())
      return fail(fmt::format("--json: '{}' cannot be written", options.json));
  }
  fmt::print("{} {} [{}]: {} transactions in {} cycles, {:.2f} GB/s, {:.1f} % "
             "of peak, read latency {:.1f} ns mean, {:.1f} ns median; {:.1f} "
             "million transactions a second simulated\n",
             options.dram, json["pattern"].get<std::string>(), dram.mapping,
             result.transactions, result.cycles,
             json["bandwidth_gbps"].get<double>(),
             100 * json["fraction_of_peak"].get<double>(),
             json["read_latency_ns"]["mean"].get<double>(),
             json["read_latency_ns"]["median"].get<double>(),
             double(result.transactions) / seconds / 1e6);
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Drives the simulator's DRAM with an access pattern or a trace "
               "and tells bandwidth and latency.",
               "dram-bench");
  Options options;
  app.add_option("--dram", options.dram,
                 "Timing preset, architecture file, or file with a dram: "
                 "section")
      ->required();
  app.add_option("--mapping", options.mapping,
                 "Address bits above the atom's from most to least "
                 "significant, e.g. \"R15 B2 G2 P1 C5\", or native, bgi, bgi64 "
                 "(default: the DRAM's own)");
  auto *pattern =
      app.add_option("--pattern", options.pattern,
                     fmt::format("Access pattern: {}", patternNames));
  pattern->check(CLI::Validator(
      [](std::string &text) -> std::string {
        return patternNamed(text) ? ""
                                  : fmt::format("'{}' is no pattern; {} are",
                                                text, patternNames);
      },
      ""));
  auto *trace =
      app.add_option("--trace", options.trace,
                     "File with lines 'cycle R|W 0xADDRESS', cycles in DRAM "
                     "clocks, one transaction each");
  trace->excludes(pattern);
  app.add_option("--transactions", options.transactions,
                 "How many (default: 200000, idle 3000, a trace's all)")
      ->check(CLI::Range(uint64_t(1), uint64_t(1) << 40));
  auto *runs =
      app.add_option("--run", options.run,
                     "Offers up to so many transactions that follow each other "
                     "in a row together, when the queue has room for all of "
                     "them, with nothing else to wait for")
          ->check(CLI::Range(1u, 1u << 20))
          ->excludes(trace);
  app.add_flag("--singly", options.singly,
               "With --run: the same in the same clocks transaction by "
               "transaction and clock by clock, which is slower")
      ->needs(runs);
  app.add_flag("--no-refresh", options.noRefresh, "Without refresh");
  app.add_option("--json", options.json, "Writes all figures to this file");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error);
    fmt::print(stderr, "dram-bench: error: {} (see dram-bench --help)\n",
               error.what());
    return 2;
  }
  if (options.pattern.empty() && options.trace.empty()) {
    fmt::print(stderr, "dram-bench: error: --pattern or --trace is required "
                       "(see dram-bench --help)\n");
    return 2;
  }
  return run(options);
}
