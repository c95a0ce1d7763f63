//===- PoolState.h - State behind MemoryPool --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_SRC_POOLSTATE_H
#define TESSERA_RUNTIME_SRC_POOLSTATE_H

#include "QueueState.h"
#include "RangeAllocator.h"
#include "tessera/runtime/MemoryPool.h"

namespace tessera::runtime {

/// A part of a chunk that is in use; gives itself back when it goes.
struct PoolBlock {
  ~PoolBlock();
  std::shared_ptr<PoolState> pool;
  uint32_t chunk = 0;
  uint64_t offset = 0, bytes = 0;
};

struct PoolState : std::enable_shared_from_this<PoolState> {
  std::shared_ptr<AddressSpaceState> space;
  PoolOptions options;
  struct Chunk {
    std::shared_ptr<BufferState> memory; ///< Null once trimmed.
    RangeAllocator ranges;
  };
  std::vector<Chunk> chunks;
  /// A block whose deallocation has been submitted.
  struct Dying {
    uint32_t chunk = 0;
    uint64_t offset = 0, bytes = 0;
    Point death;
  };
  std::vector<Dying> dying;
  PoolStatistics counts;
  static constexpr uint64_t granularity = 256;

  Hardware &hardware() const { return *space->hardware; }

  /// Where an allocation would come from.
  struct Choice {
    PoolOutcome outcome = PoolOutcome::Exhausted;
    bool fromDying = false;
    size_t index = 0;      ///< Chunk, or dying block.
    bool deadlock = false; ///< Only memory freed behind the allocation is left.
  };
  Choice choose(const QueueState &queue, uint64_t bytes,
                const Operation &operation) const;
  /// Frees what has died.
  Status collect();
  Result<std::shared_ptr<PoolBlock>> take(const Choice &choice, uint64_t bytes,
                                          Operation &operation);
  Status refusal(const Choice &choice, uint64_t bytes) const;
  void giveBack(uint32_t chunk, uint64_t offset, uint64_t bytes);
  uint64_t heldBytes() const;
  uint64_t freeBytes() const;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SRC_POOLSTATE_H
