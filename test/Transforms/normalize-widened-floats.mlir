// RUN: tessera-opt %s -pass-pipeline='builtin.module(func.func(tessera-normalize))' -split-input-file | FileCheck %s

// The product reads what the producer rounded, padded in the narrow format; the
// weights are widened where they are read, too.
// CHECK-LABEL: func.func @padded_product
// CHECK-SAME: (%[[X:.*]]: tensor<4x6xf32>, %[[W:.*]]: tensor<8x8xbf16>)
#map = affine_map<(i, j) -> (i, j)>
func.func @padded_product(%x: tensor<4x6xf32>, %w: tensor<8x8xbf16>) -> tensor<4x8xf32> {
  // CHECK: %[[R:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<4x6xf32>) outs(%{{.*}} : tensor<4x6xbf16>)
  // CHECK: %[[P:.*]] = tensor.pad %[[R]]
  // CHECK: tensor<4x6xbf16> to tensor<4x8xbf16>
  // CHECK: linalg.generic {{.*}} ins(%[[P]], %[[W]] : tensor<4x8xbf16>, tensor<8x8xbf16>) outs(%{{.*}} : tensor<4x8xf32>)
  // CHECK-NEXT: ^bb0(%[[A:.*]]: bf16, %[[B:.*]]: bf16, %{{.*}}: f32)
  // CHECK-DAG: arith.extf %[[A]] :
  // CHECK-DAG: arith.extf %[[B]] :
  %zero = arith.constant 0.0 : f32
  %narrow = tensor.empty() : tensor<4x6xbf16>
  %rounded = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x6xf32>) outs(%narrow : tensor<4x6xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %v = arith.truncf %in : f32 to bf16
    linalg.yield %v : bf16
  } -> tensor<4x6xbf16>
  %wide = tensor.empty() : tensor<4x6xf32>
  %widened = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%rounded : tensor<4x6xbf16>) outs(%wide : tensor<4x6xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %v = arith.extf %in : bf16 to f32
    linalg.yield %v : f32
  } -> tensor<4x6xf32>
  %padded = tensor.pad %widened low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<4x6xf32> to tensor<4x8xf32>
  %wempty = tensor.empty() : tensor<8x8xf32>
  %wwide = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<8x8xbf16>) outs(%wempty : tensor<8x8xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %v = arith.extf %in : bf16 to f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32>
  %empty = tensor.empty() : tensor<4x8xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
  %product = linalg.matmul ins(%padded, %wwide : tensor<4x8xf32>, tensor<8x8xf32>)
      outs(%start : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %product : tensor<4x8xf32>
}

// -----

// A value that bf16 does not hold pads in f32.
// CHECK-LABEL: func.func @inexact_padding
#map = affine_map<(i) -> (i)>
func.func @inexact_padding(%x: tensor<6xbf16>) -> tensor<8xf32> {
  // CHECK: tensor.pad
  // CHECK: tensor<6xf32> to tensor<8xf32>
  %value = arith.constant 0.1 : f32
  %wide = tensor.empty() : tensor<6xf32>
  %widened = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%x : tensor<6xbf16>) outs(%wide : tensor<6xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %v = arith.extf %in : bf16 to f32
    linalg.yield %v : f32
  } -> tensor<6xf32>
  %padded = tensor.pad %widened low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %value : f32
  } : tensor<6xf32> to tensor<8xf32>
  return %padded : tensor<8xf32>
}

// -----

// Transposed and broadcast readers of a widening with three of them.
// CHECK-LABEL: func.func @several_readers
// CHECK-SAME: (%[[X:.*]]: tensor<4x6xf16>
#map = affine_map<(i, j) -> (i, j)>
#turned = affine_map<(i, j) -> (j, i)>
func.func @several_readers(%x: tensor<4x6xf16>) -> (tensor<6x4xf32>, tensor<4x6xf32>) {
  // CHECK: linalg.generic {{.*}} ins(%[[X]] : tensor<4x6xf16>) outs(%{{.*}} : tensor<6x4xf32>)
  // CHECK: linalg.generic {{.*}} ins(%[[X]] : tensor<4x6xf16>) outs(%{{.*}} : tensor<4x6xf32>)
  %wide = tensor.empty() : tensor<4x6xf32>
  %widened = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x6xf16>) outs(%wide : tensor<4x6xf32>) {
  ^bb0(%in: f16, %out: f32):
    %v = arith.extf %in : f16 to f32
    linalg.yield %v : f32
  } -> tensor<4x6xf32>
  %e0 = tensor.empty() : tensor<6x4xf32>
  %a = linalg.generic {indexing_maps = [#turned, #map], iterator_types = ["parallel", "parallel"]}
      ins(%widened : tensor<4x6xf32>) outs(%e0 : tensor<6x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = math.exp %in : f32
    linalg.yield %v : f32
  } -> tensor<6x4xf32>
  %e1 = tensor.empty() : tensor<4x6xf32>
  %b = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%widened : tensor<4x6xf32>) outs(%e1 : tensor<4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = math.tanh %in : f32
    linalg.yield %v : f32
  } -> tensor<4x6xf32>
  return %a, %b : tensor<6x4xf32>, tensor<4x6xf32>
}

// -----

// A pooling reads the narrow tensor, padded: its window gives the shape alone.
// CHECK-LABEL: func.func @padded_pooling
// CHECK-SAME: (%[[X:.*]]: tensor<2x6x6x4xbf16>)
#map = affine_map<(n, h, w, c) -> (n, h, w, c)>
func.func @padded_pooling(%x: tensor<2x6x6x4xbf16>) -> tensor<2x6x6x4xf32> {
  // CHECK: %[[P:.*]] = tensor.pad %[[X]]
  // CHECK: tensor<2x6x6x4xbf16> to tensor<2x8x8x4xbf16>
  // CHECK: linalg.generic {{.*}} ins(%[[P]], %{{.*}} : tensor<2x8x8x4xbf16>, tensor<3x3xf32>)
  // CHECK: arith.extf
  // CHECK: arith.maximumf
  %lowest = arith.constant 0xFF800000 : f32
  %wide = tensor.empty() : tensor<2x6x6x4xf32>
  %widened = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x6x6x4xbf16>) outs(%wide : tensor<2x6x6x4xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %v = arith.extf %in : bf16 to f32
    linalg.yield %v : f32
  } -> tensor<2x6x6x4xf32>
  %padded = tensor.pad %widened low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%n: index, %i: index, %j: index, %c: index):
    tensor.yield %lowest : f32
  } : tensor<2x6x6x4xf32> to tensor<2x8x8x4xf32>
  %window = tensor.empty() : tensor<3x3xf32>
  %empty = tensor.empty() : tensor<2x6x6x4xf32>
  %start = linalg.fill ins(%lowest : f32) outs(%empty : tensor<2x6x6x4xf32>) -> tensor<2x6x6x4xf32>
  %result = linalg.pooling_nhwc_max ins(%padded, %window : tensor<2x8x8x4xf32>, tensor<3x3xf32>)
      outs(%start : tensor<2x6x6x4xf32>) -> tensor<2x6x6x4xf32>
  return %result : tensor<2x6x6x4xf32>
}
