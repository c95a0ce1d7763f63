//===- MemoryReport.h - Counters of the memory side -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_MEMORYREPORT_H
#define TESSERA_SIM_MEMORYREPORT_H

#include "memory/MemorySystem.h"
#include "tessera/Support/Status.h"
#include "tessera/sim/MemoryStatistics.h"

namespace tessera::sim {

MemoryStatistics describeMemory(const MemorySystem &memory, const Noc &noc,
                                const Architecture &arch);

/// Internal, with what is wrong, unless as much came out of the network and the
/// DRAM channels as went in.
Status checkMemory(const MemorySystem &memory, const Noc &noc);

} // namespace tessera::sim

#endif // TESSERA_SIM_MEMORYREPORT_H
