//===- DramPattern.h - Streams of DRAM transactions -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The access patterns that DRAM models are compared with, and traces. A
// transaction is one atom; a request is 64 bytes or an atom if that is more.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_BENCH_DRAMPATTERN_H
#define TESSERA_SIM_BENCH_DRAMPATTERN_H

#include "tessera/Arch/Architecture.h"
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace tessera::bench {

struct Transaction {
  uint64_t notBefore = 0; ///< The DRAM clock of its first offer.
  bool write = false;
  uint64_t address = 0;
};

enum class PatternKind { Seq, Rand, SeqMix, SeqMixO, RandMix, Idle };

std::optional<PatternKind> patternNamed(std::string_view name);
inline constexpr std::string_view patternNames =
    "seq, rand, seqmix, seqmixo, randmix, idle";

/// Makes a pattern's transactions one after the other.
class PatternSource {
public:
  PatternSource(PatternKind kind, const DramConfig &dram);
  Transaction next();

private:
  void startRequest();

  PatternKind kind;
  uint64_t atomBytes, requestBytes, capacity;
  uint64_t randomRequests; ///< Requests in the range of random addresses.
  uint64_t writeBase;
  std::mt19937_64 random;
  uint64_t requests = 0, streamed[2] = {0, 0};
  Transaction current;
  uint64_t left = 0; ///< Bytes of the request not yet handed out.
};

/// Lines `cycle R|W 0xADDRESS` with cycles that never decrease; empty lines
/// and lines that start with '#' are skipped.
Result<std::vector<Transaction>> readTrace(const std::string &path,
                                           const DramConfig &dram);

} // namespace tessera::bench

#endif // TESSERA_SIM_BENCH_DRAMPATTERN_H
