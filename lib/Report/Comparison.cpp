//===- Comparison.cpp - Runs beside each other ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/Comparison.h"
#include "Text.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

using namespace tessera;
using namespace tessera::report;
using Json = nlohmann::ordered_json;

namespace {
struct Figure {
  std::string_view name;
  const char *path; ///< JSON pointer.
  std::string (*show)(double);
  bool ratio; ///< Whether a speed-up is shown: first ÷ this one.
};

/// An array of the document with its name and cycles of each element.
struct PartList {
  const char *key;
  const char *nodes; ///< The array that names the element's nodes; or null.
  std::vector<RunDocument::Part> RunDocument::*parts;
};
} // namespace

static std::string showWhole(double value) {
  return groupedText(uint64_t(value));
}
static std::string showBytes(double value) {
  return bytesText(uint64_t(value));
}

static constexpr Figure figures[] = {
    {"cycles", "/cycles", showWhole, true},
    {"time", "/time_us", durationText, true},
    {"matrix utilization", "/matrix/utilization", percentText, false},
    {"vector utilization", "/vector/utilization", percentText, false},
    {"DRAM read", "/dram/bytes_read", showBytes, false},
    {"DRAM written", "/dram/bytes_written", showBytes, false},
    {"DRAM utilization", "/dram/utilization", percentText, false},
    {"bound", "/bound/cycles", showWhole, false},
    {"efficiency", "/bound/efficiency", percentText, false},
    {"roofline", "/roofline/cycles", showWhole, false},
    {"layer by layer", "/layerwise/cycles", showWhole, false},
    {"critical path", "/critical_path/cycles", showWhole, false},
    {"instructions", "/instructions", showWhole, false},
    {"scratchpad", "/spm/peak_bytes", showBytes, false},
};
/// What the page shows beside the figures.
static constexpr const char *pageNumbers[] = {
    "/schema",
    "/matrix/macs",
    "/dram/bandwidth_gbps",
    "/dram/peak_gbps",
    "/roofline/efficiency",
    "/machine/clock_ghz",
    "/machine/matrix_macs_per_cycle",
    "/machine/vector_ops_per_cycle",
    "/machine/dram_bytes_per_cycle",
};
static constexpr const char *pageTexts[] = {"/arch", "/model", "/format",
                                            "/bound/limiter"};
static constexpr const char *pageLists[] = {
    "/dispatches",     "/nodes",          "/outputs",
    "/explanation",    "/engines/matrix", "/engines/load",
    "/engines/vector", "/engines/store",  "/engines/sequencer"};

static const Json *find(const Json &json, const char *path) {
  Json::json_pointer pointer(path);
  return json.contains(pointer) ? &json.at(pointer) : nullptr;
}

Result<RunDocument> report::readRunDocument(std::string_view name,
                                            std::string_view text) {
  auto wrong = [&](std::string_view what) {
    return Status(StatusCode::InvalidArgument,
                  fmt::format("{}: {}; a file that tessera run --json wrote is "
                              "accepted",
                              name, what));
  };
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object())
    return wrong("is no JSON object");
  const Json *schema = find(json, "/schema");
  if (!schema || !schema->is_number() || *schema != 1)
    return wrong("is no report of schema 1");
  RunDocument document;
  document.name = name;
  document.text = text;
  auto check = [&](const char *path, auto isRight) {
    const Json *value = find(json, path);
    return value && isRight(*value) ? value : nullptr;
  };
  auto isNumber = [](const Json &value) { return value.is_number(); };
  for (const Figure &figure : figures) {
    const Json *value = check(figure.path, isNumber);
    if (!value || value->get<double>() < 0)
      return wrong(fmt::format("'{}' is missing or no number", figure.path));
    document.figures.push_back(value->get<double>());
  }
  for (const char *path : pageNumbers)
    if (!check(path, isNumber))
      return wrong(fmt::format("'{}' is missing or no number", path));
  for (const char *path : pageTexts)
    if (!check(path, [](const Json &value) { return value.is_string(); }))
      return wrong(fmt::format("'{}' is missing or no text", path));
  for (const char *path : pageLists)
    if (!check(path, [](const Json &value) { return value.is_structured(); }))
      return wrong(fmt::format("'{}' is missing or no list", path));

  const PartList lists[] = {{"dispatches", "ops", &RunDocument::dispatches},
                            {"nodes", nullptr, &RunDocument::nodes}};
  for (const PartList &list : lists)
    for (const Json &item : json[list.key]) {
      const Json *title = find(item, "/name"), *cycles = find(item, "/cycles");
      if (!title || !title->is_string() || !cycles || !cycles->is_number())
        return wrong(fmt::format("an element of '{}' lacks a name or its "
                                 "cycles",
                                 list.key));
      std::string key = title->get<std::string>();
      if (list.nodes && item.contains(list.nodes) &&
          item[list.nodes].is_array() && !item[list.nodes].empty()) {
        key.clear();
        for (const Json &node : item[list.nodes])
          key += (key.empty() ? "" : ", ") +
                 (node.is_string() ? node.get<std::string>() : node.dump());
      }
      (document.*list.parts).push_back({key, cycles->get<double>()});
    }
  return document;
}

