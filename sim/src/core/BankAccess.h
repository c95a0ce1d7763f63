//===- BankAccess.h - Which banks an access needs ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The banks of a core's memories, the words of one access, and sequences of
// accesses to a tensor (docs/timing.md, Memory banks).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CORE_BANKACCESS_H
#define TESSERA_SIM_CORE_BANKACCESS_H

#include "core/Tensor.h"
#include "kernel/Serialize.h"
#include "tessera/Arch/Architecture.h"
#include <algorithm>
#include <optional>
#include <span>
#include <vector>

namespace tessera::sim {

/// A set of banks, a bit each: words of bits from the `first` of all banks on;
/// there is nothing outside.
struct BankSet {
  size_t first = 0;
  std::span<const uint64_t> bits;

  size_t end() const { return first + bits.size(); }
  /// Word `index` of all banks' bits.
  uint64_t word(size_t index) const {
    return index - first < bits.size() ? bits[index - first] : 0;
  }
};
inline bool overlap(const BankSet &a, const BankSet &b) {
  uint64_t both = 0;
  for (size_t i = std::max(a.first, b.first), end = std::min(a.end(), b.end());
       i < end; ++i)
    both |= a.bits[i - a.first] & b.bits[i - b.first];
  return both != 0;
}
/// `into` is of all banks.
inline void unite(std::span<uint64_t> into, const BankSet &banks) {
  for (size_t i = 0; i < banks.bits.size(); ++i)
    into[banks.first + i] |= banks.bits[i];
}

struct AccessPattern;

/// The banks of a core's memories, numbered in one row.
class BankLayout {
public:
  explicit BankLayout(const Architecture &arch);

  /// Of one memory.
  struct Memory {
    unsigned number; ///< Of the three.
    uint32_t first, count;
    uint32_t width; ///< Bytes of a word.
    /// Of powers of two, which most are: divisions are slow.
    std::optional<uint32_t> shift, mask;
    Memory(unsigned number, uint32_t first, uint32_t count, uint32_t width);
    uint64_t wordOf(uint64_t byte) const {
      return shift ? byte >> *shift : byte / width;
    }
    /// Of all banks, a word each.
    uint64_t bits() const { return uint64_t(count) * width * 8; }
    uint32_t bankOf(uint64_t word) const {
      return uint32_t(mask ? word & *mask : word % count);
    }
    /// Calls f(index, bits) for the banks of words first to last, part by part
    /// of a set, until f is true; whether it was.
    template <typename F>
    bool anyPart(uint64_t first, uint64_t last, const F &f) const;
  };
  const Memory spm;
  /// A bank of the accumulators does one read and one write a cycle: two banks.
  const Memory accRead, accWrite;
  const Memory &of(isa::Space space, bool written) const {
    return space != isa::Space::Acc ? spm : written ? accWrite : accRead;
  }
  const Memory &of(const AccessPattern &pattern) const;
  /// 64-bit words of a set of banks.
  size_t setWords() const {
    return (accWrite.first + accWrite.count + 63) / 64;
  }
};

/// The words of one access, by bank: in its n-th cycle an access needs the
/// banks in which it has more than n words.
class BankAccess {
public:
  explicit BankAccess(const BankLayout &layout);

  /// To begin a new one, in one memory.
  void clear(isa::Space space = isa::Space::Spm, bool written = false) {
    memory = &layout.of(space, written);
    ranges.clear();
    ascending = true;
    levels = 0;
  }
  /// Adds bytes [low, high).
  void add(uint64_t low, uint64_t high);
  /// To be called after the last add(): the cycles that the access takes.
  unsigned cycles();
  unsigned numCycles() const { return levels; }
  /// The number of the memory that it is in.
  unsigned memoryNumber() const { return memory->number; }
  /// The banks that it needs in its n-th cycle; none beyond the last.
  BankSet banks(unsigned n) const {
    if (n >= levels)
      return {};
    return {low, std::span(masks).subspan(n * maskWords + low, high - low)};
  }

private:
  struct Range {
    uint64_t first = 0, last = 0; ///< Words, inclusive.
  };
  void mark(const Range &range);
  void markIn(size_t maskWord, uint64_t bits);

