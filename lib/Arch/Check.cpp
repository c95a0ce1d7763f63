//===- Check.cpp - Combinations that cannot work --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Schema.h"
#include "tessera/Arch/DramMapping.h"
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <limits>

using namespace tessera;
using namespace tessera::schema;

static bool isWhole(double value) { return value == std::floor(value); }

static std::optional<Conflict> checkCores(const Architecture &arch) {
  const CoresConfig &cores = arch.cores;
  if (uint64_t(cores.meshX) * cores.meshY != cores.count)
    return Conflict{
        "cores.mesh",
        fmt::format("[{}, {}] has {} nodes for {} cores", cores.meshX,
                    cores.meshY, uint64_t(cores.meshX) * cores.meshY,
                    cores.count),
        fmt::format("two numbers whose product is {}", cores.count)};
  return std::nullopt;
}

static std::optional<Conflict> checkMatrix(const Architecture &arch) {
  for (auto [format, scale] : arch.matrix.macsScale) {
    if (format == NumericFormat::I32)
      return Conflict{"matrix.formats", "i32 is only accumulated",
                      "formats of operands: f32, bf16, f16, f8E4M3FN, f8E5M2, "
                      "i8, u8, i4"};
    if (!isWhole(scale >= 1 ? scale * arch.matrix.rows : 1 / scale))
      return Conflict{
          "matrix.formats",
          fmt::format("macs_scale {} of {} gives a part of a row", scale,
                      formatName(format)),
          fmt::format("a number from 1 whose product with {} rows is whole, or "
                      "1/2, 1/3, …",
                      arch.matrix.rows)};
  }
  return std::nullopt;
}

static std::optional<Conflict> checkMemories(const Architecture &arch) {
  uint64_t words = uint64_t(arch.spm.banks) * arch.spm.bankWidth;
  if (arch.spm.bytes % words)
    return Conflict{
        "spm.bytes",
        fmt::format("{} bytes do not divide into {} banks of {}-byte "
                    "words",
                    arch.spm.bytes, arch.spm.banks, arch.spm.bankWidth),
        fmt::format("a multiple of {}", words)};
  uint64_t rows = uint64_t(arch.acc.banks) * arch.matrix.cols * 4;
  if (arch.acc.bytes % rows)
    return Conflict{
        "acc.bytes",
        fmt::format("{} bytes do not divide into {} banks of rows of "
                    "{} values of 4 bytes",
                    arch.acc.bytes, arch.acc.banks, arch.matrix.cols),
        fmt::format("a multiple of {}", rows)};
  if (arch.imemBytes % 16)
    return Conflict{"imem.bytes", "instructions are words of 16 bytes",
                    "a multiple of 16"};
  if (arch.tdmemBytes % 128)
    return Conflict{"tdmem.bytes", "descriptors have 128 bytes",
                    "a multiple of 128"};
  uint64_t shared = uint64_t(arch.shared.slices) * arch.shared.banks * 64;
  if (arch.shared.bytes % 65536 || arch.shared.bytes % shared)
    return Conflict{
        "shared.bytes",
        fmt::format("{} bytes do not divide into pages of 64 KiB and "
                    "{} slices of {} banks of 64-byte lines",
                    arch.shared.bytes, arch.shared.slices, arch.shared.banks),
        fmt::format("a multiple of 64 KiB and of {}", shared)};
  uint64_t lines = uint64_t(arch.dram.channels) * arch.llc.ways * 64;
  if (arch.llc.bytes % lines)
    return Conflict{"llc.bytes",
                    fmt::format("{} bytes do not divide into {} channels of {} "
                                "ways of 64-byte lines",
                                arch.llc.bytes, arch.dram.channels,
                                arch.llc.ways),
                    fmt::format("a multiple of {}", lines)};
  return std::nullopt;
}

static std::optional<Conflict> checkPorts(std::string_view path,
                                          const std::vector<uint32_t> &ports,
                                          std::string_view ofWhat,
                                          uint32_t users, uint32_t nodes) {
  for (uint32_t port : ports)
    if (port >= nodes)
      return Conflict{path, fmt::format("node {} is outside the mesh", port),
                      fmt::format("nodes 0 to {}", nodes - 1)};
  if (ports.empty() || users % ports.size())
    return Conflict{path,
                    fmt::format("{} ports cannot share {} {} evenly",
                                ports.size(), users, ofWhat),
                    fmt::format("a list whose length divides {}", users)};
  return std::nullopt;
}

