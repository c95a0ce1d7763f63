//===- TileCost.h - What a plan needs and costs ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Closed forms of docs/timing.md for the kernel that a plan becomes. Free of
// IR.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRANSFORMS_TILECOST_H
#define TESSERA_LIB_TRANSFORMS_TILECOST_H

#include "NetworkLoad.h"
#include "TilePlanner.h"

namespace tessera {

/// Computes bytes and cycles of plans of one problem.
class TileCost {
public:
  TileCost(const TileProblem &problem, const TargetModel &target);

  /// Fills in what tiles, order, grid and depth of `plan` lead to.
  void evaluate(TilePlan &plan) const;
  /// The same of a plan that says whether it multicasts and how it interleaves.
  void evaluateAsGiven(TilePlan &plan) const;

  /// Whether memories and loops suffice.
  bool fits(const TilePlan &plan) const;
  /// Whether the hardware can nest as many loops.
  bool nests(const TilePlan &plan) const;
  /// Whether descriptors have enough dimensions for each operand.
  bool describes(const TilePlan &plan) const;
  /// How far a plan is beyond the capacities; 1 if it fits.
  double excess(const TilePlan &plan) const;

private:
  /// The tiles along `dim`, of all cores or of the busiest one.
  int64_t trips(const TilePlan &plan, unsigned dim) const;
  int64_t tripsOfCore(const TilePlan &plan, unsigned dim) const;
  int64_t tileExtent(const TilePlan &plan,
                     const TileProblem::Extent &extent) const;
  bool dependsOn(size_t buffer, unsigned dim) const {
    return dependences[buffer] >> dim & 1;
  }
  bool hasParts(const TilePlan &plan, size_t buffer) const;
  bool isApart(const TilePlan &plan, size_t buffer, unsigned dim) const;
  std::vector<TilePlan> parts(const TilePlan &plan, size_t buffer) const;
  /// Whether it stays while a loop over other tiles runs.
  bool isPanel(const TilePlan &plan, size_t buffer) const;
  unsigned slots(const TilePlan &plan, size_t buffer) const;
  double moves(const TilePlan &plan, size_t buffer) const;
  /// How memory holds a tile of the buffer.
  TargetModel::Transfer transfer(const TilePlan &plan, size_t buffer) const;
  NetworkLoad::Share share(const TilePlan &plan, size_t buffer) const;
  /// The cores that want the same tiles of a buffer at the same time, as
  /// tessera-split-cores finds them.
  NetworkLoad::Group group(const TilePlan &plan, size_t buffer) const;
  /// The same with the plan's choice.
  NetworkLoad::Group chosenGroup(const TilePlan &plan, size_t buffer) const {
    return plan.multicast ? group(plan, buffer) : NetworkLoad::Group();
  }
  /// Sets the groups of a plan that multicasts, for its interleaving, and
  /// whether there are any.
  bool findGroups(TilePlan &plan) const;
  /// The loop of the sum along which tessera-split-loads cuts loads, if it
  /// does.
  std::optional<unsigned> loopInPieces(const TilePlan &plan) const;
  /// Cycles of a transfer: of what the first products need, of all pieces one
  /// after the other, and of the whole at once. All the same without pieces.
  struct Pieces {
    double first, all, whole;
  };
  Pieces piecesOf(const TilePlan &plan, size_t buffer, unsigned sharers) const;
  /// What the busiest link between routers takes, with the best interleaving,
  /// which is set.
  double networkCycles(TilePlan &plan) const;
  uint64_t product(const TilePlan &plan,
                   const std::vector<unsigned> &dims) const;
  /// What one copy of a buffer takes.
  uint64_t copyBytes(const TilePlan &plan, size_t buffer) const;
  void countBytes(TilePlan &plan) const;
  double cycles(TilePlan &plan) const;

  const TileProblem &problem;
  const TargetModel &target;
  mutable NetworkLoad network;       ///< Remembers what it computed.
  std::vector<uint64_t> dependences; ///< Of each buffer: a bit for each loop.
};

} // namespace tessera

#endif // TESSERA_LIB_TRANSFORMS_TILECOST_H
