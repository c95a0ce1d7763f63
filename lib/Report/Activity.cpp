//===- Activity.cpp - What the device did over time -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/Activity.h"

using namespace tessera;
using namespace tessera::report;

void Activity::add(const sim::Statistics &statistics) {
  if (!kept.empty() && kept.back().cycle == statistics.cycles)
    return;
  if (kept.size() == capacity) {
    for (size_t i = 1; 2 * i < kept.size(); ++i)
      kept[i] = std::move(kept[2 * i]);
    kept.resize((kept.size() + 1) / 2);
    stepCycles *= 2;
  }
  ActivitySample sample;
  sample.cycle = statistics.cycles;
  sample.dramBytesRead = statistics.busBytesRead;
  sample.dramBytesWritten = statistics.busBytesWritten;
  sample.nocByteHops = statistics.nocByteHops;
  sample.channelBytes = statistics.channelBytes;
  for (const sim::CoreStatistics &core : statistics.cores) {
    auto &busy = sample.busy.emplace_back();
    for (const sim::EngineCycles &engine : core.engines)
      busy.push_back(engine[sim::StallCause::Busy]);
  }
  kept.push_back(std::move(sample));
}
