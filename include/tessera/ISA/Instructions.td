//===- Instructions.td - The instruction table -------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every instruction is defined here once. tessera-tblgen makes of it the
// encoder's and decoder's field tables, the assembly syntax, docs/isa.md and
// the enumerations that the simulator dispatches on; dialects/ISA/ISAOps.td
// makes of it the operations of the `isa` dialect.
//
// An instruction is one or two 16-byte words, little endian. Bits 0-7 of word 0
// are the opcode. Bits named by no field are reserved and must be 0. A two-word
// instruction carries its semaphore list in word 1:
//   bits 128 + 16i, i = 0..2: wait   {sem: 5, count: 10, valid: 1}
//   bits 176 + 16i, i = 0..2: signal {sem: 5, count: 10, valid: 1}
//   bits 224-255: reserved.
// A valid entry has count >= 1; an invalid one is all zero; valid ones come
// first and name different semaphores.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_ISA_INSTRUCTIONS
#define TESSERA_ISA_INSTRUCTIONS

// How a field is written in assembly and what it may hold.
class OperandKind<string cppName, int width, bit isSigned = 0> {
  string CppName = cppName;
  int Bits = width;
  bit IsSigned = isSigned;
}
def ScalarReg : OperandKind<"ScalarReg", 5>; // r0 .. r31
def DescReg : OperandKind<"DescReg", 5>;     // t0 .. t31
def Flag : OperandKind<"Flag", 1>;           // present as its name, or absent
def DimIndex : OperandKind<"Dim", 3>; // a dimension, 0 .. 5
def U16 : OperandKind<"Unsigned", 16>;
def U32 : OperandKind<"Unsigned", 32>;
def S32 : OperandKind<"Signed", 32, 1>;
def S64 : OperandKind<"Signed", 64, 1>;
def DimMask : OperandKind<"DimMask", 6>; // [0, 2]: the set of dimensions
// seq, ld, st, mx, vx = 0 .. 4; mx1 .. mx7 = 5 .. 11
def QueueKind : OperandKind<"Queue", 4>;
// mx, mx1 .. mx7 = 0 .. 7; absent: mx
def MatrixQueueKind : OperandKind<"MatrixQueue", 3>;
def AccumulateKind : OperandKind<"Accumulate", 2>; // no, yes, reg = 0 .. 2
// none, sum, max, min, prod, argmax, argmin = 0 .. 6
def ReduceKind : OperandKind<"Reduce", 3>;
// The same without none: sum .. argmin = 0 .. 5
def ReductionKind : OperandKind<"Reduction", 3>;
def ScanKind : OperandKind<"Scan", 2>; // sum, max, min, prod = 0 .. 3
def RoundingKind : OperandKind<"Rounding", 2>; // nearest, zero, down, up = 0 .. 3

// A field: its name, kind, and lowest bit in word 0.
class Field<string name, OperandKind kind, int lsb, string doc> {
  string Name = name;
  OperandKind Kind = kind;
  int Lsb = lsb;
  string Doc = doc;
}

class Group<string name, string title> {
  string Name = name;
  string Title = title;
}
def ScalarGroup : Group<"scalar", "Scalar and control">;
def SyncGroup : Group<"sync", "Synchronisation">;
def DmaGroup : Group<"dma", "Data movement">;
def MatrixGroup : Group<"matrix", "Matrix engine">;
def VectorGroup : Group<"vector", "Vector engine">;

// The queue that executes an instruction: seq for the sequencer itself;
// "field" when the instruction's `queue` field says it.
class Inst<string mnemonic, int opcode, Group group, string queue, int words,
           list<Field> fields> {
  string Mnemonic = mnemonic;
  int Opcode = opcode;
  Group InstGroup = group;
  string Queue = queue;
  int Words = words;
  list<Field> Fields = fields;
  // Whether the semaphore list of a two-word instruction may hold waits, signals.
  bit HasWaits = !eq(words, 2);
  bit HasSignals = !eq(words, 2);
  string Summary = ?;
  string Semantics = ?;
  string Timing = ?;
  string Faults = "None.";
}

class ScalarInst<string mnemonic, int opcode, list<Field> fields>
    : Inst<mnemonic, opcode, ScalarGroup, "seq", 1, fields> {
  let Timing = "One sequencer cycle.";
}

// Shared fields.
defvar Rd = Field<"rd", ScalarReg, 8, "destination register">;
defvar Ra = Field<"ra", ScalarReg, 13, "first source register">;
defvar Rb = Field<"rb", ScalarReg, 18, "second source register">;
defvar Imm = Field<"imm", S64, 64, "immediate">;
defvar Offset = Field<"offset", S32, 64,
    "target minus the branch's own position, in instructions">;

//===-- Scalar and control ------------------------------------------------===//

