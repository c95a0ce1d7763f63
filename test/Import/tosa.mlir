// RUN: tessera-translate --import-mlir %s | FileCheck %s

// TOSA is lowered, the only function becomes @main, and what has no name gets
// one.

// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<1x2x3xf32> {graph.name = "arg0", graph.type = f32}
// CHECK-SAME: tensor<1x3x4xf32> {graph.name = "weights", graph.type = f32}
// CHECK-SAME: -> (tensor<1x2x4xf32> {graph.name = "result0", graph.type = f32})
// CHECK: linalg.batch_matmul
// CHECK: linalg.generic
// CHECK: arith.maximumf
// CHECK-NOT: tosa
func.func @forward(%x: tensor<1x2x3xf32>, %w: tensor<1x3x4xf32> {graph.name = "weights"}) -> tensor<1x2x4xf32> {
  %zero = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %m = tosa.matmul %x, %w, %zero, %zero : (tensor<1x2x3xf32>, tensor<1x3x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x2x4xf32>
  %r = tosa.clamp %m {min_val = 0.0 : f32, max_val = 6.0 : f32} : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  return %r : tensor<1x2x4xf32>
}
