//===- TickingModel.h - Engines cycle by cycle -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A second model of matrix and vector engine that knows no formula: it moves
// every beat through every processing element, and serves every word of every
// bank, one cycle at a time. Slow; the simulator's engines must agree with it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_SIM_TICKINGMODEL_H
#define TESSERA_TEST_UNIT_SIM_TICKINGMODEL_H

#include "SimFixture.h"

namespace tessera::sim::test {

/// One `mma`: where it accumulates, and when the engine can first see it.
struct MatrixJob {
  uint64_t visible = 0;
  NumericFormat format = NumericFormat::BF16;
  uint32_t m = 1, k = 1, n = 1;
  bool byColumn = false, accumulate = false;
  bool keepWeights = false; ///< Of one block, as its predecessor.
  uint32_t accBase = 0;     ///< Bytes; the accumulator is dense, row-major.
  /// Bytes in the scratchpad; [m, k], and [k, n] or [n, k], rows `pitch`
  /// elements apart (0: dense).
  uint64_t aBase = 0, bBase = 32768;
  uint32_t aPitch = 0, bPitch = 0;
  uint64_t rowOfA() const { return aPitch ? aPitch : k; }
  uint64_t rowOfB() const { return bPitch ? bPitch : byColumn ? k : n; }
};
/// When each is taken and when it completes.
std::vector<Span> tickMatrix(const Architecture &arch,
                             const std::vector<MatrixJob> &jobs);

/// A one-dimensional f32 operand.
struct VectorOperand {
  uint64_t base = 0;
  uint32_t stride = 1; ///< Elements.
};
struct VectorJob {
  uint64_t visible = 0;
  uint32_t elements = 1, aluOps = 0, sfuOps = 0;
  std::vector<VectorOperand> inputs, outputs;
};
std::vector<Span> tickVector(const Architecture &arch,
                             const std::vector<VectorJob> &jobs);

} // namespace tessera::sim::test

#endif // TESSERA_TEST_UNIT_SIM_TICKINGMODEL_H
