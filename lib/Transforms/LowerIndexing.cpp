//===- LowerIndexing.cpp - Loop indices and computed addresses ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lane programs know neither where in the iteration space they are nor how to
// read a tensor at an address that they compute. So what depends on one loop's
// index becomes a table that the operation reads, and a read at a computed
// position becomes a search: each position of the tensor is compared with the
// wanted one, and what matches is added up, as bits, so that it stays exact.
//
//===----------------------------------------------------------------------===//

#include "IndexExpressions.h"
#include "dialects/Graph/GraphConstants.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "tessera/Transforms/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_LOWERINDEXINGPASS
#include "lib/Transforms/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using utils::IteratorType;

namespace {

using Map = SmallVector<AffineExpr>;

Value makeEmpty(OpBuilder &builder, Location loc, ArrayRef<int64_t> shape,
                Type element) {
  return tensor::EmptyOp::create(builder, loc, shape, element);
}

/// A one-dimensional constant of i32 or f32 from results of evaluation.
Value makeTable(OpBuilder &builder, Location loc, ArrayRef<TypedAttr> values) {
  Type type = laneType(values.front().getType());
  SmallVector<char> bytes;
  for (TypedAttr value : values) {
    uint32_t bits;
    if (auto number = dyn_cast<FloatAttr>(value)) {
      APFloat wide = number.getValue();
      bool loses;
      wide.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &loses);
      bits = wide.bitcastToAPInt().getZExtValue();
    } else {
      APInt integer = cast<IntegerAttr>(value).getValue();
      bits = (integer.getBitWidth() == 1 ? integer.zext(32)
                                         : integer.sextOrTrunc(32))
                 .getZExtValue();
    }
    const char *begin = reinterpret_cast<const char *>(&bits);
    bytes.append(begin, begin + sizeof(bits));
  }
  Type stored =
      isa<FloatType>(type) ? builder.getF32Type() : Type(builder.getI32Type());
  auto tensorType =
      RankedTensorType::get(static_cast<int64_t>(values.size()), stored);
  return arith::ConstantOp::create(
      builder, loc, tensorType,
      graph::makeConstant(tensorType, bytes, "positions"));
}

/// The element of a table as `type`.
Value fromTable(OpBuilder &builder, Location loc, Value element, Type type) {
  type = laneType(type);
  if (element.getType() == type)
    return element;
  if (isa<FloatType>(type))
    return arith::TruncFOp::create(builder, loc, type, element);
  return arith::TruncIOp::create(builder, loc, type, element);
}

//===-- Elements as bits --------------------------------------------------===//

Value toBits(OpBuilder &builder, Location loc, Value element) {
  Type i32 = builder.getI32Type();
  if (isa<FloatType>(element.getType())) {
    if (!element.getType().isF32())
      element =
          arith::ExtFOp::create(builder, loc, builder.getF32Type(), element);
    return arith::BitcastOp::create(builder, loc, i32, element);
  }
  if (element.getType() == i32)
    return element;
  return arith::ExtUIOp::create(builder, loc, i32, element);
}

Value fromBits(OpBuilder &builder, Location loc, Value bits, Type type) {
  if (bits.getType() == type)
    return bits;
  if (auto floatType = dyn_cast<FloatType>(type)) {
    Value number =
        arith::BitcastOp::create(builder, loc, builder.getF32Type(), bits);
    return floatType.isF32()
               ? number
               : arith::TruncFOp::create(builder, loc, type, number)
                     .getResult();
  }
  return arith::TruncIOp::create(builder, loc, type, bits);
}

bool canBeBits(Type type) {
  if (auto floatType = dyn_cast<FloatType>(type))
    return floatType.isF32() || floatType.isF16() || floatType.isBF16();
  return type.isIntOrFloat() && type.getIntOrFloatBitWidth() <= 32;
}

//===-- Reads at computed positions ---------------------------------------===//

/// What stands for a dimension of a tensor on the way from the table that is
/// read to the elements that a loop nest wants: a loop, nothing (the extent is
/// 1), or a position that is still to be found.
struct Axis {
  enum Kind { Loop, One, Position } kind;
  unsigned loop = 0;
  Value positions; ///< Over the loops in `loops`, ascending.
  llvm::SmallBitVector loops;
};

