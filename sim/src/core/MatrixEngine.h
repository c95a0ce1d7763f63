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

#include "core/Core.h"

namespace tessera::sim {

class MatrixEngine final : public QueueEngine {
public:
  explicit MatrixEngine(Core &core);

  bool idle() const override { return queue.empty() && operations.empty(); }
  void reset() override;
  void handle(const Event &event) override;

  template <typename A> void serialize(A &ar) {
    serializeQueue(ar);
    fields(ar, operations, chained, lastSwap, streamEnd, finishAt, held,
           heldOperand, heldDims, holds);
  }

protected:
  void step(Cycle now) override;

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
  struct Operation {
    isa::Opcode opcode{};
    uint32_t pc = 0;
    std::array<isa::SemaphoreStep, isa::maxSignals> signals{};
    RemoteSignal remote;
    isa::Descriptor acc;
    ByteInterval interval;
    std::vector<uint32_t> results; ///< Committed at completion.
    Cycle stream = 0;
    /// For each block of columns, when the last block that wrote it would have
    /// started had nothing held it up on its way.
    std::vector<Cycle> written;
    Cycle ready = 0;
    template <typename A> void serialize(A &ar) {
      fields(ar, opcode, pc, signals, remote, acc, interval, results, stream,
             written, ready);
    }
  };

  bool startMma(const QueueEntry &entry, Cycle now);
  FaultCause check(const QueueEntry &entry, Plan &plan, ByteInterval &interval,
                   uint64_t &address) const;
  void schedule(const QueueEntry &entry, const Plan &plan, Operation &operation,
                Cycle now);
  /// What the blocks read: a row of `a`, a step of a load of `b`.
  AccessPattern rowsOf(const QueueEntry &entry, const Plan &plan,
                       uint64_t k) const;
  AccessPattern weightsOf(const QueueEntry &entry, const Plan &plan, uint64_t n,
                          uint64_t k) const;
  /// The earliest start that the accumulators' rows allow block column `n`.
  Cycle rowsFree(const Operation &operation, uint64_t n) const;
  void compute(const QueueEntry &entry, const Plan &plan, Operation &operation);
  /// The accumulator as the engine itself sees it: results under way included.
  void gatherAccumulator(const isa::Descriptor &acc,
                         const ByteInterval &interval, uint8_t *dense);
  void finishReady(Cycle now);
  void scheduleFinish();

  std::deque<Operation> operations; ///< Started and not complete, oldest first.
  bool chained = false;             ///< lastSwap and streamEnd are valid.
  Cycle lastSwap = 0; ///< The last block's start that brought new weights.
  Cycle streamEnd = 0;
  /// The one block that is loaded, as a later `keep_b` may use it: its operand
  /// and its values, K × N.
  bool holds = false;
  isa::Descriptor heldOperand;
  uint8_t heldDims = 0;
  std::vector<uint32_t> held;
  Cycle finishAt = never;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_CORE_MATRIXENGINE_H
