// A stray operation is found where it strayed: between dispatches or inside one.
// RUN: tessera-opt %s --verify-lowered-to-graph --split-input-file --verify-diagnostics

// What moves no data may stand between dispatches.
func.func @clean(%x: tensor<4x4xf32>) -> tensor<16xf32> {
  %e = tensor.empty() : tensor<4x4xf32>
  %r = graph.dispatch ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%in: tensor<4x4xf32>, %dest: tensor<4x4xf32>):
    %n = linalg.negf ins(%in : tensor<4x4xf32>) outs(%dest : tensor<4x4xf32>) -> tensor<4x4xf32>
    graph.yield %n : tensor<4x4xf32>
  }
  %flat = tensor.collapse_shape %r [[0, 1]] : tensor<4x4xf32> into tensor<16xf32>
  return %flat : tensor<16xf32>
}

// -----

func.func @between(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'math.exp' is not allowed between dispatches}}
  %r = math.exp %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func @inside(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %r = graph.dispatch ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%in: tensor<4xf32>, %dest: tensor<4xf32>):
    // expected-error @+1 {{'arith.negf' is not allowed in a dispatch}}
    %n = arith.negf %in : tensor<4xf32>
    graph.yield %n : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
