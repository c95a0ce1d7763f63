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
    fields(ar, transfers, firstId, issuing, withinCore, bursts, next, sendAt,
           places, freePlaces, inFlight, held, translating, blocked, slotCycle,
           slots, finishAt);
    if constexpr (A::loading) {
      if (issuing && (transfers.empty() || (bursts.done() && !next)))
        ar.fail();
      for (uint32_t free : freePlaces)
        if (free >= places.size())
          ar.fail();
    }
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
  /// Takes the next burst from the generator, and reads what it moves if that
  /// is in the core.
  void readBurst(Cycle now);
  /// Its banks are free from here on.
  void beginAt(Cycle cycle);
  /// Makes a fill's accesses; returns their end, and without conflicts they
  /// take `cycles`.
  Cycle fill(const isa::Descriptor &td, Cycle now, Cycle &cycles);
  /// Reads a transfer's indices and writes its padding, ahead of its bursts.
  void moveAhead(const TransferPlan &plan, Transfer &transfer, Cycle now);
  /// Writes the padding of a multicast into a core's memory.
  void pad(Core &to, Delivery &delivery, const Padding &padding, Cycle now);
  /// What a burst needs on the near side of its transfer.
  BankAccess &nearWords(Transfer &transfer, const Burst &burst);
  /// Writes a burst that has come; returns its last cycle. Later it may be that
  /// the engine is ready: `end`.
  Cycle writeBurst(Core &to, Transfer &transfer, const Burst &burst, Cycle now,
                   Cycle &end);
  /// Where bursts under way go: kept until all their copies are there.
  uint64_t keep(const Burst &burst, uint64_t id, uint32_t copies);
  Burst placeOf(uint64_t payload) const;
  /// A copy has come; true if it was the last one.
  bool release(uint64_t payload);
  /// The transfer of a burst, unless it is over.
  Transfer *transferOf(uint64_t payload);
  /// A burst is over: written, or acknowledged.
  void burstOver(uint64_t payload, Cycle now);
  void burstCame(const Event &event, Cycle now);
  /// A burst has come to another core, which writes and answers it.
  void burstCameTo(uint64_t payload, Cycle now);
  void answer(uint64_t payload);
  /// Takes `count` slots, of which the first is in the present cycle.
  void takeSlots(uint64_t count);
  /// The first cycle in which no slot was taken.
  Cycle afterSlots() const {
    return slots == burstsPerCycle ? slotCycle : slotCycle + 1;
  }
  /// Sends a burst to the core that the transfer goes to, whose answer ends it.
  void sendBurst(const Burst &burst, uint64_t payload);
  /// A burst of a multicast has come to a core, and is written there.
  void multicastCame(const Event &event, Cycle now);
  void multicastWritten(uint64_t payload, uint32_t node, Cycle now);
  /// What the engine does next, after bursts are over.
  void goOn(bool wasFull, Cycle now);
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
  std::optional<Burst> next; ///< It was read and is to be sent.
  Cycle sendAt = 0;          ///< It is read then.
  struct Place {
    Burst burst;
    uint32_t copies = 0; ///< Under way.
    template <typename A> void serialize(A &ar) { fields(ar, burst, copies); }
  };
  std::vector<Place> places;
  std::vector<uint32_t> freePlaces;
  BankAccess words, farWords; ///< Scratch space.
  uint32_t inFlight = 0;      ///< Bursts, until they are written.
  uint32_t held = 0;        ///< Bursts that have come and wait for their banks.
  bool translating = false; ///< Waits for an address translation.
  bool blocked = false;     ///< The network takes no request.
  Cycle slotCycle = never;  ///< The cycle of the next slot.
  uint32_t slots = 0;       ///< Left in it.
  Cycle finishAt = never;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_CORE_DMAENGINE_H
