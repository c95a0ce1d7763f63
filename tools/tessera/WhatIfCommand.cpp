//===- WhatIfCommand.cpp - tessera whatif ---------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"
#include "CompileFlags.h"
#include "Inputs.h"
#include "ObjectFile.h"
#include "Simulation.h"
#include "tessera/Arch/IsaKeys.h"
#include "tessera/Arch/Scale.h"
#include "tessera/Report/Bottleneck.h"
#include <charconv>
#include <fmt/format.h>

namespace tessera::tool {

namespace {
/// One `--scale KEY=FACTOR`.
struct Scale {
  std::string text, key;
  double factor = 1;
};

class WhatIfCommand {
public:
  std::string path;
  std::vector<std::string> scaleTexts;
  bool recompile = false;
  CompileFlags compile;

  int run();

private:
  Status prepare();
  Result<Architecture> scaled(std::span<const Scale> changes) const;
  /// Simulates `program` on a machine, without data.
  Result<report::RunReport> measure(const Object &program,
                                    const Architecture &machine) const;
  Result<report::RunReport> measureWith(std::span<const Scale> changes) const;
  Status compare();

  std::vector<Scale> scales;
  CompileOptions options; ///< Of a model.
  Object object;
  Architecture arch;
};
} // namespace

static Result<Scale> parseScale(const std::string &text) {
  Scale scale{text, text.substr(0, text.find('=')), 1};
  const char *end = text.data() + text.size();
  const char *begin = text.data() + std::min(scale.key.size() + 1, text.size());
  auto [stop, error] = std::from_chars(begin, end, scale.factor);
  if (scale.key.empty() || error != std::errc() || stop != end)
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("--scale {}: is not KEY=FACTOR, e.g. dram=2", text));
  return scale;
}

Status WhatIfCommand::prepare() {
  for (const std::string &text : scaleTexts) {
    TESSERA_ASSIGN_OR_RETURN(Scale scale, parseScale(text));
    scales.push_back(std::move(scale));
  }
  TESSERA_ASSIGN_OR_RETURN(bool isObject, isObjectFile(path));
  if (isObject && recompile)
    return Status(StatusCode::InvalidArgument,
                  path + ": an object holds no model to compile again; "
                         "--recompile accepts .onnx, .mlir and .mlirbc");
  if (isObject) {
    TESSERA_RETURN_IF_ERROR(compile.checkForObject(path));
    TESSERA_ASSIGN_OR_RETURN(object, readObjectFile(path));
    TESSERA_ASSIGN_OR_RETURN(arch, architectureFor(object, path, compile.arch));
  } else {
    TESSERA_ASSIGN_OR_RETURN(options, compile.options());
    arch = options.architecture;
  }
  // Every question is checked before the first long step.
  for (const Scale &scale : scales)
    TESSERA_RETURN_IF_ERROR(scaled({&scale, 1}).status());
  TESSERA_RETURN_IF_ERROR(scaled(scales).status());
  if (!isObject) {
    TESSERA_ASSIGN_OR_RETURN(CompiledModel compiled,
                             compileModel(path, options));
    object = std::move(compiled.object);
  }
  return Status::success();
}

Result<Architecture>
WhatIfCommand::scaled(std::span<const Scale> changes) const {
  Architecture result = arch;
  for (const Scale &scale : changes) {
    uint64_t before = result.isaHash();
    Result<Architecture> next =
        scaleArchitecture(result, scale.key, scale.factor);
    if (!next)
      return next.status().withContext("--scale");
    result = std::move(*next);
    // A faster matrix engine runs the same program: no values are computed
    // here, and only they could tell.
    if (result.isaHash() != before && !recompile && scale.key != "matrix")
      return Status(
          StatusCode::InvalidArgument,
          fmt::format("--scale {}: programs are compiled for that number; "
                      "--recompile compiles the model for the new one",
                      scale.text));
  }
  return result;
}

