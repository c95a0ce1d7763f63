//===- DramPresets.cpp - DRAM timing sets ---------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//
// Each set is one channel. Times given in nanoseconds by the standards are
// rounded up to clocks. The read-to-write gap is CL + burst + 2 - CWL clocks
// throughout (one clock each of preamble and bus turnaround).
//
//===----------------------------------------------------------------------===//

#include "Schema.h"

using namespace tessera;
using namespace tessera::schema;

static constexpr uint64_t gib = uint64_t(1) << 30;

/// DDR4, 8 Gb ×8 devices, one rank of eight: JESD79-4.
static DramConfig ddr4() {
  DramConfig dram;
  dram.bankGroups = 4;
  dram.banksPerGroup = 4;
  dram.widthBits = 64;
  dram.rowBytes = 8192;
  dram.bytes = 8 * gib;
  dram.burstLength = 8;
  dram.transfersPerClock = 2;
  return dram;
}

/// Speed bin 2400R (16-16-16).
static DramConfig ddr4At2400() {
  DramConfig dram = ddr4();
  dram.tckNs = 5.0 / 6;
  dram.tCL = 16, dram.tCWL = 12, dram.tRCDRD = 16, dram.tRCDWR = 16;
  dram.tRP = 16, dram.tRAS = 39, dram.tRC = 55; // 32 ns
  dram.tWR = 18, dram.tRTP = 9;                 // 15 and 7.5 ns
  dram.tCCDS = 4, dram.tCCDL = 6, dram.tRRDS = 4, dram.tRRDL = 6;
  dram.tWTRS = 3, dram.tWTRL = 9, dram.tRTW = 10;
  dram.tFAW = 26;                     // 21 ns, 1 KiB pages
  dram.tREFI = 9360, dram.tRFC = 420; // 7.8 us, 350 ns
  return dram;
}

/// Speed bin 3200AA (22-22-22).
static DramConfig ddr4At3200() {
  DramConfig dram = ddr4();
  dram.tckNs = 0.625;
  dram.tCL = 22, dram.tCWL = 16, dram.tRCDRD = 22, dram.tRCDWR = 22;
  dram.tRP = 22, dram.tRAS = 52, dram.tRC = 74;
  dram.tWR = 24, dram.tRTP = 12;
  dram.tCCDS = 4, dram.tCCDL = 8, dram.tRRDS = 4, dram.tRRDL = 8;
  dram.tWTRS = 4, dram.tWTRL = 12, dram.tRTW = 12;
  dram.tFAW = 34;
  dram.tREFI = 12480, dram.tRFC = 576; // 360 ns, as Ramulator 2.1 has it
  return dram;
}

/// LPDDR5, one ×16 channel of 8 Gb in bank-group mode, CK 800 MHz, WCK 4:1,
/// read latency set 0, write latency set A: JESD209-5.
static DramConfig lpddr5At6400() {
  DramConfig dram;
  dram.bankGroups = 4;
  dram.banksPerGroup = 4;
  dram.widthBits = 16;
  dram.rowBytes = 2048;
  dram.bytes = gib;
  dram.burstLength = 16;
  dram.transfersPerClock = 8;
  dram.tckNs = 1.25;
  dram.tCL = 17, dram.tCWL = 9, dram.tRCDRD = 15, dram.tRCDWR = 15; // 18 ns
  dram.tRP = 15, dram.tRAS = 34, dram.tRC = 49; // 18 and 42 ns
  dram.tWR = 28, dram.tRTP = 4;                 // 34 ns
  dram.tCCDS = 2, dram.tCCDL = 4, dram.tRRDS = 4, dram.tRRDL = 4; // 5 ns
  dram.tWTRS = 5, dram.tWTRL = 10, dram.tRTW = 12;      // 6.25 and 12 ns
  dram.tFAW = 16;                                       // 20 ns
  dram.tREFI = 3124, dram.tRFC = 168, dram.tRFCPB = 96; // 3,906, 210, 120 ns
  return dram;
}

/// One channel with two pseudo-channels of 64 bit and 8 Gb: JESD235.
static DramConfig hbm2() {
  DramConfig dram;
  dram.pseudoChannels = 2;
  dram.bankGroups = 4;
  dram.banksPerGroup = 4;
  dram.widthBits = 64;
  dram.rowBytes = 1024;
  dram.bytes = gib;
  dram.burstLength = 4;
  dram.transfersPerClock = 2;
  return dram;
}

