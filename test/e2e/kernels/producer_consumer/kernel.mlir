// Two cores, one after the other: core 0 squares tiles of x, core 1 takes square roots
// of what it gets plus one, and stores them. Tiles go through a ring of two places in
// device memory:
//
// - core 0's store of a tile is acknowledged, then `signal.core` passes its store queue:
//   s4 of core 1, which its load of the tile waits for;
// - core 1's load has read a place, then `signal.core` passes its load queue: s3 of core
//   0, which the store of the next tile to this place waits for.
//
// Within a core, two places each: s0 x or a tile is there (ld to vx), s1 its place is
// free (vx to ld), s2 a result is there (vx to st), s5 its place is free (st to vx).

isa.map_program @square inputs 1 outputs [r0] {
  mulf r0, r0, r0
}
isa.map_program @root inputs 1 outputs [r0] {
  const r1, 0x3f800000
  addf r0, r0, r1
  sqrt r0, r0
}

isa.kernel @producer_consumer args 3 {
  isa.descriptor global f32 [1024] strides [1] base 0    // 0
  isa.descriptor spm f32 [1024] strides [1] base 0       // 1: what is loaded
  isa.descriptor spm f32 [1024] strides [1] base 4096    // 2
  isa.descriptor spm f32 [1024] strides [1] base 8192    // 3: results
  isa.descriptor spm f32 [1024] strides [1] base 12288   // 4

  isa.ldarg rd = r0, index = 0
  isa.ldarg rd = r1, index = 1
  isa.ldarg rd = r2, index = 2
  isa.td.load td = t0, index = 0
  isa.td.load td = t1, index = 1
  isa.td.load td = t2, index = 2
  isa.td.load td = t3, index = 3
  isa.td.load td = t4, index = 4
  isa.signal queue = seq signal(s1 += 2, s5 += 2)
  isa.coreid rd = r5
  isa.td.add td = t6, src = t0, ra = r1
  isa.td.addi td = t7, src = t6, imm = 4096
  isa.bne ra = r5, rb = r31, offset = 19

  // Core 0. The ring's places are free at first.
  isa.signal queue = seq signal(s3 += 2)
  isa.li rd = r6, imm = 1
  isa.td.add td = t5, src = t0, ra = r0
  isa.loop rd = r4, count = 4 {
    isa.load dst = t1, src = t5 wait(s1 >= 1) signal(s0 += 1)
    isa.td.addi td = t5, src = t5, imm = 4096
    isa.map program = 0, out0 = t3, out1 = t3, in0 = t1, in1 = t1, in2 = t1, in3 = t1, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0 wait(s0 >= 1, s5 >= 1) signal(s1 += 1, s2 += 1)
    isa.store dst = t6, src = t3 wait(s2 >= 1, s3 >= 1) signal(s5 += 1)
    isa.signal.core queue = st, core = r6, sem = 4, count = 1
    isa.load dst = t2, src = t5 wait(s1 >= 1) signal(s0 += 1)
    isa.td.addi td = t5, src = t5, imm = 4096
    isa.map program = 0, out0 = t4, out1 = t4, in0 = t2, in1 = t2, in2 = t2, in3 = t2, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0 wait(s0 >= 1, s5 >= 1) signal(s1 += 1, s2 += 1)
    isa.store dst = t7, src = t4 wait(s2 >= 1, s3 >= 1) signal(s5 += 1)
    isa.signal.core queue = st, core = r6, sem = 4, count = 1
  }
  isa.wait queue = ld wait(s1 >= 2)
  isa.wait queue = vx wait(s5 >= 2)
  isa.wait queue = st wait(s3 >= 2)
  isa.jump offset = 16

  // Core 1.
  isa.li rd = r6, imm = 0
  isa.td.add td = t5, src = t0, ra = r2
  isa.loop rd = r4, count = 4 {
    isa.load dst = t1, src = t6 wait(s1 >= 1, s4 >= 1) signal(s0 += 1)
    isa.signal.core queue = ld, core = r6, sem = 3, count = 1
    isa.map program = 1, out0 = t3, out1 = t3, in0 = t1, in1 = t1, in2 = t1, in3 = t1, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0 wait(s0 >= 1, s5 >= 1) signal(s1 += 1, s2 += 1)
    isa.store dst = t5, src = t3 wait(s2 >= 1) signal(s5 += 1)
    isa.td.addi td = t5, src = t5, imm = 4096
    isa.load dst = t2, src = t7 wait(s1 >= 1, s4 >= 1) signal(s0 += 1)
    isa.signal.core queue = ld, core = r6, sem = 3, count = 1
    isa.map program = 1, out0 = t4, out1 = t4, in0 = t2, in1 = t2, in2 = t2, in3 = t2, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0 wait(s0 >= 1, s5 >= 1) signal(s1 += 1, s2 += 1)
    isa.store dst = t5, src = t4 wait(s2 >= 1) signal(s5 += 1)
    isa.td.addi td = t5, src = t5, imm = 4096
  }
  isa.wait queue = ld wait(s1 >= 2)
  isa.wait queue = vx wait(s5 >= 2)
  isa.halt
}

device.program @main
    inputs [#device.tensor<"x" : "f32", [8, 1024]>]
    outputs [#device.tensor<"y" : "f32", [8, 1024]>] arena 8192 {
^bb0(%x: !device.buffer<32768>, %y: !device.buffer<32768>):
  %ring = device.alloc at 0 : !device.buffer<8192>
  device.dispatch @producer_consumer(%x, %ring, %y) cores = [2, 1] nodes = ["square", "root"]
      : !device.buffer<32768>, !device.buffer<8192>, !device.buffer<32768>
  device.return
}
