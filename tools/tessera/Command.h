//===- Command.h - What every sub-command shares ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TESSERA_COMMAND_H
#define TESSERA_TOOLS_TESSERA_COMMAND_H

#include "tessera/Support/Status.h"
#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace tessera::tool {

enum ExitStatus : int {
  exitGood = 0,
  exitError = 1,        ///< Bad input, unsupported, fault.
  exitUsage = 2,        ///< The command line itself.
  exitVerification = 3, ///< Results differ from the reference.
  exitFindings = 4,     ///< A checking mode found something.
};

/// What the command line asks for; set by the sub-command that was given.
using Action = std::function<int()>;

// Each adds one sub-command to `app`; parsing it sets `action`.
// `commandLine`: as the user gave it, for pages to show.
void addRunCommand(CLI::App &app, Action &action,
                   const std::string &commandLine);
void addCompileCommand(CLI::App &app, Action &action);
void addDisasmCommand(CLI::App &app, Action &action);
void addInfoCommand(CLI::App &app, Action &action);
void addArchCommand(CLI::App &app, Action &action);
void addCompareCommand(CLI::App &app, Action &action);
void addGenerateCommand(CLI::App &app, Action &action);
void addWhatIfCommand(CLI::App &app, Action &action);

/// Takes an option that is not available yet, with or without a value, and
/// refuses it as a usage error.
void addUnavailableOption(CLI::App &app, const std::string &name);

/// Prints `error: …` and returns exitError.
int fail(const Status &status);
/// The same for a contradiction in the command line; returns exitUsage.
int failUsage(const std::string &message);

} // namespace tessera::tool

#endif // TESSERA_TOOLS_TESSERA_COMMAND_H
