//===- TileDialect.td - The tile dialect -------------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_TILE_TILEDIALECT
#define TESSERA_DIALECTS_TILE_TILEDIALECT

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::tessera::tile";
  let summary = "One core's kernel: tiles, data movement and engine work.";
  let description = [{
    A `tile.kernel` is the program of one core on buffers: local ones in the
    scratchpad (`spm`) and in the accumulators (`acc`), device ones in `dram`.
    Operations mean what they do when run one after the other in program order;
    which of them overlap is derived afterwards from the engine that runs each
    and the local buffers that it touches
    (docs/decisions/001-tile-ops-are-sequential.md).

    Loops are `scf.for`, indices come from `arith` and `affine.apply`, views
    from `memref.subview`. All shapes and strides are static; offsets need not
    be.
  }];
  let useDefaultAttributePrinterParser = 1;
}

def Tile_Space : I32EnumAttr<"Space", "memory of a buffer", [
    I32EnumAttrCase<"Dram", 0, "dram">,
    I32EnumAttrCase<"Shared", 1, "shared">,
    I32EnumAttrCase<"Spm", 2, "spm">,
    I32EnumAttrCase<"Acc", 3, "acc">]> {
  let cppNamespace = "::tessera::tile";
  let genSpecializedAttr = 0;
}
def Tile_SpaceAttr : EnumAttr<Tile_Dialect, Tile_Space, "space"> {
  let summary = "memory space of a buffer";
  let description = [{
    `#tile.space<dram>`: device memory; `shared`: the shared SRAM; `spm`: the
    core's scratchpad; `acc`: the core's accumulators.
  }];
  let assemblyFormat = "`<` $value `>`";
}

class Tile_Attr<string name, string mnemonicName> : AttrDef<Tile_Dialect, name> {
  let mnemonic = mnemonicName;
}

def Tile_GroupAttr : Tile_Attr<"Group", "group"> {
  let summary = "cores that do the same load in the same iteration";
  let description = [{
    Of a dispatch whose rectangle is `columns` wide, core c is in one group with
    the cores c + (i - r) * `stride` for i from 0 to `size` - 1, where its own
    rank r is c / `stride` mod `size`. The groups are rectangles: whole rows or
    equal parts of one (`stride` 1), or parts of a column (`stride` = `columns`).

    `#tile.group<size = 4, stride = 1, columns = 4>`: the four cores of a row.
  }];
  let parameters = (ins "int64_t":$size, "int64_t":$stride, "int64_t":$columns);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether such groups are rectangles of the dispatch.
    static bool isRectangle(int64_t size, int64_t stride, int64_t columns);
    /// Cores beside one another, and rows of them.
    int64_t getWidth() {
      return getStride() == getColumns() ? 1 : std::min(getSize(), getColumns());
    }
    int64_t getHeight() { return getSize() / getWidth(); }
  }];
}

def Tile_ReductionAttr : I32EnumAttr<"Reduction", "how `tile.map` combines values", [
    I32EnumAttrCase<"None", 0, "none">,
    I32EnumAttrCase<"Sum", 1, "sum">,
    I32EnumAttrCase<"Max", 2, "max">,
    I32EnumAttrCase<"Min", 3, "min">]> {
  let cppNamespace = "::tessera::tile";
}

#endif // TESSERA_DIALECTS_TILE_TILEDIALECT
