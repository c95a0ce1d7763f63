//===- MemoryPool.h - Stream-ordered allocation -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory that comes and goes in the order of queues. allocate() and
// deallocate() are operations: the memory may be used by work that comes after
// the first and must not be by work that comes after the second. Both return at
// once; nothing is given back to the device until trim().
//
// A block that was deallocated has a death: the moment its deallocation
// completes. It is used again when that has been reached, or when the new
// allocation provably comes after it, across queues too: operations carry what
// has been reached before them, as sparse vector clocks over timelines. Failing
// that the allocation itself waits for the death, unless that would wait for
// the allocation.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_MEMORYPOOL_H
#define TESSERA_RUNTIME_MEMORYPOOL_H

#include "tessera/runtime/Queue.h"

namespace tessera::runtime {

struct PoolState;

struct PoolOptions {
  isa::PhysicalSpace space = isa::PhysicalSpace::Dram;
  Access access;
  uint64_t budgetBytes = ~uint64_t(0); ///< Most that it takes of the device.
  uint64_t chunkBytes = 2 << 20;       ///< Least that it takes at once.
  std::string label = "pool";
};

/// Where an allocation's memory came from, or why there was none.
enum class PoolOutcome : uint8_t {
  Reused,     ///< Memory of the pool, free by the time it is used.
  Fresh,      ///< Newly taken from the device.
  NeedsWait,  ///< Memory of the pool; the allocation waits for its death.
  Exhausted,  ///< The device has no more.
  OverBudget, ///< The pool may not take more.
  Fragmented, ///< Enough is free, but not in one piece.
};
std::string_view poolOutcomeName(PoolOutcome outcome);

struct PoolAllocation {
  Buffer buffer;
  PoolOutcome outcome = PoolOutcome::Fresh;
};

struct PoolStatistics {
  uint64_t heldBytes = 0;  ///< Taken from the device.
  uint64_t liveBytes = 0;  ///< In allocated blocks.
  uint64_t dyingBytes = 0; ///< Deallocated, their death not reached.
  uint64_t peakLiveBytes = 0, largestFree = 0;
  uint64_t reused = 0, fresh = 0, neededWait = 0;
  uint64_t exhausted = 0, overBudget = 0, fragmented = 0;
  uint64_t retries = 0; ///< Of allocations that waited for memory.
};

class MemoryPool {
public:
  MemoryPool() = default;
  static Result<MemoryPool> create(const AddressSpace &space,
                                   PoolOptions options = {});

  /// Blocks are multiples of 256 bytes at multiples of 256. The options must
  /// order later work after the allocation: a signal, a barrier, or an in-order
  /// queue; else InvalidArgument.
  ///
  /// OutOfMemory (exhausted, or fragmented), ResourceExhausted (over budget):
  /// the message begins with the outcome. With a deadline beyond poll() the
  /// call waits for deallocations, also of other threads, and tries again; then
  /// DeadlineExceeded, or Deadlock if the only memory that would do is freed
  /// behind this allocation itself.
  Result<PoolAllocation> allocate(const Queue &queue, uint64_t bytes,
                                  const SubmitOptions &options = {},
                                  Deadline deadline = Deadline::poll());
  /// What allocate() would do now; changes nothing.
  Result<PoolOutcome> query(const Queue &queue, uint64_t bytes,
                            const SubmitOptions &options = {}) const;
  /// FailedPrecondition the second time. Work submitted later that names the
  /// buffer is refused. A buffer of a pool whose last handle is dropped without
  /// is deallocated when the work that uses it has completed.
  Status deallocate(const Queue &queue, Buffer &buffer,
                    const SubmitOptions &options = {});

  /// Gives chunks without a block back to the device; returns the bytes.
  Result<uint64_t> trim();

  PoolStatistics statistics() const;
  const std::string &label() const;
  explicit operator bool() const { return state != nullptr; }

private:
  std::shared_ptr<PoolState> state;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_MEMORYPOOL_H
