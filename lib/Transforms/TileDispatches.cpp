//===- TileDispatches.cpp - Tile dispatches to SPM and ACC ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "DispatchBuilder.h"
#include "EqualDispatches.h"
#include "LinalgStructure.h"
#include "PlanText.h"
#include "TileCost.h"
#include "TileProblem.h"
#include "Windows.h"
#include "dialects/Device/DeviceDialect.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"
#include "tessera/Conversion/SharedPlan.h"
#include "tessera/Transforms/Passes.h"
#include "tessera/Transforms/PlanBook.h"

namespace tessera {
#define GEN_PASS_DEF_TILEDISPATCHESPASS
#include "lib/Transforms/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// Marks the operation whose reduction loops are tiled after the rest.
static constexpr llvm::StringLiteral reducerAttrName = "tile.reducer";

/// A loop nest with its plan.
struct PlannedNest {
  TileNest nest;
  TilePlan plan;
  std::optional<TilePlan> runnerUp;
  double expected; ///< Cycles of the plan that the planner likes best.
};

/// The nests of a dispatch.
struct PlannedDispatch {
  std::vector<PlannedNest> nests;
  uint64_t problem = 0; ///< hashProblems() of all nests.
};

/// An insertion becomes a copy into a slice, which can be tiled.
static void expandInsertions(RewriterBase &rewriter,
                             graph::DispatchOp dispatch) {
  for (auto insert : llvm::make_early_inc_range(
           dispatch.getBody().front().getOps<tensor::InsertSliceOp>())) {
    rewriter.setInsertionPoint(insert);
    Location loc = insert.getLoc();
    Value slice = tensor::ExtractSliceOp::create(
        rewriter, loc, insert.getSourceType(), insert.getDest(),
        insert.getMixedOffsets(), insert.getMixedSizes(),
        insert.getMixedStrides());
    Value copy =
        linalg::CopyOp::create(rewriter, loc, insert.getSource(), slice)
            .getResult(0);
    rewriter.modifyOpInPlace(insert,
                             [&] { insert.getSourceMutable().assign(copy); });
  }
}

namespace {

/// The architecture, and which of the function's tensors its shared SRAM will
/// hold.
class Machine {
public:
  Machine(const Architecture &arch, func::FuncOp function);

  /// Of the arguments of the dispatch's body, those in the shared SRAM.
  SharedTensors sharedOf(graph::DispatchOp dispatch) const;

  const Architecture &arch;

private:
  /// The value whose memory `value` is.
  static Value findOwner(Value value);
  llvm::DenseSet<Value> shared; ///< Owners.
};

} // namespace

Value Machine::findOwner(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(
            op)) {
      value = op->getOperand(0);
      continue;
    }
    auto dispatch = dyn_cast<graph::DispatchOp>(op);
    if (!dispatch)
      break;
    Value output =
        dispatch.getOutputs()[cast<OpResult>(value).getResultNumber()];
    if (!output.getDefiningOp<graph::DispatchOp>())
      break;
    value = output;
  }
  return value;
}

/// As plan-arena will place them, if nothing is taken apart any more.
Machine::Machine(const Architecture &arch, func::FuncOp function) : arch(arch) {
  MemoryPlanProblem problem{"the arena", arch.shared.bytes, {}};
  llvm::MapVector<Value, unsigned> numbers;
  std::vector<uint32_t> accesses;
  uint32_t position = 0;
  for (auto dispatch : function.getOps<graph::DispatchOp>()) {
    auto access = [&](Value value) {
      Value owner = findOwner(value);
      if (!owner.getDefiningOp<graph::DispatchOp>())
        return;
      auto [place, isNew] = numbers.try_emplace(owner, accesses.size());
      if (isNew) {
        auto type = cast<ShapedType>(owner.getType());
        uint64_t bytes =
            std::max<int64_t>(1, type.getNumElements() *
                                     ((type.getElementTypeBitWidth() + 7) / 8));
        problem.buffers.push_back(
            {"", bytes, deviceAlignment(bytes), 1, position, position});
        accesses.push_back(0);
      }
      problem.buffers[place->second].end = position;
      ++accesses[place->second];
    };
    for (Value input : dispatch.getInputs())
      access(input);
    for (Value result : dispatch.getResults())
      access(result);
    ++position;
  }
  // Results of the function have memory of their own.
  for (Value result : function.getBody().front().getTerminator()->getOperands())
    if (auto found = numbers.find(findOwner(result)); found != numbers.end())
      problem.buffers[found->second].bytes = uint64_t(1) << 48;
  if (!problem.check().ok())
    return;
  SharedPlan plan = planShared(problem, accesses);
  for (auto [owner, number] : numbers)
    if (plan.offsets[number])
      shared.insert(owner);
}

