// RUN: tessera-opt %s -tessera-convert-to-tile -split-input-file -verify-diagnostics

func.func private @mixed(%x: memref<4x8xf16, #tile.space<dram>>, %w: memref<8x4xf16, #tile.space<dram>>, %y: memref<4x4xf16, #tile.space<dram>>) attributes {tile.dispatch} {
  %zero = arith.constant 0.0 : f16
  linalg.fill ins(%zero : f16) outs(%y : memref<4x4xf16, #tile.space<dram>>)
  // expected-error@+1 {{multiplies 'f16' by 'f16' into 'f16'; supported are operands of one type, accumulated in f32 (floats) or i32 (integers)}}
  linalg.matmul ins(%x, %w : memref<4x8xf16, #tile.space<dram>>, memref<8x4xf16, #tile.space<dram>>) outs(%y : memref<4x4xf16, #tile.space<dram>>)
  return
}
