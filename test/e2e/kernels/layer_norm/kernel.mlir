// y = (x - mean) / sqrt(variance + 1e-5) * gamma + beta for each of 64 rows of 512, f32.
//
// Eight rows at a time, two places for what comes in and two for what goes out. A tile
// takes the vector engine four instructions: `reduce` sums it; one `map` takes the mean
// off, leaves the difference and sums its squares at once; a small one makes the eight
// factors; the last one applies factor, gamma and beta.
//
//              there   free again
//   x          s0      s1      (two places)
//   results    s2      s3      (two places)
//   gamma, beta s4

isa.map_program @deviation inputs 2 outputs [r2, r0] {
  const r3, 0x3b000000   // 1 / 512
  mulf r1, r1, r3
  subf r0, r0, r1
  mulf r2, r0, r0
}
isa.map_program @factor inputs 1 outputs [r0] {
  const r1, 0x3b000000
  mulf r0, r0, r1
  const r1, 0x3727c5ac   // 1e-5
  addf r0, r0, r1
  rsqrt r0, r0
}
isa.map_program @affine inputs 4 outputs [r0] {
  mulf r0, r0, r1
  mulf r0, r0, r2
  addf r0, r0, r3
}

isa.kernel @layer_norm args 4 {
  isa.descriptor global f32 [8, 512] strides [512, 1] base 0     // 0: rows of x
  isa.descriptor spm f32 [8, 512] strides [512, 1] base 0        // 1
  isa.descriptor spm f32 [8, 512] strides [512, 1] base 16384    // 2
  isa.descriptor spm f32 [8, 512] strides [512, 1] base 32768    // 3: x - mean
  isa.descriptor spm f32 [8, 512] strides [512, 1] base 49152    // 4: results
  isa.descriptor spm f32 [8, 512] strides [512, 1] base 65536    // 5
  isa.descriptor global f32 [512] strides [1] base 0             // 6: gamma, beta
  isa.descriptor spm f32 [512] strides [1] base 81920            // 7: gamma
  isa.descriptor spm f32 [8, 512] strides [0, 1] base 81920      // 8: for each row
  isa.descriptor spm f32 [512] strides [1] base 83968            // 9: beta
  isa.descriptor spm f32 [8, 512] strides [0, 1] base 83968      // 10
  isa.descriptor spm f32 [8, 1] strides [1, 1] base 86016        // 11: sums
  isa.descriptor spm f32 [8, 512] strides [1, 0] base 86016      // 12: for each column
  isa.descriptor spm f32 [8, 1] strides [1, 1] base 86080        // 13: sums of squares
  isa.descriptor spm f32 [8, 1] strides [1, 1] base 86144        // 14: factors
  isa.descriptor spm f32 [8, 512] strides [1, 0] base 86144      // 15
  isa.descriptor global f32 [8, 512] strides [512, 1] base 0     // 16: rows of y

  isa.signal queue = seq signal(s1 += 2, s3 += 2)
  isa.ldarg rd = r0, index = 0
  isa.td.load td = t0, index = 0
  isa.td.add td = t0, src = t0, ra = r0
  isa.td.load td = t1, index = 1
  isa.load dst = t1, src = t0 wait(s1 >= 1) signal(s0 += 1)
  isa.ldarg rd = r1, index = 1
  isa.td.load td = t6, index = 6
  isa.td.add td = t20, src = t6, ra = r1
  isa.td.load td = t7, index = 7
  isa.load dst = t7, src = t20 signal(s4 += 1)
  isa.ldarg rd = r2, index = 2
  isa.td.add td = t20, src = t6, ra = r2
  isa.td.load td = t9, index = 9
  isa.load dst = t9, src = t20 signal(s4 += 1)
  isa.ldarg rd = r3, index = 3
  isa.td.load td = t16, index = 16
  isa.td.add td = t16, src = t16, ra = r3
  isa.td.load td = t2, index = 2
  isa.td.load td = t3, index = 3
  isa.td.load td = t4, index = 4
  isa.td.load td = t5, index = 5
  isa.td.load td = t8, index = 8
  isa.td.load td = t10, index = 10
  isa.td.load td = t11, index = 11
  isa.td.load td = t12, index = 12
  isa.td.load td = t13, index = 13
  isa.td.load td = t14, index = 14
  isa.td.load td = t15, index = 15
  isa.li rd = r31, imm = 3
  isa.wait queue = vx wait(s4 >= 2)
  isa.loop rd = r4, count = 4 {
    isa.td.addi td = t0, src = t0, imm = 16384
    isa.load dst = t2, src = t0 wait(s1 >= 1) signal(s0 += 1)
    isa.reduce kind = sum, dst = t11, indices = t11, src = t1, dims = [1], accumulate = no, ra = r0, rb = r0 wait(s0 >= 1)
    isa.map program = 0, out0 = t13, out1 = t3, in0 = t1, in1 = t12, in2 = t1, in3 = t1, reduce = sum, reduce_dims = [1], accumulate = no, ra = r0, rb = r0 signal(s1 += 1)
    isa.map program = 1, out0 = t14, out1 = t14, in0 = t13, in1 = t13, in2 = t13, in3 = t13, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0
    isa.map program = 2, out0 = t4, out1 = t4, in0 = t3, in1 = t15, in2 = t8, in3 = t10, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0 wait(s3 >= 1) signal(s2 += 1)
    isa.store dst = t16, src = t4 wait(s2 >= 1) signal(s3 += 1)
    isa.td.addi td = t16, src = t16, imm = 16384
    // The first rows of the next round; none after the last.
    isa.beq ra = r4, rb = r31, offset = 3
    isa.td.addi td = t0, src = t0, imm = 16384
    isa.load dst = t1, src = t0 wait(s1 >= 1) signal(s0 += 1)
    isa.reduce kind = sum, dst = t11, indices = t11, src = t2, dims = [1], accumulate = no, ra = r0, rb = r0 wait(s0 >= 1)
    isa.map program = 0, out0 = t13, out1 = t3, in0 = t2, in1 = t12, in2 = t2, in3 = t2, reduce = sum, reduce_dims = [1], accumulate = no, ra = r0, rb = r0 signal(s1 += 1)
    isa.map program = 1, out0 = t14, out1 = t14, in0 = t13, in1 = t13, in2 = t13, in3 = t13, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0
    isa.map program = 2, out0 = t5, out1 = t5, in0 = t3, in1 = t15, in2 = t8, in3 = t10, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0 wait(s3 >= 1) signal(s2 += 1)
    isa.store dst = t16, src = t5 wait(s2 >= 1) signal(s3 += 1)
    isa.td.addi td = t16, src = t16, imm = 16384
  }
  isa.wait queue = ld wait(s1 >= 2)
  isa.wait queue = vx wait(s3 >= 2)
  isa.halt
}

device.program @main
    inputs [#device.tensor<"x" : "f32", [64, 512]>, #device.tensor<"gamma" : "f32", [512]>,
            #device.tensor<"beta" : "f32", [512]>]
    outputs [#device.tensor<"y" : "f32", [64, 512]>] {
^bb0(%x: !device.buffer<131072>, %gamma: !device.buffer<2048>, %beta: !device.buffer<2048>,
     %y: !device.buffer<131072>):
  device.dispatch @layer_norm(%x, %gamma, %beta, %y) cores = [1, 1] nodes = ["layer_norm"]
      : !device.buffer<131072>, !device.buffer<2048>, !device.buffer<2048>, !device.buffer<131072>
  device.return
}
