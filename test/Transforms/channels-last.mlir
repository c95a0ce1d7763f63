// RUN: tessera-opt %s -pass-pipeline='builtin.module(func.func(tessera-channels-last))' -split-input-file | FileCheck %s

#x = affine_map<(f, y, x, c, i, j) -> (c, y + i, x + j)>
#w = affine_map<(f, y, x, c, i, j) -> (f, c, i, j)>
#r = affine_map<(f, y, x, c, i, j) -> (f, y, x)>
#all = affine_map<(f, y, x) -> (f, y, x)>
#channel = affine_map<(f, y, x) -> (f)>
#pooled = affine_map<(f, y, x) -> (f)>

// Between two convolutions the tensor has its channels last: in the first
// one's result, in the bias behind it, in the padding and in what the second
// one reads. The second one's sum goes over the window, then the channels, and
// its weights are packed so; the first reads the argument as it is. What is
// returned keeps its layout.
// CHECK-DAG: [[FIRST:#.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d0 + d4, d1 + d5)>
// CHECK-DAG: [[FIRSTW:#.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d2, d3, d4, d5)>
// CHECK-DAG: [[OUT:#.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>
// CHECK-DAG: [[BIAS:#.*]] = affine_map<(d0, d1, d2) -> (d2)>
// CHECK-LABEL: func.func @chain
// The weights [f, c, i, j] = 4 f + 2 c + j become [f, i, j, c].
// CHECK: arith.constant dense<{{\[\[\[\[}}0.000000e+00, 2.000000e+00], [1.000000e+00, 3.000000e+00]]]
// CHECK-SAME: tensor<2x1x2x2xf32>
// CHECK: linalg.generic {indexing_maps = [[[FIRST]], [[FIRSTW]], [[OUT]]]
// CHECK-SAME: outs(%{{.*}} : tensor<4x4x2xf32>)
func.func @chain(%image: tensor<3x6x6xf32>, %w0: tensor<2x3x3x3xf32>, %b: tensor<2xf32>) -> tensor<2x4x5xf32> {
  %zero = arith.constant 0.0 : f32
  %w1 = arith.constant dense<[[[[0.0, 1.0]], [[2.0, 3.0]]], [[[4.0, 5.0]], [[6.0, 7.0]]]]> : tensor<2x2x1x2xf32>
  %e0 = tensor.empty() : tensor<2x4x4xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %c0 = linalg.generic {indexing_maps = [#x, #w, #r], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%image, %w0 : tensor<3x6x6xf32>, tensor<2x3x3x3xf32>) outs(%f0 : tensor<2x4x4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x4x4xf32>
  // CHECK: linalg.generic
  // CHECK-SAME: [[BIAS]]
  // CHECK-SAME: ins(%{{.*}}, %{{.*}} : tensor<4x4x2xf32>, tensor<2xf32>)
  %a0 = linalg.generic {indexing_maps = [#all, #channel, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%c0, %b : tensor<2x4x4xf32>, tensor<2xf32>) outs(%e0 : tensor<2x4x4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<2x4x4xf32>
  // CHECK: tensor.pad %{{.*}} low[0, 1, 0] high[0, 1, 0]
  // CHECK: tensor<4x4x2xf32> to tensor<4x6x2xf32>
  %p0 = tensor.pad %a0 low[0, 0, 1] high[0, 0, 1] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f32
  } : tensor<2x4x4xf32> to tensor<2x4x6xf32>
  %e1 = tensor.empty() : tensor<2x4x5xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<2x4x5xf32>) -> tensor<2x4x5xf32>
  // CHECK: linalg.generic
  // CHECK-SAME: ins(%{{.*}}, %{{.*}} : tensor<4x6x2xf32>, tensor<2x1x2x2xf32>) outs(%{{.*}} : tensor<2x4x5xf32>)
  %c1 = linalg.generic {indexing_maps = [#x, #w, #r], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%p0, %w1 : tensor<2x4x6xf32>, tensor<2x2x1x2xf32>) outs(%f1 : tensor<2x4x5xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x4x5xf32>
  return %c1 : tensor<2x4x5xf32>
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#copy = affine_map<(k, n) -> (k, n)>

// A product's constant weights are packed like a convolution's; others, and those
// that something else reads, too, stay as they are.
// CHECK-DAG: [[KN:#.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: [[NK:#.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-LABEL: func.func @products
// CHECK: arith.constant dense<{{\[\[}}0.000000e+00, 3.000000e+00], [1.000000e+00, 4.000000e+00], [2.000000e+00, 5.000000e+00]]> : tensor<3x2xf32>
// CHECK: linalg.generic {indexing_maps = [{{#.*}}, [[NK]], {{#.*}}]
// CHECK: linalg.generic {indexing_maps = [{{#.*}}, [[KN]], {{#.*}}]
// CHECK: linalg.generic {indexing_maps = [{{#.*}}, [[KN]], {{#.*}}]
func.func @products(%x: tensor<4x2xf32>, %y: tensor<2x3xf32>)
    -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<2x3xf32>) {
  %zero = arith.constant 0.0 : f32
  %w = arith.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xf32>
  %shared = arith.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 6.0]]> : tensor<2x3xf32>
  %e = tensor.empty() : tensor<4x3xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x3xf32>) -> tensor<4x3xf32>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x2xf32>, tensor<2x3xf32>) outs(%f : tensor<4x3xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x3xf32>
  %1 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : tensor<4x2xf32>, tensor<2x3xf32>) outs(%f : tensor<4x3xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x3xf32>
  %2 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %shared : tensor<4x2xf32>, tensor<2x3xf32>) outs(%f : tensor<4x3xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x3xf32>
  %ey = tensor.empty() : tensor<2x3xf32>
  %3 = linalg.generic {indexing_maps = [#copy, #copy, #copy], iterator_types = ["parallel", "parallel"]}
      ins(%shared, %y : tensor<2x3xf32>, tensor<2x3xf32>) outs(%ey : tensor<2x3xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<2x3xf32>
  return %0, %1, %2, %3 : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<2x3xf32>
}
