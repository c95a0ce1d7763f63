// RUN: tessera-opt %s -convert-tile-to-isa=arch=tiny -split-input-file -verify-diagnostics

// expected-error @+1 {{kernel 'too_large': SPM needs 65600 bytes, 65536 are available}}
tile.kernel @too_large() {
  %a = tile.alloc : memref<16384xf32, #tile.space<spm>>
  %b = tile.alloc : memref<16xf32, #tile.space<spm>>
  tile.fill %a, 0.0 : f32 : memref<16384xf32, #tile.space<spm>>
  tile.fill %b, 0.0 : f32 : memref<16xf32, #tile.space<spm>>
  tile.return
}

// -----

tile.kernel @no_lane_operation() {
  %a = tile.alloc : memref<16xf32, #tile.space<spm>>
  tile.map ins(%a : memref<16xf32, #tile.space<spm>>) outs(%a : memref<16xf32, #tile.space<spm>>) bounds = [16] iterators = ["parallel"]
    maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>] reduce = none {
  ^bb0(%x: f32):
    // expected-error @+1 {{the vector engine has no lane operation for 'math.acos' on 'f32'}}
    %y = math.acos %x : f32
    tile.yield %y : f32
  }
  tile.return
}

// -----

tile.kernel @too_many_dimensions(%x: memref<3x3x3x3x3x3x3x4xf32, #tile.space<dram>>) {
  %a = tile.alloc : memref<2x2x2x2x2x2x2x2xf32, #tile.space<spm>>
  %v = memref.subview %x[0, 0, 0, 0, 0, 0, 0, 0][2, 2, 2, 2, 2, 2, 2, 2][1, 1, 1, 1, 1, 1, 1, 1]
      : memref<3x3x3x3x3x3x3x4xf32, #tile.space<dram>> to memref<2x2x2x2x2x2x2x2xf32, strided<[2916, 972, 324, 108, 36, 12, 4, 1]>, #tile.space<dram>>
  // expected-error @+1 {{operand 0 needs a descriptor of rank 8; at most 6 dimensions fit}}
  tile.load %v to %a : memref<2x2x2x2x2x2x2x2xf32, strided<[2916, 972, 324, 108, 36, 12, 4, 1]>, #tile.space<dram>> to memref<2x2x2x2x2x2x2x2xf32, #tile.space<spm>>
  tile.return
}

// -----

// expected-error @+1 {{kernel 'in_place': argument 0 is loaded and stored in one loop nest}}
tile.kernel @in_place(%x: memref<64xf32, #tile.space<dram>>) {
  %a = tile.alloc : memref<64xf32, #tile.space<spm>>
  tile.load %x to %a : memref<64xf32, #tile.space<dram>> to memref<64xf32, #tile.space<spm>>
  tile.store %a to %x : memref<64xf32, #tile.space<spm>> to memref<64xf32, #tile.space<dram>>
  tile.return
}

// -----

tile.kernel @odd_format() {
  %a = tile.alloc : memref<16xf64, #tile.space<spm>>
  // expected-error @+1 {{elements of type 'f64' have no format on the device}}
  tile.fill %a, 0.0 : f64 : memref<16xf64, #tile.space<spm>>
  tile.return
}

// -----

tile.kernel @negative_division(%x: memref<64xf32, #tile.space<dram>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %a = tile.alloc : memref<1xf32, #tile.space<spm>>
  scf.for %i = %c0 to %c4 step %c1 {
    // expected-error @+1 {{divides an index that may be negative}}
    %j = affine.apply affine_map<(i) -> ((i - 3) floordiv 2)>(%i)
    %v = memref.subview %x[%j][1][1] : memref<64xf32, #tile.space<dram>> to memref<1xf32, strided<[1], offset: ?>, #tile.space<dram>>
    tile.load %v to %a : memref<1xf32, strided<[1], offset: ?>, #tile.space<dram>> to memref<1xf32, #tile.space<spm>>
  }
  tile.return
}
