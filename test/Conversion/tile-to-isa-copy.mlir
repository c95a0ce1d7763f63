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
