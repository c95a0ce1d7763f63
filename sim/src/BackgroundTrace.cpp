//===- BackgroundTrace.cpp - Traces written beside the simulation ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/sim/BackgroundTrace.h"
#include <cassert>

namespace tessera::sim {

BackgroundTrace::BackgroundTrace(TraceObserver &target)
    : target(target), encoder([this] { encode(); }) {
  block.reserve(blockEvents);
}

BackgroundTrace::~BackgroundTrace() { finish(); }

void BackgroundTrace::handOver() {
  assert(encoder.joinable() && "events after the end");
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return waiting.size() < maxWaiting; });
  waiting.push_back(std::move(block));
  block.clear();
  if (empty.empty()) {
    block.reserve(blockEvents);
  } else {
    block = std::move(empty.back());
    empty.pop_back();
  }
  changed.notify_all();
}

void BackgroundTrace::finish() {
  if (!encoder.joinable())
    return;
  if (!block.empty())
    handOver();
  {
    std::lock_guard lock(mutex);
    closed = true;
  }
  changed.notify_all();
  encoder.join();
}

void BackgroundTrace::encode() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return closed || !waiting.empty(); });
    if (waiting.empty())
      return;
    std::vector<TraceEvent> events = std::move(waiting.front());
    waiting.pop_front();
    changed.notify_all();
    lock.unlock();
    for (const TraceEvent &event : events)
      target.event(event);
    events.clear();
    lock.lock();
    empty.push_back(std::move(events));
  }
}

} // namespace tessera::sim
