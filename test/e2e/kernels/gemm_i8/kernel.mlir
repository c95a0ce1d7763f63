// y[256, 256] = clamp(round(scale[n] · (a[256, 256] · w[256, 256]ᵀ))) in int8: a
// quantised layer, its weights N × K, with one scale for each output column.
//
// w stays in the scratchpad; panels of 64 rows of a go through the engines one after the
// other, each in four parts of 64 columns of y. Rows are whole in memory, so that loads and
// stores use all of its channels. There are two places for each thing that is handed on:
//
//   ld --a--> mx --sums--> vx --int8--> st
//
//                 there   free again
//   w, a part     s0
//   scales        s7
//   a, a panel    s1      s2
//   sums          s3      s4
//   int8          s5      s6
//
// The matrix engine can begin when a panel of a and the first part of w are there; the
// vector engine works on a part of the sums while the next one is made.

isa.map_program @requantise inputs 2 outputs [r0] {
  itof r0, r0
  mulf r0, r0, r1
  roundf r0, r0
  const r1, 0xc3000000
  maxf r0, r0, r1
  const r1, 0x42fe0000
  minf r0, r0, r1
  ftoi r0, r0
}

isa.kernel @gemm_i8 args 4 {
  isa.descriptor global i8 [64, 256] strides [256, 1] base 0         // 0: a, w, y
  isa.descriptor spm i8 [64, 256] strides [256, 1] base 0            // 1: a
  isa.descriptor spm i8 [64, 256] strides [256, 1] base 16384        // 2
  isa.descriptor spm i8 [64, 256] strides [256, 1] base 32768        // 3: w, its first part
  isa.descriptor acc i32 [64, 64] strides [256, 1] base 0            // 4: sums
  isa.descriptor acc i32 [64, 64] strides [256, 1] base 65536        // 5
  isa.descriptor spm i8 [64, 64] strides [256, 1] base 98304         // 6: int8
  isa.descriptor spm i8 [64, 64] strides [256, 1] base 114688        // 7
  isa.descriptor spm i8 [64, 256] strides [256, 1] base 98304        // 8: whole rows of it
  isa.descriptor spm i8 [64, 256] strides [256, 1] base 114688       // 9
  isa.descriptor global f32 [256] strides [1] base 0                 // 10: scales
  isa.descriptor spm f32 [256] strides [1] base 131072               // 11
  isa.descriptor spm f32 [64, 64] strides [0, 1] base 131072         // 12

  isa.signal queue = seq signal(s2 += 2, s4 += 2, s6 += 2)
  isa.ldarg rd = r0, index = 0
  isa.ldarg rd = r1, index = 1
  isa.ldarg rd = r2, index = 2
  isa.ldarg rd = r3, index = 3
  isa.td.load td = t24, index = 0
  isa.td.add td = t0, src = t24, ra = r0
  isa.td.load td = t1, index = 1
  isa.load dst = t1, src = t0 wait(s2 >= 1) signal(s1 += 1)
  isa.td.add td = t3, src = t24, ra = r1
  isa.td.load td = t4, index = 3
  isa.load dst = t4, src = t3 signal(s0 += 1)
  isa.td.addi td = t3, src = t3, imm = 16384
  isa.td.addi td = t5, src = t4, imm = 16384
  isa.load dst = t5, src = t3 signal(s0 += 1)
  isa.td.load td = t30, index = 10
  isa.td.add td = t30, src = t30, ra = r2
  isa.td.load td = t31, index = 11
  isa.load dst = t31, src = t30 signal(s7 += 1)
  isa.td.addi td = t3, src = t3, imm = 16384
  isa.td.addi td = t6, src = t5, imm = 16384
  isa.load dst = t6, src = t3 signal(s0 += 1)
  isa.td.addi td = t3, src = t3, imm = 16384
  isa.td.addi td = t7, src = t6, imm = 16384
  isa.load dst = t7, src = t3 signal(s0 += 1)
  isa.td.load td = t2, index = 2
  isa.td.add td = t24, src = t24, ra = r3
  isa.td.load td = t25, index = 8
  isa.td.load td = t26, index = 9
  isa.td.load td = t8, index = 4
  isa.td.addi td = t9, src = t8, imm = 256
  isa.td.addi td = t10, src = t9, imm = 256
  isa.td.addi td = t11, src = t10, imm = 256
  isa.td.load td = t12, index = 5
  isa.td.addi td = t13, src = t12, imm = 256
  isa.td.addi td = t14, src = t13, imm = 256
  isa.td.addi td = t15, src = t14, imm = 256
  isa.td.load td = t16, index = 6
  isa.td.addi td = t17, src = t16, imm = 64
  isa.td.addi td = t18, src = t17, imm = 64
  isa.td.addi td = t19, src = t18, imm = 64
  isa.td.load td = t20, index = 7
  isa.td.addi td = t21, src = t20, imm = 64
  isa.td.addi td = t22, src = t21, imm = 64
  isa.td.addi td = t23, src = t22, imm = 64
  isa.td.load td = t27, index = 12
  isa.td.addi td = t28, src = t27, imm = 256
  isa.td.addi td = t29, src = t28, imm = 256
  isa.td.addi td = t30, src = t29, imm = 256
  // What follows needs the scales in every round.
  isa.wait queue = vx wait(s7 >= 1)
  isa.loop rd = r4, count = 2 {
    isa.td.addi td = t0, src = t0, imm = 16384
    isa.load dst = t2, src = t0 wait(s2 >= 1) signal(s1 += 1)
    // The first panel waits for each part of w.
    isa.bne ra = r4, rb = r31, offset = 2
    isa.wait queue = mx wait(s0 >= 1)
    isa.mma acc = t8, a = t1, b = t4, m_dims = [0], n_dims = [0], accumulate = no, ra = r0 wait(s1 >= 1, s4 >= 1) signal(s3 += 1)
    isa.map program = 0, out0 = t16, out1 = t16, in0 = t8, in1 = t27, in2 = t8, in3 = t8, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0 wait(s3 >= 1, s6 >= 1)
    isa.bne ra = r4, rb = r31, offset = 2
    isa.wait queue = mx wait(s0 >= 1)
    isa.mma acc = t9, a = t1, b = t5, m_dims = [0], n_dims = [0], accumulate = no, ra = r0 signal(s3 += 1)
    isa.map program = 0, out0 = t17, out1 = t17, in0 = t9, in1 = t28, in2 = t9, in3 = t9, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0 wait(s3 >= 1)
    isa.bne ra = r4, rb = r31, offset = 2
    isa.wait queue = mx wait(s0 >= 1)
    isa.mma acc = t10, a = t1, b = t6, m_dims = [0], n_dims = [0], accumulate = no, ra = r0 signal(s3 += 1)
    isa.map program = 0, out0 = t18, out1 = t18, in0 = t10, in1 = t29, in2 = t10, in3 = t10, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0 wait(s3 >= 1)
    isa.bne ra = r4, rb = r31, offset = 2
    isa.wait queue = mx wait(s0 >= 1)
    isa.mma acc = t11, a = t1, b = t7, m_dims = [0], n_dims = [0], accumulate = no, ra = r0 signal(s2 += 1, s3 += 1)
    isa.map program = 0, out0 = t19, out1 = t19, in0 = t11, in1 = t30, in2 = t11, in3 = t11, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0 wait(s3 >= 1) signal(s4 += 1, s5 += 1)
    isa.store dst = t24, src = t25 wait(s5 >= 1) signal(s6 += 1)
    isa.td.addi td = t24, src = t24, imm = 16384
    // The first panel of the next round; none after the last.
    isa.bne ra = r4, rb = r31, offset = 3
    isa.td.addi td = t0, src = t0, imm = 16384
    isa.load dst = t1, src = t0 wait(s2 >= 1) signal(s1 += 1)
    isa.mma acc = t12, a = t2, b = t4, m_dims = [0], n_dims = [0], accumulate = no, ra = r0 wait(s1 >= 1, s4 >= 1) signal(s3 += 1)
    isa.map program = 0, out0 = t20, out1 = t20, in0 = t12, in1 = t27, in2 = t12, in3 = t12, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0 wait(s3 >= 1, s6 >= 1)
    isa.mma acc = t13, a = t2, b = t5, m_dims = [0], n_dims = [0], accumulate = no, ra = r0 signal(s3 += 1)
    isa.map program = 0, out0 = t21, out1 = t21, in0 = t13, in1 = t28, in2 = t13, in3 = t13, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0 wait(s3 >= 1)
    isa.mma acc = t14, a = t2, b = t6, m_dims = [0], n_dims = [0], accumulate = no, ra = r0 signal(s3 += 1)
    isa.map program = 0, out0 = t22, out1 = t22, in0 = t14, in1 = t29, in2 = t14, in3 = t14, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0 wait(s3 >= 1)
    isa.mma acc = t15, a = t2, b = t7, m_dims = [0], n_dims = [0], accumulate = no, ra = r0 signal(s2 += 1, s3 += 1)
    isa.map program = 0, out0 = t23, out1 = t23, in0 = t15, in1 = t30, in2 = t15, in3 = t15, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0 wait(s3 >= 1) signal(s4 += 1, s5 += 1)
    isa.store dst = t24, src = t26 wait(s5 >= 1) signal(s6 += 1)
    isa.td.addi td = t24, src = t24, imm = 16384
  }
  // The places are free again.
  isa.wait queue = ld wait(s2 >= 2)
  isa.wait queue = mx wait(s4 >= 2)
  isa.wait queue = vx wait(s6 >= 2)
  isa.halt
}

device.program @main
    inputs [#device.tensor<"a" : "i8", [256, 256]>, #device.tensor<"w" : "i8", [256, 256]>,
            #device.tensor<"scale" : "f32", [256]>]
    outputs [#device.tensor<"y" : "i8", [256, 256]>] {
^bb0(%a: !device.buffer<65536>, %w: !device.buffer<65536>, %scale: !device.buffer<1024>,
     %y: !device.buffer<65536>):
  device.dispatch @gemm_i8(%a, %w, %scale, %y) cores = [1, 1] nodes = ["gemm"]
      : !device.buffer<65536>, !device.buffer<65536>, !device.buffer<1024>, !device.buffer<65536>
  device.return
}
