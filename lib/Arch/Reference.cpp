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

static std::string presetTable() {
  std::string text =
      "\n## Presets\n\nAt the presets' clock of 1 GHz. Peak: 2 FLOP per "
      "multiply-accumulate. Ridge: peak ÷ DRAM bandwidth.\n\n"
      "| preset | cores | matrix | lanes / ALU slots / SFU lanes | scratchpad, "
      "banks × width | accumulators | shared | DRAM | bytes per cycle and core "
      "| "
      "peak bf16, TFLOP/s | ridge, FLOP/B "
      "|\n|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (std::string_view name : architecturePresets()) {
    Result<Architecture> loaded = loadArchitecture(name);
    if (!loaded.ok())
      return loaded.status().message();
    const Architecture &arch = *loaded;
    double bandwidth = arch.dramBytesPerCycle();
    auto bf16 = arch.matrix.macsScale.find(NumericFormat::BF16);
    double peak = 0;
    if (bf16 != arch.matrix.macsScale.end())
      peak = 2.0 * bf16->second * arch.matrix.rows * arch.matrix.cols *
             arch.matrix.count * arch.cores.count * arch.clockGhz;
    text += fmt::format(
        "| `{}` | {} ({}×{}) | {}×{} | {} / {} / {} | {}, {} × {} B | {} | {} "
        "| "
        "{} × {} | {:.1f} | {} | {} |\n",
        arch.name, arch.cores.count, arch.cores.meshX, arch.cores.meshY,
        arch.matrix.rows, arch.matrix.cols, arch.vector.lanes,
        arch.vector.aluSlots, arch.vector.sfuLanes, formatBytes(arch.spm.bytes),
        arch.spm.banks, arch.spm.bankWidth, formatBytes(arch.acc.bytes),
        arch.shared.bytes ? formatBytes(arch.shared.bytes) : "none",
        arch.dram.channels, arch.dram.preset, bandwidth / arch.cores.count,
        peak ? fmt::format("{:.3f}", peak / 1000) : "–",
        peak ? fmt::format("{:.1f}", peak / arch.clockGhz / bandwidth) : "–");
  }
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
