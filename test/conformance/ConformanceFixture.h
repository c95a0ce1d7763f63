//===- ConformanceFixture.h - What every scenario starts from ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scenario is a test that carries the name it has in
// docs/runtime/scenarios.md and runs on every back end it applies to. S and T
// are timelines at 0; "doped" buffers hold a pattern no right answer contains.
//
// One file of scenarios is one test suite, derived from Conformance and
// instantiated by TESSERA_CONFORMANCE; a suite that needs a back end with some
// property filters backEnds() itself.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_CONFORMANCE_CONFORMANCEFIXTURE_H
#define TESSERA_TEST_CONFORMANCE_CONFORMANCEFIXTURE_H

#include "RuntimeFixture.h"

namespace tessera::runtime {

class Conformance : public RuntimeTest {
protected:
  static bool allAre(const std::vector<uint32_t> &words, uint32_t value) {
    for (uint32_t word : words)
      if (word != value)
        return false;
    return true;
  }
};

#define TESSERA_CONFORMANCE(Suite) TESSERA_ON_ALL_DRIVERS(Suite)

} // namespace tessera::runtime

#endif // TESSERA_TEST_CONFORMANCE_CONFORMANCEFIXTURE_H
