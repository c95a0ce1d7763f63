// RUN: tessera-opt %s --split-input-file --tessera-round-contractions | FileCheck %s
// RUN: tessera-opt %s --split-input-file --tessera-round-contractions=format=f16 | FileCheck %s --check-prefix=F16
// RUN: not tessera-opt %s --split-input-file --tessera-round-contractions=format=i8 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: contractions can be rounded to bf16 or f16, not 'i8'

// Constants at once (1.00390625 lies half way: to the even 1.0; 1.01171875 to 1.015625), others
// by an operation of their own; the sum stays in f32.
// CHECK-LABEL: func @product(
// CHECK-SAME: %[[A:.*]]: tensor<2x2xf32>
// CHECK: %[[NARROW:.*]] = linalg.generic {{.*}} ins(%[[A]] : tensor<2x2xf32>) outs({{.*}} : tensor<2x2xbf16>)
// CHECK: arith.truncf
// CHECK: %[[WIDE:.*]] = linalg.generic {{.*}} ins(%[[NARROW]] : tensor<2x2xbf16>)
// CHECK: arith.extf
// CHECK: arith.constant dense<{{\[}}[1.000000e+00, 1.015630e+00], [-3.000000e+00, 0x7FC0]]> : tensor<2x2xbf16>
// CHECK: linalg.matmul ins(%[[WIDE]], {{.*}} : tensor<2x2xf32>, tensor<2x2xf32>)
// F16-LABEL: func @product(
// F16-DAG: arith.constant dense<{{\[}}[1.003910e+00, 1.011720e+00], [-3.000000e+00, 0x7E00]]> : tensor<2x2xf16>
func.func @product(%a: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %w = arith.constant dense<[[1.00390625, 1.01171875], [-3.0, 0x7FC00000]]> : tensor<2x2xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x2xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x2xf32>) -> tensor<2x2xf32>
  %r = linalg.matmul ins(%a, %w : tensor<2x2xf32>, tensor<2x2xf32>) outs(%fill : tensor<2x2xf32>) -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}

// -----

// Where the value comes into being: before it is padded and takes another shape.
// CHECK-LABEL: func @convolution(
// CHECK-SAME: %[[X:.*]]: tensor<3x4x4xf32>
// CHECK: %[[NARROW:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<3x4x4xf32>) outs({{.*}} : tensor<3x4x4xbf16>)
// CHECK: %[[SHAPE:.*]] = tensor.expand_shape %[[NARROW]] {{.*}} into tensor<1x3x4x4xbf16>
// CHECK: tensor.pad %[[SHAPE]]
// CHECK: tensor<1x3x4x4xbf16> to tensor<1x3x6x6xbf16>
// CHECK: arith.extf
// CHECK: linalg.conv_2d_nchw_fchw
func.func @convolution(%x: tensor<3x4x4xf32>, %w: tensor<2x3x3x3xf32>) -> tensor<1x2x4x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.expand_shape %x [[0, 1], [2], [3]] output_shape [1, 3, 4, 4] : tensor<3x4x4xf32> into tensor<1x3x4x4xf32>
  %p = tensor.pad %e low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x3x4x4xf32> to tensor<1x3x6x6xf32>
  %empty = tensor.empty() : tensor<1x2x4x4xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %r = linalg.conv_2d_nchw_fchw ins(%p, %w : tensor<1x3x6x6xf32>, tensor<2x3x3x3xf32>) outs(%fill : tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %r : tensor<1x2x4x4xf32>
}

// -----

// Neither element-wise operations, nor sums, nor products of integers.
// CHECK-LABEL: func @others(
// CHECK-NOT: truncf
// CHECK: return
func.func @others(%a: tensor<4x4xi8>, %b: tensor<4x4xi8>, %c: tensor<4xf32>) -> (tensor<4x4xi32>, tensor<4xf32>, tensor<f32>) {
  %none = arith.constant 0 : i32
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x4xi32>
  %fill = linalg.fill ins(%none : i32) outs(%empty : tensor<4x4xi32>) -> tensor<4x4xi32>
  %r = linalg.matmul ins(%a, %b : tensor<4x4xi8>, tensor<4x4xi8>) outs(%fill : tensor<4x4xi32>) -> tensor<4x4xi32>
  %e = tensor.empty() : tensor<4xf32>
  %m = linalg.mul ins(%c, %c : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %sum = linalg.reduce ins(%c : tensor<4xf32>) outs(%start : tensor<f32>) dimensions = [0]
    (%in: f32, %init: f32) {
      %t = arith.addf %in, %init : f32
      linalg.yield %t : f32
    }
  return %r, %m, %sum : tensor<4x4xi32>, tensor<4xf32>, tensor<f32>
}
