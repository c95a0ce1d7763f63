//===- FormDispatches.cpp - Group operations into dispatches -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "DispatchBuilder.h"
#include "LinalgStructure.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tessera/Transforms/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_FORMDISPATCHESPASS
#include "lib/Transforms/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

/// A root with the producers that run on its tiles.
class Group {
public:
  explicit Group(linalg::GenericOp root) : root(root) {
    RootLoops loops(root.getNumLoops());
    tileable.resize(loops.size());
    for (auto [dim, kind] : llvm::enumerate(root.getIteratorTypesArray())) {
      loops[dim] = kind == utils::IteratorType::parallel ? int(dim) : -1;
      tileable[dim] = kind == utils::IteratorType::parallel;
    }
    members.push_back(root);
    rootLoops[root] = loops;
    hasContraction = matchContraction(root).has_value();
    // Two results, or a reduction at the end: the body has one stage.
    mayGrow = root.getNumReductionLoops() == 0 && root.getNumDpsInits() == 1;
  }

  /// Takes in producers until no more fit; returns all in program order.
  SmallVector<Operation *> grow() {
    while (growOnce()) {
    }
    takeAttention();
    llvm::sort(members, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    return members;
  }

private:
  /// The softmax and the scores before a product of values, if these are all
  /// that the group has of the kind.
  void takeAttention() {
    std::optional<Attention> found;
    for (Operation *member : members)
      if (auto generic = dyn_cast<linalg::GenericOp>(member);
          generic && matchContraction(generic)) {
        std::optional<Attention> attention = matchAttention(generic);
        if (found || !attention)
          return;
        found = attention;
      }
    // The values are the only reduction there is.
    if (!found || reductions > 1)
      return;
    SmallVector<Operation *> parts = found->beforeValues();
    if (llvm::all_of(found->softmax.sum->getUsers(), [&](Operation *user) {
          return llvm::is_contained(members, user) ||
                 llvm::is_contained(parts, user);
        }))
      llvm::append_range(members, parts);
  }

  bool growOnce() {
    for (Operation *member : SmallVector<Operation *>(members)) {
      auto consumer = dyn_cast<linalg::GenericOp>(member);
      if (!consumer)
        continue;
      for (OpOperand *operand : consumer.getDpsInputOperands()) {
        Operation *producer = operand->get().getDefiningOp();
        if (!producer || llvm::is_contained(members, producer) ||
            producer->getBlock() != root->getBlock() ||
            !llvm::all_of(producer->getUsers(), [&](Operation *user) {
              return llvm::is_contained(members, user);
            }))
          continue;
        if (take(*operand, producer))
          return true;
      }
    }
    return false;
  }

  bool take(OpOperand &operand, Operation *producer) {
    auto consumer = cast<linalg::GenericOp>(operand.getOwner());
    if (auto pad = dyn_cast<tensor::PadOp>(producer)) {
      // Only before a contraction or a window: elsewhere the padded tensor is
      // as large as the result. Tiles are loaded with their border from memory,
      // where a fill, which each dispatch makes for itself, is not.
      if (consumer.getNumReductionLoops() == 0 || !pad->hasOneUse() ||
          pad.getSource().getDefiningOp<linalg::FillOp>())
        return false;
      members.push_back(pad);
      return true;
    }
    auto generic = dyn_cast<linalg::GenericOp>(producer);
    if (!generic || !mayGrow || generic.getNumDpsInits() != 1 ||
        matchContraction(consumer))
      return false;
    std::optional<RootLoops> loops =
        producerLoops(generic, operand, rootLoops.lookup(consumer));
    if (!loops)
      return false;
    // Root dimensions along which tiles would compute the producer again.
    llvm::SmallBitVector kept = tileable;
    SmallVector<int64_t> extents = root.getStaticLoopRanges();
    bool loses = false;
    for (unsigned dim : tileable.set_bits())
      if (!llvm::is_contained(*loops, int(dim))) {
        kept.reset(dim);
        loses |= extents[dim] != 1;
      }
    bool contraction = matchContraction(generic).has_value();
    if (contraction && (loses || reductions != 0))
      return false;
    if (!contraction && generic.getNumReductionLoops() != 0 && hasContraction)
      return false;
    if (reductions != 0 && isEpilogue(generic))
      return false;
    if (loses && (hasContraction || !leavesTiles(kept, extents)))
      return false;
    // A producer read twice must be asked for the same tile both times.
    auto tiled = [&](RootLoops mapped) {
      for (int &dim : mapped)
        if (dim >= 0 && !kept.test(dim))
          dim = -1;
      return mapped;
    };
    for (OpOperand &use : generic->getUses()) {
      auto user = cast<linalg::GenericOp>(use.getOwner());
      std::optional<RootLoops> others =
          producerLoops(generic, use, rootLoops.lookup(user));
      if (!others || tiled(*others) != tiled(*loops))
        return false;
    }
    tileable = kept;
    hasContraction |= contraction;
    reductions += generic.getNumReductionLoops() != 0;
    rootLoops[generic] = *loops;
    members.push_back(generic);
    return true;
  }

  /// Whether tiling the kept dimensions still makes tiles small enough; the
  /// tiling pass takes a group apart in which this guess is wrong.
  static bool leavesTiles(const llvm::SmallBitVector &kept,
                          ArrayRef<int64_t> extents) {
    int64_t whole = 1;
    for (unsigned dim = 0; dim < extents.size(); ++dim)
      if (!kept.test(dim))
        whole *= extents[dim];
    return whole <= 65536;
  }

  linalg::GenericOp root;
  SmallVector<Operation *> members;
  llvm::DenseMap<Operation *, RootLoops> rootLoops;
  llvm::SmallBitVector tileable;
  bool hasContraction = false, mayGrow = false;
  unsigned reductions = 0;
};

struct FormDispatchesPass
    : tessera::impl::FormDispatchesPassBase<FormDispatchesPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    IRRewriter rewriter(&getContext());
    Block &body = function.getBody().front();

