//===- ReferenceTest.cpp - Running models on the host ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Reference/Reference.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "tessera/Import/Import.h"
#include "tessera/Support/Npy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>

using namespace tessera;

namespace {

std::span<const std::byte> bytesOf(std::span<const float> values) {
  return std::as_bytes(values);
}

std::vector<float> floatsOf(std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

struct Host {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  Host() {
    mlir::DialectRegistry registry;
    registerImportDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }
  /// Runs MLIR text on float inputs.
  std::vector<std::vector<float>>
  run(const char *text, const std::vector<std::vector<float>> &inputs,
      HostRounding rounding = HostRounding::Nearest) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    Result<HostReference> reference = HostReference::compile(*module);
    EXPECT_TRUE(reference.ok()) << reference.status().message();
    if (!reference.ok())
      return {};
    std::vector<std::span<const std::byte>> spans;
    for (const std::vector<float> &input : inputs)
      spans.push_back(bytesOf(input));
    auto outputs = reference->run(spans, rounding);
    EXPECT_TRUE(outputs.ok()) << outputs.status().message();
    std::vector<std::vector<float>> result;
    if (outputs.ok())
      for (const std::vector<std::byte> &output : *outputs)
        result.push_back(floatsOf(output));
    return result;
  }
};

TEST(Reference, RoundsAsAskedFor) {
  Host host;
  const char *text = R"(
    func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
      %e = tensor.empty() : tensor<2xf32>
      %r = linalg.div ins(%a, %b : tensor<2xf32>, tensor<2xf32>)
                      outs(%e : tensor<2xf32>) -> tensor<2xf32>
      return %r : tensor<2xf32>
    })";
  auto divide = [&](HostRounding rounding) {
    return host.run(text, {{1, 6}, {3, 2}}, rounding).at(0);
  };
  // A third lies between two floats, 3 is one.
  float below = 0x1.555554p-2f, above = 0x1.555556p-2f;
  EXPECT_EQ(divide(HostRounding::Down), (std::vector<float>{below, 3}));
  EXPECT_EQ(divide(HostRounding::Up), (std::vector<float>{above, 3}));
  EXPECT_EQ(divide(HostRounding::Nearest), (std::vector<float>{above, 3}));
  volatile float one = 1, three = 3; // The mode ends with the run.
  EXPECT_EQ(one / three, above);
}

TEST(Reference, DigitsAgreeWithOtherSoftware) {
  const std::string root = TESSERA_SOURCE_DIR;
  auto images = readNpy(root + "/third_party/digits/inputs/0.npy");
  auto labels = readNpy(root + "/third_party/digits/inputs/labels.npy");
  auto expected = readNpy(root + "/test/e2e/models/digits.expected.npy");
  ASSERT_TRUE(images.ok() && labels.ok() && expected.ok());

  Host host;
  ImportOptions options;
  options.inputShapesByPosition[0] = images->shape;
  auto module =
      importModel(host.context, root + "/test/e2e/models/digits.onnx", options);
  ASSERT_TRUE(module.ok()) << module.status().message();
  Result<HostReference> reference = HostReference::compile(**module);
  ASSERT_TRUE(reference.ok()) << reference.status().message();
  ASSERT_EQ(reference->inputBytes(0), images->data.size());
  std::span<const std::byte> input = std::as_bytes(std::span(images->data));
  auto outputs = reference->run(std::span(&input, 1));
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();

  std::vector<float> got = floatsOf((*outputs)[0]);
  std::vector<float> want = floatsOf(std::as_bytes(std::span(expected->data)));
  std::vector<int64_t> digits(360);
  std::memcpy(digits.data(), labels->data.data(), labels->data.size());
  ASSERT_EQ(got.size(), want.size());
  int right = 0;
  for (size_t image = 0; image < 360; ++image) {
    size_t best = 0;
    for (size_t digit = 0; digit < 10; ++digit) {
      size_t at = image * 10 + digit;
      EXPECT_NEAR(got[at], want[at], 1e-5) << "image " << image;
      if (got[at] > got[image * 10 + best])
        best = digit;
    }
    right += static_cast<int64_t>(best) == digits[image];
  }
  EXPECT_GE(right, 350) << "97 % of 360";
}

TEST(Reference, MatmulWithConstantWeights) {
  Host host;
  // 4 by 5 ones and twos: enough elements to become an argument.
  auto outputs = host.run(R"mlir(
    func.func @main(%x: tensor<2x4xf32>) -> tensor<2x5xf32> {
      %w = arith.constant dense<[[1.0, 2.0, 1.0, 2.0, 1.0], [1.0, 2.0, 1.0, 2.0, 1.0],
                                 [1.0, 2.0, 1.0, 2.0, 1.0], [1.0, 2.0, 1.0, 2.0, 3.0]]> : tensor<4x5xf32>
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<2x5xf32>
      %init = linalg.fill ins(%zero : f32) outs(%e : tensor<2x5xf32>) -> tensor<2x5xf32>
      %r = linalg.matmul ins(%x, %w : tensor<2x4xf32>, tensor<4x5xf32>) outs(%init : tensor<2x5xf32>) -> tensor<2x5xf32>
      return %r : tensor<2x5xf32>
    })mlir",
                          {{1, 2, 3, 4, 5, 6, 7, 8}});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0],
            (std::vector<float>{10, 20, 10, 20, 18, 26, 52, 26, 52, 42}));
}

// An argument that is returned as it is, twice; a result from a constant.
TEST(Reference, ForwardsArgumentsAndConstants) {
  Host host;
  auto outputs = host.run(R"mlir(
    func.func @main(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<2xf32>) {
      %c = arith.constant dense<[7.0, 8.0]> : tensor<2xf32>
      return %x, %x, %c : tensor<3xf32>, tensor<3xf32>, tensor<2xf32>
    })mlir",
                          {{1, 2, 3}});
  ASSERT_EQ(outputs.size(), 3u);
  EXPECT_EQ(outputs[0], (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(outputs[1], (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(outputs[2], (std::vector<float>{7, 8}));
}

// (4 - 2) * (3 / sqrt(8 + 1)) + 5 = 7.
TEST(Reference, BatchNorm) {
  Host host;
  auto outputs = host.run(R"mlir(
    func.func @main(%x: tensor<1x1x1xf32>, %s: tensor<1xf32>, %b: tensor<1xf32>,
                    %m: tensor<1xf32>, %v: tensor<1xf32>) -> tensor<1x1x1xf32> {
      %r = graph.batch_norm %x, %s, %b, %m, %v epsilon = 1.0 : tensor<1x1x1xf32>, tensor<1xf32>
      return %r : tensor<1x1x1xf32>
    })mlir",
                          {{4}, {3}, {5}, {2}, {8}});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0], (std::vector<float>{7}));
}

TEST(Reference, RefusesInputsOfTheWrongSize) {
  Host host;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { return %x : "
      "tensor<3xf32> }",
      &host.context);
  Result<HostReference> reference = HostReference::compile(*module);
  ASSERT_TRUE(reference.ok()) << reference.status().message();
  std::vector<float> two{1, 2};
  std::span<const std::byte> input = bytesOf(two);
  EXPECT_THAT(reference->run(std::span(&input, 1)).status().message(),
              testing::HasSubstr("input 0 has 8 bytes, the model wants 12"));
  EXPECT_THAT(reference->run({}).status().message(),
              testing::HasSubstr("0 inputs given, the model has 1"));
}

} // namespace
