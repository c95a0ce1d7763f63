//===- Progress.h - A progress bar on a terminal ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TESSERA_PROGRESS_H
#define TESSERA_TOOLS_TESSERA_PROGRESS_H

#include <chrono>
#include <cstdint>
#include <string>

namespace tessera::tool {

/// One line on stderr, drawn over and over and wiped at the end; nothing at all
/// if stderr is no terminal, or within the first half second.
class Progress {
public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  bool visible() const { return onTerminal; }
  /// Whether it is time to draw again; cheap.
  bool due() const;
  /// `done` of `total`, and a remark behind the bar.
  void draw(uint64_t done, uint64_t total, const std::string &remark);

private:
  using Clock = std::chrono::steady_clock;
  std::string what;
  bool onTerminal, drawn = false;
  Clock::time_point next;
};

} // namespace tessera::tool

#endif // TESSERA_TOOLS_TESSERA_PROGRESS_H
