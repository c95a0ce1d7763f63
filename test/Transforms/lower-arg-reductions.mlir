// RUN: tessera-opt %s --pass-pipeline='builtin.module(func.func(tessera-lower-arg-reductions))' | FileCheck %s

// The largest elements; the first index of each; then the choice between that
// and what was there before.

#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d0)>

// CHECK-LABEL: func.func @argmax
// CHECK: %[[MAX:.+]] = linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "reduction"]
// CHECK: arith.maximumf
// CHECK: %[[FIRST:.+]] = linalg.generic
// CHECK-SAME: ins(%{{.+}}, %[[MAX]] : tensor<4x8xf32>, tensor<4xf32>)
// CHECK: arith.cmpf oeq
// CHECK: arith.cmpf uno
// CHECK: linalg.index 1
// CHECK: arith.minsi
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[MAX]], %[[FIRST]],
// CHECK: arith.cmpf ugt
// CHECK: arith.select
func.func @argmax(%x: tensor<4x8xf32>) -> tensor<4xi32> {
  %zero = arith.constant 0 : i32
  %low = arith.constant -3.40282347E+38 : f32
  %e0 = tensor.empty() : tensor<4xi32>
  %index = linalg.fill ins(%zero : i32) outs(%e0 : tensor<4xi32>) -> tensor<4xi32>
  %e1 = tensor.empty() : tensor<4xf32>
  %value = linalg.fill ins(%low : f32) outs(%e1 : tensor<4xf32>) -> tensor<4xf32>
  %r:2 = linalg.generic {indexing_maps = [#in, #out, #out], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%index, %value : tensor<4xi32>, tensor<4xf32>) {
  ^bb0(%in: f32, %oldIndex: i32, %old: f32):
    %i = linalg.index 1 : index
    %word = arith.index_cast %i : index to i32
    %more = arith.cmpf ugt, %in, %old : f32
    %ordered = arith.cmpf ord, %old, %old : f32
    %takes = arith.andi %more, %ordered : i1
    %best = arith.select %takes, %in, %old : f32
    %at = arith.select %takes, %word, %oldIndex : i32
    linalg.yield %at, %best : i32, f32
  } -> (tensor<4xi32>, tensor<4xf32>)
  return %r#0 : tensor<4xi32>
}
