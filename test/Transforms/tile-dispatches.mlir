// RUN: tessera-opt %s -pass-pipeline='builtin.module(func.func(tessera-normalize,tessera-form-dispatches,tessera-tile-dispatches{arch=tiny}))' -split-input-file | FileCheck %s --check-prefix=TINY
// RUN: tessera-opt %s -pass-pipeline='builtin.module(func.func(tessera-normalize,tessera-form-dispatches,tessera-tile-dispatches{arch=server}))' -split-input-file | FileCheck %s --check-prefix=SERVER

// Operands of 4 MiB do not fit into tiny's 64 KiB: parallel loops around a loop
// over K that carries the accumulator. The epilogue runs outside of the K loop,
// on the same tile. The server holds them.
// TINY-LABEL: func.func @matmul
// TINY: graph.dispatch
// TINY: scf.for
// TINY: linalg.fill
// TINY: %[[SUM:.*]] = scf.for {{.*}} iter_args
// TINY: linalg.generic {{.*}} "reduction"]
// TINY: scf.yield
// TINY: linalg.generic {{.*}} ins(%[[SUM]]
// TINY: tensor.insert_slice
// SERVER-LABEL: func.func @matmul
func.func @matmul(%x: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>, %bias: tensor<1024xf32>) -> tensor<1024x1024xf32> {
  %e = tensor.empty() : tensor<1024x1024xf32>
  %b = linalg.broadcast ins(%bias : tensor<1024xf32>) outs(%e : tensor<1024x1024xf32>) dimensions = [0]
  %m = linalg.matmul ins(%x, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%b : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %m : tensor<1024x1024xf32>
}

// -----

// Matrices of a batch are contracted one by one.
// TINY-LABEL: func.func @batch
// TINY: linalg.generic {{.*}} outs(%{{.*}} : tensor<1x8x8xf32>)
// SERVER-LABEL: func.func @batch
// SERVER: linalg.generic {{.*}} outs(%{{.*}} : tensor<1x{{[48]}}x8xf32>)
func.func @batch(%x: tensor<4x8x8xf32>, %w: tensor<4x8x8xf32>) -> tensor<4x8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %m = linalg.batch_matmul ins(%x, %w : tensor<4x8x8xf32>, tensor<4x8x8xf32>) outs(%f : tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  return %m : tensor<4x8x8xf32>
}

// -----

// Each tile of a padded image reads a window of the image, which may reach
// beyond its edges.
// TINY-LABEL: func.func @padded
// TINY: graph.dispatch
// TINY: scf.for %[[Y:.*]] = %{{.*}} to %{{.*}} step
// TINY: tile.window %{{.*}}[%[[Y]], %{{.*}}] low = [0, 1, 1] high = [0, 1, 1] padding = 0.000000e+00 : f32 into %{{.*}} : tensor<8x128x128xf32> to tensor<8x4x130xf32>
// TINY-NOT: graph.dispatch
// SERVER-LABEL: func.func @padded
// SERVER: graph.dispatch
// SERVER: scf.for %[[X:.*]] = %{{.*}} to %{{.*}} step
// SERVER: scf.for %[[Y:.*]] = %{{.*}} to %{{.*}} step
// SERVER: tile.window %{{.*}}[%[[Y]], %[[X]]] low = [0, 1, 1] high = [0, 1, 1]
// SERVER-NOT: graph.dispatch
func.func @padded(%x: tensor<1x8x128x128xf32>, %w: tensor<8x8x3x3xf32>) -> tensor<1x8x128x128xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x8x128x128xf32> to tensor<1x8x130x130xf32>
  %e = tensor.empty() : tensor<1x8x128x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x8x128x128xf32>) -> tensor<1x8x128x128xf32>
  %c = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%p, %w : tensor<1x8x130x130xf32>, tensor<8x8x3x3xf32>) outs(%f : tensor<1x8x128x128xf32>) -> tensor<1x8x128x128xf32>
  return %c : tensor<1x8x128x128xf32>
}

// -----

// What a loop does not change is loaded ahead of it: here that over output
// channels.
// TINY-LABEL: func.func @channels_of_padded
// SERVER-LABEL: func.func @channels_of_padded
// TINY-NOT: scf.for
// TINY: tile.window
// TINY-NOT: tile.window
// TINY: scf.for
// TINY-NOT: tile.window
// TINY: return
func.func @channels_of_padded(%x: tensor<8x8x16xf32>, %w: tensor<512x3x3x16xf32>) -> tensor<8x8x512xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[1, 1, 0] high[1, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index):
    tensor.yield %zero : f32
  } : tensor<8x8x16xf32> to tensor<10x10x16xf32>
  %e = tensor.empty() : tensor<8x8x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8x512xf32>) -> tensor<8x8x512xf32>
  %c = linalg.generic {
      indexing_maps = [affine_map<(h, w, n, kh, kw, k) -> (h + kh, w + kw, k)>, affine_map<(h, w, n, kh, kw, k) -> (n, kh, kw, k)>, affine_map<(h, w, n, kh, kw, k) -> (h, w, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%p, %w : tensor<10x10x16xf32>, tensor<512x3x3x16xf32>) outs(%f : tensor<8x8x512xf32>) {
  ^bb0(%u: f32, %v: f32, %s: f32):
    %m = arith.mulf %u, %v : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<8x8x512xf32>
  return %c : tensor<8x8x512xf32>
}

// -----

// No size divides these extents: the last tiles of the parallel loops start
// earlier, the rest of the reduction goes on from the loop's sum.
// TINY-LABEL: func.func @primes
// TINY: scf.for
// TINY: arith.minsi
// TINY: %[[SUM:.*]] = scf.for
// TINY: linalg.generic {{.*}} "reduction"]{{.*}} outs(%{{.*}} : tensor<[[M:[0-9]+]]x[[N:[0-9]+]]xf32>)
// TINY: linalg.generic {{.*}} "reduction"]{{.*}} outs(%[[SUM]] : tensor<[[M]]x[[N]]xf32>)
// TINY-NOT: tensor<?
// SERVER-LABEL: func.func @primes
func.func @primes(%x: tensor<127x1021xf32>, %w: tensor<1021x509xf32>) -> tensor<127x509xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<127x509xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<127x509xf32>) -> tensor<127x509xf32>
  %m = linalg.matmul ins(%x, %w : tensor<127x1021xf32>, tensor<1021x509xf32>) outs(%f : tensor<127x509xf32>) -> tensor<127x509xf32>
  return %m : tensor<127x509xf32>
}
