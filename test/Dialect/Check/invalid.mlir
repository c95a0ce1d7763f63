// What the verifiers of check operations refuse.
// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @negative(%x: tensor<2xf32>) {
  // expected-error @below {{'check.expect_close' op atol must be a number from 0 on}}
  check.expect_close(%x, %x) {atol = -1.0} : tensor<2xf32>
  return
}

// -----

func.func @no_number(%x: tensor<2xf32>) {
  // expected-error @below {{'check.expect_close' op rtol must be a number from 0 on}}
  check.expect_close(%x, %x) {rtol = 0x7FF8000000000000 : f64} : tensor<2xf32>
  return
}

// -----

func.func @integers(%x: tensor<2xi32>) {
  // expected-error @below {{must be statically shaped tensor of floating-point values}}
  check.expect_close(%x, %x) : tensor<2xi32>
  return
}

// -----

func.func @open(%x: tensor<?xf32>) {
  // expected-error @below {{must be statically shaped tensor of any type values}}
  check.expect_eq(%x, %x) : tensor<?xf32>
  return
}
