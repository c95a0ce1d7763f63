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
  bool operator==(const CoresConfig &) const = default;
};

enum class Dataflow : uint8_t { WeightStationary };

struct MatrixConfig {
  uint32_t rows = 8, cols = 8; ///< PEs: rows along K, columns along N.
  uint32_t count = 1;          ///< Matrix engines per core.
  Dataflow dataflow = Dataflow::WeightStationary;
  /// Formats of the operands with `macs_scale`: MACs per PE and cycle.
  std::map<NumericFormat, double> macsScale;
  uint32_t fillLatency = 1; ///< Cycles, docs/isa.md "mma".
  bool operator==(const MatrixConfig &) const = default;
};

struct VectorConfig {
  uint32_t lanes = 8, aluSlots = 1, sfuLanes = 2;
  uint32_t latency = 8; ///< Cycles until results are visible.
  uint32_t readPorts = 3, writePorts = 1;
  bool operator==(const VectorConfig &) const = default;
};

struct SpmConfig {
  uint64_t bytes = 65536;
  uint32_t banks = 16;
  uint32_t bankWidth = 16; ///< Bytes.
  bool operator==(const SpmConfig &) const = default;
};

struct AccConfig {
  uint64_t bytes = 16384;
  uint32_t banks = 2;
  bool operator==(const AccConfig &) const = default;
};

struct DmaConfig {
  uint32_t loadBursts = 1, storeBursts = 1; ///< Addresses per cycle.
  uint32_t burstBytes = 64;
  uint32_t outstanding = 64; ///< Bursts in flight per direction.
  bool operator==(const DmaConfig &) const = default;
};

enum class NocTopology : uint8_t { Mesh, Ring, Crossbar };

struct NocConfig {
  NocTopology topology = NocTopology::Mesh;
  uint32_t linkBytes = 32; ///< Bytes per NoC cycle and link.
  uint32_t hopCycles = 1;  ///< NoC cycles per hop.
  double clockGhz = 1.0;
  uint32_t vcs = 2;
  /// Messages that a virtual channel's buffer holds; 0: 2 * hopCycles + 2.
  uint32_t buffers = 0;
  /// Attachment points as mesh node indices (y * meshX + x): channel (slice) i
  /// sits at entry i modulo the number of entries.
  std::vector<uint32_t> memoryPorts = {0}, sharedPorts = {0};
  uint32_t cpPort = 0, hostPort = 0;
  bool operator==(const NocConfig &) const = default;
};

struct SharedConfig { ///< Shared SRAM; bytes == 0: none.
  uint64_t bytes = 0;
  uint32_t slices = 1, banks = 1;
  uint32_t bankWidth = 32; ///< Bytes per cycle of one bank.
  uint32_t latency = 10;   ///< Cycles, of an access to one word.
  bool operator==(const SharedConfig &) const = default;
};

struct LlcConfig { ///< Memory-side cache; bytes == 0: none.
  uint64_t bytes = 0;
  uint32_t ways = 16;
  bool operator==(const LlcConfig &) const = default;
};

enum class RefreshMode : uint8_t { None, AllBank, PerBank };
enum class PagePolicy : uint8_t { Open, Closed };
enum class ChannelHash : uint8_t { None, Xor };

/// Timings are in DRAM clocks (tckNs each), per JEDEC; sources in
/// docs/architecture-file.md.
struct DramConfig {
  std::string preset; ///< Informational; the numbers below count.
  uint32_t channels = 1;
  uint32_t pseudoChannels = 1; ///< Per channel.
  uint32_t ranks = 1;
  uint32_t bankGroups = 4, banksPerGroup = 4;
  uint32_t widthBits = 64;     ///< Data bus of one pseudo-channel.
  uint64_t rowBytes = 8192;    ///< Per bank of one pseudo-channel.
  uint64_t bytes = 1ull << 30; ///< Capacity of the whole device.
  double tckNs = 0.833;
  uint32_t burstLength = 8; ///< Transfers per column command.
  uint32_t transfersPerClock = 2;
  uint32_t tCL = 0, tCWL = 0, tRCDRD = 0, tRCDWR = 0, tRP = 0, tRAS = 0,
           tRC = 0;
  uint32_t tWR = 0, tRTP = 0, tCCDS = 0, tCCDL = 0, tRRDS = 0, tRRDL = 0;
  uint32_t tWTRS = 0, tWTRL = 0, tRTW = 0, tFAW = 0;
  uint32_t tREFI = 0, tRFC = 0, tRFCPB = 0;
  RefreshMode refresh = RefreshMode::AllBank;
  PagePolicy pagePolicy = PagePolicy::Open;
  uint32_t readQueue = 64, writeQueue = 64;
  double drainHigh = 0.8, drainLow = 0.2; ///< Of the write queue's entries.
  /// Address bits above the atom's, from most to least significant, e.g.
  /// "R15 B2 C4 G2 P1 X4 C1" (tessera/Arch/DramMapping.h).
  std::string mapping;
  /// What the address bits above the channel's do to the channel.
  ChannelHash channelHash = ChannelHash::None;
  bool operator==(const DramConfig &) const = default;

