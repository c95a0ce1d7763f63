// RUN: tessera-opt %s | FileCheck %s --match-full-lines
// The generic form holds the same.
// RUN: tessera-opt %s -mlir-print-op-generic | tessera-opt | FileCheck %s --match-full-lines

// Every instruction of the table prints as it is written.

// CHECK:isa.map_program @clamp inputs 1 outputs [r2, r1] {
// CHECK-NEXT:  const r1, 0x3f800000
// CHECK-NEXT:  minf r2, r0, r1
// CHECK-NEXT:  fma r2, r2, r1, r0
// CHECK-NEXT:}
isa.map_program @clamp inputs 1 outputs [r2, r1] {
  const r1, 0x3f800000
  minf r2, r0, r1
  fma r2, r2, r1, r0
}
// CHECK:isa.map_program @copy inputs 4 outputs [r0] {
// CHECK-NEXT:}
isa.map_program @copy inputs 4 outputs [r0] {
}

// CHECK:isa.kernel @every_instruction args 2 {
isa.kernel @every_instruction args 2 {
  // CHECK-NEXT:  isa.descriptor spm bf16 [6, 3, 8] strides [8, 8, -1] base 64
  isa.descriptor spm bf16 [6, 3, 8] strides [8, 8, -1] base 64
  // CHECK-NEXT:  isa.descriptor global i4 [] strides [] base 281474976710655 padding 0x7
  isa.descriptor global i4 [] strides [] base 0xffffffffffff padding 7
  // CHECK-NEXT:  isa.mark id = 7
  isa.mark id = 7
  // CHECK-NEXT:  isa.li rd = r1, imm = -9223372036854775808
  isa.li rd = r1, imm = -9223372036854775808
  // CHECK-NEXT:  isa.li rd = r2, imm = 9223372036854775807
  isa.li rd = r2, imm = 9223372036854775807
  // CHECK-NEXT:  isa.add rd = r3, ra = r1, rb = r2
  isa.add rd = r3, ra = r1, rb = r2
  // CHECK-NEXT:  isa.sub rd = r3, ra = r1, rb = r2
  isa.sub rd = r3, ra = r1, rb = r2
  // CHECK-NEXT:  isa.mul rd = r3, ra = r1, rb = r2
  isa.mul rd = r3, ra = r1, rb = r2
  // CHECK-NEXT:  isa.and rd = r3, ra = r1, rb = r2
  isa.and rd = r3, ra = r1, rb = r2
  // CHECK-NEXT:  isa.or rd = r3, ra = r1, rb = r2
  isa.or rd = r3, ra = r1, rb = r2
  // CHECK-NEXT:  isa.xor rd = r3, ra = r1, rb = r2
  isa.xor rd = r3, ra = r1, rb = r2
  // CHECK-NEXT:  isa.shl rd = r3, ra = r1, rb = r2
  isa.shl rd = r3, ra = r1, rb = r2
  // CHECK-NEXT:  isa.shr rd = r3, ra = r1, rb = r2
  isa.shr rd = r3, ra = r1, rb = r2
  // CHECK-NEXT:  isa.slt rd = r3, ra = r1, rb = r2
  isa.slt rd = r3, ra = r1, rb = r2
  // CHECK-NEXT:  isa.min rd = r3, ra = r1, rb = r2
  isa.min rd = r3, ra = r1, rb = r2
  // CHECK-NEXT:  isa.max rd = r3, ra = r1, rb = r2
  isa.max rd = r3, ra = r1, rb = r2
  // CHECK-NEXT:  isa.divu rd = r3, ra = r1, rb = r2
  isa.divu rd = r3, ra = r1, rb = r2
  // CHECK-NEXT:  isa.remu rd = r3, ra = r1, rb = r2
  isa.remu rd = r3, ra = r1, rb = r2
  // CHECK-NEXT:  isa.addi rd = r31, ra = r30, imm = 5
  isa.addi rd = r31, ra = r30, imm = 5
  // CHECK-NEXT:  isa.muli rd = r31, ra = r30, imm = 5
  isa.muli rd = r31, ra = r30, imm = 5
  // CHECK-NEXT:  isa.andi rd = r31, ra = r30, imm = 5
  isa.andi rd = r31, ra = r30, imm = 5
  // CHECK-NEXT:  isa.xori rd = r31, ra = r30, imm = 5
  isa.xori rd = r31, ra = r30, imm = 5
  // CHECK-NEXT:  isa.jump offset = 1
  isa.jump offset = 1
  // CHECK-NEXT:  isa.beq ra = r1, rb = r2, offset = -1
  isa.beq ra = r1, rb = r2, offset = -1
  // CHECK-NEXT:  isa.bne ra = r1, rb = r2, offset = 1
  isa.bne ra = r1, rb = r2, offset = 1
  // CHECK-NEXT:  isa.blt ra = r1, rb = r2, offset = 1
  isa.blt ra = r1, rb = r2, offset = 1
  // CHECK-NEXT:  isa.bge ra = r1, rb = r2, offset = 1
  isa.bge ra = r1, rb = r2, offset = 1
  // CHECK-NEXT:  isa.ldarg rd = r4, index = 1
  isa.ldarg rd = r4, index = 1
  // CHECK-NEXT:  isa.lds rd = r5, ra = r4, imm = 16
  isa.lds rd = r5, ra = r4, imm = 16
  // CHECK-NEXT:  isa.coreid rd = r6
  isa.coreid rd = r6
  // CHECK-NEXT:  isa.numcores rd = r7
  isa.numcores rd = r7
  // CHECK-NEXT:  isa.td.load td = t0, index = 0
  isa.td.load td = t0, index = 0
  // CHECK-NEXT:  isa.td.add td = t1, src = t0, ra = r4
  isa.td.add td = t1, src = t0, ra = r4
  // CHECK-NEXT:  isa.td.addi td = t2, src = t1, imm = -64
  isa.td.addi td = t2, src = t1, imm = -64
  // CHECK-NEXT:  isa.wait queue = seq wait(s31 >= 1023)
  isa.wait queue = seq wait(s31 >= 1023)
  // CHECK-NEXT:  isa.signal queue = mx signal(s2 += 1, s3 += 2, s4 += 3)
  isa.signal queue = mx signal(s2 += 1, s3 += 2, s4 += 3)
  // CHECK-NEXT:  isa.wait queue = mx7 wait(s20 >= 1)
  isa.wait queue = mx7 wait(s20 >= 1)
  // CHECK-NEXT:  isa.fence
  isa.fence
  // CHECK-NEXT:  isa.signal.core queue = st, core = r3, sem = 31, count = 65535
  isa.signal.core queue = st, core = r3, sem = 31, count = 65535
  // CHECK-NEXT:  isa.barrier
  isa.barrier
  // CHECK-NEXT:  isa.load dst = t1, src = t0 wait(s0 >= 1, s1 >= 2, s5 >= 3) signal(s6 += 1)
  isa.load dst = t1, src = t0 wait(s0 >= 1, s1 >= 2, s5 >= 3) signal(s6 += 1)
  // CHECK-NEXT:  isa.store dst = t0, src = t1
  isa.store dst = t0, src = t1
  // CHECK-NEXT:  isa.store dst = t0, src = t1, posted signal(s0 += 1)
  isa.store dst = t0, src = t1, posted signal(s0 += 1)
  // CHECK-NEXT:  isa.fill dst = t1, value = 4294967295
  isa.fill dst = t1, value = 4294967295
  // CHECK-NEXT:  isa.mma acc = t2, a = t0, b = t1, m_dims = [0], n_dims = [1, 5], accumulate = reg, ra = r4 wait(s6 >= 1)
  isa.mma acc = t2, a = t0, b = t1, m_dims = [0], n_dims = [1, 5], accumulate = reg, ra = r4 wait(s6 >= 1)
  // CHECK-NEXT:  isa.mma acc = t2, a = t0, b = t1, m_dims = [], n_dims = [0], accumulate = no, ra = r0
  isa.mma acc = t2, a = t0, b = t1, m_dims = [], n_dims = [0], accumulate = no, ra = r0
  // CHECK-NEXT:  isa.mma acc = t2, a = t0, b = t1, m_dims = [], n_dims = [0], accumulate = no, ra = r0, keep_b
  isa.mma acc = t2, a = t0, b = t1, m_dims = [], n_dims = [0], accumulate = no, ra = r0, keep_b
  // CHECK-NEXT:  isa.mma acc = t2, a = t0, b = t1, m_dims = [], n_dims = [0], accumulate = no, ra = r0, keep_b, queue = mx7 wait(s20 >= 1)
  isa.mma acc = t2, a = t0, b = t1, m_dims = [], n_dims = [0], accumulate = no, ra = r0, keep_b, queue = mx7 wait(s20 >= 1)
  // The first engine needs no name.
  // CHECK-NEXT:  isa.mma acc = t2, a = t0, b = t1, m_dims = [], n_dims = [0], accumulate = no, ra = r0{{$}}
  isa.mma acc = t2, a = t0, b = t1, m_dims = [], n_dims = [0], accumulate = no, ra = r0, queue = mx
  // CHECK-NEXT:  isa.map program = 1, out0 = t2, out1 = t0, in0 = t1, in1 = t0, in2 = t0, in3 = t0, reduce = max, reduce_dims = [2], accumulate = yes, ra = r0, rb = r0
  isa.map program = 1, out0 = t2, out1 = t0, in0 = t1, in1 = t0, in2 = t0, in3 = t0, reduce = max, reduce_dims = [2], accumulate = yes, ra = r0, rb = r0
  // CHECK-NEXT:  isa.map program = 1, out0 = t2, out1 = t3, in0 = t1, in1 = t0, in2 = t0, in3 = t0, reduce = argmin, reduce_dims = [2], accumulate = no, ra = r0, rb = r5
  isa.map program = 1, out0 = t2, out1 = t3, in0 = t1, in1 = t0, in2 = t0, in3 = t0, reduce = argmin, reduce_dims = [2], accumulate = no, ra = r0, rb = r5
  // CHECK-NEXT:  isa.reduce kind = prod, dst = t1, indices = t0, src = t2, dims = [0, 5], accumulate = reg, ra = r4, rb = r0
  isa.reduce kind = prod, dst = t1, indices = t0, src = t2, dims = [0, 5], accumulate = reg, ra = r4, rb = r0
  // CHECK-NEXT:  isa.scan kind = sum, dst = t1, total = t0, src = t2, dims = [1], exclusive, reverse, with_total, accumulate = no, ra = r0 wait(s7 >= 1)
  isa.scan kind = sum, dst = t1, total = t0, src = t2, dims = [1], exclusive, reverse, with_total, accumulate = no, ra = r0 wait(s7 >= 1)
  // CHECK-NEXT:  isa.scan kind = prod, dst = t1, total = t0, src = t2, dims = [], accumulate = yes, ra = r0
  isa.scan kind = prod, dst = t1, total = t0, src = t2, dims = [], accumulate = yes, ra = r0
  // CHECK-NEXT:  isa.select dst = t1, mask = t0, a = t2, b = t3
  isa.select dst = t1, mask = t0, a = t2, b = t3
  // CHECK-NEXT:  isa.select dst = t1, mask = t0, a = t2, b = t3, keep signal(s8 += 1)
  isa.select dst = t1, mask = t0, a = t2, b = t3, keep signal(s8 += 1)
  // CHECK-NEXT:  isa.convert dst = t1, src = t0, scale = t2, zero = t3, rounding = nearest
  isa.convert dst = t1, src = t0, scale = t2, zero = t3, rounding = nearest
  // CHECK-NEXT:  isa.convert dst = t1, src = t0, scale = t2, zero = t3, use_scale, use_zero, divide, rounding = down, saturate
  isa.convert dst = t1, src = t0, scale = t2, zero = t3, use_scale, use_zero, divide, rounding = down, saturate
  // CHECK-NEXT:  isa.transpose dst = t1, src = t0
  isa.transpose dst = t1, src = t0
  // CHECK-NEXT:  isa.gather dst = t1, src = t0, index = t2
  isa.gather dst = t1, src = t0, index = t2
  // CHECK-NEXT:  isa.gather dst = t1, src = t0, index = t2, pad wait(s8 >= 1)
  isa.gather dst = t1, src = t0, index = t2, pad wait(s8 >= 1)
  // CHECK-NEXT:  isa.topk dst = t1, indices = t2, src = t0, smallest, accumulate = yes, ra = r0, rb = r6
  isa.topk dst = t1, indices = t2, src = t0, smallest, accumulate = yes, ra = r0, rb = r6
  // CHECK-NEXT:  isa.trap code = 42
  isa.trap code = 42
  // CHECK-NEXT:  isa.halt
  isa.halt
}
// CHECK-NEXT:}

// A loop's length is what stands in it, loops within included.
// CHECK:isa.kernel @loops args 0 {
isa.kernel @loops args 0 {
  // CHECK-NEXT:  isa.loop rd = r1, count = 4294967295 {
  // CHECK-NEXT:    isa.mark id = 1
  // CHECK-NEXT:    isa.loopr rd = r2, ra = r3 {
  // CHECK-NEXT:      isa.mark id = 2
  // CHECK-NEXT:      isa.beq ra = r1, rb = r2, offset = -1
  // CHECK-NEXT:    }
  // CHECK-NEXT:    isa.jump offset = -3
  // CHECK-NEXT:  }
  isa.loop rd = r1, count = 4294967295 {
    isa.mark id = 1
    isa.loopr rd = r2, ra = r3 {
      isa.mark id = 2
      isa.beq ra = r1, rb = r2, offset = -1
    }
    isa.jump offset = -3
  }
  // CHECK-NEXT:  isa.halt
  isa.halt
}
// CHECK-NEXT:}
