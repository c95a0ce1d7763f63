//===- EventQueue.h - The event kernel --------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Events are plain data; executing one allocates nothing (the storage grows,
// but is kept). At equal time the order is: completions, then signals, then
// starts, then the network's step; then the component's number; then the order
// of posting. With permute() the components of a time and phase come in an
// order of the seed's; the events of one component never change places.
//
// The queue is a calendar: a ring of slices of time, each with a list of its
// events in no order. The slice that time has come to is sorted; what is posted
// into it after that is put in its place. What lies beyond the ring waits in a
// heap.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_KERNEL_EVENTQUEUE_H
#define TESSERA_SIM_KERNEL_EVENTQUEUE_H

#include "kernel/Clock.h"
#include "kernel/Serialize.h"
#include "kernel/SlotRing.h"
#include <cassert>
#include <vector>

namespace tessera::sim {

enum class Phase : uint8_t { Complete, Signal, Start, Network };

using ComponentId = uint16_t;

struct Event {
  Time time = 0;
  uint64_t sequence = 0; ///< Given by the queue.
  uint64_t payload = 0;
  /// Which life of the component it is for: a component that was aborted
  /// ignores the events of its earlier lives.
  uint32_t epoch = 0;
  ComponentId component = 0;
  Phase phase = Phase::Start;
  uint8_t code = 0; ///< The component's own enumeration.
  /// A memory reply: the isa::mmio::FaultCause of its translation, or 0.
  uint8_t fault = 0;
  /// A message from the network: the endpoint that it came to.
  uint32_t detail = 0;

  template <typename A> void serialize(A &ar) {
    fields(ar, time, sequence, payload, epoch, component, phase, code, fault,
           detail);
  }
};

/// Whatever can receive events.
class Component {
public:
  virtual ~Component() = default;
  virtual void handle(const Event &event) = 0;
};

class EventQueue {
public:
  ComponentId add(Component &component) {
    components.push_back(&component);
    return ComponentId(components.size() - 1);
  }

  bool knows(ComponentId id) const { return id < components.size(); }

  Time now() const { return current; }
  bool empty() const { return pendingCount == 0; }
  /// The first event's; the end of time if there is none.
  Time nextTime() const {
    return active.empty() ? firstInactive() : active.back().time;
  }
  /// The same; if it is near it need not be looked for again.
  Time findNext() {
    if (active.empty() && nextSlice() != ~uint64_t(0) &&
        nextSlice() <= firstFarSlice())
      activateNext();
    return nextTime();
  }
  uint64_t executed() const { return count; }

  /// Explores the schedule `seed` from now on.
  void permute(uint64_t seed) {
    permuted = true;
    this->seed = seed;
  }

  /// `event.time` must not be in the past.
  void post(Event event);
  /// Executes the first event.
  void executeNext();
  /// Lets time pass up to `time`, which must not be beyond the next event.
  void passTo(Time time) {
    assert(time >= current && time <= nextTime() && "time skips an event");
    current = time;
  }

  template <typename A> void serialize(A &ar) {
    fields(ar, current, nextSequence, count);
    std::vector<Event> pending;
    if constexpr (!A::loading)
      pending = sorted();
    fields(ar, pending);
    if constexpr (A::loading)
      if (!restore(pending))
        ar.fail();
  }

private:
  static constexpr uint32_t none = ~uint32_t(0);
  /// Femtoseconds of a slice, as a power of two: half a nanosecond, so that the
  /// cycles of most clocks have slices of their own. The ring is a microsecond.
  static constexpr unsigned sliceShift = 19;
  static constexpr uint64_t slices = 2048;

  struct Slot {
    Event event;
    uint32_t next = none; ///< In its slice's list, or in that of free slots.
  };
  /// What the order is made of, and where the event is.
  struct Entry {
    Time time;
    uint64_t order; ///< Phase, component (or its rank), sequence, from the
                    ///< highest bits.
    uint32_t slot;
    bool before(const Entry &other) const {
      return time != other.time ? time < other.time : order < other.order;
    }
  };
  static bool after(const Entry &a, const Entry &b) { return b.before(a); }

  uint64_t orderOf(const Event &event) const;
  Entry entryOf(uint32_t slot) const {
    const Event &event = slots[slot].event;
    return {event.time, orderOf(event), slot};
  }
  void insert(const Event &event);
  /// The first slice of the ring behind the active one that has events; its
  /// number, or none's: the end of time.
  uint64_t nextSlice() const;
  /// The slice of the first event beyond the ring, or the end of time.
  uint64_t firstFarSlice() const {
    return far.empty() ? ~uint64_t(0) : far.front().time >> sliceShift;
  }
  Time firstInactive() const;
  void activateNext();
  std::vector<Event> sorted() const;
  bool restore(const std::vector<Event> &pending);

  std::vector<Component *> components;
  std::vector<Slot> slots;
  uint32_t freeSlot = none;
  size_t pendingCount = 0;
  /// Of all slices up to number `activeSlice`, the first event last.
  std::vector<Entry> active;
  uint64_t activeSlice = 0; ///< Time shifted by sliceShift.
  /// The lists of the slices behind the active one, by number modulo `slices`.
  std::vector<uint32_t> heads = std::vector<uint32_t>(slices, none);
  SlotRing<slices> filled;
  std::vector<Entry> far; ///< A heap, the first event in front.
  Time current = 0;
  uint64_t nextSequence = 0, count = 0;
  bool permuted = false; ///< With `seed`, given by the device's options.
  uint64_t seed = 0;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_KERNEL_EVENTQUEUE_H
