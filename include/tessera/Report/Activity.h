//===- Activity.h - What the device did over time --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A series of the simulator's counters, of bounded size however long the run:
// when it is full every second sample goes, and the step doubles.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_REPORT_ACTIVITY_H
#define TESSERA_REPORT_ACTIVITY_H

#include "tessera/sim/Statistics.h"
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::report {

/// Counters since reset at a moment.
struct ActivitySample {
  uint64_t cycle = 0;
  uint64_t dramBytesRead = 0, dramBytesWritten = 0; ///< On the data buses.
  uint64_t nocByteHops = 0;
  std::vector<uint64_t> channelBytes; ///< On each channel's data bus.
  /// Busy cycles of each core's engines, by sim::Engine.
  std::vector<std::vector<uint64_t>> busy;
  bool operator==(const ActivitySample &) const = default;
};

class Activity {
public:
  explicit Activity(size_t capacity = 1024) : capacity(capacity) {}

  /// Cycles after which the next sample is due.
  uint64_t step() const { return stepCycles; }
  /// Takes a sample; one at the same cycle as the last one changes nothing.
  void add(const sim::Statistics &statistics);
  const std::vector<ActivitySample> &samples() const { return kept; }

private:
  size_t capacity;
  uint64_t stepCycles = 32;
  std::vector<ActivitySample> kept;
};

} // namespace tessera::report

#endif // TESSERA_REPORT_ACTIVITY_H
