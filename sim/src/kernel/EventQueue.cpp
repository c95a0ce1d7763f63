//===- EventQueue.cpp - The event kernel ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernel/EventQueue.h"
#include "kernel/Exploration.h"
#include <algorithm>

namespace tessera::sim {

static constexpr unsigned sequenceBits = 40;
static_assert(sizeof(ComponentId) == 2 && sizeof(Phase) == 1,
              "they have 16 and 8 bits of the order");

uint64_t EventQueue::orderOf(const Event &event) const {
  uint64_t rank = event.component;
  // The same for all events of a component at this time, so that they keep
  // their order.
  if (permuted)
    rank = exploredChoice(seed, event.time, event.component) & 0xffff;
  return uint64_t(event.phase) << 56 | rank << sequenceBits | event.sequence;
}

void EventQueue::insert(const Event &event) {
  uint32_t slot;
  if (freeSlots.empty()) {
    slot = uint32_t(slots.size());
    slots.push_back(event);
  } else {
    slot = freeSlots.back();
    freeSlots.pop_back();
    slots[slot] = event;
  }
  Entry entry{event.time, orderOf(event), slot};
  size_t at = heap.size();
  heap.push_back(entry);
  for (; at > 0; at = (at - 1) / 4) {
    Entry &parent = heap[(at - 1) / 4];
    if (!entry.before(parent))
      break;
    heap[at] = parent;
  }
  heap[at] = entry;
}

void EventQueue::post(Event event) {
  assert(event.time >= current && "an event in the past");
  assert(event.component < components.size() && "an unknown component");
  assert(nextSequence >> sequenceBits == 0 && "more events than can be told");
  event.sequence = nextSequence++;
  insert(event);
}

void EventQueue::executeNext() {
  assert(!heap.empty() && "no event");
  uint32_t slot = heap.front().slot;
  // The last entry looks for its place from the top.
  Entry last = heap.back();
  heap.pop_back();
  size_t size = heap.size(), at = 0;
  if (size > 0) {
    for (size_t child = 1; child < size; child = 4 * at + 1) {
      size_t first = child, end = std::min(child + 4, size);
      for (size_t other = child + 1; other < end; ++other)
        if (heap[other].before(heap[first]))
          first = other;
      if (!heap[first].before(last))
        break;
      heap[at] = heap[first];
      at = first;
    }
    heap[at] = last;
  }
  Event event = slots[slot];
  freeSlots.push_back(slot);
  current = event.time;
  ++count;
  components[event.component]->handle(event);
}

std::vector<Event> EventQueue::sorted() const {
  std::vector<Entry> entries = heap;
  std::sort(entries.begin(), entries.end(),
            [](const Entry &a, const Entry &b) { return a.before(b); });
  std::vector<Event> result;
  for (const Entry &entry : entries)
    result.push_back(slots[entry.slot]);
  return result;
}

bool EventQueue::restore(const std::vector<Event> &pending) {
  heap.clear();
  slots.clear();
  freeSlots.clear();
  for (const Event &event : pending) {
    if (event.component >= components.size() || event.time < current ||
        event.sequence >= nextSequence || event.sequence >> sequenceBits != 0)
      return false;
    insert(event);
  }
  return true;
}

} // namespace tessera::sim
