// Expectations run on the simulated device, and become pairs of results.
// RUN: tessera run %s --arch tiny --verify | FileCheck %s --check-prefix=HOLD
// RUN: tessera run %s --arch edge | FileCheck %s --check-prefix=HOLD
// RUN: tessera-translate --import-mlir %s | FileCheck %s

// HOLD: 3 of 3 expectations of the model hold.

// CHECK: func.func @main
// CHECK-SAME: -> (tensor<4xf32> {check.expect = {atol = {{[-0-9.E]+}} : f64, rtol = 1.000000e-05 : f64}, graph.name = "check.expect_close (line {{[0-9]+}})", graph.type = f32}, tensor<4xf32> {graph.name = "check.expect_close (line {{[0-9]+}}), expected", graph.type = f32}
// CHECK-SAME: tensor<4xi8> {check.expect = {}, graph.name = "check.expect_eq (line {{[0-9]+}})", graph.type = i1}
// CHECK-SAME: tensor<2x2xi32> {check.expect = {}
// CHECK-NOT: check.expect_{{eq|close}}(
func.func @main() {
  %x = arith.constant dense<[1.0, 4.0, 0.25, 16.0]> : tensor<4xf32>
  %y = tosa.rsqrt %x : (tensor<4xf32>) -> tensor<4xf32>
  %want = arith.constant dense<[1.0, 0.5, 2.0, 0.25]> : tensor<4xf32>
  check.expect_close(%y, %want) : tensor<4xf32>
  %less = tosa.greater %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %truths = arith.constant dense<[false, true, false, true]> : tensor<4xi1>
  check.expect_eq(%less, %truths) : tensor<4xi1>
  %a = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %b = tosa.add %a, %a : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  %sum = arith.constant dense<[[2, 4], [6, 8]]> : tensor<2x2xi32>
  check.expect_eq(%b, %sum) : tensor<2x2xi32>
  return
}
