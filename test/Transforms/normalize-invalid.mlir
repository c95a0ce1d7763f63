// RUN: tessera-opt %s -pass-pipeline='builtin.module(func.func(tessera-normalize))' -split-input-file -verify-diagnostics

// Every operation that cannot be mapped is reported.
func.func @two_errors(%x: tensor<4xf32>, %i: tensor<4xindex>) -> (tensor<4xf32>, f32) {
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<4xf32>
  // expected-error@+1 {{uses the position in the iteration space (linalg.index)}}
  %a = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %p = linalg.index 0 : index
    %q = arith.index_cast %p : index to i32
    %f = arith.sitofp %q : i32 to f32
    %v = arith.addf %in, %f : f32
    linalg.yield %v : f32
  } -> tensor<4xf32>
  // expected-error@+1 {{'tensor.extract' is not supported}}
  %s = tensor.extract %x[%c0] : tensor<4xf32>
  return %a, %s : tensor<4xf32>, f32
}

// -----

func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{'tensor.dim' has the dynamic type 'tensor<?xf32>'; shapes must be static}}
  %d = tensor.dim %x, %c0 : tensor<?xf32>
  // expected-error@+1 {{has the dynamic type 'tensor<?xf32>'}}
  %e = tensor.empty(%d) : tensor<?xf32>
  return %e : tensor<?xf32>
}