def HALT : ScalarInst<"halt", 0x01, []> {
  let Summary = "End of the program.";
  let Semantics = "The core stops fetching; the dispatch completes on this core when all its queues are empty and its stores are acknowledged.";
  let Faults = "SemaphoreNotZero if a semaphore is not 0 once the queues are empty.";
}
def TRAP : ScalarInst<"trap", 0x02, [Field<"code", U32, 64, "reported in the fault record">]> {
  let Summary = "Raise a fault on purpose.";
  let Semantics = "Faults with cause Trap and the given code.";
  let Faults = "Trap, always.";
}
def MARK : ScalarInst<"mark", 0x03, [Field<"id", U32, 64, "identifier in the trace">]> {
  let Summary = "Write a trace event.";
  let Semantics = "Adds a marker with the identifier to the trace; no other effect.";
}
def LI : ScalarInst<"li", 0x08, [Rd, Imm]> {
  let Summary = "Load a 64-bit immediate.";
  let Semantics = "rd = imm";
}
class BinaryInst<string mnemonic, int opcode, string expr>
    : ScalarInst<mnemonic, opcode, [Rd, Ra, Rb]> {
  let Summary = "rd = " # expr # ", on 64 bits, wrapping.";
  let Semantics = "rd = " # expr;
}
def ADD : BinaryInst<"add", 0x09, "ra + rb">;
def SUB : BinaryInst<"sub", 0x0a, "ra - rb">;
def MUL : BinaryInst<"mul", 0x0b, "ra * rb">;
def AND : BinaryInst<"and", 0x0c, "ra & rb">;
def OR : BinaryInst<"or", 0x0d, "ra | rb">;
def XOR : BinaryInst<"xor", 0x0e, "ra ^ rb">;
def SHL : BinaryInst<"shl", 0x0f, "ra << (rb mod 64)">;
def SHR : BinaryInst<"shr", 0x10, "ra >> (rb mod 64), unsigned">;
def SLT : BinaryInst<"slt", 0x11, "ra < rb ? 1 : 0, signed">;
def MIN : BinaryInst<"min", 0x12, "min(ra, rb), signed">;
def MAX : BinaryInst<"max", 0x13, "max(ra, rb), signed">;
def DIVU : BinaryInst<"divu", 0x14, "ra / rb, unsigned"> {
  let Faults = "DivideByZero if rb is 0.";
}
def REMU : BinaryInst<"remu", 0x15, "ra mod rb, unsigned"> {
  let Faults = "DivideByZero if rb is 0.";
}
class ImmediateInst<string mnemonic, int opcode, string expr>
    : ScalarInst<mnemonic, opcode, [Rd, Ra, Imm]> {
  let Summary = "rd = " # expr # ", on 64 bits, wrapping.";
  let Semantics = "rd = " # expr;
}
def ADDI : ImmediateInst<"addi", 0x18, "ra + imm">;
def MULI : ImmediateInst<"muli", 0x19, "ra * imm">;
def ANDI : ImmediateInst<"andi", 0x1a, "ra & imm">;
def XORI : ImmediateInst<"xori", 0x1b, "ra ^ imm">;

def JUMP : ScalarInst<"jump", 0x20, [Offset]> {
  let Summary = "Jump.";
  let Semantics = "pc = pc + offset (in instructions)";
  let Faults = "IllegalBranch if the target is outside the program or in another loop body.";
}
class BranchInst<string mnemonic, int opcode, string condition>
    : ScalarInst<mnemonic, opcode, [Ra, Rb, Offset]> {
  let Summary = "Branch if " # condition # ".";
  let Semantics = "if " # condition # ": pc = pc + offset (in instructions)";
  let Faults = "IllegalBranch if the target is outside the program or in another loop body.";
}
def BEQ : BranchInst<"beq", 0x21, "ra == rb">;
def BNE : BranchInst<"bne", 0x22, "ra != rb">;
def BLT : BranchInst<"blt", 0x23, "ra < rb, signed">;
def BGE : BranchInst<"bge", 0x24, "ra >= rb, signed">;

defvar Length = Field<"length", U16, 96, "number of instructions in the body, >= 1">;
def LOOP : ScalarInst<"loop", 0x28, [Rd, Field<"count", U32, 64, "iterations, >= 1">, Length]> {
  let Summary = "Hardware loop with a constant count.";
  let Semantics = "Runs the next `length` instructions `count` times; rd holds the iteration's index, from 0. Up to 6 deep. Going from the last instruction of the body to the first costs no cycle.";
  let Faults = "LoopNesting beyond 6 deep; IllegalLoop if count or length is 0 or the body leaves the program.";
}
def LOOPR : ScalarInst<"loopr", 0x29, [Rd, Ra, Length]> {
  let Summary = "Hardware loop with a count from a register.";
  let Semantics = "As `loop`, with ra iterations (signed); the body is skipped if ra <= 0.";
  let Faults = "As `loop`.";
}
def LDARG : ScalarInst<"ldarg", 0x30, [Rd, Field<"index", U16, 64, "64-bit argument number">]> {
  let Summary = "Read an argument of the dispatch.";
  let Semantics = "rd = argument[index]";
  let Faults = "ArgumentIndex if the dispatch has no such argument.";
}
def LDS : ScalarInst<"lds", 0x31, [Rd, Ra, Imm]> {
  let Summary = "Scalar load from SPM.";
  let Semantics = "rd = sign-extended 32-bit value at SPM byte address ra + imm. The program orders it after the producer by a `wait seq`.";
  let Timing = "Two sequencer cycles.";
  let Faults = "SpmOutOfBounds, Misaligned (4 bytes).";
}
def COREID : ScalarInst<"coreid", 0x32, [Rd]> {
  let Summary = "This core's number in the dispatch.";
  let Semantics = "rd = index of this core in the dispatch's rectangle, row major, from 0";
}
def NUMCORES : ScalarInst<"numcores", 0x33, [Rd]> {
  let Summary = "The dispatch's number of cores.";
  let Semantics = "rd = cores in the dispatch's rectangle";
}
def TDLOAD : ScalarInst<"td.load", 0x38, [Field<"td", DescReg, 8, "destination descriptor register">,
                                          Field<"index", U16, 64, "descriptor number in the kernel's constants">]> {
  let Summary = "Load a tensor descriptor from descriptor memory.";
  let Semantics = "td = descriptors[index]";
  let Faults = "DescriptorIndex; IllegalDescriptor if the image is malformed.";
}
defvar Td = Field<"td", DescReg, 8, "destination descriptor register">;
defvar TdSrc = Field<"src", DescReg, 13, "source descriptor register">;
def TDADD : ScalarInst<"td.add", 0x39, [Td, TdSrc, Field<"ra", ScalarReg, 18, "byte offset">]> {
  let Summary = "Move a descriptor's base by a register.";
  let Semantics = "td = src; td.base += ra (bytes)";
}
def TDADDI : ScalarInst<"td.addi", 0x3a, [Td, TdSrc, Imm]> {
  let Summary = "Move a descriptor's base by an immediate.";
  let Semantics = "td = src; td.base += imm (bytes)";
}

