//===- MemoryPlan.h - Place buffers in a memory ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The planner that gives buffers their offsets in one memory: a core's SPM or
// ACC, or the arena in DRAM. It knows sizes and lifetimes only, no IR.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_MEMORYPLAN_H
#define TESSERA_CONVERSION_MEMORYPLAN_H

#include "tessera/Support/Status.h"
#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

struct MemoryPlanProblem {
  struct Buffer {
    std::string name;       ///< For messages.
    uint64_t bytes = 0;     ///< Of one slot; at least 1.
    uint64_t alignment = 1; ///< Of every slot, bytes; a power of two.
    uint32_t slots = 1;     ///< Equal slots, one after the other.
    /// Points of the program, first and last inclusive, between which the
    /// contents matter. Buffers with a common point never overlap.
    uint32_t begin = 0, end = 0;

    /// Distance from one slot to the next: `bytes` rounded up to the alignment.
    uint64_t slotStride() const;
    /// From the first byte to the last slot's last.
    uint64_t totalBytes() const;
    bool overlapsInTime(const Buffer &other) const {
      return begin <= other.end && other.begin <= end;
    }
  };

  std::string memory;    ///< "SPM", "arena", …; for messages.
  uint64_t capacity = 0; ///< Bytes.
  std::vector<Buffer> buffers;

  /// InvalidArgument if a buffer or the memory makes no sense.
  Status check() const;
};

struct MemoryPlanSolution {
  std::vector<uint64_t> offsets; ///< Of each buffer, in the problem's order.
  uint64_t peakBytes = 0;        ///< One past the highest byte in use.

  /// Internal if a slot is misaligned or out of bounds or if two buffers share
  /// a byte at the same time. Independent of how the solution was found.
  Status verify(const MemoryPlanProblem &problem) const;
};

/// Largest buffers first, each at its lowest free offset. ResourceExhausted
/// with the bytes needed and available if they do not fit.
Result<MemoryPlanSolution> planMemory(const MemoryPlanProblem &problem);

/// Where buffers and constants in device memory start: on a boundary of at most
/// a sixteenth of their size, 64 bytes to 16 KiB. So bursts of large ones reach
/// over no more memory channels than they must, and the channel of each of
/// their parts is known before they have a place.
uint64_t deviceAlignment(uint64_t bytes);

} // namespace tessera

#endif // TESSERA_CONVERSION_MEMORYPLAN_H
