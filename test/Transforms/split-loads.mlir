// RUN: tessera-opt %s -tessera-split-loads=arch=edge -split-input-file | FileCheck %s

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#a = strided<[512, 1], offset: ?>
#b = strided<[256, 1], offset: ?>

// The rows stay while the columns change: pieces of 64, 192 and 256 terms. Each
// of the first iteration's is loaded right before it is read; the loop reads the
// rows' pieces and parts of columns that come whole.

// CHECK-LABEL: tile.kernel @panel
// CHECK: %[[A0:.*]] = tile.alloc : memref<64x64xbf16, #tile.space<spm>>
// CHECK: %[[A1:.*]] = tile.alloc : memref<64x192xbf16, #tile.space<spm>>
// CHECK: %[[A2:.*]] = tile.alloc : memref<64x256xbf16, strided<[288, 1]>, #tile.space<spm>>
// CHECK: %[[C:.*]] = tile.alloc : memref<64x64xf32, #tile.space<acc>>
// CHECK-DAG: tile.load {{.*}} to %[[A0]]
// CHECK-DAG: tile.load {{.*}} to %[[B0:.*]] : {{.*}} to memref<64x64xbf16, #tile.space<spm>>
// CHECK: tile.mma ins(%[[A0]], %[[B0]]) outs(%[[C]]) bounds = [64, 64, 64] {{.*}}] : memref
// CHECK-DAG: tile.load {{.*}} to %[[A1]]
// CHECK-DAG: tile.load {{.*}} to %[[B1:.*]] : {{.*}} to memref<192x64xbf16, #tile.space<spm>>
// CHECK: tile.mma ins(%[[A1]], %[[B1]]) outs(%[[C]]) bounds = [64, 64, 192] {{.*}} accumulate :
// CHECK: tile.load {{.*}} to %[[A2]]
// CHECK: tile.mma ins(%[[A2]], {{.*}}) outs(%[[C]]) bounds = [64, 64, 256] {{.*}} accumulate :
// CHECK: tile.store %[[C]]
// CHECK: %[[SECOND:.*]] = arith.constant 64 : index
// CHECK: scf.for %{{.*}} = %[[SECOND]] to
// CHECK:   tile.alloc {depth = 2 : i64} : memref<64x64xf32, #tile.space<acc>>
// CHECK:   %[[B:.*]] = tile.alloc {depth = 2 : i64} : memref<512x64xbf16, #tile.space<spm>>
// CHECK:   tile.load {{.*}} to %[[B]]
// CHECK:   tile.mma ins(%[[A0]], {{.*}} bounds = [64, 64, 64] {{.*}}] : memref
// CHECK:   tile.mma ins(%[[A1]], {{.*}} bounds = [64, 64, 192] {{.*}} accumulate :
// CHECK:   tile.mma ins(%[[A2]], {{.*}} bounds = [64, 64, 256] {{.*}} accumulate :
// CHECK:   tile.store
tile.kernel @panel(%a: memref<64x512xbf16, #tile.space<dram>>, %b: memref<512x256xbf16, #tile.space<dram>>, %c: memref<64x256xf32, #tile.space<dram>>) attributes {pieces} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %al = tile.alloc : memref<64x512xbf16, #tile.space<spm>>
  tile.load %a to %al : memref<64x512xbf16, #tile.space<dram>> to memref<64x512xbf16, #tile.space<spm>>
  scf.for %n = %c0 to %c256 step %c64 {
    %acc = tile.alloc {depth = 2} : memref<64x64xf32, #tile.space<acc>>
    %bs = memref.subview %b[0, %n] [512, 64] [1, 1] : memref<512x256xbf16, #tile.space<dram>> to memref<512x64xbf16, #b, #tile.space<dram>>
    %bl = tile.alloc {depth = 2} : memref<512x64xbf16, #tile.space<spm>>
    tile.load %bs to %bl : memref<512x64xbf16, #b, #tile.space<dram>> to memref<512x64xbf16, #tile.space<spm>>
    tile.mma ins(%al, %bl) outs(%acc) bounds = [64, 64, 512] iterators = ["parallel", "parallel", "reduction"]
      maps = [#mk, #kn, #mn]
      : memref<64x512xbf16, #tile.space<spm>>, memref<512x64xbf16, #tile.space<spm>> -> memref<64x64xf32, #tile.space<acc>>
    %cs = memref.subview %c[0, %n] [64, 64] [1, 1] : memref<64x256xf32, #tile.space<dram>> to memref<64x64xf32, #b, #tile.space<dram>>
    tile.store %acc to %cs : memref<64x64xf32, #tile.space<acc>> to memref<64x64xf32, #b, #tile.space<dram>>
  }
  tile.return
}

// -----

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>

// A tile that is the only one comes in pieces. What is left of the blocks of 32
// terms is in the last one.

// CHECK-LABEL: tile.kernel @one
// CHECK: bounds = [64, 64, 32] {{.*}}] : memref
// CHECK: bounds = [64, 64, 96] {{.*}} accumulate :
// CHECK: bounds = [64, 64, 132] {{.*}} accumulate :
// CHECK-NOT: tile.mma
tile.kernel @one(%a: memref<64x260xbf16, #tile.space<dram>>, %b: memref<260x64xbf16, #tile.space<dram>>, %c: memref<64x64xf32, #tile.space<dram>>) attributes {pieces} {
  %al = tile.alloc : memref<64x260xbf16, #tile.space<spm>>
  tile.load %a to %al : memref<64x260xbf16, #tile.space<dram>> to memref<64x260xbf16, #tile.space<spm>>
  %bl = tile.alloc : memref<260x64xbf16, #tile.space<spm>>
  tile.load %b to %bl : memref<260x64xbf16, #tile.space<dram>> to memref<260x64xbf16, #tile.space<spm>>
  %acc = tile.alloc : memref<64x64xf32, #tile.space<acc>>
  tile.mma ins(%al, %bl) outs(%acc) bounds = [64, 64, 260] iterators = ["parallel", "parallel", "reduction"]
    maps = [#mk, #kn, #mn]
    : memref<64x260xbf16, #tile.space<spm>>, memref<260x64xbf16, #tile.space<spm>> -> memref<64x64xf32, #tile.space<acc>>
  tile.store %acc to %c : memref<64x64xf32, #tile.space<acc>> to memref<64x64xf32, #tile.space<dram>>
  tile.return
}

// -----

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#a = strided<[512, 1], offset: ?>

// Fewer than four blocks, and tiles of which both operands change, stay whole.

// CHECK-LABEL: tile.kernel @few
// CHECK: bounds = [64, 64, 96]
// CHECK-NOT: tile.mma
tile.kernel @few(%a: memref<64x96xbf16, #tile.space<dram>>, %b: memref<96x64xbf16, #tile.space<dram>>, %c: memref<64x64xf32, #tile.space<dram>>) attributes {pieces} {
  %al = tile.alloc : memref<64x96xbf16, #tile.space<spm>>
  tile.load %a to %al : memref<64x96xbf16, #tile.space<dram>> to memref<64x96xbf16, #tile.space<spm>>
  %bl = tile.alloc : memref<96x64xbf16, #tile.space<spm>>
  tile.load %b to %bl : memref<96x64xbf16, #tile.space<dram>> to memref<96x64xbf16, #tile.space<spm>>
  %acc = tile.alloc : memref<64x64xf32, #tile.space<acc>>
  tile.mma ins(%al, %bl) outs(%acc) bounds = [64, 64, 96] iterators = ["parallel", "parallel", "reduction"]
    maps = [#mk, #kn, #mn]
    : memref<64x96xbf16, #tile.space<spm>>, memref<96x64xbf16, #tile.space<spm>> -> memref<64x64xf32, #tile.space<acc>>
  tile.store %acc to %c : memref<64x64xf32, #tile.space<acc>> to memref<64x64xf32, #tile.space<dram>>
  tile.return
}

// CHECK-LABEL: tile.kernel @streams
// CHECK: scf.for
// CHECK: bounds = [64, 64, 512]
// CHECK-NOT: tile.mma
tile.kernel @streams(%a: memref<256x512xbf16, #tile.space<dram>>, %b: memref<4x512x64xbf16, #tile.space<dram>>, %c: memref<256x64xf32, #tile.space<dram>>) attributes {pieces} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %m = arith.muli %i, %c64 : index
    %as = memref.subview %a[%m, 0] [64, 512] [1, 1] : memref<256x512xbf16, #tile.space<dram>> to memref<64x512xbf16, #a, #tile.space<dram>>
    %al = tile.alloc {depth = 2} : memref<64x512xbf16, #tile.space<spm>>
    tile.load %as to %al : memref<64x512xbf16, #a, #tile.space<dram>> to memref<64x512xbf16, #tile.space<spm>>
    %bs = memref.subview %b[%i, 0, 0] [1, 512, 64] [1, 1, 1] : memref<4x512x64xbf16, #tile.space<dram>> to memref<512x64xbf16, strided<[64, 1], offset: ?>, #tile.space<dram>>
    %bl = tile.alloc {depth = 2} : memref<512x64xbf16, #tile.space<spm>>
    tile.load %bs to %bl : memref<512x64xbf16, strided<[64, 1], offset: ?>, #tile.space<dram>> to memref<512x64xbf16, #tile.space<spm>>
    %acc = tile.alloc {depth = 2} : memref<64x64xf32, #tile.space<acc>>
    tile.mma ins(%al, %bl) outs(%acc) bounds = [64, 64, 512] iterators = ["parallel", "parallel", "reduction"]
      maps = [#mk, #kn, #mn]
      : memref<64x512xbf16, #tile.space<spm>>, memref<512x64xbf16, #tile.space<spm>> -> memref<64x64xf32, #tile.space<acc>>
    %cs = memref.subview %c[%m, 0] [64, 64] [1, 1] : memref<256x64xf32, #tile.space<dram>> to memref<64x64xf32, strided<[64, 1], offset: ?>, #tile.space<dram>>
    tile.store %acc to %cs : memref<64x64xf32, #tile.space<acc>> to memref<64x64xf32, strided<[64, 1], offset: ?>, #tile.space<dram>>
  }
  tile.return
}