static DramConfig hbm2At2000() {
  DramConfig dram = hbm2();
  dram.tckNs = 1.0;
  dram.tCL = 14, dram.tCWL = 4, dram.tRCDRD = 14, dram.tRCDWR = 12;
  dram.tRP = 14, dram.tRAS = 34, dram.tRC = 48;
  dram.tWR = 16, dram.tRTP = 5;
  dram.tCCDS = 2, dram.tCCDL = 4, dram.tRRDS = 4, dram.tRRDL = 4;
  dram.tWTRS = 6, dram.tWTRL = 8, dram.tRTW = 14;
  dram.tFAW = 16;
  dram.tREFI = 3900, dram.tRFC = 350, dram.tRFCPB = 200; // 3.9 us, 8 Gb
  return dram;
}

static DramConfig hbm2At2400() {
  DramConfig dram = hbm2();
  dram.tckNs = 5.0 / 6;
  dram.tCL = 17, dram.tCWL = 6, dram.tRCDRD = 17, dram.tRCDWR = 14;
  dram.tRP = 17, dram.tRAS = 40, dram.tRC = 57;
  dram.tWR = 19, dram.tRTP = 6;
  dram.tCCDS = 2, dram.tCCDL = 4, dram.tRRDS = 5, dram.tRRDL = 5;
  dram.tWTRS = 8, dram.tWTRL = 10, dram.tRTW = 15;
  dram.tFAW = 19;
  dram.tREFI = 4682, dram.tRFC = 421, dram.tRFCPB = 240;
  return dram;
}

/// The core timings of HBM2-2400 in nanoseconds, at the faster clock, which
/// both HBM2E-3200 and HBM3-6400 have; JESD235 and JESD238 leave the core
/// timings to the vendors.
static void setHbmCoreAt1600MHz(DramConfig &dram) {
  dram.tckNs = 0.625;
  dram.tCL = 23, dram.tCWL = 8, dram.tRCDRD = 23, dram.tRCDWR = 19;
  dram.tRP = 23, dram.tRAS = 54, dram.tRC = 77;
  dram.tWR = 26, dram.tRTP = 8;
  dram.tCCDS = 2, dram.tCCDL = 4, dram.tRRDS = 7, dram.tRRDL = 7;
  dram.tWTRS = 11, dram.tWTRL = 14, dram.tRTW = 19;
  dram.tFAW = 28; // four activates at tRRD
  dram.tREFI = 6240, dram.tRFCPB = 320;
}

static DramConfig hbm2eAt3200() {
  DramConfig dram = hbm2();
  dram.bytes = 2 * gib;
  setHbmCoreAt1600MHz(dram);
  dram.tRFC = 720; // 16 Gb: 450 ns
  return dram;
}

/// Sixteen channels a stack, each two pseudo-channels of 32 bit; CK 1.6 GHz
/// with four transfers per clock: JESD238.
static DramConfig hbm3At6400() {
  DramConfig dram = hbm2();
  dram.widthBits = 32;
  dram.burstLength = 8;
  dram.transfersPerClock = 4;
  setHbmCoreAt1600MHz(dram);
  dram.tRFC = 560; // 8 Gb: 350 ns
  return dram;
}

std::span<const DramPreset> schema::dramPresetTable() {
  static const std::vector<DramPreset> table = [] {
    std::vector<DramPreset> sets = {
        {"DDR4-2400", ddr4At2400(),
         "JESD79-4, speed bin 2400R, 8 Gb ×8 (as Micron MT40A1G8-083E)"},
        {"DDR4-3200", ddr4At3200(),
         "JESD79-4, speed bin 3200AA, 8 Gb ×8, as in Ramulator 2.1"},
        {"LPDDR5-6400", lpddr5At6400(),
         "JESD209-5, ×16, 8 Gb, bank-group mode, WCK:CK 4:1"},
        {"HBM2-2000", hbm2At2000(),
         "JESD235C, 8 Gb channel (as DRAMsim3's HBM2 at 1 GHz)"},
        {"HBM2-2400", hbm2At2400(),
         "JESD235C, 8 Gb channel, as in Ramulator 2.1"},
        {"HBM2E-3200", hbm2eAt3200(),
         "JESD235D rate and organisation, 16 Gb channel; core timings of "
         "HBM2-2400 in ns"},
        {"HBM3-6400", hbm3At6400(),
         "JESD238 rate and organisation, 8 Gb channel; core timings of "
         "HBM2-2400 in ns"},
    };
    for (DramPreset &preset : sets)
      preset.config.preset = preset.name;
    return sets;
  }();
  return table;
}

std::vector<std::string_view> tessera::dramPresets() {
  std::vector<std::string_view> names;
  for (const DramPreset &preset : dramPresetTable())
    names.push_back(preset.name);
  return names;
}
