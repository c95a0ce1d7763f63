//===- StreamKeys.cpp - Attention over some keys at a time ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop over blocks of keys carries, for each row, the largest score so far,
// the sum of exponentials and the sum of weighted values. Both sums belong to
// that largest score: when it grows from m to m', they shrink by exp(m - m').
//
// The matrix engine computes the next block's scores, in the place of this
// block's, while the vector engine turns these into exponentials.
//
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "LinalgStructure.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/Interfaces/TilingInterface.h"

using namespace mlir;
using namespace tessera;

namespace {

class KeyStream {
public:
  KeyStream(RewriterBase &rewriter, Attention &attention)
      : rewriter(rewriter), attention(attention),
        loc(attention.values.getLoc()) {}

  LogicalResult build(int64_t keys);

private:
  /// Some of the keys.
  struct Keys {
    OpFoldResult first;
    int64_t count;
  };
  /// What is carried from block to block.
  struct State {
    Value scores, input, exponentials, maximum, sum, values;
    SmallVector<Value> list() const {
      return {scores, input, exponentials, maximum, sum, values};
    }
    static State of(ValueRange list) {
      return {list[0], list[1], list[2], list[3], list[4], list[5]};
    }
  };

  State start();
  /// Adds a block, whose scores are there, and computes those of the next one,
  /// if any.
  FailureOr<State> addBlock(const State &old, Keys block,
                            std::optional<Keys> next);
  /// The first product for some keys.
  FailureOr<Value> scores(Keys block, Value destination);
  /// The input of the softmax, from that.
  FailureOr<Value> softmaxInput(Value scores, Keys block, Value destination);
  /// `destination`, or a new one if that has not the type.
  Value fitting(Value destination, Type type);
  tensor::ExtractSliceOp slice(Value whole, unsigned dim, OpFoldResult first,
                               int64_t count);
  /// `reduction` of `input`, from its neutral element.
  Value reduce(linalg::GenericOp reduction, Value input);
  linalg::GenericOp elementwise(
      ValueRange inputs, ValueRange outputs, ArrayRef<AffineMap> maps,
      llvm::function_ref<SmallVector<Value>(ImplicitLocOpBuilder &, ValueRange)>
          body);
  Value filled(Value like, TypedAttr value);

  RewriterBase &rewriter;
  Attention &attention;
  Location loc;
};

} // namespace

static Value widen(ImplicitLocOpBuilder &b, Value value) {
  return value.getType().isF32()
             ? value
             : arith::ExtFOp::create(b, b.getF32Type(), value).getResult();
}
static Value narrow(ImplicitLocOpBuilder &b, Value value, Type type) {
  return type.isF32() ? value
                      : arith::TruncFOp::create(b, type, value).getResult();
}

linalg::GenericOp KeyStream::elementwise(
    ValueRange inputs, ValueRange outputs, ArrayRef<AffineMap> maps,
    llvm::function_ref<SmallVector<Value>(ImplicitLocOpBuilder &, ValueRange)>
        body) {
  SmallVector<utils::IteratorType> parallel(maps.back().getNumDims(),
                                            utils::IteratorType::parallel);
  return linalg::GenericOp::create(
      rewriter, loc, outputs.getTypes(), inputs, outputs, maps, parallel,
      [&](OpBuilder &builder, Location bodyLoc, ValueRange arguments) {
        ImplicitLocOpBuilder b(bodyLoc, builder);
        SmallVector<Value> results = body(b, arguments);
        linalg::YieldOp::create(b, results);
      });
}

/// On the vector engine, which uses it next.
Value KeyStream::filled(Value like, TypedAttr value) {
  auto type = cast<RankedTensorType>(like.getType());
  Value empty = tensor::EmptyOp::create(rewriter, loc, type, ValueRange());
  return elementwise({}, empty, rewriter.getMultiDimIdentityMap(type.getRank()),
                     [&](ImplicitLocOpBuilder &b, ValueRange) {
                       return SmallVector<Value>{
                           arith::ConstantOp::create(b, value)};
                     })
      .getResult(0);
}