SharedTensors Machine::sharedOf(graph::DispatchOp dispatch) const {
  SharedTensors result;
  Block &body = dispatch.getBody().front();
  size_t numInputs = dispatch.getInputs().size();
  for (auto [index, input] : llvm::enumerate(dispatch.getInputs()))
    if (shared.contains(findOwner(input)))
      result.insert(body.getArgument(index));
  for (auto [index, value] : llvm::enumerate(dispatch.getResults()))
    if (shared.contains(findOwner(value)))
      result.insert(body.getArgument(numInputs + index));
  return result;
}

namespace {
/// Where plans come from that are not the planner's best.
struct PlanSource {
  PlanBook book;
  unsigned candidate = 0;
};
} // namespace

/// Between the plans of nests that one kernel runs.
static constexpr std::string_view planSeparator = " | ";

/// What is tiled by itself: what is not computed for another operation's tile.
static SmallVector<linalg::LinalgOp> findRoots(graph::DispatchOp dispatch) {
  SmallVector<linalg::LinalgOp> roots;
  for (auto op : dispatch.getBody().front().getOps<linalg::LinalgOp>()) {
    bool isProducer = llvm::any_of(op->getUses(), [](OpOperand &use) {
      auto reader = dyn_cast<linalg::LinalgOp>(use.getOwner());
      return reader && (reader.isDpsInput(&use) ||
                        isa<linalg::GenericOp>(use.getOwner()));
    });
    if (!isProducer)
      roots.push_back(op);
  }
  return roots;
}

/// The plans of a book for these nests, in the words that describe() joins.
static Status takePlans(std::string_view text, std::vector<PlannedNest> &nests,
                        const TargetModel &target) {
  for (PlannedNest &planned : nests) {
    size_t end = text.find(planSeparator);
    const TileProblem &problem = planned.nest.problem;
    TESSERA_ASSIGN_OR_RETURN(TilePlan plan,
                             parsePlan(problem, text.substr(0, end)));
    TESSERA_RETURN_IF_ERROR(completePlan(problem, plan, target));
    planned.runnerUp = std::move(planned.plan);
    planned.plan = std::move(plan);
    text = end == std::string_view::npos
               ? std::string_view()
               : text.substr(end + planSeparator.size());
  }
  return Status::success();
}

/// Plans all nests of a dispatch, or says why that is not possible.
static Result<PlannedDispatch> planDispatch(graph::DispatchOp dispatch,
                                            const Machine &machine,
                                            const PlanSource &source) {
  std::string name;
  if (auto nodes = dispatch->getAttrOfType<ArrayAttr>(nodesAttrName))
    for (auto node : nodes.getAsRange<StringAttr>())
      name += (name.empty() ? "" : ", ") + node.getValue().str();
  SmallVector<linalg::LinalgOp> roots = findRoots(dispatch);
  TargetModel target(machine.arch, std::max<unsigned>(1, roots.size()));
  SharedTensors shared = machine.sharedOf(dispatch);
  PlannedDispatch result;
  for (linalg::LinalgOp root : roots) {
    TileNest nest = buildTileNest(root, name, shared);
    TESSERA_ASSIGN_OR_RETURN(TileChoice choice,
                             chooseTiles(nest.problem, target));
    TESSERA_RETURN_IF_ERROR(verifyPlan(nest.problem, choice.best, target));
    double expected = choice.best.cycles;
    result.nests.push_back({std::move(nest), std::move(choice.best),
                            std::move(choice.runnerUp), expected});
  }
  std::vector<const TileProblem *> problems;
  for (const PlannedNest &planned : result.nests)
    problems.push_back(&planned.nest.problem);
  result.problem = hashProblems(problems, machine.arch);
  if (const std::string *text = source.book.find(result.problem)) {
    if (Status taken = takePlans(*text, result.nests, target); !taken.ok())
      return taken.withContext(name + ": the plan \"" + *text + "\"");
  } else if (source.candidate != 0) {
    for (PlannedNest &planned : result.nests) {
      TESSERA_ASSIGN_OR_RETURN(
          std::vector<TilePlan> ranking,
          rankTiles(planned.nest.problem, target, source.candidate + 1));
      planned.runnerUp = std::move(planned.plan);
      planned.plan = std::move(ranking.back());
      TESSERA_RETURN_IF_ERROR(
          verifyPlan(planned.nest.problem, planned.plan, target));
    }
  }
  return result;
}

