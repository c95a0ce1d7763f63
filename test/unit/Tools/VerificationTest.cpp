//===- VerificationTest.cpp - Comparison with the reference ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verification.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::tool;

namespace {

template <typename T>
HostTensor tensor(const std::string &type, std::vector<T> values,
                  std::vector<uint64_t> shape = {}) {
  HostTensor result{"y", type, std::move(shape), {}};
  if (result.shape.empty())
    result.shape = {values.size()};
  result.bytes.resize(values.size() * sizeof(T));
  std::memcpy(result.bytes.data(), values.data(), result.bytes.size());
  return result;
}

/// A model of one contraction of depth 99 and one activation: 101 roundings.
Object model() {
  Object object;
  OperatorRecord contraction, activation;
  contraction.m = contraction.n = 1;
  contraction.k = 99;
  activation.aluOps = 1;
  object.workload = {contraction, activation};
  return object;
}

report::OutputCheck check(const HostTensor &actual,
                          const HostTensor &expected) {
  auto checks =
      compareOutputs(model(), std::span(&actual, 1), std::span(&expected, 1));
  EXPECT_TRUE(checks.ok()) << checks.status().message();
  return checks ? checks->front() : report::OutputCheck();
}

TEST(Verification, ToleranceComesFromTheModel) {
  EXPECT_EQ(countRoundings(model()), 101u);
  Object sums = model();
  sums.workload[1].k = 64; // A sum over 64 elements.
  EXPECT_EQ(countRoundings(sums), 166u);
  double tolerance = 101 * 0x1p-24 * 4;
  auto expected = tensor<float>("f32", {4, 0.5f, 0});
  auto equal = check(expected, expected);
  EXPECT_TRUE(equal.ok);
  EXPECT_EQ(equal.maxAbsError, 0);
  EXPECT_DOUBLE_EQ(equal.tolerance, tolerance);
  EXPECT_NE(equal.reason.find("101 roundings"), std::string::npos);

  float inside = float(tolerance * 0.9), outside = float(tolerance * 1.1);
  EXPECT_TRUE(check(tensor<float>("f32", {4, 0.5f, inside}), expected).ok);
  auto wrong = check(tensor<float>("f32", {4, 0.5f, outside}), expected);
  EXPECT_FALSE(wrong.ok);
  EXPECT_FLOAT_EQ(wrong.maxAbsError, outside);
  EXPECT_EQ(wrong.maxRelError, 0); // Relative to zero there is none.
  EXPECT_FLOAT_EQ(check(tensor<float>("f32", {4, 1, 0}), expected).maxRelError,
                  1);
}

TEST(Verification, WhatIsNoNumber) {
  auto odd = tensor<float>("f32", {NAN, INFINITY, -INFINITY, 1});
  EXPECT_TRUE(check(odd, odd).ok);
  auto numbers = tensor<float>("f32", {1, 1, 1, 1});
  EXPECT_FALSE(check(odd, numbers).ok);
  EXPECT_FALSE(check(numbers, odd).ok);
  EXPECT_FALSE(
      check(tensor<float>("f32", {NAN, -INFINITY, INFINITY, 1}), odd).ok);
}

TEST(Verification, IntegersAreExact) {
  auto expected = tensor<int64_t>("i64", {int64_t(1) << 60, 2});
  EXPECT_TRUE(check(expected, expected).ok);
  EXPECT_EQ(check(expected, expected).tolerance, 0);
  // A difference that a double does not see.
  EXPECT_FALSE(
      check(tensor<int64_t>("i64", {(int64_t(1) << 60) + 1, 2}), expected).ok);
  EXPECT_FALSE(
      check(tensor<uint8_t>("bool", {1, 0}), tensor<uint8_t>("bool", {1, 1}))
          .ok);
}

TEST(Verification, NarrowFormatsRoundOnceMore) {
  auto expected = tensor<uint16_t>("f16", {0x3c00}); // 1
  EXPECT_TRUE(check(tensor<uint16_t>("f16", {0x3bff}), expected).ok);
  EXPECT_FALSE(check(tensor<uint16_t>("f16", {0x3c02}), expected).ok);
  EXPECT_FALSE(check(tensor<uint16_t>("bf16", {0x3f82}),
                     tensor<uint16_t>("bf16", {0x3f80}))
                   .ok);
}

TEST(Verification, WhatRoundingChangesIsAccepted) {
  auto expected = tensor<float>("f32", {4, 1, 2});
  // Rounding up or down changes element 1 alone: by 0.25 at most.
  std::vector<std::vector<HostTensor>> rounded = {
      {tensor<float>("f32", {4, 1.25f, 2})},
      {tensor<float>("f32", {4, 0.875f, 2})}};
  auto checkSo = [&](std::vector<float> values) {
    auto actual = tensor<float>("f32", values);
    auto checks = compareOutputs(model(), std::span(&actual, 1),
                                 std::span(&expected, 1), rounded);
    EXPECT_TRUE(checks.ok()) << checks.status().message();
    return checks->front();
  };
  double base = 101 * 0x1p-24 * 4;
  auto inside = checkSo({4, 1.99f, 2});
  EXPECT_TRUE(inside.ok);
  EXPECT_DOUBLE_EQ(inside.tolerance, 4 * 0.25 + base);
  EXPECT_NE(inside.reason.find("rounding up or down"), std::string::npos);
  EXPECT_FALSE(checkSo({4, 2.01f, 2}).ok);
  // The others have no more room than before.
  auto outside = checkSo({4, 1, 2.001f});
  EXPECT_FALSE(outside.ok);
  EXPECT_EQ(outside.departing, 1u);
  EXPECT_EQ(outside.elements, 3u);
  EXPECT_NEAR(outside.rmsError, 0.001 / std::sqrt(3.0), 1e-6);
}

TEST(Verification, RoundingDoesNotExcuseIntegers) {
  auto expected = tensor<int32_t>("i32", {5});
  auto actual = tensor<int32_t>("i32", {6});
  std::vector<std::vector<HostTensor>> rounded = {
      {tensor<int32_t>("i32", {7})}};
  auto checks = compareOutputs(model(), std::span(&actual, 1),
                               std::span(&expected, 1), rounded);
  ASSERT_TRUE(checks.ok());
  EXPECT_FALSE(checks->front().ok);
  EXPECT_EQ(checks->front().tolerance, 0);
}

TEST(Verification, OtherTensorsAreAnError) {
  auto a = tensor<float>("f32", {1, 2}),
       b = tensor<float>("f32", {1, 2}, {2, 1});
  EXPECT_FALSE(
      compareOutputs(model(), std::span(&a, 1), std::span(&b, 1)).ok());
  EXPECT_FALSE(compareOutputs(model(), std::span(&a, 1), {}).ok());
}

TEST(Verification, PredictionsAreTheFirstLargest) {
  auto scores = tensor<float>("f32", {1, 3, 3, 9, 0, 0}, {2, 3});
  EXPECT_EQ(*predictions(scores), (std::vector<int64_t>{1, 0}));
  EXPECT_FALSE(predictions(tensor<float>("f32", {1, 2})));
  std::vector<int64_t> labels{1, 2};
  EXPECT_EQ(countEqual(*predictions(scores), labels), 1u);
}

} // namespace
