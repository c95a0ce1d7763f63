//===- TilePlanner.cpp - Choosing tile sizes ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TilePlanner.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <optional>

using namespace tessera;
using Memory = TileProblem::Memory;
using Traffic = TileProblem::Traffic;

Status TileProblem::check() const {
  auto bad = [&](std::string what) {
    return Status(StatusCode::InvalidArgument,
                  fmt::format("{}: {}", name, what));
  };
  for (const Dim &dim : dims)
    if (dim.extent < 1)
      return bad(fmt::format("a loop of {} iterations", dim.extent));
  for (const Buffer &buffer : buffers) {
    if (buffer.elementBytes == 0)
      return bad(fmt::format("buffer {} has elements of 0 bytes", buffer.name));
    for (const Extent &extent : buffer.extents) {
      if (extent.whole < 1)
        return bad(fmt::format("buffer {} has an extent of {}", buffer.name,
                               extent.whole));
      for (const Extent::Term &term : extent.terms)
        if (term.dim >= dims.size())
          return bad(
              fmt::format("buffer {} names loop {}", buffer.name, term.dim));
    }
  }
  for (const Work &step : work)
    for (const std::vector<unsigned> *list :
         {&step.m, &step.n, &step.k, &step.points})
      for (unsigned dim : *list)
        if (dim >= dims.size())
          return bad(fmt::format("a step names loop {}", dim));
  return Status::success();
}

namespace {

/// Evaluates plans of one problem.
class Evaluator {
public:
  Evaluator(const TileProblem &problem, const TargetModel &target,
            unsigned depth)
      : problem(problem), target(target), depth(depth) {}

  TilePlan evaluate(std::vector<int64_t> tiles) const {
    TilePlan plan;
    plan.tiles = std::move(tiles);
    plan.depth = depth;
    uint64_t spm = 0, acc = 0;
    for (const TileProblem::Buffer &buffer : problem.buffers) {
      uint64_t bytes = buffer.elementBytes;
      for (const TileProblem::Extent &extent : buffer.extents)
        bytes *= uint64_t(tileExtent(plan, extent));
      bytes =
          target.allocatedBytes(bytes) * (changes(plan, buffer) ? depth : 1);
      (buffer.memory == Memory::Spm ? spm : acc) += bytes;
    }
    plan.spmBytes = spm;
    plan.accBytes = acc;
    plan.cycles = cycles(plan);
    return plan;
  }

  bool fits(const TilePlan &plan) const {
    return plan.spmBytes <= target.spmBytes() &&
           plan.accBytes <= target.accBytes() && nests(plan);
  }

  /// Whether the hardware can nest as many loops.
  bool nests(const TilePlan &plan) const {
    unsigned count = 0;
    for (unsigned dim = 0; dim < problem.dims.size(); ++dim)
      count += plan.isTiled(problem, dim);
    return count <= target.maxLoops();
  }

  /// How far a plan is beyond the capacities; 1 if it fits.
  double excess(const TilePlan &plan) const {
    return std::max({1.0, double(plan.spmBytes) / double(target.spmBytes()),
                     double(plan.accBytes) / double(target.accBytes())});
  }

  unsigned loops(const TilePlan &plan) const {
    unsigned count = 0;
    for (unsigned dim = 0; dim < problem.dims.size(); ++dim)
      count += plan.isTiled(problem, dim);
    return count;
  }

private:
  int64_t trips(const TilePlan &plan, unsigned dim) const {
    return problem.dims[dim].extent / plan.tiles[dim];
  }

  int64_t tileExtent(const TilePlan &plan,
                     const TileProblem::Extent &extent) const {
    if (extent.terms.empty())
      return extent.whole;
    int64_t size = 1;
    for (const auto &term : extent.terms)
      size += std::abs(term.factor) * (plan.tiles[term.dim] - 1);
    return size;
  }

  bool dependsOn(const TileProblem::Buffer &buffer, unsigned dim) const {
    for (const TileProblem::Extent &extent : buffer.extents)
      for (const auto &term : extent.terms)
        if (term.dim == dim && term.factor != 0)
          return true;
    return false;
  }

