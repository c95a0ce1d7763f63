// RUN: tessera-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{argument 0 must be in #tile.space<dram>}}
tile.kernel @space(%a: memref<8xf32, #tile.space<spm>>) {
  tile.return
}

// -----

tile.kernel @alloc_in_dram() {
  // expected-error@+1 {{the buffer must be in #tile.space<spm> or #tile.space<acc>}}
  %a = tile.alloc : memref<8xf32, #tile.space<dram>>
  tile.return
}

// -----

tile.kernel @depth() {
  // expected-error@+1 {{depth must be at least 1, not 0}}
  %a = tile.alloc {depth = 0} : memref<8xf32, #tile.space<spm>>
  tile.return
}

// -----

tile.kernel @shapes(%a: memref<4xf32, #tile.space<dram>>) {
  %b = tile.alloc : memref<8xf32, #tile.space<spm>>
  // expected-error@+1 {{copies between different shapes}}
  tile.load %a to %b : memref<4xf32, #tile.space<dram>> to memref<8xf32, #tile.space<spm>>
  tile.return
}

// -----

tile.kernel @load_to_acc(%a: memref<8xf32, #tile.space<dram>>) {
  %b = tile.alloc : memref<8xf32, #tile.space<acc>>
  // expected-error@+1 {{the target must be in #tile.space<spm>}}
  tile.load %a to %b : memref<8xf32, #tile.space<dram>> to memref<8xf32, #tile.space<acc>>
  tile.return
}

// -----

tile.kernel @fill_type() {
  %a = tile.alloc : memref<8xf32, #tile.space<spm>>
  // expected-error@+1 {{fills 'f32' elements with 0 : i32}}
  tile.fill %a, 0 : i32 : memref<8xf32, #tile.space<spm>>
  tile.return
}

// -----

// A dimension in both a and b would be a batch of contractions.
tile.kernel @batch() {
  %a = tile.alloc : memref<2x4xf32, #tile.space<spm>>
  %c = tile.alloc : memref<2xf32, #tile.space<acc>>
  // expected-error@+1 {{parallel dimension 0 must index either a or b}}
  tile.mma ins(%a, %a) outs(%c) bounds = [2, 4] iterators = ["parallel", "reduction"]
    maps = [affine_map<(b, k) -> (b, k)>, affine_map<(b, k) -> (b, k)>, affine_map<(b, k) -> (b)>]
    : memref<2x4xf32, #tile.space<spm>>, memref<2x4xf32, #tile.space<spm>> -> memref<2xf32, #tile.space<acc>>
  tile.return
}

// -----

