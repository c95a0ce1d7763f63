//===- RuntimeDebug.cpp - Finding out why ---------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One small program of two queues, and what there is to look at it when it goes
// wrong (docs/diagnosis.md):
//
//   runtime_debug run                    as it should be
//   runtime_debug race                   without a wait: the race is reported
//   runtime_debug hang                   two queues that wait for each other
//   runtime_debug record FILE            written down on the way
//   runtime_debug replay FILE            played back; the first difference
//   runtime_debug inject KIND=RATE... [seed=N]
//                                        with faults of the device, of 1,000
//                                        occasions so many
//   runtime_debug explore N              on N schedules; the seed that is wrong
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/File.h"
#include "tessera/driver/FaultDriver.h"
#include "tessera/driver/RecordDriver.h"
#include "tessera/driver/SimDriver.h"
#include "tessera/runtime/Queue.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>

using namespace tessera;
using namespace tessera::runtime;

namespace {

constexpr uint64_t bytes = 64 << 10;
constexpr uint64_t rounds = 8;

Status wrong(std::string message) {
  return Status(StatusCode::InvalidArgument, std::move(message));
}

Result<uint64_t> number(std::string_view text) {
  uint64_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return wrong(fmt::format("'{}' is no number", text));
  return value;
}

Result<std::unique_ptr<driver::SimDriver>>
simulator(const sim::DeviceOptions &options = {}) {
  TESSERA_ASSIGN_OR_RETURN(Architecture arch, loadArchitecture("tiny"));
  return std::make_unique<driver::SimDriver>(arch, options);
}

BufferOptions named(std::string label) {
  BufferOptions options;
  options.label = std::move(label);
  return options;
}

/// One queue fills a buffer, another one copies it, the first one goes on when
/// it has been copied. Without `ordered` the copy does not wait for the fill.
Status work(const Device &device, bool ordered = true) {
  TESSERA_ASSIGN_OR_RETURN(AddressSpace space,
                           AddressSpace::create(device, "context"));
  TESSERA_ASSIGN_OR_RETURN(Queue filler,
                           Queue::create(space, {.label = "filler"}));
  TESSERA_ASSIGN_OR_RETURN(Queue copier,
                           Queue::create(space, {.label = "copier"}));
  TESSERA_ASSIGN_OR_RETURN(Buffer a, space.allocate(bytes, named("a")));
  TESSERA_ASSIGN_OR_RETURN(Buffer b, space.allocate(bytes, named("b")));
  TESSERA_ASSIGN_OR_RETURN(Semaphore filled,
                           Semaphore::create(device, {.label = "filled"}));
  TESSERA_ASSIGN_OR_RETURN(Semaphore copied,
                           Semaphore::create(device, {.label = "copied"}));
  std::vector<uint32_t> words(bytes / sizeof(uint32_t));
  for (uint64_t round = 1; round <= rounds; ++round) {
    TESSERA_RETURN_IF_ERROR(
        filler.fill(a, uint32_t(round),
                    {.wait = {{copied, round - 1}},
                     .signal = {{filled, round}},
                     .label = fmt::format("fill {}", round)}));
    SubmitOptions copy{.signal = {{copied, round}},
                       .label = fmt::format("copy {}", round)};
    if (ordered)
      copy.wait = {{filled, round}};
    TESSERA_RETURN_IF_ERROR(copier.copy(b, a, copy));
    TESSERA_RETURN_IF_ERROR(copied.wait(round));
    TESSERA_RETURN_IF_ERROR(
        b.read(0, std::as_writable_bytes(std::span(words))));
    if (std::ranges::any_of(words, [&](uint32_t w) { return w != round; }))
      return Status(
          StatusCode::Internal,
          fmt::format("round {}: the copy is not what was filled", round));
  }
  TESSERA_RETURN_IF_ERROR(filler.waitIdle());
  return copier.waitIdle();
}

void printTime(const Device &device) {
  fmt::print("{} rounds in {} cycles\n", rounds,
             device.now() / device.cycleTime());
}

Status run() {
  TESSERA_ASSIGN_OR_RETURN(auto driver, simulator());
  TESSERA_ASSIGN_OR_RETURN(Device device, Device::create(std::move(driver)));
  TESSERA_RETURN_IF_ERROR(work(device));
  printTime(device);
  return Status::success();
}

Status race() {
  TESSERA_ASSIGN_OR_RETURN(auto driver, simulator());
  TESSERA_ASSIGN_OR_RETURN(Device device, Device::create(std::move(driver)));
  device.detectRaces();
  // It may come out right all the same: races are found in any case.
  Status status = work(device, /*ordered=*/false);
  fmt::print("{}\n", status.ok() ? "the values are right" : status.message());
  for (const RaceReport &report : device.races())
    fmt::print("{}\n", report.print());
  return Status::success();
}

Status hang() {
  TESSERA_ASSIGN_OR_RETURN(auto driver, simulator());
  TESSERA_ASSIGN_OR_RETURN(Device device, Device::create(std::move(driver)));
  TESSERA_ASSIGN_OR_RETURN(AddressSpace space,
                           AddressSpace::create(device, "context"));
  TESSERA_ASSIGN_OR_RETURN(Queue left, Queue::create(space, {.label = "left"}));
  TESSERA_ASSIGN_OR_RETURN(Queue right,
                           Queue::create(space, {.label = "right"}));
  TESSERA_ASSIGN_OR_RETURN(Buffer a, space.allocate(bytes, named("a")));
  TESSERA_ASSIGN_OR_RETURN(Semaphore s,
                           Semaphore::create(device, {.label = "S"}));
  TESSERA_ASSIGN_OR_RETURN(Semaphore t,
                           Semaphore::create(device, {.label = "T"}));
  TESSERA_RETURN_IF_ERROR(left.fill(a, 1, {.label = "first"}));
  TESSERA_RETURN_IF_ERROR(left.fill(
      a, 2, {.wait = {{t, 1}}, .signal = {{s, 1}}, .label = "second"}));
  TESSERA_RETURN_IF_ERROR(right.fill(
      a, 3, {.wait = {{s, 1}}, .signal = {{t, 1}}, .label = "third"}));
  fmt::print("{}\n\n", left.waitIdle().message());
  fmt::print("{}", device.hangDump().print());
  return Status::success();
}

Status record(const std::string &path) {
  TESSERA_ASSIGN_OR_RETURN(auto simulated, simulator());
  auto recorder = std::make_unique<driver::RecordDriver>(std::move(simulated));
  driver::RecordDriver &tape = *recorder;
  TESSERA_ASSIGN_OR_RETURN(Device device, Device::create(std::move(recorder)));
  TESSERA_RETURN_IF_ERROR(work(device));
  driver::Recording recording = tape.recording();
  TESSERA_RETURN_IF_ERROR(writeFile(path, driver::encodeRecording(recording)));
  printTime(device);
  fmt::print("{} interactions recorded\n", recording.operations.size());
  return Status::success();
}

Status replay(const std::string &path) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<uint8_t> file, readFile(path));
  Result<driver::Recording> recording = driver::decodeRecording(file);
  if (!recording)
    return recording.status().withContext(path);
  TESSERA_ASSIGN_OR_RETURN(auto device, simulator());
  TESSERA_ASSIGN_OR_RETURN(driver::ReplayReport report,
                           driver::replay(*recording, *device));
  if (report.divergence)
    return Status(StatusCode::Internal, report.divergence->print());
  fmt::print("{} interactions played back, none differs; the end is at {} fs\n",
             report.operations, report.end);
  return Status::success();
}

