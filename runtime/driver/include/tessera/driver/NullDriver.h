//===- NullDriver.h - A device without engines ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads rings, walks page tables, orders packets, moves memory and signals
// semaphores like any device, but has no cores: a dispatch checks its kernel
// record and completes. Every packet takes the same time. For tests of the
// runtime and for measuring what the host costs.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DRIVER_NULLDRIVER_H
#define TESSERA_DRIVER_NULLDRIVER_H

#include "tessera/driver/Driver.h"
#include <memory>

namespace tessera::driver {

struct NullDriverOptions {
  uint64_t hostMemoryBytes = 64ull << 20;
  /// Core cycles from the start of a packet to its completion.
  uint64_t packetCycles = 10;
};

std::unique_ptr<Driver> makeNullDriver(const Architecture &architecture,
                                       const NullDriverOptions &options = {});

} // namespace tessera::driver

#endif // TESSERA_DRIVER_NULLDRIVER_H
