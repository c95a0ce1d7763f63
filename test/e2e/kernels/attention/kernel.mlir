// One tile of attention with online softmax: 64 queries against 256 keys and values, heads
// of 64, bf16 with sums in f32. softmax(q · kᵀ / 8) · v without the 64 × 256 matrix.
//
// The keys come in four steps of 64. For each: the matrix engine makes the scores; the
// vector engine moves the running maximum, makes the probabilities and their sum, and
// scales what was summed until now; the matrix engine adds the step's part. The scores of
// the next step are made while the vector engine works on this one's.
//
//                     there   free again
//   q, k              s0
//   v                 s1
//   scores            s2      s3      (two places)
//   maximum, total    s4
//   probabilities     s5      s6      (two places)
//   sums (ACC)        s5      s8
//   result            s9

isa.map_program @zero inputs 0 outputs [r0] {
  const r0, 0x00000000
}
isa.map_program @maximum inputs 2 outputs [r2, r1] {
  const r3, 0x3e000000   // 1 / 8
  mulf r2, r0, r3
  maxf r2, r2, r1        // the new maximum
  subf r1, r1, r2
  exp r1, r1             // by what the old sums shrink
}
isa.map_program @probabilities inputs 2 outputs [r0, r0] {
  const r3, 0x3e000000
  mulf r0, r0, r3
  subf r0, r0, r1
  exp r0, r0
  rndbf16 r0, r0         // what is summed is what is multiplied
}
isa.map_program @total inputs 3 outputs [r0] {
  mulf r0, r0, r1
  addf r0, r0, r2
}
isa.map_program @shrink inputs 2 outputs [r0] {
  mulf r0, r0, r1
}
isa.map_program @divide inputs 2 outputs [r0] {
  divf r0, r0, r1
}

