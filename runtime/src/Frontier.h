//===- Frontier.h - Points of timelines known to be reached -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sparse vector clock over timelines: for some of them a value that has been
// reached by the moment the frontier stands for. Sorted by timeline; what it
// does not name is not known.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_SRC_FRONTIER_H
#define TESSERA_RUNTIME_SRC_FRONTIER_H

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace tessera::runtime {

class Frontier {
public:
  /// `timeline` is SemaphoreState::serial.
  void add(uint64_t timeline, uint64_t value) {
    auto at = std::ranges::lower_bound(points, timeline, {},
                                       &std::pair<uint64_t, uint64_t>::first);
    if (at != points.end() && at->first == timeline)
      at->second = std::max(at->second, value);
    else
      points.insert(at, {timeline, value});
  }
  void join(const Frontier &other) {
    for (auto [timeline, value] : other.points)
      add(timeline, value);
  }
  bool covers(uint64_t timeline, uint64_t value) const {
    auto at = std::ranges::lower_bound(points, timeline, {},
                                       &std::pair<uint64_t, uint64_t>::first);
    return at != points.end() && at->first == timeline && at->second >= value;
  }
  size_t size() const { return points.size(); }

private:
  std::vector<std::pair<uint64_t, uint64_t>> points;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SRC_FRONTIER_H