Result<report::RunReport>
WhatIfCommand::measure(const Object &program,
                       const Architecture &machine) const {
  TESSERA_ASSIGN_OR_RETURN(std::vector<HostTensor> inputs,
                           Inputs().match(program.inputs));
  SimulationOptions simulation;
  simulation.timingOnly = true;
  TESSERA_ASSIGN_OR_RETURN(SimulationResult result,
                           simulate(program, machine, inputs, simulation));
  report::RunFacts facts{program, machine, result.statistics, path, {},
                         {},      0,       result.seconds};
  return report::makeRunReport(facts);
}

Result<report::RunReport>
WhatIfCommand::measureWith(std::span<const Scale> changes) const {
  TESSERA_ASSIGN_OR_RETURN(Architecture machine, scaled(changes));
  if (recompile) {
    CompileOptions changed = options;
    changed.architecture = machine;
    TESSERA_ASSIGN_OR_RETURN(CompiledModel compiled,
                             compileModel(path, changed));
    return measure(compiled.object, machine);
  }
  Object program = object;
  program.isaKeys = isaKeys(machine); // Differs for `matrix` alone.
  return measure(program, machine);
}

static void printRow(std::string_view change, size_t width,
                     const report::RunReport &report,
                     const report::RunReport &base) {
  fmt::print(
      "  {:<{}}  {:>14}  {:>8}  {:>7.1f} %  {:>7.1f} %  {:>7.1f} %  {}\n",
      change, width, report.cycles,
      fmt::format("{:.2f}x", base.timeMicroseconds / report.timeMicroseconds),
      report.matrixUtilization * 100, report.vectorUtilization * 100,
      report.dramUtilization * 100, report::mainPart(report));
}

Status WhatIfCommand::compare() {
  TESSERA_ASSIGN_OR_RETURN(report::RunReport base, measure(object, arch));
  std::string all;
  for (const Scale &scale : scales)
    all += (all.empty() ? "" : " ") + scale.text;
  size_t width = std::max(all.size(), std::string_view("as it is").size());
  fmt::print("{} on {}, {}\n", path, arch.name,
             recompile ? "compiled anew for each change"
                       : "the same program for each change");
  fmt::print("  {:<{}}  {:>14}  {:>8}  {:>9}  {:>9}  {:>9}  {}\n", "", width,
             "cycles", "speed-up", "matrix", "vector", "DRAM", "mostly");
  printRow("as it is", width, base, base);
  for (size_t i = 0; i < scales.size(); ++i) {
    TESSERA_ASSIGN_OR_RETURN(report::RunReport changed,
                             measureWith({&scales[i], 1}));
    printRow(scales[i].text, width, changed, base);
  }
  if (scales.size() > 1) {
    TESSERA_ASSIGN_OR_RETURN(report::RunReport changed, measureWith(scales));
    printRow(all, width, changed, base);
  }
  return Status::success();
}

int WhatIfCommand::run() {
  if (Status status = prepare(); !status.ok())
    return fail(status);
  Status status = compare();
  return status.ok() ? int(exitGood) : fail(status);
}

void addWhatIfCommand(CLI::App &app, Action &action) {
  CLI::App *command = app.add_subcommand(
      "whatif", "Measures what a faster or slower part would bring");
  auto whatIf = std::make_shared<WhatIfCommand>();
  command
      ->add_option("MODEL", whatIf->path,
                   "Model (.onnx, .mlir, .mlirbc) or object (.tsr)")
      ->required();
  std::string groups;
  for (const ScaleGroup &group : scaleGroups())
    groups += fmt::format("\n{}: {}", group.name, group.doc);
  command
      ->add_option("--scale", whatIf->scaleTexts,
                   "KEY=FACTOR: a number of the architecture file, or one of:" +
                       groups)
      ->required()
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false);
  command->add_flag("--recompile", whatIf->recompile,
                    "Compiles the model for each change");
  whatIf->compile.addTo(*command);
  command->callback(
      [&action, whatIf] { action = [whatIf] { return whatIf->run(); }; });
}

} // namespace tessera::tool
