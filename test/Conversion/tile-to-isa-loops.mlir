// RUN: tessera-opt %s -convert-tile-to-isa=arch=edge -split-input-file | FileCheck %s

// A double buffer in a loop: the slot toggles, `free` starts with two units,
// which are taken back at the end.

// CHECK-LABEL: isa.kernel @double_buffer
// CHECK:         isa.ldarg rd = [[SRC:r[0-9]+]], index = 0
// CHECK:         isa.li rd = [[SLOT:r[0-9]+]], imm = 0
// CHECK:         isa.signal queue = seq signal([[FREE:s[0-9]+]] += 2)
// CHECK:         isa.loop rd = [[I:r[0-9]+]], count = 4 {
// CHECK-NEXT:      isa.muli rd = [[OFFSET:r[0-9]+]], ra = [[I]], imm = 64
// CHECK-NEXT:      isa.add rd = [[ADDRESS:r[0-9]+]], ra = [[SRC]], rb = [[OFFSET]]
// CHECK-NEXT:      isa.td.add td = [[FROM:t[0-9]+]], src = t0, ra = [[ADDRESS]]
// CHECK-NEXT:      isa.muli rd = [[PLACE:r[0-9]+]], ra = [[SLOT]], imm = 64
// CHECK-NEXT:      isa.td.add td = [[TO:t[0-9]+]], src = t1, ra = [[PLACE]]
// CHECK-NEXT:      isa.load dst = [[TO]], src = [[FROM]] wait([[FREE]] >= 1) signal([[FULL:s[0-9]+]] += 1)
// CHECK:           isa.store {{.*}} wait([[FULL]] >= 1) signal([[FREE]] += 1)
// CHECK-NEXT:      isa.xori rd = [[SLOT]], ra = [[SLOT]], imm = 1
// CHECK-NEXT:    }
// CHECK-NEXT:    isa.wait queue = ld wait([[FREE]] >= 2)
// CHECK-NEXT:    isa.halt
tile.kernel @double_buffer(%src: memref<64xf32, #tile.space<dram>>, %dst: memref<64xf32, #tile.space<dram>>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c16 {
    %t = tile.alloc {depth = 2} : memref<16xf32, #tile.space<spm>>
    %v = memref.subview %src[%i][16][1] : memref<64xf32, #tile.space<dram>> to memref<16xf32, strided<[1], offset: ?>, #tile.space<dram>>
    %w = memref.subview %dst[%i][16][1] : memref<64xf32, #tile.space<dram>> to memref<16xf32, strided<[1], offset: ?>, #tile.space<dram>>
    tile.load %v to %t : memref<16xf32, strided<[1], offset: ?>, #tile.space<dram>> to memref<16xf32, #tile.space<spm>>
    tile.store %t to %w : memref<16xf32, #tile.space<spm>> to memref<16xf32, strided<[1], offset: ?>, #tile.space<dram>>
  }
  tile.return
}

// -----

// Three slots wrap by a remainder.

// CHECK-LABEL: isa.kernel @triple_buffer
// CHECK:         isa.signal queue = seq signal(s{{[0-9]+}} += 3)
// CHECK:           isa.addi rd = [[SLOT:r[0-9]+]], ra = [[SLOT]], imm = 1
// CHECK-NEXT:      isa.li rd = [[THREE:r[0-9]+]], imm = 3
// CHECK-NEXT:      isa.remu rd = [[SLOT]], ra = [[SLOT]], rb = [[THREE]]
tile.kernel @triple_buffer(%dst: memref<64xf32, #tile.space<dram>>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c16 {
    %t = tile.alloc {depth = 3} : memref<16xf32, #tile.space<spm>>
    %w = memref.subview %dst[%i][16][1] : memref<64xf32, #tile.space<dram>> to memref<16xf32, strided<[1], offset: ?>, #tile.space<dram>>
    tile.fill %t, 0.0 : f32 : memref<16xf32, #tile.space<spm>>
    tile.store %t to %w : memref<16xf32, #tile.space<spm>> to memref<16xf32, strided<[1], offset: ?>, #tile.space<dram>>
  }
  tile.return
}

// -----

// What the cores share: first row and step come from the core's number, the
// count is computed, and the loop may be empty.

// CHECK-LABEL: isa.kernel @cores
// CHECK:         isa.coreid rd = [[ID:r[0-9]+]]
// CHECK:         isa.numcores rd = [[CORES:r[0-9]+]]
// CHECK:         isa.max
// CHECK:         isa.divu rd = [[COUNT:r[0-9]+]], ra = {{r[0-9]+}}, rb = [[CORES]]
// CHECK:         isa.loopr rd = [[I:r[0-9]+]], ra = [[COUNT]] {
// CHECK-NEXT:      isa.mul rd = [[STEPS:r[0-9]+]], ra = [[I]], rb = [[CORES]]
tile.kernel @cores(%dst: memref<7x16xf32, #tile.space<dram>>) {
  %c7 = arith.constant 7 : index
  %core = tile.core_id : index
  %cores = tile.num_cores : index
  %t = tile.alloc : memref<16xf32, #tile.space<spm>>
  tile.fill %t, 0.0 : f32 : memref<16xf32, #tile.space<spm>>
  scf.for %i = %core to %c7 step %cores {
    %w = memref.subview %dst[%i, 0][1, 16][1, 1] : memref<7x16xf32, #tile.space<dram>> to memref<16xf32, strided<[1], offset: ?>, #tile.space<dram>>
    tile.store %t to %w : memref<16xf32, #tile.space<spm>> to memref<16xf32, strided<[1], offset: ?>, #tile.space<dram>>
  }
  tile.return
}

