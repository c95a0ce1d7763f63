//===- RoundContractions.cpp - Contractions of narrower operands ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinalgStructure.h"
#include "WidenedFloats.h"
#include "dialects/Graph/GraphConstants.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tessera/Transforms/Passes.h"
#include <bit>
#include <cmath>
#include <cstring>

namespace tessera {
#define GEN_PASS_DEF_ROUNDCONTRACTIONSPASS
#include "lib/Transforms/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// To nearest, ties to even; NaN stays one, and is quiet.
static uint16_t roundedBits(float value, FloatType format) {
  if (format.isBF16()) {
    auto bits = std::bit_cast<uint32_t>(value);
    if (std::isnan(value))
      return uint16_t(bits >> 16) | 0x40;
    return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
  APFloat rounded(value);
  bool inexact = false;
  rounded.convert(format.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                  &inexact);
  return uint16_t(rounded.bitcastToAPInt().getZExtValue());
}

namespace {
class Rounding {
public:
  Rounding(FloatType format) : format(format) {}

  void round(linalg::LinalgOp op) {
    for (OpOperand *operand : op.getDpsInputOperands())
      if (Value rounded = roundedValue(operand->get()))
        operand->set(rounded);
  }

private:
  /// What the value is once rounded and widened again; null if it is no tensor
  /// of f32 or holds values of a narrower format already.
  Value roundedValue(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || !type.getElementType().isF32())
      return nullptr;
    if (auto producer = value.getDefiningOp<linalg::LinalgOp>();
        producer && isFloatWidening(producer))
      return nullptr;
    Value &known = widened[value];
    if (!known) {
      OpBuilder builder(value.getContext());
      builder.setInsertionPointAfterValue(value);
      known = convertFloats(builder, value.getLoc(), narrowValue(value, type),
                            type.getElementType());
    }
    return known;
  }

  /// The value rounded, where it comes into being: before it is padded or takes
  /// another shape, so that its producer can store the narrower format.
  Value narrowValue(Value value, RankedTensorType type) {
    if (Value known = narrow.lookup(value))
      return known;
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    Value result = narrowConstant(builder, value, type);
    if (!result)
      result = narrowLayout(builder, value, type);
    if (!result)
      result = convertFloats(builder, value.getLoc(), value, format);
    narrow[value] = result;
    return result;
  }

  /// Of an operation that moves elements: the same of its rounded source.
  Value narrowLayout(OpBuilder &builder, Value value, RankedTensorType type) {
    Operation *op = value.getDefiningOp();
    if (!op ||
        !isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp,
             tensor::ExtractSliceOp, tensor::PadOp, linalg::TransposeOp>(op))
      return nullptr;
    auto source = cast<RankedTensorType>(op->getOperand(0).getType());
    Value padding;
    if (auto pad = dyn_cast<tensor::PadOp>(op)) {
      FloatAttr rounded = roundedPadding(pad, format, /*exactly=*/false);
      if (!rounded)
        return nullptr;
      padding = arith::ConstantOp::create(builder, pad.getLoc(), rounded);
    }
    Value moved = narrowValue(op->getOperand(0), source);
    if (isa<linalg::TransposeOp>(op)) {
      Value empty = tensor::EmptyOp::create(builder, op->getLoc(),
                                            type.getShape(), format);
      return linalg::TransposeOp::create(
                 builder, op->getLoc(), moved, empty,
                 cast<linalg::TransposeOp>(op).getPermutation())
          ->getResult(0);
    }
    if (auto pad = dyn_cast<tensor::PadOp>(op))
      return tensor::PadOp::create(builder, op->getLoc(), type.clone(format),
                                   moved, pad.getMixedLowPad(),
                                   pad.getMixedHighPad(), padding,
                                   pad.getNofold());
    Operation *clone = builder.clone(*op);
    clone->setOperand(0, moved);
    clone->getResult(0).setType(type.clone(format));
    return clone->getResult(0);
  }

  Value narrowConstant(OpBuilder &builder, Value value, RankedTensorType type) {
    ElementsAttr constant = graph::getConstant(value);
    if (!constant)
      return nullptr;
    std::optional<SmallVector<float>> floats = graph::getFloats(constant);
    if (!floats)
      return nullptr;
    SmallVector<char> bytes(floats->size() * sizeof(uint16_t));
    for (auto [i, element] : llvm::enumerate(*floats)) {
      uint16_t bits = roundedBits(element, format);
      std::memcpy(&bytes[i * sizeof(bits)], &bits, sizeof(bits));
    }
    RankedTensorType rounded = type.clone(format);
    return arith::ConstantOp::create(
        builder, value.getLoc(), rounded,
        graph::makeConstant(rounded, bytes, "rounded"));
  }

  FloatType format;
  llvm::DenseMap<Value, Value> narrow, widened;
};

struct RoundContractions
    : tessera::impl::RoundContractionsPassBase<RoundContractions> {
  using RoundContractionsPassBase::RoundContractionsPassBase;

  void runOnOperation() override {
    Builder builder(&getContext());
    FloatType element = format == "bf16"  ? FloatType(builder.getBF16Type())
                        : format == "f16" ? FloatType(builder.getF16Type())
                                          : FloatType();
    if (!element) {
      getOperation().emitError()
          << "contractions can be rounded to bf16 or f16, not '" << format
          << "'";
      return signalPassFailure();
    }
    Rounding rounding(element);
    getOperation().walk([&](linalg::LinalgOp op) {
      if (op.hasPureTensorSemantics() && matchContraction(op))
        rounding.round(op);
    });
  }
};
} // namespace
