//===- NotificationRing.h - What the device has told ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Interrupts between their arrival and the completion drain. Bounded: when it
// is full, what more arrives is only counted, and the drain looks at every
// queue instead of those named. Nothing is lost by that, since the device's
// registers hold the truth and an interrupt only says where to look.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_SRC_NOTIFICATIONRING_H
#define TESSERA_RUNTIME_SRC_NOTIFICATIONRING_H

#include "tessera/driver/Driver.h"
#include <array>
#include <optional>
#include <utility>

namespace tessera::runtime {

class NotificationRing {
public:
  static constexpr size_t capacity = 64;

  void push(const driver::Interrupt &interrupt) {
    ++total;
    if (size() == capacity) {
      ++overflowCount;
      missed = true;
      return;
    }
    ring[tail++ % capacity] = interrupt;
  }
  std::optional<driver::Interrupt> pop() {
    if (head == tail)
      return std::nullopt;
    return ring[head++ % capacity];
  }
  size_t size() const { return size_t(tail - head); }
  /// Whether some did not fit since the last call.
  bool takeMissed() { return std::exchange(missed, false); }

  uint64_t received() const { return total; }
  uint64_t overflows() const { return overflowCount; }

private:
  std::array<driver::Interrupt, capacity> ring{};
  uint64_t head = 0, tail = 0, total = 0, overflowCount = 0;
  bool missed = false;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SRC_NOTIFICATIONRING_H
