// RUN: tessera-opt %s | tessera-opt | FileCheck %s

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: tile.kernel @matmul(
// CHECK-SAME: %{{.*}}: memref<64x64xf32, #tile.space<dram>>
tile.kernel @matmul(%a: memref<64x64xf32, #tile.space<dram>>,
                    %b: memref<64x16xf32, #tile.space<dram>>,
                    %c: memref<64x16xf32, #tile.space<dram>>) attributes {nodes = ["fc"]} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  scf.for %m = %c0 to %c64 step %c8 {
    // CHECK: tile.alloc {depth = 2 : i64} : memref<8x16xf32, #tile.space<acc>>
    %acc = tile.alloc {depth = 2} : memref<8x16xf32, #tile.space<acc>>
    scf.for %k = %c0 to %c64 step %c32 {
      %as = memref.subview %a[%m, %k] [8, 32] [1, 1] : memref<64x64xf32, #tile.space<dram>> to memref<8x32xf32, strided<[64, 1], offset: ?>, #tile.space<dram>>
      %al = tile.alloc {depth = 2} : memref<8x32xf32, #tile.space<spm>>
      // CHECK: tile.load %{{.*}} to %{{.*}} : memref<8x32xf32, strided<[64, 1], offset: ?>, #tile.space<dram>> to memref<8x32xf32, #tile.space<spm>>
      tile.load %as to %al : memref<8x32xf32, strided<[64, 1], offset: ?>, #tile.space<dram>> to memref<8x32xf32, #tile.space<spm>>
      %bs = memref.subview %b[%k, 0] [32, 16] [1, 1] : memref<64x16xf32, #tile.space<dram>> to memref<32x16xf32, strided<[16, 1], offset: ?>, #tile.space<dram>>
      %bl = tile.alloc {depth = 2} : memref<32x16xf32, #tile.space<spm>>
      tile.load %bs to %bl : memref<32x16xf32, strided<[16, 1], offset: ?>, #tile.space<dram>> to memref<32x16xf32, #tile.space<spm>>
      // CHECK: tile.mma ins(%{{.*}}, %{{.*}}) outs(%{{.*}}) bounds = [8, 16, 32] iterators = ["parallel", "parallel", "reduction"] maps = [{{.*}}] accumulate_if(%{{.*}}) :
      tile.mma ins(%al, %bl) outs(%acc) bounds = [8, 16, 32] iterators = ["parallel", "parallel", "reduction"]
        maps = [#mk, #kn, #mn] accumulate_if(%k)
        : memref<8x32xf32, #tile.space<spm>>, memref<32x16xf32, #tile.space<spm>> -> memref<8x16xf32, #tile.space<acc>>
    }
    %cs = memref.subview %c[%m, 0] [8, 16] [1, 1] : memref<64x16xf32, #tile.space<dram>> to memref<8x16xf32, strided<[16, 1], offset: ?>, #tile.space<dram>>
    // CHECK: tile.store
    tile.store %acc to %cs : memref<8x16xf32, #tile.space<acc>> to memref<8x16xf32, strided<[16, 1], offset: ?>, #tile.space<dram>>
  }
  // CHECK: tile.return
  tile.return
}

// CHECK-LABEL: tile.kernel @vector()
tile.kernel @vector() {
  // CHECK: tile.core_id : index
  %id = tile.core_id : index
  // CHECK: tile.num_cores : index
  %cores = tile.num_cores : index
  %x = tile.alloc : memref<8x4xf32, #tile.space<spm>>
  %y = tile.alloc : memref<4xf32, #tile.space<spm>>
  %s = tile.alloc : memref<8xf32, #tile.space<spm>>
  // CHECK: tile.fill %{{.*}}, 0.000000e+00 : f32 : memref<8x4xf32, #tile.space<spm>>
  tile.fill %x, 0.0 : f32 : memref<8x4xf32, #tile.space<spm>>
  tile.fill %y, 1.0 : f32 : memref<4xf32, #tile.space<spm>>
  // CHECK: tile.map ins(%{{.*}}, %{{.*}} : memref<8x4xf32, #tile.space<spm>>, memref<4xf32, #tile.space<spm>>) outs(%{{.*}} : memref<8xf32, #tile.space<spm>>)
  // CHECK-SAME: bounds = [8, 4] iterators = ["parallel", "reduction"]
  // CHECK-SAME: reduce = sum {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32):
  // CHECK: tile.yield %{{.*}} : f32
  tile.map ins(%x, %y : memref<8x4xf32, #tile.space<spm>>, memref<4xf32, #tile.space<spm>>)
           outs(%s : memref<8xf32, #tile.space<spm>>) bounds = [8, 4] iterators = ["parallel", "reduction"]
           maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>] reduce = sum {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    tile.yield %p : f32
  }
  // A map without inputs; combined with the old values unless %id is 0.
  // CHECK: tile.map outs(%{{.*}} : memref<8xf32, #tile.space<spm>>)
  // CHECK-SAME: reduce = max accumulate_if(%{{.*}}) {
  tile.map outs(%s : memref<8xf32, #tile.space<spm>>) bounds = [8] iterators = ["parallel"]
           maps = [affine_map<(i) -> (i)>] reduce = max accumulate_if(%id) {
    %zero = arith.constant 0.0 : f32
    tile.yield %zero : f32
  }
  tile.return
}

// CHECK-LABEL: tile.kernel @shared_load
tile.kernel @shared_load(%a: memref<8xf32, #tile.space<dram>>) {
  %b = tile.alloc {depth = 2} : memref<8xf32, #tile.space<spm>>
  // CHECK: tile.load %{{.*}} to %{{.*}} shared <size = 4, stride = 1, columns = 4> : memref
  tile.load %a to %b shared <size = 4, stride = 1, columns = 4> : memref<8xf32, #tile.space<dram>> to memref<8xf32, #tile.space<spm>>
  tile.return
}

// A load of a window that may reach beyond the edges, and its form on tensors.
// CHECK-LABEL: tile.kernel @window
tile.kernel @window(%a: memref<56x56x8xf32, #tile.space<dram>>) {
  %y = arith.constant 4 : index
  %x = arith.constant 0 : index
  %b = tile.alloc {depth = 2} : memref<16x58x8xf32, #tile.space<spm>>
  // CHECK: tile.load %{{.*}} to %{{.*}} window[%{{.*}}, %{{.*}}] low = [1, 1, 0] high = [1, 1, 0] padding = 0.000000e+00 : f32 shared <size = 2, stride = 1, columns = 2> : memref<56x56x8xf32, #tile.space<dram>> to memref<16x58x8xf32, #tile.space<spm>>
  tile.load %a to %b window[%y, %x] low = [1, 1, 0] high = [1, 1, 0] padding = 0.0 : f32 shared <size = 2, stride = 1, columns = 2> : memref<56x56x8xf32, #tile.space<dram>> to memref<16x58x8xf32, #tile.space<spm>>
  tile.return
}

// CHECK-LABEL: func.func @window_of_tensor
func.func @window_of_tensor(%a: tensor<56x56xbf16>, %y: index) -> tensor<16x56xbf16> {
  %e = tensor.empty() : tensor<16x56xbf16>
  // CHECK: tile.window %{{.*}}[%{{.*}}] low = [2, 0] high = [0, 0] padding = 1.000000e+00 : bf16 into %{{.*}} : tensor<56x56xbf16> to tensor<16x56xbf16>
  %r = tile.window %a[%y] low = [2, 0] high = [0, 0] padding = 1.0 : bf16 into %e : tensor<56x56xbf16> to tensor<16x56xbf16>
  return %r : tensor<16x56xbf16>
}
