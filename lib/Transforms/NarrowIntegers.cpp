//===- NarrowIntegers.cpp - 64-bit integers in 32-bit lanes ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WideArithmetic.h"
#include "dialects/Graph/GraphConstants.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "tessera/Transforms/Passes.h"
#include <bit>
#include <cstring>

namespace tessera {
#define GEN_PASS_DEF_NARROWINTEGERSPASS
#include "lib/Transforms/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

static bool isWide(Type type) {
  return getElementTypeOrSelf(type).isInteger(64);
}
static bool isWide(Value value) { return isWide(value.getType()); }

namespace {

/// The tensors that stand for the tensors of i64 of a function.
using WideTensors = llvm::DenseMap<Value, Wide>;

//===-- One body ----------------------------------------------------------===//

/// Rewrites a linalg.generic that has to do with 64-bit integers.
class GenericNarrowing {
public:
  GenericNarrowing(IRRewriter &rewriter, linalg::GenericOp op,
                   WideTensors &tensors)
      : rewriter(rewriter), op(op), tensors(tensors) {}
  LogicalResult run();

private:
  /// A reduction of i64 by sum, maximum or minimum, of values that fit a word.
  LogicalResult prepareReduction();
  LogicalResult computeRanges();
  Interval rangeOf(Operation &def);
  Interval range(Value value) { return ranges.lookup(value); }
  Interval constantRange(Value value);

  /// The body's operations on the halves.
  LogicalResult copy(Operation &def, OpBuilder &builder);
  LogicalResult copyWide(Operation &def, WideBuilder &wide, OpBuilder &builder);
  Wide wideOf(Value value, WideBuilder &builder);
  /// A generic that gives half `half` of result `number`.
  FailureOr<Value> build(unsigned number, bool half);

  LogicalResult unsupported(Operation &def, const Twine &why) {
    return def.emitError() << "computes with 64-bit integers in a way that "
                              "32-bit lanes cannot: "
                           << why;
  }

  IRRewriter &rewriter;
  linalg::GenericOp op;
  WideTensors &tensors;
  llvm::DenseMap<Value, Interval> ranges;
  llvm::DenseMap<Value, Wide> wides;
  IRMapping mapping;
  /// Of a reduction: its combiner, and the neutral element in a word.
  Operation *combiner = nullptr;
  int64_t neutral = 0;
};

} // namespace

Interval GenericNarrowing::constantRange(Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)) &&
      number.getBitWidth() <= 64) {
    int64_t exact = number.getBitWidth() == 1
                        ? static_cast<int64_t>(number.getZExtValue())
                        : number.getSExtValue();
    return {exact, exact};
  }
  Type type = value.getType();
  return Interval::ofBits(type.isIntOrFloat() ? type.getIntOrFloatBitWidth()
                                              : 64);
}

/// The least 2^n - 1 that is not below `value`.
static int64_t maskOver(int64_t value) {
  return value <= 0
             ? 0
             : static_cast<int64_t>(std::bit_ceil(uint64_t(value) + 1)) - 1;
}