static double expectedCycles(const PlannedDispatch &plan) {
  double cycles = 0;
  for (const PlannedNest &planned : plan.nests)
    cycles += planned.expected;
  return cycles;
}

/// Tile sizes of an operation's loops as the tiling functions take them: 0
/// means not tiled. Only parallel or only reduction loops.
static SmallVector<OpFoldResult>
tileSizes(OpBuilder &builder, linalg::LinalgOp op, ArrayRef<unsigned> dims,
          const PlannedNest &planned, bool reduction) {
  SmallVector<OpFoldResult> sizes;
  for (auto [dim, kind] : llvm::zip_equal(dims, op.getIteratorTypesArray())) {
    bool wanted = (kind == utils::IteratorType::reduction) == reduction;
    bool tiled = wanted && planned.plan.isTiled(planned.nest.problem, dim);
    sizes.push_back(builder.getIndexAttr(tiled ? planned.plan.tiles[dim] : 0));
  }
  return sizes;
}

/// The loops of an operation as the plan orders their dimensions.
static SmallVector<unsigned> loopOrder(ArrayRef<unsigned> dims,
                                       const TilePlan &plan) {
  SmallVector<unsigned> loops;
  for (unsigned dim : plan.order)
    for (auto [loop, its] : llvm::enumerate(dims))
      if (its == dim)
        loops.push_back(loop);
  return loops;
}

/// Cores for each loop that is tiled and no reduction, outermost first.
static SmallVector<int64_t> coreGrid(const PlannedNest &planned) {
  const TileProblem &problem = planned.nest.problem;
  SmallVector<int64_t> grid;
  for (unsigned dim : planned.plan.order)
    if (planned.plan.isTiled(problem, dim) && !problem.dims[dim].reduction)
      grid.push_back(planned.plan.grid[dim]);
  return grid;
}

static bool tilesAny(ArrayRef<OpFoldResult> sizes) {
  return llvm::any_of(sizes,
                      [](OpFoldResult size) { return !isZeroInteger(size); });
}

using LoopHeader = scf::SCFTilingOptions::CustomLoopHeaderInfo;

/// Loops over tiles that all have the given size, outermost first. Where it
/// does not divide an extent, the last tile starts earlier and computes a part
/// of the tile before it again, so that no shape depends on the iteration.
static FailureOr<LoopHeader> createLoops(RewriterBase &rewriter, Location loc,
                                         ArrayRef<Range> ranges,
                                         ArrayRef<OpFoldResult> sizes,
                                         ArrayRef<unsigned> order,
                                         ValueRange destinations) {
  LoopHeader header;
  header.tileOffset.resize(ranges.size());
  header.tileSizes.resize(ranges.size());
  header.destinationTensors = llvm::to_vector(destinations);
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  };
  for (unsigned dim : order) {
    const Range &range = ranges[dim];
    OpFoldResult size = sizes[dim];
    std::optional<int64_t> extent = getConstantIntValue(range.size);
    std::optional<int64_t> tile = getConstantIntValue(size);
    if (!extent || !tile)
      return failure();
    if (*tile == 0) {
      header.tileOffset[dim] = range.offset;
      header.tileSizes[dim] = range.size;
      continue;
    }
    Value zero = index(0), end = index(*extent), step = index(*tile);
    auto loop = scf::ForOp::create(
        rewriter, loc, zero, end, step, header.destinationTensors,
        [](OpBuilder &, Location, Value, ValueRange) {});
    rewriter.setInsertionPointToEnd(loop.getBody());
    if (!header.loops.empty()) {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointAfter(loop);
      scf::YieldOp::create(rewriter, loc, loop.getResults());
    }
    header.loops.push_back(cast<LoopLikeOpInterface>(loop.getOperation()));
    header.destinationTensors = llvm::to_vector(
        llvm::map_range(loop.getRegionIterArgs(), [](BlockArgument argument) {
          return Value(argument);
        }));
    Value offset = loop.getInductionVar();
    if (*extent % *tile != 0)
      offset =
          arith::MinSIOp::create(rewriter, loc, offset, index(*extent - *tile));
    header.tileOffset[dim] = offset;
    header.tileSizes[dim] = size;
  }
  return header;
}

