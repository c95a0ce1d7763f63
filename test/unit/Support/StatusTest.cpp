//===- StatusTest.cpp - Tests of errors and formats -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Status.h"
#include "tessera/Support/NumericFormat.h"
#include <gtest/gtest.h>

using namespace tessera;

static Result<int> half(int value) {
  if (value % 2)
    return Status(StatusCode::InvalidArgument, "odd");
  return value / 2;
}
static Result<int> quarter(int value) {
  TESSERA_ASSIGN_OR_RETURN(int once, half(value));
  TESSERA_ASSIGN_OR_RETURN(int twice, half(once));
  return twice;
}

TEST(Status, PropagatesThroughMacros) {
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(6).status().message(), "odd");
  EXPECT_EQ(quarter(6).status().withContext("node").message(), "node: odd");
  EXPECT_TRUE(Status::success().withContext("node").ok());
}

TEST(Status, EveryCodeHasItsName) {
  for (unsigned i = 0; i <= unsigned(StatusCode::Internal); ++i)
    EXPECT_NE(statusCodeName(StatusCode(i)), "unknown");
  EXPECT_EQ(statusCodeName(StatusCode::PageFault), "PageFault");
}

TEST(NumericFormat, NamesRoundTrip) {
  for (unsigned i = 0; i < numNumericFormats; ++i) {
    NumericFormat format = NumericFormat(i);
    EXPECT_EQ(formatFromName(formatName(format)), format);
  }
  EXPECT_FALSE(formatFromName("f64"));
  EXPECT_EQ(bitWidth(NumericFormat::I4), 4u);
  EXPECT_EQ(bitWidth(NumericFormat::BF16), 16u);
  EXPECT_TRUE(isFloat(NumericFormat::F8E5M2));
  EXPECT_FALSE(isFloat(NumericFormat::I32));
}
