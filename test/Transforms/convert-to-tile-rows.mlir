// RUN: tessera-opt %s -tessera-convert-to-tile=arch=tiny -verify-lowered-to-tile | FileCheck %s

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>

// tiny's 16 banks of 16 bytes repeat after 256 bytes, so rows of 64 f32 would all
// begin in the same bank: those that stream get 64 bytes of room. Weights and
// accumulators stay as they are.
// CHECK-LABEL: tile.kernel @product
// CHECK-DAG: tile.alloc : memref<8x64xf32, strided<[80, 1]>, #tile.space<spm>>
// CHECK-DAG: tile.alloc : memref<64x64xf32, #tile.space<spm>>
// CHECK-DAG: tile.alloc : memref<8x64xf32, #tile.space<acc>>
func.func private @product(%x: memref<8x64xf32, #tile.space<dram>>, %w: memref<64x64xf32, #tile.space<dram>>,
                           %y: memref<8x64xf32, #tile.space<dram>>)
    attributes {tile.dispatch, depth = 2 : i64, nodes = ["fc"]} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<8x64xf32, #tile.space<dram>>)
  linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<8x64xf32, #tile.space<dram>>, memref<64x64xf32, #tile.space<dram>>)
      outs(%y : memref<8x64xf32, #tile.space<dram>>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}
