//===- TilePlanner.cpp - Choosing tile sizes ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileCost.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <optional>

using namespace tessera;

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

bool TileProblem::keepsOrder(const std::vector<int64_t> &tiles) const {
  for (const Work &step : work) {
    bool cut = false, leavesRest = false; // A loop inside of this one.
    for (size_t i = step.k.size(); step.matrix && i-- > 0;) {
      unsigned dim = step.k[i];
      if ((cut && tiles[dim] != 1) || (leavesRest && dims[dim].extent != 1))
        return false;
      leavesRest |= dims[dim].extent % tiles[dim] != 0;
      cut |= tiles[dim] != dims[dim].extent;
    }
  }
  return true;
}

namespace {

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

/// Tiles that do not divide the extent are multiples of this, by their size.
int64_t sizeUnit(int64_t size) {
  return size > 96 ? 32 : size > 12 ? 16 : size > 6 ? 4 : 1;
}

/// The largest such size of at most `limit`; 0 if there is none.
int64_t largestSize(int64_t limit) {
  int64_t unit = sizeUnit(limit);
  // Of sizes with a smaller unit, the largest.
  int64_t below = unit == 32 ? 96 : unit == 16 ? 12 : unit == 4 ? 6 : 0;
  return std::max(limit / unit * unit, below);
}

/// Tile sizes worth a try, ascending: the divisors, and where these are far
/// apart sizes that share the extent out evenly, rounded up to what engines
/// like.
std::vector<int64_t> tileSizes(const TileProblem::Dim &dim) {
  std::vector<int64_t> known = divisors(dim.extent);
  if (dim.divides)
    return known;
  std::vector<int64_t> result{1};
  for (size_t i = 1; i < known.size(); ++i) {
    int64_t limit = known[i];
    // From above, each size at most four fifths of the one before.
    std::vector<int64_t> between;
    while (int64_t largest = largestSize(limit * 4 / 5)) {
      int64_t count = (dim.extent + largest - 1) / largest;
      if (count >= dim.extent)
        break;
      int64_t even = (dim.extent + count - 1) / count;
      int64_t unit = sizeUnit(even), size = (even + unit - 1) / unit * unit;
      if (even <= known[i - 1] || size <= known[i - 1] * 4 / 3)
        break;
      between.push_back(size);
      limit = size;
    }
    result.insert(result.end(), between.rbegin(), between.rend());
    result.push_back(known[i]);
  }
  return result;
}

/// A way to share the tiles among the cores and an order of the loops.
struct Mapping {
  std::vector<int64_t> grid;
  std::vector<unsigned> order;
};

/// Starts that are followed to the end.
constexpr unsigned numImproved = 4;
/// The same where a ranking is wanted: it does not depend on how much of it is.
constexpr unsigned numRanked = 16;

/// Walks from whole loops to smaller tiles until they fit, then to neighbours
/// that are faster.
class Search {
public:
  Search(const TileProblem &problem, const TargetModel &target,
         const TileCost &cost, unsigned depth, unsigned maxDepth,
         unsigned accDepth, unsigned panelDepth, unsigned numFollowed)
      : problem(problem), target(target), cost(cost), depth(depth),
        maxDepth(maxDepth), accDepth(accDepth), panelDepth(panelDepth),
        numFollowed(numFollowed) {
    for (const TileProblem::Dim &dim : problem.dims) {
      switch (dim.kind) {
      case TileProblem::Dim::Kind::Free:
        choices.push_back(tileSizes(dim));
        break;
      case TileProblem::Dim::Kind::Whole:
        choices.push_back({dim.extent});
        break;
      case TileProblem::Dim::Kind::Unit:
        choices.push_back({1});
        break;
      }
    }
    // Of a sum, what lies inside of a loop that stays whole cannot be cut
    // either, and other loops inside of one only evenly.
    for (const TileProblem::Work &step : problem.work) {
      bool whole = false, inside = false;
      for (unsigned dim : step.matrix ? step.k : std::vector<unsigned>()) {
        int64_t extent = problem.dims[dim].extent;
        if (whole)
          choices[dim] = {extent};
        else if (inside && choices[dim].size() > 1)
          choices[dim] = divisors(extent);
        whole |= choices[dim].front() != 1;
        inside |= extent != 1;
      }
    }
    findMappings();
  }

  /// The smallest tiles there are.
  TilePlan smallest() const {
    return at(
        {std::vector<size_t>(choices.size(), 0), mappings.front(), depth});
  }

