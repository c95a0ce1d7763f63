//===- DocumentationTest.cpp - The committed reference --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/File.h"
#include "gtest/gtest.h"

TEST(IsaDocumentation, CommittedReferenceIsUpToDate) {
  auto committed = tessera::readTextFile(TESSERA_SOURCE_DIR "/docs/isa.md");
  auto generated = tessera::readTextFile(TESSERA_BINARY_DIR "/docs/isa.md");
  ASSERT_TRUE(committed.ok()) << committed.status().message();
  ASSERT_TRUE(generated.ok()) << generated.status().message();
  EXPECT_TRUE(*committed == *generated)
      << "docs/isa.md differs from the instruction table; copy the generated "
         "one over it: " TESSERA_BINARY_DIR "/docs/isa.md";
}
