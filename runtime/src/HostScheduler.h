//===- HostScheduler.h - Host threads that take turns -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Real threads of which one runs at a time. It gives its turn away when it
// enters the runtime and while it waits; who comes next is drawn from the seed
// among those that can go on. Device time passes when none can.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_SRC_HOSTSCHEDULER_H
#define TESSERA_RUNTIME_SRC_HOSTSCHEDULER_H

#include "tessera/Support/Random.h"
#include "tessera/driver/Driver.h"
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace tessera::runtime {

class HostScheduler {
public:
  explicit HostScheduler(uint64_t seed) : random(seed) {}

  /// Announces a thread, before any of them runs; its number.
  size_t add();
  /// First and last thing that thread `number` does.
  void begin(size_t number);
  void end(size_t number);
  /// Lets the first thread go; returns when all have ended.
  void run();

  /// Whether the calling thread is one of these.
  bool isMember() const;
  /// The calling thread may lose its turn here.
  void point();
  /// The calling thread can go on only after something has happened; comes back
  /// when it is its turn to look again. False, at once, if no other thread can
  /// go on either: then it is up to the caller to let the device run.
  bool block(driver::Time deadline) { return blockUntil(deadline, false); }
  /// The same of a thread that works until then, which takes device time.
  bool work(driver::Time until) { return blockUntil(until, true); }
  /// The same, but only another thread can help: false if none can.
  bool blockForHost();
  /// Earliest deadline of those that are blocked.
  driver::Time earliestDeadline() const;
  /// The moment when the first of those that work is done; infinite: nobody is.
  driver::Time earliestWork() const;
  /// Something has happened: everybody may look again.
  void wakeAll();
  /// Turns given so far: two runs with equal counts and equal device times took
  /// the same schedule.
  uint64_t turns() const;

private:
  enum class State : uint8_t { Ready, Blocked, HostBlocked, Ended };
  struct Member {
    State state = State::Ready;
    bool works = false; ///< While it is blocked.
    driver::Time deadline = driver::timeInfinite;
    std::thread::id thread;
  };
  using Lock = std::unique_lock<std::mutex>;
  size_t self() const;
  bool blockUntil(driver::Time deadline, bool works);
  /// Draws who is next; false if nobody is ready.
  bool choose();
  void waitForTurn(Lock &lock, size_t number);

  mutable std::mutex mutex;
  std::condition_variable turn;
  std::vector<Member> members;
  size_t current = none;
  uint64_t turnCount = 0;
  Random random;
  static constexpr size_t none = ~size_t(0);
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SRC_HOSTSCHEDULER_H
