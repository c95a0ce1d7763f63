//===- MlirReductions.cpp - Reductions that engines lack ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Engines reduce by sum, maximum and minimum, in f32 and i32. A product is
// taken by halves, a conjunction or disjunction of booleans is a minimum or
// maximum, and a sum of narrow floats into a narrow float is one in f32 that is
// rounded at the end.
//
//===----------------------------------------------------------------------===//

#include "MlirImport.h"
#include "TensorBuilders.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;
using B = ImplicitLocOpBuilder;

static bool isNarrowFloat(Type type) { return type.isF16() || type.isBF16(); }

/// The elements in another type. Tensors of a static shape broadcast to
/// themselves.
static Value convertElements(B &b, Value value, Type type,
                             ElementFunction function) {
  return *buildElementwise(b, value, type, function);
}

/// The only operation between the arguments and the yield, if it combines the
/// element of the only input with the result so far.
static Operation *combinerOf(linalg::GenericOp op) {
  Block *body = op.getBody();
  if (op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
      op.getNumReductionLoops() == 0 || body->getOperations().size() != 2)
    return nullptr;
  Operation &combiner = body->front();
  auto isArgument = [&](Value value) { return isa<BlockArgument>(value); };
  if (combiner.getNumOperands() != 2 ||
      !llvm::all_of(combiner.getOperands(), isArgument) ||
      combiner.getOperand(0) == combiner.getOperand(1) ||
      body->getTerminator()->getOperand(0) != combiner.getResult(0))
    return nullptr;
  return &combiner;
}

/// Whether the input is read as it lies, and the result has the loops that stay
/// in their order; dimensions of extent 1 may stand between them.
static bool isPlain(linalg::GenericOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (!maps[0].isIdentity())
    return false;
  unsigned next = 0;
  for (AffineExpr expr : maps[1].getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim) {
      if (!isa<AffineConstantExpr>(expr))
        return false;
      continue;
    }
    if (dim.getPosition() < next)
      return false;
    next = dim.getPosition() + 1;
  }
  return true;
}

/// `from` to `to` of dimension `dim`.
static Value slice(B &b, Value value, int64_t dim, int64_t from, int64_t to) {
  SmallVector<int64_t> shape(shapeOf(value));
  SmallVector<OpFoldResult> offsets(shape.size(), b.getIndexAttr(0)), sizes,
      strides(shape.size(), b.getIndexAttr(1));
  for (int64_t extent : shape)
    sizes.push_back(b.getIndexAttr(extent));
  offsets[dim] = b.getIndexAttr(from);
  sizes[dim] = b.getIndexAttr(to - from);
  return tensor::ExtractSliceOp::create(b, value, offsets, sizes, strides);
}

static void expandProduct(linalg::GenericOp op, Operation *combiner) {
  B b(op.getLoc(), op);
  Value value = op.getInputs()[0];
  Type type = elementTypeOf(value);
  auto combine = [&](Value x, Value y) {
    return *buildElementwise(b, {x, y}, type, [&](B &b, ValueRange e) -> Value {
      if (isa<arith::MulFOp>(combiner))
        return arith::MulFOp::create(b, e[0], e[1]);
      return arith::MulIOp::create(b, e[0], e[1]);
    });
  };
  for (auto [dim, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction)
      for (int64_t count = shapeOf(value)[dim]; count > 1;) {
        int64_t half = count / 2;
        Value product = combine(slice(b, value, dim, 0, half),
                                slice(b, value, dim, half, 2 * half));
        if (count % 2 != 0)
          product = tensor::ConcatOp::create(
              b, dim,
              ValueRange{product, slice(b, value, dim, count - 1, count)});
        value = product;
        count -= half;
      }
  Value init = op.getOutputs()[0];
  value = combine(init, buildReshape(b, value, shapeOf(init)));
  op.replaceAllUsesWith(ValueRange{value});
  op.erase();
}

static void expandTruth(linalg::GenericOp op, Operation *combiner) {
  B b(op.getLoc(), op);
  Type i32 = b.getI32Type(), i1 = b.getI1Type();
  auto widen = [&](Value value) {
    return convertElements(b, value, i32, [&](B &b, ValueRange e) -> Value {
      return arith::ExtUIOp::create(b, i32, e[0]);
    });
  };
  bool isAll = isa<arith::AndIOp>(combiner);
  Value init = widen(op.getOutputs()[0]);
  Value extreme =
      linalg::GenericOp::create(
          b, init.getType(), widen(op.getInputs()[0]), init,
          op.getIndexingMapsArray(), op.getIteratorTypesArray(),
          [&](OpBuilder &body, Location loc, ValueRange e) {
            Value result =
                isAll
                    ? arith::MinSIOp::create(body, loc, e[0], e[1]).getResult()
                    : arith::MaxSIOp::create(body, loc, e[0], e[1]);
            linalg::YieldOp::create(body, loc, result);
          })
          .getResult(0);
  Value truth =
      convertElements(b, extreme, i1, [&](B &b, ValueRange e) -> Value {
        return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, e[0],
                                     buildNumber(b, i32, 0));
      });
  op.replaceAllUsesWith(ValueRange{truth});
  op.erase();
}

