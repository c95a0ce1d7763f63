//===- InOrderEngine.h - An engine that completes in order ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Common to the matrix and the vector engine: an instruction's completion is
// known when it starts, is never before an earlier one's, and commits what the
// instruction left as `Results`; then come its signals.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CORE_INORDERENGINE_H
#define TESSERA_SIM_CORE_INORDERENGINE_H

#include "core/Core.h"

namespace tessera::sim {

template <typename Results> class InOrderEngine : public QueueEngine {
public:
  using QueueEngine::QueueEngine;

  bool idle() const override { return queue.empty() && operations.empty(); }
  void reset() override {
    resetQueue();
    operations.clear();
    finishAt = never;
  }
  void handle(const Event &event) override {
    if (!accept(event) || event.code != Finish)
      return;
    Cycle now = core.services.now();
    if (finishAt == now)
      finishAt = never;
    finishReady(now);
  }

protected:
  struct Operation {
    isa::Opcode opcode{};
    uint32_t pc = 0;
    std::array<isa::SemaphoreStep, isa::maxSignals> signals{};
    RemoteSignal remote;
    Results results; ///< Empty if it only synchronises.
    Cycle ready = 0;
    template <typename A> void serialize(A &ar) {
      fields(ar, opcode, pc, signals, remote, results, ready);
    }
  };

  template <typename A> void serializeOperations(A &ar) {
    serializeQueue(ar);
    fields(ar, operations, finishAt);
  }

  virtual void commit(const Results &results) = 0;

  /// The instruction has started; it completes at `ready` at the earliest.
  void started(const QueueEntry &entry, Cycle ready, Results results) {
    Operation operation;
    operation.opcode = entry.opcode;
    operation.pc = entry.pc;
    operation.signals = entry.signals;
    operation.remote = entry.remote;
    operation.results = std::move(results);
    operation.ready = ready;
    if (!operations.empty()) // a slower predecessor cannot be overtaken
      operation.ready = std::max(ready, operations.back().ready);
    operations.push_back(std::move(operation));
    scheduleFinish();
  }
  /// `wait`, `signal` and `signal.core` take a cycle of the queue.
  void startSync(const QueueEntry &entry, Cycle now) {
    account.wait(StallCause::QueueEmpty, now);
    account.charge(StallCause::Busy, now + 1);
    nextStart = std::max(nextStart, now + 1);
    started(entry, now + 1, Results());
  }
  /// Nothing more can start now: what the engine does until something can.
  void rest(Cycle now) {
    if (!operations.empty())
      account.wait(StallCause::FillDrain, now);
    else
      restWithoutWork(now);
  }

  std::deque<Operation> operations; ///< Started and not complete, oldest first.

private:
  void restWithoutWork(Cycle now) {
    if (waiting)
      account.waitOn(core.waitCause(queue.front().waits), now);
    else
      account.wait(StallCause::QueueEmpty, now);
  }
  void scheduleFinish() {
    if (operations.empty() || finishAt <= operations.front().ready)
      return;
    finishAt = operations.front().ready;
    post(finishAt, Phase::Complete, Finish);
  }
  void finishReady(Cycle now) {
    while (!operations.empty() && operations.front().ready <= now) {
      Operation o = std::move(operations.front());
      operations.pop_front();
      commit(o.results);
      core.trace(TraceEvent::Kind::InstructionEnd, kind, o.opcode, o.pc);
      core.signal(o.signals, kind, o.pc);
      core.signalCore(o.remote, kind, o.pc);
      if (!core.running())
        return;
    }
    scheduleFinish();
    if (operations.empty())
      restWithoutWork(now);
    core.checkDone();
  }

  Cycle finishAt = never;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_CORE_INORDERENGINE_H
