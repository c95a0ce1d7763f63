// RUN: tessera-opt %s -convert-tile-to-isa=arch=server | tessera-opt -verify-isa-program=arch=server | FileCheck %s

// A load that the four cores of a column share. At first each core tells those
// whose turn is first that its two slots are free.

// CHECK-LABEL: isa.kernel @shared
// CHECK:         isa.signal.core queue = seq, core = {{.*}}, sem = [[FREE:[0-9]+]], count = 1
// CHECK:         isa.signal.core queue = seq, core = {{.*}}, sem = [[FREE]], count = 1
// CHECK:         isa.loop {{.*}} count = 8
// The core whose turn it is waits for all four, and fills the slot of each. Each
// slot has a semaphore.
// CHECK:           isa.bne ra = [[TURN:r[0-9]+]], rb = {{r[0-9]+}}, offset = 6
// CHECK-NEXT:      isa.li rd = [[ZERO:r[0-9]+]], imm = 0
// CHECK-NEXT:      isa.bne ra = [[SLOT:r[0-9]+]], rb = [[ZERO]], offset = 2
// CHECK-NEXT:      isa.load.multicast {{.*}} sem = [[DATA0:[0-9]+]], count = 1 wait(s[[FREE]] >= 4)
// CHECK-NEXT:      isa.beq ra = [[SLOT]], rb = [[ZERO]], offset = 2
// CHECK-NEXT:      isa.load.multicast {{.*}} sem = [[DATA1:[0-9]+]], count = 1 wait(s[[FREE]] >= 4)
// CHECK:           isa.wait queue = vx wait(s[[DATA0]] >= 1)
// CHECK:           isa.wait queue = vx wait(s[[DATA1]] >= 1)
// CHECK:           isa.map
// The next core but one will fill this slot again: from rank to index.
// CHECK:           isa.addi rd = [[NEXT:r[0-9]+]], ra = [[TURN]], imm = 2
// CHECK-NEXT:      isa.andi rd = [[RANK:r[0-9]+]], ra = [[NEXT]], imm = 3
// CHECK-NEXT:      isa.muli rd = [[FAR:r[0-9]+]], ra = [[RANK]], imm = 4
// CHECK-NEXT:      isa.add rd = [[CORE:r[0-9]+]], ra = [[FAR]]
// CHECK-NEXT:      isa.signal.core queue = vx, core = [[CORE]], sem = [[FREE]], count = 1
// CHECK:           isa.addi rd = [[TURN]], ra = [[TURN]], imm = 1
// CHECK-NEXT:      isa.andi rd = [[TURN]], ra = [[TURN]], imm = 3
// Those whose turn would come have been told that slots are free.
// CHECK:         isa.bge {{.*}} offset = 2
// CHECK-NEXT:    isa.wait queue = ld wait(s[[FREE]] >= 4)
tile.kernel @shared(%x: memref<64xf32, #tile.space<dram>>, %y: memref<64xf32, #tile.space<dram>>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c8 {
    %xs = memref.subview %x[%i] [8] [1] : memref<64xf32, #tile.space<dram>> to memref<8xf32, strided<[1], offset: ?>, #tile.space<dram>>
    %ys = memref.subview %y[%i] [8] [1] : memref<64xf32, #tile.space<dram>> to memref<8xf32, strided<[1], offset: ?>, #tile.space<dram>>
    %t = tile.alloc {depth = 2} : memref<8xf32, #tile.space<spm>>
    tile.load %xs to %t shared <size = 4, stride = 4, columns = 4> : memref<8xf32, strided<[1], offset: ?>, #tile.space<dram>> to memref<8xf32, #tile.space<spm>>
    %o = tile.alloc {depth = 2} : memref<8xf32, #tile.space<spm>>
    tile.map ins(%t : memref<8xf32, #tile.space<spm>>) outs(%o : memref<8xf32, #tile.space<spm>>)
        bounds = [8] iterators = ["parallel"] maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>] reduce = none {
    ^bb0(%a: f32):
      tile.yield %a : f32
    }
    tile.store %o to %ys : memref<8xf32, #tile.space<spm>> to memref<8xf32, strided<[1], offset: ?>, #tile.space<dram>>
  }
  tile.return
}
device.program @main inputs [#device.tensor<"x" : "f32", [64]>] outputs [#device.tensor<"y" : "f32", [64]>] {
^bb0(%x: !device.buffer<256>, %y: !device.buffer<256>):
  device.dispatch @shared(%x, %y) cores = [4, 4] nodes = [] : !device.buffer<256>, !device.buffer<256>
  device.return
}
