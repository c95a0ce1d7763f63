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

/// When the last owner of memory will have done with it.
struct Death {
  Point point; ///< Signalled by its deallocation.
  /// What it was then: a deallocation that failed says nothing of those who
  /// still use it.
  std::weak_ptr<BufferState> memory;
};

/// A part of a chunk that is in use; gives itself back when it goes.
struct PoolBlock {
  ~PoolBlock();
  std::shared_ptr<PoolState> pool;
  uint32_t chunk = 0;
  uint64_t offset = 0, bytes = 0;
  bool counted = false; ///< As live: its allocation was accepted.
  /// Of the owner before, unless that was over when the block was taken.
  std::optional<Death> before;
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
    Death death;
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
  /// Whether nobody uses the memory any more.
  bool isOver(const Death &death) const;
  /// Frees what has died.
  void collect();
  Result<std::shared_ptr<PoolBlock>> take(const Choice &choice, uint64_t bytes,
                                          Operation &operation);
  Status refusal(const Choice &choice, uint64_t bytes) const;
  /// Nobody uses it any more.
  void free(uint32_t chunk, uint64_t offset, uint64_t bytes);
  /// The chunk goes back to the device, if all of it is free; the bytes.
  uint64_t trim(Chunk &chunk);
  uint64_t heldBytes() const;
  uint64_t freeBytes() const;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SRC_POOLSTATE_H
