//===- ConvertToTile.cpp - Bufferised dispatches to tile.kernel -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinalgStructure.h"
#include "LocalBuffers.h"
#include "TargetModel.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"
#include "tessera/Transforms/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_CONVERTTOTILEPASS
#include "lib/Transforms/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using tile::Space;

static MemRefType localType(Value view, Space space) {
  auto type = cast<MemRefType>(view.getType());
  return MemRefType::get(type.getShape(), type.getElementType(), AffineMap(),
                         tile::SpaceAttr::get(type.getContext(), space));
}

static bool isInDram(Value value) {
  return tile::getSpace(value.getType()) == Space::Dram;
}

/// A plain copy: source and target of equal shapes.
static std::optional<std::pair<Value, Value>> matchCopy(Operation *op) {
  if (auto copy = dyn_cast<memref::CopyOp>(op))
    return std::pair(copy.getSource(), copy.getTarget());
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || !isCopy(linalgOp))
    return std::nullopt;
  for (AffineMap map : linalgOp.getIndexingMapsArray())
    if (!map.isIdentity())
      return std::nullopt;
  Value source = linalgOp.getDpsInputOperand(0)->get();
  Value target = linalgOp.getDpsInitOperand(0)->get();
  if (getElementTypeOrSelf(source) != getElementTypeOrSelf(target))
    return std::nullopt;
  return std::pair(source, target);
}

static bool isMatrixContraction(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp)
    return false;
  auto contraction = matchContraction(linalgOp);
  return contraction && usesMatrixEngine(linalgOp, *contraction);
}

/// The values that `op` reads and writes as data.
static SmallVector<Value> valuesRead(Operation *op) {
  if (auto copy = dyn_cast<memref::CopyOp>(op))
    return {copy.getSource()};
  SmallVector<Value> values;
  auto linalgOp = cast<linalg::LinalgOp>(op);
  for (OpOperand *operand : linalgOp.getDpsInputOperands())
    if (linalgOp.payloadUsesValueFromOperand(operand) &&
        !isa<linalg::FillOp>(op))
      values.push_back(operand->get());
  return values;
}
static SmallVector<Value> valuesWritten(Operation *op) {
  if (auto copy = dyn_cast<memref::CopyOp>(op))
    return {copy.getTarget()};
  return SmallVector<Value>(cast<linalg::LinalgOp>(op).getDpsInits());
}

namespace {

/// Converts one dispatch function.
class KernelBuilder {
public:
  KernelBuilder(func::FuncOp function, const TargetModel &target)
      : function(function), target(target), builder(function.getContext()) {
    if (auto attribute = function->getAttrOfType<IntegerAttr>("depth"))
      depth = accDepth = attribute.getInt();
    if (auto attribute = function->getAttrOfType<IntegerAttr>("acc_depth"))
      accDepth = attribute.getInt();
    if (auto cores = function->getAttrOfType<DenseI64ArrayAttr>("cores"))
      if (auto attribute =
              function->getAttrOfType<IntegerAttr>("panel_depth")) {
        numTileLoops = cores.size();
        panelDepth = attribute.getInt();
      }
  }

  LogicalResult build() {
    prepare();
    function.walk([&](Operation *op) {
      if (isa<memref::CopyOp, linalg::LinalgOp>(op))
        steps.push_back(op);
    });
    if (failed(placeAccumulators()))
      return failure();
    replaceAllocations();
    makeLocals();
    bool good = true;
    for (Operation *step : steps)
      if (failed(convertStep(step)))
        good = false;
    if (!good)
      return failure();
    for (Operation *step : llvm::reverse(steps))
      step->erase();
    makeKernel();
    return success();
  }

private:
  /// Views go out of loops that do not change them, so that what they show is
  /// loaded once.
  void prepare() {
    IRRewriter rewriter(function.getContext());
    function.walk(
        [](LoopLikeOpInterface loop) { moveLoopInvariantCode(loop); });
    DominanceInfo dominance(function);
    eliminateCommonSubExpressions(rewriter, dominance, function);
    // In-place updates of a slice end in a copy of the slice to itself.
    function.walk([](memref::CopyOp copy) {
      if (copy.getSource() == copy.getTarget())
        copy.erase();
    });
    SmallVector<linalg::LinalgOp> named;
    function.walk([&](linalg::LinalgOp op) {
      if (!isa<linalg::FillOp, linalg::GenericOp, linalg::CopyOp>(op))
        named.push_back(op);
    });
    for (linalg::LinalgOp op : named) {
      rewriter.setInsertionPoint(op);
      (void)linalg::generalizeNamedOp(rewriter, op);
    }
  }