Interval GenericNarrowing::rangeOf(Operation &def) {
  Type type = def.getResult(0).getType();
  Interval whole =
      Interval::ofBits(type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 64);
  if (!type.isIntOrIndex())
    return whole;
  auto clamp = [&](Interval exact) {
    bool inside = exact.low >= whole.low && exact.high <= whole.high;
    return inside ? exact : whole;
  };
  auto operand = [&](unsigned i) {
    Value value = def.getOperand(i);
    auto known = ranges.find(value);
    return known != ranges.end() ? known->second : constantRange(value);
  };
  return llvm::TypeSwitch<Operation *, Interval>(&def)
      .Case<arith::ConstantOp>(
          [&](auto constant) { return constantRange(constant); })
      .Case<linalg::IndexOp>([&](linalg::IndexOp index) {
        return Interval{0, op.getStaticLoopRanges()[index.getDim()] - 1};
      })
      .Case<arith::AddIOp>(
          [&](auto) { return clamp(addIntervals(operand(0), operand(1))); })
      .Case<arith::SubIOp>([&](auto) {
        return clamp(subtractIntervals(operand(0), operand(1)));
      })
      .Case<arith::MulIOp>([&](auto) {
        return clamp(multiplyIntervals(operand(0), operand(1)));
      })
      .Case<arith::MaxSIOp>([&](auto) {
        return Interval{std::max(operand(0).low, operand(1).low),
                        std::max(operand(0).high, operand(1).high)};
      })
      .Case<arith::MinSIOp>([&](auto) {
        return Interval{std::min(operand(0).low, operand(1).low),
                        std::min(operand(0).high, operand(1).high)};
      })
      .Case<arith::SelectOp>(
          [&](auto) { return unite(operand(1), operand(2)); })
      .Case<arith::ExtSIOp>([&](auto) {
        return def.getOperand(0).getType().isInteger(1) ? Interval{-1, 0}
                                                        : operand(0);
      })
      .Case<arith::ExtUIOp>([&](auto) {
        unsigned bits = def.getOperand(0).getType().getIntOrFloatBitWidth();
        Interval from = operand(0);
        return from.low >= 0 ? from : Interval{0, (int64_t(1) << bits) - 1};
      })
      .Case<arith::IndexCastOp, arith::TruncIOp>(
          [&](auto) { return clamp(operand(0)); })
      .Case<arith::AndIOp>([&](auto) {
        Interval x = operand(0), y = operand(1);
        if (x.low < 0 && y.low < 0)
          return whole;
        int64_t high = x.low < 0   ? y.high
                       : y.low < 0 ? x.high
                                   : std::min(x.high, y.high);
        return Interval{0, high};
      })
      .Case<arith::OrIOp, arith::XOrIOp>([&](auto) {
        Interval x = operand(0), y = operand(1);
        if (x.low < 0 || y.low < 0)
          return whole;
        return Interval{0, maskOver(std::max(x.high, y.high))};
      })
      .Case<arith::ShRSIOp>([&](auto) {
        Interval by = operand(1), x = operand(0);
        if (by.low != by.high || by.low < 0 || by.low > 63)
          return whole;
        return Interval{x.low >> by.low, x.high >> by.low};
      })
      .Case<arith::ShLIOp>([&](auto) {
        Interval by = operand(1);
        if (by.low != by.high || by.low < 0 || by.low > 62)
          return whole;
        int64_t factor = int64_t(1) << by.low;
        return clamp(multiplyIntervals(operand(0), {factor, factor}));
      })
      .Case<arith::DivSIOp>([&](auto) {
        Interval x = operand(0), y = operand(1);
        if (y.low <= 0)
          return x.fitsWord() && y.fitsWord()
                     ? clamp(Interval{
                           -std::max(std::abs(x.low), std::abs(x.high)),
                           std::max(std::abs(x.low), std::abs(x.high))})
                     : whole;
        return Interval{std::min<int64_t>(x.low, 0),
                        std::max<int64_t>(x.high, 0)};
      })
      .Case<arith::RemSIOp>([&](auto) {
        Interval x = operand(0), y = operand(1);
        if (y.low <= 0 && !(x.fitsWord() && y.fitsWord()))
          return whole;
        int64_t size = std::max(std::abs(y.low), std::abs(y.high)) - 1;
        return Interval{x.low < 0 ? -size : 0, x.high > 0 ? size : 0};
      })
      .Default([&](auto) { return whole; });
}

LogicalResult GenericNarrowing::computeRanges() {
  for (BlockArgument argument : op.getBody()->getArguments()) {
    Value operand = op->getOperand(argument.getArgNumber());
    ranges[argument] = isWide(argument) ? tensors.lookup(operand).range
                                        : constantRange(argument);
  }
  for (Operation &def : op.getBody()->without_terminator()) {
    if (auto read = dyn_cast<tensor::ExtractOp>(def); read && isWide(read)) {
      ranges[read] = tensors.lookup(read.getTensor()).range;
      continue;
    }
    for (Value result : def.getResults())
      ranges[result] = constantRange(result);
    if (def.getNumResults() == 1)
      ranges[def.getResult(0)] = rangeOf(def);
  }
  return success();
}