class ReadLowering {
public:
  ReadLowering(IRRewriter &rewriter, linalg::GenericOp op,
               tensor::ExtractOp read)
      : rewriter(rewriter), op(op), read(read), expressions(op),
        extents(op.getStaticLoopRanges()) {}

  /// Reads of the table, and the generics that were made, with indices left.
  LogicalResult lower(SmallVectorImpl<linalg::GenericOp> &made);

private:
  Axis classify(unsigned dim);
  /// The table with elements `positions` of a dimension; null if that takes too
  /// many pieces.
  Value pick(Value table, unsigned dim, ArrayRef<int64_t> positions);
  Value slice(Value table, unsigned dim, int64_t begin, int64_t count,
              int64_t step = 1);
  /// A generic that computes an index of the read as i32 over its loops.
  linalg::GenericOp computePositions(Value index, llvm::SmallBitVector loops);
  void search(unsigned dim);

  IRRewriter &rewriter;
  linalg::GenericOp op;
  tensor::ExtractOp read;
  IndexExpressions expressions;
  SmallVector<int64_t> extents;
  Value table;
  SmallVector<Axis> axes;
  SmallVector<linalg::GenericOp> generics;
};

} // namespace

Value ReadLowering::slice(Value value, unsigned dim, int64_t begin,
                          int64_t count, int64_t step) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), rewriter.getIndexAttr(0)),
      strides(type.getRank(), rewriter.getIndexAttr(1)), sizes;
  for (int64_t extent : type.getShape())
    sizes.push_back(rewriter.getIndexAttr(extent));
  if (begin == 0 && count == type.getDimSize(dim) && step == 1)
    return value;
  offsets[dim] = rewriter.getIndexAttr(begin);
  sizes[dim] = rewriter.getIndexAttr(count);
  strides[dim] = rewriter.getIndexAttr(step);
  return tensor::ExtractSliceOp::create(rewriter, op.getLoc(), value, offsets,
                                        sizes, strides);
}

Value ReadLowering::pick(Value value, unsigned dim,
                         ArrayRef<int64_t> positions) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t extent = type.getDimSize(dim), count = positions.size();
  // Each element several times in a row: a broadcast along a new dimension.
  if (count % extent == 0 && count != extent) {
    int64_t times = count / extent;
    bool repeats = true;
    for (int64_t i = 0; i < count; ++i)
      repeats &= positions[i] == i / times;
    if (repeats) {
      SmallVector<int64_t> wide(type.getShape());
      wide.insert(wide.begin() + dim + 1, times);
      unsigned rank = wide.size();
      AffineMap identity = rewriter.getMultiDimIdentityMap(rank);
      Value init =
          makeEmpty(rewriter, op.getLoc(), wide, type.getElementType());
      Value repeated =
          linalg::GenericOp::create(
              rewriter, op.getLoc(), init.getType(), value, init,
              ArrayRef{identity.dropResult(dim + 1), identity},
              SmallVector<IteratorType>(rank, IteratorType::parallel),
              [](OpBuilder &body, Location loc, ValueRange e) {
                linalg::YieldOp::create(body, loc, e[0]);
              })
              .getResult(0);
      SmallVector<ReassociationIndices> groups;
      for (unsigned i = 0, at = 0; i < static_cast<unsigned>(type.getRank());
           ++i, ++at) {
        groups.push_back({at});
        if (i == dim)
          groups.back().push_back(++at);
      }
      return tensor::CollapseShapeOp::create(rewriter, op.getLoc(), repeated,
                                             groups);
    }
  }
  struct Run {
    int64_t begin, step, count;
  };
  SmallVector<Run> runs;
  for (int64_t position : positions) {
    if (!runs.empty()) {
      Run &run = runs.back();
      int64_t step = position - (run.begin + run.step * (run.count - 1));
      if (run.count == 1 && step > 0)
        run.step = step;
      if (step > 0 && step == run.step) {
        ++run.count;
        continue;
      }
    }
    runs.push_back({position, 1, 1});
  }
  constexpr size_t maxRuns = 64;
  if (runs.size() > maxRuns)
    return Value();
  SmallVector<Value> parts;
  for (const Run &run : runs)
    parts.push_back(slice(value, dim, run.begin, run.count, run.step));
  if (parts.size() == 1)
    return parts.front();
  return tensor::ConcatOp::create(rewriter, op.getLoc(), dim, parts);
}

