//===- KernelPlan.cpp - Memory and order of a kernel ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelPlan.h"
#include "tessera/Conversion/MemoryPlan.h"
#include "tessera/Conversion/SemaphorePlan.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace tessera;

namespace {

/// Local buffers start on a burst, so that transfers don't straddle one more;
/// the tiling counts them in these units too. them.
constexpr uint64_t alignment = 64;

class Planner {
public:
  Planner(const TileKernel &kernel, const Architecture &arch)
      : kernel(kernel), arch(arch), accesses(kernel.nodes.size()) {}

  FailureOr<KernelPlan> run();

private:
  /// Buffers and arguments that each engine operation touches, and the child of
  /// the root that it is in.
  LogicalResult collectAccesses(uint32_t node, uint32_t rootPosition);
  LogicalResult planOrder();
  /// Whether the loops around the body of `node`, it included, have constant
  /// counts.
  bool runsAlike(uint32_t node) const;
  LogicalResult findSegments(bool &needsSegments);
  Status place(tile::Space space, uint64_t capacity, uint64_t unit,
               const char *name);
  Status number();
  Status placeAndNumber();
  uint32_t segmentOf(uint32_t rootPosition) const {
    return plan.segments.empty() ? 0 : plan.segments[rootPosition];
  }
  InFlightDiagnostic error() {
    return kernel.getOp().emitError("kernel '")
           << kernel.getOp().getSymName() << "': ";
  }

  struct Access {
    std::vector<uint32_t> buffers;
    llvm::SmallSet<unsigned, 4> arguments;
  };
  struct Lifetime {
    uint32_t begin = UINT32_MAX, end = 0; ///< Children of the root.
    void include(uint32_t position) {
      begin = std::min(begin, position);
      end = std::max(end, position);
    }
  };
  const TileKernel &kernel;
  const Architecture &arch;
  std::vector<Access> accesses;
  std::vector<Lifetime> lifetimes;
  /// Arguments read and written by each child of the root.
  std::vector<llvm::SmallSet<unsigned, 4>> loads, stores;
  KernelPlan plan;
};

} // namespace

LogicalResult Planner::collectAccesses(uint32_t node, uint32_t rootPosition) {
  for (auto [position, child] : llvm::enumerate(kernel.nodes[node].body)) {
    uint32_t root = node == 0 ? position : rootPosition;
    const KernelNode &info = kernel.nodes[child];
    if (info.kind == KernelNode::Kind::Loop) {
      if (failed(collectAccesses(child, root)))
        return failure();
      continue;
    }
    if (info.kind != KernelNode::Kind::Engine)
      continue;
    for (Value operand : info.op->getOperands()) {
      if (!llvm::isa<MemRefType>(operand.getType()))
        continue;
      FailureOr<View> view = kernel.getView(operand);
      if (failed(view))
        return failure();
      if (auto argument = dyn_cast<BlockArgument>(view->root)) {
        auto &set = llvm::isa<tile::StoreOp>(info.op) ? stores : loads;
        set[root].insert(argument.getArgNumber());
        continue;
      }
      uint32_t buffer = kernel.getBuffer(view->root);
      if (!llvm::is_contained(accesses[child].buffers, buffer))
        accesses[child].buffers.push_back(buffer);
      lifetimes[buffer].include(root);
    }
  }
  return success();
}

bool Planner::runsAlike(uint32_t node) const {
  if (node == 0)
    return true;
  if (!kernel.nodes[node].count.isConstant())
    return false;
  for (uint32_t parent = 0; parent < node; ++parent)
    if (llvm::is_contained(kernel.nodes[parent].body, node))
      return runsAlike(parent);
  return false;
}

LogicalResult Planner::planOrder() {
  SyncPlanProblem problem;
  for (auto [index, node] : llvm::enumerate(kernel.nodes)) {
    SyncPlanProblem::Node &added = problem.nodes.emplace_back();
    added.isLoop = node.kind == KernelNode::Kind::Loop;
    added.queue = node.queue;
    added.buffers = accesses[index].buffers;
    added.body = node.body;
    added.mayBeEmpty = added.isLoop && !node.count.isConstant();
  }
  for (const LocalBuffer &buffer : kernel.buffers)
    problem.buffers.push_back({buffer.home, buffer.depth, bool(buffer.group)});
  auto solution = planSynchronization(problem);
  if (!solution)
    return error() << solution.status().message();
  // The cores of a group have to agree on every iteration.
  for (const auto &fill : solution->sharedFills)
    if (!runsAlike(kernel.buffers[fill.buffer].home))
      return error() << "a shared load's loops have no constant counts";
  plan.sync = std::move(*solution);
  return success();
}

