// RUN: tessera-opt %s --tessera-fold-batch-norm | FileCheck %s

// factor = 6 / sqrt(3 + 1) = 3 for channel 0 and 2 / sqrt(15 + 1) = 0.5 for
// channel 1: weights [1, 2] become [3, 1], biases (0 - 10) * 3 + 1 = -29 and
// (0 - 20) * 0.5 + 2 = -8.

// CHECK-LABEL: func.func @convolution
// CHECK-SAME: (%[[X:.*]]: tensor<1x1x4x4xf32>)
// CHECK: %[[W:.*]] = arith.constant dense<{{\[\[\[\[}}3.000000e+00{{\]\]\]}}, {{\[\[\[}}1.000000e+00{{\]\]\]\]}}> : tensor<2x1x1x1xf32>
// CHECK: %[[C:.*]] = linalg.conv_2d_nchw_fchw {{.*}} ins(%[[X]], %[[W]] :
// CHECK: %[[B:.*]] = arith.constant dense<[-2.900000e+01, -8.000000e+00]> : tensor<2xf32>
// CHECK: %[[R:.*]] = linalg.generic {{.*}} ins(%[[C]], %[[B]] :
// CHECK: arith.addf
// CHECK-NOT: graph.batch_norm
// CHECK: return %[[R]]
func.func @convolution(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = arith.constant dense<[[[[1.0]]], [[[2.0]]]]> : tensor<2x1x1x1xf32>
  %scale = arith.constant dense<[6.0, 2.0]> : tensor<2xf32>
  %bias = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %mean = arith.constant dense<[10.0, 20.0]> : tensor<2xf32>
  %variance = arith.constant dense<[3.0, 15.0]> : tensor<2xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x2x4x4xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %c = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%x, %w : tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) outs(%init : tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %r = graph.batch_norm %c, %scale, %bias, %mean, %variance epsilon = 1.0 : tensor<1x2x4x4xf32>, tensor<2xf32>
  return %r : tensor<1x2x4x4xf32>
}

// A bias between the two counts: (5 - 10) * 3 + 1 = -14, (6 - 20) * 0.5 + 2 = -5.
// Its addition goes away.

// CHECK-LABEL: func.func @with_bias
// CHECK: arith.constant dense<[-1.400000e+01, -5.000000e+00]>
// CHECK: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
#id = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#channel = affine_map<(d0, d1, d2, d3) -> (d1)>
func.func @with_bias(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = arith.constant dense<1.0> : tensor<2x1x1xf32>
  %b = arith.constant dense<[5.0, 6.0]> : tensor<2xf32>
  %scale = arith.constant dense<[6.0, 2.0]> : tensor<2xf32>
  %bias = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %mean = arith.constant dense<[10.0, 20.0]> : tensor<2xf32>
  %variance = arith.constant dense<[3.0, 15.0]> : tensor<2xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x2x4x4xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %c = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%x, %w : tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) outs(%init : tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %a = linalg.generic {indexing_maps = [#id, #channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c, %b : tensor<1x2x4x4xf32>, tensor<2xf32>) outs(%e : tensor<1x2x4x4xf32>) {
  ^bb0(%in: f32, %in_b: f32, %out: f32):
    %s = arith.addf %in, %in_b : f32
    linalg.yield %s : f32
  } -> tensor<1x2x4x4xf32>
  %r = graph.batch_norm %a, %scale, %bias, %mean, %variance epsilon = 1.0 : tensor<1x2x4x4xf32>, tensor<2xf32>
  return %r : tensor<1x2x4x4xf32>
}

// Nothing to fold into: the batch norm is decomposed, and its factor is computed
// once for each channel.

// CHECK-LABEL: func.func @decomposed

// CHECK: linalg.generic
// CHECK: arith.subf
// CHECK: arith.mulf
// CHECK: arith.addf
func.func @decomposed(%x: tensor<1x2x4xf32>, %p: tensor<2xf32>, %v: tensor<2xf32>) -> tensor<1x2x4xf32> {
  %r = graph.batch_norm %x, %p, %p, %p, %v epsilon = 1.0 : tensor<1x2x4xf32>, tensor<2xf32>
  return %r : tensor<1x2x4xf32>
}
