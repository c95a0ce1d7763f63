//===- VectorEngine.h - The vector engine -----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CORE_VECTORENGINE_H
#define TESSERA_SIM_CORE_VECTORENGINE_H

#include "core/VectorPlan.h"

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
  struct Operation {
    isa::Opcode opcode{};
    uint32_t pc = 0;
    std::array<isa::SemaphoreStep, isa::maxSignals> signals{};
    RemoteSignal remote;
    std::vector<VectorOutput> outputs;
    Cycle ready = 0;
    template <typename A> void serialize(A &ar) {
      fields(ar, opcode, pc, signals, remote, outputs, ready);
    }
  };
  /// When the last predecessor is over on whose results it depends.
  Cycle dependencesReady(const VectorPlan &plan) const;
  void start(const QueueEntry &entry, VectorPlan &plan, Cycle now);
  /// Tells the checker.
  void reportAccesses(const QueueEntry &entry, const VectorPlan &plan);
  void commit(const VectorOutput &output);
  void finishReady(Cycle now);
  void scheduleFinish();

  std::deque<Operation> operations; ///< Started and not complete, oldest first.
  Cycle finishAt = never;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_CORE_VECTORENGINE_H
