//===- Architecture.h - One accelerator's parameters ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an architecture file says, as a struct: the one source of every hardware
// number for compiler, runtime, simulator and report. The keys, units, ranges
// and defaults are in docs/architecture-file.md, generated from the schema in
// lib/Arch/Schema.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_ARCH_ARCHITECTURE_H
#define TESSERA_ARCH_ARCHITECTURE_H

#include "tessera/Support/NumericFormat.h"
#include "tessera/Support/Status.h"
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct CoresConfig {
  uint32_t count = 1;
  uint32_t meshX = 1, meshY = 1; ///< meshX * meshY == count.
};

enum class Dataflow : uint8_t { WeightStationary };

struct MatrixConfig {
  uint32_t rows = 8, cols = 8; ///< PEs: rows along K, columns along N.
  uint32_t count = 1;          ///< Matrix engines per core.
  Dataflow dataflow = Dataflow::WeightStationary;
  /// Formats of the operands with `macs_scale`: MACs per PE and cycle.
  std::map<NumericFormat, double> macsScale;
  uint32_t fillLatency = 1; ///< Cycles, docs/isa.md "mma".
};

struct VectorConfig {
  uint32_t lanes = 8, aluSlots = 1, sfuLanes = 2;
  uint32_t latency = 8; ///< Cycles until results are visible.
  uint32_t readPorts = 3, writePorts = 1;
};

struct SpmConfig {
  uint64_t bytes = 65536;
  uint32_t banks = 16;
  uint32_t bankWidth = 16; ///< Bytes.
};

struct AccConfig {
  uint64_t bytes = 16384;
  uint32_t banks = 2;
};

struct DmaConfig {
  uint32_t loadBursts = 1, storeBursts = 1; ///< Addresses per cycle.
  uint32_t burstBytes = 64;
  uint32_t outstanding = 64; ///< Bursts in flight per direction.
};

enum class NocTopology : uint8_t { Mesh, Ring, Crossbar };

struct NocConfig {
  NocTopology topology = NocTopology::Mesh;
  uint32_t linkBytes = 32; ///< Bytes per NoC cycle and link.
  uint32_t hopCycles = 1;  ///< NoC cycles per hop.
  double clockGhz = 1.0;
  uint32_t vcs = 2;
  /// Attachment points as mesh node indices, one per channel / slice.
  std::vector<uint32_t> memoryPorts, sharedPorts;
  uint32_t cpPort = 0, hostPort = 0;
};

struct SharedConfig { ///< Shared SRAM; bytes == 0: none.
  uint64_t bytes = 0;
  uint32_t slices = 1, banks = 1;
  uint32_t latency = 10; ///< Cycles.
};

struct LlcConfig { ///< Memory-side cache; bytes == 0: none.
  uint64_t bytes = 0;
  uint32_t ways = 16;
};

enum class RefreshMode : uint8_t { None, AllBank, PerBank };
enum class PagePolicy : uint8_t { Open, Closed };

/// Timings are in DRAM clocks (tckNs each), per JEDEC; sources in
/// docs/architecture-file.md.
struct DramConfig {
  std::string preset; ///< Informational; the numbers below count.
  uint32_t channels = 1;
  uint32_t pseudoChannels = 1; ///< Per channel.
  uint32_t ranks = 1;
  uint32_t bankGroups = 4, banksPerGroup = 4;
  uint32_t widthBits = 64;   ///< Data bus of one pseudo-channel.
  uint64_t rowBytes = 8192;  ///< Per bank of one pseudo-channel.
  uint64_t bytes = 1ull << 30; ///< Capacity of the whole device.
  double tckNs = 0.833;
  uint32_t burstLength = 8;    ///< Transfers per column command.
  uint32_t transfersPerClock = 2;
  uint32_t tCL = 0, tCWL = 0, tRCDRD = 0, tRCDWR = 0, tRP = 0, tRAS = 0, tRC = 0;
  uint32_t tWR = 0, tRTP = 0, tCCDS = 0, tCCDL = 0, tRRDS = 0, tRRDL = 0;
  uint32_t tWTRS = 0, tWTRL = 0, tRTW = 0, tFAW = 0;
  uint32_t tREFI = 0, tRFC = 0, tRFCPB = 0;
  RefreshMode refresh = RefreshMode::AllBank;
  PagePolicy pagePolicy = PagePolicy::Open;
  uint32_t readQueue = 64, writeQueue = 64;
  double drainHigh = 0.8, drainLow = 0.2; ///< Of the write queue's entries.
  /// Address bits from most to least significant, e.g. "R14 B2 G2 C7 P0 X0".
  std::string mapping;

  /// Bytes moved by one column command: burstLength * widthBits / 8.
  uint64_t atomBytes() const { return uint64_t(burstLength) * widthBits / 8; }
  /// Bytes per nanosecond of all channels together.
  double peakBytesPerNs() const {
    return double(channels) * pseudoChannels * widthBits / 8 *
           transfersPerClock / tckNs;
  }
};

struct TlbConfig {
  uint32_t l1Entries = 16, l2Entries = 128;
  uint32_t l2Latency = 8; ///< Core cycles.
  uint32_t walkers = 1;   ///< Concurrent page walks.
};

/// Latencies in core cycles.
struct CpConfig {
  uint32_t queues = 4; ///< Hardware queue slots.
  uint32_t fetch = 20, decode = 10, dispatch = 20, signal = 10;
};

struct HostConfig {
  double gbps = 32.0; ///< 1e9 bytes per second, each direction.
  uint32_t latencyNs = 500;
};

struct Architecture {
  std::string name;
  double clockGhz = 1.0;
  CoresConfig cores;
  MatrixConfig matrix;
  VectorConfig vector;
  SpmConfig spm;
  AccConfig acc;
  uint64_t imemBytes = 65536; ///< Instruction memory per core.
  uint64_t tdmemBytes = 32768; ///< Descriptor memory per core.
  uint32_t queueDepth = 8;    ///< Entries per engine queue.
  uint32_t semaphores = 32;   ///< Counting semaphores per core.
  DmaConfig dma;
  NocConfig noc;
  SharedConfig shared;
  LlcConfig llc;
  DramConfig dram;
  TlbConfig tlb;
  CpConfig cp;
  HostConfig host;

  /// What an object depends on to run at all (hardware.md section 9).
  uint64_t isaHash() const;
  /// All the rest: speed only.
  uint64_t timingHash() const;
};

/// Names of the presets inside the binary, in documentation order.
std::vector<std::string_view> architecturePresets();
/// The YAML text of a preset, or InvalidArgument that lists the names.
Result<std::string_view> architecturePresetText(std::string_view name);
/// Parses and validates YAML text. Errors read "file:line: key: what is wrong;
/// what would be accepted".
Result<Architecture> parseArchitecture(std::string_view text,
                                       std::string_view fileName);
/// A preset's name or a path (anything with '/' or ending in .yaml/.yml).
Result<Architecture> loadArchitecture(std::string_view nameOrPath);
/// Combinations that work but waste something, e.g. SPM bandwidth below the sum
/// of its users; one line each.
std::vector<std::string> architectureWarnings(const Architecture &arch);
/// The full file, every key with its value; parses back to the same struct.
std::string printArchitecture(const Architecture &arch);

} // namespace tessera

#endif // TESSERA_ARCH_ARCHITECTURE_H