static std::optional<Conflict> checkNoc(const Architecture &arch) {
  uint32_t nodes = arch.cores.count;
  if (auto conflict = checkPorts("noc.memory_ports", arch.noc.memoryPorts,
                                 "DRAM channels", arch.dram.channels, nodes))
    return conflict;
  if (auto conflict = checkPorts("noc.shared_ports", arch.noc.sharedPorts,
                                 "slices", arch.shared.slices, nodes))
    return conflict;
  if (auto conflict =
          checkPorts("noc.cp_port", {arch.noc.cpPort}, "processors", 1, nodes))
    return conflict;
  return checkPorts("noc.host_port", {arch.noc.hostPort}, "links", 1, nodes);
}

static std::optional<Conflict> checkDram(const DramConfig &dram) {
  auto positive = [](std::string_view path,
                     uint32_t value) -> std::optional<Conflict> {
    if (value)
      return std::nullopt;
    return Conflict{path, "0 clocks", "a whole number from 1"};
  };
  for (auto [path, value] : {std::pair{"dram.tCL", dram.tCL},
                             {"dram.tCWL", dram.tCWL},
                             {"dram.tCCD_S", dram.tCCDS},
                             {"dram.tRC", dram.tRC}})
    if (auto conflict = positive(path, value))
      return conflict;
  if (dram.burstLength % dram.transfersPerClock)
    return Conflict{"dram.burst_length",
                    fmt::format("{} transfers are no whole number of clocks",
                                dram.burstLength),
                    fmt::format("a multiple of {}", dram.transfersPerClock)};
  if (dram.tCCDL < dram.tCCDS)
    return Conflict{"dram.tCCD_L", "below tCCD_S",
                    fmt::format("a whole number from {}", dram.tCCDS)};
  if (dram.tRC < dram.tRAS)
    return Conflict{"dram.tRC", "below tRAS",
                    fmt::format("a whole number from {}", dram.tRAS)};
  if (dram.atomBytes() > dram.rowBytes)
    return Conflict{"dram.row_bytes",
                    fmt::format("a row is shorter than a burst of {} bytes",
                                dram.atomBytes()),
                    fmt::format("a power of two from {}", dram.atomBytes())};
  if (dram.rows() == 0 || !std::has_single_bit(dram.rows()))
    return Conflict{
        "dram.bytes",
        fmt::format("{} bytes are no power-of-two number of rows of "
                    "{} bytes in {} banks",
                    dram.bytes, dram.rowBytes, dram.totalBanks()),
        fmt::format("{} times a power of two",
                    formatBytes(dram.totalBanks() * dram.rowBytes))};
  if (dram.refresh == RefreshMode::AllBank &&
      (dram.tRFC == 0 || dram.tREFI <= dram.tRFC))
    return Conflict{"dram.refresh",
                    fmt::format("all_bank does not fit tRFC {} and tREFI {}",
                                dram.tRFC, dram.tREFI),
                    "tREFI > tRFC > 0, or another mode"};
  uint32_t banks = dram.bankGroups * dram.banksPerGroup;
  if (dram.refresh == RefreshMode::PerBank &&
      (dram.tRFCPB == 0 || dram.tREFI / banks <= dram.tRFCPB))
    return Conflict{"dram.refresh",
                    fmt::format("per_bank does not fit tRFCpb {} and tREFI {} "
                                "over {} banks",
                                dram.tRFCPB, dram.tREFI, banks),
                    "tREFI / banks > tRFCpb > 0, or another mode"};
  if (dram.drainLow >= dram.drainHigh)
    return Conflict{"dram.drain_low", "not below drain_high",
                    fmt::format("a number below {}", dram.drainHigh)};
  Result<DramMapping> mapping = DramMapping::create(dram);
  if (!mapping.ok()) {
    DramConfig derived = dram;
    derived.mapping = DramMapping::defaultFor(dram);
    return Conflict{
        "dram.mapping", mapping.status().message(),
        fmt::format("the bits of \"{}\" in any order", derived.mapping)};
  }
  return std::nullopt;
}

/// A line is on one channel and is whole column commands.
static std::optional<Conflict> checkCache(const Architecture &arch) {
  constexpr uint64_t line = 64;
  if (arch.llc.bytes == 0)
    return std::nullopt;
  if (arch.dram.atomBytes() > line)
    return Conflict{"llc.bytes",
                    fmt::format("a line of {} bytes is less than the {} that a "
                                "DRAM command moves",
                                line, arch.dram.atomBytes()),
                    "0, or a DRAM with commands of at most 64 bytes"};
  if (DramMapping::create(arch.dram)->channelBytes() < line)
    return Conflict{"dram.mapping",
                    fmt::format("a cache's line of {} bytes is spread over "
                                "several channels",
                                line),
                    "channel bits above those of 64 bytes, or llc.bytes 0"};
  return std::nullopt;
}

