//===- ISAOps.td - The isa dialect -------------------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One operation per instruction, made of the instruction table, and the
// containers around them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_ISA_ISAOPS
#define TESSERA_DIALECTS_ISA_ISAOPS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "tessera/ISA/Instructions.td"

def ISA_Dialect : Dialect {
  let name = "isa";
  let cppNamespace = "::tessera::isa";
  let summary = "The instructions of one core";
  let description = [{
    One operation is one instruction, and the operations of instructions are
    made of the instruction table (`include/tessera/ISA/Instructions.td`): the
    fields are attributes, so an operation holds exactly what its encoding
    holds. The text is the assembly language of [isa.md](../isa.md).

    [isa-rationale.md](isa-rationale.md) says why the dialect is as it is.
  }];
}

//===-- Instructions ------------------------------------------------------===//

class ISA_Op<string mnemonic, list<Trait> traits = []>
    : Op<ISA_Dialect, mnemonic, traits>;

defvar ISA_InstructionParent =
    ParentOneOf<["::tessera::isa::KernelOp", "::tessera::isa::LOOPOp",
                 "::tessera::isa::LOOPROp"]>;

/// The operation of an instruction. `derived` names a field that is no
/// attribute because the operation's region says it.
class ISA_InstructionOp<Inst inst, string derived = "", list<Trait> traits = []>
    : ISA_Op<inst.Mnemonic, !listconcat([ISA_InstructionParent], traits)> {
  let summary = inst.Summary;
  let description = inst.Semantics # "\n\nTiming: " # inst.Timing #
                    "\n\nFaults: " # inst.Faults;
  dag fieldArguments = !foldl(
      (ins), inst.Fields, soFar, item,
      !if(!eq(item.Name, derived), soFar,
          !con(soFar, !dag(ins, [I64Attr], [item.Name]))));
  dag waitArguments = !if(inst.HasWaits, (ins DenseI64ArrayAttr:$waits), (ins));
  dag signalArguments =
      !if(inst.HasSignals, (ins DenseI64ArrayAttr:$signals), (ins));
  let arguments = !con(fieldArguments, waitArguments, signalArguments);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::mlir::ParseResult $cppClass::parse(::mlir::OpAsmParser &parser,
                                         ::mlir::OperationState &result) {
      return parseInstruction(parser, result);
    }
    void $cppClass::print(::mlir::OpAsmPrinter &printer) {
      printInstruction(*this, printer);
    }
    ::llvm::LogicalResult $cppClass::verify() {
      return verifyInstruction(*this);
    }
  }];
}

class ISA_LoopOp<Inst inst>
    : ISA_InstructionOp<inst, "length", [NoTerminator, SingleBlock]> {
  let regions = (region SizedRegion<1>:$body);
}

foreach inst = !instances<Inst>() in {
  if !or(!eq(inst.Mnemonic, "loop"), !eq(inst.Mnemonic, "loopr")) then
    def "ISA_" # inst # "Op" : ISA_LoopOp<inst>;
  else
    def "ISA_" # inst # "Op" : ISA_InstructionOp<inst>;
}

//===-- Containers --------------------------------------------------------===//

def ISA_KernelOp : ISA_Op<"kernel", [IsolatedFromAbove, NoTerminator,
                                     SingleBlock, Symbol]> {
  let summary = "One core's program";
  let description = [{
    Descriptors, which `isa.td.load` numbers in order from 0, then instructions.
    `args` is the number of 64-bit arguments that a dispatch must give.

    ```mlir
    isa.kernel @clear args 1 {
      isa.descriptor global f32 [16] strides [1] base 0
      isa.descriptor spm f32 [16] strides [1] base 0
      isa.td.load td = t0, index = 0
      isa.td.load td = t1, index = 1
      isa.ldarg rd = r0, index = 0
      isa.td.add td = t0, src = t0, ra = r0
      isa.fill dst = t1, value = 0 signal(s0 += 1)
      isa.store dst = t0, src = t1 wait(s0 >= 1)
      isa.halt
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I32Attr:$num_arguments);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `args` $num_arguments attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
}

def ISA_DescriptorOp : ISA_Op<"descriptor", [HasParent<"KernelOp">]> {
  let summary = "A tensor descriptor in a kernel's constants";
  let description = [{
    ```mlir
    isa.descriptor spm f32 [2, 8] strides [8, 1] base 64
    ```
  }];
  let arguments = (ins I64Attr:$space, I64Attr:$format, I64Attr:$base,
                       DenseI64ArrayAttr:$extents, DenseI64ArrayAttr:$strides,
                       I64Attr:$padding);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    Descriptor getDescriptor();
  }];
}

def ISA_MapProgramOp : ISA_Op<"map_program", [Symbol]> {
  let summary = "A lane program of `isa.map`";
  let description = [{
    Programs stand in the module, and `isa.map` numbers them in order from 0.
    `outputs` names the lane registers that hold the results. `words` are the
    encoded operations.

    ```mlir
    isa.map_program @relu inputs 1 outputs [r2] {
      const r1, 0x00000000
      maxf r2, r0, r1
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$inputs,
                       DenseI64ArrayAttr:$outputs, DenseI64ArrayAttr:$words);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    MapProgram getProgram();
  }];
}

#endif // TESSERA_DIALECTS_ISA_ISAOPS