defvar TdDim = Field<"dim", DimIndex, 28, "dimension, 0 to 5">;
def TDEXTENT : ScalarInst<"td.extent", 0x3b, [Td, TdSrc, Field<"ra", ScalarReg, 18, "extent">, TdDim]> {
  let Summary = "Set an extent of a descriptor from a register.";
  let Semantics = "td = src; td.extents[dim] = ra, which must be 1 to src.extents[dim]: an extent only shrinks, so a program whose descriptors fit their memories at the extents of its constants fits at every smaller length. A window of that dimension (`td.window`) is forgotten.";
  let Faults = "IllegalDescriptor if dim is not below src's rank or ra is out of its range; address: ra.";
}
def TDSTRIDE : ScalarInst<"td.stride", 0x3c, [Td, TdSrc, Field<"ra", ScalarReg, 18, "stride in elements">, TdDim]> {
  let Summary = "Set a stride of a descriptor from a register.";
  let Semantics = "td = src; td.strides[dim] = ra (elements, signed). What the descriptor then touches is checked by the instruction that uses it. A window of that dimension is forgotten.";
  let Faults = "IllegalDescriptor if dim is not below src's rank; address: ra.";
}
def TDWINDOW : ScalarInst<"td.window", 0x3d, [
    Td, TdSrc, Field<"ra", ScalarReg, 18, "coordinate of the window's first element in the tensor, signed">,
    Field<"rb", ScalarReg, 23, "extent of the tensor, signed">, TdDim,
    Field<"step", U16, 64, "coordinates from one element of the window to the next, >= 1">]> {
  let Summary = "Place a window over a dimension of a tensor; it may reach beyond the edges.";
  let Semantics = "td = src, which stands at coordinate 0 of that dimension; td.base += ra * (src.strides[dim] / step) elements. Element i of the dimension then has the coordinate ra + i * step; where that is below 0, or rb or more, the element is outside. Outside elements are what `pad` and `clip` are about: with `pad` they read src's padding value, with `clip` they are not written. Each dimension may have a window. `td.add` and `td.addi` keep it. An instruction without `pad` or `clip` refuses a descriptor with elements outside.";
  let Faults = "IllegalDescriptor if dim is not below src's rank, step is 0, or src.strides[dim] is no multiple of step; if the format is i4; address: ra.";
}

//===-- Synchronisation ---------------------------------------------------===//

defvar Queue = Field<"queue", QueueKind, 8, "the queue that this instruction passes through">;
class SyncInst<string mnemonic, int opcode>
    : Inst<mnemonic, opcode, SyncGroup, "field", 2, [Queue]>;
def WAIT : SyncInst<"wait", 0x40> {
  let HasSignals = 0;
  let Summary = "Wait for semaphores, in a queue or in the sequencer.";
  let Semantics = "Takes its wait list when its turn comes in the named queue; with `seq` the sequencer itself waits. Carries no signals.";
  let Timing = "One cycle of the queue once the counts are there.";
  let Faults = "SemaphoreWaiters if another queue waits on the same semaphore; NoSuchQueue.";
}
def SIGNAL : SyncInst<"signal", 0x41> {
  let HasWaits = 0;
  let Summary = "Signal semaphores, from a queue or from the sequencer.";
  let Semantics = "Adds its signal list when every earlier instruction of the named queue has completed. Carries no waits.";
  let Timing = "One cycle.";
  let Faults = "SemaphoreOverflow beyond 65,535; NoSuchQueue.";
}
def FENCE : Inst<"fence", 0x42, SyncGroup, "seq", 1, []> {
  let Summary = "Wait for all stores.";
  let Semantics = "The sequencer goes on when every store pushed before has been acknowledged by memory.";
  let Timing = "Until the last acknowledgement, at least one cycle.";
}

