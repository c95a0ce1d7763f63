// RUN: not tessera-translate --import-mlir %s 2>&1 | FileCheck %s

// Every operation that cannot be imported is listed with its line.

// CHECK: mlir-unknown.mlir: 5 problems:
// CHECK-NEXT: 'ml_program.global' (line 11): unknown operation; accepted are the dialects tosa, linalg, tensor, arith, math, graph and check
// CHECK-NEXT: 'ml_program.global_load' (line 13): unknown operation
// CHECK-NEXT: 'scf.while' (line 14): control flow that values decide; accepted are loops with constant bounds, and conditions that are constants
// CHECK-NEXT: 'tensor.cast' (line 21): result tensor<?xf32>; accepted are static shapes
// CHECK-NEXT: 'math.exp' (line 22): result tensor<?xf32>; accepted are static shapes
ml_program.global private mutable @seed(dense<0> : tensor<4xi32>) : tensor<4xi32>
func.func @main(%x: tensor<4xf32>, %c: tensor<i1>) -> (tensor<4xf32>, tensor<4xi32>) {
  %s = ml_program.global_load @seed : tensor<4xi32>
  %a = scf.while (%v = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    %t = tensor.extract %c[] : tensor<i1>
    scf.condition(%t) %v : tensor<4xf32>
  } do {
  ^bb0(%v: tensor<4xf32>):
    scf.yield %v : tensor<4xf32>
  }
  %b = tensor.cast %a : tensor<4xf32> to tensor<?xf32>
  %e = math.exp %b : tensor<?xf32>
  %d = tensor.cast %e : tensor<?xf32> to tensor<4xf32>
  return %d, %s : tensor<4xf32>, tensor<4xi32>
}
