// The generator refuses a table that contradicts itself.
//
// RUN: not tessera-tblgen -gen-isa-tables -I %S/../../include %s 2>&1 | FileCheck %s

include "tessera/ISA/Instructions.td"

class Bad<string mnemonic, int opcode, list<Field> fields>
    : ScalarInst<mnemonic, opcode, fields> {
  let Summary = "Bad.";
  let Semantics = "Bad.";
}

// CHECK: [[@LINE+1]]:5: error: field 'b' of 'overlap' overlaps another field or the opcode at bit 12
def OVERLAP : Bad<"overlap", 0xf0, [Field<"a", ScalarReg, 8, "">, Field<"b", ScalarReg, 12, "">]>;
// CHECK: [[@LINE+1]]:5: error: field 'a' of 'onopcode' overlaps another field or the opcode at bit 7
def ONOPCODE : Bad<"onopcode", 0xf1, [Field<"a", ScalarReg, 7, "">]>;
// CHECK: [[@LINE+1]]:5: error: field 'a' of 'outside' takes bits 100-131, outside word 0
def OUTSIDE : Bad<"outside", 0xf2, [Field<"a", U32, 100, "">]>;
// CHECK: [[@LINE+1]]:5: error: field 'a' of 'twice' is there twice
def TWICE : Bad<"twice", 0xf3, [Field<"a", U16, 16, "">, Field<"a", U16, 32, "">]>;
def SILENT : ScalarInst<"silent", 0xf4, []> {
  let Summary = "Bad.";
}
// CHECK: [[@LINE-3]]:5: error: 'SILENT' has no semantics
def QUEUELESS : Inst<"queueless", 0xf5, ScalarGroup, "dma", 1, []> {
  let Summary = "Bad.";
  let Semantics = "Bad.";
  let Timing = "Bad.";
}
// CHECK: [[@LINE-5]]:5: error: 'queueless' has the unknown queue 'dma'
// CHECK: [[@LINE+1]]:5: error: 'quaternary' has more than 3 operands
def LANE_QUATERNARY : LaneOp<"quaternary", 0xf0, "alu", 4, "Bad.">;
// Uniqueness is checked last.
// CHECK: [[@LINE+1]]:5: error: 'sameopcode' has the opcode of 'add'
def SAMEOPCODE : Bad<"sameopcode", 0x09, []>;
// CHECK: [[@LINE+1]]:5: error: the mnemonic 'add' is there twice
def SAMEMNEMONIC : Bad<"add", 0xf6, []>;
// CHECK: [[@LINE+1]]:5: error: the opcode of 'wide' is not a byte
def WIDE : Bad<"wide", 0x100, []>;
