//===- GraphOps.td - The graph dialect ---------------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the upstream tensor dialects lack to describe a model.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_GRAPH_GRAPHOPS
#define TESSERA_DIALECTS_GRAPH_GRAPHOPS

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::tessera::graph";
  let summary = "What a model computes";
  let description = [{
    A model is a function `@main` from tensors to tensors in the upstream
    dialects linalg, tensor, arith and math. This dialect adds what they lack:
    operations that a later phase wants to see whole, and the fusion group.

    On the arguments and results of the entry function, `graph.name` is the name
    in the model (a string) and `graph.type` the element type there (a type).
    The location of every operation names the model's node.
  }];
  let hasOperationAttrVerify = 0;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

class Graph_Op<string mnemonic, list<Trait> traits = []>
    : Op<Graph_Dialect, mnemonic, traits>;

def Graph_BatchNormOp : Graph_Op<"batch_norm", [
    Pure, AllTypesMatch<["input", "result"]>,
    AllTypesMatch<["scale", "bias", "mean", "variance"]>]> {
  let summary = "Batch normalisation with given statistics";
  let description = [{
    The inference form. Dimension 1 of `input` is the channel; the other four
    tensors have one element for each channel, and

        result[n, c, ...] = (input[n, c, ...] - mean[c]) * factor[c] + bias[c]
        factor[c]         = scale[c] / sqrt(variance[c] + epsilon)

    `tessera-fold-batch-norm` folds it into a convolution that feeds it, or
    decomposes it into linalg.

    ```mlir
    %r = graph.batch_norm %x, %scale, %bias, %mean, %variance epsilon = 1.0e-05
        : tensor<1x16x8x8xf32>, tensor<16xf32>
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$input,
                       1DTensorOf<[F32]>:$scale, 1DTensorOf<[F32]>:$bias,
                       1DTensorOf<[F32]>:$mean, 1DTensorOf<[F32]>:$variance,
                       F32Attr:$epsilon);
  let results = (outs RankedTensorOf<[F32]>:$result);
  let assemblyFormat = [{
    $input `,` $scale `,` $bias `,` $mean `,` $variance `epsilon` `=` $epsilon
    attr-dict `:` type($input) `,` type($scale)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Builds factor[c] with linalg: a tensor like `scale`.
    ::mlir::Value buildFactor(::mlir::OpBuilder &builder);
    /// Builds the whole operation with linalg and returns its value.
    ::mlir::Value decompose(::mlir::OpBuilder &builder);
  }];
}

def Graph_DispatchOp : Graph_Op<"dispatch", [
    IsolatedFromAbove, SingleBlock, AttrSizedOperandSegments,
    RecursiveMemoryEffects, DestinationStyleOpInterface]> {
  let summary = "A fusion group: what becomes one kernel";
  let description = [{
    Runs its body once. The body's arguments are `inputs`, then `outputs`, with
    the same types; `graph.yield` gives the results, one for each of `outputs`
    and of its type. As in every destination-passing operation, `outputs` are
    the initial values of the results, which a body is free to ignore.

    The body sees nothing from outside but its arguments, so that equal bodies
    can be compiled once, and holds constants only if they are scalar.

    ```mlir
    %r = graph.dispatch ins(%a, %b : tensor<4x8xf32>, tensor<8x4xf32>)
        outs(%dest : tensor<4x4xf32>) -> tensor<4x4xf32> {
    ^bb0(%a_: tensor<4x8xf32>, %b_: tensor<8x4xf32>, %dest_: tensor<4x4xf32>):
      ...
      graph.yield %x : tensor<4x4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$inputs,
                       Variadic<AnyStaticShapeTensor>:$outputs);
  let results = (outs Variadic<AnyStaticShapeTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    `outs` `(` $outputs `:` type($outputs) `)` `->` type($results)
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    // Result types from `outputs`; the body gets its block and arguments, and
    // the builder's insertion point does not move.
    OpBuilder<(ins "::mlir::ValueRange":$inputs, "::mlir::ValueRange":$outputs)>
  ];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutputsMutable(); }
    /// The body's argument that stands for input or output `index`.
    ::mlir::BlockArgument getInputArgument(unsigned index) {
      return getBody().getArgument(index);
    }
    ::mlir::BlockArgument getOutputArgument(unsigned index) {
      return getBody().getArgument(getInputs().size() + index);
    }
  }];
}

def Graph_YieldOp : Graph_Op<"yield", [
    Pure, Terminator, ReturnLike, HasParent<"DispatchOp">]> {
  let summary = "The results of a graph.dispatch";
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif // TESSERA_DIALECTS_GRAPH_GRAPHOPS
