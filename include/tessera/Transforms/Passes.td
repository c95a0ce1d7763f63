//===- Passes.td - Graph to tile passes --------------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TRANSFORMS_PASSES
#define TESSERA_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def RoundContractionsPass : Pass<"tessera-round-contractions", "::mlir::func::FuncOp"> {
  let summary = "Contractions of f32 read operands rounded to a narrower format";
  let description = [{
    Each operand of f32 of a matrix product or convolution is rounded to `format`
    (to nearest, ties to even) and widened again: the products and their sum stay
    in f32. Constants are rounded at once. The rounding is an operation of its own,
    which is then computed where the operand is, so that memory holds the narrower
    format; the widening is moved into the contraction, where it costs nothing.

    ```mlir
    %r = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x2xf32>) …
    ```
    becomes, in words, `%r = matmul(extf(truncf(%a)), extf(truncf(%b)))`.
  }];
  let options = [
    Option<"format", "format", "std::string", "\"bf16\"", "bf16 or f16">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def LowerArgReductionsPass : Pass<"tessera-lower-arg-reductions", "::mlir::func::FuncOp"> {
  let summary = "Take reductions to a value and its index apart";
  let description = [{
    A `linalg.generic` that finds a largest or smallest element together with its
    index along a reduced dimension becomes a reduction of the elements, a
    reduction of the indices at which that value stands (the first of them), and
    a choice between them and the initial values.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def NarrowIntegersPass : Pass<"tessera-narrow-integers", "::mlir::func::FuncOp"> {
  let summary = "64-bit integers in 32-bit lanes";
  let description = [{
    A tensor of i64 becomes a tensor of i32 where its values are proved to fit,
    else a pair of such tensors: the low and the high halves. Values are bounded
    by intervals that start from constants, loop extents and narrower integers.
    Arithmetic on pairs is exact modulo 2^64; what has no such form is an error
    at its operation.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"];
}

def LowerIndexingPass : Pass<"tessera-lower-indexing", "::mlir::func::FuncOp"> {
  let summary = "Loop indices and reads at computed positions";
  let description = [{
    What a body computes from the index of one loop (`linalg.index`) becomes a
    table that it reads; other index arithmetic becomes arithmetic on i32.

    A read at a computed position (`tensor.extract`) becomes an input. Positions
    that follow from one loop's index alone are slices of the tensor. Others are
    computed by an operation of their own, and a reduction over the tensor's
    dimension finds the element whose position is the wanted one:

    ```mlir
    %r = linalg.generic … ins(%indices) { %i = arith.index_cast %in
                                          %e = tensor.extract %table[%i] … }
    ```
    becomes, in words, `r[n] = sum over v of (indices[n] == v ? table[v] : 0)`,
    on the bits of the elements: exact for every value. A position outside of
    the tensor finds 0.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def NormalizePass : Pass<"tessera-normalize", "::mlir::func::FuncOp"> {
  let summary = "Bring a graph into the few forms that dispatches are made of";
  let description = [{
    Afterwards all computation is `linalg.generic` (and `linalg.fill` of its
    initial values), `tensor.pad`, `tensor.concat`, `tensor.insert_slice` and
    `tensor.extract_slice`; reductions and contractions start from their neutral
    element; element-wise chains are one operation, of at most four inputs;
    copies, transposes and broadcasts are folded into the maps of what reads
    them; the batch loop of a product over repeated matrices is two loops, so that
    their repetition is such a broadcast; loops of one iteration are gone where operations on both sides of a
    reshape get the same shape that way; reshapes are `tensor.expand_shape` and `tensor.collapse_shape`.

    A contraction that starts from a bias

    ```mlir
    %b = linalg.broadcast ins(%bias : tensor<8xf32>) outs(%e : tensor<4x8xf32>) dimensions = [0]
    %r = linalg.matmul ins(%x, %w : ...) outs(%b : tensor<4x8xf32>)
    ```
    becomes one that starts from zero, followed by an addition, which later
    becomes its epilogue:
    ```mlir
    %m = linalg.generic {...} ins(%x, %w : ...) outs(%zeros : tensor<4x8xf32>)
    %r = linalg.generic {...} ins(%m, %bias : tensor<4x8xf32>, tensor<8xf32>) ...
    ```
    Every operation that cannot be brought into these forms is an error.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"];
}

def ChannelsLastPass : Pass<"tessera-channels-last", "::mlir::func::FuncOp"> {
  let summary = "Lay tensors of convolutions out with their channels last";
  let description = [{
    The matrix engine reads, for each position, adjacent channels: so results of
    convolutions become [positions, channels], and results of element-wise
    operations, windows, paddings and concatenations follow their inputs. What
    reads them reads them through other maps; nothing is transposed. A tensor
    whose readers could not follow (a reshape, a slice, the function's result)
    stays as it is.

    Loops take the order of the result. If a convolution's input changed and its
    weights are constant, its sum goes over the window's positions, then the
    channels, and the weights are packed as [result channel, window, channel].

    ```mlir
    %r = linalg.generic {indexing_maps = [(f, y, x, c, i, j) -> (c, y + i, x + j),
                                          (f, y, x, c, i, j) -> (f, c, i, j),
                                          (f, y, x, c, i, j) -> (f, y, x)], ...}
    ```
    becomes
    ```mlir
    %r = linalg.generic {indexing_maps = [(y, x, f, i, j, c) -> (y + i, x + j, c),
                                          (y, x, f, i, j, c) -> (f, i, j, c),
                                          (y, x, f, i, j, c) -> (y, x, f)], ...}
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FormDispatchesPass : Pass<"tessera-form-dispatches", "::mlir::func::FuncOp"> {
  let summary = "Group operations into dispatches";
  let description = [{
    Every computation moves into a `graph.dispatch`, which later becomes one
    kernel. An element-wise operation takes in what produces its operands if
    tiles of it can be computed from tiles of them without computing anything
    twice: the contraction or pooling before it, or the row statistics and
    exponentials of a softmax. Attention is one dispatch: a product that sums
    values weighted by a softmax of another product takes in all of it, and the
    division by the softmax's sum moves behind it, unless the weights are rounded.
    A padding moves in with the operation that reads it. Slices, concatenations
    and the rest are dispatches of their own; reshapes stay outside, since they
    move no data.

    The attribute `nodes` lists the model nodes of a dispatch, taken from the
    locations.

    ```mlir
    %r = graph.dispatch ins(%x, %w, %bias : ...) outs(%empty : tensor<4x8xf32>)
        -> tensor<4x8xf32> attributes {nodes = ["fc", "relu"]} {
    ^bb0(%x_: ..., %w_: ..., %bias_: ..., %dest: tensor<4x8xf32>):
      %m = linalg.generic ... // the contraction
      %e = linalg.generic ... outs(%dest : tensor<4x8xf32>) // bias and relu
      graph.yield %e : tensor<4x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::tessera::graph::GraphDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def VerifyLoweredToGraphPass : Pass<"verify-lowered-to-graph", "::mlir::func::FuncOp"> {
  let summary = "Check that only dispatches and what moves no data are left";
  let description = [{
    A function holds `graph.dispatch`es, constants, destinations
    (`tensor.empty`) and reshapes; a dispatch holds linalg operations, paddings,
    slices and reshapes. Each stray operation is an error at its location.
  }];
}

def TileDispatchesPass : Pass<"tessera-tile-dispatches", "::mlir::func::FuncOp"> {
  let summary = "Tile dispatches to the capacity of SPM and ACC";
  let description = [{
    For each dispatch the planner (lib/Transforms/TilePlanner.h) chooses tile
    sizes such that everything a tile needs fits into SPM and ACC, twice where
    loads are to overlap with work. The last operation is tiled with
    `scf::tileConsumerAndFuseProducersUsingSCF`, so that its producers run on
    the same tile; then the reduction dimensions of the contraction. All shapes
    stay static where a tile size does not divide an extent: the last tile of a
    parallel loop starts earlier and computes a part of its neighbour again, the
    rest of a reduction becomes an operation of its own behind the loop. The
    keys of an attention are tiled by a loop that carries each row's maximum, sum
    and values; it computes the scores of the next keys ahead, so that the matrix
    engine has work while the vector engine computes exponentials. The
    planner also orders the parallel loops, says how many cores share each of
    them (attribute `cores`) and how cores take their places (`interleave`). A sum
    of the matrix engine goes through its terms in the same order whatever the
    tiles.

    A padding becomes a `tile.window` in each tile, which may reach beyond the
    tensor's edges. A dispatch in which nothing fits is taken apart. Equal dispatches are tiled
    once (attribute `kernel`); what is left and still cannot fit is an error that
    names the nodes, the bytes needed and the bytes available.

    `plans` is the text of a file of plans (tessera/Transforms/PlanBook.h): a
    kernel whose problem is in it takes the plan from there. `candidate` asks for
    another one of the planner's ranking than the best, which is 0; where there
    are fewer, for the last.
  }];
  let options = [
    Option<"arch", "arch", "std::string", "\"edge\"", "architecture preset or file">,
    Option<"plans", "plans", "std::string", "\"\"", "text of a file of plans">,
    Option<"candidate", "candidate", "unsigned", "0", "place in the planner's ranking">
  ];
  let dependentDialects = ["::tessera::device::DeviceDialect", "::tessera::graph::GraphDialect",
                           "::tessera::tile::TileDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::affine::AffineDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def BufferizeDispatchesPass : Pass<"tessera-bufferize-dispatches", "::mlir::ModuleOp"> {
  let summary = "Dispatches to functions on buffers, and @main to a device.program";
  let description = [{
    The body of each dispatch becomes a function (attribute `tile.dispatch`) on
    device buffers, inputs then outputs, bufferised in place: what a tile loop
    writes goes through views of the outputs, and only temporaries of one tile
    are allocated, in `#tile.space<spm>`. The entry function becomes a
    `device.program` of the same name: model inputs and outputs are its
    arguments, weights are `device.constant`, what is in between is
    `device.alloc`; a reshape is the same buffer.

    ```mlir
    func.func private @conv1(%x: memref<1x8x6x6xf32, #tile.space<dram>>, ...) attributes {tile.dispatch, nodes = ["conv1"]}
    device.program @main inputs [...] outputs [...] { ... device.dispatch @conv1(...) ... }
    ```
  }];
  let dependentDialects = ["::tessera::device::DeviceDialect", "::tessera::tile::TileDialect",
                           "::mlir::bufferization::BufferizationDialect",
                           "::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect"];
}

def ConvertToTilePass : Pass<"tessera-convert-to-tile", "::mlir::ModuleOp"> {
  let summary = "Bufferised dispatch functions to tile.kernel";
  let description = [{
    Each device view that an operation uses gets a local buffer where the view
    is defined: a `tile.load` right there if it is read, a `tile.store` at the
    end of that block if it is written. Contractions become `tile.mma` with
    their accumulator in ACC, everything else `tile.map`. The fill that starts a
    reduction goes away: its first step overwrites, in a loop over the reduced
    dimension by `accumulate_if`. Rows that stream through the matrix engine
    (`a` of a `tile.mma`) and would all lie in the same few banks of the SPM get
    some room between them.
  }];
  let options = [
    Option<"arch", "arch", "std::string", "\"edge\"", "architecture preset or file">
  ];
  let dependentDialects = ["::tessera::tile::TileDialect", "::mlir::affine::AffineDialect"];
}

def SplitLoadsPass : Pass<"tessera-split-loads", "::mlir::ModuleOp"> {
  let summary = "Load a contraction's operands in pieces";
  let description = [{
    A contraction whose sum is not tiled waits for the whole of its operands. In a
    kernel with the attribute `pieces`, where each is loaded for it alone, both loads and the contraction are cut along the
    sum into an eighth, three eighths and the rest, in whole blocks of the matrix
    engine (not if there are fewer than four of them): the terms are added up in
    the same order, and the first ones when their part has come. Each piece has a
    buffer of its own.

    An operand that stays while a loop runs is read in pieces by the first iteration
    only. That is taken out of the loop, and each piece is loaded right before it
    is read there, between those of the other operand. The loop reads the pieces, and
    parts of the other operand, which it goes on loading whole. That is done if the
    scratchpad suffices for the first iteration's own buffers beside two copies of
    the loop's, and the accumulators for one more, or the loop has so few iterations
    that one less is no loss.
    Kernels with several such contractions stay as they are.

    ```mlir
    scf.for %i = %c0 to %c256 step %c64 {
      tile.load %x to %a : ...
      tile.load %y to %b : ...
      tile.mma ins(%a, %b) outs(%c) bounds = [64, 64, 512] ...
    ```
    becomes
    ```mlir
    scf.for %i = %c0 to %c256 step %c64 {
      tile.load %x0 to %a0 : ...
      tile.load %y0 to %b0 : ...
      tile.mma ins(%a0, %b0) outs(%c) bounds = [64, 64, 64] ...
      tile.load %x1 to %a1 : ...
      tile.load %y1 to %b1 : ...
      tile.mma ins(%a1, %b1) outs(%c) bounds = [64, 64, 192] ... accumulate
      ...
    ```
  }];
  let options = [
    Option<"arch", "arch", "std::string", "\"edge\"", "architecture preset or file">
  ];
  let dependentDialects = ["::tessera::tile::TileDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

def SplitCoresPass : Pass<"tessera-split-cores", "::mlir::ModuleOp"> {
  let summary = "Share a kernel's outer loops among the cores";
  let description = [{
    The loops around all of a kernel's work whose iterations store to places of
    their own and carry nothing in local buffers are shared: for each of them the
    kernel's attribute `cores` says among how many cores its iterations are dealt
    out in turn; without the attribute the outermost loop gets as many as there
    are. With the attribute `interleave` = q, core c of n takes the place
    c / q + (c mod q) * n / q, which may be nearer to its memory. The kernel's
    dispatches get a rectangle of cores. Each core does what comes before a loop
    for itself. Buffers that a core fills only once lose
    their copies.

    With the attribute `multicast`, loads that do not depend on some of the shared
    loops become `shared` ones: cores that differ only along these loops load the
    same. They must be a rectangle, all loops around the load must run equally
    often on all cores, and nothing else may write the buffer. Loops whose
    iterations the cores share equally keep constant bounds for that.

    With two cores

    ```mlir
    scf.for %i = %c0 to %c64 step %c8 {...}
    ```
    becomes
    ```mlir
    %core = tile.core_id : index
    %first = arith.muli %core, %c8 : index
    scf.for %j = %c0 to %c64 step %c16 {
      %i = arith.addi %j, %first : index
      ...
    }
    ```
    and, where the iterations do not come out even, begins at `%first`.
  }];
  let options = [
    Option<"arch", "arch", "std::string", "\"edge\"", "architecture preset or file">
  ];
  let dependentDialects = ["::tessera::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def VerifyLoweredToTilePass : Pass<"verify-lowered-to-tile", "::mlir::ModuleOp"> {
  let summary = "Check that only the tile level's operations are left";
  let description = [{
    A module holds `tile.kernel`s and a `device.program`; a kernel holds tile
    operations, `scf.for` and `scf.if`, `memref.subview`, and index arithmetic.
    Each stray operation is an error at its location.
  }];
}

#endif // TESSERA_TRANSFORMS_PASSES
