//===- BackgroundTrace.h - Traces written beside the simulation -*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An observer that only copies events into blocks; a thread of its own gives
// them, in order, to the observer that encodes them. The simulation waits when
// the encoder falls too far behind, so that memory stays bounded.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_BACKGROUNDTRACE_H
#define TESSERA_SIM_BACKGROUNDTRACE_H

#include "tessera/sim/Trace.h"
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace tessera::sim {

class BackgroundTrace final : public TraceObserver {
public:
  /// `target` sees the events on another thread until finish() returns.
  explicit BackgroundTrace(TraceObserver &target);
  ~BackgroundTrace() override;
  BackgroundTrace(const BackgroundTrace &) = delete;
  BackgroundTrace &operator=(const BackgroundTrace &) = delete;

  void event(const TraceEvent &event) override {
    block.push_back(event);
    if (block.size() == blockEvents)
      handOver();
  }
  /// Returns when `target` has seen all events; later ones are an error.
  void finish();

private:
  static constexpr size_t blockEvents = 4096, maxWaiting = 16;

  void handOver();
  void encode();

  TraceObserver &target;
  std::vector<TraceEvent> block; ///< Of the simulation's thread alone.
  std::mutex mutex;              ///< Of all that follows.
  std::condition_variable changed;
  std::deque<std::vector<TraceEvent>> waiting;
  std::vector<std::vector<TraceEvent>> empty; ///< Blocks to fill again.
  bool closed = false;
  std::thread encoder; ///< Last: it uses the rest.
};

} // namespace tessera::sim

#endif // TESSERA_SIM_BACKGROUNDTRACE_H
