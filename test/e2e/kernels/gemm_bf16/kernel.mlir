// c[1024, 1024] = a[1024, 1024] · b[1024, 1024], bf16 with sums in f32, on one core.
//
// a and b stay in the scratchpad once they are there (2 MiB each). c is made of
// 32 tiles of 256 × 128; four of them have a place in the accumulators, and each is
// stored as soon as it is complete. Tiles are numbered along the rows of the left half of
// c, four in a row, then along those of the right half.
//
// The matrix engine must not wait for whole operands at the beginning, nor for a
// whole tile's store at the end:
// - the first four tiles grow together along K, in four steps of 128 and two of 256: a
//   step of 128 needs 192 KiB of operands, 768 cycles of the load engine, and keeps the
//   matrix engine busy for 1024;
// - the very first weights are loaded before any of `a` is there: one row times these
//   weights, into a place that is overwritten, is an `mma` that needs b alone;
// - the fifth tile begins with half of its rows of a;
// - the last tile is computed and stored in two halves.
// Loads go before stores at the core's port to the network, and bursts that are issued
// later may come before earlier ones when the port is full. So what is not needed soon
// waits until a tile has been stored.
//
// s0: operands are there (ld to mx). s1: a tile is complete (mx to st).
// s2: a tile's place in the accumulators is free again (st to mx). s3: a tile is stored
// (st to ld).

