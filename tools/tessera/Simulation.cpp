//===- Simulation.cpp - An object on the simulated device -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Simulation.h"
#include "Progress.h"
#include "tessera/driver/SimDriver.h"
#include "tessera/runtime/Executable.h"
#include "tessera/runtime/Queue.h"
#include <chrono>
#include <fmt/format.h>
#include <optional>

namespace tessera::tool {

using namespace tessera::runtime;

static Result<Buffer> makeBuffer(AddressSpace &space,
                                 const TensorSignature &tensor) {
  BufferOptions options;
  options.label = tensor.name;
  return space.allocate(std::max<uint64_t>(tensor.bytes, 1), options);
}

namespace {
/// Tells an observer (null: nobody) of what the host does, from here to the end
/// of the scope.
class HostStepTrace {
public:
  HostStepTrace(sim::TraceObserver *observer, const sim::Device &simulator,
                sim::HostStep step)
      : observer(observer), simulator(simulator), step(step) {
    tell(sim::TraceEvent::Kind::HostBegin);
  }
  ~HostStepTrace() { tell(sim::TraceEvent::Kind::HostEnd); }
  HostStepTrace(const HostStepTrace &) = delete;
  HostStepTrace &operator=(const HostStepTrace &) = delete;

private:
  void tell(sim::TraceEvent::Kind kind) const {
    if (!observer)
      return;
    sim::TraceEvent event;
    event.kind = kind;
    event.id = uint32_t(step);
    event.timeFs = simulator.now();
    observer->event(event);
  }

