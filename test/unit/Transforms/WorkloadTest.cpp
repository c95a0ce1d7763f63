//===- WorkloadTest.cpp - Tests of the workload count ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Transforms/Workload.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace tessera;

namespace {

Workload count(llvm::StringRef text) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::linalg::LinalgDialect, mlir::math::MathDialect,
                  mlir::tensor::TensorDialect>();
  mlir::MLIRContext context(registry);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module);
  return module ? countWorkload(*module) : Workload();
}

TEST(Workload, Matmul) {
  Workload workload = count(R"(
    func.func @main(%a: tensor<4x8xf32>) -> tensor<4x2xf32> {
      %w = arith.constant dense_resource<w> : tensor<8x2xf32>
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<4x2xf32>
      %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x2xf32>) -> tensor<4x2xf32>
      %r = linalg.matmul ins(%a, %w : tensor<4x8xf32>, tensor<8x2xf32>)
                         outs(%f : tensor<4x2xf32>) -> tensor<4x2xf32> loc("fc")
      return %r : tensor<4x2xf32>
    })");
  ASSERT_EQ(workload.operators.size(), 1u);
  const OperatorRecord &record = workload.operators[0];
  EXPECT_EQ(record.name, "fc");
  EXPECT_EQ(record.kind, "matmul");
  EXPECT_EQ(record.m, 4u);
  EXPECT_EQ(record.k, 8u);
  EXPECT_EQ(record.n, 2u);
  EXPECT_EQ(record.macs(), 64u);
  EXPECT_FALSE(record.eitherEngine);
  EXPECT_EQ(workload.compulsoryBytes, (4u * 8 + 8 * 2 + 4 * 2) * 4);
}

TEST(Workload, ProductsWithZeroPointsAreContractionsOfWhatIsStored) {
  Workload workload = count(R"(
    func.func @main(%a: tensor<4x8xi8>, %b: tensor<8x2xi8>, %z: tensor<i8>) -> tensor<4x2xi32> {
      %c3 = arith.constant 3 : i32
      %zero = arith.constant 0 : i32
      %e = tensor.empty() : tensor<4x2xi32>
      %f = linalg.fill ins(%zero : i32) outs(%e : tensor<4x2xi32>) -> tensor<4x2xi32>
      %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                            affine_map<(m, n, k) -> ()>, affine_map<(m, n, k) -> (m, n)>],
                           iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%a, %b, %z : tensor<4x8xi8>, tensor<8x2xi8>, tensor<i8>) outs(%f : tensor<4x2xi32>) {
      ^bb0(%x: i8, %y: i8, %s: i8, %o: i32):
        %wx = arith.extsi %x : i8 to i32
        %wy = arith.extsi %y : i8 to i32
        %ws = arith.extsi %s : i8 to i32
        %dx = arith.subi %wx, %c3 : i32
        %dy = arith.subi %wy, %ws : i32
        %p = arith.muli %dx, %dy : i32
        %t = arith.addi %o, %p : i32
        linalg.yield %t : i32
      } -> tensor<4x2xi32>
      return %r : tensor<4x2xi32>
    })");
  ASSERT_EQ(workload.operators.size(), 1u);
  EXPECT_EQ(workload.operators[0].kind, "matmul");
  EXPECT_EQ(workload.operators[0].macs(), 64u);
  EXPECT_EQ(workload.operators[0].format, NumericFormat::I8);
  EXPECT_EQ(workload.operators[0].elements, 0u);
}

TEST(Workload, ConvolutionCountsPixelsAsRows) {
  Workload workload = count(R"(
    func.func @main(%x: tensor<2x3x10x10xf32>, %w: tensor<16x3x3x3xf32>, %o: tensor<2x16x8x8xf32>) -> tensor<2x16x8x8xf32> {
      %r = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<2x3x10x10xf32>, tensor<16x3x3x3xf32>)
                                    outs(%o : tensor<2x16x8x8xf32>) -> tensor<2x16x8x8xf32>
      return %r : tensor<2x16x8x8xf32>
    })");
  ASSERT_EQ(workload.operators.size(), 1u);
  EXPECT_EQ(workload.operators[0].kind, "conv");
  EXPECT_EQ(workload.operators[0].m, 2u * 8 * 8);
  EXPECT_EQ(workload.operators[0].k, 27u);
  EXPECT_EQ(workload.operators[0].n, 16u);
}

TEST(Workload, DepthwiseMayRunOnEitherEngine) {
  Workload workload = count(R"(
    func.func @main(%x: tensor<1x10x10x8xf32>, %w: tensor<3x3x8xf32>, %o: tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32> {
      %r = linalg.depthwise_conv_2d_nhwc_hwc ins(%x, %w : tensor<1x10x10x8xf32>, tensor<3x3x8xf32>)
                                             outs(%o : tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
      return %r : tensor<1x8x8x8xf32>
    })");
  ASSERT_EQ(workload.operators.size(), 1u);
  EXPECT_TRUE(workload.operators[0].eitherEngine);
  EXPECT_EQ(workload.operators[0].batch, 8u);
  EXPECT_EQ(workload.operators[0].n, 1u);
  EXPECT_EQ(workload.operators[0].elements, 8u * 8 * 8 * 9);
}

TEST(Workload, VectorWorkSeparatesSpecialFunctions) {
  Workload workload = count(R"(
    func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %e = tensor.empty() : tensor<4x8xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                           iterator_types = ["parallel", "parallel"]}
          ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %a : f32
        %v = math.exp %s : f32
        linalg.yield %v : f32
      } -> tensor<4x8xf32>
      return %r : tensor<4x8xf32>
    })");
  ASSERT_EQ(workload.operators.size(), 1u);
  EXPECT_EQ(workload.operators[0].kind, "elementwise");
  EXPECT_EQ(workload.operators[0].elements, 32u);
  EXPECT_EQ(workload.operators[0].aluOps, 1u);
  EXPECT_EQ(workload.operators[0].sfuOps, 1u);
}

TEST(Workload, ProducersThroughOperationsThatAreNotCounted) {
  Workload workload = count(R"(
    func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %a = math.exp %x : tensor<4x8xf32>
      %b = math.sqrt %x : tensor<4x8xf32>
      %c = tensor.collapse_shape %a [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
      %d = tensor.expand_shape %c [[0, 1]] output_shape [4, 8] : tensor<32xf32> into tensor<4x8xf32>
      %r = arith.addf %d, %b : tensor<4x8xf32>
      %s = arith.mulf %r, %r : tensor<4x8xf32>
      return %s : tensor<4x8xf32>
    })");
  ASSERT_EQ(workload.operators.size(), 4u);
  EXPECT_TRUE(workload.operators[0].producers.empty());
  EXPECT_TRUE(workload.operators[1].producers.empty());
  EXPECT_EQ(workload.operators[2].producers, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(workload.operators[3].producers, (std::vector<uint32_t>{2}));
}

} // namespace
