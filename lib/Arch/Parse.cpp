//===- Parse.cpp - Loading architecture files -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Schema.h"
#include "tessera/Arch/DramMapping.h"
#include "tessera/Support/File.h"
#include <algorithm>
#include <bit>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <sstream>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

using namespace tessera;
using namespace tessera::schema;

/// Larger files are no architecture files.
static constexpr size_t maxFileBytes = size_t(1) << 20;

namespace {
class Parser {
public:
  explicit Parser(std::string_view fileName) : fileName(fileName) {}
  Result<Architecture> parse(std::string_view text);

private:
  Status error(int line, std::string_view path, std::string_view what,
               std::string_view accepted) const;
  Status parseSection(const YAML::Node &node, std::string_view section);
  Status parseKey(const Key &key, const YAML::Node &node);
  Status parseFormats(const Key &key, const YAML::Node &node);
  Status applyDramPreset(const YAML::Node &dram);
  Status unknownKey(int line, std::string_view path) const;
  Status checkPresent() const;
  void deriveDefaults();
  Status wrongType(const Key &key, const YAML::Node &node) const;
  Status outOfRange(const Key &key, const YAML::Node &node) const;
  /// The line of a key, or of its section, or the first one.
  int lineOf(std::string_view path) const;

  std::string_view fileName;
  Architecture arch;
  /// Where each key and section stands.
  std::map<std::string, int, std::less<>> lines;
};
} // namespace

namespace {
/// Takes a document's events and drops them.
class IgnoredEvents : public YAML::EventHandler {
public:
  void OnDocumentStart(const YAML::Mark &) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark &, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark &, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark &, const std::string &, YAML::anchor_t,
                const std::string &) override {}
  void OnSequenceStart(const YAML::Mark &, const std::string &, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark &, const std::string &, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};
} // namespace

/// Whether anything follows the first document. YAML::Load would ignore it, and
/// YAML::LoadAll does not end on some malformed texts.
static bool hasSeveralDocuments(std::string_view text) {
  std::istringstream stream{std::string(text)};
  YAML::Parser parser(stream);
  IgnoredEvents events;
  return parser.HandleNextDocument(events) && parser.HandleNextDocument(events);
}

static int lineOfNode(const YAML::Node &node) { return node.Mark().line + 1; }

/// A plain scalar, whose text could be a number.
static bool isPlain(const YAML::Node &node) {
  return node.IsScalar() && node.Tag() != "!";
}

static std::string describe(const YAML::Node &node) {
  if (node.IsMap())
    return "a map";
  if (node.IsSequence())
    return "a list";
  if (!node.IsScalar())
    return "nothing";
  std::string text = node.Scalar().substr(0, 40);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return uint8_t(c) < 0x20; }, ' ');
  return fmt::format("'{}'", text);
}

