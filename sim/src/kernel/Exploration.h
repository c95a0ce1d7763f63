//===- Exploration.h - Choices of an explored schedule ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A choice is a function of the seed and of where it is made, never of a
// generator's state: a snapshot needs to hold nothing, and two choices do not
// depend on each other's order.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_KERNEL_EXPLORATION_H
#define TESSERA_SIM_KERNEL_EXPLORATION_H

#include <cstdint>

namespace tessera::sim {

/// Mixes each bit into all others (the usual finaliser of two multiplications
/// and three shifts).
inline uint64_t mixBits(uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdu;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53u;
  return x ^ (x >> 33);
}

/// The choice of schedule `seed` at `time` for the chooser numbered `who`.
inline uint64_t exploredChoice(uint64_t seed, uint64_t time, uint64_t who) {
  return mixBits(seed ^ mixBits(time ^ mixBits(who + 1)));
}

} // namespace tessera::sim

#endif // TESSERA_SIM_KERNEL_EXPLORATION_H
