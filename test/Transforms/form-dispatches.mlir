// RUN: tessera-opt %s -pass-pipeline='builtin.module(func.func(tessera-normalize,tessera-form-dispatches))' -split-input-file | FileCheck %s

// A padding, the convolution that reads it, and the bias and residual after it
// are one dispatch that names its nodes.
// CHECK-LABEL: func.func @conv
// CHECK: graph.dispatch ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<2x4x4xf32>, tensor<2x2x3x3xf32>, tensor<2x4x4xf32>)
// CHECK-SAME: nodes = ["conv", "add"]
// CHECK: tensor.pad
// CHECK: linalg.generic {{.*}}"reduction", "reduction", "reduction"]
// CHECK: linalg.generic
// CHECK: graph.yield
// CHECK-NOT: graph.dispatch
// CHECK: return
func.func @conv(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x3x3xf32>, %skip: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x2x4x4xf32> to tensor<1x2x6x6xf32> loc("conv")
  %e = tensor.empty() : tensor<1x2x4x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %c = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%p, %w : tensor<1x2x6x6xf32>, tensor<2x2x3x3xf32>) outs(%f : tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> loc("conv")
  %r = linalg.add ins(%c, %skip : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) outs(%e : tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> loc("add")
  return %r : tensor<1x2x4x4xf32>
}

// -----

// Two contractions are two dispatches; a reshape stays outside.
// CHECK-LABEL: func.func @mlp
// CHECK: %[[H:.*]] = graph.dispatch
// CHECK: tensor.expand_shape %[[H]]
// CHECK: graph.dispatch
// CHECK-NOT: graph.dispatch
// CHECK: return
func.func @mlp(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %v: tensor<2x4x3xf32>) -> tensor<2x2x3xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %h = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %flat = tensor.collapse_shape %h [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
  %part = tensor.extract_slice %flat[0] [16] [1] : tensor<32xf32> to tensor<16xf32>
  %s = tensor.expand_shape %h [[0, 1], [2]] output_shape [2, 2, 8] : tensor<4x8xf32> into tensor<2x2x8xf32>
  %e2 = tensor.empty() : tensor<2x2x3xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
  %vv = tensor.empty() : tensor<2x8x3xf32>
  %v8 = linalg.fill ins(%zero : f32) outs(%vv : tensor<2x8x3xf32>) -> tensor<2x8x3xf32>
  %r = linalg.batch_matmul ins(%s, %v8 : tensor<2x2x8xf32>, tensor<2x8x3xf32>) outs(%f2 : tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
  return %r : tensor<2x2x3xf32>
}

// -----

// All of softmax runs on tiles of rows: one dispatch.
// CHECK-LABEL: func.func @softmax
// CHECK-COUNT-1: graph.dispatch
// CHECK-NOT: graph.dispatch
func.func @softmax(%x: tensor<64x10xf32>) -> tensor<64x10xf32> {
  %e = tensor.empty() : tensor<64x10xf32>
  %r = linalg.softmax dimension(1) ins(%x : tensor<64x10xf32>) outs(%e : tensor<64x10xf32>) -> tensor<64x10xf32>
  return %r : tensor<64x10xf32>
}

// -----

// A concatenation is a chain of updates of one tensor.
// CHECK-LABEL: func.func @concat
// CHECK: %[[EMPTY:.*]] = tensor.empty() : tensor<6x4xf32>
// CHECK: %[[FIRST:.*]] = graph.dispatch ins(%{{.*}} : tensor<2x4xf32>) outs(%[[EMPTY]] : tensor<6x4xf32>)
// CHECK: tensor.insert_slice {{.*}}[0, 0] [2, 4] [1, 1]
// CHECK: graph.dispatch ins(%{{.*}} : tensor<4x4xf32>) outs(%[[FIRST]] : tensor<6x4xf32>)
// CHECK: tensor.insert_slice {{.*}}[2, 0] [4, 4] [1, 1]
func.func @concat(%a: tensor<2x4xf32>, %b: tensor<4x4xf32>) -> tensor<6x4xf32> {
  %r = tensor.concat dim(0) %a, %b : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  return %r : tensor<6x4xf32>
}

// -----

// A normalisation that is spelled out reduces rows to [n, 1] and reads that along
// the rows: all of it is one dispatch, as of the operator.
// CHECK-LABEL: func.func @spelled_out_norm
// CHECK-COUNT-1: graph.dispatch
// CHECK-NOT: tensor.expand_shape
// CHECK-NOT: graph.dispatch
func.func @spelled_out_norm(%x: tensor<12x32xf32>) -> tensor<12x32xf32> {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.03125 : f32
  %rows = tensor.empty() : tensor<12xf32>
  %f = linalg.fill ins(%zero : f32) outs(%rows : tensor<12xf32>) -> tensor<12xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : tensor<12x32xf32>) outs(%f : tensor<12xf32>) {
  ^bb0(%in: f32, %out: f32):
    %p = arith.mulf %in, %in : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<12xf32>
  %kept = tensor.expand_shape %sum [[0, 1]] output_shape [12, 1] : tensor<12xf32> into tensor<12x1xf32>
  %e = tensor.empty() : tensor<12x32xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%x, %kept : tensor<12x32xf32>, tensor<12x1xf32>) outs(%e : tensor<12x32xf32>) {
  ^bb0(%in: f32, %square: f32, %out: f32):
    %m = arith.mulf %square, %scale : f32
    %root = math.sqrt %m : f32
    %d = arith.divf %in, %root : f32
    linalg.yield %d : f32
  } -> tensor<12x32xf32>
  return %r : tensor<12x32xf32>
}
