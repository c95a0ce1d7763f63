//===- CompileFlags.cpp - Compiler options on the command line ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileFlags.h"
#include "Command.h"
#include "Progress.h"
#include "tessera/Support/File.h"
#include "tessera/Transforms/PlanBook.h"
#include <charconv>
#include <filesystem>
#include <fmt/format.h>

namespace tessera::tool {

/// NAME=N, or what is wrong with it.
std::string CompileFlags::checkDim(const std::string &text) {
  size_t equals = text.find('=');
  uint64_t value = 0;
  const char *end = text.data() + text.size();
  if (equals != std::string::npos && equals > 0) {
    auto [stop, error] = std::from_chars(text.data() + equals + 1, end, value);
    if (error == std::errc() && stop == end && value > 0)
      return "";
  }
  return fmt::format("'{}' is not NAME=N with a number from 1 on", text);
}

std::string CompileFlags::checkCount(const std::string &text) {
  uint64_t value = 0;
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end && value > 0)
    return "";
  return fmt::format("'{}' is not a whole number from 1 on", text);
}

static std::string checkPrecision(const std::string &text) {
  for (const char *known : {"f32", "bf16", "f16"})
    if (text == known)
      return "";
  return fmt::format("'{}' is unknown; f32, bf16 and f16 are accepted", text);
}

void CompileFlags::addTo(CLI::App &command) {
  command.add_option(
      "--arch", arch,
      fmt::format("Architecture: preset or file (a model's default: "
                  "{}, an object's: what it was built for)",
                  defaultArchitecture));
  command.add_option("--dim", dims, "NAME=N: value of a symbolic dimension")
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false)
      ->check(CLI::Validator(checkDim, ""));
  command
      .add_option("--precision", precision,
                  "Format to which matrix products and convolutions of f32 "
                  "round their operands: f32 (none), bf16 or f16")
      ->check(CLI::Validator(checkPrecision, ""));
  command.add_flag("--timing", timing, "Time of each compiler pass, on stderr");
  command.add_flag("--explain", explain,
                   "How each dispatch was mapped and what was expected of it");
  command.add_option("--plans", plansFile,
                     "File of kernels' plans to take instead of the mapper's "
                     "choice; --autotune writes it");
  addUnavailableOption(command, "--reassociate");
}

void CompileFlags::addAutotuneTo(CLI::App &command) {
  command
      .add_option("--autotune", autotune,
                  "Simulates the N best plans of each kernel and takes the "
                  "fastest; with --plans, those of the file are taken as they "
                  "are and it gets the others")
      ->check(CLI::Range(1, 64));
}

/// A file that is not there has no plans, if tuning is to write it.
Status CompileFlags::readPlans(CompileOptions &options) const {
  std::error_code missing;
  if (plansFile.empty() ||
      (autotune != 0 && !std::filesystem::exists(plansFile, missing)))
    return Status::success();
  TESSERA_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, readFile(plansFile));
  options.plans.book.assign(bytes.begin(), bytes.end());
  return PlanBook::parse(options.plans.book).status().withContext(plansFile);
}

Status CompileFlags::checkForObject(const std::string &path) const {
  if (!dims.empty())
    return Status(StatusCode::InvalidArgument,
                  path + ": the dimensions of an object are fixed; --dim "
                         "accepts models");
  if (precision != "f32")
    return Status(StatusCode::InvalidArgument,
                  path + ": the formats of an object are fixed; --precision "
                         "accepts models");
  if (!plansFile.empty() || autotune != 0)
    return Status(StatusCode::InvalidArgument,
                  path + ": the plans of an object are fixed; --plans and "
                         "--autotune accept models");
  return Status::success();
}

Result<CompileOptions> CompileFlags::options() const {
  CompileOptions options;
  TESSERA_ASSIGN_OR_RETURN(
      options.architecture,
      loadArchitecture(arch.empty() ? defaultArchitecture : arch));
  for (const std::string &dim : dims) {
    size_t equals = dim.find('=');
    std::string name = dim.substr(0, equals);
    uint64_t value = 0;
    std::from_chars(dim.data() + equals + 1, dim.data() + dim.size(), value);
    if (!options.dims.emplace(name, value).second)
      return Status(StatusCode::InvalidArgument,
                    fmt::format("--dim {}: given twice", name));
  }
  TESSERA_RETURN_IF_ERROR(readPlans(options));
  options.timing = timing;
  options.precision = precision;
  options.progress = drawProgress();
  return options;
}

} // namespace tessera::tool
