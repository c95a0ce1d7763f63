//===- Reference.cpp - The reference page of the keys ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Schema.h"
#include <fmt/format.h>

using namespace tessera;
using namespace tessera::schema;

static constexpr std::string_view introduction = R"(# Architecture files

<!-- Made from the schema in lib/Arch/Schema.cpp by the build target tessera_arch_docs. Do not edit. -->

An architecture file describes one accelerator, in YAML. Compiler, runtime, simulator and reports take every hardware
number from it. `--arch` names a preset (`tiny`, `edge`, `server`, `gemmini16`, `tpuv4like`) or gives the path of a file
(anything with a `/`, or ending in `.yaml` or `.yml`).

    tessera arch list                 the presets with their main figures
    tessera arch show edge            every key of it with its value: a starting point for a file of your own
    tessera arch check mine.yaml      errors, and warnings about combinations that waste something

An unknown, repeated or missing key, a value of the wrong type or out of range, and a combination that cannot work are
errors that name file, line, key and what is accepted. Numbers in bytes may be written with `KiB`, `MiB` or `GiB`.
The keys `links`, `energy` and `area` are not available yet, and are refused.

An object runs on any architecture that agrees with the one it was compiled for in the keys marked **isa**; the others
change speed alone.
)";

static std::string defaultOf(const Key &key) {
  switch (key.presence) {
  case Presence::Required:
    return "required";
  case Presence::Dram:
    return "timing set";
  case Presence::Derived:
    return std::string(key.defaultText);
  case Presence::Optional:
    break;
  }
  return fmt::format("`{}`", formatValue(key, Architecture()));
}

static std::string keyTables() {
  std::string text = "\n## Keys\n";
  std::string section = "none yet";
  for (const Key &key : keys()) {
    size_t dot = key.path.find('.');
    std::string own(dot == std::string_view::npos ? ""
                                                  : key.path.substr(0, dot));
    if (own != section) {
      section = own;
      text += section.empty() ? "\n### Top level\n"
                              : fmt::format("\n### `{}`\n", own);
      text += "\n| key | type, range and unit | default | hash | meaning |\n"
              "|---|---|---|---|---|\n";
    }
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n",
                        own.empty() ? key.path : key.path.substr(dot + 1),
                        acceptedText(key), defaultOf(key),
                        key.path == "name" || key.path == "dram.preset" ? "–"
                        : key.isa ? "**isa**"
                                  : "timing",
                        key.doc);
  }
  return text;
}

namespace {
/// What the tables of presets show of one.
struct Figures {
  std::string cores, matrix, vector, spm, acc, shared, dram, bandwidth, peak,
      ridge;
};
} // namespace

static Figures figuresOf(const Architecture &arch) {
  double bandwidth = arch.dramBytesPerCycle();
  double peak = 0; // FLOP per cycle
  if (auto bf16 = arch.matrix.macsScale.find(NumericFormat::BF16);
      bf16 != arch.matrix.macsScale.end())
    peak = 2 * bf16->second * arch.matrix.rows * arch.matrix.cols *
           arch.matrix.count * arch.cores.count;
  Figures figures;
  figures.cores = fmt::format("{} ({}×{})", arch.cores.count, arch.cores.meshX,
                              arch.cores.meshY);
  figures.matrix = fmt::format("{}×{}", arch.matrix.rows, arch.matrix.cols);
  figures.vector = fmt::format("{} / {} / {}", arch.vector.lanes,
                               arch.vector.aluSlots, arch.vector.sfuLanes);
  figures.spm = fmt::format("{}, {} × {} B", formatBytes(arch.spm.bytes),
                            arch.spm.banks, arch.spm.bankWidth);
  figures.acc = formatBytes(arch.acc.bytes);
  figures.shared = arch.shared.bytes ? formatBytes(arch.shared.bytes) : "none";
  figures.dram = fmt::format("{} × {}", arch.dram.channels, arch.dram.preset);
  figures.bandwidth = fmt::format("{:.1f}", bandwidth / arch.cores.count);
  figures.peak =
      peak ? fmt::format("{:.3f}", peak * arch.clockGhz / 1000) : "–";
  figures.ridge = peak ? fmt::format("{:.1f}", peak / bandwidth) : "–";
  return figures;
}

/// The presets' figures; they parse, which a unit test holds.
static std::vector<std::pair<std::string_view, Figures>> presetFigures() {
  std::vector<std::pair<std::string_view, Figures>> rows;
  for (std::string_view name : architecturePresets())
    if (Result<Architecture> arch = loadArchitecture(name); arch.ok())
      rows.emplace_back(name, figuresOf(*arch));
  return rows;
}

static std::string presetTable() {
  std::string text =
      "\n## Presets\n\nAt the presets' clock of 1 GHz. Peak: 2 FLOP per "
      "multiply-accumulate. Ridge: peak ÷ DRAM bandwidth.\n\n"
      "| preset | cores | matrix | lanes / ALU slots / SFU lanes | scratchpad, "
      "banks × width | accumulators | shared | DRAM | bytes per cycle and core "
      "| peak bf16, TFLOP/s | ridge, FLOP/B |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const auto &[name, row] : presetFigures())
    text +=
        fmt::format("| `{}` | {} | {} | {} | {} | {} | {} | {} | {} | {} | "
                    "{} |\n",
                    name, row.cores, row.matrix, row.vector, row.spm, row.acc,
                    row.shared, row.dram, row.bandwidth, row.peak, row.ridge);
  return text;
}

std::string tessera::architectureList() {
  constexpr std::string_view line =
      "{:<10} {:<9} {:<8} {:<16} {:<19} {:<8} {:<7} {:<16} {:>9} {:>9} {:>7}";
  auto format = [&](std::string_view name, const Figures &row) {
    std::string text = fmt::format(
        fmt::runtime(line), name, row.cores, row.matrix, row.vector, row.spm,
        row.acc, row.shared, row.dram, row.bandwidth, row.peak, row.ridge);
    return text + '\n';
  };
  Figures heading{"cores",  "matrix", "lanes/ALU/SFU", "scratchpad", "acc",
                  "shared", "DRAM",   "B/cy/core",     "TFLOP/s",    "FLOP/B"};
  std::string text = format("preset", heading);
  for (const auto &[name, row] : presetFigures())
    text += format(name, row);
  return text;
}

static std::string dramTable() {
  std::string text =
      "\n## DRAM timing sets\n\nNames for `dram.preset`; one channel each. Any "
      "key beside it overrides one number.\n\n| set | ";
  std::string rule = "|---|";
  for (const Key &key : keys())
    if (key.presence == Presence::Dram || key.path == "dram.bytes") {
      text += fmt::format("{} | ", key.path.substr(5));
      rule += "---|";
    }
  text += "\n" + rule + "\n";
  for (const DramPreset &preset : dramPresetTable()) {
    text += fmt::format("| {} |", preset.name);
    Architecture arch;
    arch.dram = preset.config;
    for (const Key &key : keys())
      if (key.presence == Presence::Dram || key.path == "dram.bytes")
        text += key.path == "dram.tck_ns"
                    ? fmt::format(" {:.4g} |", arch.dram.tckNs)
                    : fmt::format(" {} |", formatValue(key, arch));
    text += "\n";
  }
  text += "\nSources:\n\n";
  for (const DramPreset &preset : dramPresetTable())
    text += fmt::format("- {}: {}.\n", preset.name, preset.source);
  return text;
}

std::string tessera::architectureFileReference() {
  return std::string(introduction) + keyTables() + presetTable() + dramTable();
}
