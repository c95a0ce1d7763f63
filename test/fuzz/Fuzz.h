//===- Fuzz.h - Mutated inputs of the decoders ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A fuzzer is a property of a decoder that holds for any bytes, and a corpus of
// valid inputs (test/fuzz/corpus/<name>). Each round takes an input of the
// corpus, or two spliced, damages it and checks the property. Seeded: a failure
// names the round, which any machine repeats.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_FUZZ_FUZZ_H
#define TESSERA_TEST_FUZZ_FUZZ_H

#include "tessera/Support/Random.h"
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tessera::fuzz {

using Bytes = std::vector<uint8_t>;

struct Fuzzer {
  std::string name; ///< Of its corpus' folder.
  /// Empty: the property holds; else what is wrong. `accepted` is set if the
  /// input was valid.
  std::function<std::string(const Bytes &input, bool &accepted)> check;
  /// Makes the checksums of a damaged input right again; may be null. Without
  /// it nothing behind the checksum would ever be reached.
  std::function<void(Bytes &input)> repair;
  /// The inputs of which the corpus was made.
  std::function<std::vector<Bytes>()> seeds;
  uint64_t rounds = 0; ///< In CI.
};
const std::vector<Fuzzer> &fuzzers();

struct Outcome {
  uint64_t rounds = 0, accepted = 0;
  std::string failure; ///< Empty: none.
};
/// The corpus as it is, then `rounds` damaged inputs.
Outcome run(const Fuzzer &fuzzer, uint64_t rounds, uint64_t seed);
std::vector<Bytes> corpus(const Fuzzer &fuzzer);
/// Writes a corpus' files.
bool writeCorpus(const Fuzzer &fuzzer, const std::string &folder);

} // namespace tessera::fuzz

#endif // TESSERA_TEST_FUZZ_FUZZ_H
