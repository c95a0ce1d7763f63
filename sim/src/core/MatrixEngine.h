//===- MatrixEngine.h - The matrix engine -----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A weight-stationary array. The timing rule (docs/timing.md, Matrix engine)
// fixes the start of every block of an mma when the mma is taken from the
// queue, so one mma costs three events whatever its size.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CORE_MATRIXENGINE_H
#define TESSERA_SIM_CORE_MATRIXENGINE_H

#include "core/InOrderEngine.h"

namespace tessera::sim {

/// What an `mma` leaves in the accumulators when it completes.
struct MatrixResults {
  isa::Descriptor acc;
  ByteInterval interval;
  std::vector<uint32_t> sums; ///< Empty with `--timing-only`.
  Cycle stream = 0;
  /// For each block of columns, when the last block that wrote it would have
  /// started had nothing held it up on its way. Empty: no `mma`.
  std::vector<Cycle> written;
  template <typename A> void serialize(A &ar) {
    fields(ar, acc, interval, sums, stream, written);
  }
};

class MatrixEngine final : public InOrderEngine<MatrixResults> {
public:
  /// The core's matrix engine with this number.
  MatrixEngine(Core &core, unsigned number);

  void reset() override;

  template <typename A> void serialize(A &ar) {
    serializeOperations(ar);
    fields(ar, chained, lastSwap, streamEnd, held, heldOperand, heldDims,
           holds);
  }

protected:
  void step(Cycle now) override;
  void commit(const MatrixResults &results) override;

private:
  /// The dimensions and rates of one mma.
  struct Plan {
    uint64_t m = 0, n = 0, k = 0;
    uint64_t blocksK = 0, blocksN = 0;
    uint64_t blockRows = 0;       ///< R_f
    Cycle stream = 0;             ///< ρM
    Cycle pace = 1;               ///< ρ
    uint64_t loads = 0;           ///< Steps of a load, each ...
    Cycle loadPace = 1;           ///< ... of so many cycles: L.
    uint64_t loadRows = 1;        ///< Rows of b that a step reads.
    bool weightsByColumn = false; ///< b is N×K.
  };
  bool startMma(const QueueEntry &entry, Cycle now);
  FaultCause check(const QueueEntry &entry, Plan &plan, ByteInterval &interval,
                   uint64_t &address) const;
  /// Fixes the blocks' cycles; returns the completion.
  Cycle schedule(const QueueEntry &entry, const Plan &plan,
                 MatrixResults &results, Cycle now);
  /// What the blocks read: a row of `a`, a step of a load of `b`.
  AccessPattern rowsOf(const QueueEntry &entry, const Plan &plan,
                       uint64_t k) const;
  AccessPattern weightsOf(const QueueEntry &entry, const Plan &plan, uint64_t n,
                          uint64_t k) const;
  /// What a row of a block of columns writes.
  AccessPattern sumsOf(const isa::Descriptor &acc, const Plan &plan,
                       uint64_t n) const;
  /// The earliest start that the accumulators' rows allow block column `n`.
  Cycle rowsFree(const MatrixResults &results, uint64_t n) const;
  void compute(const QueueEntry &entry, const Plan &plan,
               MatrixResults &results);
  /// The accumulator as the engine itself sees it: results under way included.
  void gatherAccumulator(const isa::Descriptor &acc,
                         const ByteInterval &interval, uint8_t *dense);

  const unsigned number;  ///< Among the core's matrix engines.
  const BankUser weights; ///< Its stream of `b`.
  bool chained = false;   ///< lastSwap and streamEnd are valid.
  Cycle lastSwap = 0;     ///< The last block's start that brought new weights.
  Cycle streamEnd = 0;
  /// The one block that is loaded, as a later `keep_b` may use it: its operand
  /// and its values, K × N.
  bool holds = false;
  isa::Descriptor heldOperand;
  uint8_t heldDims = 0;
  std::vector<uint32_t> held;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_CORE_MATRIXENGINE_H