/// Puts the tiles of the results back where they belong.
static LogicalResult closeLoops(RewriterBase &rewriter, Location loc,
                                ArrayRef<LoopLikeOpInterface>, ValueRange tiles,
                                ArrayRef<SmallVector<OpFoldResult>> offsets,
                                ArrayRef<SmallVector<OpFoldResult>> sizes,
                                ValueRange destinations) {
  SmallVector<Value> results;
  for (auto [tile, offset, size, destination] :
       llvm::zip_equal(tiles, offsets, sizes, destinations)) {
    SmallVector<OpFoldResult> strides(offset.size(), rewriter.getIndexAttr(1));
    results.push_back(tensor::InsertSliceOp::create(
        rewriter, loc, tile, destination, offset, size, strides));
  }
  scf::YieldOp::create(rewriter, loc, results);
  return success();
}

/// Tiles `op`, its loops in the given order, and computes the producers for
/// which `fuses` holds on its tiles.
static LogicalResult tileAndFuse(RewriterBase &rewriter, linalg::LinalgOp op,
                                 ArrayRef<OpFoldResult> sizes,
                                 ArrayRef<unsigned> order,
                                 llvm::function_ref<bool(Operation *)> fuses) {
  scf::SCFTilingOptions tiling;
  tiling.setTileSizes(sizes);
  tiling.setLoopType(scf::SCFTilingOptions::LoopType::CustomOp);
  tiling.setCustomLoopGenerationFns(
      [order = SmallVector<unsigned>(order)](
          RewriterBase &builder, Location loc, ArrayRef<Range> ranges,
          ArrayRef<OpFoldResult> tileSizes, ValueRange destinations) {
        return createLoops(builder, loc, ranges, tileSizes, order,
                           destinations);
      },
      closeLoops);
  scf::SCFTileAndFuseOptions options;
  options.setTilingOptions(tiling);
  options.setFusionControlFn(
      [&](tensor::ExtractSliceOp, OpResult producer,
          bool) -> std::optional<scf::SCFTileAndFuseOptions::ControlFnResult> {
        if (!fuses(producer.getOwner()))
          return std::nullopt;
        return scf::SCFTileAndFuseOptions::ControlFnResult();
      });
  rewriter.setInsertionPoint(op);
  FailureOr<scf::SCFTileAndFuseResult> result =
      scf::tileConsumerAndFuseProducersUsingSCF(
          rewriter, cast<TilingInterface>(op.getOperation()), options);
  if (failed(result))
    return op.emitError("cannot be tiled");
  for (OpResult value : op->getResults())
    if (Value replacement = result->replacements.lookup(value))
      rewriter.replaceAllUsesWith(value, replacement);
  rewriter.eraseOp(op);
  return success();
}

/// Tiles reduction loops. No element may be added twice, so what is left where
/// a size does not divide the extent becomes an operation of its own, which
/// goes on from the result of the others.
static LogicalResult tileReduction(RewriterBase &rewriter, linalg::LinalgOp op,
                                   ArrayRef<OpFoldResult> sizes) {
  SmallVector<linalg::LinalgOp> parts{op};
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    int64_t tile = *getConstantIntValue(size);
    int64_t extent = op.getStaticLoopRanges()[dim];
    if (tile == 0 || extent % tile == 0)
      continue;
    OpFoldResult point = rewriter.getIndexAttr(extent / tile * tile);
    SmallVector<linalg::LinalgOp> split;
    for (linalg::LinalgOp part : parts) {
      rewriter.setInsertionPoint(part);
      auto [first, rest] = linalg::splitOp(
          rewriter, cast<TilingInterface>(part.getOperation()), dim, point);
      if (!first || !rest)
        return part.emitError("cannot be split");
      split.push_back(cast<linalg::LinalgOp>(first.getOperation()));
      split.push_back(cast<linalg::LinalgOp>(rest.getOperation()));
    }
    parts = split;
  }
  for (linalg::LinalgOp part : parts) {
    SmallVector<OpFoldResult> left(sizes);
    for (auto [size, extent] :
         llvm::zip_equal(left, part.getStaticLoopRanges()))
      if (*getConstantIntValue(size) >= extent)
        size = rewriter.getIndexAttr(0);
    auto order = llvm::to_vector(llvm::seq<unsigned>(0, left.size()));
    if (tilesAny(left) &&
        failed(tileAndFuse(rewriter, part, left, order,
                           [](Operation *) { return false; })))
      return failure();
  }
  return success();
}

