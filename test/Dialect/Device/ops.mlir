// RUN: tessera-opt %s | FileCheck %s

// Any symbol of the module can be dispatched.
func.func private @relu()

// CHECK-LABEL: device.program @main
// CHECK-SAME: inputs [#device.tensor<"x" : "f32", [4, 1]>]
// CHECK-SAME: outputs [#device.tensor<"y" : "f32", [4]>, #device.tensor<"total" : "i64", []>]
device.program @main
    inputs [#device.tensor<"x" : "f32", [4, 1]>]
    outputs [#device.tensor<"y" : "f32", [4]>, #device.tensor<"total" : "i64", []>] {
// CHECK: ^bb0(%[[X:.*]]: !device.buffer<16>, %[[Y:.*]]: !device.buffer<16>, %[[TOTAL:.*]]: !device.buffer<8>):
^bb0(%x: !device.buffer<16>, %y: !device.buffer<16>, %total: !device.buffer<8>):
  // CHECK: %[[W:.*]] = device.constant dense<1.000000e+00> : tensor<2x2xf32> : !device.buffer<16>
  %w = device.constant dense<1.0> : tensor<2x2xf32> : !device.buffer<16>
  // CHECK: device.alloc : !device.buffer<64>
  %a = device.alloc : !device.buffer<64>
  // CHECK: device.alloc at 128 : !device.buffer<16>
  %b = device.alloc at 128 : !device.buffer<16>
  // CHECK: device.dispatch @relu(%[[X]], %[[W]]) cores = [2, 1] nodes = ["conv", "relu"] : !device.buffer<16>, !device.buffer<16>
  device.dispatch @relu(%x, %w) cores = [2, 1] nodes = ["conv", "relu"]
      : !device.buffer<16>, !device.buffer<16>
  // CHECK: device.dispatch @relu() cores = [1, 1] nodes = []
  device.dispatch @relu() cores = [1, 1] nodes = []
  // CHECK: device.copy %{{.*}} to %[[Y]] : !device.buffer<16> to !device.buffer<16>
  device.copy %b to %y : !device.buffer<16> to !device.buffer<16>
  // CHECK: device.fill %[[TOTAL]], -1 : !device.buffer<8>
  device.fill %total, -1 : !device.buffer<8>
  device.return
}

// CHECK-LABEL: device.program @planned inputs [] outputs [] arena 4096
device.program @planned inputs [] outputs [] arena 4096 {
  device.return
}
