//===- Llc.cpp - Memory-side cache ------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "memory/Llc.h"
#include <algorithm>

namespace tessera::sim {

Llc::Llc(const Architecture &arch)
    : sets(arch.llc.bytes / (uint64_t(std::max(1u, arch.dram.channels)) *
                             std::max(1u, arch.llc.ways) * lineBytes)),
      ways(std::max(1u, arch.llc.ways)),
      lines(size_t(sets) * ways * arch.dram.channels) {}

Llc::Line *Llc::setOf(uint32_t channel, uint64_t line) {
  // A slice's lines have the channel's bits in common: mixed, all sets are
  // used.
  uint64_t mixed = line * 0x9e3779b97f4a7c15u;
  uint64_t set = (mixed ^ mixed >> 32) % sets;
  return lines.data() + (channel * sets + set) * ways;
}

Llc::Outcome Llc::access(uint32_t channel, uint64_t line, bool write,
                         bool whole) {
  Line *set = setOf(channel, line);
  Outcome outcome;
  Line *victim = nullptr;
  for (Line *l = set; l != set + ways; ++l) {
    if (l->tag == line + 1) {
      ++count.hits;
      l->lastUse = ++useClock;
      l->dirty |= write;
      outcome.ready = l->ready;
      return outcome;
    }
    // One whose data is on its way is not given up.
    if ((l->tag == 0 || l->ready != unknown) &&
        (!victim || l->lastUse < victim->lastUse))
      victim = l;
  }
  ++count.misses;
  outcome.fetches = !whole;
  if (!victim) {
    ++count.bypasses;
    outcome.cached = false;
    outcome.ready = unknown;
    return outcome;
  }
  if (victim->tag != 0 && victim->dirty) {
    ++count.writeBacks;
    outcome.writesBack = true;
    outcome.victim = victim->tag - 1;
  }
  count.fills += outcome.fetches;
  outcome.ready = outcome.fetches ? unknown : 0;
  *victim = {line + 1, ++useClock, outcome.ready, write};
  return outcome;
}

void Llc::filled(uint32_t channel, uint64_t line, Cycle ready) {
  Line *set = setOf(channel, line);
  for (Line *l = set; l != set + ways; ++l)
    if (l->tag == line + 1)
      l->ready = ready;
}

} // namespace tessera::sim
