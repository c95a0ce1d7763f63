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

#include "core/DmaTransfer.h"

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
    fields(ar, transfers, firstId, issuing, withinCore, bursts, inFlight,
           translating, blocked, slotCycle, slots, finishAt);
    if constexpr (A::loading)
      if (issuing && (transfers.empty() || bursts.done()))
        ar.fail();
  }

protected:
  void step(Cycle now) override;

private:
  /// An earlier instruction of the queue will write what the head reads.
  bool headDepends() const;
  /// Starts the head of the queue; false on a fault.
  bool start(const QueueEntry &entry, Cycle now);
  /// Issues one burst of the current transfer; false if it cannot.
  bool issueBurst(Cycle now);
  /// Takes `count` slots, of which the first is in the present cycle.
  void takeSlots(uint64_t count);
  /// The first cycle in which no slot was taken.
  Cycle afterSlots() const {
    return slots == burstsPerCycle ? slotCycle : slotCycle + 1;
  }
  /// Sends a burst to the core that the transfer goes to, whose answer ends it.
  void sendBurst(const Burst &burst, uint64_t id);
  /// A burst of a multicast has come to a core; how many more of its bursts
  /// have come to all.
  uint32_t arrivedAt(Transfer &t, uint32_t node, Cycle now);
  void deliverReady(Cycle now);
  void lastBurstIssued(Cycle now);
  void finishReady(Cycle now);
  void scheduleFinish();
  StallCause idleCause() const;

  const bool storing;
  const uint32_t burstsPerCycle;
  uint16_t client;

  std::deque<Transfer> transfers; ///< Started and not complete, oldest first.
  uint64_t firstId = 0;           ///< Number of transfers.front().
  bool issuing = false;           ///< transfers.back() has bursts to issue.
  bool withinCore = false;        ///< They need no memory system.
  BurstGenerator bursts;
  uint32_t inFlight = 0;    ///< Bursts.
  bool translating = false; ///< Waits for an address translation.
  bool blocked = false;     ///< The network takes no request.
  Cycle slotCycle = never;  ///< The cycle of the next slot.
  uint32_t slots = 0;       ///< Left in it.
  Cycle finishAt = never;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_CORE_DMAENGINE_H
