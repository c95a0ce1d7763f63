//===- DramRows.cpp - Drives DRAM channels with runs of a row ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As a device's memory system does it: what follows in a row comes together, as
// soon as the queue has room for all of it, and a channel is gone through in
// many clocks at once.
//
//===----------------------------------------------------------------------===//

#include "DramRun.h"
#include "memory/dram/AtomMap.h"
#include <algorithm>

namespace tessera::bench {

using sim::Cycle;
using sim::dram::Access;
using sim::dram::Channel;
using sim::dram::Completion;

namespace {

class RowDriver {
public:
  RowDriver(const DramConfig &dram, const RowLoop &loop,
            const std::function<Transaction()> &next)
      : loop(loop), next(next), mapping(*DramMapping::create(dram)),
        channels(dram.channels, Channel(dram)),
        atomMap(dram, mapping, channels.front()), atomBytes(dram.atomBytes()),
        most(std::min({loop.atoms, dram.readQueue, dram.writeQueue})) {
    fetch();
  }

  RunResult run();

private:
  void fetch();
  Access nextRun(uint32_t &channel);
  void advance(Channel &channel, Cycle to);
  void offer(Channel &channel, const Access &run);
  void collect();

  const RowLoop &loop;
  const std::function<Transaction()> &next;
  DramMapping mapping;
  std::vector<Channel> channels;
  sim::dram::AtomMap atomMap;
  const uint64_t atomBytes;
  const uint32_t most;

  uint64_t fetched = 0;
  bool waiting = false; ///< The next transaction, which is `atom`.
  Access atom;
  uint32_t atomChannel = 0;
  Cycle now = 0;
  std::vector<Completion> done;
  RunResult result;
};

void RowDriver::fetch() {
  waiting = fetched != loop.transactions;
  if (!waiting)
    return;
  Transaction transaction = next();
  ++fetched;
  if (channels.size() != 1)
    atomChannel = mapping.channelOf(transaction.address);
  atom = atomMap.run(transaction.address / atomBytes, 1);
  atom.write = transaction.write;
}

Access RowDriver::nextRun(uint32_t &channel) {
  Access run = atom;
  channel = atomChannel;
  for (fetch(); waiting && run.atoms != most; fetch()) {
    if (atomChannel != channel || atom.bank != run.bank ||
        atom.row != run.row || atom.write != run.write ||
        atom.column != run.column + run.atoms)
      break;
    ++run.atoms;
  }
  return run;
}

void RowDriver::advance(Channel &channel, Cycle to) {
  if (!loop.singly)
    return channel.advance(to, done);
  while (channel.nextStep() < to)
    channel.step(channel.nextStep(), done);
}

void RowDriver::offer(Channel &channel, const Access &run) {
  if (!loop.singly) {
    channel.offer(run, now, done);
    return;
  }
  Access single = run;
  for (single.atoms = 1; single.column != run.column + run.atoms;
       ++single.column)
    channel.offer(single, now, done);
}

void RowDriver::collect() {
  for (const Completion &completion : done) {
    uint64_t latency = completion.clock - completion.token;
    if (latency >= result.readsByLatency.size())
      result.readsByLatency.resize(latency + 1);
    result.readsByLatency[latency] += completion.atoms;
    result.cycles = std::max(result.cycles, completion.clock + 1);
  }
  done.clear();
}

RunResult RowDriver::run() {
  while (waiting) {
    uint32_t index = 0;
    Access run = nextRun(index);
    Channel &channel = channels[index];
    for (;;) {
      advance(channel, now);
      uint32_t room = channel.requests().room(run.write);
      if (room >= run.atoms)
        break;
      // At most two places come free in a clock.
      now = std::max(now, channel.nextStep()) + (run.atoms - room + 1) / 2;
    }
    run.token = now;
    offer(channel, run);
    result.transactions += run.atoms;
    result.reads += run.write ? 0 : run.atoms;
    result.cycles = std::max(result.cycles, now + 1);
    collect();
  }
  for (Channel &channel : channels) {
    while (!channel.idle())
      advance(channel, channel.nextStep() + 1);
    result.counters += channel.counters();
  }
  collect();
  return std::move(result);
}

} // namespace

RunResult runDramRows(const DramConfig &dram, const RowLoop &loop,
                      const std::function<Transaction()> &next) {
  return RowDriver(dram, loop, next).run();
}

} // namespace tessera::bench
