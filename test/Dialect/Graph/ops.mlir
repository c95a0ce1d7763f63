// RUN: tessera-opt %s | FileCheck %s
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | FileCheck %s

// Each operation's custom form, and the attributes of the entry function.

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %{{.*}}: tensor<2x3x4x4xf32> {graph.name = "image", graph.type = f64}
// CHECK-SAME: -> (tensor<2x3x4x4xf32> {graph.name = "out"})
func.func @main(%x: tensor<2x3x4x4xf32> {graph.name = "image", graph.type = f64},
                %p: tensor<3xf32>) -> (tensor<2x3x4x4xf32> {graph.name = "out"}) {
  // CHECK: graph.batch_norm %{{.*}}, %[[P:.*]], %[[P]], %[[P]], %[[P]] epsilon = 9.99999974E-6 : tensor<2x3x4x4xf32>, tensor<3xf32>
  %0 = graph.batch_norm %x, %p, %p, %p, %p epsilon = 1.0e-5 : tensor<2x3x4x4xf32>, tensor<3xf32>
  return %0 : tensor<2x3x4x4xf32>
}

// CHECK-LABEL: func.func @group
func.func @group(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %dest = tensor.empty() : tensor<4x4xf32>
  // CHECK: %[[R:.*]] = graph.dispatch ins(%{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8x4xf32>) outs(%{{.*}} : tensor<4x4xf32>) -> tensor<4x4xf32> attributes {node = "fc"} {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<8x4xf32>, %[[D:.*]]: tensor<4x4xf32>):
  // CHECK-NEXT: %[[M:.*]] = linalg.matmul ins(%[[A]], %[[B]] : {{.*}}) outs(%[[D]] :
  // CHECK-NEXT: graph.yield %[[M]] : tensor<4x4xf32>
  %r = graph.dispatch ins(%a, %b : tensor<4x8xf32>, tensor<8x4xf32>)
      outs(%dest : tensor<4x4xf32>) -> tensor<4x4xf32> attributes {node = "fc"} {
  ^bb0(%a_: tensor<4x8xf32>, %b_: tensor<8x4xf32>, %dest_: tensor<4x4xf32>):
    %m = linalg.matmul ins(%a_, %b_ : tensor<4x8xf32>, tensor<8x4xf32>)
        outs(%dest_ : tensor<4x4xf32>) -> tensor<4x4xf32>
    graph.yield %m : tensor<4x4xf32>
  }
  return %r : tensor<4x4xf32>
}

// A group may have no inputs and several outputs.
// CHECK-LABEL: func.func @two_outputs
func.func @two_outputs(%x: tensor<4xf32>, %y: tensor<2xf32>) -> (tensor<4xf32>, tensor<2xf32>) {
  // CHECK: graph.dispatch outs(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>, tensor<2xf32> {
  %r:2 = graph.dispatch outs(%x, %y : tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>, tensor<2xf32> {
  ^bb0(%x_: tensor<4xf32>, %y_: tensor<2xf32>):
    graph.yield %x_, %y_ : tensor<4xf32>, tensor<2xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<2xf32>
}
