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

/// Figures of documents are below this (checked when they are read).
static constexpr double largestFigure = 1e18;

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
/// What the elements of a list are: texts, or objects with these fields.
struct ListShape {
  const char *path;
  std::vector<const char *> numbers, texts, textLists, numberLists;
};
static const ListShape pageLists[] = {
    {"/explanation", {}, {}, {}, {}},
    {"/dispatches",
     {"cycles", "bound_cycles", "memory_cycles", "matrix_utilization", "macs",
      "vector_ops", "dram_bytes"},
     {"name", "limiter"},
     {"ops"},
     {}},
    {"/nodes",
     {"cycles", "bound_cycles", "macs", "vector_ops"},
     {"name", "kind"},
     {"dispatches"},
     {}},
    {"/outputs", {"max_abs_err", "tolerance"}, {"name", "reason"}, {}, {}},
    {"/memory/links",
     {"messages", "flits", "bytes", "blocked_cycles"},
     {"from", "to"},
     {},
     {}},
    {"/memory/channels",
     {"reads", "writes", "row_hits", "row_misses", "row_conflicts",
      "turnarounds", "refreshes"},
     {},
     {},
     {"bank_accesses"}},
};

static const Json *find(const Json &json, const char *path) {
  Json::json_pointer pointer(path);
  return json.contains(pointer) ? &json.at(pointer) : nullptr;
}

static bool isText(const Json &value) { return value.is_string(); }
static bool isFigure(const Json &value) {
  return value.is_number() && value.get<double>() >= 0 &&
         value.get<double>() <= largestFigure;
}

/// What is wrong with an element of a list, or "".
static std::string faultOf(const Json &item, const ListShape &shape) {
  if (shape.numbers.empty() && shape.texts.empty())
    return item.is_string() ? "" : "is no text";
  if (!item.is_object())
    return "is no object";
  auto lacks = [&](const char *field, auto isRight) {
    return !item.contains(field) || !isRight(item[field]);
  };
  auto listOf = [](auto isRight) {
    return [isRight](const Json &value) {
      return value.is_array() &&
             std::all_of(value.begin(), value.end(), isRight);
    };
  };
  for (const char *field : shape.numbers)
    if (lacks(field, isFigure))
      return fmt::format("lacks '{}', a number from 0 to 1e18", field);
  for (const char *field : shape.texts)
    if (lacks(field, isText))
      return fmt::format("lacks '{}', a text", field);
  for (const char *field : shape.textLists)
    if (lacks(field, listOf(isText)))
      return fmt::format("lacks '{}', a list of texts", field);
  for (const char *field : shape.numberLists)
    if (lacks(field, listOf(isFigure)))
      return fmt::format("lacks '{}', a list of numbers", field);
  return "";
}

Result<RunDocument> report::readRunDocument(std::string_view name,
                                            std::string_view text) {
  auto wrong = [&](std::string_view what) {
    return Status(StatusCode::InvalidArgument,
                  fmt::format("{}: {}; a file that tessera run --json wrote is "
                              "accepted",
                              name, what));
  };
  // Deeper than any report, and no deeper than a page's writer can go.
  constexpr int deepest = 32;
  bool tooDeep = false;
  Json json = Json::parse(
      text,
      [&](int depth, Json::parse_event_t, Json &) {
        tooDeep |= depth > deepest;
        return depth <= deepest;
      },
      false);
  if (tooDeep)
    return wrong("is nested too deeply");
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
  for (const Figure &figure : figures) {
    const Json *value = check(figure.path, isFigure);
    if (!value)
      return wrong(fmt::format("'{}' is missing or no number from 0 to 1e18",
                               figure.path));
    document.figures.push_back(value->get<double>());
  }
  for (const char *path : pageNumbers)
    if (!check(path, isFigure))
      return wrong(
          fmt::format("'{}' is missing or no number from 0 to 1e18", path));
  for (const char *path : pageTexts)
    if (!check(path, isText))
      return wrong(fmt::format("'{}' is missing or no text", path));
  for (const ListShape &list : pageLists) {
    const Json *values = find(json, list.path);
    if (!values)
      continue; // Older reports lack some; those needed are asked for below.
    if (!values->is_array())
      return wrong(fmt::format("'{}' is no list", list.path));
    for (const Json &item : *values)
      if (std::string what = faultOf(item, list); !what.empty())
        return wrong(fmt::format("an element of '{}' {}", list.path, what));
  }
  for (const char *path : {"/dispatches", "/nodes", "/outputs", "/explanation"})
    if (!find(json, path))
      return wrong(fmt::format("'{}' is missing or no list", path));
  const Json *engines = find(json, "/engines");
  auto isTable = [](const Json &causes) {
    return causes.is_object() &&
           std::all_of(causes.begin(), causes.end(), isFigure);
  };
  for (const char *engine : {"sequencer", "load", "store", "matrix", "vector"})
    if (!engines || !engines->is_object() || !engines->contains(engine) ||
        !isTable(engines->at(engine)))
      return wrong(fmt::format("'/engines/{}' is missing or no table of "
                               "numbers",
                               engine));
  // Those of a machine with several matrix engines.
  if (!std::all_of(engines->begin(), engines->end(), isTable))
    return wrong("an element of '/engines' is no table of numbers");
  if (json.contains("memory") &&
      (!find(json, "/memory/links") || !find(json, "/memory/channels") ||
       !check("/memory/atom_bytes", isFigure) ||
       !check("/machine/network", isText) ||
       !check("/machine/routers_per_row", isFigure) ||
       !check("/machine/network_cycles_per_cycle", isFigure)))
    return wrong("'/memory' is there without its links, channels and network");

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

/// The name of a file, without its folders.
static std::string columnName(const RunDocument &run) {
  return nameText(run.name.substr(run.name.find_last_of('/') + 1), 24);
}

/// The same part of all runs, found by its name; those of one name are added
/// up.
static std::string
formatParts(std::string_view title, std::span<const RunDocument> runs,
            std::vector<RunDocument::Part> RunDocument::*parts) {
  struct Row {
    std::string name;
    std::vector<double> cycles;
  };
  std::vector<Row> rows;
  std::map<std::string, size_t> places;
  for (size_t r = 0; r < runs.size(); ++r)
    for (const RunDocument::Part &part : runs[r].*parts) {
      auto [place, isNew] = places.try_emplace(part.name, rows.size());
      if (isNew)
        rows.push_back({part.name, std::vector<double>(runs.size())});
      rows[place->second].cycles[r] += part.cycles;
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
    std::vector<std::string> cells = {nameText(row.name, 48)};
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