  /// Whether the buffer is another one from tile to tile: a loaded one if what
  /// it holds changes, any other one if there is a loop outside.
  bool changes(const TilePlan &plan, const TileProblem::Buffer &buffer) const {
    for (unsigned dim = 0; dim < problem.dims.size(); ++dim)
      if (trips(plan, dim) > 1 &&
          (buffer.traffic == Traffic::Load ? dependsOn(buffer, dim)
                                           : !problem.dims[dim].reduction))
        return true;
    return false;
  }

  /// How often the buffer is moved: once per iteration of the loops down to
  /// the innermost one that changes it.
  double moves(const TilePlan &plan, const TileProblem::Buffer &buffer) const {
    double count = 1, sinceChange = 1;
    for (unsigned dim = 0; dim < problem.dims.size(); ++dim) {
      sinceChange *= double(trips(plan, dim));
      if (trips(plan, dim) > 1 && dependsOn(buffer, dim)) {
        count *= sinceChange;
        sinceChange = 1;
      }
    }
    return count;
  }

  double transfer(const TilePlan &plan,
                  const TileProblem::Buffer &buffer) const {
    uint64_t rows = 1, run = buffer.elementBytes;
    bool contiguous = true;
    for (size_t i = buffer.extents.size(); i-- > 0;) {
      uint64_t size = uint64_t(tileExtent(plan, buffer.extents[i]));
      (contiguous ? run : rows) *= size;
      contiguous = contiguous && int64_t(size) == buffer.extents[i].whole;
    }
    return target.transferCycles(rows, run);
  }

  uint64_t product(const TilePlan &plan,
                   const std::vector<unsigned> &dims) const {
    uint64_t result = 1;
    for (unsigned dim : dims)
      result *= uint64_t(plan.tiles[dim]);
    return result;
  }

  /// The part of the tiles that the busiest core computes: cores share the
  /// outermost loop, unless that is a reduction.
  double share(const TilePlan &plan) const {
    for (unsigned dim = 0; dim < problem.dims.size(); ++dim) {
      int64_t count = trips(plan, dim);
      if (count == 1)
        continue;
      if (problem.dims[dim].reduction)
        return 1;
      int64_t cores = target.cores();
      return double((count + cores - 1) / cores) / double(count);
    }
    return 1;
  }

  double cycles(const TilePlan &plan) const {
    double parallelTiles = 1, allTiles = 1;
    for (unsigned dim = 0; dim < problem.dims.size(); ++dim) {
      allTiles *= double(trips(plan, dim));
      if (!problem.dims[dim].reduction)
        parallelTiles *= double(trips(plan, dim));
    }
    double load = 0, store = 0, matrix = 0, vector = 0, largestLoad = 0;
    for (const TileProblem::Buffer &buffer : problem.buffers) {
      if (buffer.traffic == Traffic::None)
        continue;
      double once = transfer(plan, buffer);
      (buffer.traffic == Traffic::Load ? load : store) +=
          once * moves(plan, buffer);
      if (buffer.traffic == Traffic::Load)
        largestLoad += once;
    }
    for (const TileProblem::Work &step : problem.work) {
      bool perReductionTile = false;
      for (const std::vector<unsigned> *list : {&step.k, &step.points})
        for (unsigned dim : *list)
          perReductionTile |= problem.dims[dim].reduction;
      double count = perReductionTile ? allTiles : parallelTiles;
      if (step.matrix)
        matrix += count * target.matrixCycles(
                              step.format, product(plan, step.m),
                              product(plan, step.k), product(plan, step.n));
      else
        vector +=
            count * target.vectorCycles(product(plan, step.points), step.aluOps,
                                        step.sfuOps, step.inputs);
    }
    // Every core does its part of the outermost loop's iterations.
    double part = share(plan);
    matrix *= part;
    vector *= part;
    allTiles = std::max(1.0, allTiles * part);
    double memory = (load + store) * part;
    double longest = std::max({memory, matrix, vector});
    double all = memory + matrix + vector;
    // With two copies the engines overlap but for the first and last tile.
    double overlapped =
        plan.depth > 1 ? longest + (all - longest) / allTiles : all;
    return overlapped + target.transferLatency() + largestLoad * 0.01 +
           allTiles * target.tileOverhead();
  }

