//===- KernelTest.cpp - Tile kernels on the simulated device --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModuleRunner.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::test;

namespace {

/// Replaces each `$name` of a kernel's text.
std::string substitute(std::string text, const std::string &name,
                       const std::string &value) {
  for (size_t at; (at = text.find("$" + name)) != std::string::npos;)
    text.replace(at, name.size() + 1, value);
  return text;
}

/// relu(a · b + bias) in tiles of 8 rows, with a loop over K.
const char *const gemmKernel = R"mlir(
tile.kernel @kernel(%arg0: memref<64x32xf32, #tile.space<dram>>, %arg1: memref<32x16xf32, #tile.space<dram>>, %arg2: memref<16xf32, #tile.space<dram>>, %arg3: memref<64x16xf32, #tile.space<dram>>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %bias = tile.alloc : memref<16xf32, #tile.space<spm>>
  tile.load %arg2 to %bias : memref<16xf32, #tile.space<dram>> to memref<16xf32, #tile.space<spm>>
  scf.for %i = %c0 to %c64 step %c8 {
    %acc = tile.alloc {depth = $depth} : memref<8x16xf32, #tile.space<acc>>
    scf.for %k = %c0 to %c32 step %c16 {
      %av = memref.subview %arg0[%i, %k][8, 16][1, 1] : memref<64x32xf32, #tile.space<dram>> to memref<8x16xf32, strided<[32, 1], offset: ?>, #tile.space<dram>>
      %bv = memref.subview %arg1[%k, 0][16, 16][1, 1] : memref<32x16xf32, #tile.space<dram>> to memref<16x16xf32, strided<[16, 1], offset: ?>, #tile.space<dram>>
      %a = tile.alloc {depth = $depth} : memref<8x16xf32, #tile.space<spm>>
      %b = tile.alloc {depth = $depth} : memref<16x16xf32, #tile.space<spm>>
      tile.load %av to %a : memref<8x16xf32, strided<[32, 1], offset: ?>, #tile.space<dram>> to memref<8x16xf32, #tile.space<spm>>
      tile.load %bv to %b : memref<16x16xf32, strided<[16, 1], offset: ?>, #tile.space<dram>> to memref<16x16xf32, #tile.space<spm>>
      tile.mma ins(%a, %b) outs(%acc) bounds = [8, 16, 16]
        iterators = ["parallel", "parallel", "reduction"]
        maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] accumulate_if(%k)
        : memref<8x16xf32, #tile.space<spm>>, memref<16x16xf32, #tile.space<spm>> -> memref<8x16xf32, #tile.space<acc>>
    }
    %o = tile.alloc {depth = $depth} : memref<8x16xf32, #tile.space<spm>>
    tile.map ins(%acc, %bias : memref<8x16xf32, #tile.space<acc>>, memref<16xf32, #tile.space<spm>>)
      outs(%o : memref<8x16xf32, #tile.space<spm>>) bounds = [8, 16] iterators = ["parallel", "parallel"]
      maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>] reduce = none {
    ^bb0(%x: f32, %y: f32):
      %z = arith.constant 0.0 : f32
      %s = arith.addf %x, %y : f32
      %r = arith.maximumf %s, %z : f32
      tile.yield %r : f32
    }
    %ov = memref.subview %arg3[%i, 0][8, 16][1, 1] : memref<64x16xf32, #tile.space<dram>> to memref<8x16xf32, strided<[16, 1], offset: ?>, #tile.space<dram>>
    tile.store %o to %ov : memref<8x16xf32, #tile.space<spm>> to memref<8x16xf32, strided<[16, 1], offset: ?>, #tile.space<dram>>
  }
  tile.return
}
)mlir";

std::vector<float> gemmReference(const std::vector<float> &a,
                                 const std::vector<float> &b,
                                 const std::vector<float> &bias) {
  std::vector<float> result;
  for (int m = 0; m < 64; ++m)
    for (int n = 0; n < 16; ++n) {
      float sum = 0;
      for (int k = 0; k < 32; ++k)
        sum += a[m * 32 + k] * b[k * 16 + n];
      result.push_back(std::max(sum + bias[n], 0.0f));
    }
  return result;
}

} // namespace

