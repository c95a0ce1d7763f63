//===- InputsTest.cpp - Inputs of a run -----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"
#include "RandomTensor.h"
#include "TensorFiles.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::tool;

namespace {

TEST(RandomTensor, IsSeededAndInRange) {
  TensorSignature signature{"x", "f32", {100}, 400};
  auto a = makeRandomTensor(signature, 1, 0),
       b = makeRandomTensor(signature, 1, 0),
       c = makeRandomTensor(signature, 2, 0),
       d = makeRandomTensor(signature, 1, 1);
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(a->bytes, b->bytes);
  EXPECT_NE(a->bytes, c->bytes);
  EXPECT_NE(a->bytes, d->bytes);
  std::vector<float> values(100);
  std::memcpy(values.data(), a->bytes.data(), 400);
  for (float value : values)
    EXPECT_TRUE(value >= -1 && value < 1);
}

TEST(RandomTensor, EveryType) {
  for (const char *type :
       {"bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16",
        "f32", "f64", "bf16", "f8E4M3FN", "f8E5M2"}) {
    uint64_t bytes = 50 * elementBytes(type);
    auto made = makeRandomTensor({"x", type, {5, 10}, bytes}, 3, 0);
    ASSERT_TRUE(made.ok()) << type;
    EXPECT_EQ(made->bytes.size(), bytes);
    EXPECT_TRUE(formatTensor(*made).ok()) << type;
  }
  EXPECT_FALSE(makeRandomTensor({"x", "i4", {2}, 1}, 0, 0).ok());
  EXPECT_FALSE(makeRandomTensor({"x", "f32", {2}, 4}, 0, 0).ok());
}

TEST(TensorFiles, WhatAFileMayStandFor) {
  EXPECT_TRUE(acceptsAs("f32", "f32"));
  EXPECT_TRUE(acceptsAs("u16", "bf16"));
  EXPECT_TRUE(acceptsAs("u8", "f8E5M2"));
  EXPECT_TRUE(acceptsAs("u8", "bool"));
  EXPECT_FALSE(acceptsAs("u16", "f16")); // NumPy has it.
  EXPECT_FALSE(acceptsAs("f64", "f32"));
  EXPECT_FALSE(acceptsAs("i32", "f32"));
}

TEST(TensorFiles, Listing) {
  EXPECT_EQ(
      describeTensors({{"y", "f32", {2, 3}, {}}}),
      "[\n  {\n    \"name\": \"y\",\n    \"type\": \"f32\",\n    \"shape\": [\n"
      "      2,\n      3\n    ],\n    \"file\": \"0.npy\"\n  }\n]\n");
}

} // namespace
