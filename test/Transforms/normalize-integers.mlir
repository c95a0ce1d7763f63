// RUN: tessera-opt %s -pass-pipeline='builtin.module(func.func(tessera-normalize))' -split-input-file | FileCheck %s

// Zero points leave the products: the sums of each operand correct them, 5 * 3
// * 16 of both.
// CHECK-LABEL: func.func @zero_points
// CHECK-SAME: (%[[A:.*]]: tensor<4x16xi8>, %[[B:.*]]: tensor<16x8xi8>)
func.func @zero_points(%a: tensor<4x16xi8>, %b: tensor<16x8xi8>) -> tensor<4x8xi32> {
  // CHECK-DAG: %[[ALL:.*]] = arith.constant 240 : i32
  // CHECK: %[[P:.*]] = linalg.generic {{.*}} ins(%[[A]], %[[B]] : {{.*}})
  // CHECK-NEXT: ^bb0(%[[X:.*]]: i8, %[[Y:.*]]: i8, %{{.*}}: i32)
  // CHECK-NEXT: arith.extsi %[[X]]
  // CHECK-NEXT: arith.extsi %[[Y]]
  // CHECK-NEXT: arith.muli
  // CHECK: %[[SA:.*]] = linalg.generic {{.*}} ins(%[[A]] : {{.*}}) {{.*}}tensor<4xi32>
  // CHECK: %[[SB:.*]] = linalg.generic {{.*}} ins(%[[B]] : {{.*}}) {{.*}}tensor<8xi32>
  // CHECK: linalg.generic {{.*}} ins(%[[P]], %[[SA]], %[[SB]] :
  // CHECK: arith.addi %{{.*}}, %[[ALL]]
  %za = arith.constant 5 : i32
  %zb = arith.constant 3 : i32
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<4x8xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<4x8xi32>) -> tensor<4x8xi32>
  %r = linalg.quantized_matmul ins(%a, %b, %za, %zb : tensor<4x16xi8>, tensor<16x8xi8>, i32, i32) outs(%f : tensor<4x8xi32>) -> tensor<4x8xi32>
  return %r : tensor<4x8xi32>
}

// -----

// Operands that were widened before are widened in the contraction.
// CHECK-LABEL: func.func @widened
// CHECK-SAME: (%[[A:.*]]: tensor<4x16xi8>, %[[B:.*]]: tensor<16x8xi8>)
func.func @widened(%a: tensor<4x16xi8>, %b: tensor<16x8xi8>) -> tensor<4x8xi32> {
  // CHECK-NOT: tensor<4x16xi32>
  // CHECK: linalg.generic {{.*}} ins(%[[A]], %[[B]] : tensor<4x16xi8>, tensor<16x8xi8>)
  %wa = arith.extsi %a : tensor<4x16xi8> to tensor<4x16xi32>
  %wb = arith.extsi %b : tensor<16x8xi8> to tensor<16x8xi32>
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<4x8xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<4x8xi32>) -> tensor<4x8xi32>
  %r = linalg.matmul ins(%wa, %wb : tensor<4x16xi32>, tensor<16x8xi32>) outs(%f : tensor<4x8xi32>) -> tensor<4x8xi32>
  return %r : tensor<4x8xi32>
}

// -----

// The vector engine subtracts zero points itself.
// CHECK-LABEL: func.func @depthwise
func.func @depthwise(%x: tensor<1x6x6x8xi8>, %w: tensor<3x3x8x1xi8>) -> tensor<1x4x4x8x1xi32> {
  // CHECK: linalg.generic
  // CHECK: arith.subi
  // CHECK: arith.muli
  // CHECK-NOT: linalg.generic
  // CHECK: return
  %zx = arith.constant 7 : i32
  %zw = arith.constant -2 : i32
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<1x4x4x8x1xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<1x4x4x8x1xi32>) -> tensor<1x4x4x8x1xi32>
  %r = linalg.depthwise_conv_2d_nhwc_hwcm_q {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%x, %w, %zx, %zw : tensor<1x6x6x8xi8>, tensor<3x3x8x1xi8>, i32, i32) outs(%f : tensor<1x4x4x8x1xi32>) -> tensor<1x4x4x8x1xi32>
  return %r : tensor<1x4x4x8x1xi32>
}

// -----

// The sum of ones over a window is the number of its elements: 5 + 3 * 2 * 2.
// CHECK-LABEL: func.func @sum_of_constants
func.func @sum_of_constants() -> tensor<3x4xi32> {
  // CHECK: %[[SUM:.*]] = arith.constant 17 : i32
  // CHECK: linalg.generic {{.*}}outs(
  // CHECK: linalg.yield %[[SUM]] : i32
  // CHECK-NOT: linalg.generic
  %three = arith.constant 3 : i32
  %five = arith.constant 5 : i32
  %window = tensor.empty() : tensor<2x2xi32>
  %ones = linalg.fill ins(%three : i32) outs(%window : tensor<2x2xi32>) -> tensor<2x2xi32>
  %e = tensor.empty() : tensor<3x4xi32>
  %f = linalg.fill ins(%five : i32) outs(%e : tensor<3x4xi32>) -> tensor<3x4xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%ones : tensor<2x2xi32>) outs(%f : tensor<3x4xi32>) {
  ^bb0(%in: i32, %out: i32):
    %s = arith.addi %out, %in : i32
    linalg.yield %s : i32
  } -> tensor<3x4xi32>
  return %r : tensor<3x4xi32>
}
