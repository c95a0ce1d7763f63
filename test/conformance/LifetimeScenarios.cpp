//===- LifetimeScenarios.cpp - Handles that go while work runs -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConformanceFixture.h"

using namespace tessera;
using namespace tessera::runtime;

namespace {

class LifetimeConformance : public Conformance {};

TEST_P(LifetimeConformance, drop_handles_in_flight) {
  Semaphore go = semaphore("go", true);
  Buffer b = buffer(4096);
  dope(b);
  {
    Queue q = queue();
    Buffer a = buffer(4096);
    ASSERT_OK(go.signal(1));
    ASSERT_OK(q.fill(a, 3, {.wait = {{go, 1}}}));
    ASSERT_OK(q.copy(b, a, {.barrier = true}));
  }
  EXPECT_TRUE(allAre(contents(b), 3));

  // Work that cannot finish keeps its memory; dropping everything is defined.
  Queue parked = queue("parked");
  Semaphore never = semaphore("never");
  ASSERT_OK(parked.fill(b, 4, {.wait = {{never, 1}}}));
  parked = Queue();
  b = Buffer();
  never = Semaphore();
  space = AddressSpace();
  device = Device();
}

TESSERA_CONFORMANCE(LifetimeConformance);

} // namespace