def SIGNALCORE : Inst<"signal.core", 0x43, SyncGroup, "field", 1, [
    Queue, Field<"core", ScalarReg, 13, "index of a core of this dispatch, read when pushed">,
    Field<"sem", U16, 64, "semaphore of that core">,
    Field<"count", U16, 80, "added to it, >= 1">]> {
  let Summary = "Signal a semaphore of another core.";
  let Semantics = "When every earlier instruction of the named queue has completed, a message goes to the core, and its semaphore sem += count when it arrives. Messages of one queue to one core arrive in order.";
  let Timing = "One cycle of the queue; then a message over the NoC.";
  let Faults = "CoreNotRunning if the dispatch has no such core or it has halted; IllegalInstruction if there is no such semaphore or count is 0; NoSuchQueue; on arrival SemaphoreOverflow.";
}
def BARRIER : Inst<"barrier", 0x44, SyncGroup, "seq", 1, []> {
  let Summary = "Wait for the sequencers of all cores of the dispatch.";
  let Semantics = "The sequencer goes on when the sequencers of all cores of this dispatch have come to their next `barrier`. It says nothing of queues: what they did is ordered as far as the sequencers waited for it.";
  let Timing = "A message to the dispatch's first core, and one back when all have arrived; one cycle in a dispatch of one core.";
}

//===-- Data movement -----------------------------------------------------===//

class DmaInst<string mnemonic, int opcode, string queue, list<Field> fields>
    : Inst<mnemonic, opcode, DmaGroup, queue, 2, fields> {
  let Timing = "See the section on the timing of data movement.";
  let Faults = "IllegalDescriptor (spaces, extents, formats, more than 2^26 elements, a window without its option), SpmOutOfBounds, AccOutOfBounds, Misaligned; PageFault, ProtectionFault, PoisonedPage, BusError.";
}
defvar Dst = Field<"dst", DescReg, 8, "destination descriptor">;
defvar Src = Field<"src", DescReg, 13, "source descriptor">;
defvar Pad = Field<"pad", Flag, 24, "elements of src outside its window read src's padding value">;
defvar Clip = Field<"clip", Flag, 24, "elements of dst outside its window are not written">;
defvar Convert = Field<"convert", Flag, 25, "src and dst may be different float formats">;
defvar Transpose = Field<"transpose", Flag, 26, "move in the order in which the global tensor lies in memory">;
defvar Posted = Field<"posted", Flag, 63, "complete at injection">;
def LOAD : DmaInst<"load", 0x50, "ld", [Dst, Src, Pad, Convert, Transpose]> {
  let Summary = "Copy a tensor into SPM.";
  let Semantics = "Copies src (global, or the core's own spm or acc) to dst (spm), element by element in row-major order. Equal extents; equal formats unless `convert` is given: then both are floats, and values are widened exactly to f32 and rounded once, to nearest even. The source is read at start, dst is written at completion. `transpose` changes no value, only the order in which bursts are made; not for i4.";
}
def STORE : DmaInst<"store", 0x51, "st", [Dst, Src, Clip, Convert, Transpose, Posted]> {
  let Summary = "Copy a tensor from SPM or ACC to memory, or to another core's SPM.";
  let Semantics = "Copies src (spm or acc) to dst (global, or core: the SPM of any core of the dispatch), as `load` does. Completes when memory, or the other core, has acknowledged the last write, or at injection if posted. Nobody but the program orders what a store does in another core's SPM: `signal.core` behind it in this queue tells the other core that the data is there.";
  let Faults = "As `load`; CoreNotRunning if the dispatch has no such core or it has halted (address: its index); SpmOutOfBounds of the other core's SPM.";
}
def FILL : DmaInst<"fill", 0x52, "ld", [Dst, Field<"value", U32, 64, "the element's bits">]> {
  let Summary = "Fill a tensor in SPM with a constant.";
  let Semantics = "Every element of dst (spm) = the low bits of value.";
  let Timing = "One `dma.burst_bytes` per cycle.";
}
defvar RowIndices = Field<"index", DescReg, 18, "index tensor (spm, i32)">;
def LOADGATHER : DmaInst<"load.gather", 0x53, "ld", [
    Dst, Src, RowIndices, Field<"pad", Flag, 24, "an index out of range reads src's padding value">, Convert]> {
  let Summary = "Copy rows of a tensor, chosen by an index tensor, into SPM.";
  let Semantics = "src (global) is a table of src.extents[0] rows; dst (spm) has the extents of src but for the first, which is the number N of elements of index. For n in the row-major order of index: dst[n, ...] = src[index[n], ...]. Formats as for `load`. Indices and rows are read at start. An index below 0 or from src.extents[0] up faults, or with `pad` the row is src's padding value.";
  let Faults = "IndexOutOfRange (address: the index) without `pad`; as `load`: the 2^26 elements are those of dst.";
}
def LOADMULTICAST : DmaInst<"load.multicast", 0x55, "ld", [
    Dst, Src, Field<"ra", ScalarReg, 18, "rectangle of cores, read when pushed">,
    Field<"sem", U16, 64, "semaphore of each of these cores">,
    Field<"count", U16, 80, "added to it, >= 1">, Pad, Convert, Transpose]> {
  let Summary = "Copy a tensor from memory into the SPM of many cores.";
  let Semantics = "As `load` of a global src, with the same options, into the SPM of each core of a rectangle of this dispatch's cores, at the same address in all; memory is read once, and each core pads and converts for itself. With `pad` at least one element of src is inside its window. ra: x (bits 0-7), y (8-15), width (16-23), height (24-31) within the dispatch's rectangle; bits 32-63 are 0. When the last byte is in a core's SPM, sem += count there. The instruction completes, and gives its own signals, when it is in all.";
  let Faults = "As `load`; IllegalDescriptor (address: dst) if nothing is inside the window; CoreNotRunning if the rectangle is empty or leaves the dispatch (address: ra), or a core has halted (address: its index); IllegalInstruction if there is no such semaphore or count is 0; on arrival SemaphoreOverflow.";
}
def STORESCATTER : DmaInst<"store.scatter", 0x54, "st", [
    Dst, Src, RowIndices, Field<"clip", Flag, 24, "a row whose index is out of range is not written">, Convert, Posted]> {
  let Summary = "Copy rows from SPM or ACC to rows of a tensor in memory, chosen by an index tensor.";
  let Semantics = "dst (global) is a table of dst.extents[0] rows; src (spm or acc) has the extents of dst but for the first, which is the number N of elements of index. For n in the row-major order of index: dst[index[n], ...] = src[n, ...], so of equal indices the last one's row stays. Indices and rows are read at start. An index below 0 or from dst.extents[0] up faults, or with `clip` the row is left out.";
  let Faults = "IndexOutOfRange (address: the index) without `clip`; as `store`: the 2^26 elements are those of src.";
}

