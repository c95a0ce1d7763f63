// c[1024, 1024] = a[1024, 1024] · b[1024, 1024], bf16 with sums in f32, on one core.
//
// a and b stay in the scratchpad once they are there (2 MiB each). c is made of
// 32 tiles of 256 × 128; four of them have a place in the accumulators, and each is
// stored as soon as it is complete.
//
// The matrix engine must not wait for whole operands at the beginning, nor for a
// whole tile's store at the end:
// - the first four tiles, 512 × 256 of c, grow together along K in steps of 128: a
//   step needs 192 KiB of operands and keeps the engine busy for 1024 cycles;
// - the very first weights are loaded before any of `a` is there: one row times these
//   weights, into a place that is overwritten, is an `mma` that needs b alone;
// - the last tile is computed and stored in two halves.
// Loads go before stores at the core's port to the network, so those that have time
// wait until the first four tiles are stored.
//
// s0: operands are there (ld to mx). s1: a tile is complete (mx to st).
// s2: a tile's place in the accumulators is free again (st to mx). s3: the first four
// tiles are stored (st to ld).
//
// The first tiles, by place: 0 = rows 0.. columns 0.., 1 = rows 0.. columns 128..,
// 2 = rows 256.. columns 0.., 3 = rows 256.. columns 128..

