//===- BankSet.h - A set of a channel's banks -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One bit per bank, so that a controller looks only at banks with work. The
// first 64 banks, which mostly are all, lie in the set itself.
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
  explicit BankSet(size_t banks)
      : banks(banks), others(banks > 64 ? (banks - 1) / 64 : 0) {}

  size_t capacity() const { return banks; }

  void put(uint32_t bank, bool inside) {
    uint64_t bit = uint64_t(1) << (bank % 64);
    uint64_t &word = bank < 64 ? first : others[bank / 64 - 1];
    word = inside ? word | bit : word & ~bit;
  }
  bool contains(uint32_t bank) const { return wordOf(bank) >> (bank % 64) & 1; }
  bool empty() const {
    if (first)
      return false;
    for (uint64_t word : others)
      if (word)
        return false;
    return true;
  }
  /// Banks `from` to `from` + `count` - 1 as bits; `count` is a power of two
  /// up to 64 and divides `from`.
  uint64_t bits(uint32_t from, uint32_t count) const {
    uint64_t word = wordOf(from) >> (from % 64);
    return count == 64 ? word : word & ((uint64_t(1) << count) - 1);
  }
  /// Calls `visit(bank)` in ascending order.
  template <typename Visit> void forEach(Visit visit) const {
    for (uint64_t rest = first; rest; rest &= rest - 1)
      visit(uint32_t(std::countr_zero(rest)));
    for (size_t i = 0; i != others.size(); ++i)
      for (uint64_t rest = others[i]; rest; rest &= rest - 1)
        visit(uint32_t(64 + i * 64 + std::countr_zero(rest)));
  }

private:
  uint64_t wordOf(uint32_t bank) const {
    return bank < 64 ? first : others[bank / 64 - 1];
  }

  size_t banks;
  uint64_t first = 0;
  std::vector<uint64_t> others;
};

} // namespace tessera::sim::dram

#endif // TESSERA_SIM_MEMORY_DRAM_BANKSET_H
