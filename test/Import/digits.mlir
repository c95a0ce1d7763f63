// RUN: tessera-translate --import-onnx --dim=N=4 %S/../e2e/models/digits.onnx --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// A whole model: names and types of inputs and outputs, the symbolic dimension
// bound, and every operation with the name of its node.

// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<4x1x8x8xf32> {graph.name = "image", graph.type = f32}
// CHECK-SAME: -> (tensor<4x10xf32> {graph.name = "probabilities", graph.type = f32})

// CHECK: arith.constant dense<{{.*}}> : tensor<16x1x3x3xf32> loc("conv1.weight")
// CHECK: tensor.pad {{.*}} low[0, 0, 1, 1] high[0, 0, 1, 1]
// CHECK: linalg.conv_2d_nchw_fchw {{.*}} loc("conv1")
// CHECK: graph.batch_norm {{.*}} loc("norm1")
// CHECK: arith.maximumf {{.*}} loc("relu1")

// Weights of 1 KiB and more are resources.
// CHECK: arith.constant dense_resource<conv2.weight> : tensor<32x16x3x3xf32>

// CHECK: linalg.pooling_nchw_max {{.*}} strides = dense<2> {{.*}} loc("maxpool")
// CHECK: linalg.pooling_nchw_sum {{.*}} loc("avgpool")
// CHECK: arith.mulf {{.*}} loc("avgpool")
// CHECK: tensor.collapse_shape {{.*}} : tensor<4x32x2x2xf32> into tensor<4x128xf32> loc("flatten")
// CHECK: linalg.transpose {{.*}} loc("hidden")
// CHECK: linalg.matmul {{.*}} loc("hidden")
// CHECK: math.exp {{.*}} loc("softmax")
// CHECK: arith.divf {{.*}} loc("softmax")
// CHECK: return {{.*}} : tensor<4x10xf32>
