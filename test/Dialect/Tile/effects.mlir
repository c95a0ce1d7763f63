// RUN: tessera-opt %s -cse -canonicalize | FileCheck %s

// Buffers of the same type stay apart, an unused one goes away, and copies and
// engine work stay.
// CHECK-LABEL: tile.kernel @buffers
// CHECK-COUNT-2: tile.alloc
// CHECK-NOT: tile.alloc
// CHECK-COUNT-2: tile.load
// CHECK: tile.return
tile.kernel @buffers(%a: memref<8xf32, #tile.space<dram>>, %b: memref<8xf32, #tile.space<dram>>) {
  %x = tile.alloc : memref<8xf32, #tile.space<spm>>
  %y = tile.alloc : memref<8xf32, #tile.space<spm>>
  %unused = tile.alloc : memref<8xf32, #tile.space<spm>>
  tile.load %a to %x : memref<8xf32, #tile.space<dram>> to memref<8xf32, #tile.space<spm>>
  tile.load %a to %y : memref<8xf32, #tile.space<dram>> to memref<8xf32, #tile.space<spm>>
  tile.return
}
