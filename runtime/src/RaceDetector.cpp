//===- RaceDetector.cpp - Unordered accesses of host and device -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaceDetector.h"
#include "tessera/Support/Mutant.h"
#include <fmt/format.h>

namespace tessera::runtime {

struct RaceDetector::Node {
  enum class State : uint8_t { Open, Processing, Processed, Dropped };
  State state = State::Open;
  uint32_t queue = 0;
  uint64_t number = 0;
  Operation operation;
  NodePointer barrier; ///< The last barrier before it.
  /// Of a barrier: all that came since the barrier before it.
  std::vector<NodePointer> earlier;
  SitePointer site;
  /// At its start (until it is processed, of the submission) and at its end.
  Knowledge before, after;
};

uint32_t RaceDetector::addQueue(std::string label) {
  queues.push_back({std::move(label), 0, nullptr, {}});
  return uint32_t(queues.size() - 1);
}

static std::string listOf(const std::vector<RaceDetector::Point> &points,
                          std::string_view relation) {
  std::string text;
  for (const RaceDetector::Point &point : points)
    text += fmt::format("{}semaphore '{}' {} {}", text.empty() ? "" : ", ",
                        point.label, relation, point.value);
  return text;
}

RaceDetector::NodePointer RaceDetector::submit(uint32_t queue,
                                               Operation operation) {
  QueueRecord &record = queues[queue];
  auto node = std::make_shared<Node>();
  node->queue = queue;
  node->number = record.submitted++;
  node->before = submitter;
  node->before.host = hostEvents;
  node->barrier = record.lastBarrier;
  auto site = std::make_shared<AccessSite>();
  site->queue = queue;
  site->number = node->number;
  site->serial = sitesMade++;
  site->text = fmt::format("'{}' (queue '{}', operation {})", operation.label,
                           record.label, node->number);
  site->kind = fmt::format("{} of {}", operation.label, queue);
  site->release = listOf(operation.signals, ">=");
  site->releasesToHost = operation.releasesToHost;
  node->site = std::move(site);
  for (const Point &signal : operation.signals)
    semaphores[signal.semaphore][signal.value] = {node, {}};
  if (operation.barrier) {
    node->earlier = std::move(record.open);
    record.open.clear();
    record.lastBarrier = node;
  }
  node->operation = std::move(operation);
  record.open.push_back(node);
  return node;
}

void RaceDetector::observe(const NodePointer &node, const std::string &kernel,
                           Access access) {
  if (node->state != Node::State::Open)
    return;
  // An operation that declares nothing says nothing that could be wrong.
  if (!node->operation.declared.empty() &&
      !TESSERA_MUTANT("undeclared-not-told")) {
    RangeSet covered;
    for (const Access &each : node->operation.declared)
      if (each.space == access.space && (each.write || !access.write))
        covered.add(each.low, each.high);
    covered.forEachMissing(
        access.low, access.high, [&](uint64_t low, uint64_t high) {
          auto [place, isNew] = knownUndeclared.try_emplace(
              node->site->kind + '\n' + kernel + '\n' + access.buffer +
                  (access.write ? "w" : "r"),
              notDeclared.size());
          if (!isNew) {
            ++notDeclared[place->second].occurrences;
            return;
          }
          notDeclared.push_back({node->site->text, kernel, access.write,
                                 access.buffer, low - access.base,
                                 high - access.base});
        });
  }
  node->operation.accesses.push_back(std::move(access));
}

void RaceDetector::complete(const NodePointer &node) { process(*node); }

void RaceDetector::drop(const NodePointer &node) {
  if (node->state != Node::State::Open)
    return;
  node->state = Node::State::Dropped;
  // What comes later follows what it would have followed. The chain of barriers
  // stays short: its end would be recursive.
  QueueRecord &record = queues[node->queue];
  while (node->barrier && node->barrier->state == Node::State::Dropped)
    node->barrier = node->barrier->barrier;
  if (record.lastBarrier == node)
    record.lastBarrier = node->barrier;
  record.open.insert(record.open.begin(), node->earlier.begin(),
                     node->earlier.end());
  node->earlier.clear();
}

const Knowledge &RaceDetector::knowledgeAfter(Node &node) {
  process(node);
  return node.after;
}

template <typename F> void RaceDetector::forEachSignal(const Point &wait, F f) {
  // Met from the beginning: nobody's signal was waited for.
  if (wait.value == 0)
    return;
  auto it = semaphores.find(wait.semaphore);
  if (it == semaphores.end())
    return;
  // Up to the least value that satisfies the wait.
  auto end = it->second.lower_bound(wait.value);
  if (end != it->second.end())
    ++end;
  for (auto signal = it->second.begin(); signal != end; ++signal)
    f(signal->second);
}

void RaceDetector::joinWait(Knowledge &into, const Point &wait, bool forHost) {
  forEachSignal(wait, [&](Signal &signal) {
    if (!forHost || !signal.node || signal.node->operation.releasesToHost)
      into.join(signal.node ? knowledgeAfter(*signal.node) : signal.known);
  });
}

/// What came before a node first: chains of waits are long, so no recursion.
void RaceDetector::process(Node &root) {
  if (root.state != Node::State::Open)
    return; // Processing: a cycle of waits, which cannot have completed.
  if (observer)
    observer();
  std::vector<Node *> left{&root};
  auto first = [&](const NodePointer &earlier) {
    if (earlier && earlier->state == Node::State::Open)
      left.push_back(earlier.get());
  };
  while (!left.empty()) {
    Node &node = *left.back();
    if (node.state == Node::State::Open) {
      node.state = Node::State::Processing;
      for (const NodePointer &earlier : node.earlier)
        first(earlier);
      first(node.barrier);
      for (const Point &wait : node.operation.waits)
        forEachSignal(wait, [&](Signal &signal) { first(signal.node); });
      continue;
    }
    left.pop_back();
    if (node.state == Node::State::Processing)
      finish(node);
  }
}

/// All that came before it is processed.
void RaceDetector::finish(Node &node) {
  if (node.operation.barrier) {
    for (const NodePointer &earlier : node.earlier)
      node.before.join(earlier->after);
    // It is earlier's barrier that all these followed.
    if (node.barrier)
      node.before.join(node.barrier->before);
    node.before.addBelow(node.queue, node.number);
    node.earlier.clear();
  } else if (node.barrier) {
    // Held back until the barrier's start.
    node.before.join(node.barrier->before);
  }
  for (const Point &wait : node.operation.waits)
    joinWait(node.before, wait, /*forHost=*/false);
  node.after = node.before;
  node.after.add(node.queue, node.number);
  node.barrier.reset();
  node.state = Node::State::Processed;
  for (const Access &access : node.operation.accesses)
    check(node.site, node.before, access);
  node.operation.accesses.clear();
  node.operation.declared.clear();
}

//===----------------------------------------------------------------------===//
// The host
//===----------------------------------------------------------------------===//

void RaceDetector::hostAccess(std::string what, const Access &access) {
  auto site = std::make_shared<AccessSite>();
  site->isHost = true;
  site->number = hostEvents++;
  site->serial = sitesMade++;
  site->text = fmt::format("the host's {}", what);
  site->kind = site->text;
  host.host = hostEvents;
  if (!TESSERA_MUTANT("races-without-the-host"))
    check(site, host, access);
}

void RaceDetector::hostSignals(const Point &point) {
  Knowledge known = submitter;
  known.host = hostEvents;
  semaphores[point.semaphore][point.value] = {nullptr, std::move(known)};
}

void RaceDetector::hostSees(const Point &point) {
  joinWait(host, point, /*forHost=*/true);
  joinWait(submitter, point, /*forHost=*/false);
}

void RaceDetector::hostRuns(const NodePointer &node) {
  process(*node);
  submitter.join(node->before);
  for (const Point &wait : node->operation.waits)
    joinWait(host, wait, /*forHost=*/true);
  // Everything before it in its queue is complete, as after waitIdle().
  if (node->operation.barrier)
    host.join(node->before);
}

void RaceDetector::hostSeesIdle(uint32_t queue) {
  QueueRecord &record = queues[queue];
  for (const NodePointer &node : record.open)
    if (node->state != Node::State::Dropped) {
      const Knowledge &known = knowledgeAfter(*node);
      host.join(known);
      submitter.join(known);
    }
  host.addBelow(queue, record.submitted);
  submitter.addBelow(queue, record.submitted);
  record.open.clear();
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

void RaceDetector::check(const SitePointer &site, const Knowledge &known,
                         const Access &access) {
  if (access.low >= access.high)
    return;
  auto precedes = [&](const AccessSite &earlier) {
    return earlier.isHost ? earlier.number < known.host
                          : known.has(earlier.queue, earlier.number);
  };
  auto same = [&](const SitePointer &other) { return other == site; };
  shadows[size_t(access.space)].forEach(
      access.low, access.high, [&](uint64_t low, AccessShadow::Segment &bytes) {
        if (bytes.writer && !same(bytes.writer) && !precedes(*bytes.writer))
          report(bytes.writer, true, site, access, low, bytes.high);
        if (!access.write) {
          // A later write that follows this read follows those before it.
          std::erase_if(bytes.readers, [&](const SitePointer &reader) {
            return same(reader) || precedes(*reader);
          });
          bytes.readers.push_back(site);
          return;
        }
        for (const SitePointer &reader : bytes.readers)
          if (!same(reader) && !precedes(*reader))
            report(reader, false, site, access, low, bytes.high);
        bytes.writer = site;
        bytes.readers.clear();
      });
}

void RaceDetector::report(SitePointer earlier, bool earlierWrites,
                          SitePointer later, const Access &access, uint64_t low,
                          uint64_t high) {
  // Which was looked at first depends on the device; which came first from the
  // host does not.
  bool laterWrites = access.write;
  if (later->serial < earlier->serial) {
    std::swap(earlier, later);
    std::swap(earlierWrites, laterWrites);
  }
  auto [place, isNew] = known.try_emplace(
      earlier->kind + '\n' + later->kind + '\n' + access.buffer +
          (earlierWrites ? "w" : "r") + (laterWrites ? "w" : "r"),
      found.size());
  if (!isNew) {
    // Neighbouring bytes of the same pair are one range.
    RaceReport &report = found[place->second];
    ++report.occurrences;
    uint64_t from = low - access.base, to = high - access.base;
    if (from <= report.high && to >= report.low) {
      report.low = std::min(report.low, from);
      report.high = std::max(report.high, to);
    }
    return;
  }
  RaceReport report;
  report.first = earlier->text;
  report.second = later->text;
  report.firstWrites = earlierWrites;
  report.secondWrites = laterWrites;
  report.buffer = access.buffer;
  report.low = low - access.base;
  report.high = high - access.base;
  std::string_view waiter =
      later->isHost ? std::string_view("the host") : later->text;
  if (later->isHost && !earlier->releasesToHost)
    report.missing = fmt::format(
        "{} signals at device scope, which tells the host nothing; let it "
        "signal at system scope, or let the host wait until its queue is idle",
        earlier->text);
  else if (earlier->release.empty())
    report.missing = fmt::format(
        "{} signals nothing; give it a signal and let {} wait for it",
        earlier->text, waiter);
  else
    report.missing = fmt::format("let {} wait for {}, which {} signals", waiter,
                                 earlier->release, earlier->text);
  // The other way round may be meant.
  if (later->isHost)
    report.missing += fmt::format(
        "; or submit {} later, or let it wait for a semaphore that the host "
        "signals after its access",
        earlier->text);
  found.push_back(std::move(report));
}

} // namespace tessera::runtime
