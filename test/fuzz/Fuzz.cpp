//===- Fuzz.cpp - Mutated inputs of the decoders --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

namespace tessera::fuzz {

static std::filesystem::path corpusFolder(const Fuzzer &fuzzer) {
  return std::filesystem::path(TESSERA_SOURCE_DIR) / "test" / "fuzz" /
         "corpus" / fuzzer.name;
}

std::vector<Bytes> corpus(const Fuzzer &fuzzer) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto &entry :
       std::filesystem::directory_iterator(corpusFolder(fuzzer), error))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Bytes> inputs;
  for (const std::filesystem::path &file : files) {
    std::ifstream in(file, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(in),
                        std::istreambuf_iterator<char>());
  }
  return inputs;
}

bool writeCorpus(const Fuzzer &fuzzer, const std::string &folder) {
  std::filesystem::path to = std::filesystem::path(folder) / fuzzer.name;
  std::filesystem::create_directories(to);
  size_t number = 0;
  for (const Bytes &seed : fuzzer.seeds()) {
    std::ofstream out(to / fmt::format("{:02}", number++), std::ios::binary);
    out.write(reinterpret_cast<const char *>(seed.data()),
              std::streamsize(seed.size()));
    if (!out)
      return false;
  }
  return true;
}

static void damage(Bytes &input, const std::vector<Bytes> &inputs,
                   Random &random) {
  static constexpr uint64_t values[] = {
      0, 1, 0x7f, 0xff, 0xffff, 0x7fffffff, 1u << 31, 0xffffffff, ~uint64_t(0)};
  switch (random.below(7)) {
  case 0: // A bit.
    if (!input.empty())
      input[random.below(input.size())] ^= uint8_t(1u << random.below(8));
    return;
  case 1: // A byte.
    if (!input.empty())
      input[random.below(input.size())] = uint8_t(random.next());
    return;
  case 2: { // A field takes a value from the edge of its range.
    uint64_t width = uint64_t(1) << random.below(4);
    if (input.size() < width)
      return;
    uint64_t at = random.below(input.size() - width + 1) & ~(width - 1);
    uint64_t value = values[random.below(std::size(values))];
    for (uint64_t i = 0; i < width; ++i)
      input[at + i] = uint8_t(value >> (8 * i));
    return;
  }
  case 3: // Cut off.
    input.resize(random.below(input.size() + 1));
    return;
  case 4: { // A part goes.
    uint64_t at = random.below(input.size() + 1);
    uint64_t count = std::min<uint64_t>(random.below(32), input.size() - at);
    input.erase(input.begin() + at, input.begin() + at + count);
    return;
  }
  case 5: { // A part comes twice.
    uint64_t at = random.below(input.size() + 1);
    uint64_t count = std::min<uint64_t>(random.below(64), input.size() - at);
    Bytes part(input.begin() + at, input.begin() + at + count);
    input.insert(input.begin() + random.below(input.size() + 1), part.begin(),
                 part.end());
    return;
  }
  default: { // The rest is another input's.
    const Bytes &other = inputs[random.below(inputs.size())];
    uint64_t at = random.below(input.size() + 1);
    input.resize(at);
    if (at < other.size())
      input.insert(input.end(), other.begin() + at, other.end());
  }
  }
}

Outcome run(const Fuzzer &fuzzer, uint64_t rounds, uint64_t seed) {
  Outcome outcome;
  std::vector<Bytes> inputs = corpus(fuzzer);
  if (inputs.empty()) {
    outcome.failure = "the corpus is empty";
    return outcome;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    bool accepted = false;
    outcome.failure = fuzzer.check(inputs[i], accepted);
    if (outcome.failure.empty() && !accepted)
      outcome.failure = "a valid input was refused";
    if (!outcome.failure.empty()) {
      outcome.failure = fmt::format("corpus file {}: {}", i, outcome.failure);
      return outcome;
    }
  }
  for (uint64_t round = 0; round < rounds; ++round) {
    Random random(seed + round);
    Bytes input = inputs[random.below(inputs.size())];
    for (uint64_t n = 1 + random.below(4); n > 0; --n)
      damage(input, inputs, random);
    if (fuzzer.repair)
      fuzzer.repair(input);
    bool accepted = false;
    ++outcome.rounds;
    outcome.failure = fuzzer.check(input, accepted);
    outcome.accepted += accepted;
    if (!outcome.failure.empty()) {
      outcome.failure =
          fmt::format("seed {}: {}", seed + round, outcome.failure);
      break;
    }
  }
  return outcome;
}

} // namespace tessera::fuzz
