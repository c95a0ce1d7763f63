//===- RuntimeCopy.cpp - Moving memory with the runtime alone -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fills a buffer, copies it, reads it back and checks it, on the simulated
// `tiny` device or the architecture named on the command line:
//
//   runtime_copy [ARCHITECTURE]
//
//===----------------------------------------------------------------------===//

#include "tessera/driver/SimDriver.h"
#include "tessera/runtime/Queue.h"
#include <algorithm>
#include <fmt/format.h>

using namespace tessera;
using namespace tessera::runtime;

static Status run(const std::string &architecture) {
  TESSERA_ASSIGN_OR_RETURN(Architecture arch, loadArchitecture(architecture));
  TESSERA_ASSIGN_OR_RETURN(
      Device device,
      Device::create(std::make_unique<driver::SimDriver>(arch), arch.name));
  TESSERA_ASSIGN_OR_RETURN(AddressSpace space, AddressSpace::create(device));
  TESSERA_ASSIGN_OR_RETURN(Queue queue, Queue::create(space));
  TESSERA_ASSIGN_OR_RETURN(Semaphore done, Semaphore::create(device));

  constexpr uint64_t bytes = 1 << 20;
  constexpr uint32_t pattern = 0x600dcafe;
  TESSERA_ASSIGN_OR_RETURN(Buffer source, space.allocate(bytes));
  TESSERA_ASSIGN_OR_RETURN(Buffer destination, space.allocate(bytes));

  // Without the barrier the copy could overtake the fill.
  TESSERA_RETURN_IF_ERROR(queue.fill(source, pattern));
  TESSERA_RETURN_IF_ERROR(queue.barrier());
  TESSERA_RETURN_IF_ERROR(
      queue.copy(destination, source, {.signal = {{done, 1}}}));
  TESSERA_RETURN_IF_ERROR(done.wait(1));
  driver::Time time = device.now();

  std::vector<uint32_t> words(bytes / sizeof(uint32_t));
  TESSERA_RETURN_IF_ERROR(
      queue.readBack(destination, std::as_writable_bytes(std::span(words))));
  auto wrong = std::find_if(words.begin(), words.end(),
                            [](uint32_t word) { return word != pattern; });
  if (wrong != words.end())
    return Status(StatusCode::Internal,
                  fmt::format("word {} is {:#x}, expected {:#x}",
                              wrong - words.begin(), *wrong, pattern));
  fmt::print(
      "{}: filled and copied {} bytes in {} cycles; read back in {} more\n",
      device.label(), bytes, time / device.cycleTime(),
      (device.now() - time) / device.cycleTime());
  return Status::success();
}

int main(int argc, char **argv) {
  if (argc > 2) {
    fmt::print(stderr, "error: one architecture at most\n");
    return 2;
  }
  Status status = run(argc > 1 ? argv[1] : "tiny");
  if (status.ok())
    return 0;
  fmt::print(stderr, "error: {}\n", status.message());
  return 1;
}
