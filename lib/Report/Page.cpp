//===- Page.cpp - The report as a page ------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/Page.h"
#include "PageAssets.h"
#include <algorithm>
#include <nlohmann/json.hpp>

using namespace tessera;
using namespace tessera::report;
using Json = nlohmann::ordered_json;

/// Of a busy part of an interval: one of 62 characters, page.js reads them.
static char digitOf(uint64_t busy, uint64_t cycles) {
  static constexpr std::string_view digits =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  return digits[std::min<uint64_t>(61, (busy * 61 + cycles / 2) / cycles)];
}

/// Differences between neighbouring samples of the runs, cycles from `begin`.
static Json activityToJson(const Activity &activity, const Architecture &arch,
                           uint64_t begin, uint64_t end) {
  Json json;
  for (const char *key : {"cycle", "dram_read", "dram_written", "noc"})
    json[key] = Json::array();
  std::vector<const ActivitySample *> samples;
  for (const ActivitySample &sample : activity.samples())
    if (sample.cycle >= begin && sample.cycle <= end)
      samples.push_back(&sample);
  size_t cores = samples.empty() ? 0 : samples.front()->busy.size();
  size_t numEngines = cores == 0 ? 0 : samples.front()->busy.front().size();
  std::vector<Json> engines(numEngines, Json::array());
  std::vector<std::vector<std::string>> busy(
      cores, std::vector<std::string>(numEngines));
  size_t numChannels =
      samples.empty() ? 0 : samples.front()->channelBytes.size();
  std::vector<std::string> channels(numChannels);
  double channelPeak = arch.dramBytesPerCycle() / arch.dram.channels;
  for (size_t i = 0; i < samples.size(); ++i) {
    const ActivitySample &sample = *samples[i];
    json["cycle"].push_back(sample.cycle - begin);
    if (i == 0)
      continue;
    const ActivitySample &before = *samples[i - 1];
    json["dram_read"].push_back(sample.dramBytesRead - before.dramBytesRead);
    json["dram_written"].push_back(sample.dramBytesWritten -
                                   before.dramBytesWritten);
    json["noc"].push_back(sample.nocByteHops - before.nocByteHops);
    uint64_t cycles = sample.cycle - before.cycle;
    for (size_t i = 0; i < numChannels; ++i)
      channels[i] += digitOf(sample.channelBytes[i] - before.channelBytes[i],
                             std::max<uint64_t>(1, channelPeak * cycles));
    for (size_t engine = 0; engine < numEngines; ++engine) {
      uint64_t sum = 0;
      for (size_t core = 0; core < cores; ++core) {
        uint64_t own = sample.busy[core][engine] - before.busy[core][engine];
        sum += own;
        busy[core][engine] += digitOf(own, cycles);
      }
      // In thousandths.
      engines[engine].push_back((sum * 1000 + cycles * cores / 2) /
                                (cycles * cores));
    }
  }
  json["engines"] = engines;
  json["busy"] = busy;
  json["channels"] = channels;
  return json;
}

/// [dispatch, start, kernel's start, kernel's end, end, first core], cycles
/// from `begin`.
static Json spansToJson(const RunFacts &facts, uint64_t begin) {
  Json json = Json::array();
  const std::vector<DispatchInfo> &dispatches = facts.object.dispatches;
  uint32_t columns = std::max(1u, facts.arch.cores.meshX);
  for (const sim::DispatchRecord &record : facts.statistics.dispatches)
    for (size_t i = 0; i < dispatches.size(); ++i)
      if (record.commandIndex == dispatches[i].packet &&
          record.startCycle >= begin)
        json.push_back({i, record.startCycle - begin, record.runCycle - begin,
                        record.haltCycle - begin, record.endCycle - begin,
                        record.y * columns + record.x});
  return json;
}

static std::string toText(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string report::pageEntry(const RunReport &report,
                              const PageDetails &details) {
  const RunFacts &facts = details.facts;
  uint64_t begin = facts.statistics.commandBuffers.front().firstFetchCycle;
  uint64_t end = facts.statistics.commandBuffers.back().endCycle;
  Json json;
  json["name"] = report.model + " on " + report.arch;
  json["run"] = Json::parse(toJson(report));
  json["spans"] = spansToJson(facts, begin);
  json["activity"] = activityToJson(details.activity, facts.arch, begin, end);
  json["architecture"] = printArchitecture(facts.arch);
  json["command"] = details.command;
  return toText(json);
}

std::string report::pageEntry(std::string_view name,
                              std::string_view document) {
  Json json;
  json["name"] = name;
  json["run"] = Json::parse(document, nullptr, false);
  return toText(json);
}

/// Text between tags.
static std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (c == '<')
      result += "&lt;";
    else if (c == '&')
      result += "&amp;";
    else
      result += c;
  }
  return result;
}

std::string report::makePage(std::string_view title,
                             std::span<const std::string> entries) {
  // A `<` in the data would end its element; in JSON it only is in strings.
  std::string data = "{\"runs\":[";
  for (const std::string &entry : entries) {
    if (&entry != &entries.front())
      data += ',';
    for (char c : entry)
      if (c == '<')
        data += "\\u003c";
      else
        data += c;
  }
  data += "]}";
  const std::pair<std::string_view, std::string> parts[] = {
      {"@TITLE@", escaped(title)},
      {"@PLOT_STYLE@", std::string(assets::plotStyle)},
      {"@STYLE@", std::string(assets::style)},
      {"@DATA@", std::move(data)},
      {"@PLOT_SCRIPT@", std::string(assets::plotScript)},
      {"@SCRIPT@", std::string(assets::script)},
  };
  // Each part stands once in the page, in this order.
  std::string page;
  std::string_view rest = assets::page;
  for (const auto &[mark, text] : parts) {
    size_t at = rest.find(mark);
    page += rest.substr(0, at);
    page += text;
    rest.remove_prefix(at == std::string_view::npos ? rest.size()
                                                    : at + mark.size());
  }
  page += rest;
  return page;
}