tensor::ExtractSliceOp KeyStream::slice(Value whole, unsigned dim,
                                        OpFoldResult first, int64_t count) {
  auto type = cast<RankedTensorType>(whole.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), rewriter.getIndexAttr(0)),
      strides(type.getRank(), rewriter.getIndexAttr(1)), sizes;
  for (int64_t extent : type.getShape())
    sizes.push_back(rewriter.getIndexAttr(extent));
  offsets[dim] = first;
  sizes[dim] = rewriter.getIndexAttr(count);
  return tensor::ExtractSliceOp::create(rewriter, loc, whole, offsets, sizes,
                                        strides);
}

FailureOr<Value> KeyStream::scores(Keys block, Value destination) {
  linalg::GenericOp whole = attention.scores;
  tensor::ExtractSliceOp part =
      slice(whole.getResult(0), *attention.keyDimOfScores(), block.first,
            block.count);
  FailureOr<TilingResult> tiled = tensor::replaceExtractSliceWithTiledProducer(
      rewriter, part, whole->getResult(0));
  if (failed(tiled))
    return whole.emitError("cannot be computed for a part of the keys");
  auto op = cast<linalg::GenericOp>(tiled->tiledOps[0]);
  rewriter.setInsertionPoint(op);
  destination = fitting(destination, part.getType());
  auto start = whole.getOutputs()[0].getDefiningOp<linalg::FillOp>();
  Value filled =
      linalg::FillOp::create(rewriter, loc, start.getInputs()[0], destination)
          .getResult(0);
  rewriter.modifyOpInPlace(op, [&] { op.getDpsInitOperand(0)->set(filled); });
  rewriter.setInsertionPointAfter(op);
  rewriter.eraseOp(part);
  return op.getResult(0);
}

Value KeyStream::fitting(Value destination, Type type) {
  if (destination.getType() == type)
    return destination;
  return tensor::EmptyOp::create(rewriter, loc, cast<RankedTensorType>(type),
                                 ValueRange());
}

FailureOr<Value> KeyStream::softmaxInput(Value scores, Keys block,
                                         Value destination) {
  // The next block's scores take the place of these.
  if (attention.chain.empty()) {
    Value place = fitting(destination, scores.getType());
    auto type = cast<RankedTensorType>(scores.getType());
    AffineMap identity = rewriter.getMultiDimIdentityMap(type.getRank());
    return elementwise(scores, place, {identity, identity},
                       [](ImplicitLocOpBuilder &, ValueRange arguments) {
                         return SmallVector<Value>{arguments[0]};
                       })
        .getResult(0);
  }
  linalg::GenericOp end;
  SmallVector<tensor::ExtractSliceOp> worklist{slice(attention.softmax.input(),
                                                     attention.softmax.keyLoop,
                                                     block.first, block.count)};
  while (!worklist.empty()) {
    tensor::ExtractSliceOp part = worklist.pop_back_val();
    Operation *producer = part.getSource().getDefiningOp();
    if (producer == attention.scores) {
      rewriter.replaceOp(part, scores);
      continue;
    }
    if (!llvm::is_contained(attention.chain, producer))
      continue;
    rewriter.setInsertionPoint(part);
    FailureOr<TilingResult> tiled =
        tensor::replaceExtractSliceWithTiledProducer(rewriter, part,
                                                     producer->getResult(0));
    if (failed(tiled))
      return producer->emitError("cannot be computed for a part of the keys");
    if (!end)
      end = cast<linalg::GenericOp>(tiled->tiledOps[0]);
    for (Operation *generated : tiled->generatedSlices)
      if (auto next = dyn_cast<tensor::ExtractSliceOp>(generated))
        worklist.push_back(next);
    rewriter.replaceOp(part, tiled->tiledValues[0]);
  }
  rewriter.setInsertionPoint(end);
  Value place = fitting(destination, end.getType(0));
  rewriter.modifyOpInPlace(end, [&] { end.getDpsInitOperand(0)->set(place); });
  rewriter.setInsertionPointAfter(end);
  return end.getResult(0);
}

