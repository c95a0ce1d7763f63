// RUN: tessera-opt %s -pass-pipeline='builtin.module(func.func(tessera-normalize))' -split-input-file | FileCheck %s

// A contraction that starts from a broadcast bias starts from zero; the bias
// and the relu become one element-wise operation after it.
// CHECK-LABEL: func.func @bias_relu
// CHECK-SAME: (%[[X:.*]]: tensor<4x16xf32>, %[[W:.*]]: tensor<16x8xf32>, %[[BIAS:.*]]: tensor<8xf32>)
func.func @bias_relu(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>, %bias: tensor<8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %b = linalg.broadcast ins(%bias : tensor<8xf32>) outs(%e : tensor<4x8xf32>) dimensions = [0]
  // CHECK: %[[ZEROS:.*]] = linalg.fill
  // CHECK: %[[M:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[W]] : {{.*}}) outs(%[[ZEROS]] : tensor<4x8xf32>)
  // CHECK: %[[R:.*]] = linalg.generic {{.*}} ins(%[[M]], %[[BIAS]] : tensor<4x8xf32>, tensor<8xf32>)
  // CHECK: arith.addf
  // CHECK: arith.maximumf
  // CHECK-NOT: linalg.generic
  // CHECK: return %[[R]]
  %m = linalg.matmul ins(%x, %w : tensor<4x16xf32>, tensor<16x8xf32>) outs(%b : tensor<4x8xf32>) -> tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%m : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = arith.maximumf %in, %zero : f32
    linalg.yield %v : f32
  } -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// A transposed operand is read through the contraction's map.
// CHECK: #[[NK:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-LABEL: func.func @transposed
// CHECK-SAME: (%[[X:.*]]: tensor<4x16xf32>, %[[W:.*]]: tensor<8x16xf32>)
func.func @transposed(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %t = tensor.empty() : tensor<16x8xf32>
  %wt = linalg.transpose ins(%w : tensor<8x16xf32>) outs(%t : tensor<16x8xf32>) permutation = [1, 0]
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[NK]], #{{.*}}]
  // CHECK-SAME: ins(%[[X]], %[[W]] : tensor<4x16xf32>, tensor<8x16xf32>)
  // CHECK-NOT: linalg.generic
  %m = linalg.matmul ins(%x, %wt : tensor<4x16xf32>, tensor<16x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %m : tensor<4x8xf32>
}

// -----

// A relu goes with the contraction before it, not with the pooling after it.
// CHECK-LABEL: func.func @relu_before_pool
func.func @relu_before_pool(%x: tensor<1x2x6x6xf32>, %w: tensor<2x2x3x3xf32>) -> tensor<1x2x2x2xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<1x2x4x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %c = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%x, %w : tensor<1x2x6x6xf32>, tensor<2x2x3x3xf32>) outs(%f : tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  // CHECK: arith.mulf
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel"]
  // CHECK: arith.maximumf
  // CHECK: linalg.generic {{.*}}"reduction", "reduction"]
  // CHECK: arith.maximumf
  // CHECK-NOT: arith.maximumf
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%c : tensor<1x2x4x4xf32>) outs(%e : tensor<1x2x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = arith.maximumf %in, %zero : f32
    linalg.yield %v : f32
  } -> tensor<1x2x4x4xf32>
  %pe = tensor.empty() : tensor<1x2x2x2xf32>
  %pf = linalg.fill ins(%low : f32) outs(%pe : tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  %window = tensor.empty() : tensor<2x2xf32>
  %p = linalg.pooling_nchw_max {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
      ins(%r, %window : tensor<1x2x4x4xf32>, tensor<2x2xf32>) outs(%pf : tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  return %p : tensor<1x2x2x2xf32>
}

// -----

// A dimension of one element goes: product and bias have one shape, with no
// reshape between them.
// CHECK-LABEL: func.func @unit_dimension
// CHECK: linalg.generic {{.*}}"reduction"]
// CHECK-NOT: tensor.expand_shape
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]{{.*}} outs({{.*}} : tensor<4x6xf32>)
// CHECK: tensor.expand_shape {{.*}}tensor<4x6xf32> into tensor<1x4x6xf32>
func.func @unit_dimension(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>, %bias: tensor<1x4x6xf32>) -> tensor<1x4x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x6xf32>) outs(%f : tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = tensor.expand_shape %p [[0, 1], [2]] output_shape [1, 4, 6] : tensor<4x6xf32> into tensor<1x4x6xf32>
  %e2 = tensor.empty() : tensor<1x4x6xf32>
  %r = linalg.add ins(%s, %bias : tensor<1x4x6xf32>, tensor<1x4x6xf32>) outs(%e2 : tensor<1x4x6xf32>) -> tensor<1x4x6xf32>
  return %r : tensor<1x4x6xf32>
}

// -----

// softmax becomes its four steps; the exponentials are computed once.
// CHECK-LABEL: func.func @softmax
// CHECK: arith.maxnumf
// CHECK: math.exp
// CHECK-NOT: math.exp
// CHECK: arith.addf
// CHECK: arith.divf
func.func @softmax(%x: tensor<4x10xf32>) -> tensor<4x10xf32> {
  %e = tensor.empty() : tensor<4x10xf32>
  %r = linalg.softmax dimension(1) ins(%x : tensor<4x10xf32>) outs(%e : tensor<4x10xf32>) -> tensor<4x10xf32>
  return %r : tensor<4x10xf32>
}

// -----

// CHECK-LABEL: func.func @reshape
// CHECK: tensor.collapse_shape
// CHECK-NOT: tensor.reshape
func.func @reshape(%x: tensor<4x2x5xf32>) -> tensor<40xf32> {
  %shape = arith.constant dense<40> : tensor<1xi64>
  %r = tensor.reshape %x(%shape) : (tensor<4x2x5xf32>, tensor<1xi64>) -> tensor<40xf32>
  return %r : tensor<40xf32>
}