    for (auto concat :
         llvm::make_early_inc_range(body.getOps<tensor::ConcatOp>())) {
      rewriter.setInsertionPoint(concat);
      FailureOr<SmallVector<Value>> results =
          concat.decomposeOperation(rewriter);
      if (failed(results)) {
        concat.emitError("this concatenation is not supported");
        return signalPassFailure();
      }
      rewriter.replaceOp(concat, *results);
    }

    // None of the contractions goes away by this.
    SmallVector<linalg::GenericOp> contractions;
    for (auto generic : body.getOps<linalg::GenericOp>())
      if (matchContraction(generic))
        contractions.push_back(generic);
    for (linalg::GenericOp contraction : contractions)
      if (auto attention = matchAttention(contraction))
        divideAfterValues(rewriter, *attention);

    // From the end, so that a producer is seen after all that could take it in.
    Operation *op = &body.back();
    while (Operation *current = op) {
      op = current->getPrevNode();
      if (isOpTriviallyDead(current)) {
        rewriter.eraseOp(current);
        continue;
      }
      if (auto pad = dyn_cast<tensor::PadOp>(current)) {
        if (llvm::any_of(llvm::concat<const int64_t>(pad.getStaticLow(),
                                                     pad.getStaticHigh()),
                         [](int64_t amount) { return amount < 0; })) {
          pad.emitError("negative padding is not supported; a slice would be");
          return signalPassFailure();
        }
        current = expandPad(rewriter, pad);
      } else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(current)) {
        current = copySlice(rewriter, slice);
      }
      SmallVector<Operation *> members;
      if (auto generic = dyn_cast<linalg::GenericOp>(current))
        members = Group(generic).grow();
      else if (isa<linalg::FillOp, tensor::InsertSliceOp, linalg::CopyOp>(
                   current))
        members = {current};
      else
        continue;
      if (auto slice =
              current->getOperand(0).getDefiningOp<tensor::ExtractSliceOp>();
          slice && isa<linalg::CopyOp>(current))
        members.insert(members.begin(), slice);
      graph::DispatchOp dispatch = wrapInDispatch(rewriter, members);
      op = dispatch->getPrevNode();
    }
  }

  /// Reads a slice into memory of its own.
  static Operation *copySlice(RewriterBase &rewriter,
                              tensor::ExtractSliceOp slice) {
    rewriter.setInsertionPointAfter(slice);
    Value empty = tensor::EmptyOp::create(rewriter, slice.getLoc(),
                                          slice.getType(), ValueRange());
    auto copy = linalg::CopyOp::create(rewriter, slice.getLoc(),
                                       slice.getResult(), empty);
    rewriter.replaceAllUsesExcept(slice.getResult(), copy.getResult(0), copy);
    return copy;
  }
};

} // namespace
