//===- Padding.cpp - What a load writes without a burst ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Padding.h"
#include <algorithm>

namespace tessera::sim {

PaddingWalk::PaddingWalk(const Padding &padding, uint64_t accessBytes)
    : padding(padding), perAccess(std::max<uint64_t>(
                            1, accessBytes * 8 / bitWidth(padding.td.format))) {
  const isa::Descriptor &td = padding.td;
  for (unsigned d = 0; d + 1 < td.rank; ++d)
    lines *= td.extents[d];
  if (td.rank > 0)
    lineElements = td.extents[td.rank - 1];
  enterLine();
}

void PaddingWalk::enterLine() {
  const isa::Descriptor &td = padding.td;
  at = insideFirst = insideLast = 0;
  bool inside = td.rank > 0;
  uint64_t left = line, offset = 0;
  for (unsigned d = std::max<unsigned>(td.rank, 1) - 1; d-- > 0;) {
    uint64_t i = left % td.extents[d];
    left /= td.extents[d];
    offset += i * uint64_t(td.strides[d]);
    inside &= i >= padding.window.first[d] && i < padding.window.last[d];
    if (d == 0 && i < padding.absentRows.size())
      inside &= padding.absentRows[i] == 0;
  }
  lineOffset = int64_t(offset);
  if (!inside)
    return;
  insideFirst = padding.window.first[td.rank - 1];
  insideLast =
      std::min<uint64_t>(lineElements, padding.window.last[td.rank - 1]);
}

std::pair<uint64_t, uint64_t> PaddingWalk::nextRun() const {
  if (padding.td.rank == 1 && !padding.absentRows.empty()) {
    // Each element of the line is a row.
    auto begin = padding.absentRows.begin(), end = padding.absentRows.end();
    auto first = std::find(begin + long(at), end, 1);
    return {first - begin, std::find(first, end, 0) - begin};
  }
  if (insideFirst >= insideLast)
    return {at, lineElements};
  if (at < insideFirst)
    return {at, insideFirst};
  return {std::max(at, insideLast), lineElements};
}

bool PaddingWalk::next(BankAccess &access) {
  const isa::Descriptor &td = padding.td;
  access.clear();
  uint64_t left = perAccess, bits = bitWidth(td.format);
  uint64_t stride = td.rank > 0 ? uint64_t(td.strides[td.rank - 1]) : 0;
  while (left > 0 && line < lines) {
    auto [from, to] = nextRun();
    if (from >= to) {
      if (++line < lines)
        enterLine();
      continue;
    }
    uint64_t count = std::min(left, to - from);
    auto add = [&](uint64_t first, uint64_t elements) {
      uint64_t element = uint64_t(lineOffset) + first * stride,
               low = td.base * 8 + element * bits;
      access.add(low / 8, (low + elements * bits + 7) / 8);
    };
    if (stride == 1)
      add(from, count);
    else
      for (uint64_t i = from; i < from + count; ++i)
        add(i, 1);
    at = from + count;
    left -= count;
  }
  return left < perAccess;
}

} // namespace tessera::sim
