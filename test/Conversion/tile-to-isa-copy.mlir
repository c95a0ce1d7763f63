// RUN: tessera-opt %s -convert-tile-to-isa=arch=tiny -split-input-file | FileCheck %s

// A contiguous copy is one dimension, whatever its shape. The address of an
// argument is added to its descriptor.

// CHECK-LABEL: isa.kernel @contiguous args 2
// CHECK-NEXT:    isa.descriptor global f32 [32] strides [1] base 0
// CHECK-NEXT:    isa.descriptor spm f32 [32] strides [1] base 0
// CHECK:         isa.ldarg rd = [[SRC:r[0-9]+]], index = 0
// CHECK:         isa.ldarg rd = [[DST:r[0-9]+]], index = 1
// CHECK:         isa.td.add td = [[T:t[0-9]+]], src = t0, ra = [[SRC]]
// CHECK-NEXT:    isa.load dst = t1, src = [[T]] signal(s0 += 1)
// CHECK:         isa.td.add td = [[T]], src = t0, ra = [[DST]]
// CHECK-NEXT:    isa.store dst = [[T]], src = t1 wait(s0 >= 1)
// CHECK-NEXT:    isa.halt
tile.kernel @contiguous(%src: memref<4x8xf32, #tile.space<dram>>, %dst: memref<4x8xf32, #tile.space<dram>>) {
  %t = tile.alloc : memref<4x8xf32, #tile.space<spm>>
  tile.load %src to %t : memref<4x8xf32, #tile.space<dram>> to memref<4x8xf32, #tile.space<spm>>
  tile.store %t to %dst : memref<4x8xf32, #tile.space<spm>> to memref<4x8xf32, #tile.space<dram>>
  tile.return
}

// -----

// A view keeps its strides, and a constant offset is the descriptor's base in
// bytes. Dimensions of extent 1 go.

// CHECK-LABEL: isa.kernel @view
// CHECK-NEXT:    isa.descriptor global bf16 [2, 4] strides [16, 1] base 40
// CHECK-NEXT:    isa.descriptor spm bf16 [2, 4] strides [4, 1] base 0
tile.kernel @view(%src: memref<4x1x16xbf16, #tile.space<dram>>, %dst: memref<2x1x4xbf16, #tile.space<dram>>) {
  %t = tile.alloc : memref<2x1x4xbf16, #tile.space<spm>>
  %v = memref.subview %src[1, 0, 4][2, 1, 4][1, 1, 1] : memref<4x1x16xbf16, #tile.space<dram>> to memref<2x1x4xbf16, strided<[16, 16, 1], offset: 20>, #tile.space<dram>>
  tile.load %v to %t : memref<2x1x4xbf16, strided<[16, 16, 1], offset: 20>, #tile.space<dram>> to memref<2x1x4xbf16, #tile.space<spm>>
  tile.store %t to %dst : memref<2x1x4xbf16, #tile.space<spm>> to memref<2x1x4xbf16, #tile.space<dram>>
  tile.return
}

// -----

// fill takes the bits of the number.

// CHECK-LABEL: isa.kernel @fill
// CHECK:         isa.fill dst = t0, value = 1065353216 signal(s0 += 1)
tile.kernel @fill(%dst: memref<64xf32, #tile.space<dram>>) {
  %t = tile.alloc : memref<64xf32, #tile.space<spm>>
  tile.fill %t, 1.0 : f32 : memref<64xf32, #tile.space<spm>>
  tile.store %t to %dst : memref<64xf32, #tile.space<spm>> to memref<64xf32, #tile.space<dram>>
  tile.return
}

// -----

// A window starts at its coordinates in the tensor, the border's width before
// the offset; dimensions with a border stay apart, even of one element.

// CHECK-LABEL: isa.kernel @window
// CHECK-NEXT:    isa.descriptor global bf16 [1, 58, 32] strides [1792, 32, 1] base 0 padding 0x3f80
// CHECK-NEXT:    isa.descriptor spm bf16 [1, 58, 32] strides [1856, 32, 1] base 0
// CHECK:         isa.loop rd = [[Y:r[0-9]+]], count = 58
// CHECK:           isa.td.add td = [[T:t[0-9]+]], src = t0
// CHECK:           isa.addi rd = [[FIRST:r[0-9]+]], ra = [[Y]], imm = -1
// CHECK:           isa.td.window td = [[T]], src = [[T]], ra = [[FIRST]], rb = {{r[0-9]+}}, dim = 0, step = 1
// CHECK:           isa.td.window td = [[T]], src = [[T]], ra = {{r[0-9]+}}, rb = {{r[0-9]+}}, dim = 1, step = 1
// CHECK:           isa.load dst = {{t[0-9]+}}, src = [[T]], pad
tile.kernel @window(%src: memref<56x56x4x8xbf16, #tile.space<dram>>, %dst: memref<58x1x58x4x8xbf16, #tile.space<dram>>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %rows = arith.constant 58 : index
  scf.for %y = %zero to %rows step %one {
    %t = tile.alloc {depth = 2} : memref<1x58x4x8xbf16, #tile.space<spm>>
    tile.load %src to %t window[%y, %zero] low = [1, 1, 0, 0] high = [1, 1, 0, 0] padding = 1.0 : bf16 : memref<56x56x4x8xbf16, #tile.space<dram>> to memref<1x58x4x8xbf16, #tile.space<spm>>
    %v = memref.subview %dst[%y, 0, 0, 0, 0][1, 1, 58, 4, 8][1, 1, 1, 1, 1] : memref<58x1x58x4x8xbf16, #tile.space<dram>> to memref<1x58x4x8xbf16, strided<[1856, 32, 8, 1], offset: ?>, #tile.space<dram>>
    tile.store %t to %v : memref<1x58x4x8xbf16, #tile.space<spm>> to memref<1x58x4x8xbf16, strided<[1856, 32, 8, 1], offset: ?>, #tile.space<dram>>
  }
  tile.return
}