LogicalResult GenericNarrowing::prepareReduction() {
  if (op.getNumReductionLoops() == 0 ||
      !llvm::any_of(op.getResultTypes(),
                    [](Type type) { return isWide(type); }))
    return success();
  auto yield = op.getBody()->getTerminator();
  Value old = op.getBody()->getArguments().back();
  combiner = yield->getOperand(0).getDefiningOp();
  if (op.getNumDpsInits() != 1 || !combiner ||
      !isa<arith::AddIOp, arith::MaxSIOp, arith::MinSIOp>(combiner) ||
      !llvm::is_contained(combiner->getOperands(), old))
    return unsupported(*op, "supported are reductions by sum, maximum and "
                            "minimum");
  Value term = combiner->getOperand(combiner->getOperand(0) == old ? 1 : 0);
  Interval each = range(term),
           initial = tensors.lookup(op.getOutputs()[0]).range;
  Interval result;
  if (isa<arith::AddIOp>(combiner)) {
    int64_t count = 1;
    for (auto [kind, extent] :
         llvm::zip_equal(op.getIteratorTypesArray(), op.getStaticLoopRanges()))
      if (kind == utils::IteratorType::reduction)
        count *= extent;
    Interval times{std::min<int64_t>(count, 0), count};
    Interval sum = multiplyIntervals(each, times);
    // Partial sums too.
    result = addIntervals(sum, initial);
  } else {
    bool isMax = isa<arith::MaxSIOp>(combiner);
    int64_t limit = isMax ? std::numeric_limits<int64_t>::min()
                          : std::numeric_limits<int64_t>::max();
    bool isNeutral = initial.low == limit && initial.high == limit;
    result = isNeutral ? each : unite(each, initial);
    neutral = isMax ? std::numeric_limits<int32_t>::min()
                    : std::numeric_limits<int32_t>::max();
    if (isNeutral && result.fitsWord())
      tensors[op.getOutputs()[0]] = [&] {
        auto type = cast<RankedTensorType>(op.getOutputs()[0].getType());
        Location loc = op.getLoc();
        rewriter.setInsertionPoint(op);
        Value empty = tensor::EmptyOp::create(rewriter, loc, type.getShape(),
                                              rewriter.getI32Type());
        Value scalar = arith::ConstantOp::create(
            rewriter, loc, rewriter.getI32IntegerAttr(neutral));
        return Wide{
            linalg::FillOp::create(rewriter, loc, scalar, empty).getResult(0),
            Value(),
            {neutral, neutral}};
      }();
  }
  if (!result.fitsWord())
    return unsupported(*op, "reduces values whose result is not proved to fit "
                            "32 bits");
  ranges[old] = result;
  ranges[combiner->getResult(0)] = result;
  return success();
}

Wide GenericNarrowing::wideOf(Value value, WideBuilder &builder) {
  if (auto known = wides.find(value); known != wides.end())
    return known->second;
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return builder.constant(number.getSExtValue());
  // A narrower integer.
  return {mapping.lookupOrDefault(value), Value(), range(value)};
}

