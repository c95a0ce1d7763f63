//===- CompileCommand.cpp - tessera compile -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Autotune.h"
#include "Command.h"
#include "CompileFlags.h"
#include "FileOutput.h"
#include "ObjectFile.h"
#include "tessera/Report/Mapping.h"
#include <fmt/format.h>

namespace tessera::tool {

namespace {
struct CompileCommand {
  std::string model, output, dumpAfter;
  EmitLevel emit = EmitLevel::Object;
  bool dispatchOutputs = false;
  CompileFlags flags;

  int run() const;
};
} // namespace

int CompileCommand::run() const {
  Result<CompileOptions> options = flags.options();
  if (!options)
    return fail(options.status());
  options->emit = emit;
  options->dumpAfter = dumpAfter;
  options->exposeDispatches = dispatchOutputs;
  if (flags.explain && emit != EmitLevel::Object)
    return fail(Status(StatusCode::InvalidArgument,
                       "--explain tells of objects; accepted with "
                       "--emit=object alone"));
  if (Status possible = checkFileCanBe(output); !possible.ok())
    return fail(possible);
  Result<bool> isObject = isObjectFile(model);
  if (!isObject)
    return fail(isObject.status());
  if (*isObject)
    return fail(Status(StatusCode::InvalidArgument,
                       model + ": is an object, compiled already; accepted are "
                               ".onnx, .mlir and .mlirbc"));
  Result<CompiledModel> compiled = compileTuned(model, *options, flags);
  if (!compiled)
    return fail(compiled.status());
  Status written =
      emit == EmitLevel::Object
          ? replaceFile(output, writeObject(compiled->object))
          : replaceFile(output, std::string_view(compiled->emittedText));
  if (!written.ok())
    return fail(written);
  if (!dumpAfter.empty())
    fmt::print("{}", compiled->dumpText);
  if (flags.explain) {
    Result<std::string> text = report::explainMapping(
        compiled->object, options->architecture, nullptr);
    if (!text)
      return fail(text.status());
    fmt::print("{}", *text);
  }
  if (flags.timing)
    fmt::print(stderr, "{}", compiled->timingText);
  return exitGood;
}

void addCompileCommand(CLI::App &app, Action &action) {
  CLI::App *command =
      app.add_subcommand("compile", "Compiles a model to an object");
  auto compile = std::make_shared<CompileCommand>();
  command->add_option("MODEL", compile->model, "Model (.onnx, .mlir, .mlirbc)")
      ->required();
  command->add_option("-o", compile->output, "File to write")->required();
  const std::map<std::string, EmitLevel> levels = {
      {"graph", EmitLevel::Graph},   {"tile", EmitLevel::Tile},
      {"isa", EmitLevel::Isa},       {"device", EmitLevel::Device},
      {"object", EmitLevel::Object},
  };
  command
      ->add_option_function<std::string>(
          "--emit",
          [compile, levels](const std::string &level) {
            compile->emit = levels.at(level);
          },
          "How far to compile: graph, tile, isa, device, object")
      ->check(CLI::Validator(
          [levels](std::string &level) -> std::string {
            return levels.count(level)
                       ? ""
                       : fmt::format(
                             "'{}' is no level; graph, tile, isa, device "
                             "and object are",
                             level);
          },
          ""));
  command->add_option("--dump-after", compile->dumpAfter,
                      "Prints the program after this pass");
  command->add_flag("--dispatch-outputs", compile->dispatchOutputs,
                    "Makes the result of every dispatch an output, after those "
                    "of the model");
  compile->flags.addTo(*command);
  compile->flags.addAutotuneTo(*command);
  command->callback(
      [&action, compile] { action = [compile] { return compile->run(); }; });
}

} // namespace tessera::tool
