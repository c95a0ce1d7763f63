//===- Litmus.h - Litmus tests of the memory model --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small programs whose outcomes docs/memory-model.md allows or forbids. Each
// thread is a queue, or the host; each operation stores to, or loads from, a
// location in device memory. Every schedule runs on a fresh simulated device
// that explores its seed.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_CONFORMANCE_LITMUS_H
#define TESSERA_TEST_CONFORMANCE_LITMUS_H

#include "tessera/Support/Status.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::litmus {

/// What orders the operations of one thread.
enum class Order : uint8_t {
  Relaxed,   ///< Nothing.
  Barrier,   ///< Queue scope: the second has the barrier option.
  Semaphore, ///< Device scope: it waits for a signal of the first.
};

/// Who runs the first thread.
enum class Agent : uint8_t {
  Queue,
  Host, ///< System scope: through the memory window, in program order.
};

struct Step {
  bool store = false;
  unsigned location = 0; ///< 0: X, 1: Y.
  uint32_t value = 0;    ///< Stored.
  unsigned result = 0;   ///< Register that a load goes to.
};

struct Shape {
  std::string name;
  std::vector<std::vector<Step>> threads;
  unsigned results = 0;
  /// The outcome that sequential consistency forbids: registers, then X and Y
  /// at the end where the shape looks at them.
  std::vector<uint32_t> weak;
  bool looksAtMemory = false;
};

/// MP, SB, LB, IRIW, WRC, 2+2W.
const std::vector<Shape> &shapes();

struct Test {
  const Shape *shape = nullptr;
  Order order = Order::Relaxed;
  Agent agent = Agent::Queue;
  /// "MP/system/ordered", "SB/queue/relaxed".
  std::string name() const;
  /// In a relaxed test the weak outcome is allowed, and must be seen.
  bool weakAllowed() const { return order == Order::Relaxed; }
};
/// Every shape at every scope, ordered and relaxed.
std::vector<Test> tests();

/// One run: the registers, then X and Y where the shape looks at them.
Result<std::vector<uint32_t>> runSchedule(const Test &test, uint64_t seed);

struct Findings {
  uint64_t schedules = 0;
  uint64_t weakSeen = 0;             ///< How often the weak outcome came.
  uint64_t outcomes = 0;             ///< Different ones.
  std::optional<uint64_t> violation; ///< The first seed that broke the model.
  std::string what;
  bool good(const Test &test) const {
    return !violation && (!test.weakAllowed() || weakSeen > 0);
  }
};
/// `count` schedules from `seed` on; ends at the first violation.
Findings explore(const Test &test, uint64_t seed, uint64_t count);

} // namespace tessera::litmus

#endif // TESSERA_TEST_CONFORMANCE_LITMUS_H
