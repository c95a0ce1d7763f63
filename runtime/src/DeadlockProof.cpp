//===- DeadlockProof.cpp - Why a wait can never end -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeadlockProof.h"
#include "QueueState.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace tessera::runtime {

namespace {

/// Walks from an unmet wait to what keeps it unmet, depth first. A verdict that
/// leaves hope (the host may signal) beats a failure, which beats a deadlock:
/// where several operations could signal, any one of them is enough.
class Search {
public:
  explicit Search(Hardware &hardware) : hardware(hardware) {}

  Verdict point(SemaphoreState &semaphore, uint64_t value);
  Verdict submission(const QueueState &queue, const Submission &work);

private:
  std::vector<Point> unmet(const Submission &work) const;
  std::string chain(std::string_view end) const;
  Verdict deadlock(std::string_view end) const {
    return {Verdict::Kind::Deadlock, Status(StatusCode::Deadlock, chain(end))};
  }

  Hardware &hardware;
  struct Step {
    const Submission *work; ///< Null for a wait.
    std::string text;
  };
  std::vector<Step> path;
  /// Work seen before, so that diamonds of waits are walked once.
  std::map<const Submission *, Verdict> judged;
};

} // namespace

std::string Search::chain(std::string_view end) const {
  std::string text;
  for (const Step &step : path)
    text += step.text;
  return text.append(end);
}

std::vector<Point> Search::unmet(const Submission &work) const {
  std::vector<Point> points;
  for (const Point &wait : work.waits)
    if (Result<uint64_t> value = wait.semaphore->value();
        value && *value < wait.value)
      points.push_back(wait);
  return points;
}

Verdict Search::point(SemaphoreState &semaphore, uint64_t value) {
  std::string what =
      fmt::format("semaphore '{}' >= {}", semaphore.label, value);
  if (!semaphore.failure.ok())
    return {Verdict::Kind::Failed,
            semaphore.failure.withContext(chain(what + ", which failed"))};
  if (semaphore.hostMaySignal)
    return {Verdict::Kind::HostMaySignal, Status::success()};
  path.push_back({nullptr, what});
  Verdict best;
  bool any = false;
  for (const QueueState *queue : hardware.queues)
    for (const Submission &work : queue->inFlight)
      for (const Point &signal : work.signals)
        if (work.inFlight() && signal.semaphore.get() == &semaphore &&
            signal.value >= value) {
          path.push_back({nullptr, ", to be signalled by "});
          Verdict verdict = submission(*queue, work);
          path.pop_back();
          if (!any || verdict.kind > best.kind)
            best = verdict;
          any = true;
        }
  if (!any)
    best = deadlock(", which nothing in flight will signal");
  path.pop_back();
  return best;
}

Verdict Search::submission(const QueueState &queue, const Submission &work) {
  std::string name = fmt::format("'{}' (queue '{}', packet {})", work.label,
                                 queue.label, work.first);
  for (const Step &step : path)
    if (step.work == &work)
      return deadlock(name + " again: a cycle");
  if (auto known = judged.find(&work); known != judged.end())
    return known->second;
  path.push_back({&work, name});
  Verdict best;
  bool any = false;
  auto consider = [&](const Verdict &verdict) {
    // All waits must be met: the most hopeless one decides; where one is
    // enough, the most hopeful.
    if (!any ||
        (work.anyWait ? verdict.kind > best.kind : verdict.kind < best.kind))
      best = verdict;
    any = true;
  };
  std::vector<Point> waits = unmet(work);
  if (work.anyWait && waits.size() < work.waits.size())
    waits.clear();
  for (const Point &wait : waits) {
    path.push_back({nullptr, ", waiting for "});
    consider(point(*wait.semaphore, wait.value));
    path.pop_back();
  }
  if (!any) {
    // Held back in its own queue: by an earlier barrier, or as one.
    bool held = work.barrier;
    for (auto it = queue.inFlight.rbegin(); it != queue.inFlight.rend(); ++it) {
      if (it->number >= work.number || !it->inFlight())
        continue;
      if ((held || it->barrier) && !unmet(*it).empty()) {
        path.push_back({nullptr, ", behind "});
        consider(submission(queue, *it));
        path.pop_back();
        break;
      }
      held |= it->barrier;
    }
  }
  // The host may still write what it reserved, and so free a slot.
  bool reserved = queue.openReservations;
  if (!queue.slot)
    for (const QueueState *holder : hardware.slots)
      reserved |= holder && holder->openReservations;
  if (!any && queue.failure.ok() && reserved)
    best = {Verdict::Kind::HostMaySignal, Status::success()};
  else if (!any)
    best = queue.failure.ok() ? deadlock(", which the device does not complete")
                              : Verdict{Verdict::Kind::Failed, queue.failure};
  path.pop_back();
  judged[&work] = best;
  return best;
}

static Verdict asDeadlock(Verdict verdict) {
  if (verdict.kind == Verdict::Kind::Deadlock)
    verdict.status = verdict.status.withContext("deadlock");
  return verdict;
}

Verdict judge(SemaphoreState &semaphore, uint64_t value) {
  return asDeadlock(Search(*semaphore.hardware).point(semaphore, value));
}

Verdict judge(const QueueState &queue) {
  return asDeadlock(
      Search(*queue.hardware).submission(queue, queue.inFlight.front()));
}

} // namespace tessera::runtime
