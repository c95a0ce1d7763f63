//===- Progress.h - A progress bar on a terminal ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TESSERA_PROGRESS_H
#define TESSERA_TOOLS_TESSERA_PROGRESS_H

#include "tessera/Support/Progress.h"
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::tool {

/// One line on stderr, drawn over and over and wiped at the end; nothing at all
/// if stderr is no terminal, or within the first half second.
class Progress {
public:
  Progress();
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  bool visible() const { return onTerminal; }
  /// Whether it is time to draw again; cheap.
  bool due() const;
  /// A bar of `done` of `total` steps of `what`, the time that the rest takes
  /// at the rate so far, and a remark.
  void draw(std::string_view what, uint64_t done, uint64_t total,
            std::string_view remark);
  /// Seconds since the present `what` began.
  double seconds() const;

private:
  using Clock = std::chrono::steady_clock;
  std::string stage;
  bool onTerminal, drawn = false;
  Clock::time_point next, began;
};

/// A function that draws on a line of its own as long as a copy of it lives;
/// empty if stderr is no terminal.
ProgressFunction drawProgress();

} // namespace tessera::tool

#endif // TESSERA_TOOLS_TESSERA_PROGRESS_H