LogicalResult GenericNarrowing::copyWide(Operation &def, WideBuilder &wide,
                                         OpBuilder &builder) {
  Value result = def.getResult(0);
  Interval own = range(result);
  Location loc = def.getLoc();
  Type i32 = builder.getI32Type();
  auto operand = [&](unsigned i) { return wideOf(def.getOperand(i), wide); };
  auto allFit = [&] {
    return own.fitsWord() && llvm::all_of(def.getOperands(), [&](Value value) {
             auto known = ranges.find(value);
             return (known != ranges.end() ? known->second
                                           : constantRange(value))
                 .fitsWord();
           });
  };
  auto plain = [&](auto make) {
    wides[result] = {make(operand(0).low, operand(1).low), Value(), own};
    return success();
  };
  if (isa<arith::ConstantOp>(def))
    return success(); // Made where it is used.
  if (isa<arith::AddIOp>(def)) {
    wides[result] = wide.add(operand(0), operand(1), own);
    return success();
  }
  if (isa<arith::SubIOp>(def)) {
    wides[result] = wide.subtract(operand(0), operand(1), own);
    return success();
  }
  if (isa<arith::MulIOp>(def)) {
    wides[result] = wide.multiply(operand(0), operand(1), own);
    return success();
  }
  if (isa<arith::MaxSIOp, arith::MinSIOp>(def)) {
    if (allFit())
      return plain([&](Value x, Value y) -> Value {
        return isa<arith::MaxSIOp>(def)
                   ? arith::MaxSIOp::create(builder, loc, x, y).getResult()
                   : arith::MinSIOp::create(builder, loc, x, y);
      });
    Wide x = operand(0), y = operand(1);
    Value less = wide.less(x, y, /*isSigned=*/true);
    wides[result] = isa<arith::MaxSIOp>(def) ? wide.select(less, y, x, own)
                                             : wide.select(less, x, y, own);
    return success();
  }
  if (auto select = dyn_cast<arith::SelectOp>(def)) {
    wides[result] = wide.select(mapping.lookupOrDefault(select.getCondition()),
                                operand(1), operand(2), own);
    return success();
  }
  if (isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(def)) {
    Wide x = operand(0), y = operand(1);
    auto apply = [&](Value p, Value q) -> Value {
      OperationState state(loc, def.getName(), {p, q}, {i32}, {});
      return builder.create(state)->getResult(0);
    };
    Value low = apply(x.low, y.low);
    wides[result] = {
        low, own.fitsWord() ? Value() : apply(wide.highOf(x), wide.highOf(y)),
        own};
    return success();
  }
  if (isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(def)) {
    APInt amount;
    if (!matchPattern(def.getOperand(1), m_ConstantInt(&amount)) ||
        amount.uge(64))
      return unsupported(def, "shifts by an amount that is no constant");
    unsigned by = amount.getZExtValue();
    wides[result] =
        isa<arith::ShLIOp>(def)
            ? wide.shiftLeft(operand(0), by, own)
            : wide.shiftRight(operand(0), by, isa<arith::ShRSIOp>(def), own);
    return success();
  }
  if (isa<arith::DivSIOp, arith::RemSIOp>(def)) {
    if (!allFit())
      return unsupported(def, "divides values that are not proved to fit 32 "
                              "bits");
    return plain([&](Value x, Value y) -> Value {
      return isa<arith::DivSIOp>(def)
                 ? arith::DivSIOp::create(builder, loc, x, y).getResult()
                 : arith::RemSIOp::create(builder, loc, x, y);
    });
  }
  if (isa<arith::ExtSIOp, arith::ExtUIOp, arith::IndexCastOp>(def)) {
    Value from = mapping.lookupOrDefault(def.getOperand(0));
    if (isa<IndexType>(from.getType()))
      from = arith::IndexCastOp::create(builder, loc, i32, from);
    else if (from.getType() != i32)
      from = isa<arith::ExtSIOp>(def)
                 ? arith::ExtSIOp::create(builder, loc, i32, from).getResult()
                 : arith::ExtUIOp::create(builder, loc, i32, from);
    wides[result] =
        wide.make(from, own.fitsWord() ? Value() : wide.number(0), own);
    return success();
  }
  if (isa<arith::FPToSIOp>(def)) {
    Value from = mapping.lookupOrDefault(def.getOperand(0));
    if (!from.getType().isF32())
      from = arith::ExtFOp::create(builder, loc, builder.getF32Type(), from);
    wides[result] = wide.fromFloat(from);
    return success();
  }
  if (isa<math::AbsIOp>(def)) {
    Wide x = operand(0), zero = wide.constant(0);
    Wide minus = wide.subtract(zero, x, subtractIntervals({0, 0}, x.range));
    wides[result] = wide.select(wide.less(x, zero, true), minus, x, own);
    return success();
  }
  return unsupported(def, Twine("'") + def.getName().getStringRef() + "'");
}

