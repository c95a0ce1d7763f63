//===- PlanText.cpp - Tile plans in words ---------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanText.h"
#include "tessera/Support/Hash.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace tessera;

static bool hasAccumulators(const TileProblem &problem) {
  return std::any_of(problem.buffers.begin(), problem.buffers.end(),
                     [](const TileProblem::Buffer &buffer) {
                       return buffer.memory == TileProblem::Memory::Acc;
                     });
}

/// What people call the loops: m, n, k of the contraction, numbered if there
/// are several of a kind; others by their number.
static std::vector<std::string> loopNames(const TileProblem &problem) {
  std::vector<std::string> names;
  for (unsigned dim = 0; dim < problem.dims.size(); ++dim)
    names.push_back(fmt::format("d{}", dim));
  for (const TileProblem::Work &work : problem.work) {
    if (!work.matrix)
      continue;
    auto name = [&](const std::vector<unsigned> &dims, const char *letter) {
      unsigned count = 0;
      bool several = std::count_if(dims.begin(), dims.end(), [&](unsigned dim) {
                       return problem.dims[dim].extent > 1;
                     }) > 1;
      for (unsigned dim : dims)
        if (problem.dims[dim].extent > 1)
          names[dim] = several ? fmt::format("{}{}", letter, count++) : letter;
    };
    name(work.m, "m");
    name(work.n, "n");
    name(work.k, "k");
    break;
  }
  return names;
}

std::string tessera::describePlan(const TileProblem &problem,
                                  const TilePlan &plan) {
  std::vector<std::string> names = loopNames(problem), tiles, cores;
  for (unsigned dim : plan.order) {
    int64_t extent = problem.dims[dim].extent;
    if (extent == 1)
      continue;
    bool tiled = plan.isTiled(problem, dim);
    tiles.push_back(
        tiled ? fmt::format("{} {}/{}", names[dim], plan.tiles[dim], extent)
              : fmt::format("{} {}", names[dim], extent));
    if (plan.grid[dim] > 1)
      cores.push_back(fmt::format("{} along {}", plan.grid[dim], names[dim]));
  }
  // The loops, from the outermost one to the innermost one.
  std::string text = fmt::format("{}", fmt::join(tiles, ", "));
  if (!cores.empty())
    text += fmt::format("; cores {}", fmt::join(cores, ", "));
  if (plan.interleave > 1)
    text += fmt::format(" in steps of {}", plan.interleave);
  for (size_t i = 0; plan.multicast && i < plan.groups.size(); ++i)
    if (plan.groups[i] > 1)
      text += fmt::format("; {} multicast to {}", problem.buffers[i].name,
                          plan.groups[i]);
  if (plan.pieces)
    text += "; first tiles in pieces";
  text += fmt::format("; {} buffer{}", plan.depth, plan.depth == 1 ? "" : "s");
  if (plan.panelDepth < plan.depth)
    text += fmt::format(", {} for panels", plan.panelDepth);
  if (hasAccumulators(problem))
    text += fmt::format(", {} accumulator{}", plan.accDepth,
                        plan.accDepth == 1 ? "" : "s");
  return text;
}

namespace {

/// Reads the words of a plan one after the other.
class PlanReader {
public:
  PlanReader(const TileProblem &problem, std::string_view text)
      : problem(problem), names(loopNames(problem)), rest(text) {}

  Result<TilePlan> read();

private:
  Status error(std::string what) const {
    return Status(StatusCode::InvalidArgument, std::move(what));
  }
  /// Takes `word` away if the text goes on with it.
  bool take(std::string_view word) {
    if (!rest.starts_with(word))
      return false;
    rest.remove_prefix(word.size());
    return true;
  }
  Result<int64_t> number() {
    int64_t value = 0;
    auto [end, failure] =
        std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (failure != std::errc() || value < 1)
      return error(fmt::format("a number from 1 on is expected at '{}'", rest));
    rest.remove_prefix(size_t(end - rest.data()));
    return value;
  }
  /// The loop of the name that comes next.
  Result<unsigned> loop() {
    std::string_view name = rest.substr(0, rest.find_first_of(" ,;"));
    rest.remove_prefix(name.size());
    for (unsigned dim = 0; dim < names.size(); ++dim)
      if (names[dim] == name && problem.dims[dim].extent > 1)
        return dim;
    std::vector<std::string> known;
    for (unsigned dim = 0; dim < names.size(); ++dim)
      if (problem.dims[dim].extent > 1)
        known.push_back(names[dim]);
    return error(fmt::format("'{}' is none of the loops {}", name,
                             fmt::join(known, ", ")));
  }
  Status readTile(TilePlan &plan);
  Status readCores(TilePlan &plan);
  Status readCopies(TilePlan &plan);
  Status readRest(TilePlan &plan);

  const TileProblem &problem;
  std::vector<std::string> names;
  std::string_view rest;
};

} // namespace

/// "n 512/2048" or, of a loop that stays whole, "k 2048".
Status PlanReader::readTile(TilePlan &plan) {
  TESSERA_ASSIGN_OR_RETURN(unsigned dim, loop());
  if (std::find(plan.order.begin(), plan.order.end(), dim) != plan.order.end())
    return error(fmt::format("loop {} comes twice", names[dim]));
  if (!take(" "))
    return error(fmt::format("a tile of {} is expected", names[dim]));
  TESSERA_ASSIGN_OR_RETURN(int64_t tile, number());
  int64_t extent = tile;
  if (take("/")) {
    TESSERA_ASSIGN_OR_RETURN(extent, number());
  }
  if (extent != problem.dims[dim].extent)
    return error(fmt::format("loop {} has {} iterations, not {}", names[dim],
                             problem.dims[dim].extent, extent));
  plan.tiles[dim] = tile;
  plan.order.push_back(dim);
  return Status::success();
}