TEST(Kernel, TiledGemmWithEpilogue) {
  auto a = randomTensor(64 * 32, 1), b = randomTensor(32 * 16, 2),
       bias = randomTensor(16, 3);
  for (const char *depth : {"1", "2", "3"})
    for (const char *arch : {"tiny", "edge"}) {
      std::string text = withProgram(substitute(gemmKernel, "depth", depth),
                                     {64 * 32, 32 * 16, 16}, {64 * 16});
      auto outputs = compileAndRun(text, arch, {a, b, bias});
      ASSERT_EQ(outputs.size(), 1u);
      EXPECT_EQ(outputs[0], gemmReference(a, b, bias))
          << arch << ", depth " << depth;
    }
}

TEST(Kernel, ConvolutionThroughOverlappingWindows) {
  // Two images of 6x6x3, padded already; 3x3 filters, stride 1, 4 channels out.
  const char *kernel = R"mlir(
tile.kernel @kernel(%x: memref<2x6x6x3xf32, #tile.space<dram>>, %w: memref<4x3x3x3xf32, #tile.space<dram>>, %y: memref<2x4x4x4xf32, #tile.space<dram>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %wl = tile.alloc : memref<4x3x3x3xf32, #tile.space<spm>>
  tile.load %w to %wl : memref<4x3x3x3xf32, #tile.space<dram>> to memref<4x3x3x3xf32, #tile.space<spm>>
  scf.for %i = %c0 to %c2 step %c1 {
    %xv = memref.subview %x[%i, 0, 0, 0][1, 6, 6, 3][1, 1, 1, 1] : memref<2x6x6x3xf32, #tile.space<dram>> to memref<6x6x3xf32, strided<[18, 3, 1], offset: ?>, #tile.space<dram>>
    %xl = tile.alloc {depth = 2} : memref<6x6x3xf32, #tile.space<spm>>
    tile.load %xv to %xl : memref<6x6x3xf32, strided<[18, 3, 1], offset: ?>, #tile.space<dram>> to memref<6x6x3xf32, #tile.space<spm>>
    %acc = tile.alloc {depth = 2} : memref<4x4x4xf32, #tile.space<acc>>
    tile.mma ins(%xl, %wl) outs(%acc) bounds = [4, 4, 4, 3, 3, 3]
      iterators = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]
      maps = [affine_map<(f, h, w, kh, kw, c) -> (h + kh, w + kw, c)>,
              affine_map<(f, h, w, kh, kw, c) -> (f, kh, kw, c)>,
              affine_map<(f, h, w, kh, kw, c) -> (h, w, f)>]
      : memref<6x6x3xf32, #tile.space<spm>>, memref<4x3x3x3xf32, #tile.space<spm>> -> memref<4x4x4xf32, #tile.space<acc>>
    // The result goes from ACC to memory, channels first.
    %yv = memref.subview %y[%i, 0, 0, 0][1, 4, 4, 4][1, 1, 1, 1] : memref<2x4x4x4xf32, #tile.space<dram>> to memref<4x4x4xf32, strided<[16, 4, 1], offset: ?>, #tile.space<dram>>
    %yt = memref.transpose %yv (c, h, w) -> (h, w, c) : memref<4x4x4xf32, strided<[16, 4, 1], offset: ?>, #tile.space<dram>> to memref<4x4x4xf32, strided<[4, 1, 16], offset: ?>, #tile.space<dram>>
    tile.store %acc to %yt : memref<4x4x4xf32, #tile.space<acc>> to memref<4x4x4xf32, strided<[4, 1, 16], offset: ?>, #tile.space<dram>>
  }
  tile.return
}
)mlir";
  auto x = randomTensor(2 * 6 * 6 * 3, 1), w = randomTensor(4 * 27, 2);
  std::vector<float> expected;
  for (int i = 0; i < 2; ++i)
    for (int f = 0; f < 4; ++f)
      for (int oh = 0; oh < 4; ++oh)
        for (int ow = 0; ow < 4; ++ow) {
          float sum = 0;
          for (int kh = 0; kh < 3; ++kh)
            for (int kw = 0; kw < 3; ++kw)
              for (int c = 0; c < 3; ++c)
                sum += x[((i * 6 + oh + kh) * 6 + ow + kw) * 3 + c] *
                       w[((f * 3 + kh) * 3 + kw) * 3 + c];
          expected.push_back(sum);
        }
  auto outputs = compileAndRun(
      withProgram(kernel, {x.size(), w.size()}, {expected.size()}), "tiny",
      {x, w});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0], expected);
}

