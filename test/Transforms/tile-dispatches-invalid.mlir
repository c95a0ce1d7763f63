// RUN: tessera-opt %s -pass-pipeline='builtin.module(func.func(tessera-normalize,tessera-form-dispatches,tessera-tile-dispatches{arch=no-such}))' -verify-diagnostics

// expected-error@+1 {{no-such}}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
