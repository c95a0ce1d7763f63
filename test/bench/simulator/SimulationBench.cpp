//===- SimulationBench.cpp - Host time of simulating an object --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   simulation-bench OBJECT ARCH [EXECUTIONS] [--benchmark_…]
//
// One iteration executes the object once on a device that is there already,
// with inputs of zeros in place: what is measured is the simulation, not the
// process around it. Once computing all values, once with --timing-only; as
// often as the benchmark needs, or EXECUTIONS times one after the other.
//
//===----------------------------------------------------------------------===//

#include "tessera/Object/Object.h"
#include "tessera/Support/File.h"
#include "tessera/driver/SimDriver.h"
#include "tessera/runtime/Executable.h"
#include "tessera/runtime/Queue.h"
#include <benchmark/benchmark.h>
#include <charconv>
#include <cstring>
#include <fmt/format.h>

using namespace tessera;
using namespace tessera::runtime;

static Status simulate(benchmark::State &state, const Object &object,
                       const Architecture &arch, bool timingOnly) {
  sim::DeviceOptions options;
  options.timingOnly = timingOnly;
  auto driver = std::make_unique<driver::SimDriver>(arch, options);
  sim::Device &simulator = driver->device();
  TESSERA_ASSIGN_OR_RETURN(Device device,
                           Device::create(std::move(driver), arch.name));
  TESSERA_ASSIGN_OR_RETURN(AddressSpace space, AddressSpace::create(device));
  TESSERA_ASSIGN_OR_RETURN(Executable executable,
                           Executable::load(space, object, "bench"));
  std::vector<Buffer> bindings;
  for (const auto *tensors : {&object.inputs, &object.outputs})
    for (const TensorSignature &tensor : *tensors) {
      TESSERA_ASSIGN_OR_RETURN(
          Buffer buffer,
          space.allocate(std::max<uint64_t>(tensor.bytes, 1), {}));
      std::vector<std::byte> zeros(tensor.bytes);
      TESSERA_RETURN_IF_ERROR(buffer.write(0, zeros));
      bindings.push_back(std::move(buffer));
    }
  TESSERA_ASSIGN_OR_RETURN(Queue queue, Queue::create(space));
  TESSERA_ASSIGN_OR_RETURN(Semaphore done,
                           Semaphore::create(device, {.label = "done"}));
  uint64_t executions = 0, before = simulator.statistics().cycles;
  // Atoms on the DRAM's data buses; messages over links and ports.
  auto traffic = [&] {
    sim::MemoryStatistics memory = simulator.memoryStatistics();
    std::pair<uint64_t, uint64_t> sums;
    for (const sim::ChannelStatistics &channel : memory.channels)
      sums.first += channel.reads + channel.writes;
    for (const sim::LinkStatistics &link : memory.links)
      sums.second += link.messages;
    return sums;
  };
  auto [atomsBefore, hopsBefore] = traffic();
  for (auto _ : state) {
    TESSERA_RETURN_IF_ERROR(queue.execute(executable.commands(), bindings,
                                          {.signal = {{done, ++executions}}}));
    TESSERA_RETURN_IF_ERROR(done.wait(executions));
  }
  auto cycles = double(simulator.statistics().cycles - before);
  auto [atoms, hops] = traffic();
  state.counters["cycles"] = cycles / double(executions);
  state.counters["core_cycles"] =
      cycles * double(arch.cores.count) / double(executions);
  state.counters["transactions"] =
      double(atoms - atomsBefore) / double(executions);
  state.counters["hops"] = double(hops - hopsBefore) / double(executions);
  state.counters["cycles_per_s"] =
      benchmark::Counter(cycles, benchmark::Counter::kIsRate);
  return Status::success();
}

/// The file's bytes are gone when this is over: only what a device needs counts
/// as the simulator's memory.
static Result<Object> readObjectFile(const std::string &path) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, readFile(path));
  return readObject(bytes, path);
}

int main(int argc, char **argv) {
  benchmark::Initialize(&argc, argv);
  int64_t executions = 0; // as the benchmark needs
  bool understood = argc == 3 || argc == 4;
  if (argc == 4) {
    const char *end = argv[3] + std::strlen(argv[3]);
    auto [rest, error] = std::from_chars(argv[3], end, executions);
    understood = error == std::errc() && rest == end && executions > 0;
  }
  if (!understood) {
    fmt::print(stderr, "usage: simulation-bench OBJECT ARCH [EXECUTIONS] "
                       "[--benchmark_…]; EXECUTIONS is 1 or more\n");
    return 2;
  }
  Result<Object> object = readObjectFile(argv[1]);
  auto arch = loadArchitecture(argv[2]);
  for (const Status &status : {object.status(), arch.status()})
    if (!status.ok()) {
      fmt::print(stderr, "error: {}\n", status.message());
      return 1;
    }
  bool failed = false;
  for (bool timingOnly : {false, true}) {
    auto *bench = benchmark::RegisterBenchmark(
        timingOnly ? "timing_only" : "functional",
        [&, timingOnly](benchmark::State &state) {
          if (Status s = simulate(state, *object, *arch, timingOnly); !s.ok()) {
            failed = true;
            state.SkipWithError(s.message().c_str());
          }
        });
    bench->Unit(benchmark::kMillisecond);
    if (executions != 0)
      bench->Iterations(executions);
  }
  benchmark::RunSpecifiedBenchmarks();
  return failed ? 1 : 0;
}
