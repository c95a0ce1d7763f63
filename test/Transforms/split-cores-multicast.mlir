// RUN: tessera-opt %s -tessera-split-cores=arch=server -split-input-file | FileCheck %s

// A product on 4 x 4 cores: the rows' tiles are the same along a row of cores,
// the columns' tiles along a column.

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#view = strided<[64, 1], offset: ?>

// CHECK-LABEL: tile.kernel @product
// CHECK-NOT: multicast
// CHECK: scf.for %[[M:.*]] = %c0{{.*}} to %c64{{.*}} step %c32
// CHECK: arith.addi %[[M]],
// CHECK: tile.load {{.*}} shared <size = 4, stride = 1, columns = 4> :
// CHECK: tile.load {{.*}} shared <size = 4, stride = 4, columns = 4> :
// CHECK: tile.store
tile.kernel @product(%a: memref<64x64xf32, #tile.space<dram>>, %b: memref<64x64xf32, #tile.space<dram>>, %c: memref<64x64xf32, #tile.space<dram>>) attributes {cores = array<i64: 4, 4>, multicast} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  scf.for %m = %c0 to %c64 step %c8 {
    scf.for %n = %c0 to %c64 step %c16 {
      %acc = tile.alloc {depth = 2} : memref<8x16xf32, #tile.space<acc>>
      scf.for %k = %c0 to %c64 step %c16 {
        %as = memref.subview %a[%m, %k] [8, 16] [1, 1] : memref<64x64xf32, #tile.space<dram>> to memref<8x16xf32, #view, #tile.space<dram>>
        %al = tile.alloc {depth = 2} : memref<8x16xf32, #tile.space<spm>>
        tile.load %as to %al : memref<8x16xf32, #view, #tile.space<dram>> to memref<8x16xf32, #tile.space<spm>>
        %bs = memref.subview %b[%k, %n] [16, 16] [1, 1] : memref<64x64xf32, #tile.space<dram>> to memref<16x16xf32, #view, #tile.space<dram>>
        %bl = tile.alloc {depth = 2} : memref<16x16xf32, #tile.space<spm>>
        tile.load %bs to %bl : memref<16x16xf32, #view, #tile.space<dram>> to memref<16x16xf32, #tile.space<spm>>
        tile.mma ins(%al, %bl) outs(%acc) bounds = [8, 16, 16] iterators = ["parallel", "parallel", "reduction"]
          maps = [#mk, #kn, #mn] accumulate_if(%k)
          : memref<8x16xf32, #tile.space<spm>>, memref<16x16xf32, #tile.space<spm>> -> memref<8x16xf32, #tile.space<acc>>
      }
      %cs = memref.subview %c[%m, %n] [8, 16] [1, 1] : memref<64x64xf32, #tile.space<dram>> to memref<8x16xf32, #view, #tile.space<dram>>
      tile.store %acc to %cs : memref<8x16xf32, #tile.space<acc>> to memref<8x16xf32, #view, #tile.space<dram>>
    }
  }
  tile.return
}

// -----

// Seven tiles among four cores: some cores do two, one does one, so no load
// inside of that loop is shared. What comes before it is.

#row = strided<[1], offset: ?>

// CHECK-LABEL: tile.kernel @uneven
// CHECK: tile.load {{.*}} shared <size = 4, stride = 1, columns = 4> :
// CHECK: scf.for
// CHECK-NOT: shared
// CHECK: tile.return
tile.kernel @uneven(%x: memref<56xf32, #tile.space<dram>>, %w: memref<8xf32, #tile.space<dram>>, %y: memref<56xf32, #tile.space<dram>>) attributes {cores = array<i64: 4>, multicast} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c56 = arith.constant 56 : index
  %weights = tile.alloc : memref<8xf32, #tile.space<spm>>
  tile.load %w to %weights : memref<8xf32, #tile.space<dram>> to memref<8xf32, #tile.space<spm>>
  scf.for %i = %c0 to %c56 step %c8 {
    %more = tile.alloc : memref<8xf32, #tile.space<spm>>
    tile.load %w to %more : memref<8xf32, #tile.space<dram>> to memref<8xf32, #tile.space<spm>>
    %ys = memref.subview %y[%i] [8] [1] : memref<56xf32, #tile.space<dram>> to memref<8xf32, #row, #tile.space<dram>>
    %t = tile.alloc {depth = 2} : memref<8xf32, #tile.space<spm>>
    tile.map ins(%weights, %more : memref<8xf32, #tile.space<spm>>, memref<8xf32, #tile.space<spm>>) outs(%t : memref<8xf32, #tile.space<spm>>)
        bounds = [8] iterators = ["parallel"] maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>] reduce = none {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      tile.yield %s : f32
    }
    tile.store %t to %ys : memref<8xf32, #tile.space<spm>> to memref<8xf32, #row, #tile.space<dram>>
  }
  tile.return
}

// -----

// A buffer that is filled before the load covers a part of it: each core has to
// do that for itself.

// CHECK-LABEL: tile.kernel @padded
// CHECK-NOT: shared
// CHECK: tile.return
tile.kernel @padded(%w: memref<8xf32, #tile.space<dram>>, %y: memref<64xf32, #tile.space<dram>>) attributes {cores = array<i64: 4>, multicast} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c16 {
    %t = tile.alloc : memref<16xf32, #tile.space<spm>>
    tile.fill %t, 0.0 : f32 : memref<16xf32, #tile.space<spm>>
    %v = memref.subview %t[4] [8] [1] : memref<16xf32, #tile.space<spm>> to memref<8xf32, strided<[1], offset: 4>, #tile.space<spm>>
    tile.load %w to %v : memref<8xf32, #tile.space<dram>> to memref<8xf32, strided<[1], offset: 4>, #tile.space<spm>>
    %o = tile.alloc : memref<16xf32, #tile.space<spm>>
    tile.map ins(%t : memref<16xf32, #tile.space<spm>>) outs(%o : memref<16xf32, #tile.space<spm>>)
        bounds = [16] iterators = ["parallel"] maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>] reduce = none {
    ^bb0(%a: f32):
      tile.yield %a : f32
    }
    %ys = memref.subview %y[%i] [16] [1] : memref<64xf32, #tile.space<dram>> to memref<16xf32, strided<[1], offset: ?>, #tile.space<dram>>
    tile.store %o to %ys : memref<16xf32, #tile.space<spm>> to memref<16xf32, strided<[1], offset: ?>, #tile.space<dram>>
  }
  tile.return
}
