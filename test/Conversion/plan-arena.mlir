// RUN: tessera-opt %s -plan-arena=arch=tiny -split-input-file -verify-diagnostics | FileCheck %s

func.func private @k()

// A chain: each buffer lives from its first to its last use, so the third may
// take the place of the first.

// CHECK-LABEL: device.program @chain inputs [] outputs [] arena 2048
device.program @chain inputs [] outputs [] {
  // CHECK: device.alloc at 0 : !device.buffer<1024>
  // CHECK: device.alloc at 1024 : !device.buffer<1000>
  // CHECK: device.alloc at 0 : !device.buffer<1000>
  %a = device.alloc : !device.buffer<1024>
  %b = device.alloc : !device.buffer<1000>
  %c = device.alloc : !device.buffer<1000>
  device.dispatch @k(%a) cores = [1, 1] nodes = [] : !device.buffer<1024>
  device.dispatch @k(%a, %b) cores = [1, 1] nodes = [] : !device.buffer<1024>, !device.buffer<1000>
  device.dispatch @k(%b, %c) cores = [1, 1] nodes = [] : !device.buffer<1000>, !device.buffer<1000>
  device.return
}

// -----

func.func private @k()

// expected-error @+1 {{the arena needs 1099511627776 bytes, 8589934592 are available}}
device.program @too_large inputs [] outputs [] {
  %a = device.alloc : !device.buffer<1099511627776>
  device.dispatch @k(%a) cores = [1, 1] nodes = [] : !device.buffer<1099511627776>
  device.return
}
