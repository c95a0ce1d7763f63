//===- TickingBanks.h - Words served one by one -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_SIM_TICKINGBANKS_H
#define TESSERA_TEST_UNIT_SIM_TICKINGBANKS_H

#include "tessera/Arch/Architecture.h"
#include <algorithm>
#include <set>
#include <vector>

namespace tessera::sim::test {

/// When an access asks: in a cycle, what comes from outside first, then what a
/// copy brings, then what begins.
enum class Asks { Comes, IsCopied, Begins };
inline uint64_t askedAt(uint64_t cycle, Asks asks) {
  return cycle * 3 + uint64_t(asks);
}

/// The banks that are taken in a cycle; all memories in one row.
using BusyBanks = std::set<size_t>;

/// The words of one access, each waiting in its bank. In a cycle it takes one
/// from every bank that still has one, or, if another access has taken one of
/// these banks before it, none.
class WordsToServe {
public:
  /// Of the scratchpad.
  explicit WordsToServe(const Architecture &arch)
      : WordsToServe(0, arch.spm.banks, arch.spm.bankWidth) {}
  /// Of the accumulators, whose banks read and write side by side.
  static WordsToServe accRead(const Architecture &arch) {
    return {arch.spm.banks, arch.acc.banks, arch.matrix.cols * 4};
  }
  static WordsToServe accWrite(const Architecture &arch) {
    return {arch.spm.banks + arch.acc.banks, arch.acc.banks,
            arch.matrix.cols * 4};
  }
  void add(uint64_t address, uint64_t bits) {
    for (uint64_t byte = address; byte <= address + (bits - 1) / 8; ++byte) {
      uint64_t word = byte / width;
      banks[word % banks.size()].insert(word);
    }
  }
  size_t cyclesLeft() const {
    size_t most = 0;
    for (const std::set<uint64_t> &bank : banks)
      most = std::max(most, bank.size());
    return most;
  }
  bool canServe(const BusyBanks &busy) const {
    for (size_t b = 0; b < banks.size(); ++b)
      if (!banks[b].empty() && busy.count(first + b))
        return false;
    return true;
  }
  bool serve(BusyBanks &busy) {
    if (!canServe(busy))
      return false;
    for (size_t b = 0; b < banks.size(); ++b)
      if (!banks[b].empty()) {
        busy.insert(first + b);
        banks[b].erase(banks[b].begin());
      }
    return true;
  }

private:
  WordsToServe(size_t first, uint32_t count, uint32_t width)
      : banks(count), first(first), width(width) {}

  std::vector<std::set<uint64_t>> banks;
  size_t first;
  uint64_t width;
};

} // namespace tessera::sim::test

#endif // TESSERA_TEST_UNIT_SIM_TICKINGBANKS_H
