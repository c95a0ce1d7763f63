//===- ChannelsLast.cpp - Layouts of convolutions' tensors ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinalgStructure.h"
#include "dialects/Graph/ConstantLayout.h"
#include "dialects/Graph/GraphConstants.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "tessera/Transforms/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace tessera {
#define GEN_PASS_DEF_CHANNELSLASTPASS
#include "lib/Transforms/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// The old dimension at each place of a tensor's new shape.
using Layout = SmallVector<int64_t>;

template <typename T>
static SmallVector<T> permute(ArrayRef<T> list, const Layout &layout) {
  return llvm::map_to_vector(layout, [&](int64_t dim) { return list[dim]; });
}

static RankedTensorType permute(RankedTensorType type, const Layout &layout) {
  return RankedTensorType::get(permute(type.getShape(), layout),
                               type.getElementType());
}

static AffineMap permute(AffineMap map, const Layout &layout) {
  return AffineMap::get(map.getNumDims(), 0, permute(map.getResults(), layout),
                        map.getContext());
}

static bool isIdentity(const Layout &layout) {
  return llvm::equal(layout, llvm::seq<int64_t>(0, layout.size()));
}

/// Whether positions of the operand are sums of loops: a window.
static bool hasWindow(AffineMap map) {
  return llvm::any_of(map.getResults(), [](AffineExpr expr) {
    return !isa<AffineDimExpr, AffineConstantExpr>(expr);
  });
}

/// The contraction of a convolution: a window slides over input 0.
static std::optional<Contraction> matchConvolution(linalg::GenericOp op) {
  std::optional<Contraction> contraction = matchContraction(op);
  if (!contraction ||
      !hasWindow(op.getMatchingIndexingMap(op.getDpsInputOperand(0))))
    return std::nullopt;
  return contraction;
}

/// Stable order of a map's results by a key of each one's loop; nothing if a
/// result is no loop.
static std::optional<Layout>
sortResults(AffineMap map, llvm::function_ref<unsigned(unsigned)> key) {
  Layout layout = llvm::to_vector(llvm::seq<int64_t>(0, map.getNumResults()));
  if (!llvm::all_of(map.getResults(), llvm::IsaPred<AffineDimExpr>))
    return std::nullopt;
  llvm::stable_sort(layout, [&](int64_t a, int64_t b) {
    return key(map.getDimPosition(a)) < key(map.getDimPosition(b));
  });
  return layout;
}

/// The constant whose elements are those of `value`, which may have another
/// shape if nothing else reads it in its own.
static ElementsAttr constantBehind(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op) ||
        !op->getOperand(0).hasOneUse())
      break;
    value = op->getOperand(0);
  }
  return graph::getConstant(value);
}

namespace {

class ChannelsLast {
public:
  explicit ChannelsLast(func::FuncOp function)
      : function(function), rewriter(function.getContext()) {}

  void run() {
    for (auto op : function.getBody().front().getOps<linalg::GenericOp>())
      if (isProduct(op) &&
          llvm::all_of(op.getInputs()[1].getUsers(), isProduct))
        packWeights(op, /*sumLast=*/true);
    for (Operation &op : function.getBody().front())
      choose(&op);
    while (dropImpossible()) {
    }
    if (layouts.empty())
      return;
    SmallVector<Operation *> ops;
    for (Operation &op : function.getBody().front())
      ops.push_back(&op);
    for (Operation *op : ops)
      apply(op);
    for (auto &[value, layout] : layouts)
      value.setType(permute(cast<RankedTensorType>(value.getType()), layout));
    for (Operation *op : ops)
      if (auto generic = dyn_cast<linalg::GenericOp>(op))
        orderLoops(generic);
    for (Operation *op : llvm::reverse(ops))
      if (isOpTriviallyDead(op))
        rewriter.eraseOp(op);
  }

private:
  //===-- Choice ----------------------------------------------------------===//

  void choose(Operation *op) {
    if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      for (OpOperand &init : generic.getDpsInitsMutable())
        if (std::optional<Layout> layout = wanted(generic, init);
            layout && !isIdentity(*layout) && startsAnew(init.get()))
          layouts[generic.getTiedOpResult(&init)] = *layout;
    } else if (isa<tensor::PadOp, tensor::ConcatOp>(op)) {
      auto known = layouts.find(op->getOperand(0));
      if (known != layouts.end()) {
        Layout layout = known->second;
        layouts[op->getResult(0)] = layout;
      }
    }
  }

