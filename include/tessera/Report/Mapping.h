//===- Mapping.h - How dispatches were mapped ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_REPORT_MAPPING_H
#define TESSERA_REPORT_MAPPING_H

#include "tessera/Report/RunReport.h"
#include <string>

namespace tessera::report {

/// For each dispatch the plan, its floor without memory, the cycles that the
/// compiler expects from the first instruction to the last and those that `run`
/// (of this object; null: none) measured, and the runner-up. Fails as
/// computeBounds does.
Result<std::string> explainMapping(const Object &object,
                                   const Architecture &arch,
                                   const RunReport *run);

} // namespace tessera::report

#endif // TESSERA_REPORT_MAPPING_H