  /// Everything that a contraction writes lives in ACC.
  LogicalResult placeAccumulators() {
    for (Operation *step : steps)
      if (isMatrixContraction(step)) {
        Value target = valuesWritten(step)[0];
        accumulators.insert(target);
        if (!isInDram(target) && !target.getDefiningOp<memref::AllocOp>())
          return step->emitError("accumulates into a part of a local buffer");
      }
    return success();
  }

  int64_t depthAt(Operation *op, MemRefType type) {
    size_t loops = 0;
    for (auto loop = op->getParentOfType<scf::ForOp>(); loop;
         loop = loop->getParentOfType<scf::ForOp>())
      ++loops;
    if (loops == 0)
      return 1;
    if (tile::getSpace(type) == Space::Acc)
      return accDepth;
    // Around a loop over other tiles.
    return loops < numTileLoops ? panelDepth : depth;
  }

  tile::AllocOp allocate(Location loc, MemRefType type, Operation *before) {
    builder.setInsertionPoint(before);
    return tile::AllocOp::create(
        builder, loc, type, builder.getI64IntegerAttr(depthAt(before, type)));
  }

  /// Whether a contraction streams `buffer` through the matrix engine.
  static bool readByStream(Value buffer) {
    return llvm::any_of(buffer.getUsers(), [&](Operation *user) {
      return isMatrixContraction(user) &&
             cast<linalg::LinalgOp>(user).getDpsInputs()[0] == buffer;
    });
  }

  /// memref.alloc to tile.alloc, with its views.
  void replaceAllocations() {
    SmallVector<memref::AllocOp> allocs;
    function.walk([&](memref::AllocOp op) { allocs.push_back(op); });
    for (memref::AllocOp op : allocs) {
      Space space = accumulators.contains(op) ? Space::Acc : Space::Spm;
      MemRefType type = localType(op, space);
      // What a window's load fills for the matrix engine; views keep the type.
      if (space == Space::Spm && readByStream(op) &&
          llvm::none_of(op->getUsers(), [](Operation *user) {
            return isa<ViewLikeOpInterface>(user);
          }))
        type = withRowPitch(type, target);
      Value buffer = allocate(op.getLoc(), type, op);
      if (space == Space::Acc)
        accumulators.insert(buffer);
      op.replaceAllUsesWith(buffer);
      op.erase();
    }
    function.walk([](memref::DeallocOp op) { op.erase(); });
  }

  /// The operation in the block of `view`'s definition that contains `op`.
  static Operation *ancestorBeside(Value view, Operation *op) {
    return view.getParentBlock()->findAncestorOpInBlock(*op);
  }

  /// A local buffer for each device view that engines work on.
  void makeLocals() {
    llvm::MapVector<Value, SmallVector<Operation *>> users;
    for (Operation *step : steps) {
      std::optional<std::pair<Value, Value>> copy = matchCopy(step);
      SmallVector<Value> touched = valuesRead(step);
      llvm::append_range(touched, valuesWritten(step));
      for (Value value : touched) {
        // A copy between device and local memory needs nothing in between; one
        // within device memory needs one buffer.
        if (copy && (value == copy->second || !isInDram(copy->second)))
          continue;
        if (isInDram(value) &&
            (users[value].empty() || users[value].back() != step))
          users[value].push_back(step);
      }
    }
    for (auto &[view, list] : users) {
      Space space = accumulators.contains(view) ? Space::Acc : Space::Spm;
      Operation *first = ancestorBeside(view, list.front());
      Location loc = list.front()->getLoc();
      MemRefType type = localType(view, space);
      if (space == Space::Spm && readByStream(view))
        type = withRowPitch(type, target);
      Value local = allocate(loc, type, first);
      locals[view] = local;
      if (llvm::is_contained(valuesRead(list.front()), view))
        tile::LoadOp::create(builder, loc, view, local);
      Operation *lastWriter = nullptr;
      for (Operation *user : list)
        if (llvm::is_contained(valuesWritten(user), view))
          lastWriter = user;
      if (lastWriter) {
        builder.setInsertionPointAfter(ancestorBeside(view, lastWriter));
        tile::StoreOp::create(builder, lastWriter->getLoc(), local, view);
      }
    }
  }

  Value local(Value value) {
    return isInDram(value) ? locals.lookup(value) : value;
  }

  LogicalResult convertStep(Operation *step) {
    builder.setInsertionPoint(step);
    if (auto copy = matchCopy(step))
      return convertCopy(step, copy->first, copy->second);
    if (auto fill = dyn_cast<linalg::FillOp>(step))
      return convertFill(fill);
    auto generic = dyn_cast<linalg::GenericOp>(step);
    if (!generic)
      return step->emitError()
             << "'" << step->getName() << "' has no counterpart in a kernel";
    return isMatrixContraction(step) ? convertContraction(generic)
                                     : convertMap(generic);
  }

