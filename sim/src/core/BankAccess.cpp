//===- BankAccess.cpp - Which banks an access needs -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/BankAccess.h"
#include <algorithm>
#include <bit>
#include <numeric>

namespace tessera::sim {

//===----------------------------------------------------------------------===//
// One access
//===----------------------------------------------------------------------===//

BankLayout::Memory::Memory(unsigned number, uint32_t first, uint32_t count,
                           uint32_t width)
    : number(number), first(first), count(std::max(1u, count)),
      width(std::max(1u, width)) {
  if (std::has_single_bit(this->width))
    shift = uint32_t(std::countr_zero(this->width));
  if (std::has_single_bit(this->count))
    mask = this->count - 1;
}

const BankLayout::Memory &BankLayout::of(const AccessPattern &pattern) const {
  return of(pattern.td.space, pattern.written);
}

BankLayout::BankLayout(const Architecture &arch)
    : spm(0, 0, arch.spm.banks, arch.spm.bankWidth),
      accRead(1, spm.count, arch.acc.banks, arch.matrix.cols * 4),
      accWrite(2, accRead.first + accRead.count, arch.acc.banks,
               arch.matrix.cols * 4) {}

BankAccess::BankAccess(const BankLayout &layout)
    : layout(layout), memory(&layout.spm), maskWords(layout.setWords()) {}

void BankAccess::add(uint64_t low, uint64_t high) {
  if (low >= high)
    return;
  Range range{memory->wordOf(low), memory->wordOf(high - 1)};
  if (!ranges.empty()) {
    // Most come in order; a word that several runs share is read once.
    Range &back = ranges.back();
    if (range.first >= back.first && range.first <= back.last + 1) {
      back.last = std::max(back.last, range.last);
      return;
    }
    ascending &= range.first > back.last;
  }
  ranges.push_back(range);
}

unsigned BankAccess::cycles() {
  masks.clear();
  levels = 0;
  low = maskWords, high = 0;
  if (!ascending) {
    std::sort(ranges.begin(), ranges.end(),
              [](const Range &a, const Range &b) { return a.first < b.first; });
    size_t merged = 0;
    for (size_t i = 1; i < ranges.size(); ++i)
      if (ranges[i].first <= ranges[merged].last)
        ranges[merged].last = std::max(ranges[merged].last, ranges[i].last);
      else
        ranges[++merged] = ranges[i];
    ranges.resize(merged + 1);
    ascending = true;
  }
  for (const Range &range : ranges)
    mark(range);
  return levels;
}

/// Every word goes into the first cycle in which its bank is free: a bank is
/// needed in as many of the first cycles as it has words.
void BankAccess::mark(const Range &range) {
  memory->anyPart(range.first, range.last, [&](size_t index, uint64_t bits) {
    markIn(index, bits);
    return false;
  });
}

void BankAccess::markIn(size_t maskWord, uint64_t bits) {
  low = std::min(low, maskWord);
  high = std::max(high, maskWord + 1);
  for (unsigned level = 0; bits != 0; ++level) {
    if (level == levels) {
      masks.resize(masks.size() + maskWords);
      ++levels;
    }
    uint64_t &mask = masks[level * maskWords + maskWord];
    uint64_t again = mask & bits;
    mask |= bits;
    bits = again;
  }
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

void AccessPattern::setEnds() {
  outerEnd = innerEnd = 1;
  for (unsigned d = 0; d < td.rank; ++d)
    (d < outer ? outerEnd : innerEnd) *= td.extents[d];
  setRuns();
}

void AccessPattern::setRuns() {
  isa::Descriptor inner = td;
  for (unsigned d = 0; d < outer; ++d)
    inner.extents[d] = 1;
  innerRuns = Runs(inner);
}

static int64_t outerOffset(const isa::Descriptor &td, unsigned outer,
                           uint64_t index) {
  if (outer == 0)
    return 0;
  uint64_t offset = 0;
  for (unsigned d = outer - 1; d != 0; --d) {
    offset += uint64_t(td.strides[d]) * (index % td.extents[d]);
    index /= td.extents[d];
  }
  return int64_t(offset + uint64_t(td.strides[0]) * index);
}

void AccessPattern::access(uint64_t i, BankAccess &result) const {
  result.clear(td.space, written);
  const Runs &runs = innerRuns;
  uint64_t bits = bitWidth(td.format);
  uint64_t from = innerFirst + i * innerStep,
           to = std::min(from + innerCount, innerEnd);
  uint64_t row = outerFirst + i * outerStep,
           lastRow = std::min(row + outerCount, outerEnd);
  if (from >= to)
    return;
  const uint64_t firstRun = from / runs.runElements,
                 firstWithin = from - firstRun * runs.runElements;
  // An element that repeats is the same word again.
  const uint64_t repeats =
      runs.runElements == 1 && runs.dims > 0 && runs.strides[runs.dims - 1] == 0
          ? runs.extents[runs.dims - 1]
          : 0;
  for (; row < lastRow; ++row) {
    int64_t base = outerOffset(td, outer, row);
    uint64_t run = firstRun, within = firstWithin;
    for (uint64_t at = from; at < to; within = 0) {
      uint64_t take = std::min(runs.runElements - within, to - at);
      int64_t offset =
          runs.dims == 1 ? runs.strides[0] * int64_t(run) : runs.offset(run);
      int64_t element = base + offset + int64_t(within);
      uint64_t low = td.base * 8 + uint64_t(element) * bits;
      result.add(low / 8, (low + take * bits + 7) / 8);
      at += take;
      ++run;
      if (repeats != 0) {
        at = std::min(to, (at + repeats - 1) / repeats * repeats);
        run = at;
      }
    }
  }
}

uint64_t EvenRuns::sets(const BankLayout::Memory &memory) const {
  if (end != ~uint64_t(0)) // the last one may be shorter
    return count;
  uint64_t distance = int64_t(apart) < 0 ? -apart : apart;
  return memory.bits() / std::gcd(memory.bits(), distance);
}

std::optional<EvenRuns> AccessPattern::evenRuns() const {
  uint64_t bits = bitWidth(td.format), stride = 0;
  unsigned dims = 0;
  for (unsigned d = 0; d < outer; ++d)
    if (td.extents[d] > 1)
      stride = uint64_t(td.strides[d]), ++dims;
  if (innerRuns.count != 1 || outerCount != 1 || dims > 1 ||
      (outerStep != 0 && innerStep != 0))
    return std::nullopt;
  EvenRuns runs;
  runs.low = td.base * 8 + (outerFirst * stride + innerFirst) * bits;
  runs.apart = (outerStep * stride + innerStep) * bits;
  runs.length = innerCount * bits;
  if (innerFirst >= innerEnd || outerFirst >= outerEnd) {
    runs.count = 0;
  } else if (innerStep != 0) {
    runs.count = (innerEnd - innerFirst + innerStep - 1) / innerStep;
    runs.end = td.base * 8 + (outerFirst * stride + innerEnd) * bits;
  } else {
    runs.length = std::min(innerCount, innerEnd - innerFirst) * bits;
    if (outerStep != 0)
      runs.count = (outerEnd - outerFirst + outerStep - 1) / outerStep;
  }
  return runs;
}

bool AccessPattern::isSimple(const BankLayout &layout) const {
  if (!isLocal())
    return true;
  const Runs &runs = innerRuns;
  // Every access lies within one run if the runs are of whole accesses.
  bool oneRun = runs.count == 1 ||
                (runs.runElements % innerCount == 0 &&
                 innerFirst % innerCount == 0 && innerStep % innerCount == 0);
  const BankLayout::Memory &memory = layout.of(*this);
  uint64_t most = uint64_t(memory.count - 1) * memory.width + 1;
  return oneRun && outerCount == 1 &&
         innerCount * bitWidth(td.format) <= most * 8;
}

} // namespace tessera::sim