/// Erases what tiling has left without a reader.
static void eraseDead(RewriterBase &rewriter, Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      rewriter.eraseOp(&op);
}

/// Folds what tiling leaves: slices of slices, casts, constant arithmetic.
static LogicalResult simplify(Operation *root) {
  MLIRContext *context = root->getContext();
  RewritePatternSet patterns =
      linalg::getLinalgTilingCanonicalizationPatterns(context);
  scf::populateSCFForLoopCanonicalizationPatterns(patterns);
  tensor::populateMergeConsecutiveInsertExtractSlicePatterns(patterns);
  tensor::populateFoldTensorEmptyPatterns(patterns);
  for (StringRef dialect : {"tensor", "scf", "affine"})
    context->getLoadedDialect(dialect)->getCanonicalizationPatterns(patterns);
  for (RegisteredOperationName op : context->getRegisteredOperations())
    if (isa<tensor::TensorDialect, scf::SCFDialect, affine::AffineDialect>(
            op.getDialect()))
      op.getCanonicalizationPatterns(patterns, context);
  return applyPatternsGreedily(root, std::move(patterns));
}

/// Merges what the tiling computes for several readers.
static void mergeEqual(RewriterBase &rewriter, Operation *root) {
  DominanceInfo dominance(root);
  eliminateCommonSubExpressions(rewriter, dominance, root);
}

/// Gives each operation that starts from a `tensor.empty` one of its own, and
/// each fill of one its own: what a matrix engine accumulates must not share a
/// buffer with what it reads.
static void separateDestinations(RewriterBase &rewriter, Operation *root) {
  SmallVector<linalg::FillOp> fills;
  root->walk([&](linalg::FillOp fill) { fills.push_back(fill); });
  for (linalg::FillOp fill : fills)
    for (OpOperand &use :
         llvm::make_early_inc_range(llvm::drop_begin(fill->getUses()))) {
      rewriter.setInsertionPoint(use.getOwner());
      Operation *own = rewriter.clone(*fill);
      rewriter.modifyOpInPlace(use.getOwner(),
                               [&] { use.set(own->getResult(0)); });
    }
  SmallVector<tensor::EmptyOp> empties;
  root->walk([&](tensor::EmptyOp empty) { empties.push_back(empty); });
  for (tensor::EmptyOp empty : empties)
    for (OpOperand &use :
         llvm::make_early_inc_range(llvm::drop_begin(empty->getUses()))) {
      rewriter.setInsertionPoint(use.getOwner());
      Operation *own = rewriter.clone(*empty);
      rewriter.modifyOpInPlace(use.getOwner(),
                               [&] { use.set(own->getResult(0)); });
    }
}

/// Loops over the keys of the attention on a tile.
static LogicalResult tileKeys(RewriterBase &rewriter, int64_t keys,
                              Block &body) {
  if (failed(simplify(body.getParentOp())))
    return failure();
  mergeEqual(rewriter, body.getParentOp());
  std::optional<Attention> attention;
  body.walk([&](linalg::GenericOp op) {
    if (auto found = matchAttention(op))
      attention = found;
  });
  if (!attention || attention->quotient)
    return body.getParentOp()->emitError("lost its attention in tiling");
  return streamKeys(rewriter, *attention, keys);
}

static LogicalResult tileNest(RewriterBase &rewriter,
                              const PlannedNest &planned,
                              ArrayRef<Operation *> otherRoots, Block &body) {
  const TileNest &nest = planned.nest;
  linalg::LinalgOp root = nest.root, reducer = nest.reducer;
  SmallVector<OpFoldResult> reducerSizes;
  if (reducer) {
    reducerSizes =
        tileSizes(rewriter, reducer, nest.reducerDims, planned, true);
    if (tilesAny(reducerSizes))
      reducer->setAttr(reducerAttrName, rewriter.getUnitAttr());
  }
  SmallVector<OpFoldResult> sizes =
      tileSizes(rewriter, root, nest.rootDims, planned, false);
  if (tilesAny(sizes)) {
    if (failed(tileAndFuse(rewriter, root, sizes,
                           loopOrder(nest.rootDims, planned.plan),
                           [&](Operation *producer) {
                             return !isa<tensor::PadOp>(producer) &&
                                    !llvm::is_contained(otherRoots, producer);
                           })))
      return failure();
    eraseDead(rewriter, body);
  }
  SmallVector<linalg::LinalgOp> marked;
  body.walk([&](linalg::LinalgOp op) {
    if (op->removeAttr(reducerAttrName))
      marked.push_back(op);
  });
  for (linalg::LinalgOp op : marked)
    if (failed(tileReduction(rewriter, op, reducerSizes)))
      return failure();
  if (nest.keyDim && planned.plan.isTiled(nest.problem, *nest.keyDim) &&
      failed(tileKeys(rewriter, planned.plan.tiles[*nest.keyDim], body)))
    return failure();
  eraseDead(rewriter, body);
  return success();
}