  LogicalResult convertCopy(Operation *step, Value source, Value target) {
    Location loc = step->getLoc();
    if (isInDram(source) && isInDram(target)) {
      tile::StoreOp::create(builder, loc, local(source), target);
      return success();
    }
    if (isInDram(source)) {
      tile::LoadOp::create(builder, loc, source, target);
      return success();
    }
    if (isInDram(target)) {
      tile::StoreOp::create(builder, loc, source, target);
      return success();
    }
    auto type = cast<MemRefType>(source.getType());
    AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
    SmallVector<StringRef> iterators(type.getRank(), "parallel");
    makeMap(
        loc, {source}, {target}, {identity, identity}, iterators,
        type.getShape(), tile::Reduction::None, Accumulation(),
        [](Block &body) { return SmallVector<Value>{body.getArgument(0)}; });
    return success();
  }

  LogicalResult convertFill(linalg::FillOp fill) {
    Value target = local(fill.getOutputs()[0]);
    TypedAttr value;
    if (!matchPattern(fill.getInputs()[0], m_Constant(&value)))
      return fill.emitError("fills with a value that is no constant");
    // A reduction may start from it and make it unnecessary.
    if (Operation *reader = startedBy(fill)) {
      starts[reader] = fill;
      return success();
    }
    if (tile::getSpace(target.getType()) == Space::Spm) {
      tile::FillOp::create(builder, fill.getLoc(), target, value);
      return success();
    }
    auto type = cast<MemRefType>(target.getType());
    makeMap(fill.getLoc(), {}, {target},
            {builder.getMultiDimIdentityMap(type.getRank())},
            SmallVector<StringRef>(type.getRank(), "parallel"), type.getShape(),
            tile::Reduction::None, Accumulation(), [&](Block &body) {
              OpBuilder inner = OpBuilder::atBlockBegin(&body);
              Value constant =
                  arith::ConstantOp::create(inner, fill.getLoc(), value);
              return SmallVector<Value>{constant};
            });
    return success();
  }

  /// The reduction whose neutral start `fill` is, if it is the next to use the
  /// filled buffer, and all loops around it and inside of the fill's block run
  /// over the reduction.
  Operation *startedBy(linalg::FillOp fill) {
    Value target = fill.getOutputs()[0];
    auto position = llvm::find(steps, fill.getOperation());
    for (Operation *step : llvm::make_range(std::next(position), steps.end())) {
      bool writes = llvm::is_contained(valuesWritten(step), target);
      if (!writes && !llvm::is_contained(valuesRead(step), target))
        continue;
      auto generic = dyn_cast<linalg::GenericOp>(step);
      if (!writes || !generic || generic.getNumReductionLoops() == 0 ||
          !fill->getBlock()->findAncestorOpInBlock(*step))
        return nullptr;
      std::optional<ReductionBody> reduction = matchReduction(generic);
      TypedAttr value;
      matchPattern(fill.getInputs()[0], m_Constant(&value));
      if (!reduction || !isNeutral(reduction->combiner, value))
        return nullptr;
      for (Operation *parent = step->getParentOp();
           parent != fill->getParentOp(); parent = parent->getParentOp()) {
        auto loop = dyn_cast<scf::ForOp>(parent);
        if (!loop || !matchPattern(loop.getLowerBound(), m_Zero()))
          return nullptr;
      }
      return step;
    }
    return nullptr;
  }

  /// How a reduction starts: overwrite, add, or add if an index is not 0.
  struct Accumulation {
    bool always = false;
    Value ifNonZero;
  };

  Accumulation accumulation(Operation *reduction) {
    auto start = starts.find(reduction);
    if (start == starts.end())
      return {/*always=*/true, Value()};
    Accumulation result;
    for (Operation *parent = reduction->getParentOp();
         parent != start->second->getParentOp();
         parent = parent->getParentOp()) {
      Value index = cast<scf::ForOp>(parent).getInductionVar();
      result.ifNonZero =
          result.ifNonZero ? arith::AddIOp::create(builder, reduction->getLoc(),
                                                   index, result.ifNonZero)
                                 .getResult()
                           : index;
    }
    return result;
  }

  SmallVector<StringRef> iteratorNames(linalg::LinalgOp op) {
    return llvm::map_to_vector(op.getIteratorTypesArray(),
                               [](utils::IteratorType kind) {
                                 return utils::stringifyIteratorType(kind);
                               });
  }