  const TileProblem &problem;
  const TargetModel &target;
  unsigned depth;
};

std::vector<int64_t> divisors(int64_t extent) {
  std::vector<int64_t> result;
  for (int64_t d = 1; d * d <= extent; ++d)
    if (extent % d == 0) {
      result.push_back(d);
      if (d * d != extent)
        result.push_back(extent / d);
    }
  std::sort(result.begin(), result.end());
  return result;
}

/// Walks from whole loops to smaller tiles until they fit, then to neighbours
/// that are faster.
class Search {
public:
  Search(const TileProblem &problem, const Evaluator &evaluator)
      : evaluator(evaluator) {
    for (const TileProblem::Dim &dim : problem.dims) {
      switch (dim.kind) {
      case TileProblem::Dim::Kind::Free:
        choices.push_back(divisors(dim.extent));
        break;
      case TileProblem::Dim::Kind::Whole:
        choices.push_back({dim.extent});
        break;
      case TileProblem::Dim::Kind::Unit:
        choices.push_back({1});
        break;
      }
    }
  }

  /// The smallest tiles there are.
  TilePlan smallest() const {
    return at(std::vector<size_t>(choices.size(), 0));
  }

  /// The best plan found, if any fits.
  std::optional<TilePlan> run() {
    // One descent gets stuck: it may have halved the wrong dimension early. So
    // there is one for each choice of up to two dimensions that stay whole.
    std::vector<std::vector<size_t>> starts;
    size_t count = choices.size();
    for (size_t first = 0; first <= count; ++first)
      for (size_t second = first; second <= count; ++second)
        if (isChoice(first) && isChoice(second))
          if (auto found = descend(first, second);
              found &&
              std::find(starts.begin(), starts.end(), *found) == starts.end())
            starts.push_back(*found);
    // The order of equals is that of the starts.
    std::vector<std::pair<double, size_t>> ranking;
    for (size_t i = 0; i < starts.size(); ++i)
      ranking.emplace_back(at(starts[i]).cycles, i);
    std::sort(ranking.begin(), ranking.end());
    std::optional<TilePlan> best;
    for (size_t i = 0; i < std::min<size_t>(ranking.size(), 3); ++i) {
      position = starts[ranking[i].second];
      TilePlan plan = at(position);
      while (std::optional<TilePlan> better = improve(plan))
        plan = *better;
      if (!best || plan.cycles < best->cycles)
        best = plan;
    }
    return best;
  }

private:
  /// Whether `dim` can be tiled at all, or is none.
  bool isChoice(size_t dim) const {
    return dim == choices.size() || choices[dim].size() > 1;
  }

  /// From whole loops to the first tiles that fit, in steps that cost the least
  /// time for the bytes that they save. Leaves two dimensions whole.
  std::optional<std::vector<size_t>> descend(size_t whole,
                                             size_t alsoWhole) const {
    std::vector<size_t> current;
    for (const std::vector<int64_t> &list : choices)
      current.push_back(list.size() - 1);
    TilePlan plan = at(current);
    while (!evaluator.fits(plan)) {
      std::optional<TilePlan> best;
      double bestScore = 0;
      size_t bestDim = 0;
      for (size_t dim = 0; dim < choices.size(); ++dim) {
        if (current[dim] == 0 || dim == whole || dim == alsoWhole)
          continue;
        std::vector<size_t> next = current;
        --next[dim];
        TilePlan candidate = at(next);
        if (!evaluator.nests(candidate))
          continue;
        double score = candidate.cycles * evaluator.excess(candidate);
        if (evaluator.excess(candidate) >= evaluator.excess(plan))
          score *= 4; // It does not help by itself.
        if (!best || score < bestScore) {
          best = candidate;
          bestScore = score;
          bestDim = dim;
        }
      }
      if (!best)
        return std::nullopt;
      plan = *best;
      --current[bestDim];
    }
    return current;
  }