Value KeyStream::reduce(linalg::GenericOp reduction, Value input) {
  auto fill = reduction.getOutputs()[0].getDefiningOp<linalg::FillOp>();
  auto type = cast<RankedTensorType>(reduction.getType(0));
  Value empty = tensor::EmptyOp::create(rewriter, loc, type, ValueRange());
  Value neutral =
      linalg::FillOp::create(rewriter, loc, fill.getInputs()[0], empty)
          .getResult(0);
  return clone(rewriter, reduction, type, {input, neutral})->getResult(0);
}

KeyStream::State KeyStream::start() {
  RowSoftmax &softmax = attention.softmax;
  // The lowest finite number: of a row that starts with masked keys, whose
  // scores are -infinity, the exponentials are 0 and no difference is NaN.
  auto element =
      cast<FloatType>(getElementTypeOrSelf(softmax.maximum.getType(0)));
  State state;
  state.maximum = filled(
      softmax.maximum.getResult(0),
      FloatAttr::get(element, APFloat::getLargest(element.getFloatSemantics(),
                                                  /*Negative=*/true)));
  for (auto [value, op] : {std::pair(&state.sum, softmax.sum),
                           std::pair(&state.values, attention.values)})
    *value = filled(op.getResult(0),
                    rewriter.getZeroAttr(getElementTypeOrSelf(op.getType(0))));
  return state;
}

FailureOr<KeyStream::State> KeyStream::addBlock(const State &old, Keys block,
                                                std::optional<Keys> following) {
  RowSoftmax &softmax = attention.softmax;
  FailureOr<Value> x = softmaxInput(old.scores, block, old.input);
  if (failed(x))
    return failure();
  State next;
  next.input = *x;
  Value ofBlock = reduce(softmax.maximum, *x);
  if (following) {
    FailureOr<Value> ahead = scores(*following, old.scores);
    if (failed(ahead))
      return failure();
    next.scores = *ahead;
  }
  auto rowType = cast<RankedTensorType>(old.maximum.getType());
  AffineMap rows = rewriter.getMultiDimIdentityMap(rowType.getRank());
  Value empty = tensor::EmptyOp::create(rewriter, loc, rowType.getShape(),
                                        rewriter.getF32Type());
  auto update = elementwise(
      {ofBlock, old.maximum}, {old.maximum, empty}, {rows, rows, rows, rows},
      [&](ImplicitLocOpBuilder &b, ValueRange arguments) {
        Value before = widen(b, arguments[1]);
        Value now =
            arith::MaximumFOp::create(b, widen(b, arguments[0]), before);
        Value shrinks =
            math::ExpOp::create(b, arith::SubFOp::create(b, before, now));
        return SmallVector<Value>{narrow(b, now, rowType.getElementType()),
                                  shrinks};
      });
  next.maximum = update.getResult(0);
  Value factor = update.getResult(1);

  // The exponentials of the block, by the largest score so far.
  SmallVector<Value> operands(softmax.exponential.getInputs());
  for (Value &operand : operands)
    operand = operand == softmax.input() ? *x : next.maximum;
  auto type = cast<RankedTensorType>(
      cast<RankedTensorType>(x->getType())
          .clone(getElementTypeOrSelf(softmax.exponential.getType(0))));
  operands.push_back(fitting(old.exponentials, type));
  Value e = clone(rewriter, softmax.exponential, type, operands)->getResult(0);
  next.exponentials = e;

  Value sumOfBlock = reduce(softmax.sum, e);
  Type sumType = getElementTypeOrSelf(old.sum);
  next.sum =
      elementwise(
          {old.sum, factor, sumOfBlock}, old.sum, {rows, rows, rows, rows},
          [&](ImplicitLocOpBuilder &b, ValueRange arguments) {
            Value scaled =
                arith::MulFOp::create(b, widen(b, arguments[0]), arguments[1]);
            Value sum =
                arith::AddFOp::create(b, scaled, widen(b, arguments[2]));
            return SmallVector<Value>{narrow(b, sum, sumType)};
          })
          .getResult(0);

  AffineMap identity = rewriter.getMultiDimIdentityMap(
      cast<RankedTensorType>(old.values.getType()).getRank());
  Type valuesType = getElementTypeOrSelf(old.values);
  Value scaled =
      elementwise({old.values, factor}, old.values,
                  {identity, attention.rowsOfResult(), identity},
                  [&](ImplicitLocOpBuilder &b, ValueRange arguments) {
                    Value product = arith::MulFOp::create(
                        b, widen(b, arguments[0]), arguments[1]);
                    return SmallVector<Value>{narrow(b, product, valuesType)};
                  })
          .getResult(0);
  linalg::GenericOp values = attention.values;
  unsigned other = 1 - attention.weights;
  SmallVector<Value> factors(2);
  factors[attention.weights] = e;
  factors[other] = slice(values.getInputs()[other], *attention.keyDimOfValues(),
                         block.first, block.count);
  next.values = clone(rewriter, values, values.getType(0),
                      {factors[0], factors[1], scaled})
                    ->getResult(0);
  return next;
}

