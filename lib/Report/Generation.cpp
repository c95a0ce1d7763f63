//===- Generation.cpp - Text that a model wrote, and at what speed --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/Generation.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace tessera::report {

using Json = nlohmann::ordered_json;

std::vector<int64_t> GenerationReport::tokens() const {
  std::vector<int64_t> chosen;
  for (const GenerationCall &call : calls)
    if (call.token)
      chosen.push_back(*call.token);
  return chosen;
}

uint64_t GenerationReport::firstTokenCycles() const {
  uint64_t cycles = 0;
  for (const GenerationCall &call : calls) {
    cycles += call.cycles;
    if (call.token)
      break;
  }
  return cycles;
}

GenerationReport::Decoding GenerationReport::decoding() const {
  Decoding decoding;
  bool begun = false;
  for (const GenerationCall &call : calls) {
    if (begun) {
      ++decoding.calls;
      decoding.cycles += call.cycles;
      decoding.dramBytes += call.dramBytesRead + call.dramBytesWritten;
    }
    begun |= call.token.has_value();
  }
  return decoding;
}

double GenerationReport::tokensPerSecond() const {
  Decoding all = decoding();
  return all.cycles ? double(all.calls) / double(all.cycles) * clockGhz * 1e9
                    : 0;
}

double GenerationReport::bandwidthGbps() const {
  Decoding all = decoding();
  return all.cycles ? double(all.dramBytes) / double(all.cycles) * clockGhz : 0;
}

double GenerationReport::boundTokensPerSecond() const {
  return boundStepCycles > 0 ? clockGhz * 1e9 / boundStepCycles : 0;
}

std::string toJson(const GenerationReport &report) {
  Json json;
  json["schema"] = 1;
  json["model"] = report.model;
  json["arch"] = report.arch;
  json["clock_ghz"] = report.clockGhz;
  json["prompt"] = report.prompt;
  json["text"] = report.text;
  json["prompt_tokens"] = report.promptTokens;
  json["tokens"] = report.tokens();
  json["time_to_first_token_us"] =
      report.microseconds(double(report.firstTokenCycles()));
  GenerationReport::Decoding decoding = report.decoding();
  json["decode_calls"] = decoding.calls;
  json["decode_cycles"] = decoding.cycles;
  json["decode_dram_bytes"] = decoding.dramBytes;
  if (decoding.calls) {
    json["tokens_per_s"] = report.tokensPerSecond();
    json["dram_bandwidth_gbps"] = report.bandwidthGbps();
  } else {
    json["tokens_per_s"] = json["dram_bandwidth_gbps"] = nullptr;
  }
  json["dram_peak_gbps"] = report.dramPeakGbps;
  json["bound_tokens_per_s"] = report.boundTokensPerSecond();
  json["state_bytes"] = report.stateBytes;
  json["calls"] = Json::array();
  for (const GenerationCall &call : report.calls) {
    Json one = {{"tokens", call.tokens},
                {"token", nullptr},
                {"lead", nullptr},
                {"cycles", call.cycles},
                {"time_us", report.microseconds(double(call.cycles))},
                {"dram_bytes_read", call.dramBytesRead},
                {"dram_bytes_written", call.dramBytesWritten}};
    if (call.token) {
      one["token"] = *call.token;
      one["lead"] = call.lead;
    }
    json["calls"].push_back(std::move(one));
  }
  if (report.check)
    json["verification"] = {
        {"ok", report.agrees()},
        {"equal_tokens", report.check->equalTokens},
        {"max_score_difference", report.check->maxScoreDifference}};
  else
    json["verification"] = nullptr;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string formatSummary(const GenerationReport &report) {
  GenerationReport::Decoding decoding = report.decoding();
  std::string text =
      fmt::format("{} on {}: {} tokens after a prompt of {}\n", report.model,
                  report.arch, report.tokens().size(), report.promptTokens);
  text += fmt::format("  time to first token  {:>10.1f} us  {} cycles\n",
                      report.microseconds(double(report.firstTokenCycles())),
                      report.firstTokenCycles());
  if (decoding.calls)
    text += fmt::format(
        "  then                 {:>10.1f} tokens/s  {:.0f} cycles a token; "
        "bound {:.1f} tokens/s\n"
        "  DRAM, meanwhile      {:>10.2f} GB/s  {:.1f} % of {:.1f} GB/s, "
        "{:.0f} bytes a token\n",
        report.tokensPerSecond(),
        double(decoding.cycles) / double(decoding.calls),
        report.boundTokensPerSecond(), report.bandwidthGbps(),
        report.dramPeakGbps > 0
            ? 100 * report.bandwidthGbps() / report.dramPeakGbps
            : 0.0,
        report.dramPeakGbps,
        double(decoding.dramBytes) / double(decoding.calls));
  text += fmt::format("  kept on the device   {:>10} bytes between calls\n",
                      report.stateBytes);
  if (report.check) {
    double lead = 0;
    bool any = false;
    for (const GenerationCall &call : report.calls)
      if (call.token) {
        lead = any ? std::min(lead, call.lead) : call.lead;
        any = true;
      }
    text += fmt::format("  reference            {} of {} tokens are the "
                        "host's; scores differ by {:.3g} at most,\n"
                        "                       the closest choice led by "
                        "{:.3g}\n",
                        report.check->equalTokens, report.tokens().size(),
                        report.check->maxScoreDifference, lead);
  }
  return text;
}

} // namespace tessera::report