namespace {
/// Columns with two spaces between them, the first one to the left.
class Table {
public:
  void row(std::vector<std::string> cells) { rows.push_back(std::move(cells)); }
  std::string format() const {
    std::vector<size_t> widths;
    for (const auto &row : rows)
      for (size_t i = 0; i < row.size(); ++i) {
        widths.resize(std::max(widths.size(), i + 1));
        widths[i] = std::max(widths[i], fmt::formatted_size("{}", row[i]));
      }
    std::string text;
    for (const auto &row : rows) {
      std::string line = fmt::format("  {:<{}}", row[0], widths[0]);
      for (size_t i = 1; i < row.size(); ++i)
        line += fmt::format("  {:>{}}", row[i], widths[i]);
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + '\n';
    }
    return text;
  }

private:
  std::vector<std::vector<std::string>> rows;
};
} // namespace

static std::string speedUp(double before, double after) {
  return before > 0 && after > 0 ? fmt::format("{:.2f}x", before / after) : "-";
}

/// The name of a file, without its folders and shortened from the front.
static std::string columnName(const RunDocument &run) {
  std::string name = run.name.substr(run.name.find_last_of('/') + 1);
  return name.size() > 24 ? "…" + name.substr(name.size() - 23) : name;
}

/// The same part of all runs, found by its name and how often that came before.
static std::string
formatParts(std::string_view title, std::span<const RunDocument> runs,
            std::vector<RunDocument::Part> RunDocument::*parts) {
  struct Row {
    std::string name;
    std::vector<double> cycles;
  };
  std::vector<Row> rows;
  std::map<std::pair<std::string, size_t>, size_t> places;
  for (size_t r = 0; r < runs.size(); ++r) {
    std::map<std::string, size_t> seen;
    for (const RunDocument::Part &part : runs[r].*parts) {
      auto [place, isNew] =
          places.try_emplace({part.name, seen[part.name]++}, rows.size());
      if (isNew)
        rows.push_back({part.name, std::vector<double>(runs.size())});
      rows[place->second].cycles[r] += part.cycles;
    }
  }
  Table table;
  std::vector<std::string> head = {std::string(title)};
  for (const RunDocument &run : runs) {
    head.push_back(columnName(run));
    if (&run != &runs.front())
      head.push_back("speed-up");
  }
  table.row(std::move(head));
  for (const Row &row : rows) {
    std::vector<std::string> cells = {fmt::format("{:.48}", row.name)};
    for (size_t r = 0; r < runs.size(); ++r) {
      cells.push_back(row.cycles[r] > 0 ? showWhole(row.cycles[r]) : "-");
      if (r)
        cells.push_back(speedUp(row.cycles[0], row.cycles[r]));
    }
    table.row(std::move(cells));
  }
  return table.format();
}

std::string report::formatComparison(std::span<const RunDocument> runs) {
  Table table;
  std::vector<std::string> head = {""};
  for (const RunDocument &run : runs) {
    head.push_back(columnName(run));
    if (&run != &runs.front())
      head.push_back("");
  }
  table.row(std::move(head));
  for (size_t i = 0; i < std::size(figures); ++i) {
    std::vector<std::string> cells = {std::string(figures[i].name)};
    for (const RunDocument &run : runs) {
      cells.push_back(figures[i].show(run.figures[i]));
      if (&run != &runs.front())
        cells.push_back(figures[i].ratio
                            ? speedUp(runs.front().figures[i], run.figures[i])
                            : "");
    }
    table.row(std::move(cells));
  }
  return table.format() + '\n' +
         formatParts("dispatch, by its nodes", runs, &RunDocument::dispatches) +
         '\n' + formatParts("model node", runs, &RunDocument::nodes);
}
