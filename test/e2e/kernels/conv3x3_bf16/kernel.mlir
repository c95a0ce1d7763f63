// A 3 × 3 convolution with stride 2 and a padding of 1 on all sides, then bias and relu:
// four images [20, 20, 32] in bf16, 64 output channels, results [10, 10, 64] in bf16.
//
// No im2col: the windows are a descriptor over the padded image in the scratchpad,
// [oh, ow, kh, kw, c] with strides that overlap, and three `mma`, one for each row kh of
// the filters [kh, kw, c, n], multiply and add them: the first begins when a third of the
// filters is there. There are two places for padded images; of their borders the windows
// reach row 0 and column 0, which are zeroed once, and only what is inside them is loaded
// for each image.
//
//              there   free again
//   filters    s0              (a row of them)
//   bias       s5
//   image      s1      s2
//   sums       s3      s4      (two places)
//   results    s6      s7      (two places)

isa.map_program @bias_relu inputs 2 outputs [r0] {
  addf r0, r0, r1
  const r1, 0x00000000
  maxf r0, r0, r1
}

isa.kernel @conv3x3_bf16 args 4 {
  isa.descriptor global bf16 [20, 20, 32] strides [640, 32, 1] base 0                // 0: image
  isa.descriptor spm bf16 [20, 20, 32] strides [704, 32, 1] base 1472                // 1: row 1, column 1
  isa.descriptor spm bf16 [20, 20, 32] strides [704, 32, 1] base 34240               // 2
  isa.descriptor spm bf16 [22, 32] strides [32, 1] base 0                            // 3: row 0
  isa.descriptor spm bf16 [22, 32] strides [704, 1] base 0                           // 4: column 0
  isa.descriptor spm bf16 [10, 10, 3, 32] strides [1408, 64, 32, 1] base 0           // 5: windows, kh = 0
  isa.descriptor spm bf16 [10, 10, 3, 32] strides [1408, 64, 32, 1] base 32768       // 6
  isa.descriptor global bf16 [3, 32, 64] strides [2048, 64, 1] base 0                // 7: filters, a row
  isa.descriptor spm bf16 [3, 32, 64] strides [2048, 64, 1] base 65536               // 8
  isa.descriptor acc f32 [10, 10, 64] strides [640, 64, 1] base 0                    // 9: sums
  isa.descriptor acc f32 [10, 10, 64] strides [640, 64, 1] base 32768                // 10
  isa.descriptor global f32 [64] strides [1] base 0                                  // 11: bias
  isa.descriptor spm f32 [64] strides [1] base 102400                                // 12
  isa.descriptor spm f32 [10, 10, 64] strides [0, 0, 1] base 102400                  // 13
  isa.descriptor spm bf16 [10, 10, 64] strides [640, 64, 1] base 106496              // 14: results
  isa.descriptor spm bf16 [10, 10, 64] strides [640, 64, 1] base 122880              // 15
  isa.descriptor global bf16 [10, 10, 64] strides [640, 64, 1] base 0                // 16

  isa.signal queue = seq signal(s2 += 2, s4 += 2, s7 += 2)
  isa.td.load td = t3, index = 3
  isa.fill dst = t3, value = 0
  isa.td.load td = t4, index = 4
  isa.fill dst = t4, value = 0
  isa.ldarg rd = r0, index = 0
  isa.td.load td = t0, index = 0
  isa.td.add td = t0, src = t0, ra = r0
  isa.td.load td = t1, index = 1
  isa.load dst = t1, src = t0 wait(s2 >= 1) signal(s1 += 1)
  isa.ldarg rd = r1, index = 1
  isa.td.load td = t7, index = 7
  isa.td.add td = t7, src = t7, ra = r1
  isa.td.load td = t8, index = 8
  isa.load dst = t8, src = t7 signal(s0 += 1)
  isa.td.addi td = t7, src = t7, imm = 12288
  isa.td.addi td = t17, src = t8, imm = 12288
  isa.load dst = t17, src = t7 signal(s0 += 1)
  isa.td.addi td = t7, src = t7, imm = 12288
  isa.td.addi td = t18, src = t17, imm = 12288
  isa.load dst = t18, src = t7 signal(s0 += 1)
  isa.td.addi td = t3, src = t3, imm = 32768
  isa.fill dst = t3, value = 0
  isa.td.addi td = t4, src = t4, imm = 32768
  isa.fill dst = t4, value = 0
  isa.ldarg rd = r2, index = 2
  isa.td.load td = t11, index = 11
  isa.td.add td = t11, src = t11, ra = r2
  isa.td.load td = t12, index = 12
  isa.load dst = t12, src = t11 signal(s5 += 1)
  isa.td.load td = t2, index = 2
  isa.td.load td = t5, index = 5
  isa.td.addi td = t19, src = t5, imm = 1408
  isa.td.addi td = t20, src = t19, imm = 1408
  isa.td.load td = t6, index = 6
  isa.td.addi td = t21, src = t6, imm = 1408
  isa.td.addi td = t22, src = t21, imm = 1408
  isa.td.load td = t9, index = 9
  isa.td.load td = t10, index = 10
  isa.td.load td = t13, index = 13
  isa.td.load td = t14, index = 14
  isa.td.load td = t15, index = 15
  isa.ldarg rd = r3, index = 3
  isa.td.load td = t16, index = 16
  isa.td.add td = t16, src = t16, ra = r3
  isa.wait queue = vx wait(s5 >= 1)
  isa.loop rd = r4, count = 2 {
    isa.td.addi td = t0, src = t0, imm = 25600
    isa.load dst = t2, src = t0 wait(s2 >= 1) signal(s1 += 1)
    // The first image waits for each row of the filters.
    isa.bne ra = r4, rb = r31, offset = 2
    isa.wait queue = mx wait(s0 >= 1)
    isa.mma acc = t9, a = t5, b = t8, m_dims = [0, 1], n_dims = [2], accumulate = no, ra = r0 wait(s1 >= 1, s4 >= 1)
    isa.bne ra = r4, rb = r31, offset = 2
    isa.wait queue = mx wait(s0 >= 1)
    isa.mma acc = t9, a = t19, b = t17, m_dims = [0, 1], n_dims = [2], accumulate = yes, ra = r0
    isa.bne ra = r4, rb = r31, offset = 2
    isa.wait queue = mx wait(s0 >= 1)
    isa.mma acc = t9, a = t20, b = t18, m_dims = [0, 1], n_dims = [2], accumulate = yes, ra = r0 signal(s2 += 1, s3 += 1)
    isa.map program = 0, out0 = t14, out1 = t14, in0 = t9, in1 = t13, in2 = t9, in3 = t9, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0 wait(s3 >= 1, s7 >= 1) signal(s4 += 1, s6 += 1)
    isa.store dst = t16, src = t14 wait(s6 >= 1) signal(s7 += 1)
    isa.td.addi td = t16, src = t16, imm = 12800
    // The first image of the next round; none after the last.
    isa.bne ra = r4, rb = r31, offset = 3
    isa.td.addi td = t0, src = t0, imm = 25600
    isa.load dst = t1, src = t0 wait(s2 >= 1) signal(s1 += 1)
    isa.mma acc = t10, a = t6, b = t8, m_dims = [0, 1], n_dims = [2], accumulate = no, ra = r0 wait(s1 >= 1, s4 >= 1)
    isa.mma acc = t10, a = t21, b = t17, m_dims = [0, 1], n_dims = [2], accumulate = yes, ra = r0
    isa.mma acc = t10, a = t22, b = t18, m_dims = [0, 1], n_dims = [2], accumulate = yes, ra = r0 signal(s2 += 1, s3 += 1)
    isa.map program = 0, out0 = t15, out1 = t15, in0 = t10, in1 = t13, in2 = t10, in3 = t10, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0 wait(s3 >= 1, s7 >= 1) signal(s4 += 1, s6 += 1)
    isa.store dst = t16, src = t15 wait(s6 >= 1) signal(s7 += 1)
    isa.td.addi td = t16, src = t16, imm = 12800
  }
  isa.wait queue = ld wait(s2 >= 2)
  isa.wait queue = mx wait(s4 >= 2)
  isa.wait queue = vx wait(s7 >= 2)
  isa.halt
}

device.program @main
    inputs [#device.tensor<"image" : "bf16", [4, 20, 20, 32]>,
            #device.tensor<"filter" : "bf16", [3, 3, 32, 64]>, #device.tensor<"bias" : "f32", [64]>]
    outputs [#device.tensor<"y" : "bf16", [4, 10, 10, 64]>] {
^bb0(%image: !device.buffer<102400>, %filter: !device.buffer<36864>, %bias: !device.buffer<256>,
     %y: !device.buffer<51200>):
  device.dispatch @conv3x3_bf16(%image, %filter, %bias, %y) cores = [1, 1] nodes = ["conv"]
      : !device.buffer<102400>, !device.buffer<36864>, !device.buffer<256>, !device.buffer<51200>
  device.return
}
