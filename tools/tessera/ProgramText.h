//===- ProgramText.h - What happened, by instruction ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TESSERA_PROGRAMTEXT_H
#define TESSERA_TOOLS_TESSERA_PROGRAMTEXT_H

#include "tessera/Object/Object.h"
#include "tessera/sim/Check.h"
#include <map>
#include <span>
#include <string>

namespace tessera::tool {

/// Which kernel of an object lies where in device memory: numbers by the
/// address of the record.
using KernelAddresses = std::map<uint64_t, size_t>;

/// "kernel conv1, Conv_3": a place in a program as a finding names it.
std::string placeText(const Object &object, const KernelAddresses &kernels,
                      uint64_t kernel, uint32_t pc);

/// "kernel, source location: the instruction" of packet `command` of the
/// command stream at `pc`; empty if the packet runs no kernel of the object.
std::string faultPlaceText(const Object &object, uint64_t command, uint64_t pc);

/// "race,memory,sync" and parts of it; InvalidArgument naming what is unknown.
Result<sim::CheckOptions> parseChecks(std::string_view text);

/// The disassembly of every kernel that ran, with how often each instruction
/// was executed, its cycles and what it waited for.
Result<std::string>
annotatedDisassembly(const Object &object, const KernelAddresses &kernels,
                     std::span<const sim::KernelStatistics> statistics);

} // namespace tessera::tool

#endif // TESSERA_TOOLS_TESSERA_PROGRAMTEXT_H
