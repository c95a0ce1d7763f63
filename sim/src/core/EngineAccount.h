//===- EngineAccount.h - Where an engine's cycles went ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A line of cycles, each with exactly one cause. What is known of the future
// (an mma's blocks) is entered at once and counted as time reaches it; the
// open end has the cause of the current wait.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CORE_ENGINEACCOUNT_H
#define TESSERA_SIM_CORE_ENGINEACCOUNT_H

#include "kernel/Clock.h"
#include "kernel/Serialize.h"
#include "tessera/sim/Statistics.h"
#include <algorithm>

namespace tessera::sim {

template <typename A> void serialize(A &ar, EngineCycles &cycles) {
  fields(ar, cycles.byCause);
}
template <typename A> void serialize(A &ar, EngineTable &table) {
  auto further = uint32_t(table.size() - numEngines);
  fields(ar, further);
  if constexpr (A::loading) {
    if (further >= isa::maxMatrixEngines) {
      ar.fail();
      further = 0;
    }
    table = EngineTable(further + 1);
  }
  for (size_t e = 0; e < table.size(); ++e)
    fields(ar, table[e]);
}

class EngineAccount {
public:
  /// Stands for cycles that belong to no instruction.
  static constexpr uint32_t noInstruction = ~uint32_t(0);

  /// Whose cycles are charged from here on; `waiting` is at the queue's head.
  void executing(uint32_t pc) { current = pc; }
  void waitingAt(uint32_t pc) { head = pc; }
  /// From now on counts cycles by instruction too, of a program of that size; 0
  /// stops it.
  void profile(size_t instructions) {
    current = head = openOwner = noInstruction;
    byInstruction.assign(instructions, {});
  }
  const std::vector<EngineCycles> &instructions() const {
    return byInstruction;
  }

  /// Charges everything from the line's end up to `until` to `cause`; nothing
  /// if the line is longer already.
  void charge(StallCause cause, Cycle until) { charge(cause, until, current); }
  /// The cause of what comes after the line's end, from now on.
  void wait(StallCause cause, Cycle now) {
    charge(open, now, openOwner);
    open = cause;
    openOwner = ownerOf(cause);
    settle(now);
  }
  /// Says afterwards what the open wait was for.
  void resolve(StallCause cause) { open = cause; }
  /// As wait(), of a wait for semaphores that goes on: it has one cause from
  /// its beginning, that of the semaphore which is missing last.
  void waitOn(StallCause cause, Cycle now) {
    if (isSemaphoreWait(open) && isSemaphoreWait(cause) && openOwner == head)
      return resolve(cause);
    wait(cause, now);
  }
  static bool isSemaphoreWait(StallCause cause) {
    switch (cause) {
    case StallCause::WaitSequencer:
    case StallCause::WaitLoad:
    case StallCause::WaitStore:
    case StallCause::WaitMatrix:
    case StallCause::WaitVector:
    case StallCause::Barrier:
      return true;
    default:
      return false;
    }
  }
  StallCause openCause() const { return open; }

  /// Moves what lies before `now` into the table.
  void settle(Cycle now) {
    size_t done = 0;
    for (; done < segments.size() && settled < now; ++done) {
      Cycle until = std::min(segments[done].until, now);
      const Segment &s = segments[done];
      table.byCause[size_t(s.cause)] += until - settled;
      if (s.owner < byInstruction.size())
        byInstruction[s.owner].byCause[size_t(s.cause)] += until - settled;
      settled = until;
      if (segments[done].until > now)
        break;
    }
    segments.erase(segments.begin(), segments.begin() + long(done));
  }
  /// Cuts off what was entered beyond `now`: the engine was stopped.
  void cut(Cycle now) {
    settle(now);
    segments.clear();
    end = std::max(settled, std::min(end, now));
  }
  /// The table as of `now`, adding up to `now`. Looking changes nothing: a wait
  /// that is still open counts as what it is called now, and may be resolved to
  /// another cause later.
  EngineCycles at(Cycle now) const {
    EngineCycles result = table;
    Cycle from = settled;
    for (const Segment &s : segments) {
      if (from >= now)
        break;
      Cycle until = std::min(s.until, now);
      result.byCause[size_t(s.cause)] += until - from;
      from = until;
    }
    if (from < now)
      result.byCause[size_t(open)] += now - from;
    return result;
  }

  template <typename A> void serialize(A &ar) {
    fields(ar, table.byCause, segments, end, settled, open, byInstruction,
           current, head, openOwner);
    if constexpr (A::loading) {
      if (size_t(open) >= numStallCauses)
        ar.fail();
      for (Segment &s : segments)
        if (size_t(s.cause) >= numStallCauses)
          ar.fail();
    }
  }

private:
  struct Segment {
    Cycle until = 0;
    StallCause cause = StallCause::Busy;
    uint32_t owner = noInstruction;
    template <typename A> void serialize(A &ar) {
      fields(ar, until, cause, owner);
    }
  };

  void charge(StallCause cause, Cycle until, uint32_t owner) {
    if (until <= end)
      return;
    if (!segments.empty() && segments.back().cause == cause &&
        segments.back().owner == owner)
      segments.back().until = until;
    else
      segments.push_back({until, cause, owner});
    end = until;
  }
  uint32_t ownerOf(StallCause cause) const {
    if (isSemaphoreWait(cause))
      return head;
    switch (cause) {
    case StallCause::QueueEmpty:
    case StallCause::NoKernel:
    case StallCause::InstructionFetch:
      return noInstruction;
    default:
      return current;
    }
  }

  EngineCycles table;
  std::vector<Segment> segments;
  Cycle end = 0, settled = 0;
  StallCause open = StallCause::NoKernel;
  std::vector<EngineCycles> byInstruction;
  uint32_t current = noInstruction, head = noInstruction,
           openOwner = noInstruction;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_CORE_ENGINEACCOUNT_H
