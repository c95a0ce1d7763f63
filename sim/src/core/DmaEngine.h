//===- DmaEngine.h - Load and store engines ---------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One class for both directions. A transfer is split into bursts along the
// global tensor; the next transfer's bursts follow at once; transfers complete
// in order.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CORE_DMAENGINE_H
#define TESSERA_SIM_CORE_DMAENGINE_H

#include "core/Core.h"

namespace tessera::sim {

class DmaEngine final : public QueueEngine {
public:
  DmaEngine(Core &core, Engine kind);

  bool idle() const override {
    return queue.empty() && transfers.empty() && inFlight == 0;
  }
  void reset() override;
  void handle(const Event &event) override;

  template <typename A> void serialize(A &ar) {
    serializeQueue(ar);
    fields(ar, transfers, firstId, issuing, global, run, runPosition, inFlight,
           translating, slotCycle, slots, finishAt);
  }

protected:
  void step(Cycle now) override;

private:
  struct Transfer {
    isa::Opcode opcode{};
    uint32_t pc = 0;
    std::array<isa::SemaphoreStep, isa::maxSignals> signals{};
    RemoteSignal remote;
    isa::Descriptor destination;
    ByteInterval interval;     ///< Of a local destination.
    std::vector<uint8_t> data; ///< Read at start, committed at completion.
    uint32_t outstanding = 0;
    bool issued = false, posted = false;
    Cycle ready = never;
    template <typename A> void serialize(A &ar) {
      fields(ar, opcode, pc, signals, remote, destination, interval, data,
             outstanding, issued, posted, ready);
    }
  };

  /// Starts the head of the queue; false on a fault.
  bool start(const QueueEntry &entry, Cycle now);
  bool startTransfer(const QueueEntry &entry, Transfer &transfer);
  /// Issues one burst of the current transfer; false if it cannot.
  bool issueBurst(Cycle now);
  void finishReady(Cycle now);
  bool commit(const Transfer &transfer);
  void scheduleFinish();
  StallCause idleCause() const;

  const bool storing;
  const uint32_t burstsPerCycle;
  uint16_t client;

  std::deque<Transfer> transfers; ///< Started and not complete, oldest first.
  uint64_t firstId = 0;           ///< Number of transfers.front().
  bool issuing = false;           ///< transfers.back() has bursts to issue.
  isa::Descriptor global;         ///< What is being issued.
  uint64_t run = 0;               ///< Its current run of adjacent elements.
  uint64_t runPosition = 0;       ///< Bytes of the run issued.
  uint32_t inFlight = 0;          ///< Bursts.
  bool translating = false;       ///< Waits for an address translation.
  Cycle slotCycle = never;        ///< The cycle that `slots` is about.
  uint32_t slots = 0;             ///< Bursts that may still go in it.
  Cycle finishAt = never;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_CORE_DMAENGINE_H