template <typename T>
static std::optional<T> parseNumber(std::string_view text) {
  T value{};
  auto [end, code] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

/// A whole number; with `bytes` also "64 KiB". Nothing if it is no number or
/// overflows.
static std::optional<uint64_t> parseInteger(std::string_view text, bool bytes) {
  unsigned shift = 0;
  if (bytes)
    for (auto [suffix, bits] :
         {std::pair<std::string_view, unsigned>{"KiB", 10},
          {"MiB", 20},
          {"GiB", 30}})
      if (text.ends_with(suffix)) {
        text.remove_suffix(suffix.size());
        while (text.ends_with(' '))
          text.remove_suffix(1);
        shift = bits;
        break;
      }
  std::optional<uint64_t> value = parseNumber<uint64_t>(text);
  if (!value || (*value << shift) >> shift != *value)
    return std::nullopt;
  return *value << shift;
}

static size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t above = row[j + 1];
      row[j + 1] =
          std::min({above + 1, row[j] + 1, diagonal + (a[i] == b[j] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

static bool isSection(std::string_view name) {
  for (const Key &key : keys())
    if (key.path.size() > name.size() && key.path.starts_with(name) &&
        key.path[name.size()] == '.')
      return true;
  return false;
}

Status Parser::error(int line, std::string_view path, std::string_view what,
                     std::string_view accepted) const {
  return Status(StatusCode::InvalidArgument,
                fmt::format("{}:{}: {}: {}; accepted: {}", fileName, line, path,
                            what, accepted));
}

Status Parser::wrongType(const Key &key, const YAML::Node &node) const {
  return error(lineOfNode(node), key.path,
               fmt::format("{} is of the wrong type", describe(node)),
               acceptedText(key));
}

Status Parser::outOfRange(const Key &key, const YAML::Node &node) const {
  return error(lineOfNode(node), key.path,
               fmt::format("{} is out of range", describe(node)),
               acceptedText(key));
}

Status Parser::unknownKey(int line, std::string_view path) const {
  size_t dot = path.find('.');
  std::string_view section =
      dot == std::string_view::npos ? "" : path.substr(0, dot + 1);
  for (std::string_view reserved : reservedKeys())
    if (path == reserved)
      return error(line, path, "not available yet", "leaving it out");
  // The nearest name at the same level.
  std::string_view nearest;
  size_t best = ~size_t(0);
  std::vector<std::string_view> names;
  for (const Key &key : keys()) {
    std::string_view name = key.path;
    if (!name.starts_with(section))
      continue;
    name.remove_prefix(section.size());
    name = name.substr(0, name.find('.'));
    if (!names.empty() && names.back() == name)
      continue;
    names.push_back(name);
    size_t distance = editDistance(path.substr(section.size()), name);
    if (distance < best) {
      best = distance;
      nearest = name;
    }
  }
  std::string what = "unknown key";
  if (best <= 1 + nearest.size() / 3)
    what += fmt::format(", did you mean '{}'?", nearest);
  return error(line, path, what, fmt::format("{}", fmt::join(names, ", ")));
}

Status Parser::parseFormats(const Key &key, const YAML::Node &node) {
  if (!node.IsMap() || node.size() == 0)
    return wrongType(key, node);
  arch.matrix.macsScale.clear();
  for (const auto &entry : node) {
    int line = lineOfNode(entry.first);
    if (!entry.first.IsScalar())
      return wrongType(key, entry.first);
    std::string path = fmt::format("matrix.formats.{}", entry.first.Scalar());
    std::optional<NumericFormat> format = formatFromName(entry.first.Scalar());
    if (!format)
      return error(line, key.path,
                   fmt::format("unknown format {}", describe(entry.first)),
                   "f32, bf16, f16, f8E4M3FN, f8E5M2, i8, u8, i4");
    if (arch.matrix.macsScale.count(*format))
      return error(line, path, "repeated", "each format once");
    if (!entry.second.IsMap())
      return error(line, path, describe(entry.second),
                   "{macs_scale: a number}");
    std::optional<double> scale;
    for (const auto &property : entry.second) {
      if (!property.first.IsScalar() || property.first.Scalar() != "macs_scale")
        return error(lineOfNode(property.first), path,
                     fmt::format("unknown key {}", describe(property.first)),
                     "macs_scale");
      if (scale)
        return error(lineOfNode(property.first), path, "macs_scale repeated",
                     "each key once");
      if (isPlain(property.second))
        scale = parseNumber<double>(property.second.Scalar());
      if (!scale || !(*scale >= minMacsScale && *scale <= maxMacsScale))
        return error(
            lineOfNode(property.first), path,
            fmt::format("macs_scale {}", describe(property.second)),
            fmt::format("a number from {} to {}", minMacsScale, maxMacsScale));
    }
    if (!scale)
      return error(line, path, "macs_scale is missing",
                   "{macs_scale: a number}");
    arch.matrix.macsScale[*format] = *scale;
  }
  return Status::success();
}

Status Parser::parseKey(const Key &key, const YAML::Node &node) {
  if (auto *type = std::get_if<IntegerType>(&key.type)) {
    if (!isPlain(node))
      return wrongType(key, node);
    std::optional<uint64_t> value =
        parseInteger(node.Scalar(), key.unit == "bytes");
    if (!value) {
      // A number all the same: below zero, with a fraction, or too large.
      bool number = parseNumber<double>(node.Scalar()).has_value();
      return number ? outOfRange(key, node) : wrongType(key, node);
    }
    if (*value < type->min || *value > type->max ||
        (type->powerOfTwo && !std::has_single_bit(*value)))
      return outOfRange(key, node);
    type->set(arch, *value);
    return Status::success();
  }
  if (auto *type = std::get_if<RealType>(&key.type)) {
    std::optional<double> value;
    if (isPlain(node))
      value = parseNumber<double>(node.Scalar());
    if (!value)
      return wrongType(key, node);
    if (!(*value >= type->min && *value <= type->max)) // also not a number
      return outOfRange(key, node);
    type->member(arch) = *value;
    return Status::success();
  }
  if (auto *type = std::get_if<TextType>(&key.type)) {
    if (!node.IsScalar() || node.Scalar().empty())
      return wrongType(key, node);
    if (node.Scalar().size() > 256)
      return error(lineOfNode(node), key.path, "too long",
                   "at most 256 characters");
    type->member(arch) = node.Scalar();
    return Status::success();
  }
  if (auto *type = std::get_if<ChoiceType>(&key.type)) {
    if (!node.IsScalar())
      return wrongType(key, node);
    auto found =
        std::find(type->names.begin(), type->names.end(), node.Scalar());
    if (found == type->names.end())
      return error(lineOfNode(node), key.path,
                   fmt::format("unknown value {}", describe(node)),
                   acceptedText(key));
    type->set(arch, unsigned(found - type->names.begin()));
    return Status::success();
  }
  if (std::holds_alternative<FormatsType>(key.type))
    return parseFormats(key, node);

  // What is left are lists of node numbers.
  if (!node.IsSequence())
    return wrongType(key, node);
  std::vector<uint32_t> values;
  for (const YAML::Node &item : node) {
    std::optional<uint32_t> value;
    if (isPlain(item))
      value = parseNumber<uint32_t>(item.Scalar());
    if (!value)
      return wrongType(key, item);
    values.push_back(*value);
  }
  if (auto *type = std::get_if<NodesType>(&key.type)) {
    type->member(arch) = std::move(values);
    return Status::success();
  }
  if (values.size() != 2 || values[0] == 0 || values[1] == 0)
    return wrongType(key, node);
  arch.cores.meshX = values[0];
  arch.cores.meshY = values[1];
  return Status::success();
}

Status Parser::applyDramPreset(const YAML::Node &dram) {
  for (const auto &entry : dram) {
    if (!entry.first.IsScalar() || entry.first.Scalar() != "preset")
      continue;
    if (entry.second.IsScalar())
      for (const DramPreset &preset : dramPresetTable())
        if (preset.name == entry.second.Scalar()) {
          arch.dram = preset.config;
          return Status::success();
        }
    return error(lineOfNode(entry.second), "dram.preset",
                 fmt::format("unknown timing set {}", describe(entry.second)),
                 fmt::format("{}", fmt::join(dramPresets(), ", ")));
  }
  return Status::success();
}

Status Parser::parseSection(const YAML::Node &node, std::string_view section) {
  std::string prefix = section.empty() ? "" : fmt::format("{}.", section);
  if (section == "dram")
    TESSERA_RETURN_IF_ERROR(applyDramPreset(node));
  for (const auto &entry : node) {
    int line = lineOfNode(entry.first);
    if (!entry.first.IsScalar())
      return error(line, section.empty() ? "file" : section,
                   fmt::format("{} as a key", describe(entry.first)), "a name");
    std::string path = prefix + entry.first.Scalar();
    const Key *key = findKey(path);
    bool subsection = section.empty() && isSection(path);
    if (!key && !subsection)
      return unknownKey(line, path);
    if (auto [previous, inserted] = lines.emplace(path, line); !inserted)
      return error(line, path,
                   fmt::format("repeated, first on line {}", previous->second),
                   "each key once");
    if (key) {
      TESSERA_RETURN_IF_ERROR(parseKey(*key, entry.second));
    } else {
      if (!entry.second.IsMap())
        return error(line, path,
                     fmt::format("{} is no map", describe(entry.second)),
                     "a map of keys");
      TESSERA_RETURN_IF_ERROR(parseSection(entry.second, path));
    }
  }
  return Status::success();
}

int Parser::lineOf(std::string_view path) const {
  if (auto found = lines.find(path); found != lines.end())
    return found->second;
  if (auto found = lines.find(path.substr(0, path.find('.')));
      found != lines.end())
    return found->second;
  return 1;
}

Status Parser::checkPresent() const {
  bool hasPreset = lines.count("dram.preset") != 0;
  for (const Key &key : keys()) {
    bool required = key.presence == Presence::Required ||
                    (key.presence == Presence::Dram && !hasPreset) ||
                    (key.path == "dram.bytes" && !hasPreset);
    if (required && lines.find(key.path) == lines.end())
      return error(lineOf(key.path), key.path,
                   key.presence == Presence::Required
                       ? "missing"
                       : "missing, and there is no dram.preset",
                   acceptedText(key));
  }
  return Status::success();
}

void Parser::deriveDefaults() {
  if (!lines.count("cores.mesh")) {
    arch.cores.meshX = arch.cores.count;
    arch.cores.meshY = 1;
  }
  if (!lines.count("dram.bytes"))
    arch.dram.bytes *= arch.dram.channels;
  if (!lines.count("noc.buffers"))
    arch.noc.buffers = 2 * arch.noc.hopCycles + 2;
  // Where the geometry is impossible, the checks say so first.
  if (!lines.count("dram.mapping") && arch.dram.rows() != 0 &&
      arch.dram.atomBytes() <= arch.dram.rowBytes)
    arch.dram.mapping = DramMapping::defaultFor(arch.dram, arch.dma.burstBytes);
}

Result<Architecture> Parser::parse(std::string_view text) {
  if (text.size() > maxFileBytes)
    return error(1, "file", fmt::format("{} bytes", text.size()),
                 fmt::format("at most {}", maxFileBytes));
  bool several = hasSeveralDocuments(text);
  YAML::Node document = YAML::Load(std::string(text));
  if (several || !document.IsMap())
    return error(1, "file", several ? "several documents" : "no map of keys",
                 "one document: a map of keys (docs/architecture-file.md)");
  TESSERA_RETURN_IF_ERROR(parseSection(document, ""));
  TESSERA_RETURN_IF_ERROR(checkPresent());
  deriveDefaults();
  if (std::optional<Conflict> conflict = findConflict(arch))
    return error(lineOf(conflict->path), conflict->path, conflict->what,
                 conflict->accepted);
  return std::move(arch);
}

Result<Architecture> tessera::parseArchitecture(std::string_view text,
                                                std::string_view fileName) {
  // yaml-cpp reports by exceptions; none leaves this function.
  try {
    return Parser(fileName).parse(text);
  } catch (const YAML::Exception &exception) {
    int line = exception.mark.is_null() ? 1 : exception.mark.line + 1;
    return Status(StatusCode::InvalidArgument,
                  fmt::format("{}:{}: file: not YAML: {}; accepted: a map of "
                              "keys (docs/architecture-file.md)",
                              fileName, line, exception.msg));
  }
}

Result<Architecture> tessera::loadArchitecture(std::string_view nameOrPath) {
  if (nameOrPath.find('\n') != std::string_view::npos)
    return parseArchitecture(nameOrPath, "architecture");
  bool isPath = nameOrPath.find('/') != std::string_view::npos ||
                nameOrPath.ends_with(".yaml") || nameOrPath.ends_with(".yml");
  if (isPath) {
    TESSERA_ASSIGN_OR_RETURN(std::string text,
                             readTextFile(std::string(nameOrPath)));
    return parseArchitecture(text, nameOrPath);
  }
  TESSERA_ASSIGN_OR_RETURN(std::string_view text,
                           architecturePresetText(nameOrPath));
  return parseArchitecture(text, fmt::format("{}.yaml", nameOrPath));
}
