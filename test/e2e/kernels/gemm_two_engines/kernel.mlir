// y[256, 128] = a[256, 256] · b[256, 128] in bf16, sums in f32, on two matrix engines:
// each makes half of the columns, in a part of the accumulators of its own, and both read
// the same rows of a.
//
// Panels of 64 of K go through two places in the scratchpad. The engines are two queues
// like any others: each says for itself when it has read a panel, and the loads wait for
// both.
//
//                    there      free again
//   panel, for mx    s0         s2
//   panel, for mx1   s1         s3
//   sums             s4, s5

isa.kernel @gemm_two_engines args 3 {
  isa.descriptor global bf16 [256, 64] strides [256, 1] base 0       // 0: a, a panel
  isa.descriptor spm bf16 [256, 64] strides [64, 1] base 0           // 1
  isa.descriptor spm bf16 [256, 64] strides [64, 1] base 32768       // 2
  isa.descriptor global bf16 [64, 128] strides [128, 1] base 0       // 3: b, a panel
  isa.descriptor spm bf16 [64, 128] strides [128, 1] base 65536      // 4
  isa.descriptor spm bf16 [64, 128] strides [128, 1] base 81920      // 5
  isa.descriptor spm bf16 [64, 64] strides [128, 1] base 65536       // 6: its columns
  isa.descriptor spm bf16 [64, 64] strides [128, 1] base 65664       // 7
  isa.descriptor spm bf16 [64, 64] strides [128, 1] base 81920       // 8
  isa.descriptor spm bf16 [64, 64] strides [128, 1] base 82048       // 9
  isa.descriptor acc f32 [256, 64] strides [64, 1] base 0            // 10: sums
  isa.descriptor acc f32 [256, 64] strides [64, 1] base 65536        // 11
  isa.descriptor global f32 [256, 64] strides [128, 1] base 0        // 12: y
  isa.descriptor global f32 [256, 64] strides [128, 1] base 256      // 13

  isa.signal queue = seq signal(s2 += 2, s3 += 2)
  isa.ldarg rd = r0, index = 0
  isa.ldarg rd = r1, index = 1
  isa.ldarg rd = r2, index = 2
  isa.td.load td = t0, index = 0
  isa.td.add td = t0, src = t0, ra = r0
  isa.td.load td = t3, index = 3
  isa.td.add td = t3, src = t3, ra = r1
  isa.td.load td = t1, index = 1
  isa.td.load td = t2, index = 2
  isa.td.load td = t4, index = 4
  isa.td.load td = t5, index = 5
  isa.td.load td = t6, index = 6
  isa.td.load td = t7, index = 7
  isa.td.load td = t8, index = 8
  isa.td.load td = t9, index = 9
  isa.td.load td = t10, index = 10
  isa.td.load td = t11, index = 11
  isa.loop rd = r4, count = 2 {
    isa.load dst = t1, src = t0 wait(s2 >= 1, s3 >= 1)
    isa.load dst = t4, src = t3 signal(s0 += 1, s1 += 1)
    isa.mma acc = t10, a = t1, b = t6, m_dims = [0], n_dims = [1], accumulate = reg, ra = r4 wait(s0 >= 1) signal(s2 += 1)
    isa.mma acc = t11, a = t1, b = t7, m_dims = [0], n_dims = [1], accumulate = reg, ra = r4, queue = mx1 wait(s1 >= 1) signal(s3 += 1)
    isa.td.addi td = t0, src = t0, imm = 128
    isa.td.addi td = t3, src = t3, imm = 16384
    isa.load dst = t2, src = t0 wait(s2 >= 1, s3 >= 1)
    isa.load dst = t5, src = t3 signal(s0 += 1, s1 += 1)
    isa.mma acc = t10, a = t2, b = t8, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0 wait(s0 >= 1) signal(s2 += 1)
    isa.mma acc = t11, a = t2, b = t9, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0, queue = mx1 wait(s1 >= 1) signal(s3 += 1)
    isa.td.addi td = t0, src = t0, imm = 128
    isa.td.addi td = t3, src = t3, imm = 16384
  }
  isa.signal queue = mx signal(s4 += 1)
  isa.signal queue = mx1 signal(s5 += 1)
  isa.td.load td = t12, index = 12
  isa.td.add td = t12, src = t12, ra = r2
  isa.store dst = t12, src = t10 wait(s4 >= 1)
  isa.td.load td = t13, index = 13
  isa.td.add td = t13, src = t13, ra = r2
  isa.store dst = t13, src = t11 wait(s5 >= 1)
  // The places are free again.
  isa.wait queue = ld wait(s2 >= 2, s3 >= 2)
  isa.halt
}

device.program @main
    inputs [#device.tensor<"a" : "bf16", [256, 256]>, #device.tensor<"b" : "bf16", [256, 128]>]
    outputs [#device.tensor<"y" : "f32", [256, 128]>] {
^bb0(%a: !device.buffer<131072>, %b: !device.buffer<65536>, %y: !device.buffer<131072>):
  device.dispatch @gemm_two_engines(%a, %b, %y) cores = [1, 1] nodes = ["gemm"]
      : !device.buffer<131072>, !device.buffer<65536>, !device.buffer<131072>
  device.return
}
