// A depthwise convolution runs on the vector engine. A tile of one channel looks
// like an ordinary convolution, but stays there: its plan counts no accumulators.
// RUN: tessera-opt %s --tessera-to-graph --tessera-to-tile='arch=tiny' | FileCheck %s

// CHECK-LABEL: tile.kernel @depthwise
// CHECK-NOT: tile.mma
// CHECK: tile.map {{.*}}"reduction"
// CHECK-NOT: tile.mma
// CHECK: tile.return
func.func @main(%x: tensor<1x8x66x66xf32>, %w: tensor<8x3x3xf32>) -> tensor<1x8x64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x8x64x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x8x64x64xf32>) -> tensor<1x8x64x64xf32>
  %r = linalg.depthwise_conv_2d_nchw_chw ins(%x, %w : tensor<1x8x66x66xf32>, tensor<8x3x3xf32>)
      outs(%f : tensor<1x8x64x64xf32>) -> tensor<1x8x64x64xf32> loc("depthwise")
  return %r : tensor<1x8x64x64xf32>
}
