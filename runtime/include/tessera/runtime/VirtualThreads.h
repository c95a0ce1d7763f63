//===- VirtualThreads.h - Host threads on the device's time -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads of a program that take turns, by the device's time and a seed: the
// same seed gives the same interleaving, cycles and trace on any machine. One
// runs at a time; it may lose its turn at every call into the runtime, and
// waits while others go on. Device time passes when all of them wait.
//
// A failing seed is a reproducer; trying many seeds is how races are hunted.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_VIRTUALTHREADS_H
#define TESSERA_RUNTIME_VIRTUALTHREADS_H

#include "tessera/runtime/Device.h"
#include <functional>
#include <string>
#include <vector>

namespace tessera::runtime {

class HostScheduler;

class VirtualThreads {
public:
  VirtualThreads(const Device &device, uint64_t seed);
  ~VirtualThreads();
  VirtualThreads(const VirtualThreads &) = delete;
  VirtualThreads &operator=(const VirtualThreads &) = delete;

  /// A thread that runs `body` once run() is called.
  void add(std::function<void()> body);
  /// Runs all threads to their end; Internal if a body threw an exception.
  /// FailedPrecondition if it has run before or the device has virtual threads
  /// already. While it runs, no other thread may
  /// use the device.
  Status run();
  /// Turns that were given; part of what must be equal in equal runs.
  uint64_t turns() const;

private:
  std::shared_ptr<DeviceState> device;
  std::unique_ptr<HostScheduler> scheduler;
  std::vector<std::function<void()>> bodies;
  bool ran = false;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_VIRTUALTHREADS_H
