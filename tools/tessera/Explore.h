//===- Explore.h - Many schedules of one program ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TESSERA_EXPLORE_H
#define TESSERA_TOOLS_TESSERA_EXPLORE_H

#include "Simulation.h"

namespace tessera::tool {

/// Runs `count` schedules that the memory model leaves open, seeds from
/// `options.seed` on. Every one must end like `expected`, byte for byte, without
/// a finding of the checks in `options`. The first that does not is an error
/// that names its seed.
Status exploreSchedules(const Object &object, const Architecture &arch,
                        std::span<const HostTensor> inputs,
                        const SimulationOptions &options,
                        const SimulationResult &expected, uint64_t count);

} // namespace tessera::tool

#endif // TESSERA_TOOLS_TESSERA_EXPLORE_H