TEST(Kernel, MaxPoolingReducesOverWindows) {
  const char *kernel = R"mlir(
tile.kernel @kernel(%x: memref<8x8x4xf32, #tile.space<dram>>, %y: memref<4x4x4xf32, #tile.space<dram>>) {
  %xl = tile.alloc : memref<8x8x4xf32, #tile.space<spm>>
  %yl = tile.alloc : memref<4x4x4xf32, #tile.space<spm>>
  tile.load %x to %xl : memref<8x8x4xf32, #tile.space<dram>> to memref<8x8x4xf32, #tile.space<spm>>
  tile.map ins(%xl : memref<8x8x4xf32, #tile.space<spm>>) outs(%yl : memref<4x4x4xf32, #tile.space<spm>>)
    bounds = [4, 4, 4, 2, 2] iterators = ["parallel", "parallel", "parallel", "reduction", "reduction"]
    maps = [affine_map<(h, w, c, kh, kw) -> (h * 2 + kh, w * 2 + kw, c)>, affine_map<(h, w, c, kh, kw) -> (h, w, c)>] reduce = max {
  ^bb0(%a: f32):
    tile.yield %a : f32
  }
  tile.store %yl to %y : memref<4x4x4xf32, #tile.space<spm>> to memref<4x4x4xf32, #tile.space<dram>>
  tile.return
}
)mlir";
  auto x = randomTensor(256, 9);
  std::vector<float> expected;
  for (int h = 0; h < 4; ++h)
    for (int w = 0; w < 4; ++w)
      for (int c = 0; c < 4; ++c) {
        auto at = [&](int kh, int kw) {
          return x[((2 * h + kh) * 8 + 2 * w + kw) * 4 + c];
        };
        expected.push_back(std::max({at(0, 0), at(0, 1), at(1, 0), at(1, 1)}));
      }
  auto outputs = compileAndRun(withProgram(kernel, {256}, {64}), "tiny", {x});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0], expected);
}