LogicalResult GenericNarrowing::copy(Operation &def, OpBuilder &builder) {
  Location loc = def.getLoc();
  WideBuilder wide(builder, loc);
  if (auto read = dyn_cast<tensor::ExtractOp>(def); read && isWide(read)) {
    Wide table = tensors.lookup(read.getTensor());
    SmallVector<Value> indices;
    for (Value index : read.getIndices())
      indices.push_back(mapping.lookupOrDefault(index));
    Value low = tensor::ExtractOp::create(builder, loc, table.low, indices),
          high = table.high ? tensor::ExtractOp::create(builder, loc,
                                                        table.high, indices)
                                  .getResult()
                            : Value();
    wides[read] = {low, high, table.range};
    return success();
  }
  if (llvm::any_of(def.getResults(), [](Value value) { return isWide(value); }))
    return copyWide(def, wide, builder);
  if (llvm::none_of(def.getOperands(),
                    [](Value value) { return isWide(value); })) {
    builder.clone(def, mapping);
    return success();
  }
  // From 64 bits to something else.
  Value result = def.getResult(0);
  auto operand = [&](unsigned i) { return wideOf(def.getOperand(i), wide); };
  if (auto compare = dyn_cast<arith::CmpIOp>(def)) {
    using P = arith::CmpIPredicate;
    Wide x = operand(0), y = operand(1);
    P predicate = compare.getPredicate();
    bool isSigned =
        llvm::is_contained({P::slt, P::sle, P::sgt, P::sge}, predicate);
    Value truth;
    bool negate = false;
    switch (predicate) {
    case P::eq:
    case P::ne:
      truth = wide.equal(x, y);
      negate = predicate == P::ne;
      break;
    case P::slt:
    case P::ult:
    case P::sge:
    case P::uge:
      truth = wide.less(x, y, isSigned);
      negate = predicate == P::sge || predicate == P::uge;
      break;
    default:
      truth = wide.less(y, x, isSigned);
      negate = predicate == P::sle || predicate == P::ule;
      break;
    }
    if (negate)
      truth = arith::XOrIOp::create(
          builder, loc, truth,
          arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true)));
    mapping.map(result, truth);
    return success();
  }
  if (isa<arith::TruncIOp>(def)) {
    Value low = operand(0).low;
    if (result.getType() != low.getType())
      low = arith::TruncIOp::create(builder, loc, result.getType(), low);
    mapping.map(result, low);
    return success();
  }
  if (isa<arith::SIToFPOp>(def)) {
    Value number = wide.toFloat(operand(0));
    if (!result.getType().isF32())
      number = arith::TruncFOp::create(builder, loc, result.getType(), number);
    mapping.map(result, number);
    return success();
  }
  if (isa<arith::IndexCastOp>(def)) {
    if (!range(def.getOperand(0)).fitsWord())
      return unsupported(def, "an index that is not proved to fit 32 bits");
    mapping.map(result,
                arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                           operand(0).low));
    return success();
  }
  return unsupported(def, Twine("'") + def.getName().getStringRef() + "'");
}

