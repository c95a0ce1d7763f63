// RUN: tessera-opt %s --pass-pipeline='builtin.module(func.func(tessera-lower-indexing))' --split-input-file | FileCheck %s

// A read at computed positions: the position is compared with each index of the
// searched dimension, and the bits of what matches are added up.

#row = affine_map<(d0, d1) -> (d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// CHECK-DAG: #[[WANTED:.+]] = affine_map<(d0, d1, d2) -> (d0)>
// CHECK-DAG: #[[TABLE:.+]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #[[RESULT:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[NUMBER:.+]] = affine_map<(d0, d1, d2) -> (d2)>

// CHECK-LABEL: func.func @embedding
// CHECK-SAME: (%[[ARG:.+]]: tensor<9x5xf32>, %[[INDEX:.+]]: tensor<3xi32>)
// CHECK-DAG: %[[COUNT:.+]] = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8]> : tensor<9xi32>
// CHECK: linalg.generic
// CHECK-SAME: indexing_maps = [#[[WANTED]], #[[TABLE]], #[[NUMBER]], #[[RESULT]]]
// CHECK-SAME: iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME: ins(%{{.+}}, %[[ARG]], %[[COUNT]] : tensor<3xi32>, tensor<9x5xf32>, tensor<9xi32>)
// CHECK: %[[HERE:.+]] = arith.cmpi eq, %{{.+}}, %{{.+}} : i32
// CHECK: %[[BITS:.+]] = arith.bitcast %{{.+}} : f32 to i32
// CHECK: %[[FOUND:.+]] = arith.select %[[HERE]], %[[BITS]], %{{.+}} : i32
// CHECK: arith.addi %{{.+}}, %[[FOUND]] : i32
// CHECK: arith.bitcast %{{.+}} : i32 to f32
// CHECK-NOT: tensor.extract %
func.func @embedding(%table: tensor<9x5xf32>, %index: tensor<3xi32>) -> tensor<3x5xf32> {
  %init = tensor.empty() : tensor<3x5xf32>
  %r = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%index : tensor<3xi32>) outs(%init : tensor<3x5xf32>) {
  ^bb0(%in: i32, %out: f32):
    %i = arith.index_cast %in : i32 to index
    %j = linalg.index 1 : index
    %e = tensor.extract %table[%i, %j] : tensor<9x5xf32>
    linalg.yield %e : f32
  } -> tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}

// -----

// Positions that follow from a loop's index are slices, here a reversed pair.

#id = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func @reverse
// CHECK: %[[A:.+]] = tensor.extract_slice %{{.+}}[1] [1] [1]
// CHECK: %[[B:.+]] = tensor.extract_slice %{{.+}}[0] [1] [1]
// CHECK: tensor.concat dim(0) %[[A]], %[[B]]
// CHECK-NOT: linalg.index
func.func @reverse(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c1 = arith.constant 1 : index
  %init = tensor.empty() : tensor<2xf32>
  %r = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]}
      outs(%init : tensor<2xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %at = arith.subi %c1, %i : index
    %e = tensor.extract %x[%at] : tensor<2xf32>
    linalg.yield %e : f32
  } -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// -----

// What depends on one loop is a table: (i * 2 + 1) as a float. What depends on
// two is computed by the lanes from tables.

#id = affine_map<(d0, d1) -> (d0, d1)>

// CHECK-LABEL: func.func @tables
// CHECK-DAG: arith.constant dense<[1.000000e+00, 3.000000e+00, 5.000000e+00]> : tensor<3xf32>
// CHECK-DAG: arith.constant dense<[0, 1, 2]> : tensor<3xi32>
// CHECK-DAG: arith.constant dense<[0, 1]> : tensor<2xi32>
// CHECK: arith.cmpi sge, %{{.+}}, %{{.+}} : i32
// CHECK-NOT: linalg.index
func.func @tables(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %init = tensor.empty() : tensor<3x2xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<3x2xf32>) outs(%init : tensor<3x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %double = arith.muli %i, %c2 : index
    %odd = arith.addi %double, %c1 : index
    %word = arith.index_cast %odd : index to i32
    %number = arith.sitofp %word : i32 to f32
    %lower = arith.cmpi sge, %i, %j : index
    %r = arith.select %lower, %number, %in : f32
    linalg.yield %r : f32
  } -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}