TEST(Kernel, TwoQueuesTakeTurnsInALoop) {
  // acc = 2 · acc + a_k · b, in every iteration: the vector engine scales what
  // the matrix engine then adds to.
  const char *kernel = R"mlir(
tile.kernel @kernel(%x: memref<6x8x8xf32, #tile.space<dram>>, %w: memref<8x8xf32, #tile.space<dram>>, %y: memref<2x8x8xf32, #tile.space<dram>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %wl = tile.alloc : memref<8x8xf32, #tile.space<spm>>
  tile.load %w to %wl : memref<8x8xf32, #tile.space<dram>> to memref<8x8xf32, #tile.space<spm>>
  scf.for %i = %c0 to %c2 step %c1 {
    %acc = tile.alloc {depth = 2} : memref<8x8xf32, #tile.space<acc>>
    tile.map outs(%acc : memref<8x8xf32, #tile.space<acc>>) bounds = [8, 8] iterators = ["parallel", "parallel"]
      maps = [affine_map<(m, n) -> (m, n)>] reduce = none {
      %zero = arith.constant 0.0 : f32
      tile.yield %zero : f32
    }
    scf.for %k = %c0 to %c3 step %c1 {
      %p = affine.apply affine_map<(i, k) -> (i * 3 + k)>(%i, %k)
      %xv = memref.subview %x[%p, 0, 0][1, 8, 8][1, 1, 1] : memref<6x8x8xf32, #tile.space<dram>> to memref<8x8xf32, strided<[8, 1], offset: ?>, #tile.space<dram>>
      %xl = tile.alloc {depth = 2} : memref<8x8xf32, #tile.space<spm>>
      tile.load %xv to %xl : memref<8x8xf32, strided<[8, 1], offset: ?>, #tile.space<dram>> to memref<8x8xf32, #tile.space<spm>>
      tile.map ins(%acc : memref<8x8xf32, #tile.space<acc>>) outs(%acc : memref<8x8xf32, #tile.space<acc>>) bounds = [8, 8] iterators = ["parallel", "parallel"]
        maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>] reduce = none {
      ^bb0(%v: f32):
        %d = arith.addf %v, %v : f32
        tile.yield %d : f32
      }
      tile.mma ins(%xl, %wl) outs(%acc) bounds = [8, 8, 8] iterators = ["parallel", "parallel", "reduction"]
        maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] accumulate
        : memref<8x8xf32, #tile.space<spm>>, memref<8x8xf32, #tile.space<spm>> -> memref<8x8xf32, #tile.space<acc>>
    }
    %yv = memref.subview %y[%i, 0, 0][1, 8, 8][1, 1, 1] : memref<2x8x8xf32, #tile.space<dram>> to memref<8x8xf32, strided<[8, 1], offset: ?>, #tile.space<dram>>
    tile.store %acc to %yv : memref<8x8xf32, #tile.space<acc>> to memref<8x8xf32, strided<[8, 1], offset: ?>, #tile.space<dram>>
  }
  tile.return
}
)mlir";
  auto x = randomTensor(6 * 64, 4), w = randomTensor(64, 5);
  std::vector<float> expected(128, 0);
  for (int i = 0; i < 2; ++i)
    for (int p = 0; p < 3; ++p)
      for (int m = 0; m < 8; ++m)
        for (int n = 0; n < 8; ++n) {
          float &value = expected[i * 64 + m * 8 + n];
          value *= 2;
          for (int k = 0; k < 8; ++k)
            value += x[(i * 3 + p) * 64 + m * 8 + k] * w[k * 8 + n];
        }
  auto outputs = compileAndRun(withProgram(kernel, {x.size(), w.size()}, {128}),
                               "tiny", {x, w});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0], expected);
}

