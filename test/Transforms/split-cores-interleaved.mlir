// RUN: tessera-opt %s -tessera-split-cores=arch=server | FileCheck %s

// Four cores in steps of two: core c takes the iterations from c / 2 + c mod 2 * 2
// on, so 0, 2, 1, 3.
// CHECK-LABEL: tile.kernel @columns
// CHECK-NOT: interleave
// CHECK: %[[CORE:.*]] = tile.core_id : index
// CHECK: %[[PART:.*]] = arith.remui %[[CORE]], %c2
// CHECK: %[[FAR:.*]] = arith.muli %[[PART]], %c2
// CHECK: %[[NEAR:.*]] = arith.divui %[[CORE]], %c2
// CHECK: %[[PLACE:.*]] = arith.addi %[[NEAR]], %[[FAR]]
// CHECK: %[[FIRST:.*]] = arith.muli %[[PLACE]], %c8
// CHECK: scf.for %[[I:.*]] = %c0{{.*}} to %c64{{.*}} step %c32
// CHECK-NEXT: arith.addi %[[I]], %[[FIRST]]
tile.kernel @columns(%x: memref<64xf32, #tile.space<dram>>, %y: memref<64xf32, #tile.space<dram>>) attributes {cores = array<i64: 4>, interleave = 2 : i64} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c8 {
    %xs = memref.subview %x[%i] [8] [1] : memref<64xf32, #tile.space<dram>> to memref<8xf32, strided<[1], offset: ?>, #tile.space<dram>>
    %ys = memref.subview %y[%i] [8] [1] : memref<64xf32, #tile.space<dram>> to memref<8xf32, strided<[1], offset: ?>, #tile.space<dram>>
    %t = tile.alloc {depth = 2} : memref<8xf32, #tile.space<spm>>
    tile.load %xs to %t : memref<8xf32, strided<[1], offset: ?>, #tile.space<dram>> to memref<8xf32, #tile.space<spm>>
    tile.store %t to %ys : memref<8xf32, #tile.space<spm>> to memref<8xf32, strided<[1], offset: ?>, #tile.space<dram>>
  }
  tile.return
}