  /// A destination of which only the shape, or one value, matters.
  static bool startsAnew(Value init) {
    if (auto fill = init.getDefiningOp<linalg::FillOp>())
      init = fill.getOutputs()[0];
    return init.getDefiningOp<tensor::EmptyOp>() != nullptr;
  }

  /// A convolution's result: positions, then channels. Others follow the first
  /// of their inputs that has a layout.
  std::optional<Layout> wanted(linalg::GenericOp op, OpOperand &init) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    if (map.getNumResults() < 3)
      return std::nullopt;
    if (std::optional<Contraction> convolution = matchConvolution(op))
      return sortResults(map, [&](unsigned loop) -> unsigned {
        return llvm::is_contained(convolution->m, loop)       ? 0
               : llvm::is_contained(convolution->batch, loop) ? 1
                                                              : 2;
      });
    if (matchContraction(op))
      return std::nullopt;
    for (OpOperand *input : op.getDpsInputOperands()) {
      auto known = layouts.find(input->get());
      if (known == layouts.end())
        continue;
      AffineMap source =
          permute(op.getMatchingIndexingMap(input), known->second);
      auto place = [&](unsigned loop) -> unsigned {
        for (auto [index, expr] : llvm::enumerate(source.getResults()))
          if (expr.isFunctionOfDim(loop))
            return index;
        return source.getNumResults();
      };
      return sortResults(map, place);
    }
    return std::nullopt;
  }

  /// Takes layouts back that a reader could not follow.
  bool dropImpossible() {
    SmallVector<Value> dropped;
    for (auto &[value, layout] : layouts) {
      bool good = llvm::all_of(value.getUses(), [&](OpOperand &use) {
        if (auto generic = dyn_cast<linalg::GenericOp>(use.getOwner()))
          return generic.isDpsInput(&use);
        return isa<tensor::PadOp, tensor::ConcatOp>(use.getOwner()) &&
               hasLayout(use.getOwner()->getResult(0), layout);
      });
      if (Operation *op = value.getDefiningOp();
          isa<tensor::PadOp, tensor::ConcatOp>(op)) {
        ValueRange sources = op->getOperands();
        if (isa<tensor::PadOp>(op))
          sources = sources.take_front();
        for (Value source : sources)
          good &= hasLayout(source, layout);
      }
      if (!good)
        dropped.push_back(value);
    }
    for (Value value : dropped)
      layouts.erase(value);
    return !dropped.empty();
  }

  bool hasLayout(Value value, const Layout &layout) {
    auto known = layouts.find(value);
    return known != layouts.end() && known->second == layout;
  }

  //===-- Change ----------------------------------------------------------===//

  void apply(Operation *op) {
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      return applyToMaps(generic);
    if (op->getNumResults() != 1 || !layouts.contains(op->getResult(0)))
      return;
    const Layout &layout = layouts[op->getResult(0)];
    if (auto pad = dyn_cast<tensor::PadOp>(op)) {
      pad.setStaticLow(permute(pad.getStaticLow(), layout));
      pad.setStaticHigh(permute(pad.getStaticHigh(), layout));
    } else if (auto concat = dyn_cast<tensor::ConcatOp>(op)) {
      concat.setDim(llvm::find(layout, int64_t(concat.getDim())) -
                    layout.begin());
    }
  }

  void applyToMaps(linalg::GenericOp op) {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    for (OpOperand *input : op.getDpsInputOperands())
      if (auto known = layouts.find(input->get()); known != layouts.end())
        maps[input->getOperandNumber()] =
            permute(maps[input->getOperandNumber()], known->second);
    for (OpOperand &init : op.getDpsInitsMutable())
      if (auto known = layouts.find(op.getTiedOpResult(&init));
          known != layouts.end()) {
        maps[init.getOperandNumber()] =
            permute(maps[init.getOperandNumber()], known->second);
        init.set(makeStart(op, init.get(), known->second));
      }
    op.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
  }

  Value makeStart(linalg::GenericOp op, Value old, const Layout &layout) {
    rewriter.setInsertionPoint(op);
    Value empty = tensor::EmptyOp::create(
        rewriter, old.getLoc(),
        permute(cast<RankedTensorType>(old.getType()), layout), ValueRange());
    auto fill = old.getDefiningOp<linalg::FillOp>();
    if (!fill)
      return empty;
    return linalg::FillOp::create(rewriter, fill.getLoc(), fill.getInputs()[0],
                                  empty)
        .getResult(0);
  }

  /// Loops in the order of the result's dimensions; those of a convolution's
  /// sum in the order of its input's, if the weights can follow.
  void orderLoops(linalg::GenericOp op) {
    Value result = op.getResult(0);
    auto input =
        layouts.find(op.getInputs().empty() ? Value() : op.getInputs()[0]);
    if (!layouts.contains(result) && input == layouts.end())
      return;
    std::optional<Contraction> convolution = matchConvolution(op);
    bool sorts = convolution && input != layouts.end() &&
                 usesMatrixEngine(op, *convolution) && hasConstantWeights(op);
    AffineMap target = op.getMatchingIndexingMap(op.getDpsInitOperand(0)),
              source = op.getMatchingIndexingMap(op.getDpsInputOperand(0));
    auto place = [](AffineMap map, unsigned loop) -> unsigned {
      for (auto [index, expr] : llvm::enumerate(map.getResults()))
        if (expr.isFunctionOfDim(loop))
          return index;
      return map.getNumResults();
    };
    auto kinds = op.getIteratorTypesArray();
    auto key = [&](unsigned loop) -> std::pair<bool, unsigned> {
      bool reduction = kinds[loop] == utils::IteratorType::reduction;
      return {reduction, !reduction ? place(target, loop)
                         : sorts    ? place(source, loop)
                                    : 0};
    };
    auto order = llvm::to_vector(llvm::seq<unsigned>(0, op.getNumLoops()));
    llvm::stable_sort(order,
                      [&](unsigned a, unsigned b) { return key(a) < key(b); });
    FailureOr<linalg::GenericOp> ordered =
        linalg::interchangeGenericOp(rewriter, op, order);
    if (failed(ordered) || !convolution || !hasConstantWeights(*ordered))
      return;
    // The vector engine's lanes go along the channels.
    if (sorts || !usesMatrixEngine(*ordered, *matchContraction(*ordered)))
      packWeights(*ordered, /*sumLast=*/sorts);
  }

  /// Whether the weights are known, so that they can have any layout.
  static bool hasConstantWeights(linalg::GenericOp op) {
    return constantBehind(op.getInputs()[1]) &&
           getElementTypeOrSelf(op.getInputs()[1]).getIntOrFloatBitWidth() %
                   8 ==
               0;
  }

  /// A product with constant weights on the matrix engine, without a window.
  static bool isProduct(Operation *op) {
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic)
      return false;
    std::optional<Contraction> contraction = matchContraction(generic);
    return contraction && !matchConvolution(generic) &&
           usesMatrixEngine(generic, *contraction) &&
           hasConstantWeights(generic);
  }

  /// Weights as the sum reads them, each result channel's one after the other,
  /// or with the channels side by side.
  void packWeights(linalg::GenericOp op, bool sumLast) {
    OpOperand *weights = op.getDpsInputOperand(1);
    AffineMap map = op.getMatchingIndexingMap(weights);
    auto kinds = op.getIteratorTypesArray();
    std::optional<Layout> layout = sortResults(map, [&](unsigned loop) {
      bool reduction = kinds[loop] == utils::IteratorType::reduction;
      return loop + (reduction == sumLast ? op.getNumLoops() : 0);
    });
    if (!layout || isIdentity(*layout))
      return;
    Value &packed = packedWeights[sumLast][{weights->get(), map}];
    if (!packed) {
      ElementsAttr constant = constantBehind(weights->get());
      std::optional<SmallVector<char>> bytes = graph::getBytes(constant);
      if (!bytes)
        return;
      auto type = cast<RankedTensorType>(weights->get().getType());
      auto resource = dyn_cast<DenseResourceElementsAttr>(constant);
      RankedTensorType to = permute(type, *layout);
      SmallVector<char> moved = graph::transposeBytes(
          *bytes, type.getElementTypeBitWidth() / 8, type.getShape(), *layout);
      ElementsAttr attribute = graph::makeConstant(
          to, moved, resource ? resource.getRawHandle().getKey() : "constant");
      rewriter.setInsertionPointToStart(&function.getBody().front());
      packed = arith::ConstantOp::create(rewriter, weights->get().getLoc(), to,
                                         attribute);
    }
    weights->set(packed);
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    maps[1] = permute(map, *layout);
    op.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
  }

  func::FuncOp function;
  IRRewriter rewriter;
  llvm::MapVector<Value, Layout> layouts;
  llvm::DenseMap<std::pair<Value, AffineMap>, Value> packedWeights[2];
};

struct ChannelsLastPass
    : tessera::impl::ChannelsLastPassBase<ChannelsLastPass> {
  void runOnOperation() override {
    if (!getOperation().isExternal())
      ChannelsLast(getOperation()).run();
  }
};

} // namespace