  const BankLayout &layout;
  const BankLayout::Memory *memory;
  const size_t maskWords;
  std::vector<Range> ranges;
  bool ascending = true;       ///< The ranges, and they do not touch.
  std::vector<uint64_t> masks; ///< maskWords for each cycle;
  size_t low = 0, high = 0;    ///< of these only low to high - 1 have bits.
  unsigned levels = 0;
};

template <typename F>
bool BankLayout::Memory::anyPart(uint64_t word, uint64_t last,
                                 const F &f) const {
  while (word <= last) {
    uint32_t bank = bankOf(word), place = first + bank, bit = place % 64;
    uint64_t parts =
        std::min<uint64_t>(std::min(64 - bit, count - bank), last - word + 1);
    uint64_t bits = (parts == 64 ? ~uint64_t(0) : (uint64_t(1) << parts) - 1)
                    << bit;
    if (f(place / 64, bits))
      return true;
    word += parts;
  }
  return false;
}

/// Accesses of one run of bytes each, equally far apart.
struct EvenRuns {
  uint64_t low = 0;              ///< The first one's begin, in bits.
  uint64_t apart = 0;            ///< From one's begin to the next, in bits.
  uint64_t length = 0;           ///< In bits.
  uint64_t end = ~uint64_t(0);   ///< What lies beyond is left out.
  uint64_t count = ~uint64_t(0); ///< Those behind these touch nothing.

  struct Bytes {
    uint64_t low = 0, high = 0; ///< [low, high)
  };
  Bytes bytes(uint64_t i) const {
    if (i >= count)
      return {};
    uint64_t from = low + i * apart, to = std::min(from + length, end);
    return {from / 8, (to + 7) / 8};
  }
  /// After how many of them their banks repeat; at most.
  uint64_t sets(const BankLayout::Memory &memory) const;
  template <typename A> void serialize(A &ar) {
    fields(ar, low, apart, length, end, count);
  }
};

/// A sequence of accesses to a tensor. Its dimensions are `outer` first, then
/// inner ones, both flattened row major; access i touches the outer indices
/// from outerFirst + i · outerStep, outerCount of them, and of each the inner
/// elements from innerFirst + i · innerStep, innerCount of them; what is beyond
/// the ends is left out.
struct AccessPattern {
  isa::Descriptor td;
  bool written = false; ///< Else read.
  uint8_t outer = 0;
  uint64_t outerFirst = 0, outerStep = 0, outerCount = 1, outerEnd = 1;
  uint64_t innerFirst = 0, innerStep = 0, innerCount = 1, innerEnd = 1;
  Runs innerRuns; ///< The inner dimensions alone.

  /// Sets outerEnd, innerEnd and innerRuns to the tensor's, from td and outer.
  void setEnds();
  void access(uint64_t i, BankAccess &result) const;
  /// The same accesses, if each is one run and they are equally far apart.
  std::optional<EvenRuns> evenRuns() const;
  /// True if every access is one run of bytes that takes one cycle.
  bool isSimple(const BankLayout &layout) const;
  /// Else it is of no memory, and only takes a port.
  bool isLocal() const {
    return td.space == isa::Space::Spm || td.space == isa::Space::Acc;
  }

  template <typename A> void serialize(A &ar) {
    fields(ar, td, written, outer, outerFirst, outerStep, outerCount, outerEnd,
           innerFirst, innerStep, innerCount, innerEnd);
    if constexpr (A::loading) {
      if (outer > isa::maxRank || td.rank > isa::maxRank || outer > td.rank)
        ar.fail();
      else
        setRuns();
    }
  }

private:
  void setRuns();
};

} // namespace tessera::sim

#endif // TESSERA_SIM_CORE_BANKACCESS_H
