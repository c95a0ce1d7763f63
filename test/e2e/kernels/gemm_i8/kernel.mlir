// y[256, 256] = clamp(round(scale[n] · (a[256, 256] · w[256, 256]ᵀ))) in int8: a
// quantised layer, its weights N × K, with one scale for each output column.
//
// a stays in the scratchpad; panels of 64 columns of y go through the engines one after
// the other, with two places for each thing that is handed on:
//
//   ld --w--> mx --sums--> vx --int8--> st
//
//                 there   free again
//   a             s0
//   scales        s7
//   w, a panel    s1      s2
//   sums          s3      s4
//   int8          s5      s6

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
  isa.descriptor global i8 [256, 256] strides [256, 1] base 0        // 0: a
  isa.descriptor spm i8 [256, 256] strides [256, 1] base 0           // 1
  isa.descriptor global i8 [64, 256] strides [256, 1] base 0         // 2: w
  isa.descriptor spm i8 [64, 256] strides [256, 1] base 65536        // 3
  isa.descriptor spm i8 [64, 256] strides [256, 1] base 81920        // 4
  isa.descriptor acc i32 [256, 64] strides [64, 1] base 0            // 5: sums
  isa.descriptor acc i32 [256, 64] strides [64, 1] base 65536        // 6
  isa.descriptor spm i8 [256, 64] strides [64, 1] base 98304         // 7: int8
  isa.descriptor spm i8 [256, 64] strides [64, 1] base 114688        // 8
  isa.descriptor global i8 [256, 64] strides [256, 1] base 0         // 9: y
  isa.descriptor global f32 [256] strides [1] base 0                 // 10: scales
  isa.descriptor spm f32 [256] strides [1] base 131072               // 11
  isa.descriptor spm f32 [256, 64] strides [0, 1] base 131072        // 12

  isa.signal queue = seq signal(s2 += 2, s4 += 2, s6 += 2)
  isa.ldarg rd = r0, index = 0
  isa.ldarg rd = r1, index = 1
  isa.ldarg rd = r2, index = 2
  isa.ldarg rd = r3, index = 3
  isa.td.load td = t2, index = 2
  isa.td.add td = t2, src = t2, ra = r1
  isa.td.load td = t3, index = 3
  isa.td.load td = t4, index = 4
  isa.load dst = t3, src = t2 wait(s2 >= 1) signal(s1 += 1)
  isa.td.load td = t0, index = 0
  isa.td.add td = t0, src = t0, ra = r0
  isa.td.load td = t1, index = 1
  isa.load dst = t1, src = t0 signal(s0 += 1)
  isa.td.load td = t10, index = 10
  isa.td.add td = t10, src = t10, ra = r2
  isa.td.load td = t11, index = 11
  isa.load dst = t11, src = t10 signal(s7 += 1)
  isa.td.load td = t12, index = 12
  isa.td.load td = t5, index = 5
  isa.td.load td = t6, index = 6
  isa.td.load td = t7, index = 7
  isa.td.load td = t8, index = 8
  isa.td.load td = t9, index = 9
  isa.td.add td = t9, src = t9, ra = r3
  // What follows needs a and the scales in every round.
  isa.wait queue = mx wait(s0 >= 1)
  isa.wait queue = vx wait(s7 >= 1)
  isa.loop rd = r4, count = 2 {
    isa.td.addi td = t2, src = t2, imm = 16384
    isa.load dst = t4, src = t2 wait(s2 >= 1) signal(s1 += 1)
    isa.mma acc = t5, a = t1, b = t3, m_dims = [0], n_dims = [0], accumulate = no, ra = r0 wait(s1 >= 1, s4 >= 1) signal(s2 += 1, s3 += 1)
    isa.map program = 0, out0 = t7, out1 = t7, in0 = t5, in1 = t12, in2 = t5, in3 = t5, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0 wait(s3 >= 1, s6 >= 1) signal(s4 += 1, s5 += 1)
    isa.store dst = t9, src = t7 wait(s5 >= 1) signal(s6 += 1)
    isa.td.addi td = t9, src = t9, imm = 64
    isa.td.addi td = t12, src = t12, imm = 256
    // The first panel of the next round; none after the last.
    isa.bne ra = r4, rb = r31, offset = 3
    isa.td.addi td = t2, src = t2, imm = 16384
    isa.load dst = t3, src = t2 wait(s2 >= 1) signal(s1 += 1)
    isa.mma acc = t6, a = t1, b = t4, m_dims = [0], n_dims = [0], accumulate = no, ra = r0 wait(s1 >= 1, s4 >= 1) signal(s2 += 1, s3 += 1)
    isa.map program = 0, out0 = t8, out1 = t8, in0 = t6, in1 = t12, in2 = t6, in3 = t6, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0 wait(s3 >= 1, s6 >= 1) signal(s4 += 1, s5 += 1)
    isa.store dst = t9, src = t8 wait(s5 >= 1) signal(s6 += 1)
    isa.td.addi td = t9, src = t9, imm = 64
    isa.td.addi td = t12, src = t12, imm = 256
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
