//===- Bottleneck.h - What limits a run, in words --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_REPORT_BOTTLENECK_H
#define TESSERA_REPORT_BOTTLENECK_H

#include "tessera/Report/RunReport.h"
#include <compare>
#include <optional>
#include <string>
#include <vector>

namespace tessera::report {

/// What a dispatch spends its cycles on. It is limited by a unit that its own
/// work keeps going for at least half of its cycles; else it mostly waits.
struct DispatchVerdict {
  Limiter limiter = Limiter::None; ///< None: it waits.
  /// Of a waiting dispatch: what its load, matrix and vector engines wait for
  /// most, QueueEmpty if for nothing; followed from engine to engine to the one
  /// that waits for none, with that engine's own largest cause.
  sim::StallCause cause = sim::StallCause::QueueEmpty;
  std::optional<sim::Engine> engine;
  /// Most of it lies before the kernel's first instruction and after its last.
  bool outsideKernel = false;
  auto operator<=>(const DispatchVerdict &) const = default;
};
DispatchVerdict judge(const DispatchReport &dispatch);

/// The largest part of the run's time: "limited by DRAM bandwidth for 71 %".
std::string mainPart(const RunReport &report);
/// One to three sentences: where the time goes, the dispatch that loses most
/// and why, and what to try. docs/report.md, "What limits a run".
std::vector<std::string> explain(const RunReport &report);

} // namespace tessera::report

#endif // TESSERA_REPORT_BOTTLENECK_H
