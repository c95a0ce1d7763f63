//===- PerfettoFile.h - A trace that becomes a file --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_PERFETTOFILE_H
#define TESSERA_SIM_PERFETTOFILE_H

#include "tessera/Support/File.h"
#include "tessera/sim/BackgroundTrace.h"
#include "tessera/sim/PerfettoTrace.h"

namespace tessera::sim {

/// Written while the simulation runs; the file appears when the trace is
/// complete, or not at all.
class PerfettoFile final : public TraceObserver {
public:
  PerfettoFile(FileReplacement place,
               std::map<uint64_t, TracedDispatch> dispatches)
      : file(std::move(place)),
        writer(std::move(dispatches),
               [this](std::span<const uint8_t> bytes) { file.write(bytes); }),
        background(writer) {}

  void event(const TraceEvent &event) override { background.event(event); }
  /// Writes what is left and puts the file in its place.
  Status finish() {
    background.finish();
    writer.finish();
    return file.commit();
  }

private:
  FileReplacement file;
  PerfettoTraceWriter writer;
  BackgroundTrace background; ///< Ends before what it writes with.
};

} // namespace tessera::sim

#endif // TESSERA_SIM_PERFETTOFILE_H
