//===- FuzzMain.cpp - The fuzzers at any length ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

int main(int argc, char **argv) {
  using namespace tessera::fuzz;
  uint64_t rounds = 0, seed = 1;
  std::string folder;
  CLI::App app("Checks decoders and devices with damaged inputs.");
  app.add_option("--rounds", rounds, "Of each fuzzer; default: as in CI");
  app.add_option("--seed", seed, "Of the first round");
  app.add_option("--write-corpus", folder, "Only write the corpus there");
  CLI11_PARSE(app, argc, argv);
  for (const Fuzzer &fuzzer : fuzzers()) {
    if (!folder.empty()) {
      if (!writeCorpus(fuzzer, folder)) {
        fmt::print(stderr, "error: cannot write to {}\n", folder);
        return 1;
      }
      continue;
    }
    Outcome outcome = run(fuzzer, rounds ? rounds : fuzzer.rounds, seed);
    fmt::print("{:<10} {:>9} rounds {:>9} accepted\n", fuzzer.name,
               outcome.rounds, outcome.accepted);
    if (!outcome.failure.empty()) {
      fmt::print(stderr, "error: {}: {}\n", fuzzer.name, outcome.failure);
      return 1;
    }
  }
  return 0;
}