isa.kernel @gemm_bf16 args 3 {
  // Step of K: 128 × 128 of b, and its columns 128 to 255; 128 rows of a; 256 rows.
  isa.descriptor global bf16 [128, 128] strides [1024, 1] base 0     // 0
  isa.descriptor spm bf16 [128, 128] strides [1024, 1] base 2097152  // 1: b
  isa.descriptor spm bf16 [128, 128] strides [1024, 1] base 2097408  // 2: b, column 128
  isa.descriptor spm bf16 [128, 128] strides [1024, 1] base 0        // 3: a
  isa.descriptor spm bf16 [128, 128] strides [1024, 1] base 262144   // 4: a, row 128
  isa.descriptor global bf16 [256, 128] strides [1024, 1] base 0     // 5
  isa.descriptor spm bf16 [256, 128] strides [1024, 1] base 0        // 6: a
  isa.descriptor spm bf16 [256, 128] strides [1024, 1] base 524288   // 7: a, row 256
  isa.descriptor global bf16 [128, 256] strides [1024, 1] base 0     // 8
  isa.descriptor spm bf16 [128, 256] strides [1024, 1] base 2097152  // 9: b
  // The last two steps of the first tiles at once: K = 256.
  isa.descriptor global bf16 [256, 256] strides [1024, 1] base 0     // 10
  isa.descriptor spm bf16 [256, 256] strides [1024, 1] base 1536     // 11: a, column 768
  isa.descriptor spm bf16 [256, 256] strides [1024, 1] base 525824   // 12: a, row 256
  isa.descriptor global bf16 [256, 128] strides [1024, 1] base 0     // 13
  isa.descriptor spm bf16 [256, 128] strides [1024, 1] base 3670016  // 14: b, row 768
  isa.descriptor spm bf16 [256, 128] strides [1024, 1] base 3670272  // 15: column 128
  // Whole K.
  isa.descriptor global bf16 [256, 1024] strides [1024, 1] base 0    // 16
  isa.descriptor spm bf16 [256, 1024] strides [1024, 1] base 1048576 // 17: a, row 512
  isa.descriptor global bf16 [1024, 128] strides [1024, 1] base 512  // 18: b, column 256
  isa.descriptor spm bf16 [1024, 128] strides [1024, 1] base 2097664 // 19
  isa.descriptor spm bf16 [128, 1024] strides [1024, 1] base 1572864 // 20: a, row 768
  // Places in the accumulators, and tiles of c.
  isa.descriptor acc f32 [256, 128] strides [128, 1] base 0          // 21
  isa.descriptor acc f32 [256, 128] strides [128, 1] base 131072     // 22
  isa.descriptor acc f32 [256, 128] strides [128, 1] base 262144     // 23
  isa.descriptor acc f32 [256, 128] strides [128, 1] base 393216     // 24
  isa.descriptor acc f32 [128, 128] strides [128, 1] base 0          // 25
  isa.descriptor acc f32 [1, 128] strides [128, 1] base 0            // 26
  isa.descriptor global f32 [256, 128] strides [1024, 1] base 0      // 27
  isa.descriptor global f32 [128, 128] strides [1024, 1] base 0      // 28
  isa.descriptor spm bf16 [1, 128] strides [1024, 1] base 2097152    // 29: a row of b

  // Step 0, in pieces that grow.
  isa.ldarg rd = r1, index = 1
  isa.td.load td = t0, index = 0
  isa.td.add td = t1, src = t0, ra = r1
  isa.td.load td = t2, index = 1
  isa.load dst = t2, src = t1 signal(s0 += 1)
  isa.ldarg rd = r0, index = 0
  isa.td.add td = t3, src = t0, ra = r0
  isa.td.load td = t4, index = 3
  isa.load dst = t4, src = t3 signal(s0 += 1)
  isa.td.addi td = t3, src = t3, imm = 262144
  isa.td.load td = t5, index = 4
  isa.load dst = t5, src = t3 signal(s0 += 1)
  isa.td.addi td = t1, src = t1, imm = 256
  isa.td.load td = t6, index = 2
  isa.load dst = t6, src = t1 signal(s0 += 1)
  isa.td.load td = t7, index = 5
  isa.td.add td = t7, src = t7, ra = r0
  isa.td.addi td = t8, src = t7, imm = 524288
  isa.td.load td = t9, index = 6
  isa.td.load td = t10, index = 7
  isa.load dst = t10, src = t8 signal(s0 += 1)

  // Loads are pushed a step ahead of the products: a full queue of products must not
  // hold them up. Step 1. t12: b's step in memory, t13: in the scratchpad; t7 and t8:
  // a's in memory, t26 and t27: in the scratchpad.
  isa.td.load td = t12, index = 8
  isa.td.add td = t12, src = t12, ra = r1
  isa.td.load td = t13, index = 9
  isa.td.addi td = t26, src = t9, imm = 0
  isa.td.addi td = t27, src = t10, imm = 0
  isa.td.addi td = t12, src = t12, imm = 262144
  isa.td.addi td = t13, src = t13, imm = 262144
  isa.load dst = t13, src = t12 signal(s0 += 1)
  isa.td.addi td = t7, src = t7, imm = 256
  isa.td.addi td = t26, src = t26, imm = 256
  isa.load dst = t26, src = t7 signal(s0 += 1)
  isa.td.addi td = t8, src = t8, imm = 256
  isa.td.addi td = t27, src = t27, imm = 256
  isa.load dst = t27, src = t8 signal(s0 += 1)

  // Step 0's products.
  isa.td.load td = t20, index = 21
  isa.td.load td = t21, index = 22
  isa.td.load td = t22, index = 23
  isa.td.load td = t23, index = 24
  isa.td.load td = t24, index = 25
  isa.td.load td = t25, index = 26
  isa.td.load td = t11, index = 29
  isa.mma acc = t25, a = t11, b = t2, m_dims = [0], n_dims = [1], accumulate = no, ra = r0 wait(s0 >= 1)
  isa.mma acc = t24, a = t4, b = t2, m_dims = [0], n_dims = [1], accumulate = no, ra = r0, keep_b wait(s0 >= 1)
  isa.td.addi td = t24, src = t24, imm = 65536
  isa.mma acc = t24, a = t5, b = t2, m_dims = [0], n_dims = [1], accumulate = no, ra = r0, keep_b wait(s0 >= 1)
  isa.mma acc = t21, a = t9, b = t6, m_dims = [0], n_dims = [1], accumulate = no, ra = r0 wait(s0 >= 1)
  isa.mma acc = t23, a = t10, b = t6, m_dims = [0], n_dims = [1], accumulate = no, ra = r0, keep_b wait(s0 >= 1)
  isa.mma acc = t22, a = t10, b = t2, m_dims = [0], n_dims = [1], accumulate = no, ra = r0

  // Steps 1 to 4, and the loads of steps 2 to 5.
  isa.loop rd = r3, count = 4 {
    isa.td.addi td = t12, src = t12, imm = 262144
    isa.td.addi td = t13, src = t13, imm = 262144
    isa.load dst = t13, src = t12 signal(s0 += 1)
    isa.td.addi td = t7, src = t7, imm = 256
    isa.td.addi td = t26, src = t26, imm = 256
    isa.load dst = t26, src = t7 signal(s0 += 1)
    isa.td.addi td = t8, src = t8, imm = 256
    isa.td.addi td = t27, src = t27, imm = 256
    isa.load dst = t27, src = t8 signal(s0 += 1)
    isa.td.addi td = t9, src = t9, imm = 256
    isa.td.addi td = t10, src = t10, imm = 256
    isa.td.addi td = t2, src = t2, imm = 262144
    isa.td.addi td = t6, src = t6, imm = 262144
    isa.mma acc = t20, a = t9, b = t2, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0 wait(s0 >= 2)
    isa.mma acc = t21, a = t9, b = t6, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0
    isa.mma acc = t23, a = t10, b = t6, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0, keep_b wait(s0 >= 1)
    isa.mma acc = t22, a = t10, b = t2, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0
  }

  // What is left of the operands of the first tiles, in the order of the tiles, and then
  // of the next panel of a: row 512.
  isa.td.load td = t14, index = 13
  isa.td.add td = t14, src = t14, ra = r1
  isa.td.addi td = t14, src = t14, imm = 1572864
  isa.td.load td = t28, index = 14
  isa.load dst = t28, src = t14 signal(s0 += 1)
  isa.td.load td = t12, index = 10
  isa.td.add td = t12, src = t12, ra = r0
  isa.td.addi td = t12, src = t12, imm = 1536
  isa.td.load td = t26, index = 11
  isa.load dst = t26, src = t12 signal(s0 += 1)
  isa.td.addi td = t14, src = t14, imm = 256
  isa.td.load td = t29, index = 15
  isa.load dst = t29, src = t14 signal(s0 += 1)
  isa.td.addi td = t12, src = t12, imm = 524288
  isa.td.load td = t27, index = 12
  isa.load dst = t27, src = t12 signal(s0 += 1)
  isa.td.load td = t12, index = 16
  isa.td.add td = t12, src = t12, ra = r0
  isa.td.addi td = t12, src = t12, imm = 1048576
  isa.td.load td = t13, index = 17
  isa.load dst = t13, src = t12 signal(s0 += 2)

  // Step 5's products.
  isa.td.addi td = t9, src = t9, imm = 256
  isa.td.addi td = t10, src = t10, imm = 256
  isa.td.addi td = t2, src = t2, imm = 262144
  isa.td.addi td = t6, src = t6, imm = 262144
  isa.mma acc = t20, a = t9, b = t2, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0 wait(s0 >= 2)
  isa.mma acc = t21, a = t9, b = t6, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0
  isa.mma acc = t23, a = t10, b = t6, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0, keep_b wait(s0 >= 1)
  isa.mma acc = t22, a = t10, b = t2, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0

  // The last steps: the tiles are complete one after the other.
  isa.td.addi td = t9, src = t26, imm = 0
  isa.td.addi td = t10, src = t27, imm = 0
  isa.td.addi td = t2, src = t28, imm = 0
  isa.td.addi td = t6, src = t29, imm = 0
  isa.ldarg rd = r2, index = 2
  isa.td.load td = t15, index = 27
  isa.td.add td = t15, src = t15, ra = r2
  isa.mma acc = t20, a = t9, b = t2, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0 wait(s0 >= 2) signal(s1 += 1)
  isa.store dst = t15, src = t20 wait(s1 >= 1) signal(s2 += 1)
  isa.mma acc = t21, a = t9, b = t6, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0 wait(s0 >= 1) signal(s1 += 1)
  isa.td.addi td = t16, src = t15, imm = 512
  isa.store dst = t16, src = t21 wait(s1 >= 1) signal(s2 += 1)
  isa.mma acc = t22, a = t10, b = t2, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0 wait(s0 >= 1) signal(s1 += 1)
  isa.td.addi td = t17, src = t15, imm = 1048576
  isa.store dst = t17, src = t22 wait(s1 >= 1) signal(s2 += 1)
  isa.mma acc = t23, a = t10, b = t6, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0 signal(s1 += 1)
  isa.td.addi td = t18, src = t16, imm = 1048576
  isa.store dst = t18, src = t23 wait(s1 >= 1) signal(s2 += 1, s3 += 1)

  // Loads would keep these stores from the network: the next ones wait for them. Row 768.
  isa.td.addi td = t12, src = t12, imm = 524288
  isa.td.addi td = t30, src = t13, imm = 524288
  isa.load dst = t30, src = t12 wait(s3 >= 1) signal(s0 += 2)

  // The next panel of b, columns 256 to 383.
  isa.td.load td = t12, index = 18
  isa.td.add td = t12, src = t12, ra = r1
  isa.td.load td = t28, index = 19
  isa.load dst = t28, src = t12 signal(s0 += 4)

  // Rows 512 and 768 of the first 256 columns, places in turn.
  isa.td.addi td = t2, src = t28, imm = -512
  isa.td.addi td = t19, src = t15, imm = 2097152
  isa.td.addi td = t26, src = t20, imm = 0
  isa.loop rd = r3, count = 2 {
    isa.td.addi td = t14, src = t2, imm = 0
    isa.td.addi td = t27, src = t19, imm = 0
    isa.loop rd = r4, count = 2 {
      isa.mma acc = t26, a = t13, b = t14, m_dims = [0], n_dims = [1], accumulate = no, ra = r0 wait(s0 >= 1, s2 >= 1) signal(s1 += 1)
      isa.store dst = t27, src = t26 wait(s1 >= 1) signal(s2 += 1)
      isa.td.addi td = t26, src = t26, imm = 131072
      isa.td.addi td = t14, src = t14, imm = 256
      isa.td.addi td = t27, src = t27, imm = 512
    }
    isa.td.addi td = t13, src = t13, imm = 524288
    isa.td.addi td = t19, src = t19, imm = 1048576
  }

  // Columns 256 to 895: the next panel of b, four tiles of this one.
  isa.td.addi td = t13, src = t28, imm = 0
  isa.td.addi td = t19, src = t15, imm = 1024
  isa.td.load td = t10, index = 17
  isa.td.addi td = t10, src = t10, imm = -1048576
  isa.loop rd = r3, count = 5 {
    isa.td.addi td = t12, src = t12, imm = 256
    isa.td.addi td = t28, src = t28, imm = 256
    isa.load dst = t28, src = t12 signal(s0 += 4)
    isa.td.addi td = t14, src = t10, imm = 0
    isa.td.addi td = t26, src = t20, imm = 0
    isa.td.addi td = t27, src = t19, imm = 0
    isa.loop rd = r4, count = 4 {
      isa.mma acc = t26, a = t14, b = t13, m_dims = [0], n_dims = [1], accumulate = no, ra = r0 wait(s0 >= 1, s2 >= 1) signal(s1 += 1)
      isa.store dst = t27, src = t26 wait(s1 >= 1) signal(s2 += 1)
      isa.td.addi td = t26, src = t26, imm = 131072
      isa.td.addi td = t14, src = t14, imm = 524288
      isa.td.addi td = t27, src = t27, imm = 1048576
    }
    isa.td.addi td = t13, src = t13, imm = 256
    isa.td.addi td = t19, src = t19, imm = 512
  }

  // Columns 896 to 1023: three tiles, and the last one in halves.
  isa.td.addi td = t26, src = t20, imm = 0
  isa.td.addi td = t27, src = t19, imm = 0
  isa.loop rd = r4, count = 3 {
    isa.mma acc = t26, a = t10, b = t13, m_dims = [0], n_dims = [1], accumulate = no, ra = r0 wait(s0 >= 1, s2 >= 1) signal(s1 += 1)
    isa.store dst = t27, src = t26 wait(s1 >= 1) signal(s2 += 1)
    isa.td.addi td = t26, src = t26, imm = 131072
    isa.td.addi td = t10, src = t10, imm = 524288
    isa.td.addi td = t27, src = t27, imm = 1048576
  }
  isa.td.load td = t10, index = 20
  isa.td.load td = t24, index = 25
  isa.td.addi td = t24, src = t24, imm = 393216
  isa.td.load td = t27, index = 28
  isa.td.add td = t27, src = t27, ra = r2
  isa.td.addi td = t27, src = t27, imm = 3149312
  isa.mma acc = t24, a = t10, b = t13, m_dims = [0], n_dims = [1], accumulate = no, ra = r0 wait(s0 >= 1, s2 >= 1) signal(s1 += 1)
  isa.store dst = t27, src = t24 wait(s1 >= 1)
  isa.td.addi td = t10, src = t10, imm = 262144
  isa.td.addi td = t24, src = t24, imm = 65536
  isa.td.addi td = t27, src = t27, imm = 524288
  isa.mma acc = t24, a = t10, b = t13, m_dims = [0], n_dims = [1], accumulate = no, ra = r0 signal(s1 += 1)
  isa.store dst = t27, src = t24 wait(s1 >= 1)
  // What the last three whole tiles' stores gave.
  isa.wait queue = mx wait(s2 >= 3)
  isa.halt
}

device.program @main
    inputs [#device.tensor<"a" : "bf16", [1024, 1024]>, #device.tensor<"b" : "bf16", [1024, 1024]>]
    outputs [#device.tensor<"c" : "f32", [1024, 1024]>] {
^bb0(%a: !device.buffer<2097152>, %b: !device.buffer<2097152>, %c: !device.buffer<4194304>):
  device.dispatch @gemm_bf16(%a, %b, %c) cores = [1, 1] nodes = ["gemm"]
      : !device.buffer<2097152>, !device.buffer<2097152>, !device.buffer<4194304>
  device.return
}
