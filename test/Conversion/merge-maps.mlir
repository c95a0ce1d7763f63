// RUN: tessera-opt %s -tessera-merge-maps -split-input-file | FileCheck %s

#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// Exponentials and their sum are one map: output 0 is the sum, and it adds what
// memory holds, rounded.
// CHECK-LABEL: tile.kernel @softmax
// CHECK: tile.map ins(%[[X:.*]], %[[M:.*]] : {{.*}}) outs(%[[SUM:.*]], %[[E:.*]] :
// CHECK-SAME: iterators = ["parallel", "reduction"]
// CHECK-SAME: maps = [#[[FULL:.*]], #[[ROW:.*]], #[[ROW]], #[[FULL]]] reduce = sum
// CHECK: %[[T:.*]] = arith.truncf
// CHECK: %[[W:.*]] = arith.extf %[[T]]
// CHECK: tile.yield %[[W]], %[[T]] : f32, bf16
// CHECK-NOT: tile.map
// CHECK: tile.return
tile.kernel @softmax(%out: memref<8xf32, #tile.space<dram>>) {
  %x = tile.alloc : memref<8x16xf32, #tile.space<spm>>
  %m = tile.alloc : memref<8xf32, #tile.space<spm>>
  %e = tile.alloc : memref<8x16xbf16, #tile.space<spm>>
  tile.map ins(%x, %m : memref<8x16xf32, #tile.space<spm>>, memref<8xf32, #tile.space<spm>>)
      outs(%e : memref<8x16xbf16, #tile.space<spm>>) bounds = [8, 16]
      iterators = ["parallel", "parallel"] maps = [#full, #row, #full] reduce = none {
  ^bb0(%a: f32, %b: f32):
    %d = arith.subf %a, %b : f32
    %p = math.exp %d : f32
    %t = arith.truncf %p : f32 to bf16
    tile.yield %t : bf16
  }
  %sum = tile.alloc : memref<8xf32, #tile.space<spm>>
  tile.map ins(%e : memref<8x16xbf16, #tile.space<spm>>) outs(%sum : memref<8xf32, #tile.space<spm>>)
      bounds = [8, 16] iterators = ["parallel", "reduction"] maps = [#full, #row] reduce = sum {
  ^bb0(%a: bf16):
    %w = arith.extf %a : bf16 to f32
    tile.yield %w : f32
  }
  tile.store %sum to %out : memref<8xf32, #tile.space<spm>> to memref<8xf32, #tile.space<dram>>
  tile.return
}

// -----

#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
#turned = affine_map<(i, j) -> (j, i)>

// Not in another order, not over what the map reads itself, and not past another
// engine's work.
// CHECK-LABEL: tile.kernel @apart
// CHECK-COUNT-6: tile.map
tile.kernel @apart(%out: memref<8x8xf32, #tile.space<dram>>) {
  %x = tile.alloc : memref<8x8xf32, #tile.space<spm>>
  %e = tile.alloc : memref<8x8xf32, #tile.space<spm>>
  %m = tile.alloc : memref<8xf32, #tile.space<spm>>
  tile.map ins(%x : memref<8x8xf32, #tile.space<spm>>) outs(%e : memref<8x8xf32, #tile.space<spm>>)
      bounds = [8, 8] iterators = ["parallel", "parallel"] maps = [#full, #full] reduce = none {
  ^bb0(%a: f32):
    tile.yield %a : f32
  }
  tile.map ins(%e : memref<8x8xf32, #tile.space<spm>>) outs(%m : memref<8xf32, #tile.space<spm>>)
      bounds = [8, 8] iterators = ["parallel", "reduction"] maps = [#turned, #row] reduce = sum {
  ^bb0(%a: f32):
    tile.yield %a : f32
  }
  tile.map ins(%x, %m : memref<8x8xf32, #tile.space<spm>>, memref<8xf32, #tile.space<spm>>)
      outs(%e : memref<8x8xf32, #tile.space<spm>>)
      bounds = [8, 8] iterators = ["parallel", "parallel"] maps = [#full, #column, #full] reduce = none {
  ^bb0(%a: f32, %b: f32):
    %d = arith.subf %a, %b : f32
    tile.yield %d : f32
  }
  tile.map ins(%e : memref<8x8xf32, #tile.space<spm>>) outs(%m : memref<8xf32, #tile.space<spm>>)
      bounds = [8, 8] iterators = ["parallel", "reduction"] maps = [#full, #row] reduce = sum {
  ^bb0(%a: f32):
    tile.yield %a : f32
  }
  tile.map ins(%x : memref<8x8xf32, #tile.space<spm>>) outs(%e : memref<8x8xf32, #tile.space<spm>>)
      bounds = [8, 8] iterators = ["parallel", "parallel"] maps = [#full, #full] reduce = none {
  ^bb0(%a: f32):
    tile.yield %a : f32
  }
  tile.store %e to %out : memref<8x8xf32, #tile.space<spm>> to memref<8x8xf32, #tile.space<dram>>
  tile.map ins(%e : memref<8x8xf32, #tile.space<spm>>) outs(%m : memref<8xf32, #tile.space<spm>>)
      bounds = [8, 8] iterators = ["parallel", "reduction"] maps = [#full, #row] reduce = sum {
  ^bb0(%a: f32):
    tile.yield %a : f32
  }
  tile.return
}