isa.kernel @gemm_bf16 args 3 {
  // Steps of K = 128: columns of b, rows of a.
  isa.descriptor global bf16 [128, 128] strides [1024, 1] base 0     // 0
  isa.descriptor spm bf16 [128, 128] strides [1024, 1] base 2097152  // 1: b
  isa.descriptor global bf16 [128, 256] strides [1024, 1] base 0     // 2
  isa.descriptor spm bf16 [128, 256] strides [1024, 1] base 2097152  // 3: b
  isa.descriptor global bf16 [256, 128] strides [1024, 1] base 0     // 4
  isa.descriptor spm bf16 [256, 128] strides [1024, 1] base 0        // 5: a
  isa.descriptor spm bf16 [1, 128] strides [1024, 1] base 2097152    // 6: a row of b
  // Steps of K = 256, from row 512 of b and column 512 of a.
  isa.descriptor global bf16 [256, 256] strides [1024, 1] base 0     // 7
  isa.descriptor spm bf16 [256, 256] strides [1024, 1] base 1024     // 8: a
  isa.descriptor spm bf16 [256, 256] strides [1024, 1] base 3145728  // 9: b
  isa.descriptor spm bf16 [256, 128] strides [1024, 1] base 3145728  // 10: b
  // Half of K, and whole K.
  isa.descriptor global bf16 [256, 512] strides [1024, 1] base 0     // 11
  isa.descriptor spm bf16 [256, 512] strides [1024, 1] base 524288   // 12: a, row 256
  isa.descriptor spm bf16 [512, 128] strides [1024, 1] base 2097152  // 13: b
  isa.descriptor global bf16 [128, 1024] strides [1024, 1] base 0    // 14
  isa.descriptor spm bf16 [128, 1024] strides [1024, 1] base 1048576 // 15: a, row 512
  isa.descriptor spm bf16 [256, 1024] strides [1024, 1] base 0       // 16: a
  isa.descriptor spm bf16 [1024, 128] strides [1024, 1] base 2097152 // 17: b
  isa.descriptor spm bf16 [256, 512] strides [1024, 1] base 2098176  // 18: b, column 512
  // Places in the accumulators, and tiles of c.
  isa.descriptor acc f32 [256, 128] strides [128, 1] base 0          // 19
  isa.descriptor acc f32 [128, 128] strides [128, 1] base 393216     // 20
  isa.descriptor acc f32 [1, 128] strides [128, 1] base 0            // 21
  isa.descriptor global f32 [256, 128] strides [1024, 1] base 0      // 22
  isa.descriptor global f32 [128, 128] strides [1024, 1] base 0      // 23

  // Step 0. b in pieces, the first ones small.
  isa.ldarg rd = r1, index = 1
  isa.td.load td = t0, index = 0
  isa.td.add td = t1, src = t0, ra = r1
  isa.td.load td = t2, index = 1
  isa.load dst = t2, src = t1 signal(s0 += 1)
  isa.ldarg rd = r0, index = 0
  isa.td.load td = t12, index = 4
  isa.td.add td = t12, src = t12, ra = r0
  isa.td.load td = t13, index = 5
  isa.load dst = t13, src = t12 signal(s0 += 1)
  isa.td.addi td = t3, src = t1, imm = 256
  isa.td.addi td = t4, src = t2, imm = 256
  isa.load dst = t4, src = t3 signal(s0 += 1)
  isa.td.load td = t14, index = 2
  isa.td.add td = t14, src = t14, ra = r1
  isa.td.load td = t15, index = 3
  isa.td.addi td = t16, src = t14, imm = 512
  isa.td.addi td = t17, src = t15, imm = 512
  isa.load dst = t17, src = t16 signal(s0 += 1)

  // Loads are pushed a step ahead of the products: a full queue of products must not
  // hold them up. t12 and t13: a's step in memory and in the scratchpad; t14 and t15:
  // b's first 256 columns; t16 and t17: the next 256.
  isa.td.addi td = t12, src = t12, imm = 256
  isa.td.addi td = t10, src = t13, imm = 0
  isa.td.addi td = t13, src = t13, imm = 256
  isa.load dst = t13, src = t12 signal(s0 += 1)
  isa.td.addi td = t14, src = t14, imm = 262144
  isa.td.addi td = t15, src = t15, imm = 262144
  isa.load dst = t15, src = t14 signal(s0 += 1)
  isa.td.addi td = t16, src = t16, imm = 262144
  isa.td.addi td = t17, src = t17, imm = 262144
  isa.load dst = t17, src = t16 signal(s0 += 1)

  // Step 0's products.
  isa.td.load td = t20, index = 19
  isa.td.addi td = t21, src = t20, imm = 131072
  isa.td.addi td = t22, src = t20, imm = 262144
  isa.td.addi td = t23, src = t20, imm = 393216
  isa.td.load td = t25, index = 21
  isa.td.load td = t11, index = 6
  isa.mma acc = t25, a = t11, b = t2, m_dims = [0], n_dims = [1], accumulate = no, ra = r0 wait(s0 >= 1)
  isa.mma acc = t20, a = t10, b = t2, m_dims = [0], n_dims = [1], accumulate = no, ra = r0, keep_b wait(s0 >= 1)
  isa.td.addi td = t5, src = t4, imm = 256
  isa.td.addi td = t6, src = t4, imm = 512
  isa.mma acc = t21, a = t10, b = t4, m_dims = [0], n_dims = [1], accumulate = no, ra = r0 wait(s0 >= 1)
  isa.mma acc = t22, a = t10, b = t5, m_dims = [0], n_dims = [1], accumulate = no, ra = r0 wait(s0 >= 1)
  isa.mma acc = t23, a = t10, b = t6, m_dims = [0], n_dims = [1], accumulate = no, ra = r0

  // Steps 1 and 2, and the loads of steps 2 and 3.
  isa.loop rd = r3, count = 2 {
    isa.td.addi td = t12, src = t12, imm = 256
    isa.td.addi td = t13, src = t13, imm = 256
    isa.load dst = t13, src = t12 signal(s0 += 1)
    isa.td.addi td = t14, src = t14, imm = 262144
    isa.td.addi td = t15, src = t15, imm = 262144
    isa.load dst = t15, src = t14 signal(s0 += 1)
    isa.td.addi td = t16, src = t16, imm = 262144
    isa.td.addi td = t17, src = t17, imm = 262144
    isa.load dst = t17, src = t16 signal(s0 += 1)
    isa.td.addi td = t10, src = t10, imm = 256
    isa.td.addi td = t2, src = t2, imm = 262144
    isa.td.addi td = t4, src = t4, imm = 262144
    isa.td.addi td = t5, src = t5, imm = 262144
    isa.td.addi td = t6, src = t6, imm = 262144
    isa.mma acc = t20, a = t10, b = t2, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0 wait(s0 >= 2)
    isa.mma acc = t21, a = t10, b = t4, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0
    isa.mma acc = t22, a = t10, b = t5, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0 wait(s0 >= 1)
    isa.mma acc = t23, a = t10, b = t6, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0
  }

  // The loads of step 4, and step 3.
  isa.td.load td = t7, index = 7
  isa.td.add td = t12, src = t7, ra = r0
  isa.td.addi td = t12, src = t12, imm = 1024
  isa.td.load td = t13, index = 8
  isa.load dst = t13, src = t12 signal(s0 += 1)
  isa.td.add td = t14, src = t7, ra = r1
  isa.td.addi td = t14, src = t14, imm = 1048576
  isa.td.load td = t15, index = 9
  isa.load dst = t15, src = t14 signal(s0 += 1)
  isa.td.addi td = t16, src = t14, imm = 512
  isa.td.addi td = t17, src = t15, imm = 512
  isa.load dst = t17, src = t16 signal(s0 += 1)
  isa.td.addi td = t10, src = t10, imm = 256
  isa.td.addi td = t2, src = t2, imm = 262144
  isa.td.addi td = t4, src = t4, imm = 262144
  isa.td.addi td = t5, src = t5, imm = 262144
  isa.td.addi td = t6, src = t6, imm = 262144
  isa.mma acc = t20, a = t10, b = t2, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0 wait(s0 >= 2)
  isa.mma acc = t21, a = t10, b = t4, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0
  isa.mma acc = t22, a = t10, b = t5, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0 wait(s0 >= 1)
  isa.mma acc = t23, a = t10, b = t6, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0

  // The loads of step 5, and step 4.
  isa.td.addi td = t10, src = t13, imm = 0
  isa.td.addi td = t12, src = t12, imm = 512
  isa.td.addi td = t13, src = t13, imm = 512
  isa.load dst = t13, src = t12 signal(s0 += 1)
  isa.td.addi td = t14, src = t14, imm = 524288
  isa.td.addi td = t15, src = t15, imm = 524288
  isa.load dst = t15, src = t14 signal(s0 += 1)
  isa.td.addi td = t16, src = t16, imm = 524288
  isa.td.addi td = t17, src = t17, imm = 524288
  isa.load dst = t17, src = t16 signal(s0 += 1)
  isa.td.load td = t2, index = 10
  isa.td.addi td = t4, src = t2, imm = 256
  isa.td.addi td = t5, src = t2, imm = 512
  isa.td.addi td = t6, src = t2, imm = 768
  isa.mma acc = t20, a = t10, b = t2, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0 wait(s0 >= 2)
  isa.mma acc = t21, a = t10, b = t4, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0
  isa.mma acc = t22, a = t10, b = t5, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0 wait(s0 >= 1)
  isa.mma acc = t23, a = t10, b = t6, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0

  // Rows 256 to 511 of a: its first half; the second one when the first tile is stored.
  isa.td.load td = t12, index = 11
  isa.td.add td = t12, src = t12, ra = r0
  isa.td.addi td = t12, src = t12, imm = 524288
  isa.td.load td = t18, index = 12
  isa.load dst = t18, src = t12 signal(s0 += 1)
  isa.td.addi td = t12, src = t12, imm = 1024
  isa.td.addi td = t19, src = t18, imm = 1024
  isa.load dst = t19, src = t12 wait(s3 >= 1) signal(s0 += 1)

  // Step 5: the first four tiles are complete one after the other.
  isa.ldarg rd = r2, index = 2
  isa.td.load td = t27, index = 22
  isa.td.add td = t27, src = t27, ra = r2
  isa.td.addi td = t2, src = t2, imm = 524288
  isa.td.addi td = t4, src = t4, imm = 524288
  isa.td.addi td = t5, src = t5, imm = 524288
  isa.td.addi td = t6, src = t6, imm = 524288
  isa.mma acc = t20, a = t13, b = t2, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0 wait(s0 >= 2) signal(s1 += 1)
  isa.store dst = t27, src = t20 wait(s1 >= 1) signal(s2 += 1, s3 += 1)
  isa.mma acc = t21, a = t13, b = t4, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0 signal(s1 += 1)
  isa.td.addi td = t28, src = t27, imm = 512
  isa.store dst = t28, src = t21 wait(s1 >= 1) signal(s2 += 1)
  isa.mma acc = t22, a = t13, b = t5, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0 wait(s0 >= 1) signal(s1 += 1)
  isa.td.addi td = t28, src = t27, imm = 1024
  isa.store dst = t28, src = t22 wait(s1 >= 1) signal(s2 += 1)
  isa.mma acc = t23, a = t13, b = t6, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0 signal(s1 += 1)
  isa.td.addi td = t28, src = t27, imm = 1536
  isa.store dst = t28, src = t23 wait(s1 >= 1) signal(s2 += 1)

  // Rows 512 to 1023 of a, 128 at a time, each when one more tile is stored.
  isa.td.load td = t12, index = 14
  isa.td.add td = t12, src = t12, ra = r0
  isa.td.addi td = t12, src = t12, imm = 1048576
  isa.td.load td = t13, index = 15
  // A load that waits for a store is pushed after that of the tile before it: then queues
  // of one entry suffice.
  isa.load dst = t13, src = t12 wait(s3 >= 1) signal(s0 += 1)

  // Tiles 4 to 7.
  isa.td.load td = t10, index = 16
  isa.td.load td = t11, index = 17
  isa.td.load td = t7, index = 13
  isa.td.addi td = t8, src = t7, imm = 1048576
  isa.mma acc = t20, a = t18, b = t7, m_dims = [0], n_dims = [1], accumulate = no, ra = r0 wait(s0 >= 1, s2 >= 1)
  isa.mma acc = t20, a = t19, b = t8, m_dims = [0], n_dims = [1], accumulate = yes, ra = r0 wait(s0 >= 1) signal(s1 += 1)
  isa.td.addi td = t27, src = t27, imm = 1048576
  isa.store dst = t27, src = t20 wait(s1 >= 1) signal(s2 += 1, s3 += 1)
  isa.td.addi td = t26, src = t21, imm = 0
  isa.td.addi td = t2, src = t10, imm = 524288
  isa.td.addi td = t14, src = t11, imm = 256
  isa.td.addi td = t28, src = t27, imm = 512
  isa.loop rd = r4, count = 3 {
    isa.td.addi td = t12, src = t12, imm = 262144
    isa.td.addi td = t13, src = t13, imm = 262144
    isa.load dst = t13, src = t12 wait(s3 >= 1) signal(s0 += 1)
    isa.mma acc = t26, a = t2, b = t14, m_dims = [0], n_dims = [1], accumulate = no, ra = r0 wait(s2 >= 1) signal(s1 += 1)
    isa.store dst = t28, src = t26 wait(s1 >= 1) signal(s2 += 1, s3 += 1)
    isa.td.addi td = t26, src = t26, imm = 131072
    isa.td.addi td = t14, src = t14, imm = 256
    isa.td.addi td = t28, src = t28, imm = 512
  }

  // The right half of b, 256 rows at a time, with tiles 8 to 11.
  isa.td.load td = t12, index = 11
  isa.td.add td = t12, src = t12, ra = r1
  isa.td.addi td = t12, src = t12, imm = 1024
  isa.td.load td = t15, index = 18
  isa.td.addi td = t27, src = t27, imm = 1048576
  isa.td.addi td = t13, src = t2, imm = 524288
  isa.td.addi td = t26, src = t20, imm = 0
  isa.td.addi td = t14, src = t11, imm = 0
  isa.td.addi td = t28, src = t27, imm = 0
  isa.wait queue = mx wait(s0 >= 2)
  isa.loop rd = r4, count = 4 {
    isa.load dst = t15, src = t12 wait(s3 >= 1) signal(s0 += 1)
    isa.td.addi td = t12, src = t12, imm = 524288
    isa.td.addi td = t15, src = t15, imm = 524288
    isa.mma acc = t26, a = t13, b = t14, m_dims = [0], n_dims = [1], accumulate = no, ra = r0 wait(s2 >= 1) signal(s1 += 1)
    isa.store dst = t28, src = t26 wait(s1 >= 1) signal(s2 += 1, s3 += 1)
    isa.td.addi td = t26, src = t26, imm = 131072
    isa.td.addi td = t14, src = t14, imm = 256
    isa.td.addi td = t28, src = t28, imm = 512
  }

  // Tiles 12 to 15.
  isa.td.addi td = t27, src = t27, imm = 1048576
  isa.td.addi td = t13, src = t13, imm = 524288
  isa.td.addi td = t26, src = t20, imm = 0
  isa.td.addi td = t14, src = t11, imm = 0
  isa.td.addi td = t28, src = t27, imm = 0
  isa.wait queue = mx wait(s0 >= 2)
  isa.loop rd = r4, count = 4 {
    isa.mma acc = t26, a = t13, b = t14, m_dims = [0], n_dims = [1], accumulate = no, ra = r0 wait(s2 >= 1) signal(s1 += 1)
    isa.store dst = t28, src = t26 wait(s1 >= 1) signal(s2 += 1)
    isa.td.addi td = t26, src = t26, imm = 131072
    isa.td.addi td = t14, src = t14, imm = 256
    isa.td.addi td = t28, src = t28, imm = 512
  }

  // The right half of c: tiles 16 to 27.
  isa.td.load td = t27, index = 22
  isa.td.add td = t27, src = t27, ra = r2
  isa.td.addi td = t27, src = t27, imm = 2048
  isa.td.addi td = t11, src = t11, imm = 1024
  isa.wait queue = mx wait(s0 >= 4)
  isa.loop rd = r3, count = 3 {
    isa.td.addi td = t26, src = t20, imm = 0
    isa.td.addi td = t14, src = t11, imm = 0
    isa.td.addi td = t28, src = t27, imm = 0
    isa.loop rd = r4, count = 4 {
      isa.mma acc = t26, a = t10, b = t14, m_dims = [0], n_dims = [1], accumulate = no, ra = r0 wait(s2 >= 1) signal(s1 += 1)
      isa.store dst = t28, src = t26 wait(s1 >= 1) signal(s2 += 1)
      isa.td.addi td = t26, src = t26, imm = 131072
      isa.td.addi td = t14, src = t14, imm = 256
      isa.td.addi td = t28, src = t28, imm = 512
    }
    isa.td.addi td = t10, src = t10, imm = 524288
    isa.td.addi td = t27, src = t27, imm = 1048576
  }

  // Tiles 28 to 30, and the last one in halves.
  isa.td.addi td = t26, src = t20, imm = 0
  isa.loop rd = r4, count = 3 {
    isa.mma acc = t26, a = t10, b = t11, m_dims = [0], n_dims = [1], accumulate = no, ra = r0 wait(s2 >= 1) signal(s1 += 1)
    isa.store dst = t27, src = t26 wait(s1 >= 1) signal(s2 += 1)
    isa.td.addi td = t26, src = t26, imm = 131072
    isa.td.addi td = t11, src = t11, imm = 256
    isa.td.addi td = t27, src = t27, imm = 512
  }
  isa.td.load td = t13, index = 15
  isa.td.addi td = t13, src = t13, imm = 524288
  isa.td.load td = t24, index = 20
  isa.td.load td = t27, index = 23
  isa.td.add td = t27, src = t27, ra = r2
  isa.td.addi td = t27, src = t27, imm = 3149312
  isa.mma acc = t24, a = t13, b = t11, m_dims = [0], n_dims = [1], accumulate = no, ra = r0 wait(s2 >= 1) signal(s1 += 1)
  isa.store dst = t27, src = t24 wait(s1 >= 1)
  isa.td.addi td = t13, src = t13, imm = 262144
  isa.td.addi td = t24, src = t24, imm = 65536
  isa.td.addi td = t27, src = t27, imm = 524288
  isa.mma acc = t24, a = t13, b = t11, m_dims = [0], n_dims = [1], accumulate = no, ra = r0 signal(s1 += 1)
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