  LogicalResult convertContraction(linalg::GenericOp op) {
    Contraction contraction = *matchContraction(op);
    SmallVector<int64_t> bounds = op.getStaticLoopRanges();
    for (unsigned dim : contraction.batch)
      if (bounds[dim] != 1)
        return op.emitError("contracts several matrices in one tile");
    Value a = local(op.getInputs()[0]), b = local(op.getInputs()[1]);
    Value acc = local(op.getOutputs()[0]);
    Type accElement = getElementTypeOrSelf(acc),
         aElement = getElementTypeOrSelf(a);
    if (getElementTypeOrSelf(b) != aElement ||
        !(isa<FloatType>(aElement) ? accElement.isF32()
                                   : accElement.isInteger(32)))
      return op.emitError()
             << "multiplies " << aElement << " by " << getElementTypeOrSelf(b)
             << " into " << accElement
             << "; supported are operands of one type, accumulated "
                "in f32 (floats) or i32 (integers)";
    Accumulation accumulate = accumulation(op);
    tile::MmaOp::create(builder, op.getLoc(), a, b, acc, op.getIndexingMaps(),
                        builder.getStrArrayAttr(iteratorNames(op)),
                        builder.getDenseI64ArrayAttr(bounds),
                        accumulate.always ? builder.getUnitAttr() : UnitAttr(),
                        accumulate.ifNonZero);
    return success();
  }

  /// The order in which the vector engine goes through the loops. Its lanes
  /// take neighbours in that order: where these are elements side by side along
  /// the last parallel loop, and not along a reduced one, that loop comes last.
  /// The order of a sum's terms is that of the reduced loops alone.
  static SmallVector<unsigned> lanesOrder(linalg::GenericOp op) {
    auto order = llvm::to_vector(llvm::seq<unsigned>(0, op.getNumLoops()));
    SmallVector<unsigned> parallel;
    op.getParallelDims(parallel);
    if (op.getNumReductionLoops() == 0 || parallel.empty())
      return order;
    unsigned last = parallel.back();
    for (OpOperand &operand : op->getOpOperands()) {
      AffineMap map = op.getMatchingIndexingMap(&operand);
      if (map.getNumResults() == 0 || !op.payloadUsesValueFromOperand(&operand))
        continue;
      AffineExpr inner = map.getResults().back();
      if (map.isFunctionOfDim(last) &&
          inner != getAffineDimExpr(last, op.getContext()))
        return order;
      SmallVector<unsigned> reduced;
      op.getReductionDims(reduced);
      if (llvm::any_of(reduced, [&](unsigned loop) {
            return inner.isFunctionOfDim(loop);
          }))
        return order;
    }
    order.erase(order.begin() + last);
    order.push_back(last);
    return order;
  }

  LogicalResult convertMap(linalg::GenericOp op) {
    SmallVector<Value> inputs, outputs;
    SmallVector<AffineMap> maps;
    SmallVector<BlockArgument> arguments;
    for (OpOperand *operand : op.getDpsInputOperands())
      if (op.payloadUsesValueFromOperand(operand)) {
        inputs.push_back(local(operand->get()));
        maps.push_back(op.getMatchingIndexingMap(operand));
        arguments.push_back(op.getMatchingBlockArgument(operand));
      }
    for (OpOperand &init : op.getDpsInitsMutable()) {
      outputs.push_back(local(init.get()));
      maps.push_back(op.getMatchingIndexingMap(&init));
    }
    if (inputs.size() > 4 || outputs.size() > 2)
      return op.emitError()
             << "reads " << inputs.size() << " tensors and writes "
             << outputs.size() << "; at most 4 and 2 are supported";
    tile::Reduction kind = tile::Reduction::None;
    Operation *combiner = nullptr;
    Value term;
    Accumulation accumulate;
    if (op.getNumReductionLoops() != 0) {
      std::optional<ReductionBody> reduction = matchReduction(op);
      if (!reduction)
        return op.emitError("reduces in a way that is not supported");
      kind = reduction->kind;
      combiner = reduction->combiner;
      term = reduction->term;
      accumulate = accumulation(op);
    }
    SmallVector<unsigned> order = lanesOrder(op);
    SmallVector<StringRef> iterators;
    SmallVector<int64_t> bounds;
    for (unsigned loop : order) {
      iterators.push_back(iteratorNames(op)[loop]);
      bounds.push_back(op.getStaticLoopRanges()[loop]);
    }
    if (!llvm::is_sorted(order)) {
      AffineMap ordered = inversePermutation(
          AffineMap::getPermutationMap(order, op.getContext()));
      for (AffineMap &map : maps)
        map = map.compose(ordered);
    }
    Block *old = op.getBlock();
    makeMap(
        op.getLoc(), inputs, outputs, maps, iterators, bounds, kind, accumulate,
        [&](Block &body) {
          IRMapping mapping;
          for (auto [argument, inside] :
               llvm::zip(arguments, body.getArguments()))
            mapping.map(argument, inside);
          OpBuilder inner = OpBuilder::atBlockBegin(&body);
          auto captureConstants = [&](ValueRange values) {
            for (Value value : values)
              if (!mapping.contains(value))
                if (auto constant = value.getDefiningOp<arith::ConstantOp>())
                  inner.clone(*constant, mapping);
          };
          for (Operation &inside : old->without_terminator()) {
            if (&inside == combiner)
              continue;
            captureConstants(inside.getOperands());
            inner.clone(inside, mapping);
          }
          SmallVector<Value> results(combiner
                                         ? ValueRange(term)
                                         : old->getTerminator()->getOperands());
          captureConstants(results);
          return llvm::map_to_vector(results, [&](Value value) {
            return mapping.lookupOrDefault(value);
          });
        });
    return success();
  }

