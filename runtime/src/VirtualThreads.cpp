//===- VirtualThreads.cpp - Host threads on the device's time -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/runtime/VirtualThreads.h"
#include "Hardware.h"
#include "HostScheduler.h"
#include <algorithm>
#include <fmt/format.h>

namespace tessera::runtime {

VirtualThreads::VirtualThreads(const Device &owner, uint64_t seed)
    : device(owner.state), scheduler(std::make_unique<HostScheduler>(seed)) {}
VirtualThreads::~VirtualThreads() = default;

void VirtualThreads::add(std::function<void()> body) {
  bodies.push_back(std::move(body));
}

uint64_t VirtualThreads::turns() const { return scheduler->turns(); }

Status VirtualThreads::run() {
  if (!device)
    return Status(StatusCode::FailedPrecondition,
                  "virtual threads: the device is an empty handle");
  for (size_t i = 0; i < bodies.size(); ++i)
    if (!bodies[i])
      return Status(StatusCode::InvalidArgument,
                    fmt::format("virtual threads of device '{}': thread {} is "
                                "an empty function",
                                device->hardware->label, i));
  {
    Hardware::Lock lock = device->hardware->lock();
    if (ran || device->hardware->scheduler)
      return Status(
          StatusCode::FailedPrecondition,
          fmt::format("virtual threads of device '{}': {}",
                      device->hardware->label,
                      ran ? "they have run already" : "others are running"));
    ran = true;
    device->hardware->scheduler = scheduler.get();
  }
  std::vector<std::thread> threads;
  std::vector<char> threw(bodies.size(), false);
  for (const std::function<void()> &body : bodies) {
    size_t number = scheduler->add();
    threads.emplace_back([this, number, &body, &threw] {
      scheduler->begin(number);
      try {
        body();
      } catch (...) { // None crosses the interface.
        threw[number] = true;
      }
      scheduler->end(number);
    });
  }
  scheduler->run();
  for (std::thread &thread : threads)
    thread.join();
  Hardware::Lock lock = device->hardware->lock();
  device->hardware->scheduler = nullptr;
  if (auto first = std::ranges::find(threw, true); first != threw.end())
    return Status(StatusCode::Internal,
                  fmt::format("virtual threads of device '{}': thread {} threw "
                              "an exception",
                              device->hardware->label, first - threw.begin()));
  return Status::success();
}

} // namespace tessera::runtime