/// A segment ends with each loop of the kernel's body.
LogicalResult Planner::findSegments(bool &needsSegments) {
  const auto &body = kernel.nodes[0].body;
  plan.segments.assign(body.size(), 0);
  uint32_t segment = 0;
  for (size_t i = 0; i < body.size(); ++i) {
    plan.segments[i] = segment;
    if (kernel.nodes[body[i]].kind == KernelNode::Kind::Loop &&
        i + 1 < body.size())
      ++segment;
  }
  plan.numSegments = segment + 1;

  needsSegments = false;
  for (size_t i = 0; i < body.size(); ++i)
    for (size_t j = 0; j < body.size(); ++j)
      for (unsigned argument : stores[i]) {
        if (!loads[j].contains(argument))
          continue;
        if (plan.segments[i] == plan.segments[j])
          return error() << "argument " << argument
                         << " is loaded and stored in one loop nest";
        needsSegments = true;
      }
  return success();
}

Status Planner::place(tile::Space space, uint64_t capacity, uint64_t unit,
                      const char *name) {
  MemoryPlanProblem problem{name, capacity, {}};
  std::vector<uint32_t> numbers;
  for (auto [index, buffer] : llvm::enumerate(kernel.buffers)) {
    if (buffer.space != space || lifetimes[index].begin == UINT32_MAX)
      continue;
    numbers.push_back(index);
    problem.buffers.push_back(
        {"buffer " + std::to_string(index), buffer.bytes, unit, buffer.depth,
         segmentOf(lifetimes[index].begin), segmentOf(lifetimes[index].end)});
  }
  auto solution = planMemory(problem);
  if (!solution)
    return solution.status();
  TESSERA_RETURN_IF_ERROR(solution->verify(problem));
  for (auto [i, index] : llvm::enumerate(numbers))
    plan.buffers[index] = {solution->offsets[i],
                           problem.buffers[i].slotStride()};
  return Status::success();
}

Status Planner::number() {
  SemaphorePlanProblem problem;
  problem.available = std::min(arch.semaphores, isa::maxSemaphores);
  for (const auto &semaphore : plan.sync.semaphores)
    problem.requests.push_back({semaphore.waiter, segmentOf(semaphore.begin),
                                segmentOf(semaphore.end)});
  bool joins = !plan.segments.empty() && plan.numSegments > 1;
  if (joins)
    problem.requests.push_back({isa::Queue::Seq, 0, plan.numSegments - 1});
  auto solution = planSemaphores(problem);
  if (!solution)
    return solution.status();
  TESSERA_RETURN_IF_ERROR(solution->verify(problem));
  plan.semaphores = solution->semaphores;
  if (joins)
    plan.joinSemaphore = solution->semaphores.back();
  return Status::success();
}

Status Planner::placeAndNumber() {
  TESSERA_RETURN_IF_ERROR(
      place(tile::Space::Spm, arch.spm.bytes,
            std::max<uint64_t>(alignment, arch.spm.bankWidth), "SPM"));
  TESSERA_RETURN_IF_ERROR(
      place(tile::Space::Acc, arch.acc.bytes, alignment, "ACC"));
  return number();
}

FailureOr<KernelPlan> Planner::run() {
  lifetimes.resize(kernel.buffers.size());
  loads.resize(kernel.nodes[0].body.size());
  stores.resize(kernel.nodes[0].body.size());
  plan.buffers.resize(kernel.buffers.size());
  bool needsSegments = false;
  if (failed(collectAccesses(0, 0)) || failed(planOrder()) ||
      failed(findSegments(needsSegments)))
    return failure();
  if (!needsSegments) {
    std::vector<uint32_t> segments;
    std::swap(segments, plan.segments);
    if (placeAndNumber().ok()) {
      plan.segments.assign(segments.size(), 0);
      plan.numSegments = 1;
      return std::move(plan);
    }
    std::swap(segments, plan.segments);
  }
  if (Status status = placeAndNumber(); !status.ok())
    return error() << status.message();
  return std::move(plan);
}

FailureOr<KernelPlan> tessera::planKernel(const TileKernel &kernel,
                                          const Architecture &arch) {
  return Planner(kernel, arch).run();
}
