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

// Spatial tiles of a large image cannot be padded one by one, and it does not
// fit whole into tiny: the padding becomes dispatches of its own there, and on
// server, whose cores can then share the image.
// TINY-LABEL: func.func @padded
// TINY: graph.dispatch
// TINY: linalg.fill
// TINY: linalg.copy
// TINY: graph.dispatch
// TINY-NOT: linalg.copy
// SERVER-LABEL: func.func @padded
// SERVER: graph.dispatch
// SERVER: linalg.fill
// SERVER: graph.dispatch
// SERVER: linalg.copy
// SERVER: graph.dispatch
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
