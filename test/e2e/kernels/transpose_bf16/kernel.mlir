// Transposes 256 x 384 bf16 in tiles of 64 x 64. The tile's rows in the SPM are its
// columns in memory. With `transpose` a burst is 32 elements of a row in memory, which
// go to 32 rows in the SPM; 80 elements (160 bytes, 5 words) from one to the next they
// fall into 32 different banks, so a burst takes one slot. Without it every element
// would be a burst.
//
// Two places: s0 a tile is there (ld to st), s1 its place is free (st to ld).

isa.kernel @transpose args 2 {
  isa.descriptor global bf16 [64, 64] strides [1, 384] base 0   // 0: [column, row]
  isa.descriptor spm bf16 [64, 64] strides [80, 1] base 0       // 1
  isa.descriptor spm bf16 [64, 64] strides [80, 1] base 10240   // 2
  isa.descriptor global bf16 [64, 64] strides [256, 1] base 0   // 3

  isa.ldarg rd = r0, index = 0
  isa.ldarg rd = r1, index = 1
  isa.td.load td = t0, index = 0
  isa.td.load td = t1, index = 1
  isa.td.load td = t2, index = 2
  isa.td.load td = t3, index = 3
  isa.td.add td = t0, src = t0, ra = r0
  isa.td.add td = t3, src = t3, ra = r1
  isa.signal queue = seq signal(s1 += 2)
  isa.loop rd = r4, count = 4 {
    // 64 rows of memory are 49,152 bytes; in the result they are 128 bytes along a row.
    isa.muli rd = r6, ra = r4, imm = 49152
    isa.muli rd = r7, ra = r4, imm = 128
    isa.td.add td = t4, src = t0, ra = r6
    isa.td.add td = t5, src = t3, ra = r7
    isa.loop rd = r5, count = 3 {
      isa.load dst = t1, src = t4, transpose wait(s1 >= 1) signal(s0 += 1)
      isa.store dst = t5, src = t1 wait(s0 >= 1) signal(s1 += 1)
      isa.td.addi td = t4, src = t4, imm = 128
      isa.td.addi td = t5, src = t5, imm = 32768
      isa.load dst = t2, src = t4, transpose wait(s1 >= 1) signal(s0 += 1)
      isa.store dst = t5, src = t2 wait(s0 >= 1) signal(s1 += 1)
      isa.td.addi td = t4, src = t4, imm = 128
      isa.td.addi td = t5, src = t5, imm = 32768
    }
  }
  isa.wait queue = ld wait(s1 >= 2)
  isa.halt
}

device.program @main
    inputs [#device.tensor<"x" : "bf16", [256, 384]>]
    outputs [#device.tensor<"y" : "bf16", [384, 256]>] {
^bb0(%x: !device.buffer<196608>, %y: !device.buffer<196608>):
  device.dispatch @transpose(%x, %y) cores = [1, 1] nodes = ["transpose"]
      : !device.buffer<196608>, !device.buffer<196608>
  device.return
}