std::optional<Conflict> schema::findConflict(const Architecture &arch) {
  if (auto conflict = checkCores(arch))
    return conflict;
  if (auto conflict = checkMatrix(arch))
    return conflict;
  if (auto conflict = checkMemories(arch))
    return conflict;
  if (auto conflict = checkDram(arch.dram))
    return conflict;
  if (auto conflict = checkCache(arch))
    return conflict;
  return checkNoc(arch);
}

/// Bytes per nanosecond that the links across the middle of a mesh carry if all
/// cores read from memory at all routers alike: half of the bursts cross it, of
/// half of these the request goes one way and the answer the other. No limit
/// elsewhere.
static double acrossMiddle(const Architecture &arch) {
  uint32_t x = arch.cores.meshX, y = arch.cores.meshY;
  if (arch.noc.topology != NocTopology::Mesh || x * y < 4 ||
      arch.noc.memoryPorts.size() % (x * y) != 0)
    return std::numeric_limits<double>::infinity();
  uint32_t links = x > y ? y : x, burst = arch.dma.burstBytes;
  uint32_t flits =
      1 + (burst + arch.noc.linkBytes - 1) / arch.noc.linkBytes; // Of both.
  return 4.0 * links * arch.noc.clockGhz * burst / flits;
}

std::vector<std::string>
tessera::architectureWarnings(const Architecture &arch) {
  std::vector<std::string> warnings;
  // Each user at its full rate: two-byte operands enter the array's left and
  // top edges, vector operands have four bytes.
  uint64_t matrix =
      uint64_t(arch.matrix.count) * (arch.matrix.rows + arch.matrix.cols) * 2;
  uint64_t vector = uint64_t(arch.vector.readPorts) * arch.vector.lanes * 4;
  uint64_t load = uint64_t(arch.dma.loadBursts) * arch.dma.burstBytes;
  uint64_t store = uint64_t(arch.dma.storeBursts) * arch.dma.burstBytes;
  uint64_t spm = uint64_t(arch.spm.banks) * arch.spm.bankWidth;
  uint64_t users = matrix + vector + load + store;
  if (spm < users)
    warnings.push_back(fmt::format(
        "spm: {} bytes per cycle are less than the {} that its users move at "
        "most (matrix {}, vector {}, load {}, store {})",
        spm, users, matrix, vector, load, store));
  double peak = arch.dram.peakBytesPerNs();
  double loads = double(arch.cores.count) * double(load) * arch.clockGhz;
  if (loads < peak)
    warnings.push_back(fmt::format("dma: loads of all cores move {:.1f} GB/s, "
                                   "less than the DRAM's {:.1f}",
                                   loads, peak));
  double ports = double(arch.noc.memoryPorts.size()) * arch.noc.linkBytes *
                 arch.noc.clockGhz;
  if (ports < peak)
    warnings.push_back(
        fmt::format("noc: the memory ports move {:.1f} GB/s, less "
                    "than the DRAM's {:.1f}",
                    ports, peak));
  if (double most = acrossMiddle(arch); most < peak)
    warnings.push_back(fmt::format(
        "noc: reads from everywhere move {:.1f} GB/s across the mesh's middle "
        "at most, less than the DRAM's {:.1f}",
        most, peak));
  if (std::max(arch.dma.loadBursts, arch.dma.storeBursts) * arch.clockGhz >
      arch.noc.clockGhz)
    warnings.push_back(fmt::format(
        "dma: {} bursts a cycle, but a core sends one message a network cycle",
        std::max(arch.dma.loadBursts, arch.dma.storeBursts)));
  if (arch.dma.burstBytes < arch.dram.atomBytes())
    warnings.push_back(
        fmt::format("dma: bursts of {} bytes are shorter than the "
                    "{} that a DRAM command moves",
                    arch.dma.burstBytes, arch.dram.atomBytes()));
  if (arch.acc.bytes <
      uint64_t(2) * arch.matrix.rows * arch.matrix.cols * 4 * arch.matrix.count)
    warnings.push_back(fmt::format(
        "acc: {} bytes hold less than two tiles of {} × {} results per engine",
        arch.acc.bytes, arch.matrix.rows, arch.matrix.cols));
  // What the file may say but the compiler does not use yet.
  if (arch.matrix.count > 1)
    warnings.push_back(fmt::format(
        "matrix.count: compiled models use the first of the {} engines; "
        "programs in assembly may use all, utilisation and bounds count all",
        arch.matrix.count));
  return warnings;
}
