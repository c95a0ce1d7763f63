//===- Check.h - Checking modes ---------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the device finds wrong with the programs that it runs. Checking changes
// no simulated cycle and no value.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CHECK_H
#define TESSERA_SIM_CHECK_H

#include "tessera/ISA/Descriptor.h"
#include "tessera/sim/Statistics.h"
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tessera::sim {

struct CheckOptions {
  /// Conflicting accesses that queue order and semaphores do not order.
  bool race = false;
  /// Reads of scratchpad and accumulator bytes that nothing has written.
  bool memory = false;
  /// Semaphores that are not 0 at the end; deadlock.
  bool sync = false;
  bool any() const { return race || memory || sync; }
};

/// An instruction as it was executed.
struct CheckedInstruction {
  uint32_t core = 0;
  Engine engine = Engine::Sequencer;
  uint64_t kernel = 0; ///< Virtual address of the kernel record.
  uint32_t pc = 0;     ///< Instruction index in the kernel.
  std::string text;    ///< Disassembly.
  uint64_t cycle = 0;  ///< It started then, or waits since then.
};

struct Finding {
  enum class Kind : uint8_t { Race, Uninitialized, SemaphoreNotZero, Deadlock };
  Kind kind = Kind::Race;
  /// What happened, without the instructions.
  std::string message;
  /// Race: the earlier and the later one in this run. Deadlock: the cycle.
  std::vector<CheckedInstruction> instructions;
  /// The bytes of the first occurrence.
  isa::Space space = isa::Space::Spm;
  uint64_t low = 0, high = 0;
  /// How often these instructions met; not of deadlocks.
  uint64_t occurrences = 1;
};

/// "race", "memory", "sync": the mode that reports a finding.
std::string_view checkName(Finding::Kind kind);

/// Names a place in a program: kernel and source location.
using PlaceNamer = std::function<std::string(uint64_t kernel, uint32_t pc)>;
/// A finding as text, one line for each instruction after the first line.
std::string print(const Finding &finding, const PlaceNamer &place);

} // namespace tessera::sim

#endif // TESSERA_SIM_CHECK_H
