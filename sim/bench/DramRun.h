//===- DramRun.h - Drives DRAM channels in a closed loop --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_BENCH_DRAMRUN_H
#define TESSERA_SIM_BENCH_DRAMRUN_H

#include "DramPattern.h"
#include "memory/dram/Channel.h"
#include <functional>

namespace tessera::bench {

/// How transactions are offered.
struct Loop {
  uint64_t transactions = 200'000;
  uint32_t outstanding = 256; ///< Reads not returned, writes not accepted.
  uint32_t perClock = 2;      ///< Offers a clock.
  uint64_t idleClocks = 0;    ///< Between a read's return and the next offer.
};

struct RunResult {
  uint64_t transactions = 0, reads = 0;
  uint64_t cycles = 0; ///< Until all are issued and all reads have returned.
  /// How many reads took how many clocks, from acceptance to the last data.
  std::vector<uint64_t> readsByLatency;
  sim::dram::ChannelCounters counters;

  double meanLatency() const;
  double percentile(double fraction) const;
};

/// Offers, in order, what `next` gives; a refused transaction holds back those
/// behind it. The DRAM's mapping is valid.
RunResult runDram(const DramConfig &dram, const Loop &loop,
                  const std::function<Transaction()> &next);

} // namespace tessera::bench

#endif // TESSERA_SIM_BENCH_DRAMRUN_H
