//===- BooleanBoundary.cpp - Booleans at a model's boundary ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BooleanBoundary.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tessera;

/// `function` of every element of `value`, of the element type `to`.
static Value
mapElements(OpBuilder &builder, Location loc, Value value, Type to,
            llvm::function_ref<Value(OpBuilder &, Location, Value)> function) {
  auto type = cast<RankedTensorType>(value.getType());
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(), to);
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, empty.getType(), value, empty,
             ArrayRef{identity, identity}, iterators,
             [&](OpBuilder &body, Location at, ValueRange elements) {
               linalg::YieldOp::create(body, at,
                                       function(body, at, elements[0]));
             })
      .getResult(0);
}

static bool isBoolean(Type type) {
  return getElementTypeOrSelf(type).isInteger(1);
}

void tessera::storeBooleansAsBytes(func::FuncOp function) {
  OpBuilder builder(function.getContext());
  Type byte = builder.getI8Type();
  Block &block = function.getBody().front();
  builder.setInsertionPointToStart(&block);
  for (BlockArgument argument : block.getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    if (!isBoolean(type))
      continue;
    argument.setType(RankedTensorType::get(type.getShape(), byte));
    Value truth =
        mapElements(builder, argument.getLoc(), argument, type.getElementType(),
                    [&](OpBuilder &body, Location loc, Value element) -> Value {
                      Value zero = arith::ConstantOp::create(
                          body, loc, body.getIntegerAttr(byte, 0));
                      return arith::CmpIOp::create(
                          body, loc, arith::CmpIPredicate::ne, element, zero);
                    });
    argument.replaceAllUsesExcept(
        truth, cast<linalg::GenericOp>(truth.getDefiningOp()));
  }
  auto end = cast<func::ReturnOp>(block.getTerminator());
  builder.setInsertionPoint(end);
  for (OpOperand &operand : end->getOpOperands())
    if (auto type = cast<RankedTensorType>(operand.get().getType());
        isBoolean(type) && type.getNumElements() == 0)
      operand.set(tensor::EmptyOp::create(builder, operand.get().getLoc(),
                                          type.getShape(), byte));
    else if (isBoolean(type))
      operand.set(mapElements(
          builder, operand.get().getLoc(), operand.get(), byte,
          [&](OpBuilder &body, Location loc, Value element) -> Value {
            return arith::ExtUIOp::create(body, loc, byte, element);
          }));
  function.setType(builder.getFunctionType(block.getArgumentTypes(),
                                           end->getOperandTypes()));
}
