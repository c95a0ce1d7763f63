//===- SyncPlan.cpp - Order queues by semaphores --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/SyncPlan.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <tuple>

using namespace tessera;
using isa::Queue;

Status SyncPlanProblem::check() const {
  auto invalid = [](std::string what) {
    return Status(StatusCode::InvalidArgument, "synchronization: " + what);
  };
  if (nodes.empty() || !nodes[0].isLoop)
    return invalid("node 0 is not the kernel's body");
  std::vector<uint32_t> parent(nodes.size(), 0);
  std::vector<bool> seen(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (uint32_t child : nodes[i].body) {
      if (!nodes[i].isLoop || child <= i || child >= nodes.size() ||
          seen[child])
        return invalid(
            fmt::format("node {} is no proper child of {}", child, i));
      seen[child] = true;
      parent[child] = i;
    }
  }
  for (const Buffer &buffer : buffers)
    if (buffer.home >= nodes.size() || !nodes[buffer.home].isLoop ||
        buffer.depth == 0)
      return invalid("a buffer's home or depth makes no sense");
  for (size_t i = 0; i < nodes.size(); ++i)
    for (uint32_t buffer : nodes[i].buffers) {
      if (nodes[i].isLoop || buffer >= buffers.size())
        return invalid(
            fmt::format("node {} cannot touch buffer {}", i, buffer));
      uint32_t node = i;
      while (node != 0 && node != buffers[buffer].home)
        node = parent[node];
      if (node != buffers[buffer].home)
        return invalid(
            fmt::format("buffer {} is used outside of its home", buffer));
    }
  return Status::success();
}

namespace {

/// What a node does to a buffer, seen from its block: the queues of the first
/// and of the last access.
struct Element {
  uint32_t position; ///< In the block.
  Queue first, last;
};

/// A hand-over between two queues: signalled after one node of a block, waited
/// for before another one, or, with a depth, before one of that many iterations
/// later.
struct Edge {
  Queue from, to;
  uint32_t signalPosition, waitPosition;
  uint32_t depth; ///< 0: in the same iteration.

  /// Whether this hand-over is certain once `other` is kept: as queues run in
  /// order, a later signal and an earlier wait imply it.
  bool isImpliedBy(const Edge &other) const {
    return from == other.from && to == other.to &&
           (depth == 0) == (other.depth == 0) && depth >= other.depth &&
           signalPosition <= other.signalPosition &&
           waitPosition >= other.waitPosition;
  }
  auto operator<=>(const Edge &) const = default;
};

class Planner {
public:
  Planner(const SyncPlanProblem &problem) : problem(problem) {
    solution.before.resize(problem.nodes.size());
    solution.after.resize(problem.nodes.size());
    inner.resize(problem.nodes.size());
  }

  Result<SyncPlanSolution> run() {
    for (uint32_t buffer = 0; buffer < problem.buffers.size(); ++buffer) {
      if (problem.buffers[buffer].shared)
        TESSERA_RETURN_IF_ERROR(planShared(buffer));
      else
        planBuffer(problem.buffers[buffer].home, buffer,
                   problem.buffers[buffer].depth);
    }
    emitBlock(0, 0, 0);
    return std::move(solution);
  }

private:
  std::vector<Element> elementsOf(uint32_t block, uint32_t buffer) const;
  void planBuffer(uint32_t block, uint32_t buffer, uint32_t depth);
  Status planShared(uint32_t buffer);
  static std::vector<Edge> withoutImplied(const std::vector<Edge> &edges);
  void emitBlock(uint32_t block, uint32_t begin, uint32_t end);
  uint32_t newSemaphore(Queue waiter, uint32_t initial, uint32_t begin,
                        uint32_t end) {
    solution.semaphores.push_back({waiter, initial, begin, end});
    return solution.semaphores.size() - 1;
  }

  const SyncPlanProblem &problem;
  SyncPlanSolution solution;
  struct Block {
    std::vector<Edge> edges;
    /// Hand-overs after a loop that may be empty: position, from, to.
    std::vector<Element> afterLoop;
  };
  std::vector<Block> inner; ///< Of each loop.
};

} // namespace

