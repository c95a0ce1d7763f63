// RUN: tessera-opt --tessera-normalize %s | FileCheck %s

// A product over heads of which every second one has the same keys, as grouped
// queries have it: the loop over the heads becomes two, and the keys are read as
// they are.

// CHECK-DAG: #[[QUERY:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>
// CHECK-DAG: #[[KEY:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>
// CHECK-DAG: #[[SCORE:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
// CHECK-DAG: #[[ALL:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
// CHECK-LABEL: @grouped
// CHECK-SAME: (%[[Q:.*]]: tensor<6x4x8xf32>, %[[K:.*]]: tensor<3x5x8xf32>)
// CHECK: %[[HEADS:.*]] = tensor.expand_shape %[[Q]] {{.}}[0, 1], [2], [3]] output_shape [3, 2, 4, 8]
// CHECK: %[[P:.*]] = linalg.generic {indexing_maps = [#[[QUERY]], #[[KEY]], #[[SCORE]]]
// CHECK-SAME: ins(%[[HEADS]], %[[K]] :
// The operation behind it has both loops too, so that it can be fused.
// CHECK: %[[R:.*]] = linalg.generic {indexing_maps = [#[[ALL]], #[[ALL]]]
// CHECK-SAME: ins(%[[P]] : tensor<3x2x4x5xf32>)
// CHECK: tensor.collapse_shape %[[R]] {{.}}[0, 1], [2], [3]]
func.func @grouped(%q: tensor<6x4x8xf32>, %k: tensor<3x5x8xf32>) -> tensor<6x4x5xf32> {
  %wide = tensor.empty() : tensor<3x2x5x8xf32>
  %repeated = linalg.broadcast ins(%k : tensor<3x5x8xf32>) outs(%wide : tensor<3x2x5x8xf32>) dimensions = [1]
  %keys = tensor.collapse_shape %repeated [[0, 1], [2], [3]] : tensor<3x2x5x8xf32> into tensor<6x5x8xf32>
  %turned = tensor.empty() : tensor<6x8x5xf32>
  %t = linalg.transpose ins(%keys : tensor<6x5x8xf32>) outs(%turned : tensor<6x8x5xf32>) permutation = [0, 2, 1]
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x4x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6x4x5xf32>) -> tensor<6x4x5xf32>
  %p = linalg.batch_matmul ins(%q, %t : tensor<6x4x8xf32>, tensor<6x8x5xf32>) outs(%f : tensor<6x4x5xf32>) -> tensor<6x4x5xf32>
  %r = linalg.exp ins(%p : tensor<6x4x5xf32>) outs(%e : tensor<6x4x5xf32>) -> tensor<6x4x5xf32>
  return %r : tensor<6x4x5xf32>
}

// Repeated matrices that something else reads as well are made.

// CHECK-LABEL: @read_twice
// CHECK-SAME: (%[[Q:.*]]: tensor<6x4x8xf32>, %[[K:.*]]: tensor<3x8x5xf32>)
// CHECK: %[[REPEATED:.*]] = linalg.generic {{.*}} ins(%[[K]] : tensor<3x8x5xf32>)
// CHECK: %[[KEYS:.*]] = tensor.collapse_shape %[[REPEATED]]
// CHECK: linalg.generic {{.*}} ins(%[[Q]], %[[KEYS]] :
func.func @read_twice(%q: tensor<6x4x8xf32>, %k: tensor<3x8x5xf32>) -> (tensor<6x4x5xf32>, tensor<6x8x5xf32>) {
  %wide = tensor.empty() : tensor<3x2x8x5xf32>
  %repeated = linalg.broadcast ins(%k : tensor<3x8x5xf32>) outs(%wide : tensor<3x2x8x5xf32>) dimensions = [1]
  %keys = tensor.collapse_shape %repeated [[0, 1], [2], [3]] : tensor<3x2x8x5xf32> into tensor<6x8x5xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x4x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6x4x5xf32>) -> tensor<6x4x5xf32>
  %p = linalg.batch_matmul ins(%q, %keys : tensor<6x4x8xf32>, tensor<6x8x5xf32>) outs(%f : tensor<6x4x5xf32>) -> tensor<6x4x5xf32>
  return %p, %keys : tensor<6x4x5xf32>, tensor<6x8x5xf32>
}
