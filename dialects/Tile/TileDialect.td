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

def Tile_ReductionAttr : I32EnumAttr<"Reduction", "how `tile.map` combines values", [
    I32EnumAttrCase<"None", 0, "none">,
    I32EnumAttrCase<"Sum", 1, "sum">,
    I32EnumAttrCase<"Max", 2, "max">,
    I32EnumAttrCase<"Min", 3, "min">]> {
  let cppNamespace = "::tessera::tile";
}

#endif // TESSERA_DIALECTS_TILE_TILEDIALECT
