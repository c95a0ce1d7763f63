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
#include <unordered_map>
#include <unordered_set>

namespace tessera::runtime {

namespace {

using Kind = Verdict::Kind;

/// What can become of everything in flight: the least solution of
///
///   of a wait       the most hopeful of those who would signal it
///   of an operation the least hopeful of its waits (of alternatives the most),
///                   and of what its queue's barriers put before it
///
/// so that hope comes only from where it really is, and whatever waits for
/// itself has none. Then a walk from the wait in question along the least
/// hopeful causes gives the text. Neither recurs: chains of waits are long.
class Proof {
public:
  explicit Proof(Hardware &hardware);

  Verdict point(SemaphoreState &semaphore, uint64_t value);
  Verdict submission(const Submission &work);

private:
  struct Node {
    const QueueState *queue = nullptr;
    size_t position = 0;                 ///< In QueueState::inFlight.
    const Submission *barrier = nullptr; ///< The last one before it.
    Kind kind = Kind::Deadlock;
    uint64_t raised = 0; ///< When that was found; its causes were before.
  };
  static bool unmet(const Point &wait);
  std::vector<Point> unmetWaits(const Submission &work) const;
  Kind kindOf(const SemaphoreState &semaphore, uint64_t value) const;
  Kind kindOf(const Submission &work, const Node &node) const;
  /// The least hopeful of what barriers of its queue put before it, the latest
  /// of equals; null: nothing.
  const Submission *before(const Submission &work, const Node &node) const;
  const Submission *signaller(const SemaphoreState &semaphore, uint64_t value,
                              uint64_t raisedBefore) const;
  bool hostHoldsSlots(const QueueState &queue) const;
  std::string chain(std::string_view end) const;
  Verdict walk(const Point *at, const Submission *work);

  void raise(const Submission &work, Node &node, Kind kind);

  Hardware &hardware;
  std::unordered_map<const Submission *, Node> nodes;
  /// Of each semaphore the largest value that work of a kind, or of a more
  /// hopeful one, would signal; 0: none.
  std::unordered_map<const SemaphoreState *, std::array<uint64_t, 3>> reach;
  uint64_t raises = 0;
  std::vector<std::string> steps;
};

} // namespace

bool Proof::unmet(const Point &wait) {
  Result<bool> reached = wait.semaphore->reached(wait.value);
  return reached && !*reached;
}

std::vector<Point> Proof::unmetWaits(const Submission &work) const {
  std::vector<Point> points;
  for (const Point &wait : work.waits)
    if (unmet(wait))
      points.push_back(wait);
  // Of alternatives one is enough.
  if (work.anyWait && points.size() < work.waits.size())
    points.clear();
  return points;
}

Kind Proof::kindOf(const SemaphoreState &semaphore, uint64_t value) const {
  if (!semaphore.failure.ok())
    return Kind::Failed;
  if (semaphore.hostMaySignal)
    return Kind::HostMaySignal;
  auto known = reach.find(&semaphore);
  if (known == reach.end())
    return Kind::Deadlock;
  for (Kind kind : {Kind::HostMaySignal, Kind::Failed})
    if (known->second[size_t(kind)] >= value)
      return kind;
  return Kind::Deadlock;
}

void Proof::raise(const Submission &work, Node &node, Kind kind) {
  node.kind = kind;
  node.raised = ++raises;
  for (const Point &signal : work.signals)
    for (auto k = size_t(Kind::Failed); k <= size_t(kind); ++k) {
      uint64_t &value = reach[signal.semaphore.get()][k];
      value = std::max(value, signal.value);
    }
}

/// The host may still write what it reserved, and so free a slot.
bool Proof::hostHoldsSlots(const QueueState &queue) const {
  if (queue.openReservations)
    return true;
  return !queue.slot &&
         std::ranges::any_of(hardware.slots, [](const QueueState *holder) {
           return holder && holder->openReservations;
         });
}

const Submission *Proof::before(const Submission &work,
                                const Node &node) const {
  if (!work.barrier)
    return node.barrier;
  const auto &inFlight = node.queue->inFlight;
  const Submission *found = nullptr;
  // What comes before the last barrier, that one knows.
  for (size_t i = node.position; i-- > 0;) {
    const Submission &earlier = inFlight[i];
    if (!earlier.inFlight())
      continue;
    if (!found || nodes.at(&earlier).kind < nodes.at(found).kind)
      found = &earlier;
    if (earlier.barrier)
      break;
  }
  return found;
}

Kind Proof::kindOf(const Submission &work, const Node &node) const {
  // A host call that runs, in whatever thread, will come back.
  if (work.isHostCall && work.stage != Stage::Pending)
    return Kind::HostMaySignal;
  std::vector<Point> waits = unmetWaits(work);
  Kind kind = Kind::HostMaySignal;
  if (work.anyWait && !waits.empty())
    kind = Kind::Deadlock;
  for (const Point &wait : waits) {
    Kind one = kindOf(*wait.semaphore, wait.value);
    kind = work.anyWait ? std::max(kind, one) : std::min(kind, one);
  }
  if (const Submission *earlier = before(work, node))
    return std::min(kind, nodes.at(earlier).kind);
  if (!waits.empty())
    return kind;
  // The device has all that it needs, and does not complete it.
  if (!node.queue->failure.ok())
    return Kind::Failed;
  return hostHoldsSlots(*node.queue) ? Kind::HostMaySignal : Kind::Deadlock;
}

Proof::Proof(Hardware &hardware) : hardware(hardware) {
  std::vector<const Submission *> all;
  for (const QueueState *queue : hardware.queues) {
    const Submission *barrier = nullptr;
    for (size_t i = 0; i < queue->inFlight.size(); ++i) {
      const Submission &work = queue->inFlight[i];
      if (!work.inFlight())
        continue;
      nodes[&work] = {queue, i, barrier};
      all.push_back(&work);
      if (work.barrier)
        barrier = &work;
    }
  }
  // To and fro, since chains are submitted in either order.
  uint64_t before = ~uint64_t(0);
  for (uint64_t sweep = 0; before != raises; ++sweep) {
    before = raises;
    for (size_t i = 0; i < all.size(); ++i) {
      const Submission *work = all[sweep % 2 ? all.size() - 1 - i : i];
      Node &node = nodes.at(work);
      if (Kind kind = kindOf(*work, node); kind > node.kind)
        raise(*work, node, kind);
    }
  }
}

/// The text's steps; of long ones the beginning and the end.
std::string Proof::chain(std::string_view end) const {
  constexpr size_t shown = 12;
  std::string text;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps.size() > 2 * shown && i == shown) {
      text += fmt::format(", … ({} more) …", steps.size() - 2 * shown);
      i = steps.size() - shown;
    }
    text += steps[i];
  }
  return text.append(end);
}