  void makeMap(Location loc, ArrayRef<Value> inputs, ArrayRef<Value> outputs,
               ArrayRef<AffineMap> maps, ArrayRef<StringRef> iterators,
               ArrayRef<int64_t> bounds, tile::Reduction kind,
               Accumulation accumulate,
               llvm::function_ref<SmallVector<Value>(Block &)> fillBody) {
    auto op = tile::MapOp::create(
        builder, loc, inputs, outputs, accumulate.ifNonZero,
        builder.getAffineMapArrayAttr(maps), builder.getStrArrayAttr(iterators),
        builder.getDenseI64ArrayAttr(bounds),
        tile::ReductionAttr::get(builder.getContext(), kind),
        accumulate.always ? builder.getUnitAttr() : UnitAttr());
    Block &body = op.getBody().emplaceBlock();
    for (Value input : inputs)
      body.addArgument(getElementTypeOrSelf(input), loc);
    SmallVector<Value> results = fillBody(body);
    OpBuilder inner = OpBuilder::atBlockEnd(&body);
    tile::YieldOp::create(inner, loc, results);
  }

  /// The function itself becomes the kernel.
  void makeKernel() {
    builder.setInsertionPoint(function);
    auto kernel =
        tile::KernelOp::create(builder, function.getLoc(), function.getName(),
                               function.getArgumentTypes());
    for (StringRef name :
         {"nodes", "cores", "interleave", "multicast", "pieces"})
      if (Attribute attribute = function->getAttr(name))
        kernel->setAttr(name, attribute);
    kernel.getBody().takeBody(function.getBody());
    Operation *terminator = kernel.getBody().front().getTerminator();
    builder.setInsertionPoint(terminator);
    tile::ReturnOp::create(builder, terminator->getLoc());
    terminator->erase();
    function.erase();
  }

  func::FuncOp function;
  const TargetModel &target;
  OpBuilder builder;
  int64_t depth = 2, accDepth = 2, panelDepth = 2;
  size_t numTileLoops = 0; ///< Loops over output tiles, outside of all others.
  SmallVector<Operation *> steps; ///< In program order.
  llvm::SetVector<Value> accumulators;
  llvm::DenseMap<Value, Value> locals;
  llvm::DenseMap<Operation *, linalg::FillOp> starts;
};

struct ConvertToTilePass
    : tessera::impl::ConvertToTilePassBase<ConvertToTilePass> {
  using ConvertToTilePassBase::ConvertToTilePassBase;

  void runOnOperation() override {
    Result<Architecture> architecture = loadArchitecture(arch);
    if (!architecture.ok()) {
      getOperation().emitError() << architecture.status().message();
      return signalPassFailure();
    }
    TargetModel target(*architecture);
    bool good = true;
    auto functions = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp function : functions)
      if (function->hasAttr("tile.dispatch") &&
          failed(KernelBuilder(function, target).build()))
        good = false;
    if (!good)
      return signalPassFailure();
    // Constants and views that only the converted operations used.
    for (auto kernel : getOperation().getOps<tile::KernelOp>())
      eraseDead(kernel);
  }

  static void eraseDead(tile::KernelOp kernel) {
    // Users come after what they use, so one walk backwards is enough.
    SmallVector<Operation *> ops;
    kernel.getBody().walk<WalkOrder::PreOrder>(
        [&](Operation *op) { ops.push_back(op); });
    for (Operation *op : llvm::reverse(ops))
      if (isOpTriviallyDead(op))
        op->erase();
  }
};

} // namespace
