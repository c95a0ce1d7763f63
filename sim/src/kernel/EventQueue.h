//===- EventQueue.h - The event kernel --------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Events are plain data; executing one allocates nothing (the heap's storage
// grows, but is kept). At equal time the order is: completions, then signals,
// then starts, then the network's step; then the component's number; then the
// order of posting. With permute() the components of a time and phase
// come in an order of the seed's; the events of one component never change places.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_KERNEL_EVENTQUEUE_H
#define TESSERA_SIM_KERNEL_EVENTQUEUE_H

#include "kernel/Clock.h"
#include "kernel/Serialize.h"
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
  bool empty() const { return heap.empty(); }
  Time nextTime() const { return heap.empty() ? ~Time(0) : heap.front().time; }
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

  uint64_t orderOf(const Event &event) const;
  void insert(const Event &event);
  std::vector<Event> sorted() const;
  bool restore(const std::vector<Event> &pending);

  std::vector<Component *> components;
  /// A heap whose nodes have four children: half as deep as a binary one, and
  /// the children are beside each other. Events stay where they are.
  std::vector<Entry> heap;
  std::vector<Event> slots;
  std::vector<uint32_t> freeSlots;
  Time current = 0;
  uint64_t nextSequence = 0, count = 0;
  bool permuted = false; ///< With `seed`, given by the device's options.
  uint64_t seed = 0;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_KERNEL_EVENTQUEUE_H
