//===- Timings.h - Command distances of one DRAM channel --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a controller needs of a DramConfig: least distances between commands, in
// DRAM clocks, and the shape of the command bus. Distances count from the last
// slot of one command to the last slot of the next, as the standards do: a
// two-slot activate takes effect in its second slot.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_MEMORY_DRAM_TIMINGS_H
#define TESSERA_SIM_MEMORY_DRAM_TIMINGS_H

#include "tessera/Arch/Architecture.h"
#include <cstdint>

namespace tessera::sim::dram {

struct Timings {
  explicit Timings(const DramConfig &dram);

  uint32_t burst; ///< Clocks of one column command's data on the bus.

  // Row commands.
  uint32_t activateToRead, activateToWrite, activateToPrecharge;
  uint32_t activateToActivateBank, activateToActivateGroup,
      activateToActivateRank;
  uint32_t fourActivates; ///< First to fifth activate of a rank.
  uint32_t precharge;     ///< Precharge to activate or refresh.
  uint32_t readToPrecharge, writeToPrecharge;

  // Column commands, in the same bank group and across groups.
  uint32_t columnGroup, columnRank;
  uint32_t readToWrite;
  uint32_t writeToReadGroup, writeToReadRank;
  /// Between ranks that share a data bus: one clock of silence.
  uint32_t columnOtherRank, writeToReadOtherRank;

  uint32_t readLatency; ///< Read command to the end of its data.

  uint32_t refreshInterval; ///< 0: none.
  uint32_t refreshAllBanks, refreshBank;

  /// HBM: row commands have a bus of their own, shared by the pseudo-channels,
  /// on which an activate takes two slots. Else one bus takes one command a
  /// clock.
  bool rowBus;
  uint32_t activateSlots;
  /// HBM's controllers keep a row open while an older request hits it; the
  /// others precharge for whoever is ready first.
  bool protectsHits;
};

} // namespace tessera::sim::dram

#endif // TESSERA_SIM_MEMORY_DRAM_TIMINGS_H