//===-- Matrix engine -----------------------------------------------------===//

def MMA : Inst<"mma", 0x60, MatrixGroup, "field", 2, [
    Field<"acc", DescReg, 8, "accumulator (acc), M dimensions then N dimensions">,
    Field<"a", DescReg, 13, "left operand (spm)">,
    Field<"b", DescReg, 18, "right operand (spm)">,
    Field<"m_dims", DimMask, 23, "which dimensions of a are M; the rest are K">,
    Field<"n_dims", DimMask, 29, "which dimensions of b are N; the rest are K">,
    Field<"accumulate", AccumulateKind, 35, "no: overwrite; yes: add; reg: add if ra != 0">,
    Field<"ra", ScalarReg, 37, "read when pushed, if accumulate = reg">,
    Field<"keep_b", Flag, 42, "use the block of b that is loaded already">,
    Field<"queue", MatrixQueueKind, 44, "the matrix engine; absent: mx">]> {
  let Summary = "Matrix multiply (and accumulate).";
  let Semantics = "M, N and K are the row-major flattenings of their dimensions. For each m, n: v = accumulate ? acc[m,n] : 0; for k ascending: v = fma(a[m,k], b[k,n], v); acc[m,n] = v. Floats accumulate in f32, integers in wrapping i32. acc has M·N elements in that order. b is taken as N×K (loaded by side shift) when its last dimension of extent > 1 is a K dimension. With keep_b nothing of b is read: the previous mma of the queue, of one block as well, had the same b and n_dims, and the values that it read are used again. Bit 43 is kept for a b with 2:4 structured sparsity; like all reserved bits it must be 0.";
  let Timing = "See the section on matrix timing.";
  let Faults = "IllegalDescriptor (spaces, formats without a rate in the architecture, K of a and b differ, acc not M·N; keep_b without that block), SpmOutOfBounds, AccOutOfBounds; NoSuchQueue.";
}

//===-- Vector engine -----------------------------------------------------===//

// Operands lie in SPM or ACC. Operands are read at start and written at
// completion.
class VectorInst<string mnemonic, int opcode, list<Field> fields>
    : Inst<mnemonic, opcode, VectorGroup, "vx", 2, fields> {
  let Timing = "See the section on vector timing.";
  let Faults = "IllegalDescriptor (spaces, extents, formats, more than 2^26 elements, writing through stride 0); SpmOutOfBounds, AccOutOfBounds, Misaligned.";
}
defvar ReducedDims = "reduced dimensions";
defvar AccumulateRa = "read when pushed, if accumulate = reg";
defvar IndexBase = "register whose value, read when pushed, is added to indices";

