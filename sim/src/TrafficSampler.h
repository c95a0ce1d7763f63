//===- TrafficSampler.h - Traffic over time, for traces ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The mean rate of every DRAM channel and of every link between two samples.
// It looks at counters only, so that tracing changes no cycle. The distance of
// samples begins with 256 cycles and doubles after every 512 samples: a trace
// of a short run is fine, that of a long one is not long.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_TRAFFICSAMPLER_H
#define TESSERA_SIM_TRAFFICSAMPLER_H

#include "memory/MemorySystem.h"
#include "tessera/sim/Trace.h"

namespace tessera::sim {

class TrafficSampler {
public:
  TrafficSampler(const MemorySystem &memory, const Noc &noc, const Clock &clock)
      : memory(memory), noc(noc), clock(clock) {}

  /// Begins anew at `now`, with what has been moved until then.
  void restart(Time now);
  /// Before the first event at or after `next`: the samples up to there.
  void passTo(Time next, TraceObserver &observer) {
    if (next >= due)
      sampleTo(next, observer);
  }
  /// The device stops, perhaps for good: a sample of what was since the last
  /// one.
  void stop(Time now, TraceObserver &observer);

private:
  static constexpr Cycle firstInterval = 256;
  static constexpr uint32_t samplesOfAnInterval = 512;

  /// A channel or a link.
  struct Source {
    TraceEvent event; ///< Its kind and who it is.
    uint64_t bytes = 0, rate = 0;
    bool seen = false; ///< In the trace.
  };

  void sampleTo(Time next, TraceObserver &observer);
  void sample(Time at, TraceObserver &observer, bool always = false);
  void nextInterval();
  uint64_t bytesOf(const Source &source, size_t index) const;

  const MemorySystem &memory;
  const Noc &noc;
  const Clock &clock;
  std::vector<Source> sources; ///< Channels, then links.
  Cycle interval = firstInterval;
  uint32_t samples = 0; ///< Of this interval.
  Time last = 0, due = ~Time(0);
};

} // namespace tessera::sim

#endif // TESSERA_SIM_TRAFFICSAMPLER_H
