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
  uint32_t slot = freeSlot;
  if (slot == none) {
    slot = uint32_t(slots.size());
    slots.emplace_back();
  } else {
    freeSlot = slots[slot].next;
  }
  slots[slot].event = event;
  ++pendingCount;
  uint64_t slice = event.time >> sliceShift;
  if (slice <= activeSlice) {
    Entry entry = entryOf(slot);
    active.insert(std::upper_bound(active.begin(), active.end(), entry, after),
                  entry);
  } else if (slice - activeSlice < slices) {
    uint64_t place = slice % slices;
    slots[slot].next = heads[place];
    heads[place] = slot;
    filled.fill(place);
  } else {
    far.push_back(entryOf(slot));
    std::push_heap(far.begin(), far.end(), after);
  }
}

void EventQueue::post(Event event) {
  assert(event.time >= current && "an event in the past");
  assert(event.component < components.size() && "an unknown component");
  assert(nextSequence >> sequenceBits == 0 && "more events than can be told");
  event.sequence = nextSequence++;
  insert(event);
}

uint64_t EventQueue::nextSlice() const {
  uint64_t first = activeSlice + 1;
  uint64_t distance = filled.distance(first % slices);
  return distance == slices ? ~uint64_t(0) : first + distance;
}

Time EventQueue::firstInactive() const {
  Time first = far.empty() ? ~Time(0) : far.front().time;
  if (uint64_t slice = nextSlice(); slice != ~uint64_t(0))
    for (uint32_t slot = heads[slice % slices]; slot != none;
         slot = slots[slot].next)
      first = std::min(first, slots[slot].event.time);
  return first;
}

void EventQueue::activateNext() {
  uint64_t slice = std::min(nextSlice(), firstFarSlice());
  // Those of the ring keep their places: all are before slice + slices.
  activeSlice = slice;
  uint64_t place = slice % slices;
  // What was posted last comes first in the list, and often is executed last.
  for (uint32_t slot = heads[place]; slot != none; slot = slots[slot].next)
    active.push_back(entryOf(slot));
  heads[place] = none;
  filled.empty(place);
  while (!far.empty() && far.front().time >> sliceShift <= slice) {
    active.push_back(far.front());
    std::pop_heap(far.begin(), far.end(), after);
    far.pop_back();
  }
  if (active.size() > 32)
    std::sort(active.begin(), active.end(), after);
  else // mostly a few
    for (size_t i = 1; i < active.size(); ++i) {
      Entry entry = active[i];
      size_t at = i;
      for (; at != 0 && active[at - 1].before(entry); --at)
        active[at] = active[at - 1];
      active[at] = entry;
    }
}

void EventQueue::executeNext() {
  assert(!empty() && "no event");
  if (active.empty())
    activateNext();
  uint32_t slot = active.back().slot;
  active.pop_back();
  --pendingCount;
  Event event = slots[slot].event;
  slots[slot].next = freeSlot;
  freeSlot = slot;
  current = event.time;
  ++count;
  components[event.component]->handle(event);
}

std::vector<Event> EventQueue::sorted() const {
  std::vector<Entry> entries = active;
  entries.insert(entries.end(), far.begin(), far.end());
  for (uint32_t head : heads)
    for (uint32_t slot = head; slot != none; slot = slots[slot].next)
      entries.push_back(entryOf(slot));
  std::sort(entries.begin(), entries.end(),
            [](const Entry &a, const Entry &b) { return a.before(b); });
  std::vector<Event> result;
  for (const Entry &entry : entries)
    result.push_back(slots[entry.slot].event);
  return result;
}

bool EventQueue::restore(const std::vector<Event> &pending) {
  active.clear();
  slots.clear();
  far.clear();
  std::ranges::fill(heads, none);
  filled.clear();
  freeSlot = none;
  pendingCount = 0;
  activeSlice = current >> sliceShift;
  for (const Event &event : pending) {
    if (event.component >= components.size() || event.time < current ||
        event.sequence >= nextSequence || event.sequence >> sequenceBits != 0)
      return false;
    insert(event);
  }
  return true;
}

} // namespace tessera::sim
