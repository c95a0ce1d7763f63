// RUN: tessera-opt %s -verify-isa-program=arch=tiny -split-input-file -verify-diagnostics

isa.kernel @deadlock args 0 {
  isa.descriptor spm f32 [16] strides [1] base 0
  isa.td.load td = t0, index = 0
  // expected-error @+1 {{kernel 'deadlock': deadlock: waits for s0 >= 1, which is 0 and that no earlier instruction signals}}
  isa.fill dst = t0, value = 0 wait(s0 >= 1) signal(s1 += 1)
  isa.wait queue = vx wait(s1 >= 1)
  isa.signal queue = vx signal(s0 += 1)
  isa.halt
}

// -----

isa.kernel @left_over args 0 {
  isa.signal queue = seq signal(s3 += 2)
  isa.loop rd = r0, count = 1 {
    isa.wait queue = ld wait(s3 >= 1)
  }
  // expected-error @+1 {{kernel 'left_over': semaphore s3 is 1 at halt}}
  isa.halt
}

// -----

// The second iteration reaches beyond 64 KiB.
isa.kernel @out_of_bounds args 0 {
  isa.descriptor spm f32 [16] strides [1] base 65472
  isa.td.load td = t0, index = 0
  isa.loop rd = r0, count = 2 {
    isa.muli rd = r1, ra = r0, imm = 4
    isa.td.add td = t1, src = t0, ra = r1
    // expected-error @+1 {{kernel 'out_of_bounds': t1 reaches bytes 65476 to 65539 of SPM, which has 65536}}
    isa.fill dst = t1, value = 0
  }
  isa.halt
}

// -----

// A dispatch tells how large the argument's buffer is.
isa.kernel @argument args 1 {
  isa.descriptor global f32 [16] strides [1] base 0
  isa.descriptor spm f32 [16] strides [1] base 0
  isa.td.load td = t0, index = 0
  isa.td.load td = t1, index = 1
  isa.ldarg rd = r0, index = 0
  isa.td.add td = t0, src = t0, ra = r0
  // expected-error @+1 {{kernel 'argument': t0 reaches bytes 0 to 63 of argument 0, which has 60}}
  isa.load dst = t1, src = t0
  isa.halt
}
device.program @main inputs [#device.tensor<"x" : "f32", [15]>] outputs [] {
^bb0(%x: !device.buffer<60>):
  device.dispatch @argument(%x) cores = [1, 1] nodes = [] : !device.buffer<60>
  device.return
}

// -----

// The cores are checked together: each waits for the other one's signal.
isa.kernel @cores args 0 {
  isa.coreid rd = r0
  isa.xori rd = r1, ra = r0, imm = 1
  // expected-error @+1 {{kernel 'cores': core 0: deadlock: waits for s0 >= 1, which is 0 and that no earlier instruction signals}}
  isa.wait queue = seq wait(s0 >= 1)
  isa.signal.core queue = seq, core = r1, sem = 0, count = 1
  isa.halt
}
device.program @main inputs [] outputs [] {
  device.dispatch @cores() cores = [2, 1] nodes = []
  device.return
}

// -----

isa.kernel @unknown args 0 {
  isa.lds rd = r0, ra = r1, imm = 0
  // expected-warning @+1 {{kernel 'unknown': checked up to here only: a loop's count is not known}}
  isa.loopr rd = r2, ra = r0 {
    isa.li rd = r3, imm = 0
  }
  isa.halt
}
