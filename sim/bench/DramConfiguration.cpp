//===- DramConfiguration.cpp - The DRAM that dram-bench drives --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DramConfiguration.h"
#include "tessera/Arch/DramMapping.h"
#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <sstream>

namespace tessera::bench {

static Status invalid(std::string message) {
  return Status(StatusCode::InvalidArgument, std::move(message));
}

static bool startsSection(std::string_view line) {
  return !line.empty() && line[0] != ' ' && line[0] != '#' && line[0] != '-' &&
         line[0] != '\r' && line[0] != '\t' &&
         line.find(':') != std::string_view::npos;
}

/// Calls `visit(line, key of its section)` for every line.
template <typename Visit>
static void forEachLine(std::string_view text, Visit visit) {
  std::string_view section;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size() - 1);
    std::string_view line = text.substr(0, end + 1);
    text.remove_prefix(end + 1);
    if (startsSection(line))
      section = line.substr(0, line.find(':'));
    visit(line, section);
  }
}

/// A whole architecture around a text that has a `dram:` section only. The text
/// comes first, so that errors name its own lines.
static Result<std::string> aroundDram(std::string_view dramText) {
  Result<std::string_view> rest = architecturePresetText("tiny");
  if (!rest)
    return rest.status();
  std::string text(dramText);
  if (!text.ends_with('\n'))
    text += '\n';
  forEachLine(*rest, [&](std::string_view line, std::string_view section) {
    if (section != "dram")
      text += line;
  });
  return text;
}

static Result<DramConfig> parseDram(std::string_view text,
                                    const std::string &name) {
  bool onlyDram = true;
  forEachLine(text, [&](std::string_view, std::string_view section) {
    onlyDram &= section.empty() || section == "dram";
  });
  std::string whole(text);
  if (onlyDram) {
    Result<std::string> around = aroundDram(text);
    if (!around)
      return around.status();
    whole = *around;
  }
  Result<Architecture> arch = parseArchitecture(whole, name);
  if (!arch)
    return arch.status();
  return arch->dram;
}

static std::string namedMapping(const DramConfig &dram,
                                const std::string &name) {
  auto bits = [](uint64_t count) {
    return unsigned(std::bit_width(count) - 1);
  };
  unsigned column = bits(dram.rowBytes / dram.atomBytes());
  unsigned low = 0;
  while (name == "bgi64" && low < column && (dram.atomBytes() << low) < 64)
    ++low;
  std::string text = fmt::format("R{} K{} B{}", bits(dram.rows()),
                                 bits(dram.ranks), bits(dram.banksPerGroup));
  std::string group =
      fmt::format(" G{} X{} P{}", bits(dram.bankGroups), bits(dram.channels),
                  bits(dram.pseudoChannels));
  if (name == "native")
    return text + group + fmt::format(" C{}", column);
  return text + fmt::format(" C{}", column - low) + group +
         (low ? fmt::format(" C{}", low) : "");
}

Result<DramConfig> loadDram(const std::string &source,
                            const std::string &mapping) {
  std::vector<std::string_view> presets = dramPresets();
  bool isPreset = std::ranges::find(presets, source) != presets.end();
  std::string text;
  if (isPreset) {
    text = fmt::format("dram:\n  preset: {}\n", source);
  } else {
    std::ifstream file(source, std::ios::binary);
    if (!file)
      return invalid(fmt::format("--dram: '{}' is neither a readable file nor "
                                 "a preset; presets are {}",
                                 source, fmt::join(presets, ", ")));
    std::ostringstream content;
    content << file.rdbuf();
    text = content.str();
  }
  Result<DramConfig> dram = parseDram(text, source);
  if (!dram)
    return dram;
  if (!mapping.empty()) {
    bool named = mapping == "native" || mapping == "bgi" || mapping == "bgi64";
    dram->mapping = named ? namedMapping(*dram, mapping) : mapping;
  }
  if (Result<DramMapping> parsed = DramMapping::create(*dram); !parsed)
    return invalid(fmt::format(
        "--mapping: {}; this DRAM needs the bits of '{}' in any order, or "
        "native, bgi, bgi64",
        parsed.status().message(), namedMapping(*dram, "native")));
  return dram;
}

} // namespace tessera::bench
