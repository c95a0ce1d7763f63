//===- Progress.cpp - A progress bar on a terminal ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Progress.h"
#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <unistd.h>

namespace tessera::tool {

Progress::Progress()
    : onTerminal(isatty(STDERR_FILENO)),
      next(Clock::now() + std::chrono::milliseconds(500)), began(Clock::now()) {
}

Progress::~Progress() {
  if (drawn)
    fmt::print(stderr, "\r\033[K");
}

bool Progress::due() const { return onTerminal && Clock::now() >= next; }

double Progress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

void Progress::draw(std::string_view what, uint64_t done, uint64_t total,
                    std::string_view remark) {
  if (what != stage) {
    if (!stage.empty()) // The first one began with this object.
      began = Clock::now();
    stage = what;
  }
  if (!due())
    return;
  next = Clock::now() + std::chrono::milliseconds(200);
  drawn = true;
  constexpr uint64_t width = 20;
  uint64_t filled = total ? std::min(done, total) * width / total : 0;
  std::string left;
  if (done > 0 && done < total)
    left = fmt::format(", {:.0f} s left",
                       seconds() / double(done) * double(total - done));
  // What is longer than a line of the terminal would leave rests.
  std::string line =
      fmt::format("{} [{:#<{}}{:.<{}}] {}/{}{} {}", what, "", filled, "",
                  width - filled, done, total, left, remark);
  fmt::print(stderr, "\r\033[K{:.79}", line);
  std::fflush(stderr);
}

ProgressFunction drawProgress() {
  auto line = std::make_shared<Progress>();
  if (!line->visible())
    return {};
  return [line](std::string_view what, uint64_t done, uint64_t total,
                std::string_view step) { line->draw(what, done, total, step); };
}

} // namespace tessera::tool