/// "cores 4 along n, 4 along m in steps of 2", behind "cores ".
Status PlanReader::readCores(TilePlan &plan) {
  do {
    TESSERA_ASSIGN_OR_RETURN(int64_t count, number());
    if (!take(" along "))
      return error(fmt::format("' along ' is expected at '{}'", rest));
    TESSERA_ASSIGN_OR_RETURN(unsigned dim, loop());
    plan.grid[dim] = count;
  } while (take(", "));
  if (take(" in steps of ")) {
    TESSERA_ASSIGN_OR_RETURN(plan.interleave, number());
  }
  return Status::success();
}

/// "3 buffers, 2 for panels, 1 accumulator".
Status PlanReader::readCopies(TilePlan &plan) {
  TESSERA_ASSIGN_OR_RETURN(int64_t copies, number());
  if (!take(" buffers") && !take(" buffer"))
    return error(fmt::format("' buffers' is expected at '{}'", rest));
  plan.depth = plan.panelDepth = unsigned(copies);
  while (take(", ")) {
    TESSERA_ASSIGN_OR_RETURN(copies, number());
    if (take(" for panels"))
      plan.panelDepth = unsigned(copies);
    else if (take(" accumulators") || take(" accumulator"))
      plan.accDepth = unsigned(copies);
    else
      return error(fmt::format(
          "' for panels' or ' accumulators' is expected at '{}'", rest));
  }
  return Status::success();
}

/// What comes behind the tiles.
Status PlanReader::readRest(TilePlan &plan) {
  while (take("; ")) {
    if (take("cores ")) {
      TESSERA_RETURN_IF_ERROR(readCores(plan));
      continue;
    }
    if (take("first tiles in pieces")) {
      plan.pieces = true;
      continue;
    }
    // Which operands, and to how many, follows from the rest of the plan.
    std::string_view clause = rest.substr(0, rest.find(';'));
    if (clause.find(" multicast to ") != std::string_view::npos) {
      rest.remove_prefix(clause.size());
      plan.multicast = true;
      continue;
    }
    TESSERA_RETURN_IF_ERROR(readCopies(plan));
    break;
  }
  if (!rest.empty())
    return error(fmt::format("'{}' is left over", rest));
  return Status::success();
}

Result<TilePlan> PlanReader::read() {
  TilePlan plan;
  for (const TileProblem::Dim &dim : problem.dims)
    plan.tiles.push_back(dim.extent);
  plan.grid.assign(problem.dims.size(), 1);
  size_t expected = size_t(std::count_if(
      problem.dims.begin(), problem.dims.end(),
      [](const TileProblem::Dim &dim) { return dim.extent > 1; }));
  for (size_t i = 0; i < expected; ++i) {
    if (i != 0 && !take(", "))
      return error(fmt::format("{} loops are expected", expected));
    TESSERA_RETURN_IF_ERROR(readTile(plan));
  }
  TESSERA_RETURN_IF_ERROR(readRest(plan));
  // Loops of one iteration are not said; sums come after all others.
  std::vector<unsigned> order;
  for (bool reductions : {false, true}) {
    for (unsigned dim = 0; dim < problem.dims.size(); ++dim)
      if (problem.dims[dim].extent == 1 &&
          problem.dims[dim].reduction == reductions)
        order.push_back(dim);
    for (unsigned dim : plan.order)
      if (problem.dims[dim].reduction == reductions)
        order.push_back(dim);
  }
  plan.order = std::move(order);
  return plan;
}

Result<TilePlan> tessera::parsePlan(const TileProblem &problem,
                                    std::string_view text) {
  return PlanReader(problem, text).read();
}

uint64_t tessera::hashProblems(const std::vector<const TileProblem *> &problems,
                               const Architecture &arch) {
  std::string text =
      fmt::format("{:x} {:x}", arch.isaHash(), arch.timingHash());
  for (const TileProblem *problem : problems) {
    for (const TileProblem::Dim &dim : problem->dims)
      text +=
          fmt::format("d{},{},{}{}{};", dim.extent, int(dim.kind),
                      int(dim.reduction), int(dim.divides), int(dim.rotated));
    for (const TileProblem::Buffer &buffer : problem->buffers) {
      text += fmt::format("b{},{},{},{}{}", buffer.elementBytes,
                          int(buffer.memory), int(buffer.traffic),
                          int(buffer.streams), int(buffer.shared));
      for (const TileProblem::Extent &extent : buffer.extents) {
        text += fmt::format("e{},{}", extent.whole, extent.border);
        for (const TileProblem::Extent::Term &term : extent.terms)
          text += fmt::format("t{},{}", term.dim, term.factor);
      }
      text += ";";
    }
    for (const TileProblem::Work &work : problem->work)
      text += fmt::format("w{},{},{},{},{},{},{},{},{};", int(work.matrix),
                          int(work.format), fmt::join(work.m, " "),
                          fmt::join(work.n, " "), fmt::join(work.k, " "),
                          fmt::join(work.points, " "), work.aluOps, work.sfuOps,
                          work.inputs);
    text += "|";
  }
  return hashBytes(std::string_view(text));
}
