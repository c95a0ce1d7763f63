//===- SharedSlices.cpp - Shared SRAM ---------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "memory/SharedSlices.h"
#include <algorithm>

namespace tessera::sim {

SharedSlices::SharedSlices(const Architecture &arch)
    : numSlices(std::max(1u, arch.shared.slices)),
      banks(std::max(1u, arch.shared.banks)),
      bankWidth(std::max(1u, arch.shared.bankWidth)),
      latency(std::max(1u, arch.shared.latency)),
      unit(std::max<uint64_t>({1, arch.dma.burstBytes, arch.dram.atomBytes()})),
      bankFree(size_t(numSlices) * banks), sliceNext(numSlices),
      counts(numSlices) {}

SharedSlices::Service SharedSlices::access(uint64_t address, uint64_t bytes,
                                           Cycle now) {
  uint32_t slice = sliceOf(address);
  uint64_t local = address / (unit * numSlices) * unit + address % unit;
  uint64_t first = local / bankWidth;
  uint64_t words = (local + bytes - 1) / bankWidth - first + 1;
  auto touched = uint32_t(std::min<uint64_t>(words, banks));
  Cycle *free = bankFree.data() + size_t(slice) * banks;
  Cycle earliest = std::max(now, sliceNext[slice]), start = earliest;
  for (uint32_t i = 0; i != touched; ++i)
    start = std::max(start, free[(first + i) % banks]);
  for (uint32_t i = 0; i != touched; ++i) // words i, i + banks, … of a bank
    free[(first + i) % banks] = start + ceilDiv(words - i, banks);
  sliceNext[slice] = start + 1;

  SliceCounters &c = counts[slice];
  ++c.requests;
  c.bytes += bytes;
  c.busyCycles += words;
  c.conflictCycles += start - earliest;
  return {start, start + ceilDiv(words, banks) - 1 + latency};
}

} // namespace tessera::sim