std::vector<Element> Planner::elementsOf(uint32_t block,
                                         uint32_t buffer) const {
  std::vector<Element> elements;
  const auto &body = problem.nodes[block].body;
  for (uint32_t position = 0; position < body.size(); ++position) {
    const auto &node = problem.nodes[body[position]];
    if (node.isLoop) {
      auto nested = elementsOf(body[position], buffer);
      if (!nested.empty())
        elements.push_back(
            {position, nested.front().first, nested.back().last});
    } else if (std::find(node.buffers.begin(), node.buffers.end(), buffer) !=
               node.buffers.end()) {
      elements.push_back({position, node.queue, node.queue});
    }
  }
  return elements;
}

void Planner::planBuffer(uint32_t block, uint32_t buffer, uint32_t depth) {
  std::vector<Element> elements = elementsOf(block, buffer);
  if (elements.empty())
    return;
  bool onlyOneQueue = true;
  for (const Element &element : elements) {
    uint32_t node = problem.nodes[block].body[element.position];
    if (problem.nodes[node].isLoop) {
      planBuffer(node, buffer, 1);
      if (problem.nodes[node].mayBeEmpty && element.first != element.last)
        inner[block].afterLoop.push_back(element);
    }
    onlyOneQueue &= element.first == elements.front().first &&
                    element.last == elements.front().first;
  }
  if (onlyOneQueue)
    return;

  auto &edges = inner[block].edges;
  for (size_t i = 1; i < elements.size(); ++i)
    if (elements[i - 1].last != elements[i].first)
      edges.push_back({elements[i - 1].last, elements[i].first,
                       elements[i - 1].position, elements[i].position, 0});
  if (block != 0)
    edges.push_back({elements.back().last, elements.front().first,
                     elements.back().position, elements.front().position,
                     depth});
}

Status Planner::planShared(uint32_t buffer) {
  const auto &info = problem.buffers[buffer];
  const auto &body = problem.nodes[info.home].body;
  std::vector<Element> elements = elementsOf(info.home, buffer);
  auto reads = [&](const Element &element) {
    return element.first == elements.back().last &&
           element.last == elements.back().last;
  };
  if (elements.size() < 2 || elements[0].first != Queue::Ld ||
      problem.nodes[body[elements[0].position]].isLoop ||
      elements.back().last == Queue::Ld ||
      !std::all_of(elements.begin() + 1, elements.end(), reads))
    return {StatusCode::InvalidArgument,
            fmt::format("synchronization: shared buffer {} needs one load, and "
                        "then readers of one queue",
                        buffer)};
  // Other cores signal these semaphores too, however far this one has come: so
  // they are in use all the time.
  uint32_t end = problem.nodes[0].body.size() - 1;
  SyncPlanSolution::SharedFill fill;
  fill.buffer = buffer;
  fill.load = body[elements.front().position];
  fill.first = body[elements[1].position];
  fill.last = body[elements.back().position];
  fill.reader = elements.back().last;
  for (uint32_t slot = 0; slot < info.depth; ++slot)
    fill.data.push_back(newSemaphore(fill.reader, 0, 0, end));
  fill.free = newSemaphore(Queue::Ld, 0, 0, end);
  solution.sharedFills.push_back(std::move(fill));
  return Status::success();
}

/// The edges that say all, ordered such that those of the same queues and depth
/// are together and both their signals and their waits ascend.
std::vector<Edge> Planner::withoutImplied(const std::vector<Edge> &edges) {
  std::vector<Edge> kept;
  for (size_t i = 0; i < edges.size(); ++i) {
    bool isImplied = false;
    for (size_t j = 0; j < edges.size() && !isImplied; ++j)
      isImplied = i != j && edges[i].isImpliedBy(edges[j]) &&
                  // Of equal ones the first stays.
                  (edges[i] != edges[j] || j < i);
    if (!isImplied)
      kept.push_back(edges[i]);
  }
  std::sort(kept.begin(), kept.end(), [](const Edge &a, const Edge &b) {
    return std::tie(a.from, a.to, a.depth, a.signalPosition) <
           std::tie(b.from, b.to, b.depth, b.signalPosition);
  });
  return kept;
}

