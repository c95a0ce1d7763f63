// RUN: tessera-opt %s -pass-pipeline='builtin.module(func.func(tessera-normalize,tessera-form-dispatches))' -split-input-file | FileCheck %s
// RUN: tessera-opt %s -pass-pipeline='builtin.module(func.func(tessera-normalize,tessera-form-dispatches,tessera-tile-dispatches{arch=tiny}))' -split-input-file | FileCheck %s --check-prefix=TINY

// Scores, softmax and values are one dispatch. The sum divides what is summed
// up of the values, not each weight.
// CHECK-LABEL: func.func @attention
// CHECK: graph.dispatch
// CHECK: %[[S:.*]] = linalg.generic {{.*}}"parallel", "parallel", "parallel", "reduction"]
// CHECK: %[[X:.*]] = linalg.generic {{.*}} ins(%[[S]]
// CHECK: arith.mulf
// CHECK: %[[MAX:.*]] = linalg.generic {{.*}} ins(%[[X]]
// CHECK: arith.maxnumf
// CHECK: %[[E:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[MAX]]
// CHECK: math.exp
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[E]]
// CHECK: %[[O:.*]] = linalg.generic {{.*}} ins(%[[E]], %{{.*}} : tensor<2x64x512xf32>, tensor<2x512x16xf32>)
// CHECK: %[[R:.*]] = linalg.generic {{.*}} ins(%[[O]], %[[SUM]]
// CHECK: arith.divf
// CHECK: graph.yield %[[R]]
// CHECK-NOT: graph.dispatch

// On `tiny` a loop over keys carries scores, softmax input, exponentials, the
// rows' maxima and sums, and the values. It reads this block's scores, computes
// those of the next one in their place, and adds this block's values. The last
// block comes after the loop.
// TINY-LABEL: func.func @attention
// TINY: %[[FIRST:.*]] = linalg.generic {{.*}}"parallel", "parallel", "parallel", "reduction"]
// TINY: scf.for {{.*}} iter_args(%[[SCORES:.*]] = %[[FIRST]], %{{.*}}, %{{.*}}, %[[M:.*]] = %{{.*}}, %[[L:.*]] = %{{.*}}, %[[ACC:.*]] = %{{[^)]*}})
// TINY: linalg.generic {{.*}} ins(%[[SCORES]]
// TINY: %[[AHEAD:.*]] = linalg.fill ins(%{{.*}}) outs(%[[SCORES]]
// TINY: linalg.generic {{.*}} outs(%[[AHEAD]]
// TINY: %[[UPDATE:.*]]:2 = linalg.generic {{.*}} ins(%{{.*}}, %[[M]]
// TINY: arith.maximumf
// TINY: math.exp
// TINY: %[[E:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %[[UPDATE]]#0
// TINY: linalg.generic {{.*}} ins(%[[L]], %[[UPDATE]]#1
// TINY: %[[SCALED:.*]] = linalg.generic {{.*}} ins(%[[ACC]], %[[UPDATE]]#1
// TINY: linalg.generic {{.*}} ins(%[[E]], %{{.*}} outs(%[[SCALED]]
// TINY: scf.yield
// TINY: math.exp
// TINY: arith.divf
func.func @attention(%q: tensor<2x64x16xf32>, %k: tensor<2x512x16xf32>, %v: tensor<2x512x16xf32>) -> tensor<2x64x16xf32> {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant dense<0.25> : tensor<2x64x512xf32>
  %se = tensor.empty() : tensor<2x64x512xf32>
  %sf = linalg.fill ins(%zero : f32) outs(%se : tensor<2x64x512xf32>) -> tensor<2x64x512xf32>
  %s = linalg.batch_matmul
      indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>]
      ins(%q, %k : tensor<2x64x16xf32>, tensor<2x512x16xf32>) outs(%sf : tensor<2x64x512xf32>) -> tensor<2x64x512xf32>
  %x = linalg.mul ins(%s, %scale : tensor<2x64x512xf32>, tensor<2x64x512xf32>) outs(%se : tensor<2x64x512xf32>) -> tensor<2x64x512xf32>
  %p = linalg.softmax dimension(2) ins(%x : tensor<2x64x512xf32>) outs(%se : tensor<2x64x512xf32>) -> tensor<2x64x512xf32>
  %oe = tensor.empty() : tensor<2x64x16xf32>
  %of = linalg.fill ins(%zero : f32) outs(%oe : tensor<2x64x16xf32>) -> tensor<2x64x16xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x64x512xf32>, tensor<2x512x16xf32>) outs(%of : tensor<2x64x16xf32>) -> tensor<2x64x16xf32>
  return %o : tensor<2x64x16xf32>
}

// -----

// Weights that are a result too are divided where they are.
// CHECK-LABEL: func.func @weights
// CHECK-COUNT-3: graph.dispatch
// CHECK-NOT: graph.dispatch
// TINY-LABEL: func.func @weights
func.func @weights(%q: tensor<8x16xf32>, %k: tensor<16x12xf32>, %v: tensor<12x16xf32>) -> (tensor<8x16xf32>, tensor<8x12xf32>) {
  %zero = arith.constant 0.0 : f32
  %se = tensor.empty() : tensor<8x12xf32>
  %sf = linalg.fill ins(%zero : f32) outs(%se : tensor<8x12xf32>) -> tensor<8x12xf32>
  %s = linalg.matmul ins(%q, %k : tensor<8x16xf32>, tensor<16x12xf32>) outs(%sf : tensor<8x12xf32>) -> tensor<8x12xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<8x12xf32>) outs(%se : tensor<8x12xf32>) -> tensor<8x12xf32>
  %oe = tensor.empty() : tensor<8x16xf32>
  %of = linalg.fill ins(%zero : f32) outs(%oe : tensor<8x16xf32>) -> tensor<8x16xf32>
  %o = linalg.matmul ins(%p, %v : tensor<8x12xf32>, tensor<12x16xf32>) outs(%of : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %o, %p : tensor<8x16xf32>, tensor<8x12xf32>
}

// -----

// Weights that are rounded are divided before: others would be rounded.
// CHECK-LABEL: func.func @narrow
// CHECK: graph.dispatch
// CHECK: math.exp
// CHECK: arith.addf
// CHECK: arith.divf
// CHECK: arith.truncf
// CHECK: arith.mulf
// CHECK-NOT: graph.dispatch
// TINY-LABEL: func.func @narrow
func.func @narrow(%q: tensor<8x16xbf16>, %k: tensor<16x12xbf16>, %v: tensor<12x16xbf16>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %se = tensor.empty() : tensor<8x12xf32>
  %sf = linalg.fill ins(%zero : f32) outs(%se : tensor<8x12xf32>) -> tensor<8x12xf32>
  %s = linalg.matmul ins(%q, %k : tensor<8x16xbf16>, tensor<16x12xbf16>) outs(%sf : tensor<8x12xf32>) -> tensor<8x12xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<8x12xf32>) outs(%se : tensor<8x12xf32>) -> tensor<8x12xf32>
  %ne = tensor.empty() : tensor<8x12xbf16>
  %n = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<8x12xf32>) outs(%ne : tensor<8x12xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %t = arith.truncf %in : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<8x12xbf16>
  %oe = tensor.empty() : tensor<8x16xf32>
  %of = linalg.fill ins(%zero : f32) outs(%oe : tensor<8x16xf32>) -> tensor<8x16xf32>
  %o = linalg.matmul ins(%n, %v : tensor<8x12xbf16>, tensor<12x16xbf16>) outs(%of : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %o : tensor<8x16xf32>
}