Status inject(std::span<char *const> arguments) {
  driver::FaultPlan plan;
  for (std::string_view argument : arguments) {
    size_t equals = argument.find('=');
    if (equals == argument.npos)
      return wrong(
          fmt::format("'{}': expected kind=rate or seed=number", argument));
    std::string_view name = argument.substr(0, equals);
    TESSERA_ASSIGN_OR_RETURN(uint64_t value,
                             number(argument.substr(equals + 1)));
    if (name == "seed") {
      plan.seed = value;
      continue;
    }
    bool known = false;
    std::string names;
    for (unsigned i = 0; i < driver::numFaultKinds; ++i) {
      auto kind = driver::FaultKind(i);
      names += (i ? ", " : "") + std::string(driver::faultKindName(kind));
      if (driver::faultKindName(kind) == name) {
        known = true;
        if (value > 1000)
          return wrong(fmt::format("'{}': at most 1000 of 1,000", argument));
        plan[kind] = uint32_t(value);
      }
    }
    if (!known)
      return wrong(fmt::format("no fault '{}'; there are {}", name, names));
  }
  TESSERA_ASSIGN_OR_RETURN(auto simulated, simulator());
  auto faulty =
      std::make_unique<driver::FaultDriver>(std::move(simulated), plan);
  driver::FaultDriver &faults = *faulty;
  TESSERA_ASSIGN_OR_RETURN(Device device, Device::create(std::move(faulty)));
  Status status = work(device);
  for (const driver::InjectedFault &fault : faults.log())
    fmt::print("injected at {} fs: {} ({})\n", fault.time,
               driver::faultKindName(fault.kind), fault.what);
  for (const FaultReport &report : device.faults())
    fmt::print("reported: {}\n", report.print());
  fmt::print("{}\n", status.ok() ? "all rounds came out right"
                                 : "it ended with: " + status.message());
  return Status::success();
}

Status explore(uint64_t schedules) {
  for (uint64_t seed = 1; seed <= schedules; ++seed) {
    sim::DeviceOptions options;
    options.explore = true;
    options.seed = seed;
    TESSERA_ASSIGN_OR_RETURN(auto driver, simulator(options));
    TESSERA_ASSIGN_OR_RETURN(Device device, Device::create(std::move(driver)));
    // The mistake of `race`: which schedule shows it?
    if (Status status = work(device, /*ordered=*/false); !status.ok()) {
      fmt::print("seed {}: {}\n", seed, status.message());
      return Status::success();
    }
  }
  fmt::print("right on all {} schedules\n", schedules);
  return Status::success();
}

Status choose(std::span<char *const> arguments) {
  std::string_view what =
      arguments.empty() ? std::string_view() : arguments.front();
  size_t count = arguments.size();
  if (what == "run" && count == 1)
    return run();
  if (what == "race" && count == 1)
    return race();
  if (what == "hang" && count == 1)
    return hang();
  if (what == "record" && count == 2)
    return record(arguments[1]);
  if (what == "replay" && count == 2)
    return replay(arguments[1]);
  if (what == "inject" && count >= 2)
    return inject(arguments.subspan(1));
  if (what == "explore" && count == 2) {
    TESSERA_ASSIGN_OR_RETURN(uint64_t schedules, number(arguments[1]));
    return explore(schedules);
  }
  return wrong("usage: runtime_debug run | race | hang | record FILE | replay "
               "FILE | inject KIND=RATE... [seed=N] | explore N");
}

} // namespace

int main(int argc, char **argv) {
  Status status = choose(std::span<char *const>(argv, size_t(argc)).subspan(1));
  if (status.ok())
    return 0;
  fmt::print(stderr, "error: {}\n", status.message());
  return 1;
}
