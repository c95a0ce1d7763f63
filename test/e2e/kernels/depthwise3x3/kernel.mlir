// A depthwise 3 × 3 convolution, padded by 1 on all sides: four images [16, 16, 64] in
// bf16, a filter [3, 3, 64] in f32, results in bf16.
//
// One `map` for an image: its iteration space is [oh, ow, kh, kw, c], over the padded image by
// strides that overlap and over the filter by strides of 0; the products are summed over
// kh and kw on the fly. c is the innermost dimension, so that the lanes read adjacent
// words. The borders of the two places for images are zeroed once.
//
//              there   free again
//   image      s0      s1      (two places)
//   results    s2      s3      (two places)
//   filter     s4

isa.map_program @product inputs 2 outputs [r0] {
  mulf r0, r0, r1
}

isa.kernel @depthwise3x3 args 3 {
  isa.descriptor global bf16 [16, 16, 64] strides [1024, 64, 1] base 0                  // 0: image
  isa.descriptor spm bf16 [16, 16, 64] strides [1152, 64, 1] base 2432                  // 1: row 1, column 1
  isa.descriptor spm bf16 [16, 16, 64] strides [1152, 64, 1] base 45440                 // 2
  isa.descriptor spm bf16 [18, 18, 64] strides [1152, 64, 1] base 0                     // 3: padded
  isa.descriptor spm bf16 [18, 18, 64] strides [1152, 64, 1] base 43008                 // 4
  isa.descriptor spm bf16 [16, 16, 3, 3, 64] strides [1152, 64, 1152, 64, 1] base 0     // 5: windows
  isa.descriptor spm bf16 [16, 16, 3, 3, 64] strides [1152, 64, 1152, 64, 1] base 43008 // 6
  isa.descriptor global f32 [3, 3, 64] strides [192, 64, 1] base 0                      // 7: filter
  isa.descriptor spm f32 [3, 3, 64] strides [192, 64, 1] base 86016                     // 8
  isa.descriptor spm f32 [16, 16, 3, 3, 64] strides [0, 0, 192, 64, 1] base 86016       // 9
  isa.descriptor spm bf16 [16, 16, 1, 1, 64] strides [1024, 64, 64, 64, 1] base 90112   // 10: results
  isa.descriptor spm bf16 [16, 16, 1, 1, 64] strides [1024, 64, 64, 64, 1] base 122880  // 11
  isa.descriptor global bf16 [16, 16, 1, 1, 64] strides [1024, 64, 64, 64, 1] base 0    // 12

  isa.signal queue = seq signal(s1 += 2, s3 += 2)
  isa.td.load td = t3, index = 3
  isa.fill dst = t3, value = 0
  isa.ldarg rd = r0, index = 0
  isa.td.load td = t0, index = 0
  isa.td.add td = t0, src = t0, ra = r0
  isa.td.load td = t1, index = 1
  isa.load dst = t1, src = t0 wait(s1 >= 1) signal(s0 += 1)
  isa.ldarg rd = r1, index = 1
  isa.td.load td = t7, index = 7
  isa.td.add td = t7, src = t7, ra = r1
  isa.td.load td = t8, index = 8
  isa.load dst = t8, src = t7 signal(s4 += 1)
  isa.td.load td = t4, index = 4
  isa.fill dst = t4, value = 0
  isa.ldarg rd = r2, index = 2
  isa.td.load td = t12, index = 12
  isa.td.add td = t12, src = t12, ra = r2
  isa.td.load td = t2, index = 2
  isa.td.load td = t5, index = 5
  isa.td.load td = t6, index = 6
  isa.td.load td = t9, index = 9
  isa.td.load td = t10, index = 10
  isa.td.load td = t11, index = 11
  isa.wait queue = vx wait(s4 >= 1)
  isa.loop rd = r4, count = 2 {
    isa.td.addi td = t0, src = t0, imm = 32768
    isa.load dst = t2, src = t0 wait(s1 >= 1) signal(s0 += 1)
    isa.map program = 0, out0 = t10, out1 = t10, in0 = t5, in1 = t9, in2 = t5, in3 = t5, reduce = sum, reduce_dims = [2, 3], accumulate = no, ra = r0, rb = r0 wait(s0 >= 1, s3 >= 1) signal(s1 += 1, s2 += 1)
    isa.store dst = t12, src = t10 wait(s2 >= 1) signal(s3 += 1)
    isa.td.addi td = t12, src = t12, imm = 32768
    // The first image of the next round; none after the last.
    isa.bne ra = r4, rb = r31, offset = 3
    isa.td.addi td = t0, src = t0, imm = 32768
    isa.load dst = t1, src = t0 wait(s1 >= 1) signal(s0 += 1)
    isa.map program = 0, out0 = t11, out1 = t11, in0 = t6, in1 = t9, in2 = t6, in3 = t6, reduce = sum, reduce_dims = [2, 3], accumulate = no, ra = r0, rb = r0 wait(s0 >= 1, s3 >= 1) signal(s1 += 1, s2 += 1)
    isa.store dst = t12, src = t11 wait(s2 >= 1) signal(s3 += 1)
    isa.td.addi td = t12, src = t12, imm = 32768
  }
  isa.wait queue = ld wait(s1 >= 2)
  isa.wait queue = vx wait(s3 >= 2)
  isa.halt
}

device.program @main
    inputs [#device.tensor<"image" : "bf16", [4, 16, 16, 64]>,
            #device.tensor<"filter" : "f32", [3, 3, 64]>]
    outputs [#device.tensor<"y" : "bf16", [4, 16, 16, 64]>] {
^bb0(%image: !device.buffer<131072>, %filter: !device.buffer<2304>, %y: !device.buffer<131072>):
  device.dispatch @depthwise3x3(%image, %filter, %y) cores = [1, 1] nodes = ["depthwise"]
      : !device.buffer<131072>, !device.buffer<2304>, !device.buffer<131072>
  device.return
}