  /// The best plans found; none if nothing fits.
  std::vector<TilePlan> run() const {
    std::vector<Position> starts;
    auto addStart = [&](const Mapping &mapping, size_t first, size_t second) {
      std::optional<Position> found = descend(mapping, first, second);
      if (found &&
          std::find(starts.begin(), starts.end(), *found) == starts.end())
        starts.push_back(*found);
    };
    // One descent gets stuck: it may have halved the wrong dimension early. So
    // there is one for each choice of up to two dimensions that stay whole.
    size_t count = choices.size();
    for (size_t first = 0; first <= count; ++first)
      for (size_t second = first; second <= count; ++second)
        if (isChoice(first) && isChoice(second))
          addStart(mappings.front(), first, second);
    for (const Mapping &mapping : mappings)
      addStart(mapping, count, count);
    for (Position &position : sampled())
      starts.push_back(std::move(position));
    // The order of equals is that of the starts.
    std::vector<std::pair<double, size_t>> ranking;
    for (size_t i = 0; i < starts.size(); ++i)
      ranking.emplace_back(at(starts[i]).cycles, i);
    std::sort(ranking.begin(), ranking.end());
    std::vector<TilePlan> plans;
    for (size_t i = 0; i < std::min<size_t>(ranking.size(), numFollowed); ++i) {
      Position position = starts[ranking[i].second];
      while (std::optional<Position> better = improve(position))
        position = *better;
      plans.push_back(at(position));
    }
    return plans;
  }

private:
  struct Position {
    std::vector<size_t> tiles; ///< Indices of choices.
    Mapping mapping;
    unsigned depth;
    bool operator==(const Position &other) const {
      return tiles == other.tiles && depth == other.depth &&
             mapping.grid == other.mapping.grid &&
             mapping.order == other.mapping.order;
    }
  };

  /// Whether `dim` can be tiled at all, or is none.
  bool isChoice(size_t dim) const {
    return dim == choices.size() || choices[dim].size() > 1;
  }

  /// The loops that cores may share and that may change places.
  std::vector<unsigned> sharedDims() const {
    std::vector<unsigned> dims;
    for (unsigned dim = 0; dim < problem.dims.size(); ++dim)
      if (!problem.dims[dim].reduction && problem.dims[dim].extent > 1 &&
          problem.dims[dim].kind != TileProblem::Dim::Kind::Whole)
        dims.push_back(dim);
    return dims;
  }

  void findMappings() {
    std::vector<unsigned> dims = sharedDims();
    size_t count = problem.dims.size();
    std::vector<std::vector<int64_t>> grids;
    std::vector<int64_t> one(count, 1);
    // The cores along one loop or along two; from many cores to few.
    for (int64_t cores = target.cores(); cores >= 1; cores /= 2) {
      if (!target.isRectangle(cores))
        continue;
      for (unsigned first : dims) {
        std::vector<int64_t> grid = one;
        grid[first] = cores;
        if (cores <= problem.dims[first].extent)
          grids.push_back(grid);
        for (unsigned second : dims)
          for (int64_t part = 2; part < cores && second > first; ++part)
            if (cores % part == 0 && part <= problem.dims[first].extent &&
                cores / part <= problem.dims[second].extent) {
              grid[first] = part;
              grid[second] = cores / part;
              grids.push_back(grid);
              grid[first] = cores;
              grid[second] = 1;
            }
      }
    }
    if (grids.empty())
      grids.push_back(one);
    // As they come, and each shared loop inside of the others.
    std::vector<unsigned> natural;
    for (bool reduction : {false, true})
      for (unsigned dim = 0; dim < count; ++dim)
        if (problem.dims[dim].reduction == reduction)
          natural.push_back(dim);
    std::vector<std::vector<unsigned>> orders{natural};
    for (unsigned inner : dims) {
      std::vector<unsigned> order;
      for (unsigned dim : natural) {
        if (problem.dims[dim].reduction && order.size() < count &&
            std::find(order.begin(), order.end(), inner) == order.end())
          order.push_back(inner);
        if (dim != inner)
          order.push_back(dim);
      }
      if (order.size() < count)
        order.push_back(inner);
      if (std::find(orders.begin(), orders.end(), order) == orders.end())
        orders.push_back(order);
    }
    for (const auto &grid : grids)
      for (const auto &order : orders)
        mappings.push_back({grid, order});
  }

