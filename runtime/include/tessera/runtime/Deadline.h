//===- Deadline.h - How long a wait may last --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Waits are bounded in device time or in host time. They also end, whatever the
// deadline, when the awaited work failed, the device is lost or closed, or it
// is proved that nothing can satisfy them any more.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_DEADLINE_H
#define TESSERA_RUNTIME_DEADLINE_H

#include "tessera/driver/Driver.h"
#include <chrono>

namespace tessera::runtime {

class Deadline {
public:
  using HostClock = std::chrono::steady_clock;

  /// Waits as long as something can still happen.
  static constexpr Deadline infinite() {
    return Deadline(driver::timeInfinite);
  }
  /// Looks once, lets no device time pass.
  static constexpr Deadline poll() { return Deadline(0); }
  /// Until device time `time`, femtoseconds; Device::afterCycles() makes one
  /// from a number of core cycles.
  static constexpr Deadline at(driver::Time time) { return Deadline(time); }
  /// Until the host's clock shows `time`. How far the device comes until then
  /// depends on the host.
  static constexpr Deadline atHost(HostClock::time_point time) {
    Deadline deadline(driver::timeInfinite);
    deadline.host_ = time;
    deadline.hasHost = true;
    return deadline;
  }
  static Deadline afterHost(HostClock::duration duration) {
    HostClock::time_point now = HostClock::now();
    return atHost(duration < HostClock::time_point::max() - now
                      ? now + duration
                      : HostClock::time_point::max());
  }

  /// Device time; infinite where the bound is in host time.
  constexpr driver::Time time() const { return time_; }
  constexpr bool isHost() const { return hasHost; }
  constexpr HostClock::time_point host() const { return host_; }
  constexpr bool isInfinite() const {
    return time_ == driver::timeInfinite && !hasHost;
  }

private:
  explicit constexpr Deadline(driver::Time time) : time_(time) {}
  driver::Time time_;
  bool hasHost = false;
  HostClock::time_point host_{};
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_DEADLINE_H
