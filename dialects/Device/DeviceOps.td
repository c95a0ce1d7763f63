//===- DeviceOps.td - The device dialect -------------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The command stream: device buffers, and the packets that work on them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_DEVICE_DEVICEOPS
#define TESSERA_DIALECTS_DEVICE_DEVICEOPS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Device_Dialect : Dialect {
  let name = "device";
  let cppNamespace = "::tessera::device";
  let summary = "The command stream of a compiled model";
  let description = [{
    A `device.program` says which packets the command processor runs, in which
    order, on which buffers of device memory. It stands beside the kernels that
    it dispatches. docs/dialects/device-rationale.md says why it is as it is.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

//===-- Types and attributes ----------------------------------------------===//

class Device_Type<string name, string mnemonic_> : TypeDef<Device_Dialect, name> {
  let mnemonic = mnemonic_;
}

def Device_BufferType : Device_Type<"Buffer", "buffer"> {
  let summary = "A contiguous range of device memory";
  let description = [{
    `!device.buffer<N>` is a range of N bytes that starts on a 64-byte boundary.
    It has no shape: a reshape is the same buffer.
  }];
  let parameters = (ins "int64_t":$bytes);
  let assemblyFormat = "`<` $bytes `>`";
  let genVerifyDecl = 1;
}

def Device_TensorAttr : AttrDef<Device_Dialect, "Tensor"> {
  let mnemonic = "tensor";
  let summary = "An input or output of the program as the model declares it";
  let description = [{
    `#device.tensor<"scores" : "f32", [360, 10]>`: the name, the element type in
    the model (which may be wider than what the device computes in), the shape.
    The buffer holds it row-major and densely packed.
  }];
  let parameters = (ins
    StringRefParameter<"">:$name,
    StringRefParameter<"">:$type,
    OptionalArrayRefParameter<"int64_t">:$shape);
  let assemblyFormat = "`<` $name `:` $type `,` `[` (`]`) : ($shape^ `]`)? `>`";
  let genVerifyDecl = 1;
}
def Device_TensorArrayAttr : TypedArrayAttrBase<Device_TensorAttr, "array of `#device.tensor`">;

def Device_MappingAttr : AttrDef<Device_Dialect, "Mapping"> {
  let mnemonic = "mapping";
  let summary = "How a dispatch was mapped, for people and reports";
  let description = [{
    `#device.mapping<plan = "m 64/512, k 128; 2 buffers", cycles = 4096>`: the
    tiles, cores and buffers in words, and the cycles that the cost model expects
    from the first instruction to the last; the hash of what was planned
    (`problem`), by which files of plans know it; the same of the best other plan
    (`runner_up`, `runner_up_cycles`) if there was one.
  }];
  let parameters = (ins
    StringRefParameter<"">:$plan,
    "uint64_t":$cycles,
    DefaultValuedParameter<"uint64_t", "0">:$problem,
    OptionalParameter<"::mlir::StringAttr">:$runner_up,
    DefaultValuedParameter<"uint64_t", "0">:$runner_up_cycles);
  let assemblyFormat = "`<` struct(params) `>`";
}

//===-- Operations --------------------------------------------------------===//

class Device_Op<string mnemonic, list<Trait> traits = []>
    : Op<Device_Dialect, mnemonic, traits>;
class Device_ProgramOpOf<string mnemonic, list<Trait> traits = []>
    : Device_Op<mnemonic, !listconcat([HasParent<"ProgramOp">], traits)>;

def Device_ProgramOp : Device_Op<"program", [IsolatedFromAbove, SingleBlock, Symbol]> {
  let summary = "The command stream of one entry point";
  let description = [{
    The block's arguments are the buffers of the inputs, then of the outputs.
    Packets run in the order of the operations; each starts when all earlier
    ones have completed.

    ```mlir
    device.program @main inputs [#device.tensor<"x" : "f32", [4]>]
                         outputs [#device.tensor<"y" : "f32", [4]>] {
    ^bb0(%x: !device.buffer<16>, %y: !device.buffer<16>):
      device.dispatch @relu(%x, %y) cores = [1, 1] nodes = ["relu"]
          : !device.buffer<16>, !device.buffer<16>
      device.return
    }
    ```
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    Device_TensorArrayAttr:$inputs,
    Device_TensorArrayAttr:$outputs,
    OptionalAttr<I64Attr>:$arena_bytes,
    OptionalAttr<I64Attr>:$shared_arena_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `inputs` $inputs `outputs` $outputs (`arena` $arena_bytes^)?
    (`shared_arena` $shared_arena_bytes^)?
    attr-dict-with-keyword $body
  }];
  let extraClassDeclaration = [{
    ::mlir::BlockArgument getInput(unsigned index) {
      return getBody().front().getArgument(index);
    }
    ::mlir::BlockArgument getOutput(unsigned index) {
      return getBody().front().getArgument(getInputs().size() + index);
    }
  }];
  let hasRegionVerifier = 1;
}

def Device_ReturnOp : Device_ProgramOpOf<"return", [Terminator]> {
  let summary = "End of the command stream";
  let assemblyFormat = "attr-dict";
}

def Device_ConstantOp : Device_ProgramOpOf<"constant", [Pure]> {
  let summary = "A buffer with known contents";
  let description = [{
    The elements, row-major, in the object's read-only data. Elements are whole
    bytes; booleans are stored as `i8`.
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Device_BufferType:$buffer);
  let assemblyFormat = "$value attr-dict `:` qualified(type($buffer))";
  let hasVerifier = 1;
}

def Device_AllocOp : Device_ProgramOpOf<"alloc"> {
  let summary = "A buffer in one of the program's arenas";
  let description = [{
    Its contents are undefined at first. It lives from its first to its last
    use; buffers whose lives do not overlap may share memory. `plan-arena` sets
    the offset in bytes (`at`), in DRAM or in the `shared` SRAM.
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset, UnitAttr:$shared);
  let results = (outs Res<Device_BufferType, "", [MemAlloc]>:$buffer);
  let assemblyFormat = "(`shared` $shared^)? (`at` $offset^)? attr-dict `:` qualified(type($buffer))";
  let hasVerifier = 1;
}

def Device_DispatchOp : Device_ProgramOpOf<"dispatch",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Run a kernel on a rectangle of cores";
  let description = [{
    The kernel's arguments are the addresses of the buffers. `cores` is the
    width and height of the rectangle, which starts at core (0, 0). `nodes`
    names the model nodes that the kernel computes; `mapping` says how.
  }];
  let arguments = (ins
    FlatSymbolRefAttr:$kernel,
    Variadic<Device_BufferType>:$buffers,
    DenseI32ArrayAttr:$cores,
    StrArrayAttr:$nodes,
    OptionalAttr<Device_MappingAttr>:$mapping);
  let assemblyFormat = [{
    $kernel `(` $buffers `)` `cores` `=` $cores `nodes` `=` $nodes
    attr-dict (`:` type($buffers)^)?
  }];
  let hasVerifier = 1;
}

def Device_CopyOp : Device_ProgramOpOf<"copy"> {
  let summary = "Copy a buffer";
  let arguments = (ins
    Arg<Device_BufferType, "", [MemRead]>:$source,
    Arg<Device_BufferType, "", [MemWrite]>:$target);
  let assemblyFormat = [{
    $source `to` $target attr-dict `:` qualified(type($source)) `to` qualified(type($target))
  }];
  let hasVerifier = 1;
}

def Device_FillOp : Device_ProgramOpOf<"fill"> {
  let summary = "Fill a buffer with a 32-bit pattern";
  let arguments = (ins
    Arg<Device_BufferType, "", [MemWrite]>:$buffer,
    I32Attr:$pattern);
  let assemblyFormat = "$buffer `,` $pattern attr-dict `:` qualified(type($buffer))";
  let hasVerifier = 1;
}

#endif // TESSERA_DIALECTS_DEVICE_DEVICEOPS