FailureOr<Value> GenericNarrowing::build(unsigned number, bool half) {
  // Results are computed one by one; what a half does not need is dropped when
  // unused operands are.
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  struct Argument {
    BlockArgument from;
    unsigned low;
    std::optional<unsigned> high;
  };
  SmallVector<Argument> arguments;
  SmallVector<AffineMap> old = op.getIndexingMapsArray();
  auto add = [&](Value value, AffineMap map) {
    inputs.push_back(value);
    maps.push_back(map);
    return static_cast<unsigned>(inputs.size() - 1);
  };
  for (OpOperand *operand : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(operand);
    if (argument.use_empty())
      continue;
    AffineMap map = op.getMatchingIndexingMap(operand);
    Argument entry{argument, 0, std::nullopt};
    if (isWide(argument)) {
      Wide wide = tensors.lookup(operand->get());
      entry.low = add(wide.low, map);
      if (wide.high)
        entry.high = add(wide.high, map);
    } else {
      entry.low = add(operand->get(), map);
    }
    arguments.push_back(entry);
  }
  Value init = op.getOutputs()[number];
  AffineMap outMap = op.getMatchingIndexingMap(op.getDpsInitOperand(number));
  bool reduces = op.getNumReductionLoops() != 0;
  auto type = cast<RankedTensorType>(init.getType());
  if (isWide(type)) {
    if (reduces)
      init = tensors.lookup(init).low;
    else
      init = tensor::EmptyOp::create(rewriter, op.getLoc(), type.getShape(),
                                     rewriter.getI32Type());
  }
  maps.push_back(outMap);
  bool good = true;
  wides.clear();
  mapping.clear();
  auto result = linalg::GenericOp::create(
      rewriter, op.getLoc(), init.getType(), inputs, init, maps,
      op.getIteratorTypesArray(),
      [&](OpBuilder &builder, Location loc, ValueRange e) {
        for (const Argument &entry : arguments)
          if (isWide(entry.from))
            wides[entry.from] = {e[entry.low],
                                 entry.high ? e[*entry.high] : Value(),
                                 range(entry.from)};
          else
            mapping.map(entry.from, e[entry.low]);
        for (auto [i, argument] : llvm::enumerate(op.getRegionOutputArgs()))
          if (i == number) {
            if (isWide(argument))
              wides[argument] = {e.back(), Value(), range(argument)};
            else
              mapping.map(argument, e.back());
          }
        for (Operation &def : op.getBody()->without_terminator())
          if (failed(copy(def, builder))) {
            good = false;
            break;
          }
        Value yielded = op.getBody()->getTerminator()->getOperand(number);
        if (!good) {
          yielded = e.back();
        } else if (isWide(yielded)) {
          WideBuilder wide(builder, loc);
          Wide value = wideOf(yielded, wide);
          yielded = half ? wide.highOf(value) : value.low;
        } else {
          yielded = mapping.lookupOrDefault(yielded);
        }
        linalg::YieldOp::create(builder, loc, yielded);
      });
  if (!good)
    return failure();
  return result.getResult(0);
}

LogicalResult GenericNarrowing::run() {
  if (op.getNumDpsInits() > 1 && op.getNumReductionLoops() != 0)
    return unsupported(*op, "several reductions in one operation");
  if (op.getNumReductionLoops() == 0)
    for (BlockArgument argument : op.getRegionOutputArgs())
      if (!argument.use_empty() && isWide(argument))
        return unsupported(*op, "reads its old output");
  if (failed(computeRanges()) || failed(prepareReduction()))
    return failure();
  rewriter.setInsertionPoint(op);
  SmallVector<Value> narrow(op.getNumResults());
  for (unsigned number = 0; number < op.getNumResults(); ++number) {
    FailureOr<Value> low = build(number, false);
    if (failed(low))
      return failure();
    if (!isWide(op.getResult(number))) {
      rewriter.replaceAllUsesWith(op.getResult(number), *low);
      continue;
    }
    Value yielded = op.getBody()->getTerminator()->getOperand(number);
    auto known = ranges.find(yielded);
    Interval own =
        known != ranges.end() ? known->second : constantRange(yielded);
    Wide result{*low, Value(), own};
    if (!own.fitsWord()) {
      FailureOr<Value> high = build(number, true);
      if (failed(high))
        return failure();
      result.high = *high;
    }
    tensors[op.getResult(number)] = result;
  }
  return success();
}

//===-- The function ------------------------------------------------------===//