void Planner::emitBlock(uint32_t block, uint32_t begin, uint32_t end) {
  const auto &body = problem.nodes[block].body;
  for (uint32_t position = 0; position < body.size(); ++position)
    if (problem.nodes[body[position]].isLoop)
      emitBlock(body[position], block == 0 ? position : begin,
                block == 0 ? position : end);

  // Before the signals of a loop that may be empty, its last queue waits for
  // its first one, which has waited for what came before.
  std::vector<std::pair<uint32_t, std::pair<Queue, Queue>>> done;
  for (const Element &element : inner[block].afterLoop) {
    std::pair key{element.position, std::pair{element.first, element.last}};
    if (std::find(done.begin(), done.end(), key) != done.end())
      continue;
    done.push_back(key);
    uint32_t node = body[element.position];
    uint32_t semaphore =
        newSemaphore(element.last, 0, block == 0 ? element.position : begin,
                     block == 0 ? element.position : end);
    solution.after[node].push_back({false, element.first, semaphore});
    solution.after[node].push_back({true, element.last, semaphore});
  }
  // One semaphore for all hand-overs of the same queues and distance: the n-th
  // wait takes the unit of the n-th signal.
  std::vector<Edge> edges = withoutImplied(inner[block].edges);
  for (size_t first = 0, last; first < edges.size(); first = last) {
    auto isTogether = [&](const Edge &edge) {
      return std::tie(edge.from, edge.to, edge.depth) ==
             std::tie(edges[first].from, edges[first].to, edges[first].depth);
    };
    last = first;
    while (last < edges.size() && isTogether(edges[last]))
      ++last;
    uint32_t semaphore = newSemaphore(
        edges[first].to, edges[first].depth * uint32_t(last - first),
        block == 0 ? edges[first].signalPosition : begin,
        block == 0 ? edges[last - 1].waitPosition : end);
    for (size_t i = first; i < last; ++i) {
      solution.after[body[edges[i].signalPosition]].push_back(
          {false, edges[i].from, semaphore});
      solution.before[body[edges[i].waitPosition]].push_back(
          {true, edges[i].to, semaphore});
    }
  }
}