linalg::GenericOp ReadLowering::computePositions(Value index,
                                                 llvm::SmallBitVector loops) {
  Location loc = op.getLoc();
  MLIRContext *context = rewriter.getContext();
  SmallVector<unsigned> kept(loops.set_bits_begin(), loops.set_bits_end());
  // The loops that stay, by their new numbers.
  Map replacements(op.getNumLoops(), rewriter.getAffineConstantExpr(0));
  SmallVector<int64_t> shape;
  for (auto [number, loop] : llvm::enumerate(kept)) {
    replacements[loop] = rewriter.getAffineDimExpr(number);
    shape.push_back(extents[loop]);
  }
  SetVector<Value> needed;
  SmallVector<Value> worklist{index};
  SetVector<BlockArgument> arguments;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      arguments.insert(argument);
      continue;
    }
    if (Operation *def = value.getDefiningOp();
        def && def->getBlock() == op.getBody() && needed.insert(value))
      llvm::append_range(worklist, def->getOperands());
  }
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (BlockArgument argument : arguments) {
    inputs.push_back(op->getOperand(argument.getArgNumber()));
    maps.push_back(
        op.getIndexingMapsArray()[argument.getArgNumber()]
            .replaceDimsAndSymbols(replacements, {}, kept.size(), 0));
  }
  maps.push_back(AffineMap::getMultiDimIdentityMap(kept.size(), context));
  Value init = makeEmpty(rewriter, loc, shape, rewriter.getI32Type());
  auto generic = linalg::GenericOp::create(
      rewriter, loc, init.getType(), inputs, init, maps,
      SmallVector<IteratorType>(kept.size(), IteratorType::parallel),
      [&](OpBuilder &body, Location at, ValueRange e) {
        BodyCopy copy(body, at);
        for (auto [number, argument] : llvm::enumerate(arguments))
          copy.map(argument, e[number]);
        for (auto indexOp : op.getBody()->getOps<linalg::IndexOp>())
          if (loops.test(indexOp.getDim())) {
            unsigned number = llvm::find(kept, indexOp.getDim()) - kept.begin();
            Value position = linalg::IndexOp::create(body, at, number);
            copy.map(indexOp, arith::IndexCastOp::create(
                                  body, at, body.getI32Type(), position));
          }
        Value result = copy.copy(index);
        linalg::YieldOp::create(body, at, result);
      });
  generics.push_back(generic);
  return generic;
}

Axis ReadLowering::classify(unsigned dim) {
  Value index = read.getIndices()[dim];
  int64_t extent = cast<RankedTensorType>(table.getType()).getDimSize(dim);
  std::optional<llvm::SmallBitVector> loops = expressions.loopsOf(index);
  if (loops && loops->count() <= 1)
    if (auto values = expressions.evaluate(index)) {
      SmallVector<int64_t> positions;
      bool inside = true;
      for (TypedAttr value : *values) {
        positions.push_back(cast<IntegerAttr>(value).getInt());
        inside &= positions.back() >= 0 && positions.back() < extent;
      }
      if (inside)
        if (Value picked = pick(table, dim, positions)) {
          table = picked;
          if (loops->none())
            return {Axis::One, 0, Value(), {}};
          return {Axis::Loop,
                  static_cast<unsigned>(loops->find_first()),
                  Value(),
                  {}};
        }
    }
  llvm::SmallBitVector needed = expressions.allLoopsOf(index);
  Axis axis{Axis::Position, 0, Value(), needed};
  axis.positions = computePositions(index, needed).getResult(0);
  return axis;
}

