//===- Clock.h - Clock domains ----------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Global time is 64-bit femtoseconds; a clock domain counts integer cycles of
// an integer period. Going into a domain rounds up to its next edge.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_KERNEL_CLOCK_H
#define TESSERA_SIM_KERNEL_CLOCK_H

#include <cstdint>

namespace tessera::sim {

using Time = uint64_t;
using Cycle = uint64_t;

inline constexpr uint64_t femtosecondsPerNanosecond = 1'000'000;

class Clock {
public:
  explicit Clock(double ghz = 1.0)
      : period(uint64_t(double(femtosecondsPerNanosecond) / ghz + 0.5)) {
    if (period == 0)
      period = 1;
    reciprocal = ~uint64_t(0) / period;
  }

  uint64_t periodFs() const { return period; }
  Time at(Cycle cycle) const { return cycle * period; }
  /// The first edge at or after `time`.
  Cycle ceil(Time time) const { return floor(time + period - 1); }
  Cycle floor(Time time) const {
    // Multiplies instead of dividing, which is asked for at every event. The
    // product is the quotient or one less.
    auto quotient = Cycle(__uint128_t(time) * reciprocal >> 64);
    return time - quotient * period >= period ? quotient + 1 : quotient;
  }

private:
  uint64_t period;
  uint64_t reciprocal; ///< (2⁶⁴ - 1) / period.
};

inline uint64_t ceilDiv(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

} // namespace tessera::sim

#endif // TESSERA_SIM_KERNEL_CLOCK_H
