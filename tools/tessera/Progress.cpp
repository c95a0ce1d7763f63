//===- Progress.cpp - A progress bar on a terminal ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Progress.h"
#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

namespace tessera::tool {

Progress::Progress(std::string what)
    : what(std::move(what)), onTerminal(isatty(STDERR_FILENO)),
      next(Clock::now() + std::chrono::milliseconds(500)) {}

Progress::~Progress() {
  if (drawn)
    fmt::print(stderr, "\r\033[K");
}

bool Progress::due() const { return onTerminal && Clock::now() >= next; }

void Progress::draw(uint64_t done, uint64_t total, const std::string &remark) {
  if (!due())
    return;
  next = Clock::now() + std::chrono::milliseconds(200);
  drawn = true;
  constexpr uint64_t width = 30;
  uint64_t filled = total ? std::min(done, total) * width / total : 0;
  fmt::print(stderr, "\r\033[K{} [{:#<{}}{:.<{}}] {}/{} {}", what, "", filled,
             "", width - filled, done, total, remark);
  std::fflush(stderr);
}

} // namespace tessera::tool
