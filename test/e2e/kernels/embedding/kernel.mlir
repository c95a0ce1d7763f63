// Rows of a table by number, as an embedding looks them up, and back into a table by
// the same numbers. 256 numbers in four parts of 64, in two places:
//
// - a part's numbers are loaded, and the gather behind them in the same queue waits for
//   them by itself; it widens bf16 to f32, and a number out of range reads zeros;
// - the rows are stored in order, and scattered: of equal numbers the last row stays, a
//   number out of range is left out.
//
// s0 rows are there (ld to st), s1 their place is free (st to ld), s2 zeros are there.

isa.kernel @embedding args 4 {
  isa.descriptor global i32 [64] strides [1] base 0               // 0: numbers
  isa.descriptor spm i32 [64] strides [1] base 0                  // 1
  isa.descriptor spm i32 [64] strides [1] base 256                // 2
  isa.descriptor global bf16 [512, 64] strides [64, 1] base 0     // 3: the table
  isa.descriptor spm f32 [64, 64] strides [64, 1] base 4096       // 4: rows
  isa.descriptor spm f32 [64, 64] strides [64, 1] base 20480      // 5
  isa.descriptor global f32 [64, 64] strides [64, 1] base 0       // 6: rows in order
  isa.descriptor global f32 [512, 64] strides [64, 1] base 0      // 7: rows by number
  isa.descriptor spm f32 [512, 64] strides [64, 1] base 65536     // 8: zeros

  isa.ldarg rd = r0, index = 0
  isa.ldarg rd = r1, index = 1
  isa.ldarg rd = r2, index = 2
  isa.ldarg rd = r3, index = 3
  isa.td.load td = t0, index = 0
  isa.td.load td = t1, index = 1
  isa.td.load td = t2, index = 2
  isa.td.load td = t3, index = 3
  isa.td.load td = t4, index = 4
  isa.td.load td = t5, index = 5
  isa.td.load td = t6, index = 6
  isa.td.load td = t7, index = 7
  isa.td.load td = t8, index = 8
  isa.td.add td = t0, src = t0, ra = r0
  isa.td.add td = t3, src = t3, ra = r1
  isa.td.add td = t6, src = t6, ra = r2
  isa.td.add td = t7, src = t7, ra = r3
  isa.fill dst = t8, value = 0 signal(s2 += 1)
  isa.store dst = t7, src = t8 wait(s2 >= 1)
  isa.signal queue = seq signal(s1 += 2)
  isa.loop rd = r4, count = 2 {
    isa.load dst = t1, src = t0 wait(s1 >= 1)
    isa.load.gather dst = t4, src = t3, index = t1, pad, convert signal(s0 += 1)
    isa.store dst = t6, src = t4 wait(s0 >= 1)
    isa.store.scatter dst = t7, src = t4, index = t1, clip signal(s1 += 1)
    isa.td.addi td = t0, src = t0, imm = 256
    isa.td.addi td = t6, src = t6, imm = 16384
    isa.load dst = t2, src = t0 wait(s1 >= 1)
    isa.load.gather dst = t5, src = t3, index = t2, pad, convert signal(s0 += 1)
    isa.store dst = t6, src = t5 wait(s0 >= 1)
    isa.store.scatter dst = t7, src = t5, index = t2, clip signal(s1 += 1)
    isa.td.addi td = t0, src = t0, imm = 256
    isa.td.addi td = t6, src = t6, imm = 16384
  }
  isa.wait queue = ld wait(s1 >= 2)
  isa.halt
}

device.program @main
    inputs [#device.tensor<"ids" : "i32", [256]>,
            #device.tensor<"table" : "bf16", [512, 64]>]
    outputs [#device.tensor<"rows" : "f32", [256, 64]>,
             #device.tensor<"scattered" : "f32", [512, 64]>] {
^bb0(%ids: !device.buffer<1024>, %table: !device.buffer<65536>,
     %rows: !device.buffer<65536>, %scattered: !device.buffer<131072>):
  device.dispatch @embedding(%ids, %table, %rows, %scattered) cores = [1, 1] nodes = ["embedding"]
      : !device.buffer<1024>, !device.buffer<65536>, !device.buffer<65536>, !device.buffer<131072>
  device.return
}
