//===- Main.cpp - The tessera program -------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"
#include <fmt/format.h>

using namespace tessera::tool;

int main(int argc, char **argv) {
  CLI::App app(
      "Compiles models for an accelerator, simulates it, and tells what "
      "limits them.",
      "tessera");
  app.require_subcommand(1);
  app.set_version_flag("--version", "tessera " TESSERA_VERSION);
  Action action;
  addRunCommand(app, action);
  addCompileCommand(app, action);
  addDisasmCommand(app, action);
  addInfoCommand(app, action);
  addArchCommand(app, action);
  addUnavailableCommands(app);
  // Said before the parser can only say that one is missing.
  auto isNamed = [&](const CLI::App *command) {
    return command->get_name() == argv[1];
  };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(isNamed).empty())
    return failUsage(
        fmt::format("'{}' is no sub-command; run, compile, disasm, "
                    "info and arch are",
                    argv[1]));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) // Help or version.
      return app.exit(error);
    return failUsage(fmt::format("{} (see tessera --help)", error.what()));
  }
  return action();
}