isa.kernel @attention args 4 {
  isa.descriptor global bf16 [64, 64] strides [64, 1] base 0     // 0: q, a step of k and v, the result
  isa.descriptor spm bf16 [64, 64] strides [64, 1] base 0        // 1: q
  isa.descriptor spm bf16 [64, 64] strides [64, 1] base 8192     // 2: k, four steps
  isa.descriptor spm bf16 [64, 64] strides [64, 1] base 40960    // 3: v, four steps
  isa.descriptor spm bf16 [64, 64] strides [64, 1] base 73728    // 4: probabilities
  isa.descriptor spm bf16 [64, 64] strides [64, 1] base 81920    // 5
  isa.descriptor spm bf16 [64, 64] strides [64, 1] base 90112    // 6: result
  isa.descriptor spm f32 [64, 1] strides [1, 1] base 98304       // 7: maximum
  isa.descriptor spm f32 [64, 64] strides [1, 0] base 98304      // 8: for each key
  isa.descriptor spm f32 [64, 1] strides [1, 1] base 98560       // 9: total
  isa.descriptor spm f32 [64, 64] strides [1, 0] base 98560      // 10
  isa.descriptor spm f32 [64, 1] strides [1, 1] base 98816       // 11: shrink
  isa.descriptor spm f32 [64, 64] strides [1, 0] base 98816      // 12
  isa.descriptor spm f32 [64, 1] strides [1, 1] base 99072       // 13: this step's maximum
  isa.descriptor spm f32 [64, 1] strides [1, 1] base 99328       // 14: this step's total
  isa.descriptor acc f32 [64, 64] strides [64, 1] base 0         // 15: scores
  isa.descriptor acc f32 [64, 64] strides [64, 1] base 16384     // 16
  isa.descriptor acc f32 [64, 64] strides [64, 1] base 32768     // 17: sums

  isa.signal queue = seq signal(s3 += 2, s6 += 2, s8 += 1)
  isa.td.load td = t0, index = 0
  isa.td.load td = t1, index = 1
  isa.td.load td = t2, index = 2
  isa.td.load td = t3, index = 3
  isa.td.load td = t4, index = 4
  isa.td.load td = t5, index = 5
  isa.td.load td = t6, index = 6
  isa.td.load td = t7, index = 7
  isa.td.load td = t8, index = 8
  isa.td.load td = t9, index = 9
  isa.td.load td = t10, index = 10
  isa.td.load td = t11, index = 11
  isa.td.load td = t12, index = 12
  isa.td.load td = t13, index = 13
  isa.td.load td = t14, index = 14
  isa.td.load td = t15, index = 15
  isa.td.load td = t16, index = 16
  isa.td.load td = t17, index = 17
  isa.ldarg rd = r0, index = 0
  isa.td.add td = t20, src = t0, ra = r0
  isa.load dst = t1, src = t20 signal(s0 += 1)
  isa.ldarg rd = r1, index = 1
  isa.td.add td = t20, src = t0, ra = r1
  isa.load dst = t2, src = t20 signal(s0 += 1)
  isa.fill dst = t7, value = 4286578688
  isa.fill dst = t9, value = 0 signal(s4 += 1)
  isa.ldarg rd = r2, index = 2
  isa.td.add td = t21, src = t0, ra = r2
  isa.load dst = t3, src = t21 signal(s1 += 1)
  isa.td.addi td = t22, src = t2, imm = 0
  isa.td.addi td = t23, src = t3, imm = 0
  isa.loop rd = r4, count = 3 {
    isa.td.addi td = t20, src = t20, imm = 8192
    isa.td.addi td = t22, src = t22, imm = 8192
    isa.load dst = t22, src = t20 signal(s0 += 1)
    isa.td.addi td = t21, src = t21, imm = 8192
    isa.td.addi td = t23, src = t23, imm = 8192
    isa.load dst = t23, src = t21 signal(s1 += 1)
  }

  isa.map program = 0, out0 = t17, out1 = t17, in0 = t17, in1 = t17, in2 = t17, in3 = t17, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0
  isa.wait queue = vx wait(s4 >= 1)
  isa.mma acc = t15, a = t1, b = t2, m_dims = [0], n_dims = [0], accumulate = no, ra = r0 wait(s0 >= 2, s3 >= 1) signal(s2 += 1)

  // Keys 0 to 63.
  isa.td.addi td = t2, src = t2, imm = 8192
  isa.mma acc = t16, a = t1, b = t2, m_dims = [0], n_dims = [0], accumulate = no, ra = r0 wait(s0 >= 1, s3 >= 1) signal(s2 += 1)
  isa.reduce kind = max, dst = t13, indices = t13, src = t15, dims = [1], accumulate = no, ra = r0, rb = r0 wait(s2 >= 1)
  isa.map program = 1, out0 = t7, out1 = t11, in0 = t13, in1 = t7, in2 = t13, in3 = t13, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0
  isa.map program = 2, out0 = t14, out1 = t4, in0 = t15, in1 = t8, in2 = t15, in3 = t15, reduce = sum, reduce_dims = [1], accumulate = no, ra = r0, rb = r0 wait(s6 >= 1) signal(s3 += 1)
  isa.map program = 3, out0 = t9, out1 = t9, in0 = t9, in1 = t11, in2 = t14, in3 = t9, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0
  isa.map program = 4, out0 = t17, out1 = t17, in0 = t17, in1 = t12, in2 = t17, in3 = t17, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0 wait(s8 >= 1) signal(s5 += 1)
  isa.mma acc = t17, a = t4, b = t3, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0 wait(s5 >= 1, s1 >= 1) signal(s6 += 1, s8 += 1)
  isa.td.addi td = t3, src = t3, imm = 8192

  // Keys 64 to 127.
  isa.td.addi td = t2, src = t2, imm = 8192
  isa.mma acc = t15, a = t1, b = t2, m_dims = [0], n_dims = [0], accumulate = no, ra = r0 wait(s0 >= 1, s3 >= 1) signal(s2 += 1)
  isa.reduce kind = max, dst = t13, indices = t13, src = t16, dims = [1], accumulate = no, ra = r0, rb = r0 wait(s2 >= 1)
  isa.map program = 1, out0 = t7, out1 = t11, in0 = t13, in1 = t7, in2 = t13, in3 = t13, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0
  isa.map program = 2, out0 = t14, out1 = t5, in0 = t16, in1 = t8, in2 = t16, in3 = t16, reduce = sum, reduce_dims = [1], accumulate = no, ra = r0, rb = r0 wait(s6 >= 1) signal(s3 += 1)
  isa.map program = 3, out0 = t9, out1 = t9, in0 = t9, in1 = t11, in2 = t14, in3 = t9, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0
  isa.map program = 4, out0 = t17, out1 = t17, in0 = t17, in1 = t12, in2 = t17, in3 = t17, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0 wait(s8 >= 1) signal(s5 += 1)
  isa.mma acc = t17, a = t5, b = t3, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0 wait(s5 >= 1, s1 >= 1) signal(s6 += 1, s8 += 1)
  isa.td.addi td = t3, src = t3, imm = 8192

  // Keys 128 to 191.
  isa.td.addi td = t2, src = t2, imm = 8192
  isa.mma acc = t16, a = t1, b = t2, m_dims = [0], n_dims = [0], accumulate = no, ra = r0 wait(s0 >= 1, s3 >= 1) signal(s2 += 1)
  isa.reduce kind = max, dst = t13, indices = t13, src = t15, dims = [1], accumulate = no, ra = r0, rb = r0 wait(s2 >= 1)
  isa.map program = 1, out0 = t7, out1 = t11, in0 = t13, in1 = t7, in2 = t13, in3 = t13, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0
  isa.map program = 2, out0 = t14, out1 = t4, in0 = t15, in1 = t8, in2 = t15, in3 = t15, reduce = sum, reduce_dims = [1], accumulate = no, ra = r0, rb = r0 wait(s6 >= 1) signal(s3 += 1)
  isa.map program = 3, out0 = t9, out1 = t9, in0 = t9, in1 = t11, in2 = t14, in3 = t9, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0
  isa.map program = 4, out0 = t17, out1 = t17, in0 = t17, in1 = t12, in2 = t17, in3 = t17, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0 wait(s8 >= 1) signal(s5 += 1)
  isa.mma acc = t17, a = t4, b = t3, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0 wait(s5 >= 1, s1 >= 1) signal(s6 += 1, s8 += 1)
  isa.td.addi td = t3, src = t3, imm = 8192

  // Keys 192 to 255.
  isa.reduce kind = max, dst = t13, indices = t13, src = t16, dims = [1], accumulate = no, ra = r0, rb = r0 wait(s2 >= 1)
  isa.map program = 1, out0 = t7, out1 = t11, in0 = t13, in1 = t7, in2 = t13, in3 = t13, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0
  isa.map program = 2, out0 = t14, out1 = t5, in0 = t16, in1 = t8, in2 = t16, in3 = t16, reduce = sum, reduce_dims = [1], accumulate = no, ra = r0, rb = r0 wait(s6 >= 1) signal(s3 += 1)
  isa.map program = 3, out0 = t9, out1 = t9, in0 = t9, in1 = t11, in2 = t14, in3 = t9, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0
  isa.map program = 4, out0 = t17, out1 = t17, in0 = t17, in1 = t12, in2 = t17, in3 = t17, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0 wait(s8 >= 1) signal(s5 += 1)
  isa.mma acc = t17, a = t5, b = t3, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0 wait(s5 >= 1, s1 >= 1) signal(s6 += 1, s8 += 1)

  isa.map program = 5, out0 = t6, out1 = t6, in0 = t17, in1 = t10, in2 = t17, in3 = t17, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0 wait(s8 >= 1) signal(s9 += 1)
  isa.ldarg rd = r3, index = 3
  isa.td.add td = t20, src = t0, ra = r3
  isa.store dst = t20, src = t6 wait(s9 >= 1)
  isa.wait queue = mx wait(s3 >= 2)
  isa.wait queue = vx wait(s6 >= 2)
  isa.halt
}

device.program @main
    inputs [#device.tensor<"q" : "bf16", [64, 64]>, #device.tensor<"k" : "bf16", [256, 64]>,
            #device.tensor<"v" : "bf16", [256, 64]>]
    outputs [#device.tensor<"y" : "bf16", [64, 64]>] {
^bb0(%q: !device.buffer<8192>, %k: !device.buffer<32768>, %v: !device.buffer<32768>,
     %y: !device.buffer<8192>):
  device.dispatch @attention(%q, %k, %v, %y) cores = [1, 1] nodes = ["attention"]
      : !device.buffer<8192>, !device.buffer<32768>, !device.buffer<32768>, !device.buffer<8192>
  device.return
}
