//===- ChannelFixture.h - A DRAM channel under test -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_DRAM_CHANNELFIXTURE_H
#define TESSERA_TEST_UNIT_DRAM_CHANNELFIXTURE_H

#include "memory/dram/Channel.h"
#include <gtest/gtest.h>
#include <optional>

namespace tessera::sim::dram::test {

/// DDR4-3200 and HBM2-2400, written out so that their numbers do not move under
/// the tests' hand computations; without refresh.
DramConfig ddr4();
DramConfig hbm2();
/// One x16 channel of LPDDR5-6400.
DramConfig lpddr5();

/// Where an atom is; anything not named is 0.
struct At {
  uint32_t pseudo = 0, rank = 0, group = 0, bank = 0, row = 0, column = 0;
};

/// A channel with its commands and completions recorded.
class Bench {
public:
  explicit Bench(const DramConfig &dram) : channel(dram) {
    channel.logTo(&commands);
  }
  Bench(const Bench &) = delete;

  /// Offers in clock `now`, which never decreases. False: refused.
  bool offer(Cycle now, bool write, const At &at, uint64_t token = 0);
  bool read(Cycle now, const At &at, uint64_t token = 0) {
    return offer(now, false, at, token);
  }
  bool write(Cycle now, const At &at, uint64_t token = 0) {
    return offer(now, true, at, token);
  }
  /// Until nothing waits.
  void finish();
  /// All steps before `clock`.
  void runTo(Cycle clock) { channel.advance(clock, done); }

  /// Clocks of the commands of one kind, in order.
  std::vector<Cycle> clocksOf(CommandKind kind) const;
  std::optional<Cycle> completionOf(uint64_t token) const;

  Channel channel;
  std::vector<Command> commands;
  std::vector<Completion> done;
};

/// The first pair of commands that is closer than `dram` allows, in words.
std::optional<std::string> violatedRule(const DramConfig &dram,
                                        const std::vector<Command> &commands);

} // namespace tessera::sim::dram::test

#endif // TESSERA_TEST_UNIT_DRAM_CHANNELFIXTURE_H
