//===- PlanText.h - Tile plans in words -------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan as `--explain` prints it and as files of plans hold it
// (tessera/Transforms/PlanBook.h). Free of IR.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRANSFORMS_PLANTEXT_H
#define TESSERA_LIB_TRANSFORMS_PLANTEXT_H

#include "TilePlanner.h"
#include <string_view>

namespace tessera {

/// For each loop, from the outermost one to the innermost one, its tile and
/// extent (of a contraction: m, n, k), the cores that share loops, the operands
/// that are multicast, and the copies of buffers:
/// "n 512/2048, m 128/2048, k 2048; cores 4 along n, 4 along m; 2 buffers".
std::string describePlan(const TileProblem &problem, const TilePlan &plan);

/// The plan that describePlan() puts in these words, without bytes and cycles.
/// InvalidArgument, with what is wrong, if it is none of this problem.
Result<TilePlan> parsePlan(const TileProblem &problem, std::string_view text);

/// The same for every problem for which a plan means the same: loops, buffers
/// and work, not names. Of several that one kernel runs one after the other.
uint64_t hashProblems(const std::vector<const TileProblem *> &problems,
                      const Architecture &arch);

} // namespace tessera

#endif // TESSERA_LIB_TRANSFORMS_PLANTEXT_H
