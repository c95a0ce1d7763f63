//===- TileCost.cpp - What a plan needs and costs -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileCost.h"
#include "CoreOrder.h"
#include "KPieces.h"
#include "tessera/ISA/Descriptor.h"
#include <algorithm>
#include <cstdlib>

using namespace tessera;
using Memory = TileProblem::Memory;
using Traffic = TileProblem::Traffic;

TileCost::TileCost(const TileProblem &problem, const TargetModel &target)
    : problem(problem), target(target), network(target.architecture()) {
  for (const TileProblem::Buffer &buffer : problem.buffers) {
    uint64_t &mask = dependences.emplace_back(0);
    for (const TileProblem::Extent &extent : buffer.extents)
      for (const auto &term : extent.terms)
        if (term.factor != 0)
          mask |= uint64_t(1) << term.dim;
  }
}

void TileCost::evaluate(TilePlan &plan) const {
  countBytes(plan);
  plan.multicast = plan.pieces = false;
  plan.groups.assign(problem.buffers.size(), 1);
  plan.cycles = cycles(plan);
  TilePlan best = plan;
  auto offer = [&](TilePlan other) {
    other.cycles = cycles(other);
    if (other.cycles < best.cycles)
      best = std::move(other);
  };
  // With two loops shared, the cores of one's iterations may be those of a row
  // or those of a column.
  int64_t outermost = 1, cores = 1;
  for (unsigned dim : plan.order) {
    if (outermost == 1)
      outermost = plan.grid[dim];
    cores *= plan.grid[dim];
  }
  for (int64_t interleave : {int64_t(1), outermost}) {
    TilePlan other = plan;
    other.interleave = interleave;
    bool isOther = interleave == 1 || interleave != cores;
    if (isOther && cores > 1 && findGroups(other))
      offer(std::move(other));
    if (outermost == 1)
      break;
  }
  plan = best;
  if (loopInPieces(plan)) {
    plan.pieces = true;
    offer(std::move(plan));
  }
  plan = std::move(best);
}

void TileCost::evaluateAsGiven(TilePlan &plan) const {
  countBytes(plan);
  int64_t interleave = plan.interleave;
  if (!plan.multicast || !findGroups(plan)) {
    plan.multicast = false;
    plan.groups.assign(problem.buffers.size(), 1);
  }
  plan.pieces = plan.pieces && loopInPieces(plan).has_value();
  plan.cycles = cycles(plan);
  plan.interleave = interleave;
}

bool TileCost::findGroups(TilePlan &plan) const {
  plan.groups.clear();
  plan.multicast = false;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    plan.groups.push_back(group(plan, i).size);
    plan.multicast |= plan.groups.back() > 1;
  }
  return plan.multicast;
}

bool TileCost::fits(const TilePlan &plan) const {
  return plan.spmBytes <= target.spmBytes() &&
         plan.accBytes <= target.accBytes() && nests(plan) && describes(plan);
}

bool TileCost::describes(const TilePlan &plan) const {
  // Dimensions of one element need no place in a descriptor. That neighbours
  // may merge is not counted on.
  auto rank = [&](std::initializer_list<const std::vector<unsigned> *> lists) {
    unsigned count = 0;
    for (const std::vector<unsigned> *list : lists)
      for (unsigned dim : *list)
        count += plan.tiles[dim] > 1;
    return count;
  };
  return std::all_of(problem.work.begin(), problem.work.end(),
                     [&](const TileProblem::Work &work) {
                       return rank({&work.m, &work.k}) <= isa::maxRank &&
                              rank({&work.k, &work.n}) <= isa::maxRank &&
                              rank({&work.m, &work.n}) <= isa::maxRank &&
                              rank({&work.points}) <= isa::maxRank;
                     });
}

bool TileCost::nests(const TilePlan &plan) const {
  unsigned count = 0;
  for (unsigned dim = 0; dim < problem.dims.size(); ++dim)
    count += plan.isTiled(problem, dim);
  return count <= target.maxLoops();
}

