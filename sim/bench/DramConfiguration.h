//===- DramConfiguration.h - The DRAM that dram-bench drives ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_BENCH_DRAMCONFIGURATION_H
#define TESSERA_SIM_BENCH_DRAMCONFIGURATION_H

#include "tessera/Arch/Architecture.h"
#include <string>

namespace tessera::bench {

/// The DRAM of `source`: the name of a timing preset (one channel), an
/// architecture file, or a file with nothing but a `dram:` section. `mapping`
/// replaces the mapping: a bit string, or one of these, most significant field
/// first:
///   native  row, rank, bank, bank group, channel, pseudo-channel, column
///   bgi     row, rank, bank, column, bank group, channel, pseudo-channel
///   bgi64   as bgi, with the columns of 64 bytes lowest
Result<DramConfig> loadDram(const std::string &source,
                            const std::string &mapping);

} // namespace tessera::bench

#endif // TESSERA_SIM_BENCH_DRAMCONFIGURATION_H
