//===- TileOps.td - Operations of the tile dialect ---------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_TILE_TILEOPS
#define TESSERA_DIALECTS_TILE_TILEOPS

include "dialects/Tile/TileDialect.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, mnemonic, traits>;

def Tile_KernelOp : Tile_Op<"kernel", [
    IsolatedFromAbove, Symbol, SingleBlock, AutomaticAllocationScope,
    HasParent<"::mlir::ModuleOp">]> {
  let summary = "the program of one core";
  let description = [{
    The arguments are device buffers (`#tile.space<dram>`, identity layout,
    static shapes) in the order of the dispatch's arguments. A dispatch on
    several cores runs the same kernel on each; `tile.core_id` tells them apart.

    ```mlir
    tile.kernel @copy(%src: memref<64xf32, #tile.space<dram>>,
                      %dst: memref<64xf32, #tile.space<dram>>) {
      %t = tile.alloc : memref<64xf32, #tile.space<spm>>
      tile.load %src to %t : memref<64xf32, #tile.space<dram>> to memref<64xf32, #tile.space<spm>>
      tile.store %t to %dst : memref<64xf32, #tile.space<spm>> to memref<64xf32, #tile.space<dram>>
      tile.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       OptionalAttr<StrAttr>:$sym_visibility);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name,
                                 "::mlir::TypeRange":$argumentTypes)>];
}

def Tile_ReturnOp : Tile_Op<"return", [
    Pure, Terminator, ReturnLike, HasParent<"KernelOp">]> {
  let summary = "end of a kernel";
  let assemblyFormat = "attr-dict";
}

def Tile_AllocOp : Tile_Op<"alloc"> {
  let summary = "a local buffer";
  let description = [{
    A buffer in SPM or ACC that lives in its block: a new one (with unspecified
    contents) in each iteration. `depth` is how many copies the allocator gives
    it, used in turn, so that one iteration may fill its copy while the engines
    still read the one before. Its elements lie in row-major order; rows may have
    room between them.

    ```mlir
    %a = tile.alloc {depth = 2} : memref<8x8xf32, #tile.space<spm>>
    %b = tile.alloc : memref<8x512xbf16, strided<[544, 1]>, #tile.space<spm>>
    ```
  }];
  let arguments = (ins DefaultValuedAttr<I64Attr, "1">:$depth);
  let results = (outs Res<AnyMemRef, "", [MemAlloc]>:$buffer);
  let assemblyFormat = "attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

class Tile_CopyOp<string mnemonic> : Tile_Op<mnemonic> {
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$source,
                       Arg<AnyMemRef, "", [MemWrite]>:$target);
  let assemblyFormat =
      "$source `to` $target attr-dict `:` type($source) `to` type($target)";
  let hasVerifier = 1;
}

def Tile_LoadOp : Tile_CopyOp<"load"> {
  let summary = "copy a view of device memory into SPM";
  let description = [{
    Equal shapes and element types; both sides may be strided views.

    ```mlir
    tile.load %src to %a : memref<8x8xf32, strided<[64, 1], offset: ?>, #tile.space<dram>>
                        to memref<8x8xf32, #tile.space<spm>>
    ```

    With `window` the source is seen with a border of `padding` around it, `low[d]`
    wide before dimension d and `high[d]` behind it. The target gets what begins at
    the given offsets, one for each dimension with a border; the others have equal
    extents. The window lies inside of the border.

    ```mlir
    tile.load %src to %a window[%y, %x] low = [1, 1, 0] high = [1, 1, 0] padding = 0.0 : f32
        : memref<56x56x64xf32, #tile.space<dram>> to memref<16x58x64xf32, #tile.space<spm>>
    ```

    `shared` promises that all cores of a group run this load equally often, each
    time from the same place in memory. Its meaning is the same; memory may then
    be read once for all of them. The target is a local buffer of this block, or a
    view of one, which nothing else writes and one engine reads; the buffer has at
    most as many slots as the group has cores. A window is larger than the borders.

    ```mlir
    tile.load %src to %a shared #tile.group<size = 4, stride = 1, columns = 4> : ...
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$source,
                       Arg<AnyMemRef, "", [MemWrite]>:$target,
                       Variadic<Index>:$offsets,
                       OptionalAttr<DenseI64ArrayAttr>:$low,
                       OptionalAttr<DenseI64ArrayAttr>:$high,
                       OptionalAttr<TypedAttrInterface>:$padding,
                       OptionalAttr<Tile_GroupAttr>:$shared);
  let assemblyFormat = [{
    $source `to` $target
    (`window` `[` $offsets `]` `low` `=` $low^ `high` `=` $high `padding` `=` $padding)?
    (`shared` $shared^)? attr-dict `:` type($source) `to` type($target)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$source, "::mlir::Value":$target), [{
    build($_builder, $_state, source, target, ::mlir::ValueRange(), nullptr, nullptr,
          nullptr, nullptr);
  }]>];
  let extraClassDeclaration = [{
    bool isWindow() { return getLow().has_value(); }
  }];
}

def Tile_WindowOp : Tile_Op<"window", [
    Pure, DestinationStyleOpInterface,
    AllTypesMatch<["target", "result"]>]> {
  let summary = "a part of a padded tensor";
  let description = [{
    The form that a `tile.load` with `window` has on tensors: what begins at the
    offsets in `source` with its border. `target` says where, its elements do not
    matter.

    ```mlir
    %t = tile.window %src[%y, %x] low = [1, 1, 0] high = [1, 1, 0] padding = 0.0 : f32
        into %empty : tensor<56x56x64xf32> to tensor<16x58x64xf32>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$source, Variadic<Index>:$offsets,
                       AnyStaticShapeTensor:$target, DenseI64ArrayAttr:$low,
                       DenseI64ArrayAttr:$high, TypedAttrInterface:$padding);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = [{
    $source `[` $offsets `]` `low` `=` $low `high` `=` $high `padding` `=` $padding
    `into` $target attr-dict `:` type($source) `to` type($target)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getTargetMutable(); }
  }];
}

def Tile_StoreOp : Tile_CopyOp<"store"> {
  let summary = "copy from SPM or ACC to a view of device memory";
  let description = [{Equal shapes and element types; both sides may be strided views.}];
}

def Tile_FillOp : Tile_Op<"fill"> {
  let summary = "fill an SPM buffer with a constant";
  let description = [{
    ```mlir
    tile.fill %a, 0.0 : f32 : memref<8x8xf32, #tile.space<spm>>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemWrite]>:$buffer, TypedAttrInterface:$value);
  let assemblyFormat = "$buffer `,` $value attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Tile_MmaOp : Tile_Op<"mma"> {
  let summary = "a contraction on the matrix engine";
  let description = [{
    For each point of the iteration space given by `bounds`:
    `acc (+)= a * b`, the operands indexed by `maps` (for a, b and acc, in this
    order; affine sums of loop dimensions times constants, as for a convolution).
    A `parallel` dimension in a's map and not in b's is M, one in b's and not in
    a's is N; one in both must have bound 1. `reduction` dimensions are K,
    accumulated in ascending row-major order of the loop dimensions. The
    accumulator's map is a projected permutation over all parallel dimensions;
    a dimension of bound 1 may be absent or appear as the constant 0.

    Without a clause the result overwrites the accumulator; `accumulate` adds
    to it; `accumulate_if(%i)` adds if `%i` is not 0, so that a loop over K
    initialises the accumulator in its first iteration.

    ```mlir
    tile.mma ins(%a, %b) outs(%c) bounds = [8, 16, 32]
      iterators = ["parallel", "parallel", "reduction"]
      maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
              affine_map<(m, n, k) -> (m, n)>] accumulate_if(%k)
      : memref<8x32xf32, #tile.space<spm>>, memref<32x16xf32, #tile.space<spm>>
        -> memref<8x16xf32, #tile.space<acc>>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$a,
                       Arg<AnyMemRef, "", [MemRead]>:$b,
                       Arg<AnyMemRef, "", [MemRead, MemWrite]>:$acc,
                       AffineMapArrayAttr:$indexing_maps,
                       StrArrayAttr:$iterator_types,
                       DenseI64ArrayAttr:$bounds,
                       UnitAttr:$accumulate,
                       Optional<Index>:$accumulateIf);
  let assemblyFormat = [{
    `ins` `(` $a `,` $b `)` `outs` `(` $acc `)` `bounds` `=` $bounds
    `iterators` `=` $iterator_types `maps` `=` $indexing_maps
    (`accumulate` $accumulate^)? (`accumulate_if` `(` $accumulateIf^ `)`)?
    attr-dict `:` type($a) `,` type($b) `->` type($acc)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The maps of a, b and acc.
    ::llvm::SmallVector<::mlir::AffineMap> getIndexingMapsArray();
    /// Whether loop dimension `dim` is a reduction.
    bool isReduction(unsigned dim);
    unsigned getNumLoops() { return getBounds().size(); }
  }];
}

def Tile_MapOp : Tile_Op<"map", [AttrSizedOperandSegments,
    SingleBlock]> {
  let summary = "element-wise work and reductions on the vector engine";
  let description = [{
    For each point of the iteration space given by `bounds` the body computes
    from the inputs' elements (its block arguments, in order) the values that it
    yields, one per output. A value is stored, or, if there are `reduction`
    dimensions, the values of output 0 are combined over them by `reduce`.
    `accumulate` combines the result with the output's old value as well (by
    `reduce`); `accumulate_if(%i)` does so if `%i` is not 0.

    `maps` are the inputs', then the outputs': affine sums of loop dimensions
    times constants, and constants. An output's map is a projected permutation
    over its dimensions (constant 0 where a dimension of extent 1 is left out):
    all parallel dimensions for output 0 of a reduction, else all dimensions.
    At most 4 inputs and 2 outputs; all in SPM or ACC.

    ```mlir
    tile.map ins(%x, %y : memref<8x8xf32, #tile.space<acc>>, memref<8xf32, #tile.space<spm>>)
             outs(%o : memref<8x8xf32, #tile.space<spm>>) bounds = [8, 8]
             iterators = ["parallel", "parallel"]
             maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                     affine_map<(i, j) -> (i, j)>] reduce = none {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      tile.yield %s : f32
    }
    ```
  }];
  let arguments = (ins Arg<Variadic<AnyMemRef>, "", [MemRead]>:$inputs,
                       Arg<Variadic<AnyMemRef>, "", [MemRead, MemWrite]>:$outputs,
                       Optional<Index>:$accumulateIf,
                       AffineMapArrayAttr:$indexing_maps,
                       StrArrayAttr:$iterator_types,
                       DenseI64ArrayAttr:$bounds,
                       Tile_ReductionAttr:$reduce,
                       UnitAttr:$accumulate);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`ins` `(` $inputs^ `:` type($inputs) `)`)? `outs` `(` $outputs `:` type($outputs) `)`
    `bounds` `=` $bounds `iterators` `=` $iterator_types `maps` `=` $indexing_maps
    `reduce` `=` $reduce (`accumulate` $accumulate^)?
    (`accumulate_if` `(` $accumulateIf^ `)`)?
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The maps of the inputs, then of the outputs.
    ::llvm::SmallVector<::mlir::AffineMap> getIndexingMapsArray();
    /// Whether loop dimension `dim` is a reduction.
    bool isReduction(unsigned dim);
    unsigned getNumLoops() { return getBounds().size(); }
  }];
}

def Tile_YieldOp : Tile_Op<"yield", [
    Pure, Terminator, ReturnLike, HasParent<"MapOp">]> {
  let summary = "the values that a `tile.map` body computes";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

class Tile_IndexOp<string mnemonic, string what> : Tile_Op<mnemonic, [Pure]> {
  let summary = what;
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}
def Tile_CoreIdOp : Tile_IndexOp<"core_id",
    "number of this core in its dispatch, from 0">;
def Tile_NumCoresOp : Tile_IndexOp<"num_cores",
    "number of cores that run the dispatch">;

#endif // TESSERA_DIALECTS_TILE_TILEOPS