// -----

// The part of an address that an inner loop doesn't change is computed ahead of
// it.

// CHECK-LABEL: isa.kernel @hoisted
// CHECK:         isa.loop rd = [[I:r[0-9]+]], count = 4 {
// CHECK-NEXT:      isa.muli rd = [[ROW:r[0-9]+]], ra = [[I]], imm = 256
// CHECK-NEXT:      isa.add rd = [[BASE:r[0-9]+]], ra = {{r[0-9]+}}, rb = [[ROW]]
// CHECK-NEXT:      isa.loop rd = [[J:r[0-9]+]], count = 4 {
// CHECK-NEXT:        isa.muli rd = [[COLUMN:r[0-9]+]], ra = [[J]], imm = 64
// CHECK-NEXT:        isa.add rd = [[ADDRESS:r[0-9]+]], ra = [[BASE]], rb = [[COLUMN]]
// CHECK-NEXT:        isa.td.add td = t{{[0-9]+}}, src = t{{[0-9]+}}, ra = [[ADDRESS]]
// CHECK-NEXT:        isa.store
tile.kernel @hoisted(%dst: memref<4x64xf32, #tile.space<dram>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %t = tile.alloc : memref<16xf32, #tile.space<spm>>
  tile.fill %t, 0.0 : f32 : memref<16xf32, #tile.space<spm>>
  scf.for %i = %c0 to %c4 step %c1 {
    scf.for %j = %c0 to %c64 step %c16 {
      %w = memref.subview %dst[%i, %j][1, 16][1, 1] : memref<4x64xf32, #tile.space<dram>> to memref<16xf32, strided<[1], offset: ?>, #tile.space<dram>>
      tile.store %t to %w : memref<16xf32, #tile.space<spm>> to memref<16xf32, strided<[1], offset: ?>, #tile.space<dram>>
    }
  }
  tile.return
}

// -----

// A later nest reads what an earlier one stored: the sequencer waits for all
// queues in between.

// CHECK-LABEL: isa.kernel @joined
// CHECK:         isa.loop
// CHECK:         }
// CHECK-NEXT:    isa.wait queue = ld wait([[FREE:s[0-9]+]] >= 1)
// CHECK-NEXT:    isa.signal queue = ld signal([[JOIN:s[0-9]+]] += 1)
// CHECK-NEXT:    isa.signal queue = st signal([[JOIN]] += 1)
// CHECK-NEXT:    isa.wait queue = seq wait([[JOIN]] >= 2)
// CHECK-NEXT:    isa.signal queue = seq signal([[FREE]] += 1)
// CHECK:         isa.loop
tile.kernel @joined(%x: memref<64xf32, #tile.space<dram>>, %y: memref<64xf32, #tile.space<dram>>, %z: memref<64xf32, #tile.space<dram>>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c16 {
    %t = tile.alloc : memref<16xf32, #tile.space<spm>>
    %v = memref.subview %x[%i][16][1] : memref<64xf32, #tile.space<dram>> to memref<16xf32, strided<[1], offset: ?>, #tile.space<dram>>
    %w = memref.subview %y[%i][16][1] : memref<64xf32, #tile.space<dram>> to memref<16xf32, strided<[1], offset: ?>, #tile.space<dram>>
    tile.load %v to %t : memref<16xf32, strided<[1], offset: ?>, #tile.space<dram>> to memref<16xf32, #tile.space<spm>>
    tile.store %t to %w : memref<16xf32, #tile.space<spm>> to memref<16xf32, strided<[1], offset: ?>, #tile.space<dram>>
  }
  scf.for %i = %c0 to %c64 step %c16 {
    %t = tile.alloc : memref<16xf32, #tile.space<spm>>
    %v = memref.subview %y[%i][16][1] : memref<64xf32, #tile.space<dram>> to memref<16xf32, strided<[1], offset: ?>, #tile.space<dram>>
    %w = memref.subview %z[%i][16][1] : memref<64xf32, #tile.space<dram>> to memref<16xf32, strided<[1], offset: ?>, #tile.space<dram>>
    tile.load %v to %t : memref<16xf32, strided<[1], offset: ?>, #tile.space<dram>> to memref<16xf32, #tile.space<spm>>
    tile.store %t to %w : memref<16xf32, #tile.space<spm>> to memref<16xf32, strided<[1], offset: ?>, #tile.space<dram>>
  }
  tile.return
}
