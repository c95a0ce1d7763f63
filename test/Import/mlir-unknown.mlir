// RUN: not tessera-translate --import-mlir %s 2>&1 | FileCheck %s

// Every operation that cannot be imported is listed with its line.

// CHECK: mlir-unknown.mlir: 2 problems:
// CHECK-NEXT: 'func.call' (line 12): unknown operation; accepted are the dialects tosa, linalg, tensor, arith, math and graph
// CHECK-NEXT: 'tensor.cast' (line 13): result tensor<?xf32>; accepted are static shapes
func.func @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = func.call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = tensor.cast %a : tensor<4xf32> to tensor<?xf32>
  %c = tensor.cast %b : tensor<?xf32> to tensor<4xf32>
  return %c : tensor<4xf32>
}
