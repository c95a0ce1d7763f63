//===- Random.h - Seeded random numbers -------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A small generator whose numbers depend on its seed only: not on the host, its
// standard library or its libm. For inputs and tests, not for secrets.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_RANDOM_H
#define TESSERA_SUPPORT_RANDOM_H

#include <cassert>
#include <cstdint>

namespace tessera {

/// xoshiro256** (Blackman and Vigna), its state filled by SplitMix64.
class Random {
public:
  explicit Random(uint64_t seed) {
    for (uint64_t &word : state)
      word = splitMix(seed);
  }

  uint64_t next() {
    uint64_t result = rotateLeft(state[1] * 5, 7) * 9;
    uint64_t shifted = state[1] << 17;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= shifted;
    state[3] = rotateLeft(state[3], 45);
    return result;
  }
  /// Uniform in [0, limit), limit > 0, without bias.
  uint64_t below(uint64_t limit) {
    assert(limit > 0);
    // Values under 2^64 mod limit are drawn again.
    uint64_t threshold = (0 - limit) % limit;
    while (true)
      if (uint64_t value = next(); value >= threshold)
        return value % limit;
  }
  /// Uniform in [low, high], both included.
  int64_t between(int64_t low, int64_t high) {
    assert(low <= high);
    uint64_t span = uint64_t(high) - uint64_t(low) + 1;
    return int64_t(uint64_t(low) + (span == 0 ? next() : below(span)));
  }
  /// Uniform in [0, 1), a multiple of 2^-24.
  float uniformFloat() { return float(next() >> 40) * 0x1p-24f; }
  float uniformFloat(float low, float high) {
    return low + uniformFloat() * (high - low);
  }
  /// Mean 0, variance 1: the sum of twelve uniform numbers less six, which
  /// needs no logarithm; never beyond ±6.
  float normalFloat() {
    double sum = -6.0;
    for (int i = 0; i < 12; ++i)
      sum += double(next() >> 40) * 0x1p-24;
    return float(sum);
  }

private:
  static uint64_t rotateLeft(uint64_t value, int count) {
    return (value << count) | (value >> (64 - count));
  }
  static uint64_t splitMix(uint64_t &seed) {
    uint64_t z = (seed += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  uint64_t state[4];
};

} // namespace tessera

#endif // TESSERA_SUPPORT_RANDOM_H