LogicalResult KeyStream::build(int64_t keys) {
  RowSoftmax &softmax = attention.softmax;
  int64_t extent = cast<RankedTensorType>(softmax.input().getType())
                       .getDimSize(softmax.keyLoop);
  rewriter.setInsertionPointAfter(softmax.sum->isBeforeInBlock(attention.values)
                                      ? attention.values
                                      : softmax.sum);
  State state = start();
  int64_t full = extent / keys, rest = extent % keys;
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  };
  auto blockAt = [&](int64_t number) {
    return Keys{rewriter.getIndexAttr(number * keys),
                number < full ? keys : rest};
  };
  FailureOr<Value> first = scores(blockAt(0), attention.scores.getOutputs()[0]);
  if (failed(first))
    return failure();
  state.scores = *first;
  for (auto [place, value] :
       {std::pair(&state.input, softmax.input()),
        std::pair(&state.exponentials, softmax.exponential.getResult(0))}) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[softmax.keyLoop] = keys;
    *place =
        tensor::EmptyOp::create(rewriter, loc, shape, type.getElementType());
  }
  if (full > 1) {
    Value zero = index(0), end = index((full - 1) * keys), step = index(keys);
    auto loop =
        scf::ForOp::create(rewriter, loc, zero, end, step, state.list(),
                           [](OpBuilder &, Location, Value, ValueRange) {});
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToEnd(loop.getBody());
    ValueRange carried = loop.getRegionIterArgs();
    Value now = loop.getInductionVar();
    Value ahead = arith::AddIOp::create(rewriter, loc, now, step);
    FailureOr<State> next =
        addBlock(State::of(carried), {now, keys}, Keys{ahead, keys});
    if (failed(next))
      return failure();
    scf::YieldOp::create(rewriter, loc, next->list());
    state = State::of(loop.getResults());
  }
  for (int64_t number = full - 1; number < full + (rest != 0); ++number) {
    bool isLast = number + 1 == full + (rest != 0);
    FailureOr<State> next =
        addBlock(state, blockAt(number),
                 isLast ? std::nullopt : std::optional(blockAt(number + 1)));
    if (failed(next))
      return failure();
    state = *next;
  }
  rewriter.replaceAllUsesWith(softmax.sum.getResult(0), state.sum);
  rewriter.replaceAllUsesWith(attention.values.getResult(0), state.values);
  rewriter.eraseOp(attention.values);
  for (Operation *op : llvm::reverse(attention.beforeValues()))
    rewriter.eraseOp(op);
  return success();
}

LogicalResult tessera::streamKeys(RewriterBase &rewriter, Attention &attention,
                                  int64_t keys) {
  OpBuilder::InsertionGuard guard(rewriter);
  return KeyStream(rewriter, attention).build(keys);
}
