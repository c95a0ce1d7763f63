//===- SnapshotCheck.cpp - Save and restore in the middle of a run --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   snapshot_check OBJECT INPUT.npy... --at CYCLE...
//
// Runs an object to its end; at each given core cycle it saves the whole device,
// restores it into a fresh one, and lets that run to its end too. Prints the
// final time and memory hash of every device and fails unless all are equal.
//
//===----------------------------------------------------------------------===//

#include "tessera/Object/Object.h"
#include "tessera/Support/File.h"
#include "tessera/Support/Npy.h"
#include "tessera/driver/SimDriver.h"
#include "tessera/runtime/Device.h"
#include "tessera/runtime/Executable.h"
#include "tessera/runtime/Queue.h"
#include <cstdlib>
#include <fmt/format.h>

using namespace tessera;

namespace {

struct EndState {
  uint64_t time = 0, memoryHash = 0, cycles = 0;
  bool operator==(const EndState &) const = default;
};

EndState runToEnd(driver::SimDriver &driver) {
  while (driver.advance(driver::timeInfinite) == driver::Progress::Interrupted)
    driver.takeInterrupts();
  sim::Statistics statistics = driver.device().statistics();
  uint64_t cycles = statistics.commandBuffers.empty()
                        ? 0
                        : statistics.commandBuffers.back().cycles();
  return {driver.now(), driver.device().memoryHash(), cycles};
}

Status check(const std::string &objectPath,
             const std::vector<std::string> &inputPaths,
             const std::vector<uint64_t> &savePoints) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, readFile(objectPath));
  TESSERA_ASSIGN_OR_RETURN(Object object, readObject(bytes, objectPath));
  TESSERA_ASSIGN_OR_RETURN(Architecture arch,
                           loadArchitecture(object.architectureName));
  if (inputPaths.size() != object.inputs.size())
    return Status(StatusCode::InvalidArgument,
                  fmt::format("{} inputs given, the object has {}",
                              inputPaths.size(), object.inputs.size()));

  auto owned = std::make_unique<driver::SimDriver>(arch);
  driver::SimDriver &driver = *owned;
  TESSERA_ASSIGN_OR_RETURN(runtime::Device device,
                           runtime::Device::create(std::move(owned)));
  TESSERA_ASSIGN_OR_RETURN(runtime::AddressSpace space,
                           runtime::AddressSpace::create(device));
  TESSERA_ASSIGN_OR_RETURN(runtime::Executable executable,
                           runtime::Executable::load(space, object));
  std::vector<runtime::Buffer> bindings;
  for (size_t i = 0; i < inputPaths.size(); ++i) {
    TESSERA_ASSIGN_OR_RETURN(NpyArray array, readNpy(inputPaths[i]));
    TESSERA_ASSIGN_OR_RETURN(runtime::Buffer buffer,
                             space.allocate(object.inputs[i].bytes));
    TESSERA_RETURN_IF_ERROR(
        buffer.write(0, std::as_bytes(std::span(array.data))));
    bindings.push_back(std::move(buffer));
  }
  for (const TensorSignature &output : object.outputs) {
    TESSERA_ASSIGN_OR_RETURN(runtime::Buffer buffer,
                             space.allocate(output.bytes));
    bindings.push_back(std::move(buffer));
  }
  TESSERA_ASSIGN_OR_RETURN(runtime::Queue queue, runtime::Queue::create(space));
  TESSERA_RETURN_IF_ERROR(queue.execute(executable.commands(), bindings));

  std::vector<EndState> ends;
  for (uint64_t cycle : savePoints) {
    driver.advance(cycle * device.cycleTime());
    TESSERA_ASSIGN_OR_RETURN(std::vector<std::byte> snapshot, driver.save());
    driver::SimDriver other(arch);
    TESSERA_RETURN_IF_ERROR(other.restore(snapshot));
    TESSERA_ASSIGN_OR_RETURN(std::vector<std::byte> again, other.save());
    if (again != snapshot)
      return Status(StatusCode::Internal,
                    fmt::format("cycle {}: saving the restored device gives "
                                "other bytes",
                                cycle));
    uint64_t savedAt = other.now();
    EndState end = runToEnd(other);
    if (savedAt == end.time)
      return Status(StatusCode::InvalidArgument,
                    fmt::format("cycle {}: the run had ended already", cycle));
    ends.push_back(end);
    fmt::print("saved at cycle {:>12}: {} bytes, time {} fs, hash {:016x}\n",
               cycle, snapshot.size(), end.time, end.memoryHash);
  }
  EndState whole = runToEnd(driver);
  fmt::print("uninterrupted, {} cycles: time {} fs, hash {:016x}\n",
             whole.cycles, whole.time, whole.memoryHash);
  for (const EndState &end : ends)
    if (end != whole)
      return Status(StatusCode::Internal, "a restored run ended differently");
  return Status::success();
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> files;
  std::vector<uint64_t> savePoints;
  bool points = false;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--at")
      points = true;
    else if (points)
      savePoints.push_back(std::strtoull(argv[i], nullptr, 10));
    else
      files.push_back(argument);
  }
  if (files.empty() || savePoints.empty()) {
    fmt::print(stderr, "usage: snapshot_check OBJECT INPUT.npy... --at CYCLE...\n");
    return 2;
  }
  Status status =
      check(files.front(), {files.begin() + 1, files.end()}, savePoints);
  if (!status.ok()) {
    fmt::print(stderr, "error: {}\n", status.message());
    return 1;
  }
  return 0;
}