/// Puts a dispatch's body back where the dispatch is.
static SmallVector<Operation *> unwrap(RewriterBase &rewriter,
                                       graph::DispatchOp dispatch) {
  Block &body = dispatch.getBody().front();
  Operation *yield = body.getTerminator();
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    ops.push_back(&op);
  SmallVector<Value> results(yield->getOperands());
  SmallVector<Value> operands(dispatch.getInputs());
  llvm::append_range(operands, dispatch.getOutputs());
  rewriter.eraseOp(yield);
  rewriter.inlineBlockBefore(&body, dispatch, operands);
  for (Value &result : results)
    for (auto [argument, operand] : llvm::zip(body.getArguments(), operands))
      if (result == argument)
        result = operand;
  rewriter.replaceOp(dispatch, results);
  return ops;
}

/// The attention among a block's operations.
static std::optional<Attention> findAttention(Block &block) {
  std::optional<Attention> attention;
  for (auto op : block.getOps<linalg::GenericOp>())
    if (auto found = matchAttention(op);
        found && found->scores->getBlock() == &block)
      attention = found;
  return attention;
}

/// Operations that become dispatches of their own: each, but of an attention
/// the scores, the softmax and the values.
static SmallVector<SmallVector<Operation *>>
partition(ArrayRef<Operation *> ops) {
  SmallVector<SmallVector<Operation *>> parts;
  std::optional<Attention> attention;
  for (Operation *op : ops)
    if (auto found = matchAttention(cast<linalg::GenericOp>(op));
        found && llvm::is_contained(ops, found->scores.getOperation()))
      attention = found;
  if (!attention) {
    for (Operation *op : ops)
      parts.push_back({op});
    return parts;
  }
  RowSoftmax &softmax = attention->softmax;
  SmallVector<Operation *> known = attention->beforeValues();
  parts.push_back({known.front()});
  llvm::append_range(parts.back(), attention->chain);
  if (attention->quotient)
    parts.push_back({softmax.maximum, softmax.exponential, softmax.sum,
                     attention->quotient});
  else // Two results are two dispatches.
    parts.append({{softmax.maximum, softmax.exponential}, {softmax.sum}});
  parts.push_back(llvm::filter_to_vector(
      ops, [&](Operation *op) { return !llvm::is_contained(known, op); }));
  return parts;
}

/// Makes a dispatch of each part of one in which the smallest tiles do not fit.
/// Returns nothing if there is nothing to take apart.
static SmallVector<graph::DispatchOp> takeApart(RewriterBase &rewriter,
                                                graph::DispatchOp dispatch) {
  Block &body = dispatch.getBody().front();
  auto generics = llvm::to_vector(body.getOps<linalg::GenericOp>());
  if (generics.size() < 2)
    return {};
  SmallVector<Operation *> ops = unwrap(rewriter, dispatch), rest;
  for (Operation *op : ops)
    if (isa<linalg::GenericOp>(op))
      rest.push_back(op);
  SmallVector<graph::DispatchOp> result;
  for (SmallVector<Operation *> &part : partition(rest)) {
    // A padding goes with its reader.
    SmallVector<Operation *> pads;
    for (Operation *op : part)
      for (Value operand : op->getOperands())
        if (auto pad = operand.getDefiningOp<tensor::PadOp>();
            pad && llvm::is_contained(ops, pad.getOperation()) &&
            !llvm::is_contained(pads, pad.getOperation()))
          pads.push_back(pad);
    part.insert(part.begin(), pads.begin(), pads.end());
    result.push_back(wrapInDispatch(rewriter, part));
  }
  return result;
}

