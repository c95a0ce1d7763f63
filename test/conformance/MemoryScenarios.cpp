//===- MemoryScenarios.cpp - Allocation under pressure -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConformanceFixture.h"

using namespace tessera;
using namespace tessera::runtime;

namespace {

class MemoryConformance : public Conformance {};

TEST_P(MemoryConformance, oom_kinds) {
  uint64_t total = device.driver().memorySize(isa::PhysicalSpace::Dram);
  uint64_t half = total / 2;
  Buffer first = buffer(half, "first");
  BufferOptions options;
  options.label = "second";
  EXPECT_ERROR(space.allocate(half, options).status(), OutOfMemory, "'second'");
  first = Buffer();
  EXPECT_OK(space.allocate(half, options).status());
}

TESSERA_CONFORMANCE(MemoryConformance);

} // namespace