/// Finds the elements at the positions of dimension `dim`.
void ReadLowering::search(unsigned dim) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(table.getType());
  const Axis axis = axes[dim];
  // Loops of the result: those of the positions and those that the table has.
  llvm::SmallBitVector loops = axis.loops;
  SmallVector<unsigned> others; // Other dimensions of the table that stay.
  for (unsigned i = 0; i < axes.size(); ++i) {
    if (i == dim)
      continue;
    if (axes[i].kind == Axis::Loop)
      loops.set(axes[i].loop);
    else
      others.push_back(i);
  }
  SmallVector<unsigned> kept(loops.set_bits_begin(), loops.set_bits_end());
  auto loopExpr = [&](unsigned loop) {
    return rewriter.getAffineDimExpr(llvm::find(kept, loop) - kept.begin());
  };
  unsigned count = kept.size() + others.size() + 1;
  AffineExpr searched = rewriter.getAffineDimExpr(count - 1);
  Map wanted, source, result;
  SmallVector<int64_t> shape;
  SmallVector<Axis> newAxes;
  for (unsigned loop : axis.loops.set_bits())
    wanted.push_back(loopExpr(loop));
  for (unsigned i = 0; i < axes.size(); ++i)
    source.push_back(
        i == dim ? searched
        : axes[i].kind == Axis::Loop
            ? loopExpr(axes[i].loop)
            : rewriter.getAffineDimExpr(
                  kept.size() + (llvm::find(others, i) - others.begin())));
  for (unsigned loop : kept) {
    shape.push_back(extents[loop]);
    newAxes.push_back({Axis::Loop, loop, Value(), {}});
  }
  for (unsigned i : others) {
    shape.push_back(type.getDimSize(i));
    newAxes.push_back(axes[i]);
  }
  for (unsigned i = 0; i + 1 < count; ++i)
    result.push_back(rewriter.getAffineDimExpr(i));
  MLIRContext *context = rewriter.getContext();
  SmallVector<AffineMap> maps;
  for (Map *map : {&wanted, &source, &result})
    maps.push_back(AffineMap::get(count, 0, *map, context));
  SmallVector<IteratorType> iterators(count, IteratorType::parallel);
  iterators.back() = IteratorType::reduction;
  Type i32 = rewriter.getI32Type();
  Value zero =
      arith::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(0));
  Value init = linalg::FillOp::create(rewriter, loc, zero,
                                      makeEmpty(rewriter, loc, shape, i32))
                   .getResult(0);
  auto generic = linalg::GenericOp::create(
      rewriter, loc, init.getType(), ValueRange{axis.positions, table}, init,
      maps, iterators, [&](OpBuilder &body, Location at, ValueRange e) {
        Value position = arith::IndexCastOp::create(
            body, at, i32, linalg::IndexOp::create(body, at, count - 1));
        Value here = arith::CmpIOp::create(body, at, arith::CmpIPredicate::eq,
                                           e[0], position);
        Value nothing =
            arith::ConstantOp::create(body, at, body.getI32IntegerAttr(0));
        Value found = arith::SelectOp::create(body, at, here,
                                              toBits(body, at, e[1]), nothing);
        linalg::YieldOp::create(
            body, at, arith::AddIOp::create(body, at, e[2], found).getResult());
      });
  generics.push_back(generic);
  table = generic.getResult(0);
  axes = newAxes;
}

LogicalResult ReadLowering::lower(SmallVectorImpl<linalg::GenericOp> &made) {
  table = read.getTensor();
  auto type = cast<RankedTensorType>(table.getType());
  if (!type.hasStaticShape() || !canBeBits(type.getElementType()))
    return op.emitError() << "reads " << type
                          << " at computed positions; supported are static "
                             "shapes of elements of at most 32 bits";
  rewriter.setInsertionPoint(op);
  for (unsigned dim = 0; dim < type.getRank(); ++dim)
    axes.push_back(classify(dim));
  bool isBits = false;
  auto pending = [&] {
    return llvm::find_if(
        axes, [](const Axis &axis) { return axis.kind == Axis::Position; });
  };
  for (auto axis = pending(); axis != axes.end(); axis = pending()) {
    search(axis - axes.begin());
    isBits = true;
  }

  // The operation with the table as one more input.
  Map map;
  for (const Axis &axis : axes)
    map.push_back(axis.kind == Axis::Loop ? rewriter.getAffineDimExpr(axis.loop)
                                          : rewriter.getAffineConstantExpr(0));
  SmallVector<Value> inputs(op.getInputs());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  unsigned number = inputs.size();
  inputs.push_back(table);
  maps.insert(maps.begin() + number,
              AffineMap::get(op.getNumLoops(), 0, map, rewriter.getContext()));
  auto result = linalg::GenericOp::create(
      rewriter, op.getLoc(), op.getResultTypes(), inputs, op.getOutputs(), maps,
      op.getIteratorTypesArray());
  rewriter.inlineRegionBefore(op.getRegion(), result.getRegion(),
                              result.getRegion().end());
  Block &body = result.getRegion().front();
  Value element = body.insertArgument(
      number, cast<RankedTensorType>(table.getType()).getElementType(),
      op.getLoc());
  rewriter.setInsertionPoint(read);
  if (isBits)
    element = fromBits(rewriter, read.getLoc(), element, type.getElementType());
  rewriter.replaceOp(read, element);
  rewriter.replaceOp(op, result.getResults());
  made = generics;
  made.push_back(result);
  return success();
}

