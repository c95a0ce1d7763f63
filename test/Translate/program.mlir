// A module with a device.program assembles to an object that runs; without one, to
// kernels alone.
//
// RUN: tessera-translate --isa-to-object --arch=tiny %s -o %t.tsr
// RUN: tessera info %t.tsr | FileCheck %s
// RUN: tessera run %t.tsr --arch tiny --outputs %t.out | FileCheck %s --check-prefix=REPORT

// CHECK: input.0 x: f32[16]
// CHECK: output.0 y: f32[16]
// REPORT: scratchpad    64 B of 64.0 KiB
isa.kernel @copy args 2 {
  isa.descriptor global f32 [16] strides [1] base 0
  isa.descriptor spm f32 [16] strides [1] base 0
  isa.td.load td = t0, index = 0
  isa.ldarg rd = r0, index = 0
  isa.td.add td = t1, src = t0, ra = r0
  isa.td.load td = t2, index = 1
  isa.load dst = t2, src = t1 signal(s0 += 1)
  isa.ldarg rd = r0, index = 1
  isa.td.add td = t1, src = t0, ra = r0
  isa.store dst = t1, src = t2 wait(s0 >= 1)
  isa.halt
}

device.program @main inputs [#device.tensor<"x" : "f32", [16]>]
                     outputs [#device.tensor<"y" : "f32", [16]>] {
^bb0(%x: !device.buffer<64>, %y: !device.buffer<64>):
  device.dispatch @copy(%x, %y) cores = [1, 1] nodes = ["copy"]
      : !device.buffer<64>, !device.buffer<64>
  device.return
}
