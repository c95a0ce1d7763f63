//===- WideBoundary.cpp - 64-bit integers at a model's boundary -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WideBoundary.h"
#include "TensorBuilders.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

static bool isWide(Type type) {
  return getElementTypeOrSelf(type).isInteger(64);
}

/// Half `number` of the pairs.
static Value takeHalf(ImplicitLocOpBuilder &b, Value pairs, int64_t number) {
  SmallVector<int64_t> shape(shapeOf(pairs));
  SmallVector<OpFoldResult> offsets(shape.size(), b.getIndexAttr(0)),
      strides(shape.size(), b.getIndexAttr(1)), sizes;
  for (int64_t extent : shape)
    sizes.push_back(b.getIndexAttr(extent));
  offsets.back() = b.getIndexAttr(number);
  sizes.back() = b.getIndexAttr(1);
  Value half =
      tensor::ExtractSliceOp::create(b, pairs, offsets, sizes, strides);
  shape.pop_back();
  return buildReshape(b, half, shape);
}

static Value join(ImplicitLocOpBuilder &b, Value pairs) {
  Type i64 = b.getI64Type();
  return *buildElementwise(
      b, {takeHalf(b, pairs, 0), takeHalf(b, pairs, 1)}, i64,
      [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
        Value high = arith::ShLIOp::create(
            b, arith::ExtSIOp::create(b, i64, e[1]), buildNumber(b, i64, 32));
        return arith::OrIOp::create(b, arith::ExtUIOp::create(b, i64, e[0]),
                                    high);
      });
}

static Value split(ImplicitLocOpBuilder &b, Value value) {
  Type i64 = b.getI64Type(), i32 = b.getI32Type();
  SmallVector<Value> halves;
  SmallVector<int64_t> shape(shapeOf(value));
  shape.push_back(1);
  for (double amount : {0, 32}) {
    Value half = *buildElementwise(
        b, value, i32, [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
          Value part = e[0];
          if (amount != 0)
            part = arith::ShRSIOp::create(b, part, buildNumber(b, i64, amount));
          return arith::TruncIOp::create(b, i32, part);
        });
    halves.push_back(buildReshape(b, half, shape));
  }
  return tensor::ConcatOp::create(b, shape.size() - 1, halves);
}

void tessera::storeIntegersAsPairs(func::FuncOp function) {
  Block &block = function.getBody().front();
  for (BlockArgument argument : block.getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    if (!isWide(type) || argument.use_empty())
      continue;
    ImplicitLocOpBuilder b(argument.getLoc(), function.getContext());
    b.setInsertionPointToStart(&block);
    SmallVector<int64_t> shape(type.getShape());
    shape.push_back(2);
    // The users first: those of the pairs come after.
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : argument.getUses())
      uses.push_back(&use);
    argument.setType(RankedTensorType::get(shape, b.getI32Type()));
    Value joined = join(b, argument);
    for (OpOperand *use : uses)
      use->set(joined);
  }
  auto end = cast<func::ReturnOp>(block.getTerminator());
  for (OpOperand &operand : end->getOpOperands())
    if (isWide(operand.get().getType())) {
      ImplicitLocOpBuilder b(operand.get().getLoc(), function.getContext());
      b.setInsertionPoint(end);
      SmallVector<int64_t> shape(shapeOf(operand.get()));
      if (product(shape) == 0) {
        shape.push_back(2);
        operand.set(buildEmpty(b, shape, b.getI32Type()));
        continue;
      }
      operand.set(split(b, operand.get()));
    }
  function.setType(FunctionType::get(
      function.getContext(), block.getArgumentTypes(), end->getOperandTypes()));
}