//===-- Loop indices ------------------------------------------------------===//

/// The operation with tables in the place of loop indices.
static void lowerIndices(IRRewriter &rewriter, linalg::GenericOp op) {
  Location loc = op.getLoc();
  IndexExpressions expressions(op);
  auto isTable = [&](Value value) {
    std::optional<llvm::SmallBitVector> loops = expressions.loopsOf(value);
    return loops && loops->count() <= 1;
  };
  // What depends on one index alone, as far as it reaches; an index itself
  // where nothing more can be computed.
  llvm::MapVector<Value, SmallVector<TypedAttr>> tables;
  SmallVector<Value> worklist(op.getBody()->getTerminator()->getOperands());
  llvm::DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    Operation *def = value.getDefiningOp();
    if (!seen.insert(value).second || !def || def->getBlock() != op.getBody() ||
        matchPattern(value, m_Constant()))
      continue;
    if (isTable(value))
      if (auto values = expressions.evaluate(value)) {
        tables[value] = std::move(*values);
        continue;
      }
    llvm::append_range(worklist, def->getOperands());
  }
  rewriter.setInsertionPoint(op);
  SmallVector<Value> inputs(op.getInputs());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<std::pair<Value, unsigned>> arguments;
  for (auto &[value, values] : tables) {
    if (values.size() == 1)
      continue;
    unsigned loop = expressions.loopsOf(value)->find_first();
    Value table = makeTable(rewriter, loc, values);
    arguments.push_back({value, inputs.size()});
    maps.insert(
        maps.begin() + inputs.size(),
        AffineMap::get(op.getNumLoops(), 0, rewriter.getAffineDimExpr(loop)));
    inputs.push_back(table);
  }
  auto result = linalg::GenericOp::create(
      rewriter, loc, op.getResultTypes(), inputs, op.getOutputs(), maps,
      op.getIteratorTypesArray(),
      [&](OpBuilder &body, Location at, ValueRange e) {
        BodyCopy copy(body, at);
        unsigned added = inputs.size() - op.getNumDpsInputs();
        for (BlockArgument argument : op.getBody()->getArguments()) {
          unsigned number = argument.getArgNumber();
          copy.map(argument,
                   e[number < op.getNumDpsInputs() ? number : number + added]);
        }
        for (auto [value, number] : arguments)
          copy.map(value, fromTable(body, at, e[number], value.getType()));
        for (auto &[value, values] : tables)
          if (values.size() == 1) {
            TypedAttr attribute = values.front();
            if (isa<IndexType>(attribute.getType()))
              attribute = IntegerAttr::get(
                  body.getI32Type(), cast<IntegerAttr>(attribute).getInt());
            copy.map(value, arith::ConstantOp::create(body, at, attribute));
          }
        SmallVector<Value> results;
        for (Value value : op.getBody()->getTerminator()->getOperands())
          results.push_back(copy.copy(value));
        linalg::YieldOp::create(body, at, results);
      });
  rewriter.replaceOp(op, result.getResults());
}

namespace {
struct LowerIndexingPass
    : tessera::impl::LowerIndexingPassBase<LowerIndexingPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::GenericOp> worklist;
    getOperation().walk([&](linalg::GenericOp op) {
      bool reads = !op.getBody()->getOps<tensor::ExtractOp>().empty();
      if (op.hasPureTensorSemantics() && (reads || op.hasIndexSemantics()))
        worklist.push_back(op);
    });
    while (!worklist.empty()) {
      linalg::GenericOp op = worklist.pop_back_val();
      auto reads = op.getBody()->getOps<tensor::ExtractOp>();
      if (!reads.empty()) {
        // The first one depends on no other.
        SmallVector<linalg::GenericOp> made;
        if (failed(ReadLowering(rewriter, op, *reads.begin()).lower(made)))
          return signalPassFailure();
        for (linalg::GenericOp next : made)
          if (next.hasIndexSemantics() ||
              !next.getBody()->getOps<tensor::ExtractOp>().empty())
            worklist.push_back(next);
        continue;
      }
      lowerIndices(rewriter, op);
    }
  }
};
} // namespace
