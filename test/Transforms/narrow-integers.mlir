// RUN: tessera-opt %s --pass-pipeline='builtin.module(func.func(tessera-narrow-integers))' --split-input-file --verify-diagnostics | FileCheck %s

// Values that are proved to fit are i32; sums of wide ones carry.

#id = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func @proved
// CHECK-NOT: i64
// CHECK: arith.muli %{{.+}}, %{{.+}} : i32
// CHECK-NOT: arith.mului_extended
// CHECK: return
func.func @proved(%x: tensor<4xi8>) -> tensor<4xi32> {
  %k = arith.constant dense<[1, -2, 3, 1000]> : tensor<4xi64>
  %e = tensor.empty() : tensor<4xi32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x, %k : tensor<4xi8>, tensor<4xi64>) outs(%e : tensor<4xi32>) {
  ^bb0(%a: i8, %b: i64, %out: i32):
    %wide = arith.extsi %a : i8 to i64
    %p = arith.muli %wide, %b : i64
    %word = arith.trunci %p : i64 to i32
    linalg.yield %word : i32
  } -> tensor<4xi32>
  return %r : tensor<4xi32>
}

// -----

#id = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func @carry
// CHECK-NOT: i64
// CHECK: %[[LOW:.+]] = arith.addi %{{.+}}, %{{.+}} : i32
// CHECK: %[[CARRY:.+]] = arith.cmpi ult, %[[LOW]], %{{.+}} : i32
// CHECK: arith.extui %[[CARRY]] : i1 to i32
// CHECK: return
func.func @carry(%low: tensor<4xi32>, %high: tensor<4xi32>) -> tensor<4xi32> {
  %c32 = arith.constant 32 : i64
  %e = tensor.empty() : tensor<4xi64>
  %x = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%low, %high : tensor<4xi32>, tensor<4xi32>) outs(%e : tensor<4xi64>) {
  ^bb0(%a: i32, %b: i32, %out: i64):
    %wa = arith.extui %a : i32 to i64
    %wb = arith.extsi %b : i32 to i64
    %up = arith.shli %wb, %c32 : i64
    %r = arith.ori %wa, %up : i64
    linalg.yield %r : i64
  } -> tensor<4xi64>
  %f = tensor.empty() : tensor<4xi32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xi64>) outs(%f : tensor<4xi32>) {
  ^bb0(%a: i64, %out: i32):
    %s = arith.addi %a, %a : i64
    %up = arith.shrsi %s, %c32 : i64
    %r = arith.trunci %up : i64 to i32
    linalg.yield %r : i32
  } -> tensor<4xi32>
  return %y : tensor<4xi32>
}

// -----

#id = affine_map<(d0) -> (d0)>

func.func @quotient(%x: tensor<4xf32>) -> tensor<4xi32> {
  %e = tensor.empty() : tensor<4xi32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%e : tensor<4xi32>) {
  ^bb0(%a: f32, %out: i32):
    %wide = arith.fptosi %a : f32 to i64
    // expected-error @+1 {{computes with 64-bit integers in a way that 32-bit lanes cannot: divides values that are not proved to fit 32 bits}}
    %q = arith.divsi %wide, %wide : i64
    %word = arith.trunci %q : i64 to i32
    linalg.yield %word : i32
  } -> tensor<4xi32>
  return %r : tensor<4xi32>
}
