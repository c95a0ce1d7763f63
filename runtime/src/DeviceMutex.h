//===- DeviceMutex.h - A recursive lock that can be given up ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A recursive mutex whose holder can give it up at any depth and take it back.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_SRC_DEVICEMUTEX_H
#define TESSERA_RUNTIME_SRC_DEVICEMUTEX_H

#include "tessera/Support/Status.h"
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace tessera::runtime {

class DeviceMutex {
public:
  void lock() {
    std::thread::id me = std::this_thread::get_id();
    // Only this thread ever stores its own id.
    if (owner.load(std::memory_order_relaxed) == me) {
      ++depth;
      return;
    }
    acquire(1);
  }
  void unlock() {
    if (--depth != 0)
      return;
    // Destroyed at the end of this function; the mutex may go with them.
    auto functions = std::exchange(discarded, {});
    owner.store({}, std::memory_order_relaxed);
    mutex.unlock();
  }

  bool heldByThisThread() const {
    return owner.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

  /// Unlocks whatever the depth, which it returns.
  unsigned releaseAll() {
    unsigned held = std::exchange(depth, 0);
    owner.store({}, std::memory_order_relaxed);
    mutex.unlock();
    return held;
  }
  /// Locks to that depth; the thread must not hold it.
  void acquire(unsigned toDepth) {
    if (!mutex.try_lock()) {
      waiting.fetch_add(1, std::memory_order_relaxed);
      mutex.lock();
      waiting.fetch_sub(1, std::memory_order_relaxed);
    }
    acquisitions.store(acquisitions.load(std::memory_order_relaxed) + 1,
                       std::memory_order_relaxed);
    owner.store(std::this_thread::get_id(), std::memory_order_relaxed);
    depth = toDepth;
  }

  /// Whether another thread waits for it.
  bool wanted() const { return waiting.load(std::memory_order_relaxed) != 0; }
  /// As releaseAll(), and comes back when another thread has had it, which
  /// wants it now.
  unsigned handOver() {
    uint64_t before = acquisitions.load(std::memory_order_relaxed);
    unsigned held = releaseAll();
    while (acquisitions.load(std::memory_order_relaxed) == before)
      std::this_thread::yield();
    return held;
  }

  /// Destroys the function once the lock has been given up for good: it may own
  /// the last handles of objects that the caller is at work with.
  template <typename Function> void discard(Function &&function) {
    discarded.emplace_back(std::forward<Function>(function));
  }

private:
  std::mutex mutex;
  std::atomic<std::thread::id> owner{};
  std::atomic<unsigned> waiting = 0;      ///< Threads in acquire().
  std::atomic<uint64_t> acquisitions = 0; ///< Changed by the holder only.
  unsigned depth = 0;                     ///< Guarded by `mutex`.
  std::vector<std::function<Status()>> discarded; ///< Likewise.
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SRC_DEVICEMUTEX_H
