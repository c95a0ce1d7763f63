//===- CheckOps.td - The check dialect ---------------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a model, or a test, expects of the values that it computes.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_CHECK_CHECKOPS
#define TESSERA_DIALECTS_CHECK_CHECKOPS

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Check_Dialect : Dialect {
  let name = "check";
  let cppNamespace = "::tessera::check";
  let summary = "What a model expects of its own values";
  let description = [{
    An expectation stands beside the computation, so that one file holds a
    model, its inputs as constants if it likes, and the values that should come
    out. `tessera run` computes both operands on the device, compares them on
    the host, and ends with status 3 if they depart. Importing a model takes its
    expectations out of the function: each becomes two results more.
    docs/dialects/check-rationale.md says why it is as it is.
  }];
}

class Check_Op<string mnemonic, string summaryText, Type operandType>
    : Op<Check_Dialect, mnemonic, [AllTypesMatch<["got", "want"]>]> {
  let summary = summaryText;
  let arguments = (ins operandType:$got, operandType:$want);
  let assemblyFormat =
      "`(` $got `,` $want `)` attr-dict `:` type($got)";
}

def Check_ExpectEqOp : Check_Op<"expect_eq", "Equal elements",
                                AnyStaticShapeTensor> {
  let description = [{
    Every element of `got` equals that of `want`: zeros of either sign are
    equal, and NaN equals NaN.

    ```mlir
    check.expect_eq(%sum, %want) : tensor<4xi32>
    ```
  }];
}

def Check_ExpectCloseOp : Check_Op<
    "expect_close", "Elements that differ by little",
    StaticShapeTensorOf<[AnyFloat]>> {
  let description = [{
    Every element of `got` is within atol + rtol * |want| of that of `want`; an
    infinity only of the same one, and NaN only of NaN.

    ```mlir
    check.expect_close(%y, %want) {atol = 1.0e-06, rtol = 1.0e-05} : tensor<4xf32>
    ```
  }];
  let arguments = (ins StaticShapeTensorOf<[AnyFloat]>:$got,
                   StaticShapeTensorOf<[AnyFloat]>:$want,
                   DefaultValuedAttr<F64Attr, "1.0e-6">:$atol,
                   DefaultValuedAttr<F64Attr, "1.0e-5">:$rtol);
  let hasVerifier = 1;
}

#endif // TESSERA_DIALECTS_CHECK_CHECKOPS
