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

#include "TickingDma.h"
#include <optional>

namespace tessera::sim::test {

/// How many random programs a test compares: a tenth where each takes ten
/// times as long.
constexpr uint64_t randomPrograms(uint64_t count) {
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return count / 10;
#else
  return count;
#endif
}

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
  bool isAcc = false;  ///< Else in the scratchpad.
};
/// An instruction that walks its operands side by side.
struct VectorJob {
  uint64_t visible = 0;
  uint32_t elements = 1, aluOps = 0, sfuOps = 0;
  std::vector<VectorOperand> inputs, outputs;
  /// Of one element, written beside the rest, and the cycles of its tree.
  std::optional<VectorOperand> result;
  uint32_t tree = 0;
  /// Of a gather, beside its indices: where each element is read.
  std::vector<uint64_t> gathered;
  /// Of a topk of dense f32 [rows, row]: values and places go to the outputs.
  struct Sort {
    uint32_t rows = 1, row = 1, k = 1;
  };
  std::optional<Sort> sorted;
  /// Of a transpose of f32 [rows, columns]; the only output is dense.
  std::optional<isa::Descriptor> transposed;
};
std::vector<Span> tickVector(const Architecture &arch,
                             const std::vector<VectorJob> &jobs);
/// All engines, whose accesses meet in the banks. Gathers and transposes are
/// for this alone.
struct CoreJobs {
  std::vector<MatrixJob> matrix;
  std::vector<VectorJob> vector;
  /// Loads from memory and copies; stores to the core's own scratchpad.
  std::vector<DmaJob> loads, stores;
  /// Of the matrix engines behind the first one.
  std::vector<std::vector<MatrixJob>> furtherMatrix = {};
};
struct CoreSpans {
  std::vector<Span> matrix, vector, loads, stores;
  std::vector<std::vector<Span>> furtherMatrix;
};
CoreSpans tickCore(const Architecture &arch, const CoreJobs &jobs);

/// The cycles that the engine is occupied, from start to the next start.
/// A transpose of f32 [matrices, rows, columns]; the destination is dense.
uint64_t tickTranspose(const Architecture &arch, const isa::Descriptor &src,
                       uint64_t destination);
/// A gather of rows of `rowElements` f32 from `table`.
uint64_t tickGather(const Architecture &arch, uint64_t table,
                    uint32_t rowElements, const std::vector<int32_t> &indices,
                    uint64_t destination);
/// A topk of dense rows that sorts in earnest: `best` receives the places.
uint64_t tickTopk(const Architecture &arch,
                  const std::vector<std::vector<float>> &rows, uint32_t k,
                  std::vector<std::vector<int32_t>> &best);

} // namespace tessera::sim::test

#endif // TESSERA_TEST_UNIT_SIM_TICKINGMODEL_H
