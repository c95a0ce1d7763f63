// The 8 largest values of each of 16 rows of 4096, f32, and their indices, i32.
//
// A row is worked off in pieces of 1024: `topk` takes the best until now into account
// (`accumulate`), and its index base moves along. Two places for pieces.
//
//              there   free again
//   pieces     s0      s1      (two places)
//   results    s2

isa.kernel @topk args 3 {
  isa.descriptor global f32 [16, 1024] strides [4096, 1] base 0  // 0
  isa.descriptor spm f32 [16, 1024] strides [1024, 1] base 0     // 1
  isa.descriptor spm f32 [16, 1024] strides [1024, 1] base 65536 // 2
  isa.descriptor spm f32 [16, 8] strides [8, 1] base 131072      // 3: values
  isa.descriptor spm i32 [16, 8] strides [8, 1] base 131584      // 4: indices
  isa.descriptor global f32 [16, 8] strides [8, 1] base 0        // 5
  isa.descriptor global i32 [16, 8] strides [8, 1] base 0        // 6

  isa.signal queue = seq signal(s1 += 2)
  isa.ldarg rd = r0, index = 0
  isa.td.load td = t0, index = 0
  isa.td.add td = t0, src = t0, ra = r0
  isa.td.load td = t1, index = 1
  isa.td.load td = t2, index = 2
  isa.td.load td = t3, index = 3
  isa.td.load td = t4, index = 4
  isa.li rd = r5, imm = 0
  isa.loop rd = r4, count = 2 {
    isa.load dst = t1, src = t0 wait(s1 >= 1) signal(s0 += 1)
    isa.td.addi td = t0, src = t0, imm = 4096
    isa.load dst = t2, src = t0 wait(s1 >= 1) signal(s0 += 1)
    isa.td.addi td = t0, src = t0, imm = 4096
    // The very first piece starts anew: r4 is 0.
    isa.topk dst = t3, indices = t4, src = t1, accumulate = reg, ra = r4, rb = r5 wait(s0 >= 1) signal(s1 += 1)
    isa.addi rd = r5, ra = r5, imm = 1024
    isa.topk dst = t3, indices = t4, src = t2, accumulate = yes, ra = r4, rb = r5 wait(s0 >= 1) signal(s1 += 1)
    isa.addi rd = r5, ra = r5, imm = 1024
  }
  isa.signal queue = vx signal(s2 += 1)
  isa.ldarg rd = r1, index = 1
  isa.td.load td = t5, index = 5
  isa.td.add td = t5, src = t5, ra = r1
  isa.store dst = t5, src = t3 wait(s2 >= 1)
  isa.ldarg rd = r2, index = 2
  isa.td.load td = t6, index = 6
  isa.td.add td = t6, src = t6, ra = r2
  isa.store dst = t6, src = t4
  isa.wait queue = ld wait(s1 >= 2)
  isa.halt
}

device.program @main
    inputs [#device.tensor<"x" : "f32", [16, 4096]>]
    outputs [#device.tensor<"values" : "f32", [16, 8]>, #device.tensor<"indices" : "i32", [16, 8]>] {
^bb0(%x: !device.buffer<262144>, %values: !device.buffer<512>, %indices: !device.buffer<512>):
  device.dispatch @topk(%x, %values, %indices) cores = [1, 1] nodes = ["topk"]
      : !device.buffer<262144>, !device.buffer<512>, !device.buffer<512>
  device.return
}
