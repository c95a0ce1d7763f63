//===- LitmusMain.cpp - Exploring the memory model ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// litmus [--explore=N] [--seed=N] [--test=NAME]: N schedules of each test (or
// of one), a line each. Ends at the first violation with its seed, status 1.
//
//===----------------------------------------------------------------------===//

#include "Litmus.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

int main(int argc, char **argv) {
  using namespace tessera::litmus;
  uint64_t count = 300, seed = 1;
  std::string only;
  CLI::App app("Runs litmus tests over explored schedules.");
  app.add_option("--explore", count, "Schedules of each test")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", seed, "The first schedule's seed");
  app.add_option("--test", only, "Only this test, e.g. MP/system/ordered");
  CLI11_PARSE(app, argc, argv);
  bool good = true, any = false;
  fmt::print("{:<22} {:>9} {:>9} {:>9}\n", "test", "schedules", "outcomes",
             "weak");
  for (const Test &test : tests()) {
    if (!only.empty() && test.name() != only)
      continue;
    any = true;
    Findings findings = explore(test, seed, count);
    fmt::print("{:<22} {:>9} {:>9} {:>9} {}\n", test.name(), findings.schedules,
               findings.outcomes, findings.weakSeen,
               test.weakAllowed() ? "allowed" : "forbidden");
    if (findings.violation) {
      fmt::print("violation: {} with seed {}: {}\n", test.name(),
                 *findings.violation, findings.what);
      return 1;
    }
    if (!findings.good(test)) {
      fmt::print("the allowed weak outcome was never seen\n");
      good = false;
    }
  }
  if (!any) {
    fmt::print(stderr, "error: no test '{}'\n", only);
    return 2;
  }
  return good ? 0 : 1;
}