def MAP : VectorInst<"map", 0x70, [
    Field<"program", U16, 64, "map program number in the object">,
    Field<"out0", DescReg, 28, "first output">,
    Field<"out1", DescReg, 33, "second output, if the program has one; the indices of argmax and argmin">,
    Field<"in0", DescReg, 8, "first input, if any">,
    Field<"in1", DescReg, 13, "second input, if any">,
    Field<"in2", DescReg, 18, "third input, if any">,
    Field<"in3", DescReg, 23, "fourth input, if any">,
    Field<"reduce", ReduceKind, 53, "reduction of out0 over reduce_dims">,
    Field<"reduce_dims", DimMask, 40, ReducedDims>,
    Field<"accumulate", AccumulateKind, 46, "combine the reduction with out0's old value">,
    Field<"ra", ScalarReg, 48, AccumulateRa>,
    Field<"rb", ScalarReg, 56, IndexBase>]> {
  let Summary = "Run a lane program over every element of an iteration space.";
  let Semantics = "The iteration space has the extents of in0 (of out0 if there is no input); all inputs have these extents (stride 0 broadcasts), and so have the outputs, except that a reduced out0 has extent 1 in reduced dimensions. Each element is converted to a 32-bit lane register (floats to f32, integers to i32), the program runs, and its output registers are converted to the outputs' formats (f32 rounded to nearest even; integers truncated to the low bits). A reduction works on the program's output register as f32 if out0's format is a float, else as i32, and does with these values what `reduce` does; with argmax or argmin the program has one output, and out1 (i32, the extents of out0) receives the indices.";
  let Faults = "MapIndex; IllegalDescriptor (as above; a second output of the program with argmax or argmin); SpmOutOfBounds, AccOutOfBounds, Misaligned.";
}
def REDUCE : VectorInst<"reduce", 0x71, [
    Field<"kind", ReductionKind, 28, "what is computed">,
    Field<"dst", DescReg, 8, "results, extent 1 in reduced dimensions">,
    Field<"indices", DescReg, 18, "indices (i32), with argmax and argmin">,
    Field<"src", DescReg, 13, "values">,
    Field<"dims", DimMask, 31, ReducedDims>,
    Field<"accumulate", AccumulateKind, 37, "combine with the old contents of dst and indices">,
    Field<"ra", ScalarReg, 39, AccumulateRa>,
    Field<"rb", ScalarReg, 44, IndexBase>]> {
  let Summary = "Reduce over some dimensions.";
  let Semantics = "dst has the extents of src, but 1 in the reduced dimensions; both are floats (computed in f32) or both are integers (in wrapping i32). For each element of dst the values are those of the reduced dimensions in row-major order. sum, max, min, prod: value j goes to partial result j mod 64 in order, partial = partial + value (each starts at the identity: +0, -inf or -2^31, +inf or 2^31-1, 1); then 32 pairs of neighbours are combined, then 16, down to one; with accumulate that result is then combined with dst's old value. max and min: NaN if a value is NaN, -0 < +0. argmax, argmin: dst receives the largest (smallest) value and `indices` its place j + rb; among equal ones the first (-0 and +0 are equal), and the first NaN if there is any; with accumulate the old value and index of dst and `indices` take part as the one before the first.";
}
def SCAN : VectorInst<"scan", 0x72, [
    Field<"kind", ScanKind, 28, "what is computed">,
    Field<"dst", DescReg, 8, "results">,
    Field<"total", DescReg, 18, "extent 1 in scanned dimensions; used with with_total or accumulate">,
    Field<"src", DescReg, 13, "values">,
    Field<"dims", DimMask, 30, "scanned dimensions">,
    Field<"exclusive", Flag, 36, "the result of an element is that of those before it">,
    Field<"reverse", Flag, 37, "from the last element to the first">,
    Field<"with_total", Flag, 38, "write the result of all elements to `total`">,
    Field<"accumulate", AccumulateKind, 39, "start from the old contents of `total`">,
    Field<"ra", ScalarReg, 41, AccumulateRa>]> {
  let Summary = "Running sums, maxima, minima or products.";
  let Semantics = "dst has the extents of src; `total` has them too, but 1 in the scanned dimensions. All are floats (computed in f32) or all are integers (in wrapping i32). The values x of the scanned dimensions, in row-major order (backwards with reverse), are cut in blocks of 64. Within a block, for d = 1, 2, 4, ..., 32: x[i] = x[i - d] + x[i] for all i >= d at once, from the values before this step. Then x[i] = carry + x[i], and the block's last result is the next block's carry. The first carry is the identity (+0, -inf or -2^31, +inf or 2^31-1, 1), or with accumulate the old value of `total`. With exclusive, result i is result i - 1 of this, and result 0 is the first carry. The last carry goes to `total`. (Here + stands for the operation; max and min as in `reduce`.)";
}
def SELECT : VectorInst<"select", 0x73, [
    Field<"dst", DescReg, 8, "results">,
    Field<"mask", DescReg, 13, "what is not 0 chooses a">,
    Field<"a", DescReg, 18, "values where mask is not 0">,
    Field<"b", DescReg, 23, "values where mask is 0">,
    Field<"keep", Flag, 28, "where mask is 0, dst keeps what it holds; b is not used">]> {
  let Summary = "Choose between two tensors element by element, or write only where a mask says so.";
  let Semantics = "dst = mask != 0 ? a : b, bit by bit. All have the extents of dst (stride 0 broadcasts); a, b and dst have the same format, mask has any. Of a float mask -0 is 0 and NaN is not. With keep nothing is written where mask is 0.";
}
def CONVERT : VectorInst<"convert", 0x74, [
    Field<"dst", DescReg, 8, "results">,
    Field<"src", DescReg, 13, "values">,
    Field<"scale", DescReg, 18, "scales (a float format), with use_scale">,
    Field<"zero", DescReg, 23, "zero points (an integer format), with use_zero">,
    Field<"use_scale", Flag, 28, "multiply by scale">,
    Field<"use_zero", Flag, 29, "the integer side has zero points">,
    Field<"divide", Flag, 30, "divide by scale instead of multiplying">,
    Field<"rounding", RoundingKind, 31, "of a result that is an integer">,
    Field<"saturate", Flag, 33, "floats too large for dst become its largest finite value">]> {
  let Summary = "Change the format: convert, quantise, requantise, dequantise.";
  let Semantics = "All operands have the extents of dst; scale and zero broadcast through stride 0, per tensor or per channel. 1. x = src, an f32 or an exact integer; if src is an integer and dst a float and use_zero, x = src - zero, exactly. 2. With use_scale: x is rounded to f32 (nearest even), then x = x * scale, or x / scale with divide, in f32. 3. dst an integer: x is rounded to an integer (nearest: ties to even; zero: toward zero; down; up), NaN gives 0; with use_zero zero is added, exactly; the result saturates to dst's range. dst a float: x is rounded once to dst, nearest even, as docs/numerics.md says; with saturate, what would overflow and infinities become the largest finite value of their sign. So: quantise is float to integer, requantise integer to integer, dequantise integer to float. use_zero between floats is refused; divide without use_scale, rounding to a float and saturate to an integer have no effect.";
}
def TRANSPOSE : VectorInst<"transpose", 0x75, [
    Field<"dst", DescReg, 8, "results, the last two extents exchanged">,
    Field<"src", DescReg, 13, "values, of rank 2 or more">]> {
  let Summary = "Exchange the last two dimensions, without the bank conflicts of a strided walk.";
  let Semantics = "dst[..., j, i] = src[..., i, j], bit by bit; the same format. Other permutations are made by the order of the outer dimensions in the descriptors.";
}
def GATHER : VectorInst<"gather", 0x76, [
    Field<"dst", DescReg, 8, "results: the extents of index, then those of src but the first">,
    Field<"src", DescReg, 13, "a table of src.extents[0] rows">,
    Field<"index", DescReg, 18, "indices of rows (an integer format)">,
    Field<"pad", Flag, 23, "an index out of range reads src's padding value">]> {
  let Summary = "Copy rows or elements of a table in SPM or ACC, chosen by an index tensor.";
  let Semantics = "dst[i..., r...] = src[index[i...], r...], bit by bit; src and dst have the same format. With a src of rank 1 single elements are gathered. An index below 0 or from src.extents[0] up faults, or with pad the row is src's padding value.";
  let Faults = "IndexOutOfRange (address: the index, sign-extended) without pad; IllegalDescriptor, SpmOutOfBounds, AccOutOfBounds, Misaligned as above.";
}
def TOPK : VectorInst<"topk", 0x77, [
    Field<"dst", DescReg, 8, "the k best values, best first: the extents of src, but k in the last dimension">,
    Field<"indices", DescReg, 18, "their indices (i32), the extents of dst">,
    Field<"src", DescReg, 13, "values">,
    Field<"smallest", Flag, 23, "the smallest instead of the largest">,
    Field<"accumulate", AccumulateKind, 24, "the old contents of dst and indices take part">,
    Field<"ra", ScalarReg, 26, AccumulateRa>,
    Field<"rb", ScalarReg, 31, IndexBase>]> {
  let Summary = "The k largest or smallest values of the last dimension, with their indices.";
  let Semantics = "For each row (last dimension) of src: values in the order -inf < ... < -0 = +0 < ... < +inf < NaN, k of them, largest first (with smallest: smallest first, NaN last); of equal ones the one with the lower place first. `indices` receives place + rb. src and dst have the same format, and k is at most the row's extent. With accumulate the k old values and indices come before the row's as if at lower places, so a long row can be worked off in pieces.";
}

