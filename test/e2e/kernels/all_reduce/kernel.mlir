// The sum of sixteen vectors, one on each core of `server`, left on every core. Nothing
// goes through memory but the vectors and the results: cores store into one another's
// scratchpads. Core i
//
// 1. loads its vector of 4,096 and stores part j of it (256 elements) into row i of core
//    j's block, for every j from i on, around; `signal.core` behind each store in its
//    queue says so (s2);
// 2. adds up the sixteen rows of its own block once all are there;
// 3. stores the 256 sums into part i of every core's result (s3), and
// 4. stores its result to memory once all sixteen parts are there.
//
// Within a core: s0 the vector is there (ld to st), s1 the sums are there (vx to st).

isa.map_program @same inputs 1 outputs [r0] {
  const r1, 0x80000000
  addf r0, r0, r1
}

isa.kernel @all_reduce args 2 {
  isa.descriptor global f32 [4096] strides [1] base 0                // 0
  isa.descriptor spm f32 [4096] strides [1] base 0                   // 1: the vector
  isa.descriptor spm f32 [256] strides [1] base 0                    // 2: a part of it
  isa.descriptor core f32 [256] strides [1] base 16384               // 3: a row there
  isa.descriptor spm f32 [16, 256] strides [256, 1] base 16384       // 4: this core's block
  isa.descriptor spm f32 [1, 256] strides [256, 1] base 32768        // 5: its sums
  isa.descriptor spm f32 [256] strides [1] base 32768                // 6
  isa.descriptor core f32 [256] strides [1] base 36864               // 7: a part there
  isa.descriptor spm f32 [4096] strides [1] base 36864               // 8: the result

  isa.ldarg rd = r0, index = 0
  isa.ldarg rd = r1, index = 1
  isa.coreid rd = r2
  isa.muli rd = r3, ra = r2, imm = 16384
  isa.muli rd = r4, ra = r2, imm = 1024
  isa.td.load td = t0, index = 0
  isa.td.load td = t1, index = 1
  isa.td.load td = t2, index = 2
  isa.td.load td = t3, index = 3
  isa.td.load td = t4, index = 4
  isa.td.load td = t5, index = 5
  isa.td.load td = t6, index = 6
  isa.td.load td = t7, index = 7
  isa.td.load td = t8, index = 8
  isa.td.add td = t0, src = t0, ra = r3
  isa.td.add td = t9, src = t0, ra = r0
  isa.td.add td = t10, src = t0, ra = r1
  isa.td.add td = t3, src = t3, ra = r4
  isa.td.add td = t7, src = t7, ra = r4

  // 1
  isa.load dst = t1, src = t9 signal(s0 += 1)
  isa.wait queue = st wait(s0 >= 1)
  isa.loop rd = r5, count = 16 {
    isa.add rd = r6, ra = r5, rb = r2
    isa.andi rd = r6, ra = r6, imm = 15
    isa.muli rd = r7, ra = r6, imm = 1024
    isa.muli rd = r8, ra = r6, imm = 4294967296
    isa.td.add td = t11, src = t2, ra = r7
    isa.td.add td = t12, src = t3, ra = r8
    isa.store dst = t12, src = t11
    isa.signal.core queue = st, core = r6, sem = 2, count = 1
  }

  // 2
  isa.map program = 0, out0 = t5, out1 = t5, in0 = t4, in1 = t4, in2 = t4, in3 = t4, reduce = sum, reduce_dims = [0], accumulate = no, ra = r0, rb = r0 wait(s2 >= 16) signal(s1 += 1)

  // 3
  isa.wait queue = st wait(s1 >= 1)
  isa.loop rd = r5, count = 16 {
    isa.add rd = r6, ra = r5, rb = r2
    isa.andi rd = r6, ra = r6, imm = 15
    isa.muli rd = r8, ra = r6, imm = 4294967296
    isa.td.add td = t12, src = t7, ra = r8
    isa.store dst = t12, src = t6
    isa.signal.core queue = st, core = r6, sem = 3, count = 1
  }

  // 4
  isa.store dst = t10, src = t8 wait(s3 >= 16)
  isa.halt
}

device.program @main
    inputs [#device.tensor<"x" : "f32", [16, 4096]>]
    outputs [#device.tensor<"y" : "f32", [16, 4096]>] {
^bb0(%x: !device.buffer<262144>, %y: !device.buffer<262144>):
  device.dispatch @all_reduce(%x, %y) cores = [4, 4] nodes = ["all_reduce"]
      : !device.buffer<262144>, !device.buffer<262144>
  device.return
}
