// RUN: tessera-translate --import-mlir %s | FileCheck %s

// Booleans are bytes at the boundary and i1 inside; a rescaling needs no type
// wider than 32 bits.

// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<4xi8> {graph.name = "arg0", graph.type = i1}
// CHECK-SAME: tensor<4xf32>
// CHECK-SAME: tensor<4xi32>
// CHECK-SAME: -> (tensor<4xi8> {graph.name = "result0", graph.type = i1}, tensor<4xi8> {graph.name = "result1", graph.type = i8})
// CHECK: arith.cmpi ne
// CHECK: -> tensor<4xi1>
// CHECK-NOT: i64
// CHECK: arith.mulsi_extended
// CHECK-NOT: i64
// CHECK: arith.extui {{.*}} : i1 to i8
func.func @main(%c: tensor<4xi1>, %x: tensor<4xf32>, %q: tensor<4xi32>) -> (tensor<4xi1>, tensor<4xi8>) {
  %g = tosa.greater %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %b = tosa.logical_or %c, %g : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %m = "tosa.const"() <{values = dense<1518500250> : tensor<1xi32>}> : () -> tensor<1xi32>
  %s = "tosa.const"() <{values = dense<38> : tensor<1xi8>}> : () -> tensor<1xi8>
  %zi = "tosa.const"() <{values = dense<0> : tensor<1xi32>}> : () -> tensor<1xi32>
  %zo = "tosa.const"() <{values = dense<-9> : tensor<1xi8>}> : () -> tensor<1xi8>
  %r = tosa.rescale %q, %m, %s, %zi, %zo {scale32 = true, rounding_mode = SINGLE_ROUND, per_channel = false, input_unsigned = false, output_unsigned = false} : (tensor<4xi32>, tensor<1xi32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<4xi8>
  return %b, %r : tensor<4xi1>, tensor<4xi8>
}