  /// From whole loops to the first tiles that fit, in steps that cost the least
  /// time for the bytes that they save. Leaves two dimensions whole.
  std::optional<Position> descend(const Mapping &mapping, size_t whole,
                                  size_t alsoWhole) const {
    Position current{{}, mapping, depth};
    for (const std::vector<int64_t> &list : choices)
      current.tiles.push_back(list.size() - 1);
    // Each core gets something.
    for (size_t dim = 0; dim < choices.size(); ++dim)
      while (current.tiles[dim] > 0 && dim != whole && dim != alsoWhole &&
             choices[dim][current.tiles[dim]] * (mapping.grid[dim] - 1) >=
                 problem.dims[dim].extent)
        --current.tiles[dim];
    TilePlan plan = at(current);
    while (!cost.fits(plan)) {
      std::optional<TilePlan> best;
      double bestScore = 0;
      size_t bestDim = 0;
      for (size_t dim = 0; dim < choices.size(); ++dim) {
        if (current.tiles[dim] == 0 || dim == whole || dim == alsoWhole)
          continue;
        Position next = current;
        --next.tiles[dim];
        TilePlan candidate = at(next);
        if (!cost.nests(candidate))
          continue;
        double score = candidate.cycles * cost.excess(candidate);
        if (cost.excess(candidate) >= cost.excess(plan))
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
      --current.tiles[bestDim];
    }
    return current;
  }

  /// The best of all combinations of some sizes of the loops that have most of
  /// them, for each mapping.
  std::vector<Position> sampled() const {
    std::vector<size_t> dims;
    for (size_t dim = 0; dim < choices.size(); ++dim)
      if (choices[dim].size() > 1)
        dims.push_back(dim);
    std::stable_sort(dims.begin(), dims.end(), [&](size_t a, size_t b) {
      return choices[a].size() > choices[b].size();
    });
    if (dims.size() > 3)
      dims.resize(3);
    // Each about twice the one before, from a size that engines like.
    std::vector<std::vector<size_t>> samples;
    for (size_t dim : dims) {
      std::vector<size_t> &list = samples.emplace_back();
      int64_t last = problem.dims[dim].extent >= 64 ? 7 : 0;
      for (size_t i = 0; i < choices[dim].size(); ++i)
        if (choices[dim][i] >= 2 * last || i + 1 == choices[dim].size()) {
          list.push_back(i);
          last = choices[dim][i];
        }
    }
    std::vector<Position> result;
    for (const Mapping &mapping : mappings) {
      std::optional<Position> best;
      double bestCycles = 0;
      Position position{{}, mapping, depth};
      for (const std::vector<int64_t> &list : choices)
        position.tiles.push_back(list.size() - 1);
      auto visit = [&](auto &self, size_t index) -> void {
        if (index < dims.size()) {
          for (size_t choice : samples[index]) {
            position.tiles[dims[index]] = choice;
            self(self, index + 1);
          }
          return;
        }
        TilePlan plan = at(position);
        if (cost.fits(plan) && (!best || plan.cycles < bestCycles)) {
          best = position;
          bestCycles = plan.cycles;
        }
      };
      visit(visit, 0);
      if (best)
        result.push_back(*best);
    }
    return result;
  }

  TilePlan at(const Position &position) const {
    TilePlan plan;
    for (size_t dim = 0; dim < position.tiles.size(); ++dim)
      plan.tiles.push_back(choices[dim][position.tiles[dim]]);
    for (const TileProblem::Work &step : problem.work) {
      bool cut = false;
      for (size_t i = step.k.size(); step.matrix && i-- > 0;) {
        unsigned dim = step.k[i];
        if (cut)
          plan.tiles[dim] = 1;
        cut |= plan.isTiled(problem, dim);
      }
    }
    plan.grid = position.mapping.grid;
    // What a core does only once is outermost, so that nothing is loaded again
    // inside of it.
    plan.order = position.mapping.order;
    std::stable_partition(
        plan.order.begin(), plan.order.end(), [&](unsigned dim) {
          return !problem.dims[dim].reduction && plan.grid[dim] > 1 &&
                 plan.tiles[dim] * plan.grid[dim] >= problem.dims[dim].extent;
        });
    plan.depth = position.depth;
    plan.accDepth = accDepth;
    plan.panelDepth = std::min(panelDepth, plan.depth);
    cost.evaluate(plan);
    return plan;
  }

  /// The best position that differs in one dimension, in one step of two, or in
  /// the mapping.
  std::optional<Position> improve(const Position &current) const {
    std::optional<Position> best;
    double limit = at(current).cycles * 0.999;
    auto offer = [&](const Position &next) {
      TilePlan candidate = at(next);
      if (!cost.fits(candidate) || candidate.cycles >= limit)
        return;
      limit = candidate.cycles;
      best = next;
    };
    for (size_t dim = 0; dim < choices.size(); ++dim) {
      for (size_t index = 0; index < choices[dim].size(); ++index) {
        Position next = current;
        next.tiles[dim] = index;
        if (index != current.tiles[dim])
          offer(next);
      }
      for (size_t other = 0; other < choices.size(); ++other) {
        if (other == dim || current.tiles[dim] == 0 ||
            current.tiles[other] + 1 >= choices[other].size())
          continue;
        Position next = current;
        --next.tiles[dim];
        ++next.tiles[other];
        offer(next);
      }
    }
    for (const Mapping &mapping : mappings)
      offer({current.tiles, mapping, current.depth});
    for (unsigned other = depth; other <= maxDepth; ++other)
      offer({current.tiles, current.mapping, other});
    return best;
  }

  const TileProblem &problem;
  const TargetModel &target;
  const TileCost &cost;
  unsigned depth, maxDepth, accDepth, panelDepth, numFollowed;
  std::vector<std::vector<int64_t>> choices;
  std::vector<Mapping> mappings;
};

} // namespace

static bool hasAccumulators(const TileProblem &problem) {
  return std::any_of(problem.buffers.begin(), problem.buffers.end(),
                     [](const TileProblem::Buffer &buffer) {
                       return buffer.memory == TileProblem::Memory::Acc;
                     });
}

/// Cores that share loads wait for the slowest of them and for the network,
/// which the estimate does not see: where memory suffices, more buffers let the
/// others go on.
static void deepen(TilePlan &plan, const TileCost &cost, unsigned maxDepth) {
  while (plan.multicast && plan.depth < maxDepth) {
    TilePlan deeper = plan;
    ++deeper.depth;
    cost.evaluate(deeper);
    if (!cost.fits(deeper) || !deeper.multicast ||
        deeper.groups != plan.groups || deeper.cycles > plan.cycles)
      return;
    plan = std::move(deeper);
  }
}

static bool differsClearly(const TilePlan &a, const TilePlan &b) {
  return a.tiles != b.tiles || a.grid != b.grid || a.multicast != b.multicast ||
         a.interleave != b.interleave;
}

/// Up to `count` of `plans`, ascending by cycles among those that differ
/// clearly and among the rest.
static std::vector<TilePlan> pick(std::vector<TilePlan> plans, size_t count) {
  std::stable_sort(
      plans.begin(), plans.end(),
      [](const TilePlan &a, const TilePlan &b) { return a.cycles < b.cycles; });
  std::vector<TilePlan> result;
  for (bool clearly : {true, false})
    for (const TilePlan &plan : plans)
      if (result.size() < count &&
          std::all_of(result.begin(), result.end(), [&](const TilePlan &other) {
            return clearly ? differsClearly(plan, other)
                           : !plan.isSameAs(other);
          }))
        result.push_back(plan);
  return result;
}

Result<TilePlan> tessera::planTiles(const TileProblem &problem,
                                    const TargetModel &target) {
  TESSERA_ASSIGN_OR_RETURN(TileChoice choice, chooseTiles(problem, target));
  return std::move(choice.best);
}

/// All plans that the searches end with; none if nothing fits.
static std::vector<TilePlan> search(const TileProblem &problem,
                                    const TargetModel &target,
                                    const TileCost &cost,
                                    unsigned numFollowed) {
  std::vector<TilePlan> plans;
  auto add = [&](unsigned depth, unsigned maxDepth, unsigned accDepth,
                 unsigned panelDepth) {
    std::vector<TilePlan> found = Search(problem, target, cost, depth, maxDepth,
                                         accDepth, panelDepth, numFollowed)
                                      .run();
    plans.insert(plans.end(), found.begin(), found.end());
  };
  add(2, 4, 2, 2);
  if (hasAccumulators(problem)) {
    add(2, 4, 1, 2);
    add(2, 4, 2, 1);
  }
  for (TilePlan &plan : plans)
    deepen(plan, cost, 4);
  if (plans.empty())
    add(1, 1, 1, 1);
  return plans;
}

/// The smallest tiles there are, if these fit.
static Result<TilePlan> smallestTiles(const TileProblem &problem,
                                      const TargetModel &target,
                                      const TileCost &cost) {
  TilePlan smallest;
  for (unsigned depth : {2u, 1u}) {
    smallest =
        Search(problem, target, cost, depth, depth, depth, depth, 1).smallest();
    if (cost.fits(smallest))
      return smallest;
  }
  return Status(
      StatusCode::ResourceExhausted,
      fmt::format("{}: the smallest tiles need {} bytes of SPM and {} of ACC; "
                  "the core has {} and {}",
                  problem.name, smallest.spmBytes, smallest.accBytes,
                  target.spmBytes(), target.accBytes()));
}

Result<TileChoice> tessera::chooseTiles(const TileProblem &problem,
                                        const TargetModel &target) {
  TESSERA_RETURN_IF_ERROR(problem.check());
  TileCost cost(problem, target);
  std::vector<TilePlan> plans = search(problem, target, cost, numImproved);
  if (plans.empty()) {
    TESSERA_ASSIGN_OR_RETURN(TilePlan plan,
                             smallestTiles(problem, target, cost));
    return TileChoice{std::move(plan), std::nullopt};
  }
  std::stable_sort(
      plans.begin(), plans.end(),
      [](const TilePlan &a, const TilePlan &b) { return a.cycles < b.cycles; });
  TileChoice choice{plans.front(), std::nullopt};
  for (const TilePlan &plan : plans)
    if (!choice.runnerUp && !plan.isSameAs(choice.best))
      choice.runnerUp = plan;
  return choice;
}

Result<std::vector<TilePlan>> tessera::rankTiles(const TileProblem &problem,
                                                 const TargetModel &target,
                                                 unsigned count) {
  TESSERA_RETURN_IF_ERROR(problem.check());
  TileCost cost(problem, target);
  std::vector<TilePlan> plans = search(problem, target, cost, numRanked);
  if (plans.empty()) {
    TESSERA_ASSIGN_OR_RETURN(TilePlan plan,
                             smallestTiles(problem, target, cost));
    return std::vector<TilePlan>{std::move(plan)};
  }
  // The estimate is least sure of what sharing loads costs.
  for (size_t i = 0, found = plans.size(); i < found; ++i) {
    TilePlan other = plans[i];
    other.multicast = !other.multicast;
    cost.evaluateAsGiven(other);
    if (other.multicast != plans[i].multicast && cost.fits(other))
      plans.push_back(std::move(other));
  }
  return pick(std::move(plans), count);
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
    if (plan.tiles[i] < 1 || plan.tiles[i] > dim.extent ||
        (dim.divides && dim.extent % plan.tiles[i] != 0))
      return bad(fmt::format("tile {} does not suit loop {} of {}",
                             plan.tiles[i], i, dim.extent));
    if (dim.kind == TileProblem::Dim::Kind::Whole &&
        plan.tiles[i] != dim.extent)
      return bad(fmt::format("loop {} must stay whole", i));
    if (dim.kind == TileProblem::Dim::Kind::Unit && plan.tiles[i] != 1)
      return bad(fmt::format("loop {} must have tiles of 1", i));
  }
  if (plan.grid.size() != plan.tiles.size() ||
      plan.order.size() != plan.tiles.size())
    return bad("a place in the order and a number of cores for each loop are "
               "needed");
  int64_t cores = 1;
  bool inReductions = false;
  std::vector<bool> seen(plan.tiles.size());
  for (unsigned dim : plan.order) {
    if (dim >= seen.size() || seen[dim])
      return bad("the order is no permutation");
    seen[dim] = true;
    bool reduction = problem.dims[dim].reduction;
    if (plan.grid[dim] < 1 || (reduction && plan.grid[dim] != 1))
      return bad(fmt::format("{} cores share loop {}", plan.grid[dim], dim));
    if (inReductions && !reduction)
      return bad(fmt::format("loop {} is inside of a reduction", dim));
    inReductions = reduction;
    cores *= plan.grid[dim];
  }
  if (!target.isRectangle(uint32_t(cores)))
    return bad(fmt::format("{} cores are no rectangle", cores));
  if (plan.depth < 1 || plan.panelDepth < 1 || plan.accDepth < 1 ||
      plan.panelDepth > plan.depth)
    return bad("buffers need a copy at least, panels no more than others");
  TilePlan again = plan;
  TileCost cost(problem, target);
  cost.evaluate(again);
  if (!problem.keepsOrder(plan.tiles))
    return bad("a sum's order would depend on the tiles");
  if (!cost.fits(again) || again.spmBytes != plan.spmBytes ||
      again.accBytes != plan.accBytes)
    return bad(fmt::format("needs {} bytes of SPM and {} of ACC",
                           again.spmBytes, again.accBytes));
  return Status::success();
}

Status tessera::completePlan(const TileProblem &problem, TilePlan &plan,
                             const TargetModel &target) {
  // What does not suit the loops cannot be evaluated.
  for (size_t i = 0; i < plan.tiles.size(); ++i)
    if (plan.tiles[i] > problem.dims[i].extent)
      return verifyPlan(problem, plan, target);
  TileCost(problem, target).evaluateAsGiven(plan);
  return verifyPlan(problem, plan, target);
}