  /// Bytes moved by one column command: burstLength * widthBits / 8.
  uint64_t atomBytes() const { return uint64_t(burstLength) * widthBits / 8; }
  /// Banks of the whole device.
  uint64_t totalBanks() const {
    return uint64_t(channels) * pseudoChannels * ranks * bankGroups *
           banksPerGroup;
  }
  /// Rows of one bank.
  uint64_t rows() const { return bytes / (totalBanks() * rowBytes); }
  /// Bytes per nanosecond of all channels together.
  double peakBytesPerNs() const {
    return double(channels) * pseudoChannels * widthBits / 8 *
           transfersPerClock / tckNs;
  }
  /// The part of the peak that refresh leaves: 1 - tRFC / tREFI when all banks
  /// refresh together, else 1.
  double refreshFactor() const {
    return refresh == RefreshMode::AllBank ? 1.0 - double(tRFC) / tREFI : 1.0;
  }
};

struct TlbConfig {
  uint32_t l1Entries = 16, l2Entries = 128;
  uint32_t l2Latency = 8; ///< Core cycles.
  uint32_t walkers = 1;   ///< Concurrent page walks.
  bool operator==(const TlbConfig &) const = default;
};

/// Latencies in core cycles.
struct CpConfig {
  uint32_t queues = 4; ///< Hardware queue slots.
  uint32_t fetch = 20, decode = 10, dispatch = 20, signal = 10;
  /// Cycles of waiting that raise a packet's priority by one.
  uint32_t ageing = 1024;
  bool operator==(const CpConfig &) const = default;
};

struct HostConfig {
  double gbps = 32.0; ///< 1e9 bytes per second, each direction.
  uint32_t latencyNs = 500;
  bool operator==(const HostConfig &) const = default;
};

struct Architecture {
  std::string name;
  double clockGhz = 1.0;
  CoresConfig cores;
  MatrixConfig matrix;
  VectorConfig vector;
  SpmConfig spm;
  AccConfig acc;
  uint64_t imemBytes = 65536;  ///< Instruction memory per core.
  uint64_t tdmemBytes = 32768; ///< Descriptor memory per core.
  uint32_t queueDepth = 8;     ///< Entries per engine queue.
  uint32_t semaphores = 32;    ///< Counting semaphores per core.
  DmaConfig dma;
  NocConfig noc;
  SharedConfig shared;
  LlcConfig llc;
  DramConfig dram;
  TlbConfig tlb;
  CpConfig cp;
  HostConfig host;
  bool operator==(const Architecture &) const = default;

  /// DRAM bytes per core clock cycle at the peak.
  double dramBytesPerCycle() const { return dram.peakBytesPerNs() / clockGhz; }
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
/// A preset's name, a path (anything with '/' or ending in .yaml/.yml), or the
/// text itself (anything with a line break; passes are given it so).
Result<Architecture> loadArchitecture(std::string_view nameOrPath);
/// Combinations that work but waste something, e.g. SPM bandwidth below the sum
/// of its users; one line each.
std::vector<std::string> architectureWarnings(const Architecture &arch);
/// The full file, every key with its value; parses back to the same struct.
std::string printArchitecture(const Architecture &arch);
/// The presets with their main figures, an aligned table for terminals.
std::string architectureList();
/// Names that `dram.preset` accepts.
std::vector<std::string_view> dramPresets();
/// The text of docs/architecture-file.md, made from the schema and the presets.
std::string architectureFileReference();

} // namespace tessera

#endif // TESSERA_ARCH_ARCHITECTURE_H