TEST(Kernel, LaterNestReadsWhatAnEarlierOneStored) {
  // y = x + 1, then z = y + y reversed by rows: the nests are joined between.
  const char *kernel = R"mlir(
tile.kernel @kernel(%x: memref<8x64xf32, #tile.space<dram>>, %y: memref<8x64xf32, #tile.space<dram>>, %z: memref<8x64xf32, #tile.space<dram>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %v = memref.subview %x[%i, 0][1, 64][1, 1] : memref<8x64xf32, #tile.space<dram>> to memref<64xf32, strided<[1], offset: ?>, #tile.space<dram>>
    %a = tile.alloc {depth = 2} : memref<64xf32, #tile.space<spm>>
    tile.load %v to %a : memref<64xf32, strided<[1], offset: ?>, #tile.space<dram>> to memref<64xf32, #tile.space<spm>>
    tile.map ins(%a : memref<64xf32, #tile.space<spm>>) outs(%a : memref<64xf32, #tile.space<spm>>) bounds = [64] iterators = ["parallel"]
      maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>] reduce = none {
    ^bb0(%e: f32):
      %one = arith.constant 1.0 : f32
      %s = arith.addf %e, %one : f32
      tile.yield %s : f32
    }
    %o = memref.subview %y[%i, 0][1, 64][1, 1] : memref<8x64xf32, #tile.space<dram>> to memref<64xf32, strided<[1], offset: ?>, #tile.space<dram>>
    tile.store %a to %o : memref<64xf32, #tile.space<spm>> to memref<64xf32, strided<[1], offset: ?>, #tile.space<dram>>
  }
  scf.for %i = %c0 to %c8 step %c1 {
    %r = affine.apply affine_map<(i) -> (7 - i)>(%i)
    %v = memref.subview %y[%i, 0][1, 64][1, 1] : memref<8x64xf32, #tile.space<dram>> to memref<64xf32, strided<[1], offset: ?>, #tile.space<dram>>
    %w = memref.subview %y[%r, 0][1, 64][1, 1] : memref<8x64xf32, #tile.space<dram>> to memref<64xf32, strided<[1], offset: ?>, #tile.space<dram>>
    %a = tile.alloc {depth = 2} : memref<64xf32, #tile.space<spm>>
    %b = tile.alloc {depth = 2} : memref<64xf32, #tile.space<spm>>
    tile.load %v to %a : memref<64xf32, strided<[1], offset: ?>, #tile.space<dram>> to memref<64xf32, #tile.space<spm>>
    tile.load %w to %b : memref<64xf32, strided<[1], offset: ?>, #tile.space<dram>> to memref<64xf32, #tile.space<spm>>
    tile.map ins(%a, %b : memref<64xf32, #tile.space<spm>>, memref<64xf32, #tile.space<spm>>) outs(%a : memref<64xf32, #tile.space<spm>>) bounds = [64] iterators = ["parallel"]
      maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>] reduce = none {
    ^bb0(%e: f32, %f: f32):
      %s = arith.addf %e, %f : f32
      tile.yield %s : f32
    }
    %o = memref.subview %z[%i, 0][1, 64][1, 1] : memref<8x64xf32, #tile.space<dram>> to memref<64xf32, strided<[1], offset: ?>, #tile.space<dram>>
    tile.store %a to %o : memref<64xf32, #tile.space<spm>> to memref<64xf32, strided<[1], offset: ?>, #tile.space<dram>>
  }
  tile.return
}
)mlir";
  auto x = randomTensor(512, 6);
  std::vector<float> expected;
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 64; ++j)
      expected.push_back(x[i * 64 + j] + x[(7 - i) * 64 + j] + 2);
  auto outputs =
      compileAndRun(withProgram(kernel, {512}, {512, 512}), "tiny", {x});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[1], expected);
}

TEST(Kernel, CoresShareTheRows) {
  const char *kernel = R"mlir(
tile.kernel @kernel(%x: memref<7x64xf32, #tile.space<dram>>, %y: memref<7x64xf32, #tile.space<dram>>) {
  %c7 = arith.constant 7 : index
  %core = tile.core_id : index
  %cores = tile.num_cores : index
  scf.for %i = %core to %c7 step %cores {
    %v = memref.subview %x[%i, 0][1, 64][1, 1] : memref<7x64xf32, #tile.space<dram>> to memref<64xf32, strided<[1], offset: ?>, #tile.space<dram>>
    %a = tile.alloc {depth = 2} : memref<64xf32, #tile.space<spm>>
    tile.load %v to %a : memref<64xf32, strided<[1], offset: ?>, #tile.space<dram>> to memref<64xf32, #tile.space<spm>>
    tile.map ins(%a : memref<64xf32, #tile.space<spm>>) outs(%a : memref<64xf32, #tile.space<spm>>) bounds = [64] iterators = ["parallel"]
      maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>] reduce = none {
    ^bb0(%e: f32):
      %n = arith.negf %e : f32
      tile.yield %n : f32
    }
    %o = memref.subview %y[%i, 0][1, 64][1, 1] : memref<7x64xf32, #tile.space<dram>> to memref<64xf32, strided<[1], offset: ?>, #tile.space<dram>>
    tile.store %a to %o : memref<64xf32, #tile.space<spm>> to memref<64xf32, strided<[1], offset: ?>, #tile.space<dram>>
  }
  tile.return
}
)mlir";
  auto x = randomTensor(7 * 64, 8);
  std::vector<float> expected;
  for (float value : x)
    expected.push_back(-value);
  for (unsigned cores : {1u, 2u}) {
    auto outputs = compileAndRun(
        withProgram(kernel, {x.size()}, {x.size()}, cores), "edge", {x});
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_EQ(outputs[0], expected) << cores << " cores";
  }
}