Result<SyncPlanSolution>
tessera::planSynchronization(const SyncPlanProblem &problem) {
  TESSERA_RETURN_IF_ERROR(problem.check());
  TESSERA_ASSIGN_OR_RETURN(SyncPlanSolution solution, Planner(problem).run());
  for (const auto &semaphore : solution.semaphores)
    if (semaphore.initial > isa::maxSemaphoreStep)
      return Status(
          StatusCode::ResourceExhausted,
          fmt::format("synchronization: a semaphore needs {} units at "
                      "first; {} fit",
                      semaphore.initial, isa::maxSemaphoreStep));
  return solution;
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

namespace {

using Clock = std::array<uint32_t, isa::numQueues>;

void join(Clock &clock, const Clock &other) {
  for (unsigned q = 0; q < isa::numQueues; ++q)
    clock[q] = std::max(clock[q], other[q]);
}

/// Executes in program order and keeps, for each queue, which instructions of
/// the others are certain to have completed (vector clocks).
class Checker {
public:
  Checker(const SyncPlanProblem &problem, const SyncPlanSolution &solution,
          unsigned iterations)
      : problem(problem), solution(solution), iterations(iterations),
        runs(problem.nodes.size()), units(solution.semaphores.size()) {
    for (size_t i = 0; i < units.size(); ++i)
      units[i].assign(solution.semaphores[i].initial, Clock{});
    for (const auto &buffer : problem.buffers)
      lastAccess.emplace_back(buffer.depth);
    for (const auto &fill : solution.sharedFills)
      units[fill.free].assign(problem.buffers[fill.buffer].depth, Clock{});
  }

  Status run() {
    TESSERA_RETURN_IF_ERROR(runBody(0));
    for (const auto &fill : solution.sharedFills)
      taken[fill.free] += problem.buffers[fill.buffer].depth;
    for (size_t i = 0; i < units.size(); ++i)
      if (units[i].size() - consumed(i) != solution.semaphores[i].initial)
        return wrong(fmt::format("semaphore {} ends at another value than {}",
                                 i, solution.semaphores[i].initial));
    return Status::success();
  }

private:
  static Status wrong(std::string what) {
    return {StatusCode::Internal, "synchronization: " + what};
  }
  size_t consumed(size_t semaphore) const {
    auto it = taken.find(semaphore);
    return it == taken.end() ? 0 : it->second;
  }

  Status runSteps(const std::vector<SyncPlanSolution::Step> &steps) {
    for (const auto &step : steps) {
      auto &available = units[step.semaphore];
      if (!step.isWait) {
        available.push_back(clocks[unsigned(step.queue)]);
        continue;
      }
      if (step.queue != solution.semaphores[step.semaphore].waiter)
        return wrong(
            fmt::format("another queue waits on semaphore {}", step.semaphore));
      size_t &next = taken[step.semaphore];
      if (next >= available.size())
        return wrong(fmt::format("a wait on semaphore {} is not satisfied",
                                 step.semaphore));
      join(clocks[unsigned(step.queue)], available[next++]);
    }
    return Status::success();
  }

  Status runBody(uint32_t block) {
    ++runs[block];
    for (uint32_t child : problem.nodes[block].body) {
      const auto &node = problem.nodes[child];
      TESSERA_RETURN_IF_ERROR(runSteps(solution.before[child]));
      TESSERA_RETURN_IF_ERROR(runShared(child, /*before=*/true));
      if (node.isLoop) {
        unsigned count = node.mayBeEmpty && runs[block] % 2 ? 0 : iterations;
        for (unsigned i = 0; i < count; ++i)
          TESSERA_RETURN_IF_ERROR(runBody(child));
      } else {
        TESSERA_RETURN_IF_ERROR(execute(child));
      }
      TESSERA_RETURN_IF_ERROR(runShared(child, /*before=*/false));
      TESSERA_RETURN_IF_ERROR(runSteps(solution.after[child]));
    }
    return Status::success();
  }

  /// What the node waits for and signals because of shared buffers, as if this
  /// core were the only one of its group.
  Status runShared(uint32_t node, bool before) {
    for (const auto &fill : solution.sharedFills) {
      const auto &buffer = problem.buffers[fill.buffer];
      uint32_t data = fill.data[(runs[buffer.home] - 1) % buffer.depth];
      if (node == fill.load)
        TESSERA_RETURN_IF_ERROR(
            runSteps({{before, Queue::Ld, before ? fill.free : data}}));
      if (node == (before ? fill.first : fill.last))
        TESSERA_RETURN_IF_ERROR(
            runSteps({{before, fill.reader, before ? data : fill.free}}));
    }
    return Status::success();
  }

  Status execute(uint32_t index) {
    const auto &node = problem.nodes[index];
    Clock &clock = clocks[unsigned(node.queue)];
    for (uint32_t buffer : node.buffers) {
      auto &slots = lastAccess[buffer];
      auto &last =
          slots[(runs[problem.buffers[buffer].home] - 1) % slots.size()];
      if (last && clock[unsigned(last->queue)] < last->number)
        return wrong(fmt::format(
            "node {} is not ordered after the last access of buffer {}", index,
            buffer));
      last = Access{node.queue, clock[unsigned(node.queue)] + 1};
    }
    ++clock[unsigned(node.queue)];
    return Status::success();
  }

  struct Access {
    Queue queue;
    uint32_t number;
  };
  const SyncPlanProblem &problem;
  const SyncPlanSolution &solution;
  unsigned iterations;
  std::array<Clock, isa::numQueues> clocks{};
  std::vector<uint64_t> runs;            ///< Iterations begun, of each loop.
  std::vector<std::vector<Clock>> units; ///< Signalled so far.
  std::map<size_t, size_t> taken;
  std::vector<std::vector<std::optional<Access>>> lastAccess;
};

} // namespace

Status SyncPlanSolution::verify(const SyncPlanProblem &problem,
                                unsigned iterations) const {
  return Checker(problem, *this, iterations).run();
}
