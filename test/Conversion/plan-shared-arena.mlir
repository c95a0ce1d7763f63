// RUN: tessera-opt %s -plan-arena=arch=edge | FileCheck %s

func.func private @k()

// The shared SRAM has 2 MiB. Each step of the chain needs two buffers of it; what
// a later step reads again would keep its bytes for all steps, and stays in DRAM.

// CHECK-LABEL: device.program @chain
// CHECK-SAME: arena 1048576 shared_arena 2097152
device.program @chain inputs [] outputs [] {
  // CHECK: device.alloc at 0 : !device.buffer<1048576>
  // CHECK: device.alloc shared at 0 : !device.buffer<1048576>
  // CHECK: device.alloc shared at 1048576 : !device.buffer<1048576>
  // CHECK: device.alloc shared at 0 : !device.buffer<1048576>
  %kept = device.alloc : !device.buffer<1048576>
  %a = device.alloc : !device.buffer<1048576>
  %b = device.alloc : !device.buffer<1048576>
  %c = device.alloc : !device.buffer<1048576>
  device.dispatch @k(%kept, %a) cores = [1, 1] nodes = [] : !device.buffer<1048576>, !device.buffer<1048576>
  device.dispatch @k(%a, %b) cores = [1, 1] nodes = [] : !device.buffer<1048576>, !device.buffer<1048576>
  device.dispatch @k(%b, %c) cores = [1, 1] nodes = [] : !device.buffer<1048576>, !device.buffer<1048576>
  device.dispatch @k(%c, %kept) cores = [1, 1] nodes = [] : !device.buffer<1048576>, !device.buffer<1048576>
  device.return
}
