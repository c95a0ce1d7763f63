//===- Generation.h - Text that a model wrote, and at what speed *- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The record of `tessera generate`. A call is one execution of a program on the
// device: it takes tokens, and gives the scores of the next one. Its time is
// the device's, from the submission of its tokens until its scores have come
// back to the host; what the host does in between takes none of it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_REPORT_GENERATION_H
#define TESSERA_REPORT_GENERATION_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::report {

struct GenerationCall {
  uint64_t tokens = 0;          ///< Taken.
  std::optional<int64_t> token; ///< Chosen; none within a prompt.
  double lead = 0;     ///< Of its score over the second best, if it was chosen.
  uint64_t cycles = 0; ///< Of the core clock.
  uint64_t dramBytesRead = 0, dramBytesWritten = 0; ///< Meanwhile, all of them.
};

/// How the host's reference went on from the same prompt.
struct GenerationCheck {
  uint64_t equalTokens = 0; ///< From the first one on, until one differs.
  /// Largest difference of a score, over the calls before one differs.
  double maxScoreDifference = 0;
};

struct GenerationReport {
  std::string model, arch;
  double clockGhz = 1, dramPeakGbps = 0;
  std::string prompt, text;   ///< As text; empty if tokens are no bytes.
  uint64_t promptTokens = 0;  ///< Number of tokens of the prompt.
  uint64_t stateBytes = 0;    ///< That stay on the device between calls.
  double boundStepCycles = 0; ///< No call with one token can take less.
  std::vector<GenerationCall> calls;
  std::optional<GenerationCheck> check;

  std::vector<int64_t> tokens() const; ///< Chosen ones.
  /// Cycles of the calls up to the first chosen token.
  uint64_t firstTokenCycles() const;
  /// The calls after that one: their number, cycles, and bytes of DRAM.
  struct Decoding {
    uint64_t calls = 0, cycles = 0, dramBytes = 0;
  };
  Decoding decoding() const;
  double microseconds(double cycles) const { return cycles / clockGhz / 1e3; }
  /// While decoding; 0 if only one token was asked for.
  double tokensPerSecond() const;
  double bandwidthGbps() const;
  double boundTokensPerSecond() const;
  bool agrees() const {
    return !check || check->equalTokens == tokens().size();
  }
};

std::string toJson(const GenerationReport &report);
std::string formatSummary(const GenerationReport &report);

} // namespace tessera::report

#endif // TESSERA_REPORT_GENERATION_H
