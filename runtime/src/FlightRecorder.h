//===- FlightRecorder.h - The last events of a queue ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Always on: an event costs a few stores into a ring that is part of the queue.
// Labels are cut off rather than copied to the heap.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_SRC_FLIGHTRECORDER_H
#define TESSERA_RUNTIME_SRC_FLIGHTRECORDER_H

#include "tessera/runtime/Diagnosis.h"
#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace tessera::runtime {

class FlightRecorder {
public:
  static constexpr size_t capacity = 32;

  void add(FlightEvent::Kind kind, driver::Time time, uint64_t first,
           uint64_t last, std::string_view label) {
    Entry &entry = ring[count++ % capacity];
    entry.kind = kind;
    entry.time = time;
    entry.first = first;
    entry.last = last;
    entry.length = uint8_t(std::min(label.size(), entry.label.size()));
    std::memcpy(entry.label.data(), label.data(), entry.length);
  }

  /// Oldest first.
  std::vector<FlightEvent> events() const {
    std::vector<FlightEvent> result;
    for (uint64_t i = count > capacity ? count - capacity : 0; i < count; ++i) {
      const Entry &entry = ring[i % capacity];
      result.push_back({entry.kind, entry.time, entry.first, entry.last,
                        std::string(entry.label.data(), entry.length)});
    }
    return result;
  }

private:
  struct Entry {
    driver::Time time = 0;
    uint64_t first = 0, last = 0;
    FlightEvent::Kind kind = FlightEvent::Kind::Submitted;
    uint8_t length = 0;
    std::array<char, 38> label{};
  };
  std::array<Entry, capacity> ring{};
  uint64_t count = 0;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SRC_FLIGHTRECORDER_H
