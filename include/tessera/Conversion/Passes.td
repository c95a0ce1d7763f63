//===- Passes.td - From tile kernels to an object ----------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_PASSES
#define TESSERA_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

class ArchPass<string mnemonic> : Pass<mnemonic, "::mlir::ModuleOp"> {
  let options = [Option<"arch", "arch", "std::string", "\"edge\"",
                        "architecture: a preset, a path, or a file's text">];
}

def MergeMapsPass : Pass<"tessera-merge-maps", "::mlir::ModuleOp"> {
  let summary = "Reduce elements in the map that computes them";
  let description = [{
    Where a reduction follows the element-wise `tile.map` whose result it reads,
    in the same order, one map does both: output 0 is the reduction's, output 1
    the elements. These pass through the vector engine once in place of twice.
    They are rounded to their type before they are reduced, so no value changes.

    ```mlir
    tile.map ins(%x) outs(%e) … reduce = none { … tile.yield %exp : f32 }
    tile.map ins(%e) outs(%sum) … reduce = sum { ^bb0(%a: f32): tile.yield %a : f32 }
    ```
    becomes
    ```mlir
    tile.map ins(%x) outs(%sum, %e) … reduce = sum { … tile.yield %exp, %exp : f32, f32 }
    ```
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def ConvertTileToISAPass : ArchPass<"convert-tile-to-isa"> {
  let summary = "Tile kernels to instructions";
  let description = [{
    Each `tile.kernel` becomes an `isa.kernel` of the same name; the bodies of
    `tile.map`s become `isa.map_program`s, equal ones once.

    - Every operand becomes a tensor descriptor: the dimensions of the operation
      with the strides that its indexing map gives, unit dimensions dropped and
      neighbours merged, so that a convolution's window is a descriptor with
      overlapping strides. A base that changes is moved by `isa.td.add`.
    - `scf.for` becomes a hardware loop; index arithmetic becomes scalar
      instructions, computed ahead of the loops in which they don't change.
    - Local buffers get places in SPM and ACC; a buffer of depth d has d slots
      that its loop's iterations use in turn.
    - Queues are ordered by semaphores where they touch the same local buffer
      (include/tessera/Conversion/SyncPlan.h). Loop nests of a kernel overlap if
      memory and semaphores suffice for all of them at once; else the queues are
      joined between them.
    - A `shared` load becomes an `isa.load.multicast` that the cores of its group
      issue in turn (docs/decisions/017-shared-loads-are-a-promise.md).

    ```mlir
    %a = tile.alloc {depth = 2} : memref<8x16xf32, #tile.space<spm>>
    tile.load %view to %a : ...
    ```
    becomes, in a loop,
    ```mlir
    isa.td.add td = t26, src = t2, ra = r11
    isa.td.add td = t27, src = t3, ra = r10
    isa.load dst = t27, src = t26 wait(s1 >= 1) signal(s0 += 1)
    ```

    It is an error, which names the kernel, if its buffers need more than the
    architecture's SPM or ACC, if it needs more scalar registers or semaphores
    than there are, if a body has an operation that the vector engine lacks, or
    if an operand needs a descriptor of more than 6 dimensions.
  }];
  let dependentDialects = ["::tessera::isa::ISADialect"];
}

def VerifyISAProgramPass : ArchPass<"verify-isa-program"> {
  let summary = "Prove the instructions of every kernel";
  let description = [{
    Executes each `isa.kernel` one instruction at a time, as the reference
    semantics say, without data: control flow, scalars, descriptors and
    semaphores, on all cores of the largest dispatch together (on one, if they
    cannot differ). It is an error if a wait needs a later signal of its own core
    or the cores wait for one another (the program could hang), if a semaphore
    overflows, has two waiting queues or is not 0 at the end, or if a descriptor
    reaches beyond SPM, ACC or, where a dispatch tells its size, an argument's
    buffer. It is an error as well if two queues, of one core or of several, touch
    the same byte of SPM or ACC, one of them writes it, and neither semaphores nor
    barriers order them in every run (lib/Conversion/ProgramOrder.h). A program that runs for more than `max-steps` instructions, or whose
    loops and branches depend on what only the device knows, is checked up to
    there, with a warning.
  }];
  let options = [
    Option<"arch", "arch", "std::string", "\"edge\"",
           "architecture: a preset, a path, or a file's text">,
    Option<"maxSteps", "max-steps", "uint64_t", "2000000",
           "instructions, of all cores together, after which the check gives up">];
}

def VerifyLoweredToISAPass : Pass<"verify-lowered-to-isa", "::mlir::ModuleOp"> {
  let summary = "Check that only instructions and the device program are left";
  let description = [{
    A module holds `isa.kernel`s, `isa.map_program`s and a `device.program` that
    gives each kernel as many buffers as it takes arguments. Each stray operation
    is an error at its location.
  }];
}

def PlanArenaPass : ArchPass<"plan-arena"> {
  let summary = "Place the device program's buffers in its arenas";
  let description = [{
    Gives each `device.alloc` its offset and the program the sizes of its arenas:
    `shared_arena` in the shared SRAM, for the buffers that gain most there
    (docs/decisions/025-intermediates-in-shared-sram.md), and `arena` in DRAM,
    which must have room for all others. Buffers that are not in use at the same
    time share memory.

    ```mlir
    %t = device.alloc : !device.buffer<4096>
    ```
    becomes
    ```mlir
    %t = device.alloc at 0 : !device.buffer<4096>
    ```
  }];
}

#endif // TESSERA_CONVERSION_PASSES
