//===- VectorEngine.h - The vector engine -----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CORE_VECTORENGINE_H
#define TESSERA_SIM_CORE_VECTORENGINE_H

#include "core/Core.h"
#include "numerics/LaneProgram.h"

namespace tessera::sim {

class VectorEngine final : public QueueEngine {
public:
  explicit VectorEngine(Core &core);

  bool idle() const override { return queue.empty() && operations.empty(); }
  void reset() override;
  void handle(const Event &event) override;

  template <typename A> void serialize(A &ar) {
    serializeQueue(ar);
    fields(ar, operations, finishAt);
  }

protected:
  void step(Cycle now) override;

private:
  struct Output {
    isa::Descriptor td;
    ByteInterval interval;
    std::vector<uint8_t> data; ///< Committed at completion.
    template <typename A> void serialize(A &ar) {
      fields(ar, td, interval, data);
    }
  };
  struct Operation {
    isa::Opcode opcode{};
    uint32_t pc = 0;
    std::array<isa::SemaphoreStep, isa::maxSignals> signals{};
    RemoteSignal remote;
    std::vector<Output> outputs;
    Cycle ready = 0;
    template <typename A> void serialize(A &ar) {
      fields(ar, opcode, pc, signals, remote, outputs, ready);
    }
  };
  /// A `map` checked.
  struct Plan {
    const isa::MapProgram *program = nullptr;
    isa::Descriptor space; ///< Its extents are the iteration space's.
    uint64_t elements = 0;
    std::array<ByteInterval, isa::maxMapInputs> inputs{};
    std::vector<Output> outputs;
  };

  FaultCause check(const QueueEntry &entry, Plan &plan,
                   uint64_t &address) const;
  /// When the last predecessor is over on whose results the map depends.
  Cycle dependencesReady(const QueueEntry &entry, const Plan &plan) const;
  void start(const QueueEntry &entry, Plan &plan, Cycle now);
  void compute(const QueueEntry &entry, Plan &plan);
  void reduceInto(Output &output, const QueueEntry &entry, const Plan &plan,
                  const std::vector<uint32_t> &values);
  /// Cycles that one group of lanes needs for an operand: distinct words in the
  /// most used bank.
  Cycle bankCycles(const isa::Descriptor &td) const;
  void finishReady(Cycle now);
  void scheduleFinish();

  std::deque<Operation> operations; ///< Started and not complete, oldest first.
  Cycle finishAt = never;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_CORE_VECTORENGINE_H
