// RUN: tessera-opt %s -convert-tile-to-isa=arch=edge -split-input-file | FileCheck %s

// A convolution reads its input through overlapping strides: [h, w | kh, kw·c].
// Its filters lie with K innermost, so b is N×K.

// CHECK-LABEL: isa.kernel @convolution
// CHECK-DAG:     isa.descriptor spm f32 [4, 4, 3, 9] strides [18, 3, 18, 1]
// CHECK-DAG:     isa.descriptor spm f32 [8, 27] strides [27, 1]
// CHECK-DAG:     isa.descriptor acc f32 [16, 8] strides [8, 1]
// CHECK:         isa.mma acc = {{t[0-9]+}}, a = {{t[0-9]+}}, b = {{t[0-9]+}}, m_dims = [0, 1], n_dims = [0], accumulate = no
tile.kernel @convolution() {
  %x = tile.alloc : memref<6x6x3xf32, #tile.space<spm>>
  %w = tile.alloc : memref<8x3x3x3xf32, #tile.space<spm>>
  %acc = tile.alloc : memref<4x4x8xf32, #tile.space<acc>>
  tile.mma ins(%x, %w) outs(%acc) bounds = [8, 4, 4, 3, 3, 3]
    iterators = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]
    maps = [affine_map<(f, h, w, kh, kw, c) -> (h + kh, w + kw, c)>,
            affine_map<(f, h, w, kh, kw, c) -> (f, kh, kw, c)>,
            affine_map<(f, h, w, kh, kw, c) -> (h, w, f)>]
    : memref<6x6x3xf32, #tile.space<spm>>, memref<8x3x3x3xf32, #tile.space<spm>> -> memref<4x4x8xf32, #tile.space<acc>>
  tile.return
}

// -----

// A loop over K initialises its accumulator in the first iteration; the factor
// of the loop's step does not matter for that.

// CHECK-LABEL: isa.kernel @accumulate_if
// CHECK:         isa.loop rd = [[K:r[0-9]+]], count = 4 {
// CHECK:           isa.mma {{.*}}, accumulate = reg, ra = [[K]]
tile.kernel @accumulate_if() {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %a = tile.alloc : memref<8x32xbf16, #tile.space<spm>>
  %b = tile.alloc : memref<32x8xbf16, #tile.space<spm>>
  %acc = tile.alloc : memref<8x8xf32, #tile.space<acc>>
  scf.for %k = %c0 to %c32 step %c8 {
    %av = memref.subview %a[0, %k][8, 8][1, 1] : memref<8x32xbf16, #tile.space<spm>> to memref<8x8xbf16, strided<[32, 1], offset: ?>, #tile.space<spm>>
    %bv = memref.subview %b[%k, 0][8, 8][1, 1] : memref<32x8xbf16, #tile.space<spm>> to memref<8x8xbf16, strided<[8, 1], offset: ?>, #tile.space<spm>>
    tile.mma ins(%av, %bv) outs(%acc) bounds = [8, 8, 8] iterators = ["parallel", "parallel", "reduction"]
      maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] accumulate_if(%k)
      : memref<8x8xbf16, strided<[32, 1], offset: ?>, #tile.space<spm>>, memref<8x8xbf16, strided<[8, 1], offset: ?>, #tile.space<spm>> -> memref<8x8xf32, #tile.space<acc>>
  }
  tile.return
}

// -----

// Equal bodies share a program; a bias is broadcast by stride 0.

// CHECK-LABEL: isa.map_program @map inputs 2 outputs [r1]
// CHECK-NEXT:    addf [[SUM:r[0-9]+]], r0, r1
// CHECK-NEXT:    const [[ZERO:r[0-9]+]], 0x00000000
// CHECK-NEXT:    maxf r1, [[SUM]], [[ZERO]]
// CHECK-NOT:   isa.map_program
// CHECK-LABEL: isa.kernel @bias_relu
// CHECK-DAG:     isa.descriptor acc f32 [4, 8] strides [8, 1]
// CHECK-DAG:     isa.descriptor spm f32 [4, 8] strides [0, 1]
// CHECK:         isa.map program = 0,
// CHECK:         isa.map program = 0,
tile.kernel @bias_relu() {
  %x = tile.alloc : memref<4x8xf32, #tile.space<acc>>
  %bias = tile.alloc : memref<8xf32, #tile.space<spm>>
  %o = tile.alloc : memref<4x8xf32, #tile.space<spm>>
  tile.map ins(%x, %bias : memref<4x8xf32, #tile.space<acc>>, memref<8xf32, #tile.space<spm>>) outs(%o : memref<4x8xf32, #tile.space<spm>>)
    bounds = [4, 8] iterators = ["parallel", "parallel"]
    maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>] reduce = none {
  ^bb0(%a: f32, %b: f32):
    %zero = arith.constant 0.0 : f32
    %s = arith.addf %a, %b : f32
    %r = arith.maximumf %s, %zero : f32
    tile.yield %r : f32
  }
  tile.map ins(%o, %bias : memref<4x8xf32, #tile.space<spm>>, memref<8xf32, #tile.space<spm>>) outs(%o : memref<4x8xf32, #tile.space<spm>>)
    bounds = [4, 8] iterators = ["parallel", "parallel"]
    maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>] reduce = none {
  ^bb0(%a: f32, %b: f32):
    %zero = arith.constant 0.0 : f32
    %s = arith.addf %a, %b : f32
    %r = arith.maximumf %s, %zero : f32
    tile.yield %r : f32
  }
  tile.return
}

// -----

// A reduction's output has extent 1 where it is reduced.

// CHECK-LABEL: isa.kernel @row_sums
// CHECK-DAG:     isa.descriptor spm f32 [4, 8] strides [8, 1]
// CHECK-DAG:     isa.descriptor spm f32 [4, 1] strides [1, 0]
// CHECK:         isa.map {{.*}} reduce = sum, reduce_dims = [1], accumulate = no
tile.kernel @row_sums() {
  %x = tile.alloc : memref<4x8xf32, #tile.space<spm>>
  %o = tile.alloc : memref<4xf32, #tile.space<spm>>
  tile.map ins(%x : memref<4x8xf32, #tile.space<spm>>) outs(%o : memref<4xf32, #tile.space<spm>>)
    bounds = [4, 8] iterators = ["parallel", "reduction"]
    maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>] reduce = sum {
  ^bb0(%a: f32):
    tile.yield %a : f32
  }
  tile.return
}

// -----

// Comparisons give 1 or 0; an unordered one is the opposite of an ordered one.

// CHECK-LABEL: isa.map_program @map inputs 2
// CHECK-NEXT:    lef [[C:r[0-9]+]], r1, r0
// CHECK-NEXT:    const [[ONE:r[0-9]+]], 0x00000001
// CHECK-NEXT:    xori [[C]], [[C]], [[ONE]]
// CHECK-NEXT:    select r{{[0-9]+}}, [[C]], r0, r1
tile.kernel @unordered() {
  %x = tile.alloc : memref<8xf32, #tile.space<spm>>
  tile.map ins(%x, %x : memref<8xf32, #tile.space<spm>>, memref<8xf32, #tile.space<spm>>) outs(%x : memref<8xf32, #tile.space<spm>>)
    bounds = [8] iterators = ["parallel"]
    maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>] reduce = none {
  ^bb0(%a: f32, %b: f32):
    %c = arith.cmpf ult, %a, %b : f32
    %s = arith.select %c, %a, %b : f32
    tile.yield %s : f32
  }
  tile.return
}
