// RUN: tessera-opt %s -tessera-convert-to-tile -verify-lowered-to-tile -split-input-file | FileCheck %s

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>

// The accumulator lives in ACC; the fill goes away: the K loop overwrites in its
// first iteration. The weights' view does not change with the outer loop and is
// loaded outside of it; what changes gets two buffers.
// CHECK-LABEL: tile.kernel @matmul(
// CHECK-SAME: %[[X:.*]]: memref<64x32xf32, #tile.space<dram>>, %[[W:.*]]: memref<32x16xf32, #tile.space<dram>>, %[[BIAS:.*]]: memref<16xf32, #tile.space<dram>>, %[[Y:.*]]: memref<64x16xf32, #tile.space<dram>>)
// CHECK-SAME: nodes = ["fc"]
// CHECK: %[[B:.*]] = tile.alloc : memref<16xf32, #tile.space<spm>>
// CHECK: tile.load %[[BIAS]] to %[[B]]
// CHECK: scf.for
// CHECK: %[[ACC:.*]] = tile.alloc {depth = 2 : i64} : memref<8x16xf32, #tile.space<acc>>
// CHECK-NOT: fill
// CHECK: scf.for %[[K:.*]] =
// CHECK: tile.load
// CHECK: tile.load
// CHECK: tile.mma ins(%{{.*}}, %{{.*}}) outs(%[[ACC]]) bounds = [8, 16, 8] {{.*}} accumulate_if(%[[K]])
// CHECK: }
// CHECK: %[[OUT:.*]] = tile.alloc {depth = 2 : i64} : memref<8x16xf32, #tile.space<spm>>
// CHECK: tile.map ins(%[[ACC]], %[[B]] : {{.*}}) outs(%[[OUT]] :
// CHECK: arith.addf
// CHECK: tile.store %[[OUT]]
// CHECK: tile.return
func.func private @matmul(%x: memref<64x32xf32, #tile.space<dram>>, %w: memref<32x16xf32, #tile.space<dram>>,
                          %bias: memref<16xf32, #tile.space<dram>>, %y: memref<64x16xf32, #tile.space<dram>>)
    attributes {tile.dispatch, depth = 2 : i64, nodes = ["fc"]} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.for %m = %c0 to %c64 step %c8 {
    %acc = memref.alloc() : memref<8x16xf32, #tile.space<spm>>
    linalg.fill ins(%zero : f32) outs(%acc : memref<8x16xf32, #tile.space<spm>>)
    scf.for %k = %c0 to %c32 step %c8 {
      %xs = memref.subview %x[%m, %k] [8, 8] [1, 1] : memref<64x32xf32, #tile.space<dram>> to memref<8x8xf32, strided<[32, 1], offset: ?>, #tile.space<dram>>
      %ws = memref.subview %w[%k, 0] [8, 16] [1, 1] : memref<32x16xf32, #tile.space<dram>> to memref<8x16xf32, strided<[16, 1], offset: ?>, #tile.space<dram>>
      linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%xs, %ws : memref<8x8xf32, strided<[32, 1], offset: ?>, #tile.space<dram>>, memref<8x16xf32, strided<[16, 1], offset: ?>, #tile.space<dram>>)
          outs(%acc : memref<8x16xf32, #tile.space<spm>>) {
      ^bb0(%a: f32, %b: f32, %c: f32):
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
    }
    %ys = memref.subview %y[%m, 0] [8, 16] [1, 1] : memref<64x16xf32, #tile.space<dram>> to memref<8x16xf32, strided<[16, 1], offset: ?>, #tile.space<dram>>
    linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
        ins(%acc, %bias : memref<8x16xf32, #tile.space<spm>>, memref<16xf32, #tile.space<dram>>)
        outs(%ys : memref<8x16xf32, strided<[16, 1], offset: ?>, #tile.space<dram>>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    }
  }
  return
}

// -----

// A reduction loses its combiner to the operation, and its start with it.
// CHECK-LABEL: tile.kernel @row_max
// CHECK-NOT: tile.fill
// CHECK: tile.map ins(%{{.*}} : memref<4x8xf32, #tile.space<spm>>) outs(%{{.*}} : memref<4xf32, #tile.space<spm>>)
// CHECK-SAME: reduce = max {
// CHECK-NEXT: ^bb0(%[[V:.*]]: f32):
// CHECK-NEXT: %[[A:.*]] = math.absf %[[V]]
// CHECK-NEXT: tile.yield %[[A]]
func.func private @row_max(%x: memref<4x8xf32, #tile.space<dram>>, %y: memref<4xf32, #tile.space<dram>>) attributes {tile.dispatch} {
  %low = arith.constant 0xFF800000 : f32
  linalg.fill ins(%low : f32) outs(%y : memref<4xf32, #tile.space<dram>>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<4x8xf32, #tile.space<dram>>) outs(%y : memref<4xf32, #tile.space<dram>>) {
  ^bb0(%a: f32, %b: f32):
    %v = math.absf %a : f32
    %m = arith.maximumf %b, %v : f32
    linalg.yield %m : f32
  }
  return
}

// -----

// A copy needs one buffer and no engine.
// CHECK-LABEL: tile.kernel @copy
// CHECK: %[[T:.*]] = tile.alloc : memref<4x8xf32, #tile.space<spm>>
// CHECK: tile.load %{{.*}} to %[[T]]
// CHECK: tile.store %[[T]] to %{{.*}}
// CHECK-NOT: tile.alloc
// CHECK: tile.return
func.func private @copy(%x: memref<4x8xf32, #tile.space<dram>>, %y: memref<4x8xf32, #tile.space<dram>>) attributes {tile.dispatch} {
  linalg.copy ins(%x : memref<4x8xf32, #tile.space<dram>>) outs(%y : memref<4x8xf32, #tile.space<dram>>)
  return
}

// -----

// A local tile with a border is filled, then loaded into.
// CHECK-LABEL: tile.kernel @border
// CHECK: %[[T:.*]] = tile.alloc : memref<6xf32, #tile.space<spm>>
// CHECK: tile.fill %[[T]], 0.000000e+00 : f32
// CHECK: %[[INNER:.*]] = memref.subview %[[T]][1] [4] [1]
// CHECK: tile.load %{{.*}} to %[[INNER]]
func.func private @border(%x: memref<4xf32, #tile.space<dram>>, %y: memref<6xf32, #tile.space<dram>>) attributes {tile.dispatch} {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<6xf32, #tile.space<spm>>
  linalg.fill ins(%zero : f32) outs(%t : memref<6xf32, #tile.space<spm>>)
  %i = memref.subview %t[1] [4] [1] : memref<6xf32, #tile.space<spm>> to memref<4xf32, strided<[1], offset: 1>, #tile.space<spm>>
  memref.copy %x, %i : memref<4xf32, #tile.space<dram>> to memref<4xf32, strided<[1], offset: 1>, #tile.space<spm>>
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%t : memref<6xf32, #tile.space<spm>>) outs(%y : memref<6xf32, #tile.space<dram>>) {
  ^bb0(%a: f32, %b: f32):
    %v = arith.negf %a : f32
    linalg.yield %v : f32
  }
  return
}
