//===- SyncPlan.h - Order queues by semaphores ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The planner that derives a kernel's semaphores from the local buffers that
// its instructions touch, so that the queues may run at the same time and the
// result is that of program order.
//
// In the block where a buffer lives, the accesses in program order fall into
// phases, one queue each; a loop counts as one access of the queue that starts
// and the queue that ends it. Where the queue changes, the earlier one signals
// and the later one waits. From the last access to the first one of the next
// iteration goes a `free` semaphore that starts with as many units as the
// buffer has slots. A loop in which several queues touch a buffer from outside
// gets the same treatment for its own body, with one slot.
//
// A shared buffer is filled by a load that one core of a group does for all of
// them. It has one load, the first access in its home, and else one queue that
// reads it. The hand-overs are the same, but each slot has a semaphore of its
// own that says the load has come: the loads of neighbouring iterations are
// done by different cores, and need not come in order.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_SYNCPLAN_H
#define TESSERA_CONVERSION_SYNCPLAN_H

#include "tessera/ISA/Instruction.h"
#include "tessera/Support/Status.h"
#include <cstdint>
#include <vector>

namespace tessera {

/// A kernel as a tree: node 0 is its body, run once.
struct SyncPlanProblem {
  struct Node {
    bool isLoop = false; ///< Or the root; else an instruction.
    /// Instruction: the queue that runs it and the buffers that it touches.
    isa::Queue queue = isa::Queue::Seq;
    std::vector<uint32_t> buffers;
    /// Loop: its body in program order, and whether it may run no iteration.
    std::vector<uint32_t> body;
    bool mayBeEmpty = false;
  };
  struct Buffer {
    uint32_t home = 0; ///< The loop (or root) whose iterations each use a slot.
    uint32_t depth = 1; ///< Slots, used in turn.
    bool shared = false;
  };
  std::vector<Node> nodes;
  std::vector<Buffer> buffers;

  /// InvalidArgument if the nodes are no tree or a buffer is used outside of
  /// its home.
  Status check() const;
};

struct SyncPlanSolution {
  struct Semaphore {
    isa::Queue waiter = isa::Queue::Seq;
    /// Units that the sequencer gives at first, and that are there at the end.
    uint32_t initial = 0;
    /// Children of the root (positions) between which it is in use.
    uint32_t begin = 0, end = 0;
  };
  /// One unit, waited for or signalled in a queue.
  struct Step {
    bool isWait = false;
    isa::Queue queue = isa::Queue::Seq;
    uint32_t semaphore = 0;
  };
  /// How a shared buffer is handed over.
  struct SharedFill {
    uint32_t buffer = 0;
    uint32_t load = 0;  ///< Node that fills it.
    uint32_t first = 0; ///< Child of the home before which the readers wait.
    uint32_t last = 0;  ///< Child of the home after which the slot is free.
    isa::Queue reader = isa::Queue::Seq;
    std::vector<uint32_t> data; ///< Semaphore of each slot.
    /// Semaphore of the load: one unit of each core of the group.
    uint32_t free = 0;
  };
  std::vector<SharedFill> sharedFills;
  std::vector<Semaphore> semaphores;
  /// In order, before and after each node; those in the queue of an instruction
  /// belong to the instruction itself.
  std::vector<std::vector<Step>> before, after;

  /// Runs the program with every loop `iterations` times. Internal if, one
  /// instruction at a time, a wait is not satisfied, if a semaphore does not
  /// end at its initial value, or if two accesses of one slot by different
  /// queues are not ordered by semaphores.
  Status verify(const SyncPlanProblem &problem, unsigned iterations) const;
};

Result<SyncPlanSolution> planSynchronization(const SyncPlanProblem &problem);

} // namespace tessera

#endif // TESSERA_CONVERSION_SYNCPLAN_H
