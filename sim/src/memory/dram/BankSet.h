//===- BankSet.h - A set of a channel's banks -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One bit per bank, so that a controller looks only at banks with work.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_MEMORY_DRAM_BANKSET_H
#define TESSERA_SIM_MEMORY_DRAM_BANKSET_H

#include <bit>
#include <cstdint>
#include <vector>

namespace tessera::sim::dram {

class BankSet {
public:
  explicit BankSet(size_t banks) : banks(banks), words((banks + 63) / 64) {}

  size_t capacity() const { return banks; }

  void put(uint32_t bank, bool inside) {
    uint64_t bit = uint64_t(1) << (bank % 64);
    uint64_t &word = words[bank / 64];
    word = inside ? word | bit : word & ~bit;
  }
  bool contains(uint32_t bank) const {
    return words[bank / 64] >> (bank % 64) & 1;
  }
  /// Banks `first` to `first` + `count` - 1 as bits; `count` is a power of two
  /// up to 64 and divides `first`.
  uint64_t bits(uint32_t first, uint32_t count) const {
    uint64_t word = words[first / 64] >> (first % 64);
    return count == 64 ? word : word & ((uint64_t(1) << count) - 1);
  }
  /// Calls `visit(bank)` in ascending order.
  template <typename Visit> void forEach(Visit visit) const {
    for (size_t i = 0; i != words.size(); ++i)
      for (uint64_t rest = words[i]; rest; rest &= rest - 1)
        visit(uint32_t(i * 64 + std::countr_zero(rest)));
  }

private:
  size_t banks;
  std::vector<uint64_t> words;
};

} // namespace tessera::sim::dram

#endif // TESSERA_SIM_MEMORY_DRAM_BANKSET_H
