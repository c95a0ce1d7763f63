//===- Command.cpp - What every sub-command shares ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"
#include <cstdio>
#include <fmt/format.h>

namespace tessera::tool {

static const char *const unavailableGroup = "Not available yet";

void addUnavailableOption(CLI::App &app, const std::string &name) {
  app.add_option_function<std::vector<std::string>>(
         name,
         [name](const std::vector<std::string> &) {
           throw CLI::ValidationError(name, "is not available yet");
         },
         "")
      ->expected(0, 1)
      ->trigger_on_parse()
      ->group(unavailableGroup);
}

int fail(const Status &status) {
  fmt::print(stderr, "error: {}\n", status.message());
  return exitError;
}

int failUsage(const std::string &message) {
  fmt::print(stderr, "error: {}\n", message);
  return exitUsage;
}

} // namespace tessera::tool
