//===- EventQueue.cpp - The event kernel ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernel/EventQueue.h"
#include <algorithm>
#include <tuple>

namespace tessera::sim {

/// Heap order: the first event must be the largest.
static bool later(const Event &a, const Event &b) {
  return std::tie(a.time, a.phase, a.component, a.sequence) >
         std::tie(b.time, b.phase, b.component, b.sequence);
}

void EventQueue::post(Event event) {
  assert(event.time >= current && "an event in the past");
  assert(event.component < components.size() && "an unknown component");
  event.sequence = nextSequence++;
  heap.push_back(event);
  std::push_heap(heap.begin(), heap.end(), later);
}

void EventQueue::executeNext() {
  assert(!heap.empty() && "no event");
  std::pop_heap(heap.begin(), heap.end(), later);
  Event event = heap.back();
  heap.pop_back();
  current = event.time;
  ++count;
  components[event.component]->handle(event);
}

} // namespace tessera::sim
