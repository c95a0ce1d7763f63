// Instructions lead back to the model node that they come from.
//
// RUN: tessera-translate --isa-to-object %s | tessera-translate --object-to-isa --mlir-print-debuginfo | FileCheck %s

isa.kernel @k args 0 {
  // CHECK: isa.mark id = 1 loc([[CONV:#.*]])
  isa.mark id = 1 loc("/conv1/Conv")
  // CHECK: isa.mark id = 2 loc([[CONV]])
  isa.mark id = 2 loc("/conv1/Conv"("model.onnx":1:1))
  // CHECK: isa.loop rd = r0, count = 2 {
  isa.loop rd = r0, count = 2 {
    // CHECK: isa.mark id = 3 loc([[RELU:#.*]])
    isa.mark id = 3 loc(fused["/relu1/Relu", "/add/Add"])
  // CHECK: } loc([[FC:#.*]])
  } loc("/fc/Gemm")
  // CHECK: isa.halt loc([[LINE:#.*]])
  isa.halt loc("kernel.mlir":7:3)
}
// CHECK-DAG: [[CONV]] = loc("/conv1/Conv")
// CHECK-DAG: [[RELU]] = loc("/relu1/Relu")
// CHECK-DAG: [[FC]] = loc("/fc/Gemm")
// CHECK-DAG: [[LINE]] = loc("kernel.mlir:7")
