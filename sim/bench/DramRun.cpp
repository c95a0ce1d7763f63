//===- DramRun.cpp - Drives DRAM channels in a closed loop ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DramRun.h"
#include <algorithm>
#include <deque>
#include <numeric>

namespace tessera::bench {

using sim::Cycle;
using sim::dram::Access;
using sim::dram::Channel;
using sim::dram::Completion;

double RunResult::meanLatency() const {
  uint64_t count = 0, sum = 0;
  for (size_t latency = 0; latency != readsByLatency.size(); ++latency) {
    count += readsByLatency[latency];
    sum += latency * readsByLatency[latency];
  }
  return count ? double(sum) / double(count) : 0;
}

double RunResult::percentile(double fraction) const {
  uint64_t count = std::accumulate(readsByLatency.begin(), readsByLatency.end(),
                                   uint64_t(0));
  if (count == 0)
    return 0;
  auto place = std::min(count - 1, uint64_t(fraction * double(count)));
  size_t latency = 0;
  for (uint64_t passed = readsByLatency[0]; passed <= place;)
    passed += readsByLatency[++latency];
  return double(latency);
}

namespace {

class Driver {
public:
  Driver(const DramConfig &dram, const Loop &loop,
         const std::function<Transaction()> &next)
      : loop(loop), next(next), mapping(*DramMapping::create(dram)),
        channels(dram.channels, Channel(dram)) {}

  RunResult run();

private:
  void returnReads(Cycle now);
  void offerAll(Cycle now);
  void collect();
  Cycle nextClock(Cycle now) const;
  void fetch();

  const Loop &loop;
  const std::function<Transaction()> &next;
  DramMapping mapping;
  std::vector<Channel> channels;

  uint64_t fetched = 0, issued = 0;
  bool waiting = false; ///< `access` has not been accepted.
  Access access;
  uint32_t channel = 0;
  Cycle notBefore = 0, idleUntil = 0;
  bool refused = false;
  uint32_t offers = 0;

  uint64_t outstanding = 0;         ///< Reads; accepted writes don't count.
  std::deque<Completion> returning; ///< By clock.
  std::vector<Completion> done;
  RunResult result;
};

void Driver::fetch() {
  if (waiting || fetched == loop.transactions)
    return;
  Transaction transaction = next();
  ++fetched;
  DramCoordinates at = mapping.decode(transaction.address);
  channel = at.channel;
  access = {transaction.write, channels[channel].bankOf(at), uint32_t(at.row),
            at.column, 0};
  notBefore = transaction.notBefore;
  waiting = true;
}

void Driver::collect() {
  for (const Completion &completion : done) {
    // Nearly always the last place.
    auto place = returning.end();
    while (place != returning.begin() &&
           std::prev(place)->clock > completion.clock)
      --place;
    returning.insert(place, completion);
  }
  done.clear();
}

void Driver::returnReads(Cycle now) {
  while (!returning.empty() && returning.front().clock <= now) {
    const Completion &read = returning.front();
    uint64_t latency = read.clock - read.token;
    if (latency >= result.readsByLatency.size())
      result.readsByLatency.resize(latency + 1);
    ++result.readsByLatency[latency];
    result.cycles = std::max(result.cycles, read.clock + 1);
    idleUntil = read.clock + 1 + loop.idleClocks;
    --outstanding;
    returning.pop_front();
  }
}

void Driver::offerAll(Cycle now) {
  offers = 0;
  refused = false;
  for (; offers != loop.perClock && outstanding < loop.outstanding; ++offers) {
    fetch();
    if (!waiting || notBefore > now || (loop.idleClocks && idleUntil > now))
      return;
    access.token = now;
    channels[channel].advance(now, done);
    if (!channels[channel].offer(access, now, done)) {
      refused = true;
      return;
    }
    waiting = false;
    ++issued;
    outstanding += !access.write;
    result.reads += !access.write;
    result.cycles = std::max(result.cycles, now + 1);
  }
}

Cycle Driver::nextClock(Cycle now) const {
  Cycle clock = ~Cycle(0);
  for (const Channel &c : channels)
    if (!c.idle())
      clock = std::min(clock, c.nextStep());
  if (refused && channels[channel].requests().room(access.write) != 0)
    clock = std::min(clock, now + 1);
  if (!returning.empty())
    clock = std::min(clock, returning.front().clock);
  bool more = waiting || fetched != loop.transactions;
  if (more && !refused && outstanding < loop.outstanding) {
    Cycle offer = waiting ? std::max(notBefore, now + 1) : now + 1;
    if (loop.idleClocks)
      offer = std::max(offer, idleUntil);
    clock = std::min(clock, offer);
  }
  return std::max(clock, now + 1);
}

RunResult Driver::run() {
  Cycle now = 0;
  while (issued != loop.transactions || outstanding != 0) {
    returnReads(now);
    if (issued == loop.transactions && outstanding == 0)
      break;
    offerAll(now);
    for (Channel &c : channels)
      if (c.nextStep() <= now)
        c.step(now, done);
    collect();
    now = nextClock(now);
  }
  result.transactions = issued;
  for (const Channel &c : channels)
    result.counters += c.counters();
  return std::move(result);
}

} // namespace

RunResult runDram(const DramConfig &dram, const Loop &loop,
                  const std::function<Transaction()> &next) {
  return Driver(dram, loop, next).run();
}

} // namespace tessera::bench
