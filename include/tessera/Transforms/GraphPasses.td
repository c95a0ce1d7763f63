//===- GraphPasses.td - Passes on the graph level ----------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TRANSFORMS_GRAPHPASSES
#define TESSERA_TRANSFORMS_GRAPHPASSES

include "mlir/Pass/PassBase.td"

def FoldBatchNorm : Pass<"tessera-fold-batch-norm", "::mlir::func::FuncOp"> {
  let summary = "Fold batch norms into the convolutions that feed them";
  let description = [{
    A `graph.batch_norm` whose input is a convolution that nothing else reads,
    with or without a bias, becomes part of it if all constants are known:

        factor[c]     = scale[c] / sqrt(variance[c] + epsilon)
        weights[c, _] = weights[c, _] * factor[c]
        bias[c]       = (bias[c] - mean[c]) * factor[c] + beta[c]

    each operation rounded to f32, in this order. Other batch norms are
    decomposed into linalg. No `graph.batch_norm` is left.

    Example, with `%w`, `%s` and the other parameters constant:

    ```mlir
    %c = linalg.conv_2d_nchw_fchw ins(%x, %w : …) outs(%zero : …) -> …
    %r = graph.batch_norm %c, %s, %b, %m, %v epsilon = 1.0e-5 : …
    ```

    becomes

    ```mlir
    %c = linalg.conv_2d_nchw_fchw ins(%x, %w_folded : …) outs(%zero : …) -> …
    %r = linalg.generic … ins(%c, %bias : …) … { arith.addf … }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FoldConstantLayouts : Pass<"tessera-fold-constant-layouts",
                               "::mlir::func::FuncOp"> {
  let summary = "Apply transposes and reshapes of constants to their elements";
  let description = [{
    `linalg.transpose`, `tensor.expand_shape` and `tensor.collapse_shape` of a
    constant become a constant.

    ```mlir
    %w = arith.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
    %t = linalg.transpose ins(%w : tensor<1x2xf32>) outs(%e : tensor<2x1xf32>)
        permutation = [1, 0]
    ```

    becomes

    ```mlir
    %t = arith.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif // TESSERA_TRANSFORMS_GRAPHPASSES
