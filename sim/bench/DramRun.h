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

/// How transactions are offered by runs of a row.
struct RowLoop {
  uint64_t transactions = 0;
  uint32_t atoms = 1; ///< Of a run at most; no more than a queue has places.
  /// Atom by atom in the same clocks, and clock by clock: must give the same.
  bool singly = false;
};

/// Offers, in order, what `next` gives, transactions that follow each other in
/// a row together. Latencies are those of a run's last atom, for each of its
/// atoms that came together.
RunResult runDramRows(const DramConfig &dram, const RowLoop &loop,
                      const std::function<Transaction()> &next);

} // namespace tessera::bench

#endif // TESSERA_SIM_BENCH_DRAMRUN_H
