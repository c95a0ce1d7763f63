//===- ArchCommand.cpp - tessera arch -------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"
#include "tessera/Arch/Architecture.h"
#include <fmt/format.h>

namespace tessera::tool {

static int list() {
  for (std::string_view name : architecturePresets()) {
    Result<Architecture> arch = loadArchitecture(name);
    if (!arch)
      return fail(arch.status());
    fmt::print("{:<10} {:>3} {}, {}x{} matrix, {:>4} lanes, {:>5} KiB SPM, "
               "{:.1f} GB/s DRAM, {} GHz\n",
               name, arch->cores.count,
               arch->cores.count == 1 ? "core " : "cores", arch->matrix.rows,
               arch->matrix.cols, arch->vector.lanes, arch->spm.bytes / 1024,
               arch->dram.peakBytesPerNs(), arch->clockGhz);
  }
  return exitGood;
}

static int show(const std::string &name) {
  Result<Architecture> arch = loadArchitecture(name);
  if (!arch)
    return fail(arch.status());
  fmt::print("{}", printArchitecture(*arch));
  return exitGood;
}

static int check(const std::string &file) {
  Result<Architecture> arch = loadArchitecture(file);
  if (!arch)
    return fail(arch.status());
  for (const std::string &warning : architectureWarnings(*arch))
    fmt::print("warning: {}: {}\n", file, warning);
  fmt::print("{}: '{}' is a valid architecture\n", file, arch->name);
  return exitGood;
}

void addArchCommand(CLI::App &app, Action &action) {
  CLI::App *arch = app.add_subcommand("arch", "Architecture files");
  arch->require_subcommand(1);
  arch->add_subcommand("list", "Lists the presets")->callback([&action] {
    action = list;
  });
  auto name = std::make_shared<std::string>();
  CLI::App *showCommand =
      arch->add_subcommand("show", "Prints every key of one");
  showCommand->add_option("NAME", *name, "Preset or file")->required();
  showCommand->callback(
      [&action, name] { action = [name] { return show(*name); }; });
  CLI::App *checkCommand = arch->add_subcommand("check", "Checks one");
  checkCommand->add_option("FILE", *name, "File or preset")->required();
  checkCommand->callback(
      [&action, name] { action = [name] { return check(*name); }; });
}

} // namespace tessera::tool
