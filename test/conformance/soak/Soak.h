//===- Soak.h - Random work against a sequential oracle ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations drawn from a seed over several queues. Accesses to the same buffer
// are ordered by the buffer's timeline, in the order of submission, so that
// executing the operations one after the other on the host gives the only right
// contents; all else is free to overlap. From time to time everything is waited
// for and compared, byte by byte. A driver that injects faults stands between:
// lost and late doorbells and interrupts, torn fetches, stalls, corrected bits,
// refused allocations; and every so often the whole device is lost, reset, and
// filled again.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_CONFORMANCE_SOAK_H
#define TESSERA_TEST_CONFORMANCE_SOAK_H

#include "tessera/Support/Status.h"
#include <array>
#include <cstdint>
#include <string>

namespace tessera::soak {

struct Options {
  uint64_t operations = 10'000;
  uint64_t seed = 1;
  unsigned queues = 8;
  unsigned buffers = 24;
  uint64_t checkEvery = 500; ///< Operations between comparisons.
  uint64_t lossEvery =
      5'000; ///< Operations between losses of the device; 0: never.
  bool faults = true;
  bool simulator = true; ///< Else the null device.
  bool explore = true;   ///< Of the simulator's schedules.
};

struct Counts {
  uint64_t submitted = 0, refused = 0; ///< Refused: by a failed allocation.
  uint64_t executions = 0, hostCalls = 0;
  uint64_t checks = 0, bytesCompared = 0;
  uint64_t faults = 0, losses = 0;
  uint64_t cycles = 0;
  std::string print() const;
};

/// Internal, naming the operation, for a wrong byte, a lost operation, or
/// memory that is not given back; else whatever failed.
Result<Counts> run(const Options &options);

} // namespace tessera::soak

#endif // TESSERA_TEST_CONFORMANCE_SOAK_H