TEST(Kernel, SoftmaxOfRows) {
  const char *kernel = R"mlir(
#row = affine_map<(i, j) -> (i, j)>
#stat = affine_map<(i, j) -> (i)>
tile.kernel @kernel(%x: memref<16x10xf32, #tile.space<dram>>, %y: memref<16x10xf32, #tile.space<dram>>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c4 {
    %v = memref.subview %x[%i, 0][4, 10][1, 1] : memref<16x10xf32, #tile.space<dram>> to memref<4x10xf32, strided<[10, 1], offset: ?>, #tile.space<dram>>
    %a = tile.alloc {depth = 2} : memref<4x10xf32, #tile.space<spm>>
    %max = tile.alloc : memref<4xf32, #tile.space<spm>>
    %sum = tile.alloc : memref<4xf32, #tile.space<spm>>
    %e = tile.alloc : memref<4x10xf32, #tile.space<spm>>
    %o = tile.alloc {depth = 2} : memref<4x10xf32, #tile.space<spm>>
    tile.load %v to %a : memref<4x10xf32, strided<[10, 1], offset: ?>, #tile.space<dram>> to memref<4x10xf32, #tile.space<spm>>
    tile.map ins(%a : memref<4x10xf32, #tile.space<spm>>) outs(%max : memref<4xf32, #tile.space<spm>>) bounds = [4, 10] iterators = ["parallel", "reduction"]
      maps = [#row, #stat] reduce = max {
    ^bb0(%p: f32):
      tile.yield %p : f32
    }
    tile.map ins(%a, %max : memref<4x10xf32, #tile.space<spm>>, memref<4xf32, #tile.space<spm>>) outs(%sum, %e : memref<4xf32, #tile.space<spm>>, memref<4x10xf32, #tile.space<spm>>) bounds = [4, 10] iterators = ["parallel", "reduction"]
      maps = [#row, #stat, #stat, #row] reduce = sum {
    ^bb0(%p: f32, %q: f32):
      %d = arith.subf %p, %q : f32
      %x0 = math.exp %d : f32
      tile.yield %x0, %x0 : f32, f32
    }
    tile.map ins(%e, %sum : memref<4x10xf32, #tile.space<spm>>, memref<4xf32, #tile.space<spm>>) outs(%o : memref<4x10xf32, #tile.space<spm>>) bounds = [4, 10] iterators = ["parallel", "parallel"]
      maps = [#row, #stat, #row] reduce = none {
    ^bb0(%p: f32, %q: f32):
      %d = arith.divf %p, %q : f32
      tile.yield %d : f32
    }
    %w = memref.subview %y[%i, 0][4, 10][1, 1] : memref<16x10xf32, #tile.space<dram>> to memref<4x10xf32, strided<[10, 1], offset: ?>, #tile.space<dram>>
    tile.store %o to %w : memref<4x10xf32, #tile.space<spm>> to memref<4x10xf32, strided<[10, 1], offset: ?>, #tile.space<dram>>
  }
  tile.return
}
)mlir";
  auto x = randomTensor(160, 12);
  auto outputs = compileAndRun(withProgram(kernel, {160}, {160}), "tiny", {x});
  ASSERT_EQ(outputs.size(), 1u);
  ASSERT_EQ(outputs[0].size(), 160u);
  for (int i = 0; i < 16; ++i) {
    double sum = 0;
    for (int j = 0; j < 10; ++j)
      sum += std::exp(double(x[i * 10 + j]));
    for (int j = 0; j < 10; ++j)
      EXPECT_NEAR(outputs[0][i * 10 + j], std::exp(double(x[i * 10 + j])) / sum,
                  1e-6);
  }
}
