//===- InfoCommand.cpp - tessera info -------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"
#include "ObjectFile.h"
#include "tessera/Object/Print.h"
#include "tessera/Pipelines/Compiler.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::tool {

static void printTensors(const char *title,
                         const std::vector<ModelDescription::Tensor> &tensors) {
  for (const ModelDescription::Tensor &tensor : tensors)
    fmt::print("{:<8} {}: {} [{}]\n", title, tensor.name, tensor.type,
               fmt::join(tensor.shape, ", "));
}

static int info(const std::string &path) {
  Result<bool> isObject = isObjectFile(path);
  if (!isObject)
    return fail(isObject.status());
  if (*isObject) {
    Result<Object> object = readObjectFile(path);
    if (!object)
      return fail(object.status());
    fmt::print("{}", describeObject(*object));
    return exitGood;
  }
  Result<ModelDescription> model = describeModel(path);
  if (!model)
    return fail(model.status());
  fmt::print("{:<8} {}\n", "format", model->format);
  printTensors("input", model->inputs);
  printTensors("output", model->outputs);
  fmt::print("{:<8} {} bytes\n", "weights", model->parameterBytes);
  for (const auto &[kind, count] : model->operators)
    fmt::print("{:<8} {} x {}\n", "operator", count, kind);
  return exitGood;
}

void addInfoCommand(CLI::App &app, Action &action) {
  CLI::App *command =
      app.add_subcommand("info", "Tells what a model or an object is");
  auto path = std::make_shared<std::string>();
  command->add_option("FILE", *path, "Model or object")->required();
  command->callback(
      [&action, path] { action = [path] { return info(*path); }; });
}

} // namespace tessera::tool