//===----------------------------------------------------------------------===//
// Lane operations of map programs. 16 lane registers of 32 bits; f32 and i32
// views of the same bits. Comparisons give i32 1 or 0. One 8-byte word each:
//   bits 0-7 op, 8-11 dst, 12-15 a, 16-19 b, 20-23 c, 24-31 reserved, 32-63 imm.
// Unused fields are 0.
//===----------------------------------------------------------------------===//

class LaneOp<string mnemonic, int opcode, string unit, int operands, string semantics> {
  string Mnemonic = mnemonic;
  int Opcode = opcode;
  string Unit = unit; // "alu", "sfu" or "free" (costs no slot)
  int Operands = operands;
  string Semantics = semantics;
  bit HasImm = 0;
}
def LANE_CONST : LaneOp<"const", 0x01, "free", 0, "imm"> { let HasImm = 1; }
def LANE_ADDF : LaneOp<"addf", 0x10, "alu", 2, "a + b, rounded to nearest even">;
def LANE_SUBF : LaneOp<"subf", 0x11, "alu", 2, "a - b">;
def LANE_MULF : LaneOp<"mulf", 0x12, "alu", 2, "a * b">;
def LANE_FMA : LaneOp<"fma", 0x13, "alu", 3, "a * b + c, rounded once">;
def LANE_MINF : LaneOp<"minf", 0x14, "alu", 2, "the smaller; NaN if either is NaN; -0 < +0">;
def LANE_MAXF : LaneOp<"maxf", 0x15, "alu", 2, "the larger; NaN if either is NaN; -0 < +0">;
def LANE_NEGF : LaneOp<"negf", 0x16, "alu", 1, "a with its sign bit flipped">;
def LANE_ABSF : LaneOp<"absf", 0x17, "alu", 1, "a with its sign bit cleared">;
def LANE_FLOORF : LaneOp<"floorf", 0x18, "alu", 1, "largest integer not above a">;
def LANE_CEILF : LaneOp<"ceilf", 0x19, "alu", 1, "smallest integer not below a">;
def LANE_ROUNDF : LaneOp<"roundf", 0x1a, "alu", 1, "nearest integer, ties to even">;
def LANE_EQF : LaneOp<"eqf", 0x20, "alu", 2, "a == b (false for NaN)">;
def LANE_NEF : LaneOp<"nef", 0x21, "alu", 2, "a != b (true for NaN)">;
def LANE_LTF : LaneOp<"ltf", 0x22, "alu", 2, "a < b (false for NaN)">;
def LANE_LEF : LaneOp<"lef", 0x23, "alu", 2, "a <= b (false for NaN)">;
def LANE_SELECT : LaneOp<"select", 0x28, "alu", 3, "a != 0 as i32 ? b : c">;
def LANE_ADDI : LaneOp<"addi", 0x30, "alu", 2, "a + b, wrapping">;
def LANE_SUBI : LaneOp<"subi", 0x31, "alu", 2, "a - b, wrapping">;
def LANE_MULI : LaneOp<"muli", 0x32, "alu", 2, "a * b, wrapping">;
def LANE_MINI : LaneOp<"mini", 0x33, "alu", 2, "signed minimum">;
def LANE_MAXI : LaneOp<"maxi", 0x34, "alu", 2, "signed maximum">;
def LANE_ANDI : LaneOp<"andi", 0x35, "alu", 2, "a & b">;
def LANE_ORI : LaneOp<"ori", 0x36, "alu", 2, "a | b">;
def LANE_XORI : LaneOp<"xori", 0x37, "alu", 2, "a ^ b">;
def LANE_SHLI : LaneOp<"shli", 0x38, "alu", 2, "a << b, 0 if b >= 32 unsigned">;
def LANE_SHRSI : LaneOp<"shrsi", 0x39, "alu", 2, "a >> b arithmetic, b clamped to 31 unsigned">;
def LANE_SHRUI : LaneOp<"shrui", 0x3a, "alu", 2, "a >> b logical, 0 if b >= 32 unsigned">;
def LANE_EQI : LaneOp<"eqi", 0x40, "alu", 2, "a == b">;
def LANE_NEI : LaneOp<"nei", 0x41, "alu", 2, "a != b">;
def LANE_LTI : LaneOp<"lti", 0x42, "alu", 2, "a < b signed">;
def LANE_LEI : LaneOp<"lei", 0x43, "alu", 2, "a <= b signed">;
def LANE_LTU : LaneOp<"ltu", 0x44, "alu", 2, "a < b unsigned">;
def LANE_MULHSI : LaneOp<"mulhsi", 0x45, "alu", 2, "high 32 bits of the signed 64-bit product">;
def LANE_ITOF : LaneOp<"itof", 0x48, "alu", 1, "signed i32 to f32, nearest even">;
def LANE_UTOF : LaneOp<"utof", 0x49, "alu", 1, "unsigned i32 to f32, nearest even">;
def LANE_FTOI : LaneOp<"ftoi", 0x4a, "alu", 1, "f32 to signed i32, toward zero, saturating, NaN to 0">;
def LANE_RNDBF16 : LaneOp<"rndbf16", 0x4b, "alu", 1, "f32 rounded to bf16 and widened">;
def LANE_RNDF16 : LaneOp<"rndf16", 0x4c, "alu", 1, "f32 rounded to f16 and widened">;
def LANE_DIVI : LaneOp<"divi", 0x50, "sfu", 2, "signed quotient toward zero; 0 if b is 0; wraps for the minimum over -1">;
def LANE_REMI : LaneOp<"remi", 0x51, "sfu", 2, "a - divi(a, b) * b">;
def LANE_DIVF : LaneOp<"divf", 0x60, "sfu", 2, "a / b, correctly rounded">;
def LANE_SQRT : LaneOp<"sqrt", 0x61, "sfu", 1, "square root, correctly rounded">;
def LANE_RCP : LaneOp<"rcp", 0x62, "sfu", 1, "1 / a, correctly rounded">;
def LANE_RSQRT : LaneOp<"rsqrt", 0x63, "sfu", 1, "1 / sqrt(a), within 2 ulp">;
def LANE_EXP : LaneOp<"exp", 0x64, "sfu", 1, "e to the a, within 2 ulp">;
def LANE_LOG : LaneOp<"log", 0x65, "sfu", 1, "natural logarithm, within 2 ulp">;
def LANE_TANH : LaneOp<"tanh", 0x66, "sfu", 1, "within 2 ulp">;
def LANE_ERF : LaneOp<"erf", 0x67, "sfu", 1, "within 2 ulp">;
def LANE_SIN : LaneOp<"sin", 0x68, "sfu", 1, "within 2 ulp, any argument">;
def LANE_COS : LaneOp<"cos", 0x69, "sfu", 1, "within 2 ulp, any argument">;
def LANE_SIGMOID : LaneOp<"sigmoid", 0x6a, "sfu", 1, "1 / (1 + exp(-a)), within 2 ulp">;

#endif // TESSERA_ISA_INSTRUCTIONS