namespace {
struct NarrowIntegersPass
    : tessera::impl::NarrowIntegersPassBase<NarrowIntegersPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::LinalgOp> named;
    function.walk([&](linalg::LinalgOp op) {
      if (!isa<linalg::GenericOp, linalg::FillOp>(op) && concerns(op))
        named.push_back(op);
    });
    for (linalg::LinalgOp op : named) {
      rewriter.setInsertionPoint(op);
      (void)linalg::generalizeNamedOp(rewriter, op);
    }
    SmallVector<Operation *> ops, done;
    for (Operation &op : function.getBody().front().without_terminator())
      if (concerns(&op))
        ops.push_back(&op);
    bool good = true;
    for (Operation *op : ops) {
      rewriter.setInsertionPoint(op);
      if (failed(narrow(rewriter, op))) {
        good = false;
        break; // What follows depends on it.
      }
      done.push_back(op);
    }
    if (!good)
      return signalPassFailure();
    for (Operation *op : llvm::reverse(done))
      if (op->use_empty())
        op->erase();
  }

private:
  static bool concerns(Operation *op) {
    bool found = false;
    op->walk([&](Operation *inner) {
      found |= llvm::any_of(inner->getOperands(),
                            [](Value value) { return isWide(value); }) ||
               llvm::any_of(inner->getResults(),
                            [](Value value) { return isWide(value); });
    });
    return found;
  }

  LogicalResult narrowConstant(IRRewriter &rewriter, arith::ConstantOp op) {
    auto elements = dyn_cast<ElementsAttr>(op.getValue());
    if (!elements)
      return success(); // A scalar; its users make their own.
    auto type = cast<RankedTensorType>(op.getType());
    std::optional<SmallVector<char>> bytes = graph::getBytes(elements);
    if (!bytes)
      return op.emitError("a constant's contents are not there");
    size_t count = bytes->size() / 8;
    SmallVector<char> low(count * 4), high(count * 4);
    Interval range{std::numeric_limits<int64_t>::max(),
                   std::numeric_limits<int64_t>::min()};
    for (size_t i = 0; i < count; ++i) {
      int64_t value;
      std::memcpy(&value, bytes->data() + 8 * i, 8);
      range = unite(range, {value, value});
      std::memcpy(low.data() + 4 * i, bytes->data() + 8 * i, 4);
      std::memcpy(high.data() + 4 * i, bytes->data() + 8 * i + 4, 4);
    }
    auto half = RankedTensorType::get(type.getShape(), rewriter.getI32Type());
    auto make = [&](ArrayRef<char> data) -> Value {
      return arith::ConstantOp::create(
          rewriter, op.getLoc(), half,
          graph::makeConstant(half, data, "integers"));
    };
    Value lows = make(low), highs = range.fitsWord() ? Value() : make(high);
    tensors[op] = {lows, highs, range};
    return success();
  }

  LogicalResult narrowFill(IRRewriter &rewriter, linalg::FillOp op) {
    APInt number;
    if (!matchPattern(op.getInputs()[0], m_ConstantInt(&number)))
      return op.emitError("fills 64-bit integers with a value that is no "
                          "constant");
    int64_t value = number.getSExtValue();
    auto type = cast<RankedTensorType>(op.getResult(0).getType());
    auto make = [&](int64_t half) {
      Value scalar = arith::ConstantOp::create(
          rewriter, op.getLoc(),
          rewriter.getI32IntegerAttr(static_cast<int32_t>(half)));
      Value empty = tensor::EmptyOp::create(
          rewriter, op.getLoc(), type.getShape(), rewriter.getI32Type());
      return linalg::FillOp::create(rewriter, op.getLoc(), scalar, empty)
          .getResult(0);
    };
    Interval range{value, value};
    Value low = make(value),
          high = range.fitsWord() ? Value() : make(value >> 32);
    tensors[op.getResult(0)] = {low, high, range};
    return success();
  }

  /// Operations that move elements, done to each half.
  LogicalResult narrowMove(IRRewriter &rewriter, Operation *op) {
    bool needsHigh = false;
    Interval range{std::numeric_limits<int64_t>::max(),
                   std::numeric_limits<int64_t>::min()};
    for (Value operand : op->getOperands())
      if (isWide(operand)) {
        Wide wide = tensors.lookup(operand);
        needsHigh |= wide.high != nullptr;
        range = unite(range, wide.range);
      }
    if (auto pad = dyn_cast<tensor::PadOp>(op)) {
      APInt number;
      Value value = pad.getConstantPaddingValue();
      if (!value || !matchPattern(value, m_ConstantInt(&number)))
        return op->emitError("pads 64-bit integers with a value that is no "
                             "constant");
      int64_t padding = number.getSExtValue();
      range = unite(range, {padding, padding});
      needsHigh |= !range.fitsWord();
    }
    auto half = [&](bool high) -> Value {
      IRMapping mapping;
      for (Value operand : op->getOperands()) {
        if (!isWide(operand))
          continue;
        Wide wide = tensors.lookup(operand);
        Value part = wide.low;
        if (high)
          part = wide.high ? wide.high : signOf(rewriter, op->getLoc(), wide);
        mapping.map(operand, part);
      }
      Operation *copy = rewriter.clone(*op, mapping);
      Value result = copy->getResult(0);
      auto type = cast<RankedTensorType>(result.getType());
      result.setType(
          RankedTensorType::get(type.getShape(), rewriter.getI32Type()));
      if (auto pad = dyn_cast<tensor::PadOp>(copy)) {
        APInt number;
        matchPattern(pad.getConstantPaddingValue(), m_ConstantInt(&number));
        int64_t padding = number.getSExtValue();
        auto yield =
            cast<tensor::YieldOp>(pad.getRegion().front().getTerminator());
        OpBuilder inner(copy);
        Value scalar = arith::ConstantOp::create(
            inner, op->getLoc(),
            inner.getI32IntegerAttr(
                static_cast<int32_t>(high ? padding >> 32 : padding)));
        yield->setOperand(0, scalar);
      }
      return result;
    };
    Value low = half(false), high = needsHigh ? half(true) : Value();
    tensors[op->getResult(0)] = {low, high, range};
    return success();
  }

  static Value signOf(IRRewriter &rewriter, Location loc, const Wide &wide) {
    auto type = cast<RankedTensorType>(wide.low.getType());
    Value empty = tensor::EmptyOp::create(rewriter, loc, type.getShape(),
                                          type.getElementType());
    AffineMap identity = rewriter.getMultiDimIdentityMap(type.getRank());
    return linalg::GenericOp::create(
               rewriter, loc, empty.getType(), wide.low, empty,
               ArrayRef{identity, identity},
               SmallVector<utils::IteratorType>(type.getRank(),
                                                utils::IteratorType::parallel),
               [](OpBuilder &body, Location at, ValueRange e) {
                 Value bits = arith::ConstantOp::create(
                     body, at, body.getI32IntegerAttr(31));
                 linalg::YieldOp::create(
                     body, at,
                     arith::ShRSIOp::create(body, at, e[0], bits).getResult());
               })
        .getResult(0);
  }

  LogicalResult narrow(IRRewriter &rewriter, Operation *op) {
    for (Value operand : op->getOperands())
      if (isWide(operand) && isa<ShapedType>(operand.getType()) &&
          !tensors.count(operand))
        return op->emitError("reads a 64-bit tensor that nothing defines "
                             "in halves");
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return narrowConstant(rewriter, constant);
    if (auto fill = dyn_cast<linalg::FillOp>(op))
      return narrowFill(rewriter, fill);
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      return GenericNarrowing(rewriter, generic, tensors).run();
    if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
      Value narrow = tensor::EmptyOp::create(rewriter, op->getLoc(),
                                             empty.getType().getShape(),
                                             rewriter.getI32Type());
      tensors[empty] = {narrow, Value(), {0, 0}};
      return success();
    }
    if (isa<tensor::ExtractSliceOp, tensor::InsertSliceOp, tensor::ConcatOp,
            tensor::PadOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
            tensor::CastOp>(op))
      return narrowMove(rewriter, op);
    return op->emitError() << "'" << op->getName()
                           << "' of 64-bit integers is not supported; would "
                              "be: linalg operations, padding, concatenation, "
                              "slices and reshapes";
  }

  WideTensors tensors;
};
} // namespace
