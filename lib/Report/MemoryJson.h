//===- MemoryJson.h - The memory side's counters as JSON --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_REPORT_MEMORYJSON_H
#define TESSERA_LIB_REPORT_MEMORYJSON_H

#include "tessera/sim/MemoryStatistics.h"
#include <nlohmann/json.hpp>

namespace tessera::report {

/// docs/report.md, "The memory side".
nlohmann::ordered_json memoryToJson(const sim::MemoryStatistics &memory);

} // namespace tessera::report

#endif // TESSERA_LIB_REPORT_MEMORYJSON_H
