//===- TraceFile.h - What --trace writes ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TESSERA_TRACEFILE_H
#define TESSERA_TOOLS_TESSERA_TRACEFILE_H

#include "tessera/Object/Object.h"
#include "tessera/Support/Status.h"
#include "tessera/sim/Trace.h"
#include <memory>
#include <string>

namespace tessera::tool {

/// A trace that becomes a file; the ending of its name says the format. The
/// file appears when the trace is complete, or not at all.
class TraceFile {
public:
  virtual ~TraceFile() = default;
  virtual sim::TraceObserver &observer() = 0;
  /// Writes what is left and puts the file in its place.
  virtual Status finish() = 0;
};

/// Whether `path` has the ending of a format.
bool isTraceName(const std::string &path);
/// A trace of a run of `object`.
Result<std::unique_ptr<TraceFile>> openTrace(const std::string &path,
                                             const Object &object,
                                             const Architecture &arch);

} // namespace tessera::tool

#endif // TESSERA_TOOLS_TESSERA_TRACEFILE_H
