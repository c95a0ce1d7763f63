//===- DramPattern.cpp - Streams of DRAM transactions -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DramPattern.h"
#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <fstream>
#include <utility>

namespace tessera::bench {

static constexpr uint64_t mebi = uint64_t(1) << 20;

std::optional<PatternKind> patternNamed(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, PatternKind>, 6>
      table = {{{"seq", PatternKind::Seq},
                {"rand", PatternKind::Rand},
                {"seqmix", PatternKind::SeqMix},
                {"seqmixo", PatternKind::SeqMixO},
                {"randmix", PatternKind::RandMix},
                {"idle", PatternKind::Idle}}};
  for (const auto &[known, kind] : table)
    if (known == name)
      return kind;
  return std::nullopt;
}

PatternSource::PatternSource(PatternKind kind, const DramConfig &dram)
    : kind(kind), atomBytes(dram.atomBytes()),
      requestBytes(std::max<uint64_t>(64, dram.atomBytes())),
      capacity(dram.bytes), random(12345) {
  randomRequests =
      std::max<uint64_t>(1, std::min(capacity, 512 * mebi) / requestBytes);
  writeBase = 256 * mebi;
  // Two banks further, if consecutive rows go round pseudo-channels and bank
  // groups first.
  if (kind == PatternKind::SeqMixO)
    writeBase += 2 * dram.rowBytes * dram.pseudoChannels * dram.bankGroups;
}

void PatternSource::startRequest() {
  bool isRandom = kind == PatternKind::Rand || kind == PatternKind::RandMix ||
                  kind == PatternKind::Idle;
  bool mixesStreams =
      kind == PatternKind::SeqMix || kind == PatternKind::SeqMixO;
  current.write = mixesStreams && requests % 2 == 0;
  if (kind == PatternKind::RandMix)
    current.write = random() & 1;
  if (isRandom)
    current.address = random() % randomRequests * requestBytes;
  else
    current.address = (current.write ? writeBase : 0) +
                      streamed[current.write]++ * requestBytes;
  left = kind == PatternKind::Idle ? atomBytes : requestBytes;
  ++requests;
}

Transaction PatternSource::next() {
  if (left == 0)
    startRequest();
  Transaction result = current;
  result.address %= capacity;
  current.address += atomBytes;
  left -= atomBytes;
  return result;
}

/// Takes a number off the text's front.
static bool takeNumber(std::string_view &text, int base, uint64_t &value) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc())
    return false;
  text.remove_prefix(size_t(end - text.data()));
  return true;
}

static void skipBlanks(std::string_view &text) {
  while (!text.empty() && (text[0] == ' ' || text[0] == '\t'))
    text.remove_prefix(1);
}

static bool parseLine(std::string_view line, Transaction &transaction) {
  if (!takeNumber(line, 10, transaction.notBefore))
    return false;
  skipBlanks(line);
  if (line.empty() || (line[0] != 'R' && line[0] != 'W'))
    return false;
  transaction.write = line[0] == 'W';
  line.remove_prefix(1);
  if (line.empty() || (line[0] != ' ' && line[0] != '\t'))
    return false;
  skipBlanks(line);
  if (!line.starts_with("0x"))
    return false;
  line.remove_prefix(2);
  if (!takeNumber(line, 16, transaction.address))
    return false;
  skipBlanks(line);
  return line.empty();
}

Result<std::vector<Transaction>> readTrace(const std::string &path,
                                           const DramConfig &dram) {
  std::ifstream file(path);
  if (!file)
    return Status(StatusCode::InvalidArgument,
                  fmt::format("--trace: '{}' cannot be read", path));
  std::vector<Transaction> result;
  std::string line;
  auto error = [&](std::string what, int at) {
    return Status(StatusCode::InvalidArgument,
                  fmt::format("{}:{}: {}", path, at, what));
  };
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.ends_with('\r'))
      line.pop_back();
    std::string_view text = line;
    skipBlanks(text);
    if (text.empty() || text[0] == '#')
      continue;
    Transaction transaction;
    if (!parseLine(text, transaction))
      return error(fmt::format("'{}' is not 'cycle R|W 0xADDRESS'", line),
                   number);
    if (transaction.address >= dram.bytes)
      return error(fmt::format("address {:#x} is beyond the capacity of {:#x}",
                               transaction.address, dram.bytes),
                   number);
    if (!result.empty() && transaction.notBefore < result.back().notBefore)
      return error(fmt::format("cycle {} comes after cycle {}",
                               transaction.notBefore, result.back().notBefore),
                   number);
    result.push_back(transaction);
  }
  if (result.empty())
    return Status(StatusCode::InvalidArgument,
                  fmt::format("--trace: '{}' has no transactions", path));
  return result;
}

} // namespace tessera::bench
