// Every check operation parses and prints the same again.
// RUN: tessera-opt %s | FileCheck %s

// CHECK-LABEL: func @expectations
func.func @expectations(%x: tensor<2x3xf32>, %i: tensor<4xi64>) {
  // Tolerances of the usual size are not printed.
  // CHECK: check.expect_close(%{{.*}}, %{{.*}}) : tensor<2x3xf32>
  check.expect_close(%x, %x) {atol = 1.0e-6, rtol = 1.0e-5} : tensor<2x3xf32>
  // CHECK: check.expect_close(%{{.*}}, %{{.*}}) {atol = 0.000000e+00 : f64} : tensor<2x3xf32>
  check.expect_close(%x, %x) {atol = 0.0} : tensor<2x3xf32>
  // CHECK: check.expect_eq(%{{.*}}, %{{.*}}) : tensor<4xi64>
  check.expect_eq(%i, %i) : tensor<4xi64>
  return
}