/// Whether an attention is expected to be faster in parts, which may share
/// their work among more cores.
static bool wantsAttentionApart(RewriterBase &rewriter,
                                graph::DispatchOp dispatch,
                                const PlannedDispatch &plan,
                                const Machine &machine,
                                const PlanSource &source) {
  if (!findAttention(dispatch.getBody().front()))
    return false;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointAfter(dispatch);
  auto copy = cast<graph::DispatchOp>(rewriter.clone(*dispatch));
  SmallVector<graph::DispatchOp> parts = takeApart(rewriter, copy);
  double overhead = TargetModel(machine.arch).dispatchOverhead();
  double cycles = -overhead;
  bool good = true;
  for (graph::DispatchOp part : parts) {
    Result<PlannedDispatch> planned = planDispatch(part, machine, source);
    good &= planned.ok();
    if (good)
      cycles += expectedCycles(*planned) + overhead;
  }
  for (graph::DispatchOp part : llvm::reverse(parts))
    rewriter.eraseOp(part);
  // Parts pass their scores through memory, of which the estimate is less sure
  // than of the engines: it has been half of what they took.
  constexpr double margin = 1.5;
  return good && cycles * margin < expectedCycles(plan);
}

namespace {

struct TileDispatchesPass
    : tessera::impl::TileDispatchesPassBase<TileDispatchesPass> {
  using TileDispatchesPassBase::TileDispatchesPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    Result<Architecture> architecture = loadArchitecture(arch);
    if (!architecture.ok()) {
      function.emitError() << architecture.status().message();
      return signalPassFailure();
    }
    Result<PlanSource> source = readPlans();
    if (!source.ok()) {
      function.emitError() << source.status().message();
      return signalPassFailure();
    }
    keepEngines(function);
    IRRewriter rewriter(&getContext());
    auto dispatches = llvm::to_vector(function.getOps<graph::DispatchOp>());
    bool good = true;
    int64_t kernel = 0;
    // What is taken apart comes back as parts.
    while (!dispatches.empty()) {
      for (graph::DispatchOp dispatch : dispatches)
        expandInsertions(rewriter, dispatch);
      Machine machine(*architecture, function);
      SmallVector<graph::DispatchOp> parts;
      for (const auto &group : groupEqualDispatches(dispatches)) {
        Result<PlannedDispatch> plan =
            planDispatch(group.front(), machine, *source);
        if (plan.ok() && !wantsAttentionApart(rewriter, group.front(), *plan,
                                              machine, *source))
          good &= succeeded(tile(rewriter, group, *plan, kernel++));
        else if (!plan.ok() &&
                 plan.status().code() != StatusCode::ResourceExhausted)
          good &= succeeded(LogicalResult(
              emitError(group.front()->getLoc(), plan.status().message())));
        else
          good &= succeeded(takeApart(rewriter, group, plan.status(), parts));
      }
      dispatches = std::move(parts);
    }
    if (!good || failed(cleanUp()))
      return signalPassFailure();
  }

  Result<PlanSource> readPlans() const {
    PlanSource source;
    source.candidate = candidate;
    if (!plans.empty()) {
      TESSERA_ASSIGN_OR_RETURN(source.book, PlanBook::parse(plans));
    }
    return source;
  }

  static LogicalResult takeApart(RewriterBase &rewriter,
                                 ArrayRef<graph::DispatchOp> group,
                                 const Status &status,
                                 SmallVector<graph::DispatchOp> &parts) {
    LogicalResult result = success();
    for (graph::DispatchOp dispatch : group) {
      Location loc = dispatch.getLoc();
      SmallVector<graph::DispatchOp> smaller = ::takeApart(rewriter, dispatch);
      if (smaller.empty())
        result = emitError(loc) << status.message();
      llvm::append_range(parts, smaller);
    }
    return result;
  }

  /// Tiles the first dispatch of a group, and tells all of them the kernel that
  /// it becomes.
  LogicalResult tile(RewriterBase &rewriter, ArrayRef<graph::DispatchOp> group,
                     const PlannedDispatch &plan, int64_t kernel) {
    device::MappingAttr mapping = describe(rewriter, plan);
    for (graph::DispatchOp dispatch : group) {
      dispatch->setAttr(mappingAttrName, mapping);
      dispatch->setAttr(kernelAttrName, rewriter.getI64IntegerAttr(kernel));
      if (dispatch != group.front())
        dispatch->setAttr(untiledAttrName, rewriter.getUnitAttr());
    }
    return tile(rewriter, group.front(), plan.nests);
  }

