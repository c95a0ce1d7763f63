//===- CheckDialect.cpp - The check dialect -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Check/CheckDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tessera::check;

#include "dialects/Check/CheckDialect.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Check/CheckOps.cpp.inc"

void CheckDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Check/CheckOps.cpp.inc"
      >();
}

LogicalResult ExpectCloseOp::verify() {
  for (auto [name, tolerance] :
       {std::pair("atol", getAtol()), std::pair("rtol", getRtol())})
    // NaN is no tolerance either.
    if (!tolerance.isFinite() || tolerance.isNegative())
      return emitOpError(name) << " must be a number from 0 on";
  return success();
}
