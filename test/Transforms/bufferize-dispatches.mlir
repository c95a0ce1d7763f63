// RUN: tessera-opt %s -pass-pipeline='builtin.module(func.func(tessera-normalize,tessera-form-dispatches,tessera-tile-dispatches{arch=tiny}),tessera-bufferize-dispatches)' -split-input-file | FileCheck %s

// Inputs and outputs are the program's arguments, with the model's names and
// types; weights are constants; what is in between is allocated, and a reshape
// is the same buffer. The last dispatch writes the output itself.
// CHECK: device.program @main
// CHECK-SAME: inputs [#device.tensor<"x" : "f32", [4, 8]>]
// CHECK-SAME: outputs [#device.tensor<"output0" : "f32", [2, 2, 8]>]
// CHECK: ^bb0(%[[X:.*]]: !device.buffer<128>, %[[OUT:.*]]: !device.buffer<128>):
// CHECK: %[[W:.*]] = device.constant dense<{{.*}}> : tensor<8x8xf32> : !device.buffer<256>
// CHECK: %[[T:.*]] = device.alloc : !device.buffer<128>
// CHECK: device.dispatch @first(%[[X]], %[[W]], %[[T]]) cores = [1, 1] nodes = ["first"]
// CHECK: device.dispatch @second(%[[T]], %[[OUT]]) cores = [1, 1] nodes = ["second"]
// CHECK: device.return
// CHECK: func.func private @first(%{{.*}}: memref<4x8xf32, #tile.space<dram>>, %{{.*}}: memref<8x8xf32, #tile.space<dram>>, %{{.*}}: memref<4x8xf32, #tile.space<dram>>)
// CHECK-NOT: bufferization
// CHECK-NOT: memref.alloc
func.func @main(%x: tensor<4x8xf32> {graph.name = "x", graph.type = f32}) -> tensor<2x2x8xf32> {
  %zero = arith.constant 0.0 : f32
  %w = arith.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]> : tensor<8x8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %h = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32> loc("first")
  %s = tensor.expand_shape %h [[0, 1], [2]] output_shape [2, 2, 8] : tensor<4x8xf32> into tensor<2x2x8xf32>
  %e2 = tensor.empty() : tensor<2x2x8xf32>
  %r = linalg.exp ins(%s : tensor<2x2x8xf32>) outs(%e2 : tensor<2x2x8xf32>) -> tensor<2x2x8xf32> loc("second")
  return %r : tensor<2x2x8xf32>
}

// -----

// An input that is returned is copied; a result that is returned twice, too.
// CHECK: ^bb0(%[[X:.*]]: !device.buffer<16>, %[[A:.*]]: !device.buffer<16>, %[[B:.*]]: !device.buffer<16>, %[[C:.*]]: !device.buffer<16>):
// CHECK: device.dispatch @{{.*}}(%[[X]], %[[B]])
// CHECK: device.copy %[[X]] to %[[A]]
// CHECK: device.copy %[[B]] to %[[C]]
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %x, %r, %r : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
