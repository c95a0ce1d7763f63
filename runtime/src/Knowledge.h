//===- Knowledge.h - Which operations precede -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A vector clock over queues and the host. The operations of a queue complete
// in any order, so a queue's component is no single number: all operations
// below one, and some beyond it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_SRC_KNOWLEDGE_H
#define TESSERA_RUNTIME_SRC_KNOWLEDGE_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tessera::runtime {

class Knowledge {
public:
  uint64_t host = 0; ///< Events of the host below this number.

  bool has(uint32_t queue, uint64_t operation) const {
    if (queue >= queues.size())
      return false;
    const Component &c = queues[queue];
    return operation < c.below ||
           std::binary_search(c.beyond.begin(), c.beyond.end(), operation);
  }

  void add(uint32_t queue, uint64_t operation) {
    Component &c = component(queue);
    if (operation < c.below)
      return;
    auto place = std::lower_bound(c.beyond.begin(), c.beyond.end(), operation);
    if (place == c.beyond.end() || *place != operation)
      c.beyond.insert(place, operation);
    c.normalize();
  }

  /// All operations of the queue below `operation`.
  void addBelow(uint32_t queue, uint64_t operation) {
    Component &c = component(queue);
    c.below = std::max(c.below, operation);
    c.normalize();
  }

  void join(const Knowledge &other) {
    host = std::max(host, other.host);
    for (uint32_t q = 0; q < other.queues.size(); ++q) {
      const Component &theirs = other.queues[q];
      Component &ours = component(q);
      ours.below = std::max(ours.below, theirs.below);
      if (!theirs.beyond.empty()) {
        std::vector<uint64_t> both;
        both.reserve(ours.beyond.size() + theirs.beyond.size());
        std::set_union(ours.beyond.begin(), ours.beyond.end(),
                       theirs.beyond.begin(), theirs.beyond.end(),
                       std::back_inserter(both));
        ours.beyond = std::move(both);
      }
      ours.normalize();
    }
  }

private:
  struct Component {
    uint64_t below = 0;
    std::vector<uint64_t> beyond; ///< Sorted, all above `below`.
    void normalize() {
      size_t gone = 0;
      while (gone < beyond.size() && beyond[gone] <= below)
        below = std::max(below, beyond[gone++] + 1);
      beyond.erase(beyond.begin(), beyond.begin() + gone);
    }
  };
  Component &component(uint32_t queue) {
    if (queue >= queues.size())
      queues.resize(queue + 1);
    return queues[queue];
  }
  std::vector<Component> queues;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SRC_KNOWLEDGE_H
