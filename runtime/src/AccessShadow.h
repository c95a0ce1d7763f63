//===- AccessShadow.h - Who accessed which byte last ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exact to the byte: runs of bytes with the same history are one segment, cut
// where an access begins or ends.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_SRC_ACCESSSHADOW_H
#define TESSERA_RUNTIME_SRC_ACCESSSHADOW_H

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tessera::runtime {

/// Where an access comes from: one operation, or one access of the host.
struct AccessSite {
  bool isHost = false;
  uint32_t queue = 0;
  uint64_t number = 0; ///< Of the operation in its queue; of the host's event.
  uint64_t serial = 0; ///< Submissions and accesses of the host before it.
  std::string text;    ///< "'fill A' (queue 'Q0', operation 3)".
  std::string kind;    ///< The same for operations that are alike.
  std::string release; ///< What it signals; empty: nothing.
  bool releasesToHost = true;
};
using SitePointer = std::shared_ptr<const AccessSite>;

class AccessShadow {
public:
  struct Segment {
    uint64_t high = 0;
    SitePointer writer;
    std::vector<SitePointer> readers; ///< Since the write.
  };

  /// Calls f(low, segment) for each segment of [low, high), which exist then.
  template <typename F> void forEach(uint64_t low, uint64_t high, F f) {
    cut(low);
    cut(high);
    uint64_t at = low;
    auto it = segments.lower_bound(low);
    while (at < high) {
      if (it == segments.end() || it->first > at) {
        uint64_t end = it == segments.end() ? high : std::min(high, it->first);
        it = segments.emplace_hint(it, at, Segment{end, nullptr, {}});
      }
      f(it->first, it->second);
      at = it->second.high;
      ++it;
    }
  }

  /// The bytes have no history any more.
  void forget(uint64_t low, uint64_t high) {
    cut(low);
    cut(high);
    segments.erase(segments.lower_bound(low), segments.lower_bound(high));
  }

private:
  /// Makes `at` a border of segments.
  void cut(uint64_t at) {
    auto it = segments.upper_bound(at);
    if (it == segments.begin())
      return;
    --it;
    if (it->first == at || it->second.high <= at)
      return;
    Segment rest = it->second;
    it->second.high = at;
    segments.emplace(at, std::move(rest));
  }

  std::map<uint64_t, Segment> segments; ///< By their first byte.
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SRC_ACCESSSHADOW_H
