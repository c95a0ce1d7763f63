//===- RaceDetector.h - Unordered accesses of host and device ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows the operations of all queues and the host by happens-before: what
// semaphores, barriers, submission and the host's waits order, never what
// merely came earlier in this run. So a race is found in runs that came out
// right, and what is reported does not depend on the device's speed.
//
// A wait for S >= v follows every signal of S up to the least value >= v that
// anything signals: a timeline only grows, so in a run without a fault these
// have all happened.
//
// The host is one agent, in the order in which its calls take the device's
// lock.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_SRC_RACEDETECTOR_H
#define TESSERA_RUNTIME_SRC_RACEDETECTOR_H

#include "AccessShadow.h"
#include "Knowledge.h"
#include "tessera/ISA/PageTable.h"
#include "tessera/runtime/Diagnosis.h"
#include <array>
#include <deque>
#include <functional>
#include <set>

namespace tessera::runtime {

class RaceDetector {
public:
  struct Access {
    isa::PhysicalSpace space = isa::PhysicalSpace::Dram;
    uint64_t low = 0, high = 0; ///< Physical.
    bool write = false;
    std::string buffer; ///< Label of what lies there.
    uint64_t base = 0;  ///< Physical address of the buffer's first byte.
  };
  struct Point {
    uint64_t semaphore = 0; ///< An identity that is never used again.
    uint64_t value = 0;
    std::string label;
  };
  struct Operation {
    std::string label;
    std::vector<Point> waits, signals;
    bool barrier = false; ///< Starts after all earlier work of its queue.
    std::vector<Access> accesses;
    /// Those of `accesses` that kernels are declared to make.
    std::vector<Access> declared;
    /// Its signals are of system scope; else a wait of the host orders what it
    /// submits then, but none of its own accesses.
    bool releasesToHost = true;
  };
  /// An operation under way.
  struct Node;
  using NodePointer = std::shared_ptr<Node>;

  uint32_t addQueue(std::string label);
  NodePointer submit(uint32_t queue, Operation operation);
  /// What a kernel of an operation that has not been completed yet touched;
  /// `kernel` says which one.
  void observe(const NodePointer &node, const std::string &kernel,
               Access access);
  /// Called before operations are looked at, to bring what kernels touched.
  void setObserver(std::function<void()> bring) { observer = std::move(bring); }
  /// The device is done with it.
  void complete(const NodePointer &node);
  /// It failed or never ran: its accesses do not count.
  void drop(const NodePointer &node);

  /// A host call begins: the host has seen what it waited for.
  void hostRuns(const NodePointer &node);
  void hostAccess(std::string what, const Access &access);
  /// The host raises a semaphore.
  void hostSignals(const Point &point);
  /// The host has seen the semaphore at `point.value` or above.
  void hostSees(const Point &point);
  /// The host has seen the queue idle, at system scope.
  void hostSeesIdle(uint32_t queue);
  /// The memory has a new owner.
  void forget(isa::PhysicalSpace space, uint64_t low, uint64_t high) {
    shadows[size_t(space)].forget(low, high);
  }

  const std::vector<RaceReport> &reports() const { return found; }
  const std::vector<UndeclaredAccess> &undeclared() const {
    return notDeclared;
  }

private:
  struct Signal {
    NodePointer node; ///< Null: the host's, with what it knew.
    Knowledge known;
  };
  struct QueueRecord {
    std::string label;
    uint64_t submitted = 0;
    NodePointer lastBarrier;
    /// After the last barrier, in order; the host may wait for them.
    std::vector<NodePointer> open;
  };

  void process(Node &node);
  void finish(Node &node);
  /// Calls f(signal) for each that a wait follows.
  template <typename F> void forEachSignal(const Point &wait, F f);
  const Knowledge &knowledgeAfter(Node &node);
  /// What a wait has seen; `forHost`: of what is released to the host.
  void joinWait(Knowledge &into, const Point &wait, bool forHost);
  void check(const SitePointer &site, const Knowledge &known,
             const Access &access);
  void report(SitePointer earlier, bool earlierWrites, SitePointer later,
              const Access &access, uint64_t low, uint64_t high);

  std::vector<QueueRecord> queues;
  std::map<uint64_t, std::map<uint64_t, Signal>> semaphores;
  std::array<AccessShadow, 3> shadows;
  Knowledge host;      ///< Before the host's next access.
  Knowledge submitter; ///< Before what the host submits or signals next.
  uint64_t hostEvents = 0;
  uint64_t sitesMade = 0;
  std::vector<RaceReport> found;
  std::map<std::string, size_t> known; ///< Reports by their kinds of sites.
  std::function<void()> observer;
  std::vector<UndeclaredAccess> notDeclared;
  std::map<std::string, size_t> knownUndeclared; ///< By kind.
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SRC_RACEDETECTOR_H
