//===- Bounds.cpp - Floors of a run ---------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/Bounds.h"
#include <algorithm>
#include <cassert>
#include <fmt/format.h>

using namespace tessera;
using namespace tessera::report;

static uint64_t divideUp(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

std::string_view report::limiterName(Limiter limiter) {
  switch (limiter) {
  case Limiter::None:
    return "none";
  case Limiter::Matrix:
    return "matrix";
  case Limiter::Vector:
    return "vector";
  case Limiter::MatrixAndVector:
    return "matrix+vector";
  case Limiter::Dram:
    return "dram";
  }
  return "unknown";
}

double Floor::cycles() const {
  return std::max({matrix, vector, (matrix + vector + either) / 2, dram});
}

Limiter Floor::limiter() const {
  double largest = cycles();
  if (largest == 0)
    return Limiter::None;
  if (largest == matrix)
    return Limiter::Matrix;
  if (largest == vector)
    return Limiter::Vector;
  return largest == dram ? Limiter::Dram : Limiter::MatrixAndVector;
}

double report::matrixBlockCycles(const OperatorRecord &op,
                                 const MatrixConfig &matrix) {
  if (op.macs() == 0)
    return 0;
  auto found = matrix.macsScale.find(op.format);
  assert(found != matrix.macsScale.end() && "the engine lacks the format");
  double scale = found->second;
  // Rows of K that a block holds, cycles per streamed row, cycles to load a
  // block through the cheaper of its two sides.
  uint64_t rows = scale >= 1 ? uint64_t(scale * matrix.rows) : matrix.rows;
  double perRow = scale >= 1 ? 1 : 1 / scale;
  uint64_t load = std::min(matrix.rows, matrix.cols);
  if (scale < 1)
    load *= divideUp(bitWidth(op.format), 16);

  // Either operand can be the one that stays. Groups of a convolution may share
  // a block along its diagonal, each with a part of its rows and columns.
  uint64_t most = 1;
  if (op.kind == "conv")
    most = std::min({op.batch, rows, uint64_t(matrix.cols)});
  double best = 0;
  for (uint64_t packed = 1; packed <= most; ++packed) {
    double blocks = double(divideUp(op.batch, packed)) *
                    double(divideUp(op.k, rows / packed));
    uint64_t cols = matrix.cols / packed;
    double stayB = blocks * double(divideUp(op.n, cols)) *
                   std::max(perRow * double(op.m), double(load));
    double stayA = blocks * double(divideUp(op.m, cols)) *
                   std::max(perRow * double(op.n), double(load));
    double cycles = std::min(stayA, stayB);
    if (packed == 1 || cycles < best)
      best = cycles;
  }
  return best;
}

double report::vectorWorkCycles(const OperatorRecord &op,
                                const VectorConfig &vector) {
  double perPoint =
      std::max(double(op.aluOps) / vector.aluSlots,
               double(op.sfuOps) * vector.lanes / vector.sfuLanes);
  return double(op.elements) / vector.lanes * perPoint;
}

double report::dramCeilingBytesPerCycle(const Architecture &arch) {
  return arch.dramBytesPerCycle() * arch.dram.refreshFactor();
}

/// Adds an operator's cycles on all the device's engines to a floor.
static void addOperator(Floor &floor, const OperatorRecord &op, bool onMatrix,
                        double matrix, double vector) {
  if (!op.eitherEngine) {
    floor.matrix += matrix;
    floor.vector += vector;
  } else if (onMatrix) {
    floor.either += std::min(matrix, vector);
  } else {
    floor.vector += vector;
  }
}

/// Cycles from the last operand of an operator to its last result, beside its
/// work: through the array of the matrix engine, or the vector lanes.
static double pipelineLatency(const OperatorRecord &op, bool onMatrix,
                              const Architecture &arch) {
  double vector = arch.vector.latency;
  if (op.macs() == 0 || !onMatrix)
    return op.elements ? vector : 0;
  double matrix =
      double(arch.matrix.rows) + arch.matrix.cols - 2 + arch.matrix.fillLatency;
  return op.eitherEngine ? std::min(matrix, vector) : matrix;
}

Result<Bounds> report::computeBounds(std::span<const OperatorRecord> operators,
                                     uint64_t compulsoryBytes,
                                     const Architecture &arch) {
  Bounds bounds;
  double vectorEngines = arch.cores.count;
  double matrixEngines = double(arch.cores.count) * arch.matrix.count;
  double elements = double(arch.matrix.rows) * arch.matrix.cols;
  std::vector<double> finish; // Of each operator, if it starts at once.
  for (const OperatorRecord &op : operators) {
    auto format = arch.matrix.macsScale.find(op.format);
    bool onMatrix = format != arch.matrix.macsScale.end();
    if (op.macs() != 0 && !onMatrix && !op.eitherEngine)
      return Status(StatusCode::FailedPrecondition,
                    fmt::format("{}: the matrix engine of {} has no {}",
                                op.name, arch.name, formatName(op.format)));
    double blocks = 0, macs = 0;
    if (op.macs() != 0 && onMatrix) {
      blocks = matrixBlockCycles(op, arch.matrix) / matrixEngines;
      macs = double(op.macs()) / (format->second * elements) / matrixEngines;
    }
    double vector = vectorWorkCycles(op, arch.vector) / vectorEngines;
    addOperator(bounds.bound, op, onMatrix, blocks, vector);
    addOperator(bounds.roofline, op, onMatrix, macs, vector);
    Floor own;
    addOperator(own, op, onMatrix, blocks, vector);
    bounds.layerwise += own.cycles();
    double start = 0;
    for (uint32_t producer : op.producers)
      if (producer < finish.size())
        start = std::max(start, finish[producer]);
    finish.push_back(start + own.cycles() +
                     pipelineLatency(op, onMatrix, arch));
    bounds.criticalPath = std::max(bounds.criticalPath, finish.back());
  }
  bounds.bound.dram = double(compulsoryBytes) / dramCeilingBytesPerCycle(arch);
  bounds.roofline.dram = bounds.bound.dram;
  return bounds;
}
