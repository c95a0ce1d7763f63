//===- Print.cpp - Printing and hashing architectures ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Schema.h"
#include "tessera/Arch/IsaKeys.h"
#include "tessera/Support/Hash.h"
#include <algorithm>
#include <fmt/format.h>

using namespace tessera;
using namespace tessera::schema;

template <typename... Cases> struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases> Overloaded(Cases...) -> Overloaded<Cases...>;

std::string schema::formatBytes(uint64_t bytes) {
  static constexpr std::pair<std::string_view, unsigned> units[] = {
      {"GiB", 30}, {"MiB", 20}, {"KiB", 10}};
  for (auto [name, shift] : units)
    if (bytes != 0 && bytes % (uint64_t(1) << shift) == 0)
      return fmt::format("{} {}", bytes >> shift, name);
  return fmt::format("{}", bytes);
}

/// Quoted wherever YAML could read a plain word as something else.
static std::string formatText(std::string_view text) {
  bool plain = !text.empty() && text != "null" && text != "true" &&
               text != "false" &&
               ((text[0] | 0x20) >= 'a' && (text[0] | 0x20) <= 'z');
  for (char c : text)
    plain &= (c >= '0' && c <= '9') ||
             ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' || c == '-' ||
             c == '.';
  if (plain)
    return std::string(text);
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      quoted += '\\';
    if (uint8_t(c) < 0x20)
      quoted += fmt::format("\\x{:02x}", uint8_t(c));
    else
      quoted += c;
  }
  return quoted + '"';
}

std::string schema::formatValue(const Key &key, const Architecture &original) {
  Architecture arch = original; // The table's accessors give mutable members.
  return std::visit(
      Overloaded{
          [&](const IntegerType &type) {
            uint64_t value = type.get(arch);
            return key.unit == "bytes" ? formatBytes(value)
                                       : fmt::format("{}", value);
          },
          [&](const RealType &type) {
            return fmt::format("{}", type.member(arch));
          },
          [&](const TextType &type) { return formatText(type.member(arch)); },
          [&](const ChoiceType &type) {
            return std::string(type.names[type.get(arch)]);
          },
          [&](const MeshType &) {
            return fmt::format("[{}, {}]", arch.cores.meshX, arch.cores.meshY);
          },
          [&](const NodesType &type) {
            return fmt::format("[{}]", fmt::join(type.member(arch), ", "));
          },
          [&](const FormatsType &) {
            std::string text;
            for (auto [format, scale] : arch.matrix.macsScale)
              text += fmt::format("{}{}: {{macs_scale: {}}}",
                                  text.empty() ? "" : ", ", formatName(format),
                                  scale);
            return "{" + text + "}";
          },
      },
      key.type);
}

std::string schema::acceptedText(const Key &key) {
  std::string text = std::visit(
      Overloaded{
          [&](const IntegerType &type) {
            bool bytes = key.unit == "bytes";
            return fmt::format(
                "{} from {} to {}",
                type.powerOfTwo ? "a power of two" : "a whole number",
                bytes ? formatBytes(type.min) : fmt::format("{}", type.min),
                bytes ? formatBytes(type.max) : fmt::format("{}", type.max));
          },
          [&](const RealType &type) {
            return fmt::format("a number from {} to {}", type.min, type.max);
          },
          [&](const TextType &type) { return std::string(type.accepted); },
          [&](const ChoiceType &type) {
            return fmt::format("{}", fmt::join(type.names, ", "));
          },
          [&](const MeshType &) {
            return std::string("[columns, rows], whole numbers from 1");
          },
          [&](const NodesType &) {
            return std::string("a list of node numbers, e.g. [0, 3]");
          },
          [&](const FormatsType &) {
            return fmt::format("{{format: {{macs_scale: a number from {} to "
                               "{}}}, …}}",
                               minMacsScale, maxMacsScale);
          },
      },
      key.type);
  // A number in bytes shows its unit by itself.
  if (!key.unit.empty() && key.unit != "bytes")
    text += fmt::format(" ({})", key.unit);
  else if (key.unit == "bytes")
    text += " bytes";
  return text;
}

std::string tessera::printArchitecture(const Architecture &arch) {
  std::string text;
  std::string_view section;
  for (const Key &key : keys()) {
    size_t dot = key.path.find('.');
    if (dot == std::string_view::npos) {
      section = {};
      text += fmt::format("{}: {}\n", key.path, formatValue(key, arch));
      continue;
    }
    if (key.path.substr(0, dot) != section) {
      section = key.path.substr(0, dot);
      text += fmt::format("{}:\n", section);
    }
    if (key.path == "dram.preset" && arch.dram.preset.empty())
      continue;
    if (!std::holds_alternative<FormatsType>(key.type)) {
      text += fmt::format("  {}: {}\n", key.path.substr(dot + 1),
                          formatValue(key, arch));
      continue;
    }
    text += fmt::format("  {}:\n", key.path.substr(dot + 1));
    for (auto [format, scale] : arch.matrix.macsScale)
      text += fmt::format("    {}: {{macs_scale: {}}}\n", formatName(format),
                          scale);
  }
  return text;
}

/// All keys of one class, with their values.
static std::string listKeys(const Architecture &arch, bool isa) {
  std::string text;
  for (const Key &key : keys())
    if (key.isa == isa && key.path != "name" && key.path != "dram.preset")
      text += fmt::format("{}={}\n", key.path, formatValue(key, arch));
  return text;
}

std::string tessera::isaKeys(const Architecture &arch) {
  return listKeys(arch, true);
}
std::string tessera::machineKeys(const Architecture &arch) {
  return listKeys(arch, true) + listKeys(arch, false);
}
uint64_t Architecture::isaHash() const { return hashBytes(isaKeys(*this)); }
uint64_t Architecture::timingHash() const {
  return hashBytes(listKeys(*this, false));
}
