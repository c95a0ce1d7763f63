//===- ProgramCheck.h - Prove a dispatch's program ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Executes a program's control flow, scalars, descriptors and semaphores, one
// instruction at a time as the reference semantics say, without any data, on
// all cores of a dispatch together. What it finds would be a fault or a hang on
// the device.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_PROGRAMCHECK_H
#define TESSERA_CONVERSION_PROGRAMCHECK_H

#include "tessera/ISA/Descriptor.h"
#include "tessera/ISA/Instruction.h"
#include "tessera/ISA/MapProgram.h"
#include <optional>
#include <span>

namespace tessera {

struct ProgramCheckOptions {
  uint64_t spmBytes = 0, accBytes = 0;
  uint32_t semaphores = 32;
  uint32_t matrixEngines = 1;
  uint32_t numCores = 1; ///< Of the dispatch, >= 1.
  uint32_t columns = 1;  ///< Of its rectangle of cores; divides numCores.
  /// Sizes of the buffers that the arguments point to; empty: not known, and
  /// global accesses are not checked.
  std::vector<uint64_t> argumentBytes;
  uint64_t maxSteps = 5'000'000; ///< Of all cores together.
};

struct ProgramCheckResult {
  Status status;
  /// The instruction and the core that `status` or `unproven` is about.
  std::optional<size_t> instruction;
  uint32_t core = 0;
  /// Why the rest of the program was not looked at; empty if all of it was.
  std::string unproven;
};

ProgramCheckResult checkProgram(std::span<const isa::Instruction> program,
                                std::span<const isa::Descriptor> descriptors,
                                std::span<const isa::MapProgram> mapPrograms,
                                const ProgramCheckOptions &options);

/// Whether the cores of a dispatch may do different things; otherwise one of
/// them stands for all.
bool dependsOnCore(std::span<const isa::Instruction> program);

} // namespace tessera

#endif // TESSERA_CONVERSION_PROGRAMCHECK_H
