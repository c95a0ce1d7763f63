//===- Timings.cpp - Command distances of one DRAM channel ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "memory/dram/Timings.h"
#include <algorithm>

using namespace tessera;
using namespace tessera::sim::dram;

/// a - b, or 0.
static uint32_t beyond(uint32_t a, uint32_t b) { return a > b ? a - b : 0; }

Timings::Timings(const DramConfig &dram) {
  uint32_t perClock = std::max(1u, dram.transfersPerClock);
  burst = std::max(1u, (dram.burstLength + perClock - 1) / perClock);

  activateToRead = dram.tRCDRD;
  activateToWrite = dram.tRCDWR;
  activateToPrecharge = dram.tRAS;
  activateToActivateBank = dram.tRC;
  activateToActivateGroup = dram.tRRDL;
  activateToActivateRank = dram.tRRDS;
  fourActivates = dram.tFAW;
  precharge = dram.tRP;
  readToPrecharge = dram.tRTP;
  writeToPrecharge = dram.tCWL + burst + dram.tWR;

  // Whatever a file says, two bursts are never on the data bus at once.
  columnRank = std::max(dram.tCCDS, burst);
  columnGroup = std::max(dram.tCCDL, columnRank);
  readToWrite = std::max(dram.tRTW, beyond(dram.tCL + burst, dram.tCWL));
  writeToReadRank = std::max(dram.tCWL + burst + dram.tWTRS,
                             beyond(dram.tCWL + burst, dram.tCL));
  writeToReadGroup = std::max(dram.tCWL + burst + dram.tWTRL, writeToReadRank);
  columnOtherRank = burst + 1;
  writeToReadOtherRank = std::max(1u, beyond(dram.tCWL + burst + 1, dram.tCL));
  readLatency = dram.tCL + burst;

  refreshInterval = dram.refresh == RefreshMode::None ? 0 : dram.tREFI;
  refreshAllBanks = dram.tRFC;
  refreshBank = dram.tRFCPB;

  rowBus = dram.pseudoChannels > 1;
  activateSlots = rowBus ? 2 : 1;
  protectsHits = rowBus;
}
