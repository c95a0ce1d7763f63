//===- ConcurrentRun.cpp - Several models on one device ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConcurrentRun.h"
#include "tessera/driver/SimDriver.h"
#include "tessera/runtime/Executable.h"
#include "tessera/runtime/Queue.h"
#include <algorithm>
#include <fmt/format.h>

namespace tessera::tool {

using namespace tessera::runtime;

namespace {
/// A model on a device.
struct Placed {
  AddressSpace space;
  Executable executable;
  std::vector<Buffer> bindings;
  Queue queue;
  Semaphore done;
};
/// What a model's run took, in core cycles since the device's reset, and gave.
struct Outcome {
  uint64_t first = 0, end = 0;
  uint64_t displacedBytes = 0;
  std::vector<std::vector<std::byte>> outputs;
};
} // namespace

static Result<Placed> place(const Device &device, const ConcurrentModel &model,
                            uint32_t number) {
  Placed placed;
  TESSERA_ASSIGN_OR_RETURN(placed.space,
                           AddressSpace::create(device, model.name));
  TESSERA_ASSIGN_OR_RETURN(
      placed.executable,
      Executable::load(placed.space, model.object, model.name));
  auto bind = [&](const TensorSignature &tensor) -> Status {
    BufferOptions options;
    options.label = model.name + " " + tensor.name;
    TESSERA_ASSIGN_OR_RETURN(
        Buffer buffer,
        placed.space.allocate(std::max<uint64_t>(tensor.bytes, 1), options));
    placed.bindings.push_back(std::move(buffer));
    return Status::success();
  };
  for (size_t i = 0; i < model.object.inputs.size(); ++i) {
    TESSERA_RETURN_IF_ERROR(bind(model.object.inputs[i]));
    TESSERA_RETURN_IF_ERROR(
        placed.bindings.back().write(0, model.inputs[i].bytes));
  }
  for (const TensorSignature &output : model.object.outputs)
    TESSERA_RETURN_IF_ERROR(bind(output));
  // The packet's id tells the runs apart in the device's records.
  TESSERA_ASSIGN_OR_RETURN(
      placed.queue,
      Queue::create(placed.space, {.firstId = number, .label = model.name}));
  TESSERA_ASSIGN_OR_RETURN(placed.done,
                           Semaphore::create(device, {.label = model.name}));
  return placed;
}

static Result<std::vector<Outcome>>
runTogether(std::span<const ConcurrentModel> models, const Architecture &arch,
            bool timingOnly) {
  sim::DeviceOptions options;
  options.timingOnly = timingOnly;
  auto driver = std::make_unique<driver::SimDriver>(arch, options);
  sim::Device &simulator = driver->device();
  TESSERA_ASSIGN_OR_RETURN(Device device,
                           Device::create(std::move(driver), arch.name));
  std::vector<Placed> placed;
  for (const ConcurrentModel &model : models) {
    TESSERA_ASSIGN_OR_RETURN(Placed one,
                             place(device, model, uint32_t(placed.size())));
    placed.push_back(std::move(one));
  }
  for (Placed &one : placed)
    TESSERA_RETURN_IF_ERROR(one.queue.execute(
        one.executable.commands(), one.bindings, {.signal = {{one.done, 1}}}));
  for (Placed &one : placed)
    TESSERA_RETURN_IF_ERROR(one.done.wait(1));
  sim::Statistics statistics = simulator.statistics();
  std::vector<Outcome> outcomes;
  for (size_t i = 0; i < models.size(); ++i) {
    Outcome &outcome = outcomes.emplace_back();
    auto record = std::ranges::find_if(
        statistics.commandBuffers,
        [&](const sim::CommandBufferRecord &r) { return r.packetId == i; });
    if (record == statistics.commandBuffers.end())
      return Status(StatusCode::Internal,
                    models[i].name + ": the device kept no record of its run");
    outcome.first = record->firstFetchCycle;
    outcome.end = record->endCycle;
    if (placed[i].executable.missesSharedMemory())
      outcome.displacedBytes = models[i].object.sharedArenaBytes;
    const Object &object = models[i].object;
    for (size_t o = 0; o < object.outputs.size() && !timingOnly; ++o) {
      auto &bytes = outcome.outputs.emplace_back(object.outputs[o].bytes);
      TESSERA_RETURN_IF_ERROR(
          placed[i].bindings[object.inputs.size() + o].read(0, bytes));
    }
  }
  return outcomes;
}

Result<report::InterferenceReport>
runConcurrently(std::span<const ConcurrentModel> models,
                const Architecture &arch, bool timingOnly) {
  report::InterferenceReport report;
  report.arch = arch.name;
  report.clockGhz = arch.clockGhz;
  TESSERA_ASSIGN_OR_RETURN(std::vector<Outcome> together,
                           runTogether(models, arch, timingOnly));
  uint64_t begin = ~uint64_t(0);
  for (const Outcome &outcome : together)
    begin = std::min(begin, outcome.first);
  for (size_t i = 0; i < models.size(); ++i) {
    TESSERA_ASSIGN_OR_RETURN(
        std::vector<Outcome> alone,
        runTogether(models.subspan(i, 1), arch, timingOnly));
    report.runs.push_back({models[i].name, alone[0].end - alone[0].first,
                           together[i].end - together[i].first,
                           together[i].end - begin,
                           together[i].displacedBytes});
    for (size_t o = 0; o < alone[0].outputs.size(); ++o)
      if (alone[0].outputs[o] != together[i].outputs[o])
        return Status(
            StatusCode::Internal,
            fmt::format(
                "{}: output '{}' together with other models is not what "
                "it is alone",
                models[i].name, models[i].object.outputs[o].name));
  }
  return report;
}

} // namespace tessera::tool
