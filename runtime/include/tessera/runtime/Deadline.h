//===- Deadline.h - How long a wait may last --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Waits are bounded in device time. They also end, whatever the deadline, when
// the awaited work failed, the device is lost, or it is proved that nothing
// can satisfy them any more.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_DEADLINE_H
#define TESSERA_RUNTIME_DEADLINE_H

#include "tessera/driver/Driver.h"

namespace tessera::runtime {

class Deadline {
public:
  /// Waits as long as something can still happen.
  static constexpr Deadline infinite() {
    return Deadline(driver::timeInfinite);
  }
  /// Looks once, lets no device time pass.
  static constexpr Deadline poll() { return Deadline(0); }
  /// Until device time `time`, femtoseconds; Device::afterCycles() makes one
  /// from a number of core cycles.
  static constexpr Deadline at(driver::Time time) { return Deadline(time); }

  constexpr driver::Time time() const { return time_; }
  constexpr bool isInfinite() const { return time_ == driver::timeInfinite; }

private:
  explicit constexpr Deadline(driver::Time time) : time_(time) {}
  driver::Time time_;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_DEADLINE_H