/// A contraction or sum of narrow floats into a narrow float.
static bool sumsNarrowFloats(linalg::GenericOp op) {
  if (op.getNumReductionLoops() == 0 || op.getNumDpsInits() != 1 ||
      op.getNumDpsInputs() == 0 ||
      !isNarrowFloat(elementTypeOf(op.getOutputs()[0])))
    return false;
  bool sums = false;
  for (Operation &def : op.getBody()->without_terminator()) {
    if (!isa<arith::AddFOp, arith::MulFOp>(def))
      return false;
    sums |=
        isa<arith::AddFOp>(def) &&
        llvm::is_contained(def.getOperands(), op.getRegionOutputArgs().front());
  }
  // Sums alone the engine takes as they are.
  return sums && op.getNumDpsInputs() > 1;
}

static void widenSum(linalg::GenericOp op) {
  B b(op.getLoc(), op);
  Type f32 = b.getF32Type(), narrow = elementTypeOf(op.getOutputs()[0]);
  Value init = convertElements(b, op.getOutputs()[0], f32,
                               [&](B &b, ValueRange e) -> Value {
                                 return arith::ExtFOp::create(b, f32, e[0]);
                               });
  Value sum =
      linalg::GenericOp::create(
          b, init.getType(), op.getInputs(), init, op.getIndexingMapsArray(),
          op.getIteratorTypesArray(),
          [&](OpBuilder &body, Location loc, ValueRange e) {
            IRMapping mapping;
            for (auto [from, to] : llvm::zip(op.getBody()->getArguments(), e))
              mapping.map(
                  from,
                  to.getType() == f32
                      ? to
                      : arith::ExtFOp::create(body, loc, f32, to).getResult());
            for (Operation &def : op.getBody()->without_terminator()) {
              Value x = mapping.lookup(def.getOperand(0));
              Value y = mapping.lookup(def.getOperand(1));
              mapping.map(
                  def.getResult(0),
                  isa<arith::AddFOp>(def)
                      ? arith::AddFOp::create(body, loc, x, y).getResult()
                      : arith::MulFOp::create(body, loc, x, y));
            }
            linalg::YieldOp::create(
                body, loc,
                mapping.lookup(op.getBody()->getTerminator()->getOperand(0)));
          })
          .getResult(0);
  Value rounded =
      convertElements(b, sum, narrow, [&](B &b, ValueRange e) -> Value {
        return arith::TruncFOp::create(b, narrow, e[0]);
      });
  op.replaceAllUsesWith(ValueRange{rounded});
  op.erase();
}

void tessera::expandReductions(func::FuncOp entry) {
  SmallVector<linalg::LinalgOp> named;
  entry.walk([&](linalg::LinalgOp op) {
    bool isNarrow =
        op.getNumDpsInits() == 1 && op.getNumReductionLoops() != 0 &&
        isNarrowFloat(
            getElementTypeOrSelf(op.getDpsInitOperand(0)->get().getType()));
    if (isa<linalg::ReduceOp>(op) || (isNarrow && !isa<linalg::GenericOp>(op)))
      named.push_back(op);
  });
  IRRewriter rewriter(entry.getContext());
  for (linalg::LinalgOp op : named) {
    rewriter.setInsertionPoint(op);
    (void)linalg::generalizeNamedOp(rewriter, op);
  }
  SmallVector<linalg::GenericOp> ops;
  entry.walk([&](linalg::GenericOp op) { ops.push_back(op); });
  for (linalg::GenericOp op : ops) {
    if (!op.hasPureTensorSemantics() ||
        llvm::any_of(op->getOperandTypes(), [](Type type) {
          auto tensor = dyn_cast<RankedTensorType>(type);
          return !tensor || !tensor.hasStaticShape();
        }))
      continue;
    if (sumsNarrowFloats(op)) {
      widenSum(op);
      continue;
    }
    Operation *combiner = combinerOf(op);
    if (!combiner)
      continue;
    if (isa<arith::MulFOp, arith::MulIOp>(combiner) && isPlain(op))
      expandProduct(op, combiner);
    else if (isa<arith::AndIOp, arith::OrIOp>(combiner) &&
             combiner->getResult(0).getType().isInteger(1))
      expandTruth(op, combiner);
  }
}
