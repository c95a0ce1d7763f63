//===- CompileFlags.h - Compiler options on the command line ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TESSERA_COMPILEFLAGS_H
#define TESSERA_TOOLS_TESSERA_COMPILEFLAGS_H

#include "tessera/Pipelines/Compiler.h"
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tessera::tool {

struct CompileFlags {
  std::string arch; ///< Empty: not given.
  std::vector<std::string> dims;
  std::string precision = "f32";
  bool timing = false, explain = false;
  std::string plansFile; ///< Empty: not given.
  uint64_t autotune = 0; ///< Plans to try for each kernel; 0: not asked for.

  /// What is wrong with a `--dim`; empty: nothing.
  static std::string checkDim(const std::string &text);
  /// Likewise unless `text` is a whole number from 1 on.
  static std::string checkCount(const std::string &text);
  /// Adds `--arch`, `--dim`, `--precision`, `--plans`, `--timing`, `--explain`
  /// and refuses the compile options that are not available yet.
  void addTo(CLI::App &command);
  /// Adds `--autotune` (tool::compileTuned).
  void addAutotuneTo(CLI::App &command);
  /// Options for compileModel(); loads the architecture and the plans.
  Result<CompileOptions> options() const;
  /// An error if something was asked for that only compiling can do.
  Status checkForObject(const std::string &path) const;

private:
  Status readPlans(CompileOptions &options) const;
};

/// What `--arch` is when nobody says.
inline constexpr const char *defaultArchitecture = "edge";

} // namespace tessera::tool

#endif // TESSERA_TOOLS_TESSERA_COMPILEFLAGS_H
