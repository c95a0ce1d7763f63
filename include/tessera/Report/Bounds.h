//===- Bounds.h - Floors of a run -------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How few cycles a model could take on an architecture, from its operators and
// the architecture file alone: nothing here knows how the compiler maps it.
// docs/report.md gives the formulas with an example.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_REPORT_BOUNDS_H
#define TESSERA_REPORT_BOUNDS_H

#include "tessera/Arch/Architecture.h"
#include "tessera/Object/Object.h"
#include "tessera/Support/Status.h"
#include <cstdint>
#include <span>
#include <string_view>

namespace tessera::report {

enum class Limiter : uint8_t { None, Matrix, Vector, MatrixAndVector, Dram };
/// "none", "matrix", "vector", "matrix+vector", "dram".
std::string_view limiterName(Limiter limiter);

/// The terms of one floor, in cycles of the whole device.
struct Floor {
  double matrix = 0; ///< What only the matrix engines can do.
  double vector = 0; ///< What only the vector engines can do.
  double either = 0; ///< Σ of the cheaper engine's cycles for the other work.
  double dram = 0;   ///< Compulsory traffic at the DRAM's ceiling.

  /// max(matrix, vector, (matrix + vector + either) / 2, dram).
  double cycles() const;
  /// The term that is the largest; the first of equal ones.
  Limiter limiter() const;
};

struct Bounds {
  Floor bound;    ///< With the matrix engine's blocks.
  Floor roofline; ///< With multiply-accumulates at peak in their place.
  /// Σ over the operators of each one's own bound, without memory: no floor,
  /// as operators may overlap.
  double layerwise = 0;
  /// The longest chain of operators that need each other's results, each with
  /// its own bound and the latency of its engine's pipeline: no floor either,
  /// as an operator may begin with parts of its producers' results.
  double criticalPath = 0;
};

/// Cycles of one operator on one matrix engine: its blocks, at least the time
/// to load or to stream each. `format` is one that the engine has.
double matrixBlockCycles(const OperatorRecord &op, const MatrixConfig &matrix);
/// Cycles of one operator on one vector engine, unrounded.
double vectorWorkCycles(const OperatorRecord &op, const VectorConfig &vector);
/// Bytes per core cycle that the DRAM moves at best: its peak less refresh.
double dramCeilingBytesPerCycle(const Architecture &arch);

/// FailedPrecondition if an operator needs the matrix engine in a format that
/// the architecture's hasn't got.
Result<Bounds> computeBounds(std::span<const OperatorRecord> operators,
                             uint64_t compulsoryBytes,
                             const Architecture &arch);

} // namespace tessera::report

#endif // TESSERA_REPORT_BOUNDS_H
