//===- InfoCommand.cpp - tessera info -------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"
#include "CompileFlags.h"
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

/// Operations of an operator: two for each multiply-add, one for each lane
/// operation.
static uint64_t operationsOf(const OperatorRecord &work) {
  if (work.macs() != 0)
    return 2 * work.macs();
  return work.elements * (uint64_t(work.aluOps) + work.sfuOps);
}

static double intensity(uint64_t operations, uint64_t bytes) {
  return bytes == 0
             ? 0
             : static_cast<double>(operations) / static_cast<double>(bytes);
}

static void printWork(const ModelWork &work, bool layers) {
  uint64_t macs = 0, operations = 0;
  for (const ModelWork::Layer &layer : work.layers) {
    macs += layer.work.macs();
    operations += operationsOf(layer.work);
  }
  fmt::print("{:<8} {} multiply-adds, {} operations in all, {} layers\n",
             "work", macs, operations, work.layers.size());
  fmt::print("{:<8} {} bytes of inputs, weights and outputs; {:.2f} operations "
             "per byte\n",
             "data", work.compulsoryBytes,
             intensity(operations, work.compulsoryBytes));
  if (!layers)
    return;
  fmt::print("\n{:>16} {:>16} {:>14} {:>10}  {:<12} {}\n", "multiply-adds",
             "operations", "bytes", "ops/byte", "kind", "layer");
  for (const ModelWork::Layer &layer : work.layers) {
    uint64_t own = operationsOf(layer.work);
    fmt::print("{:>16} {:>16} {:>14} {:>10.2f}  {:<12} {}\n", layer.work.macs(),
               own, layer.bytes, intensity(own, layer.bytes), layer.work.kind,
               layer.work.name);
  }
}

static int info(const std::string &path, const std::vector<std::string> &dims,
                bool layers) {
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
  fmt::print("{:<8} {} parameters, {} bytes\n", "weights", model->parameters,
             model->parameterBytes);
  for (const auto &[kind, count] : model->operators)
    fmt::print("{:<8} {} x {}\n", "operator", count, kind);
  CompileFlags flags;
  flags.dims = dims;
  Result<CompileOptions> options = flags.options();
  if (!options)
    return fail(options.status());
  // What the model declares is known even if it cannot be compiled.
  Result<ModelWork> work = countModelWork(path, *options);
  if (work)
    printWork(*work, layers);
  else
    fmt::print("{:<8} {}\n", "refused", work.status().message());
  return exitGood;
}

void addInfoCommand(CLI::App &app, Action &action) {
  CLI::App *command =
      app.add_subcommand("info", "Tells what a model or an object is");
  struct Options {
    std::string path;
    std::vector<std::string> dims;
    bool layers = false;
  };
  auto options = std::make_shared<Options>();
  command->add_option("FILE", options->path, "Model or object")->required();
  command
      ->add_option("--dim", options->dims,
                   "NAME=N: value of a symbolic dimension of a model")
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false)
      ->check(CLI::Validator(CompileFlags::checkDim, ""));
  command->add_flag("--layers", options->layers,
                    "Work, bytes and operations per byte of each layer");
  command->callback([&action, options] {
    action = [options] {
      return info(options->path, options->dims, options->layers);
    };
  });
}

} // namespace tessera::tool