double TileCost::excess(const TilePlan &plan) const {
  return std::max({1.0, double(plan.spmBytes) / double(target.spmBytes()),
                   double(plan.accBytes) / double(target.accBytes())});
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

int64_t TileCost::trips(const TilePlan &plan, unsigned dim) const {
  return (problem.dims[dim].extent + plan.tiles[dim] - 1) / plan.tiles[dim];
}

int64_t TileCost::tripsOfCore(const TilePlan &plan, unsigned dim) const {
  int64_t cores = plan.grid[dim];
  return (trips(plan, dim) + cores - 1) / cores;
}

int64_t TileCost::tileExtent(const TilePlan &plan,
                             const TileProblem::Extent &extent) const {
  if (extent.terms.empty())
    return extent.whole;
  int64_t size = 1;
  for (const auto &term : extent.terms)
    size += std::abs(term.factor) * (plan.tiles[term.dim] - 1);
  return size;
}

/// Whether there is more than one buffer: for what is left of a reduction, or
/// for the tile at an end of it.
bool TileCost::hasParts(const TilePlan &plan, size_t buffer) const {
  if (problem.buffers[buffer].traffic == Traffic::Store)
    return false;
  for (unsigned dim = 0; dim < problem.dims.size(); ++dim)
    if (problem.dims[dim].reduction && dependsOn(buffer, dim) &&
        (problem.dims[dim].extent % plan.tiles[dim] != 0 ||
         isApart(plan, buffer, dim)))
      return true;
  return false;
}

/// Whether the tile at an end of a reduction is loaded into a place of its own.
bool TileCost::isApart(const TilePlan &plan, size_t buffer,
                       unsigned dim) const {
  return problem.dims[dim].rotated &&
         problem.buffers[buffer].traffic == Traffic::Load &&
         problem.dims[dim].extent / plan.tiles[dim] > 1;
}

/// The tiles for which a buffer exists.
std::vector<TilePlan> TileCost::parts(const TilePlan &plan,
                                      size_t buffer) const {
  std::vector<TilePlan> result{plan};
  for (unsigned dim = 0; dim < problem.dims.size(); ++dim) {
    int64_t rest = problem.dims[dim].extent % plan.tiles[dim];
    if (problem.buffers[buffer].traffic == Traffic::Store ||
        !problem.dims[dim].reduction || !dependsOn(buffer, dim))
      continue;
    size_t count = result.size();
    for (size_t i = 0; i < count; ++i) {
      if (isApart(plan, buffer, dim))
        result.push_back(result[i]);
      if (rest == 0)
        continue;
      result.push_back(result[i]);
      result.back().tiles[dim] = rest;
    }
  }
  return result;
}

/// Copies of the buffer: one if a core fills it only once.
unsigned TileCost::slots(const TilePlan &plan, size_t buffer) const {
  bool isLoaded = problem.buffers[buffer].traffic == Traffic::Load;
  double fills = 1;
  if (isLoaded)
    fills = moves(plan, buffer);
  else
    for (unsigned dim = 0; dim < problem.dims.size(); ++dim)
      if (!problem.dims[dim].reduction)
        fills *= double(tripsOfCore(plan, dim));
  if (fills <= 1)
    return 1;
  if (problem.buffers[buffer].memory == Memory::Acc)
    return plan.accDepth;
  return isPanel(plan, buffer) ? plan.panelDepth : plan.depth;
}

bool TileCost::isPanel(const TilePlan &plan, size_t buffer) const {
  if (problem.buffers[buffer].traffic != Traffic::Load)
    return false;
  bool isInside = false; // Of a loop that does not change it.
  for (unsigned dim : plan.order)
    if (plan.isTiled(problem, dim)) {
      if (dependsOn(buffer, dim))
        isInside = false;
      else if (!problem.dims[dim].reduction)
        isInside = true;
    }
  return isInside;
}

uint64_t TileCost::copyBytes(const TilePlan &plan, size_t index) const {
  const TileProblem::Buffer &buffer = problem.buffers[index];
  uint64_t bytes = 0;
  auto add = [&](const TilePlan &part) {
    uint64_t size = buffer.elementBytes, rows = 1;
    for (const TileProblem::Extent &extent : buffer.extents) {
      uint64_t count = uint64_t(tileExtent(part, extent));
      size *= count;
      if (&extent != &buffer.extents.back())
        rows *= count;
    }
    if (buffer.streams && rows > 1)
      size = rows * target.rowPitch(size / rows, buffer.elementBytes);
    bytes += target.allocatedBytes(size);
  };
  if (hasParts(plan, index))
    for (const TilePlan &part : parts(plan, index))
      add(part);
  else
    add(plan);
  return bytes;
}

void TileCost::countBytes(TilePlan &plan) const {
  plan.spmBytes = plan.accBytes = 0;
  for (size_t i = 0; i < problem.buffers.size(); ++i)
    (problem.buffers[i].memory == Memory::Spm ? plan.spmBytes
                                              : plan.accBytes) +=
        copyBytes(plan, i) * slots(plan, i);
}

//===----------------------------------------------------------------------===//
// Cycles
//===----------------------------------------------------------------------===//

/// How often the busiest core moves the buffer: once per iteration of the loops
/// down to the innermost one that changes it, even if that runs once only.
double TileCost::moves(const TilePlan &plan, size_t buffer) const {
  double count = 1, sinceChange = 1;
  for (unsigned dim : plan.order) {
    sinceChange *= double(tripsOfCore(plan, dim));
    if (plan.isTiled(problem, dim) && dependsOn(buffer, dim)) {
      count *= sinceChange;
      sinceChange = 1;
    }
  }
  return count;
}

TargetModel::Transfer TileCost::transfer(const TilePlan &plan,
                                         size_t buffer) const {
  const auto &extents = problem.buffers[buffer].extents;
  uint64_t rows = 1, run = problem.buffers[buffer].elementBytes;
  // Cores that want other parts of the same rows; bytes between rows.
  uint64_t beside = 1, stride = 0, inner = run;
  bool contiguous = true;
  for (size_t i = extents.size(); i-- > 0;) {
    // What lies in the border is not moved.
    uint64_t size =
        uint64_t(std::min(tileExtent(plan, extents[i]), extents[i].whole));
    if (contiguous)
      for (const auto &term : extents[i].terms) {
        uint64_t cores =
            uint64_t(std::min(plan.grid[term.dim], trips(plan, term.dim)));
        // The last tile lies over a part of the one before; if rows start at
        // the same memory channels, those there serve two cores.
        if (problem.dims[term.dim].extent % plan.tiles[term.dim] != 0)
          cores = (cores + 1) / 2;
        beside *= cores;
      }
    (contiguous ? run : rows) *= size;
    if (!contiguous && stride == 0 && size > 1)
      stride = inner;
    inner *= uint64_t(extents[i].whole);
    contiguous = contiguous && int64_t(size) == extents[i].whole;
  }
  return {rows, run, stride, beside, problem.buffers[buffer].shared};
}

NetworkLoad::Share TileCost::share(const TilePlan &plan, size_t buffer) const {
  bool shared = problem.buffers[buffer].shared;
  const auto &extents = problem.buffers[buffer].extents;
  uint64_t run = problem.buffers[buffer].elementBytes;
  for (size_t i = extents.size(); i-- > 0;) {
    int64_t size = std::min(tileExtent(plan, extents[i]), extents[i].whole);
    if (size == extents[i].whole) {
      run *= uint64_t(size);
      continue;
    }
    // The dimension along which memory holds parts of tiles side by side.
    uint64_t pitch = run * uint64_t(extents[i].whole);
    run *= uint64_t(size);
    NetworkLoad::Share share{pitch, run, std::max<uint64_t>(1, pitch / run),
                             1,     1,   shared};
    for (const auto &term : extents[i].terms) {
      if (plan.grid[term.dim] == 1)
        continue;
      share.count = uint32_t(plan.grid[term.dim]);
      // Cores count through the grid, the innermost loop fastest.
      bool inside = false;
      for (unsigned dim : plan.order) {
        if (inside)
          share.divisor *= uint32_t(plan.grid[dim]);
        inside |= dim == term.dim;
      }
      break;
    }
    return share;
  }
  return {run, run, 1, 1, 1, shared};
}

NetworkLoad::Group TileCost::group(const TilePlan &plan, size_t buffer) const {
  NetworkLoad::Group best;
  if (problem.buffers[buffer].traffic != Traffic::Load)
    return best;
  for (const TileProblem::Extent &extent : problem.buffers[buffer].extents)
    if (tileExtent(plan, extent) <= extent.border)
      return best;
  // The loads are inside of the loops down to the innermost one that changes
  // them; all of these must run equally often on all cores.
  uint32_t cores = 1;
  bool isInside = true;
  for (size_t i = plan.order.size(); i-- > 0;) {
    unsigned dim = plan.order[i];
    isInside &= !(plan.isTiled(problem, dim) && dependsOn(buffer, dim));
    cores *= uint32_t(plan.grid[dim]);
    if (!isInside && plan.grid[dim] > 1 &&
        trips(plan, dim) % plan.grid[dim] != 0)
      return best;
  }
  uint32_t columns = target.columns(cores), depth = slots(plan, buffer);
  // Neighbours along loops that the load does not depend on.
  uint32_t outer = cores;
  for (size_t first = 0; first < plan.order.size(); ++first) {
    if (plan.grid[plan.order[first]] == 1)
      continue;
    uint32_t size = 1, stride = outer;
    for (size_t last = first; last < plan.order.size(); ++last) {
      unsigned dim = plan.order[last];
      auto count = uint32_t(plan.grid[dim]);
      if (count == 1)
        continue;
      if (dependsOn(buffer, dim))
        break;
      size *= count;
      stride /= count;
      std::optional<int64_t> apart =
          coreStride(size, stride, cores, plan.interleave);
      bool isRectangle =
          apart &&
          (*apart == columns ||
           (*apart == 1 && (columns % size == 0 || size % columns == 0)));
      if (size >= depth && size > best.size && isRectangle)
        best = {size, uint32_t(*apart)};
    }
    outer /= uint32_t(plan.grid[plan.order[first]]);
  }
  return best;
}

double TileCost::networkCycles(TilePlan &plan) const {
  if (!plan.multicast)
    plan.interleave = 1;
  if (!network.hasLinks())
    return 0;
  // So much of a link's time carries something when those who wait for it
  // stand in few and short queues. A multicast holds its place until the last
  // of its branches is free.
  const double reachable = plan.multicast ? 0.6 : 0.85;
  // Those without work are part of the rectangle too.
  uint32_t cores = 1;
  for (int64_t count : plan.grid)
    cores *= uint32_t(count);
  std::optional<double> least;
  // Groups were made for one interleaving.
  uint32_t first = plan.multicast ? uint32_t(plan.interleave) : 1;
  uint32_t last = plan.multicast ? first : 4;
  for (uint32_t interleave = first;
       interleave <= last && cores % interleave == 0; interleave *= 2) {
    std::vector<double> links;
    for (size_t i = 0; i < problem.buffers.size(); ++i) {
      if (problem.buffers[i].traffic == Traffic::None)
        continue;
      double bursts = target.bursts(transfer(plan, i)) * moves(plan, i);
      const std::vector<double> &flits = network.linkFlits(
          share(plan, i), cores, interleave, chosenGroup(plan, i));
      links.resize(flits.size());
      for (size_t link = 0; link < flits.size(); ++link)
        links[link] += bursts * flits[link];
    }
    double busiest =
        links.empty() ? 0 : *std::max_element(links.begin(), links.end());
    if (!least || busiest < *least * 0.99) {
      least = busiest;
      plan.interleave = interleave;
    }
  }
  const Architecture &arch = target.architecture();
  return *least / reachable * arch.clockGhz / arch.noc.clockGhz;
}

uint64_t TileCost::product(const TilePlan &plan,
                           const std::vector<unsigned> &dims) const {
  uint64_t result = 1;
  for (unsigned dim : dims)
    result *= uint64_t(plan.tiles[dim]);
  return result;
}

std::optional<unsigned> TileCost::loopInPieces(const TilePlan &plan) const {
  const TileProblem::Work *matrix = nullptr;
  for (const TileProblem::Work &step : problem.work) {
    if (step.matrix && matrix)
      return std::nullopt;
    if (step.matrix)
      matrix = &step;
  }
  std::optional<unsigned> k;
  for (unsigned dim : matrix ? matrix->k : std::vector<unsigned>())
    if (problem.dims[dim].extent > 1) {
      if (k || plan.isTiled(problem, dim))
        return std::nullopt;
      k = dim;
    }
  if (!k || kPieces(problem.dims[*k].extent, target.blockRows(matrix->format))
                    .size() == 1)
    return std::nullopt;
  bool hasPanel = false;
  uint64_t changing = 0; // One copy of what the loop beside a panel changes.
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    if (dependsOn(i, *k)) {
      hasPanel |= isPanel(plan, i);
      if (!isPanel(plan, i))
        changing += copyBytes(plan, i);
    }
    for (const TileProblem::Extent &extent : problem.buffers[i].extents)
      for (const TileProblem::Extent::Term &term : extent.terms)
        if (term.dim == *k && (extent.terms.size() > 1 || term.factor != 1 ||
                               problem.buffers[i].extents.front().border != 0))
          return std::nullopt;
  }
  double tiles = 1;
  for (unsigned dim = 0; dim < problem.dims.size(); ++dim)
    tiles *= double(tripsOfCore(plan, dim));
  if (!hasPanel && tiles > 1)
    return std::nullopt;
  // The first iteration has its own, or the loop one of three less.
  if (hasPanel && plan.depth < 3 &&
      plan.spmBytes + changing > target.spmBytes())
    return std::nullopt;
  // The first iteration beside a panel has an accumulator of its own.
  if (hasPanel &&
      plan.accBytes + plan.accBytes / plan.accDepth > target.accBytes()) {
    int64_t trips = 1;
    for (unsigned dim : plan.order)
      if (plan.isTiled(problem, dim) && !problem.dims[dim].reduction)
        trips = tripsOfCore(plan, dim);
    if (plan.accDepth == 1 || trips > fewIterations)
      return std::nullopt;
  }
  return k;
}

