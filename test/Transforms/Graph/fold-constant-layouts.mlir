// RUN: tessera-opt %s --tessera-fold-constant-layouts | FileCheck %s

// CHECK-LABEL: func.func @transpose
// CHECK-NEXT: %[[C:.*]] = arith.constant dense<{{\[\[}}1.000000e+00, 4.000000e+00{{\], \[}}2.000000e+00, 5.000000e+00{{\], \[}}3.000000e+00, 6.000000e+00{{\]\]}}> : tensor<3x2xf32>
// CHECK-NEXT: return %[[C]]
func.func @transpose() -> tensor<3x2xf32> {
  %w = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %e = tensor.empty() : tensor<3x2xf32>
  %t = linalg.transpose ins(%w : tensor<2x3xf32>) outs(%e : tensor<3x2xf32>) permutation = [1, 0]
  return %t : tensor<3x2xf32>
}

// Three dimensions, moved in a circle: element [i, j, k] of the result is
// [j, k, i] of the source.

// CHECK-LABEL: func.func @rotate
// CHECK-NEXT: arith.constant dense<{{\[\[\[}}0, 2, 4], [6, 8, 10{{\]\], \[\[}}1, 3, 5], [7, 9, 11{{\]\]\]}}> : tensor<2x2x3xi32>
func.func @rotate() -> tensor<2x2x3xi32> {
  %w = arith.constant dense<[[[0, 1], [2, 3], [4, 5]], [[6, 7], [8, 9], [10, 11]]]> : tensor<2x3x2xi32>
  %e = tensor.empty() : tensor<2x2x3xi32>
  %t = linalg.transpose ins(%w : tensor<2x3x2xi32>) outs(%e : tensor<2x2x3xi32>) permutation = [2, 0, 1]
  return %t : tensor<2x2x3xi32>
}

// A chain, and a splat.

// CHECK-LABEL: func.func @reshapes
// CHECK-NEXT: arith.constant dense<2.000000e+00> : tensor<4x2xf32>
// CHECK-NEXT: return
func.func @reshapes() -> tensor<4x2xf32> {
  %w = arith.constant dense<2.0> : tensor<2x2x2xf32>
  %c = tensor.collapse_shape %w [[0, 1, 2]] : tensor<2x2x2xf32> into tensor<8xf32>
  %r = tensor.expand_shape %c [[0, 1]] output_shape [4, 2] : tensor<8xf32> into tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}

// Not a constant.

// CHECK-LABEL: func.func @argument
// CHECK: tensor.collapse_shape
func.func @argument(%x: tensor<2x2xf32>) -> tensor<4xf32> {
  %c = tensor.collapse_shape %x [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
  return %c : tensor<4xf32>
}