  sim::TraceObserver *observer;
  const sim::Device &simulator;
  sim::HostStep step;
};
} // namespace

static Result<Executable> load(AddressSpace &space, const Object &object) {
  return Executable::load(
      space, object, object.sourceName.empty() ? "program" : object.sourceName);
}

static Result<std::vector<Buffer>> bind(AddressSpace &space,
                                        const Object &object,
                                        std::span<const HostTensor> inputs) {
  std::vector<Buffer> bindings;
  for (size_t i = 0; i < object.inputs.size(); ++i) {
    TESSERA_ASSIGN_OR_RETURN(Buffer buffer,
                             makeBuffer(space, object.inputs[i]));
    TESSERA_RETURN_IF_ERROR(buffer.write(0, inputs[i].bytes));
    bindings.push_back(std::move(buffer));
  }
  for (const TensorSignature &output : object.outputs) {
    TESSERA_ASSIGN_OR_RETURN(Buffer buffer, makeBuffer(space, output));
    bindings.push_back(std::move(buffer));
  }
  return bindings;
}

static Result<std::vector<HostTensor>> readOutputs(const Object &object,
                                                   std::span<Buffer> buffers) {
  std::vector<HostTensor> outputs;
  for (size_t i = 0; i < object.outputs.size(); ++i) {
    const TensorSignature &output = object.outputs[i];
    HostTensor tensor{output.name, output.type, output.shape, {}};
    tensor.bytes.resize(output.bytes);
    TESSERA_RETURN_IF_ERROR(buffers[i].read(0, tensor.bytes));
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}

/// Waits in slices of device time, so that a terminal sees progress, and
/// `activity` (if any) takes samples. Slices change no simulated cycle.
static Status waitInSlices(const Device &device, const Semaphore &done,
                           sim::Device &simulator, size_t dispatches,
                           report::Activity *activity) {
  Progress progress;
  if (!progress.visible() && !activity)
    return done.wait(1);
  if (activity)
    activity->add(simulator.statistics());
  while (true) {
    Status status =
        done.wait(1, device.afterCycles(activity ? activity->step() : 20'000));
    bool running = status.code() == StatusCode::DeadlineExceeded;
    bool draws = running && progress.due();
    if (activity || draws) {
      sim::Statistics statistics = simulator.statistics();
      if (activity)
        activity->add(statistics);
      if (draws)
        progress.draw(
            "simulating", statistics.dispatches.size(), dispatches,
            fmt::format("{} cycles, {:.0f}/s", statistics.cycles,
                        double(statistics.cycles) / progress.seconds()));
    }
    if (!running)
      return status;
  }
}

/// Says at which instruction a kernel faulted, if one did.
static Status withFaultPlace(Status status, const Object &object,
                             const Architecture &arch, sim::Device &simulator) {
  namespace mmio = isa::mmio;
  for (uint32_t q = 0; q < arch.cp.queues; ++q) {
    auto read = [&](uint64_t offset) -> uint64_t {
      Result<uint64_t> value =
          simulator.mmioRead(mmio::queueBase + q * mmio::queueStride + offset);
      return value ? *value : 0;
    };
    if (read(mmio::faultCause) == 0)
      continue;
    std::string place = faultPlaceText(object, read(mmio::faultPacket) >> 32,
                                       read(mmio::faultPc));
    if (!place.empty())
      return Status(status.code(), status.message() + "; " + place);
  }
  return status;
}

Result<SimulationResult> simulate(const Object &object,
                                  const Architecture &arch,
                                  std::span<const HostTensor> inputs,
                                  const SimulationOptions &options) {
  auto start = std::chrono::steady_clock::now();
  sim::DeviceOptions deviceOptions;
  deviceOptions.timingOnly = options.timingOnly;
  deviceOptions.seed = options.seed;
  deviceOptions.explore = options.explore;
  deviceOptions.profile = options.profile;
  deviceOptions.checks = options.checks;
  auto driver = std::make_unique<driver::SimDriver>(arch, deviceOptions);
  sim::Device &simulator = driver->device();
  simulator.setTraceObserver(options.observer);

  TESSERA_ASSIGN_OR_RETURN(Device device,
                           Device::create(std::move(driver), arch.name));
  TESSERA_ASSIGN_OR_RETURN(AddressSpace space, AddressSpace::create(device));
  std::optional<HostStepTrace> step;
  auto begin = [&](sim::HostStep next) {
    step.reset();
    step.emplace(options.observer, simulator, next);
  };
  begin(sim::HostStep::Load);
  TESSERA_ASSIGN_OR_RETURN(Executable executable, load(space, object));
  begin(sim::HostStep::Write);
  TESSERA_ASSIGN_OR_RETURN(std::vector<Buffer> bindings,
                           bind(space, object, inputs));
  begin(sim::HostStep::Submit);
  TESSERA_ASSIGN_OR_RETURN(Queue queue, Queue::create(space));
  TESSERA_ASSIGN_OR_RETURN(Semaphore done,
                           Semaphore::create(device, {.label = "completion"}));
  TESSERA_RETURN_IF_ERROR(
      queue.execute(executable.commands(), bindings, {.signal = {{done, 1}}}));
  SimulationResult result;
  for (size_t i = 0; i < object.kernels.size(); ++i) {
    TESSERA_ASSIGN_OR_RETURN(Kernel kernel,
                             executable.kernel(object.kernels[i].name));
    result.kernels[kernel.record] = i;
  }
  begin(sim::HostStep::Wait);
  Status status =
      waitInSlices(device, done, simulator, object.dispatches.size(),
                   options.activity ? &result.activity : nullptr);
  if (options.findings)
    for (const sim::Finding &finding : simulator.findings())
      options.findings->push_back(
          sim::print(finding, [&](uint64_t kernel, uint32_t pc) {
            return placeText(object, result.kernels, kernel, pc);
          }));
  if (status.code() == StatusCode::Deadlock)
    for (const std::string &line : simulator.explainWaits())
      status = Status(StatusCode::Deadlock, status.message() + "; " + line);
  if (!status.ok())
    status = withFaultPlace(std::move(status), object, arch, simulator);
  TESSERA_RETURN_IF_ERROR(status);

  result.statistics = simulator.statistics();
  result.memory = simulator.memoryStatistics();
  TESSERA_RETURN_IF_ERROR(simulator.checkConservation());
  simulator.setTraceObserver(nullptr);
  begin(sim::HostStep::Read);
  if (!options.timingOnly) {
    TESSERA_ASSIGN_OR_RETURN(
        result.outputs,
        readOutputs(object, std::span(bindings).subspan(object.inputs.size())));
  }
  step.reset();
  result.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return result;
}

} // namespace tessera::tool
