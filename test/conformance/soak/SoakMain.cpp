//===- SoakMain.cpp - The soak at any length ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Soak.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

int main(int argc, char **argv) {
  tessera::soak::Options options;
  bool null = false, calm = false;
  CLI::App app("Random operations over several queues against a sequential "
               "oracle, with faults injected.");
  app.add_option("--operations", options.operations, "How many")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "Decides everything");
  app.add_option("--queues", options.queues, "Queues")
      ->check(CLI::Range(1, 64));
  app.add_option("--loss-every", options.lossEvery,
                 "Operations between losses of the device; 0: never");
  app.add_flag("--null", null, "On the null device");
  app.add_flag("--no-faults", calm, "Inject nothing");
  CLI11_PARSE(app, argc, argv);
  options.simulator = !null;
  options.faults = !calm;
  tessera::Result<tessera::soak::Counts> counts = tessera::soak::run(options);
  if (!counts) {
    fmt::print(stderr, "error: seed {}: {}\n", options.seed,
               counts.status().message());
    return 1;
  }
  fmt::print("{}\n", counts->print());
  return 0;
}
