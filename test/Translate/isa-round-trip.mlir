// An assembler and a disassembler: what comes out assembles to the same bytes.
//
// RUN: tessera-translate --isa-to-object --arch=tiny %s -o %t.tsr
// RUN: tessera-translate --object-to-isa %t.tsr -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir --match-full-lines
// RUN: tessera-translate --isa-to-object --arch=tiny %t.mlir -o %t.again.tsr
// RUN: tessera-translate --object-to-isa %t.again.tsr | diff %t.mlir -

// CHECK:  isa.map_program @map.0 inputs 1 outputs [r2] {
// CHECK-NEXT:    const r1, 0x00000000
// CHECK-NEXT:    maxf r2, r0, r1
// CHECK-NEXT:  }
isa.map_program @relu inputs 1 outputs [r2] {
  const r1, 0x00000000
  maxf r2, r0, r1
}

// CHECK:  isa.kernel @rectify args 1 {
isa.kernel @rectify args 1 {
  // CHECK-NEXT:    isa.descriptor global f32 [16] strides [1] base 0
  isa.descriptor global f32 [16] strides [1] base 0
  // CHECK-NEXT:    isa.descriptor spm f32 [16] strides [1] base 128
  isa.descriptor spm f32 [16] strides [1] base 128
  // CHECK-NEXT:    isa.td.load td = t0, index = 0
  isa.td.load td = t0, index = 0
  // CHECK-NEXT:    isa.td.load td = t1, index = 1
  isa.td.load td = t1, index = 1
  // CHECK-NEXT:    isa.ldarg rd = r0, index = 0
  isa.ldarg rd = r0, index = 0
  // CHECK-NEXT:    isa.td.add td = t0, src = t0, ra = r0
  isa.td.add td = t0, src = t0, ra = r0
  // CHECK-NEXT:    isa.loop rd = r1, count = 4 {
  isa.loop rd = r1, count = 4 {
    // CHECK-NEXT:      isa.load dst = t1, src = t0 signal(s0 += 1)
    isa.load dst = t1, src = t0 signal(s0 += 1)
    // CHECK-NEXT:      isa.loopr rd = r2, ra = r3 {
    isa.loopr rd = r2, ra = r3 {
      // CHECK-NEXT:        isa.mark id = 1
      isa.mark id = 1
    // CHECK-NEXT:      }
    }
    // CHECK-NEXT:      isa.map program = 0, out0 = t1, out1 = t0, in0 = t1, in1 = t0, in2 = t0, in3 = t0, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0 wait(s0 >= 1) signal(s1 += 1)
    isa.map program = 0, out0 = t1, out1 = t0, in0 = t1, in1 = t0, in2 = t0, in3 = t0, reduce = none, reduce_dims = [], accumulate = no, ra = r0, rb = r0 wait(s0 >= 1) signal(s1 += 1)
    // CHECK-NEXT:      isa.store dst = t0, src = t1 wait(s1 >= 1)
    isa.store dst = t0, src = t1 wait(s1 >= 1)
    // CHECK-NEXT:      isa.td.addi td = t0, src = t0, imm = 64
    isa.td.addi td = t0, src = t0, imm = 64
  // CHECK-NEXT:    }
  }
  // CHECK-NEXT:    isa.halt
  isa.halt
// CHECK-NEXT:  }
}