  TilePlan at(const std::vector<size_t> &indices) const {
    std::vector<int64_t> tiles;
    for (size_t dim = 0; dim < indices.size(); ++dim)
      tiles.push_back(choices[dim][indices[dim]]);
    return evaluator.evaluate(std::move(tiles));
  }

  /// The best plan that differs in one dimension, or in one step of two.
  std::optional<TilePlan> improve(const TilePlan &current) {
    std::optional<TilePlan> best;
    std::vector<size_t> bestPosition;
    auto offer = [&](const std::vector<size_t> &next) {
      TilePlan candidate = at(next);
      if (!evaluator.fits(candidate))
        return;
      double limit = best ? best->cycles : current.cycles * 0.999;
      if (candidate.cycles < limit) {
        best = candidate;
        bestPosition = next;
      }
    };
    for (size_t dim = 0; dim < choices.size(); ++dim) {
      for (size_t index = 0; index < choices[dim].size(); ++index) {
        if (index == position[dim])
          continue;
        std::vector<size_t> next = position;
        next[dim] = index;
        offer(next);
      }
      for (size_t other = 0; other < choices.size(); ++other) {
        if (other == dim || position[dim] == 0 ||
            position[other] + 1 >= choices[other].size())
          continue;
        std::vector<size_t> next = position;
        --next[dim];
        ++next[other];
        offer(next);
      }
    }
    if (best)
      position = bestPosition;
    return best;
  }

  const Evaluator &evaluator;
  std::vector<std::vector<int64_t>> choices;
  std::vector<size_t> position;
};

} // namespace

Result<TilePlan> tessera::planTiles(const TileProblem &problem,
                                    const TargetModel &target) {
  TESSERA_RETURN_IF_ERROR(problem.check());
  TilePlan smallest;
  for (unsigned depth : {2u, 1u}) {
    Evaluator evaluator(problem, target, depth);
    Search search(problem, evaluator);
    if (std::optional<TilePlan> plan = search.run())
      return *plan;
    smallest = search.smallest();
    if (evaluator.fits(smallest))
      return smallest;
  }
  return Status(
      StatusCode::ResourceExhausted,
      fmt::format("{}: the smallest tiles need {} bytes of SPM and {} of ACC; "
                  "the core has {} and {}",
                  problem.name, smallest.spmBytes, smallest.accBytes,
                  target.spmBytes(), target.accBytes()));
}

Status tessera::verifyPlan(const TileProblem &problem, const TilePlan &plan,
                           const TargetModel &target) {
  auto bad = [&](std::string what) {
    return Status(StatusCode::Internal,
                  fmt::format("{}: {}", problem.name, what));
  };
  if (plan.tiles.size() != problem.dims.size())
    return bad("a tile size for each loop is needed");
  for (size_t i = 0; i < plan.tiles.size(); ++i) {
    const TileProblem::Dim &dim = problem.dims[i];
    if (plan.tiles[i] < 1 || dim.extent % plan.tiles[i] != 0)
      return bad(fmt::format("tile {} does not divide loop {} of {}",
                             plan.tiles[i], i, dim.extent));
    if (dim.kind == TileProblem::Dim::Kind::Whole &&
        plan.tiles[i] != dim.extent)
      return bad(fmt::format("loop {} must stay whole", i));
    if (dim.kind == TileProblem::Dim::Kind::Unit && plan.tiles[i] != 1)
      return bad(fmt::format("loop {} must have tiles of 1", i));
  }
  Evaluator evaluator(problem, target, plan.depth);
  TilePlan again = evaluator.evaluate(plan.tiles);
  if (!evaluator.fits(again) || again.spmBytes != plan.spmBytes ||
      again.accBytes != plan.accBytes)
    return bad(fmt::format("needs {} bytes of SPM and {} of ACC",
                           again.spmBytes, again.accBytes));
  return Status::success();
}