tile.kernel @outside() {
  %a = tile.alloc : memref<8xf32, #tile.space<spm>>
  %b = tile.alloc : memref<8xf32, #tile.space<spm>>
  // expected-error@+1 {{map 0 reaches from 0 to 14 in an extent of 8}}
  tile.map ins(%a : memref<8xf32, #tile.space<spm>>) outs(%b : memref<8xf32, #tile.space<spm>>)
    bounds = [8] iterators = ["parallel"] maps = [affine_map<(i) -> (i * 2)>, affine_map<(i) -> (i)>] reduce = none {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
  tile.return
}

// -----

tile.kernel @reduced_output() {
  %a = tile.alloc : memref<8xf32, #tile.space<spm>>
  // expected-error@+1 {{an output's, must name each of its loop dimensions once, and no reduced one}}
  tile.map ins(%a : memref<8xf32, #tile.space<spm>>) outs(%a : memref<8xf32, #tile.space<spm>>)
    bounds = [8] iterators = ["reduction"] maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>] reduce = sum {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
  tile.return
}

// -----

tile.kernel @no_reduction() {
  %a = tile.alloc : memref<8xf32, #tile.space<spm>>
  %b = tile.alloc : memref<1xf32, #tile.space<spm>>
  // expected-error@+1 {{has reduction dimensions but reduce = none}}
  tile.map ins(%a : memref<8xf32, #tile.space<spm>>) outs(%b : memref<1xf32, #tile.space<spm>>)
    bounds = [8] iterators = ["reduction"] maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (0)>] reduce = none {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
  tile.return
}

// -----

tile.kernel @group_shape(%a: memref<8xf32, #tile.space<dram>>) {
  %b = tile.alloc : memref<8xf32, #tile.space<spm>>
  // expected-error@+1 {{3 cores at a stride of 1 are no rectangle of a dispatch 4 cores wide}}
  tile.load %a to %b shared <size = 3, stride = 1, columns = 4> : memref<8xf32, #tile.space<dram>> to memref<8xf32, #tile.space<spm>>
  tile.return
}

// -----

tile.kernel @group_depth(%a: memref<8xf32, #tile.space<dram>>) {
  %b = tile.alloc {depth = 3} : memref<8xf32, #tile.space<spm>>
  // expected-error@+1 {{is shared among 2 cores: its target has 3 slots, accepted: at most as many}}
  tile.load %a to %b shared <size = 2, stride = 1, columns = 2> : memref<8xf32, #tile.space<dram>> to memref<8xf32, #tile.space<spm>>
  tile.return
}

// -----

tile.kernel @window_offsets(%a: memref<8x4xf32, #tile.space<dram>>) {
  %i = arith.constant 0 : index
  %b = tile.alloc : memref<4x4xf32, #tile.space<spm>>
  // expected-error@+1 {{has 1 offsets for 2 dimensions with a border}}
  tile.load %a to %b window[%i] low = [1, 1] high = [0, 0] padding = 0.0 : f32 : memref<8x4xf32, #tile.space<dram>> to memref<4x4xf32, #tile.space<spm>>
  tile.return
}

// -----

tile.kernel @window_rank(%a: memref<8x4xf32, #tile.space<dram>>) {
  %i = arith.constant 0 : index
  %b = tile.alloc : memref<4x4xf32, #tile.space<spm>>
  // expected-error@+1 {{needs borders and a window of the source's rank, 2}}
  tile.load %a to %b window[%i] low = [1] high = [0] padding = 0.0 : f32 : memref<8x4xf32, #tile.space<dram>> to memref<4x4xf32, #tile.space<spm>>
  tile.return
}

// -----

tile.kernel @window_negative(%a: memref<8x4xf32, #tile.space<dram>>) {
  %i = arith.constant 0 : index
  %b = tile.alloc : memref<4x4xf32, #tile.space<spm>>
  // expected-error@+1 {{has a border of less than 0 in dimension 0}}
  tile.load %a to %b window[%i] low = [-1, 0] high = [0, 0] padding = 0.0 : f32 : memref<8x4xf32, #tile.space<dram>> to memref<4x4xf32, #tile.space<spm>>
  tile.return
}

// -----

tile.kernel @window_unpadded(%a: memref<8x4xf32, #tile.space<dram>>) {
  %i = arith.constant 0 : index
  %b = tile.alloc : memref<4x4xf32, #tile.space<spm>>
  // expected-error@+1 {{has a window of 4 elements in dimension 0, where the source has 8 and a border of 0 and 0}}
  tile.load %a to %b window[%i] low = [0, 1] high = [0, 0] padding = 0.0 : f32 : memref<8x4xf32, #tile.space<dram>> to memref<4x4xf32, #tile.space<spm>>
  tile.return
}

// -----

tile.kernel @window_padding(%a: memref<8x4xf32, #tile.space<dram>>) {
  %i = arith.constant 0 : index
  %b = tile.alloc : memref<4x4xf32, #tile.space<spm>>
  // expected-error@+1 {{has a window of other elements than the source's}}
  tile.load %a to %b window[%i] low = [1, 0] high = [0, 0] padding = 0.0 : bf16 : memref<8x4xf32, #tile.space<dram>> to memref<4x4xf32, #tile.space<spm>>
  tile.return
}

// -----

tile.kernel @window_size(%a: memref<8xf32, #tile.space<dram>>) {
  %i = arith.constant 0 : index
  %b = tile.alloc : memref<16xf32, #tile.space<spm>>
  // expected-error@+1 {{has a window of 16 elements in dimension 0, where the source has 8 and a border of 2 and 1}}
  tile.load %a to %b window[%i] low = [2] high = [1] padding = 0.0 : f32 : memref<8xf32, #tile.space<dram>> to memref<16xf32, #tile.space<spm>>
  tile.return
}

// -----

tile.kernel @window_shared(%a: memref<8xf32, #tile.space<dram>>) {
  %i = arith.constant 0 : index
  %b = tile.alloc : memref<2xf32, #tile.space<spm>>
  // expected-error@+1 {{is shared: its window of 2 elements may lie in a border of 2}}
  tile.load %a to %b window[%i] low = [2] high = [0] padding = 0.0 : f32 shared <size = 2, stride = 1, columns = 2> : memref<8xf32, #tile.space<dram>> to memref<2xf32, #tile.space<spm>>
  tile.return
}
