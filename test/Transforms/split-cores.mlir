// RUN: tessera-opt %s -tessera-split-cores=arch=edge | FileCheck %s

// The iterations go to edge's two cores in turn; both load what comes first.
// CHECK-LABEL: tile.kernel @shared
// CHECK: tile.load
// CHECK: %[[CORE:.*]] = tile.core_id : index
// CHECK: %[[FIRST:.*]] = arith.muli %[[CORE]], %{{.*}} : index
// CHECK: scf.for %[[I:.*]] = %c0 to %{{.*}} step %c16
// CHECK: %[[AT:.*]] = arith.addi %[[I]], %[[FIRST]] : index
// CHECK: memref.subview %{{.*}}[%[[AT]]]
tile.kernel @shared(%x: memref<64xf32, #tile.space<dram>>, %w: memref<8xf32, #tile.space<dram>>, %y: memref<64xf32, #tile.space<dram>>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %weights = tile.alloc : memref<8xf32, #tile.space<spm>>
  tile.load %w to %weights : memref<8xf32, #tile.space<dram>> to memref<8xf32, #tile.space<spm>>
  scf.for %i = %c0 to %c64 step %c8 {
    %xs = memref.subview %x[%i] [8] [1] : memref<64xf32, #tile.space<dram>> to memref<8xf32, strided<[1], offset: ?>, #tile.space<dram>>
    %ys = memref.subview %y[%i] [8] [1] : memref<64xf32, #tile.space<dram>> to memref<8xf32, strided<[1], offset: ?>, #tile.space<dram>>
    %t = tile.alloc {depth = 2} : memref<8xf32, #tile.space<spm>>
    tile.load %xs to %t : memref<8xf32, strided<[1], offset: ?>, #tile.space<dram>> to memref<8xf32, #tile.space<spm>>
    tile.store %t to %ys : memref<8xf32, #tile.space<spm>> to memref<8xf32, strided<[1], offset: ?>, #tile.space<dram>>
  }
  tile.return
}

// A sum over the loop cannot be shared.
// CHECK-LABEL: tile.kernel @carried
// CHECK-NOT: tile.core_id
// CHECK: tile.return
tile.kernel @carried(%x: memref<64xf32, #tile.space<dram>>, %y: memref<8xf32, #tile.space<dram>>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %sum = tile.alloc : memref<8xf32, #tile.space<spm>>
  scf.for %i = %c0 to %c64 step %c8 {
    %xs = memref.subview %x[%i] [8] [1] : memref<64xf32, #tile.space<dram>> to memref<8xf32, strided<[1], offset: ?>, #tile.space<dram>>
    %t = tile.alloc {depth = 2} : memref<8xf32, #tile.space<spm>>
    tile.load %xs to %t : memref<8xf32, strided<[1], offset: ?>, #tile.space<dram>> to memref<8xf32, #tile.space<spm>>
    tile.map ins(%t : memref<8xf32, #tile.space<spm>>) outs(%sum : memref<8xf32, #tile.space<spm>>)
        bounds = [8] iterators = ["parallel"] maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>] reduce = sum accumulate_if(%i) {
    ^bb0(%a: f32):
      tile.yield %a : f32
    }
  }
  tile.store %sum to %y : memref<8xf32, #tile.space<spm>> to memref<8xf32, #tile.space<dram>>
  tile.return
}

// The attribute gives each core a column of tiles; the outer loop stays whole.
// CHECK-LABEL: tile.kernel @columns
// CHECK-NOT: cores =
// CHECK: %[[CORE:.*]] = tile.core_id : index
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c8{{.*}} step %c1
// CHECK: scf.for %{{.*}} = %{{.*}} to %c64{{.*}} step %c64
tile.kernel @columns(%x: memref<8x64xf32, #tile.space<dram>>, %y: memref<8x64xf32, #tile.space<dram>>) attributes {cores = array<i64: 1, 2>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %c64 step %c32 {
      %xs = memref.subview %x[%i, %j] [1, 32] [1, 1] : memref<8x64xf32, #tile.space<dram>> to memref<1x32xf32, strided<[64, 1], offset: ?>, #tile.space<dram>>
      %ys = memref.subview %y[%i, %j] [1, 32] [1, 1] : memref<8x64xf32, #tile.space<dram>> to memref<1x32xf32, strided<[64, 1], offset: ?>, #tile.space<dram>>
      %t = tile.alloc {depth = 2} : memref<1x32xf32, #tile.space<spm>>
      tile.load %xs to %t : memref<1x32xf32, strided<[64, 1], offset: ?>, #tile.space<dram>> to memref<1x32xf32, #tile.space<spm>>
      tile.store %t to %ys : memref<1x32xf32, #tile.space<spm>> to memref<1x32xf32, strided<[64, 1], offset: ?>, #tile.space<dram>>
    }
  }
  tile.return
}

// CHECK-LABEL: device.program @main
// CHECK: device.dispatch @shared({{.*}}) cores = [2, 1]
// CHECK: device.dispatch @carried({{.*}}) cores = [1, 1]
device.program @main inputs [#device.tensor<"x" : "f32", [64]>, #device.tensor<"w" : "f32", [8]>] outputs [#device.tensor<"y" : "f32", [64]>, #device.tensor<"z" : "f32", [8]>] {
^bb0(%x: !device.buffer<256>, %w: !device.buffer<32>, %y: !device.buffer<256>, %z: !device.buffer<32>):
  device.dispatch @shared(%x, %w, %y) cores = [1, 1] nodes = [] : !device.buffer<256>, !device.buffer<32>, !device.buffer<256>
  device.dispatch @carried(%x, %z) cores = [1, 1] nodes = [] : !device.buffer<256>, !device.buffer<32>
  device.return
}
