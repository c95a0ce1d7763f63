//===- Main.cpp - The tessera program -------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"
#include <fmt/format.h>
#include <new>
#include <span>

using namespace tessera::tool;

/// The command line as a shell would take it.
static std::string commandLineText(std::span<char *const> arguments) {
  static constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=,:+";
  std::string text = "tessera";
  for (std::string_view argument : arguments) {
    text += ' ';
    if (!argument.empty() &&
        argument.find_first_not_of(plain) == std::string_view::npos) {
      text += argument;
      continue;
    }
    text += '\'';
    for (char c : argument)
      text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

int main(int argc, char **argv) {
  CLI::App app(
      "Compiles models for an accelerator, simulates it, and tells what "
      "limits them.",
      "tessera");
  app.require_subcommand(1);
  app.set_version_flag("--version", "tessera " TESSERA_VERSION);
  Action action;
  std::span<char *const> arguments(argv + std::min(argc, 1), argv + argc);
  addRunCommand(app, action, commandLineText(arguments));
  addCompileCommand(app, action);
  addDisasmCommand(app, action);
  addInfoCommand(app, action);
  addArchCommand(app, action);
  addCompareCommand(app, action);
  addWhatIfCommand(app, action);
  addGenerateCommand(app, action);
  // Said before the parser can only say that one is missing.
  auto isNamed = [&](const CLI::App *command) {
    return command->get_name() == argv[1];
  };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(isNamed).empty())
    return failUsage(
        fmt::format("'{}' is no sub-command; run, compile, generate, "
                    "whatif, compare, disasm, info and arch are",
                    argv[1]));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) // Help or version.
      return app.exit(error);
    return failUsage(fmt::format("{} (see tessera --help)", error.what()));
  }
  try {
    return action();
  } catch (const std::bad_alloc &) {
    fmt::print(stderr, "error: the host has not enough memory for tensors of "
                       "these shapes\n");
    return 1;
  }
}