/// Who would signal it, one of the most hopeful, found to be so by then; null:
/// nobody.
const Submission *Proof::signaller(const SemaphoreState &semaphore,
                                   uint64_t value,
                                   uint64_t raisedBefore) const {
  Kind kind = kindOf(semaphore, value);
  auto from = std::ranges::lower_bound(semaphore.producers, value, {},
                                       &SemaphoreState::Producer::value);
  for (; from != semaphore.producers.end(); ++from)
    if (auto node = nodes.find(from->work); node != nodes.end() &&
                                            node->second.kind == kind &&
                                            node->second.raised <= raisedBefore)
      return from->work;
  return nullptr;
}

Verdict Proof::walk(const Point *at, const Submission *work) {
  std::unordered_set<const Submission *> seen;
  Point wait;
  if (at)
    wait = *at;
  uint64_t raised = ~uint64_t(0);
  auto deadlock = [&](std::string_view end) {
    return Verdict{Kind::Deadlock, Status(StatusCode::Deadlock, chain(end))};
  };
  while (true) {
    if (!work) {
      SemaphoreState &semaphore = *wait.semaphore;
      steps.push_back(fmt::format("{}semaphore '{}' >= {}",
                                  steps.empty() ? "" : ", waiting for ",
                                  semaphore.label, wait.value));
      if (!semaphore.failure.ok())
        return {Kind::Failed,
                semaphore.failure.withContext(chain(", which failed"))};
      work = signaller(semaphore, wait.value, raised);
      if (!work)
        return deadlock(", which nothing in flight will signal");
    }
    const Node &node = nodes.at(work);
    std::string name =
        fmt::format("'{}' (queue '{}', packet {})", work->label,
                    node.queue->label, work->first - node.queue->firstIndex);
    std::string_view relation = steps.empty()    ? ""
                                : wait.semaphore ? ", to be signalled by "
                                                 : ", behind ";
    steps.push_back(std::string(relation) + name);
    if (!seen.insert(work).second)
      return deadlock(" again: a cycle");
    raised = node.raised ? node.raised - 1 : raised;
    wait = {};
    // The wait that keeps it, or else what it comes behind.
    for (const Point &each : unmetWaits(*work))
      if (!wait.semaphore && kindOf(*each.semaphore, each.value) == node.kind &&
          (node.kind == Kind::Deadlock || !each.semaphore->failure.ok() ||
           signaller(*each.semaphore, each.value, raised)))
        wait = each;
    if (wait.semaphore) {
      work = nullptr;
      continue;
    }
    const Submission *earlier = before(*work, node);
    if (!earlier)
      return node.queue->failure.ok()
                 ? deadlock(", which the device does not complete")
                 : Verdict{Kind::Failed, node.queue->failure};
    work = earlier;
  }
}

Verdict Proof::point(SemaphoreState &semaphore, uint64_t value) {
  if (kindOf(semaphore, value) == Kind::HostMaySignal)
    return {Kind::HostMaySignal, Status::success()};
  // Not an owner: the caller has it.
  Point at{std::shared_ptr<SemaphoreState>(std::shared_ptr<void>(), &semaphore),
           value};
  return walk(&at, nullptr);
}

Verdict Proof::submission(const Submission &work) {
  if (nodes.at(&work).kind == Kind::HostMaySignal)
    return {Kind::HostMaySignal, Status::success()};
  return walk(nullptr, &work);
}

static Verdict asDeadlock(Verdict verdict) {
  if (verdict.kind == Kind::Deadlock)
    verdict.status = verdict.status.withContext("deadlock");
  return verdict;
}

Verdict judge(SemaphoreState &semaphore, uint64_t value) {
  return asDeadlock(Proof(*semaphore.hardware).point(semaphore, value));
}

Verdict judge(const QueueState &queue) {
  return asDeadlock(Proof(*queue.hardware).submission(queue.inFlight.front()));
}

} // namespace tessera::runtime