  LogicalResult tile(RewriterBase &rewriter, graph::DispatchOp dispatch,
                     const std::vector<PlannedNest> &plan) {
    Block &body = dispatch.getBody().front();
    if (findAttention(body))
      attentions.push_back(dispatch);
    SmallVector<Operation *> roots;
    unsigned depth = plan.empty() ? 1 : plan.front().plan.depth;
    unsigned accDepth = plan.empty() ? 1 : plan.front().plan.accDepth;
    for (const PlannedNest &planned : plan) {
      roots.push_back(planned.nest.root);
      depth = std::min(depth, planned.plan.depth);
      accDepth = std::min(accDepth, planned.plan.accDepth);
    }
    dispatch->setAttr("depth", rewriter.getI64IntegerAttr(depth));
    dispatch->setAttr("acc_depth", rewriter.getI64IntegerAttr(accDepth));
    if (plan.size() == 1) {
      dispatch->setAttr("cores",
                        rewriter.getDenseI64ArrayAttr(coreGrid(plan.front())));
      dispatch->setAttr("panel_depth", rewriter.getI64IntegerAttr(
                                           plan.front().plan.panelDepth));
      dispatch->setAttr("interleave", rewriter.getI64IntegerAttr(
                                          plan.front().plan.interleave));
      if (plan.front().plan.multicast)
        dispatch->setAttr("multicast", rewriter.getUnitAttr());
      if (plan.front().plan.pieces)
        dispatch->setAttr("pieces", rewriter.getUnitAttr());
    }
    for (const PlannedNest &planned : plan)
      if (failed(tileNest(rewriter, planned, roots, body)))
        return failure();
    return success();
  }

  /// What was chosen for all nests, one after the other, and what would have
  /// been the next best.
  static device::MappingAttr describe(Builder &builder,
                                      const PlannedDispatch &plan) {
    std::string chosen, other;
    double cycles = 0, otherCycles = 0;
    bool hasOther = false;
    for (const PlannedNest &planned : plan.nests) {
      const TilePlan &second =
          planned.runnerUp ? *planned.runnerUp : planned.plan;
      hasOther |= planned.runnerUp.has_value();
      std::string separator(chosen.empty() ? "" : planSeparator);
      chosen += separator + describePlan(planned.nest.problem, planned.plan);
      other += separator + describePlan(planned.nest.problem, second);
      cycles += planned.plan.cycles;
      otherCycles += second.cycles;
    }
    return device::MappingAttr::get(
        builder.getContext(), chosen, uint64_t(std::llround(cycles)),
        plan.problem, hasOther ? builder.getStringAttr(other) : StringAttr(),
        hasOther ? uint64_t(std::llround(otherCycles)) : 0);
  }

  /// A window that a loop does not change is loaded before the loop, into a
  /// target of that place.
  static void hoistWindows(Operation *root) {
    root->walk([](scf::ForOp loop) {
      auto isOutside = [&](Value value, Region *) {
        return loop.isDefinedOutsideOfLoop(value);
      };
      moveLoopInvariantCode(
          {&loop.getRegion()}, isOutside,
          [](Operation *op, Region *) {
            return isa<arith::ConstantOp, tensor::ExtractSliceOp,
                       affine::AffineApplyOp>(op);
          },
          [&](Operation *op, Region *) { loop.moveOutOfLoop(op); });
    });
    root->walk([](tile::WindowOp window) {
      auto changesIn = [&](scf::ForOp loop) {
        return !loop.isDefinedOutsideOfLoop(window.getSource()) ||
               !llvm::all_of(window.getOffsets(), [&](Value offset) {
                 return loop.isDefinedOutsideOfLoop(offset);
               });
      };
      for (auto loop = dyn_cast<scf::ForOp>(window->getParentOp());
           loop && !changesIn(loop);
           loop = dyn_cast<scf::ForOp>(window->getParentOp())) {
        loop.moveOutOfLoop(window.getTarget().getDefiningOp());
        loop.moveOutOfLoop(window);
      }
    });
  }

  LogicalResult cleanUp() {
    if (failed(simplify(getOperation())))
      return failure();
    IRRewriter rewriter(&getContext());
    mergeEqual(rewriter, getOperation());
    makeWindows(rewriter, getOperation());
    hoistWindows(getOperation());
    if (failed(simplify(getOperation())))
      return failure();
    mergeEqual(rewriter, getOperation());
    for (graph::DispatchOp dispatch : attentions)
      separateDestinations(rewriter, dispatch);
    return success();
  }

  SmallVector<graph::DispatchOp> attentions;
};

} // namespace