TileCost::Pieces TileCost::piecesOf(const TilePlan &plan, size_t buffer,
                                    unsigned sharers) const {
  double whole = target.transferCycles(transfer(plan, buffer), sharers);
  std::optional<unsigned> k =
      plan.pieces ? loopInPieces(plan) : std::optional<unsigned>();
  if (!k || problem.buffers[buffer].traffic != Traffic::Load ||
      !dependsOn(buffer, *k))
    return {whole, whole, whole};
  auto matrix =
      std::find_if(problem.work.begin(), problem.work.end(),
                   [](const TileProblem::Work &step) { return step.matrix; });
  Pieces result{0, 0, whole};
  for (int64_t size :
       kPieces(problem.dims[*k].extent, target.blockRows(matrix->format))) {
    TilePlan piece = plan;
    piece.tiles[*k] = size;
    double cycles = target.transferCycles(transfer(piece, buffer), sharers);
    if (result.all == 0)
      result.first = cycles;
    result.all += cycles;
  }
  return result;
}

double TileCost::cycles(TilePlan &plan) const {
  double outputTiles = 1, allTiles = 1;
  unsigned cores = 1;
  for (unsigned dim = 0; dim < problem.dims.size(); ++dim) {
    allTiles *= double(tripsOfCore(plan, dim));
    if (!problem.dims[dim].reduction)
      outputTiles *= double(tripsOfCore(plan, dim));
    cores *= unsigned(std::min<int64_t>(plan.grid[dim], trips(plan, dim)));
  }
  double load = 0, store = 0, firstLoad = 0, lastStore = 0, refills = 0;
  double firstTile = 0; ///< Loads of the first tile, whole.
  bool inPieces = false;
  double moved[2] = {0, 0}; // By DRAM, by the shared SRAM.
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    Traffic traffic = problem.buffers[i].traffic;
    if (traffic == Traffic::None)
      continue;
    unsigned sharers = std::max(1u, cores / chosenGroup(plan, i).size);
    Pieces once = piecesOf(plan, i, sharers);
    inPieces |= once.first < once.whole;
    double count = moves(plan, i);
    // A panel comes in pieces each time, what changes beside it only at first.
    double all = isPanel(plan, i) ? once.all * count
                                  : once.all + once.whole * (count - 1);
    (traffic == Traffic::Load ? load : store) += all;
    (traffic == Traffic::Load ? firstLoad : lastStore) += once.first;
    if (traffic == Traffic::Load)
      firstTile += once.all;
    moved[problem.buffers[i].shared] += all - once.all;
    if (plan.panelDepth < 2 && isPanel(plan, i) && !plan.pieces)
      refills += (count - 1) * (once.whole + target.transferLatency());
  }
  double matrix = 0, vector = 0, lastMatrix = 0, lastVector = 0;
  for (const TileProblem::Work &step : problem.work) {
    bool perReductionTile = false;
    for (const std::vector<unsigned> *list : {&step.k, &step.points})
      for (unsigned dim : *list)
        perReductionTile |= problem.dims[dim].reduction;
    double count = perReductionTile ? allTiles : outputTiles;
    double once =
        step.matrix
            ? target.matrixCycles(step.format, product(plan, step.m),
                                  product(plan, step.k), product(plan, step.n))
            : target.vectorCycles(product(plan, step.points), step.aluOps,
                                  step.sfuOps, step.inputs);
    (step.matrix ? matrix : vector) += count * once;
    (step.matrix ? lastMatrix : lastVector) += once;
    if (step.matrix) // Through the array, after the last of them.
      lastMatrix += target.matrixLatency(step.format);
  }
  double latency = target.transferLatency();
  if (plan.depth < 2) // Nothing overlaps.
    return load + matrix + vector + store +
           allTiles * (latency + target.tileOverhead()) + latency;
  // Every engine is busy for its part; a buffer comes back to the load engine
  // when it was filled, after the latency, and used.
  // Of a shared load only after a message to the core that does it.
  double turn = latency + load / allTiles + (matrix + vector) / allTiles +
                (plan.multicast ? target.messageLatency() : 0);
  double outputTurn = (matrix + vector + store) / outputTiles + latency;
  // An accumulator comes back to the matrix engine when it was read.
  bool isAccStored = false;
  for (const TileProblem::Buffer &buffer : problem.buffers)
    isAccStored |=
        buffer.memory == Memory::Acc && buffer.traffic == Traffic::Store;
  double accTurn = (matrix + (isAccStored ? store : vector)) / outputTiles +
                   (isAccStored ? latency : 0) + lastMatrix -
                   (matrix > 0 ? matrix / allTiles : 0);
  double inNetwork = networkCycles(plan);
  double pipeline = std::max(
      {matrix, vector, inNetwork, load - firstLoad + lastMatrix,
       store - lastStore, moved[0], moved[1], allTiles * target.tileOverhead(),
       (allTiles - 1) * turn / plan.depth + lastMatrix,
       (outputTiles - 1) * outputTurn / plan.depth,
       matrix > 0 ? (outputTiles - 1) * accTurn / plan.accDepth : 0});
  double drain = lastStore + latency + (matrix > 0 ? lastVector : 0);
  if (matrix > 0 && pipeline == matrix)
    drain += lastMatrix - matrix / allTiles;
  double start = latency + (plan.multicast ? target.messageLatency() : 0);
  // Transfers come in bursts that last a part of a tile; while one engine's
  // fill the way to memory, what the others need waits. The closer both are to
  // their limits, the more often that shows: about this much was measured.
  constexpr double interference = 0.15;
  double less = std::min(matrix + vector, load + store);
  if (pipeline > 0)
    pipeline += interference * less * std::min(1.0, less / pipeline);
  // A panel comes with the first tile, whose work it may outlast: by its share
  // of what all transfers take.
  double bubble = 0;
  if (inPieces && pipeline > matrix * 0.5) {
    double slow = std::max(1.0, inNetwork / (load + store));
    bubble = std::max(0.0, firstTile * slow - firstLoad - lastMatrix);
    bubble = std::min(bubble, std::max(0.0, matrix + bubble - pipeline));
  }
  return start + firstLoad + pipeline + bubble + refills + drain;
}
