// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @channels(%x: tensor<2x3x4xf32>, %p: tensor<4xf32>) {
  // expected-error @below {{input has 3 channels (dimension 1), scale has 4}}
  %0 = graph.batch_norm %x, %p, %p, %p, %p epsilon = 0.0 : tensor<2x3x4xf32>, tensor<4xf32>
  return
}

// -----

func.func @rank(%x: tensor<3xf32>, %p: tensor<3xf32>) {
  // expected-error @below {{input has rank 1: dimension 1 is the channel, so at least 2}}
  %0 = graph.batch_norm %x, %p, %p, %p, %p epsilon = 0.0 : tensor<3xf32>, tensor<3xf32>
  return
}

// -----

func.func @epsilon(%x: tensor<2x3xf32>, %p: tensor<3xf32>) {
  // expected-error @below {{epsilon is not negative}}
  %0 = graph.batch_norm %x, %p, %p, %p, %p epsilon = -1.0 : tensor<2x3xf32>, tensor<3xf32>
  return
}

// -----

func.func @arguments(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{the body's arguments must have the types of the inputs, then of the outputs}}
  %r = graph.dispatch outs(%x : tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%x_: tensor<5xf32>):
    %e = tensor.empty() : tensor<4xf32>
    graph.yield %e : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

func.func @yield_type(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = graph.dispatch outs(%x : tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%x_: tensor<4xf32>):
    %e = tensor.empty() : tensor<5xf32>
    // expected-error @below {{must give one value for each result of the graph.dispatch, of the same type}}
    graph.yield %e : tensor<5xf32>
  }
  return %r : tensor<4xf32>
}

// -----

func.func @isolated(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note @below {{required by region isolation constraints}}
  %r = graph.dispatch outs(%x : tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%x_: tensor<4xf32>):
    // expected-error @below {{using value defined outside the region}}
    graph.yield %y : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// expected-error @below {{'graph.name' is a string}}
func.func @name(%x: tensor<4xf32> {graph.name = 1 : i32}) {
  return
}

// -----

// expected-error @below {{no argument or result attribute 'graph.nam'}}
func.func @misspelt(%x: tensor<4xf32> {graph.nam = "x"}) {
  return
}
