//===- DispatchBuilder.cpp - Moving operations into a dispatch ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DispatchBuilder.h"
#include "LinalgStructure.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tessera;

/// Fills and empty tensors are made where they are used, as are scalars.
static bool isCloned(Operation *op) {
  if (isa_and_nonnull<linalg::FillOp, tensor::EmptyOp>(op))
    return true;
  return isa_and_nonnull<arith::ConstantOp>(op) &&
         !isa<ShapedType>(op->getResult(0).getType());
}

/// The operands of the root that its results replace.
static SmallVector<OpOperand *> destinations(Operation *root) {
  SmallVector<OpOperand *> result;
  if (auto destinationStyle = dyn_cast<DestinationStyleOpInterface>(root))
    for (OpOperand &init : destinationStyle.getDpsInitsMutable())
      result.push_back(&init);
  return result;
}

namespace {
/// Copies operations into the body of a dispatch.
class BodyBuilder {
public:
  BodyBuilder(RewriterBase &rewriter, IRMapping &mapping)
      : rewriter(rewriter), mapping(mapping) {}

  /// The value in the body; clones what is made where it is used.
  Value get(Value outside) {
    if (Value inside = mapping.lookupOrNull(outside))
      return inside;
    Operation *op = outside.getDefiningOp();
    for (Value operand : op->getOperands())
      get(operand);
    rewriter.clone(*op, mapping);
    return mapping.lookup(outside);
  }

  Operation *clone(Operation *op) {
    for (Value operand : op->getOperands())
      get(operand);
    op->walk([&](Operation *nested) {
      if (nested == op)
        return;
      for (Value operand : nested->getOperands())
        if (!op->isAncestor(operand.getParentRegion()->getParentOp()))
          get(operand);
    });
    return rewriter.clone(*op, mapping);
  }

private:
  RewriterBase &rewriter;
  IRMapping &mapping;
};
} // namespace

graph::DispatchOp tessera::wrapInDispatch(RewriterBase &rewriter,
                                          ArrayRef<Operation *> ops) {
  OpBuilder::InsertionGuard guard(rewriter);
  Operation *root = ops.back();
  rewriter.setInsertionPoint(root);

  llvm::SmallSetVector<Value, 8> inputs;
  SmallVector<OpOperand *> rootDestinations = destinations(root);
  auto addInput = [&](Value value) {
    // Through what is cloned, to what it needs.
    SmallVector<Value> worklist{value};
    while (!worklist.empty()) {
      Value next = worklist.pop_back_val();
      Operation *op = next.getDefiningOp();
      if (op && llvm::is_contained(ops, op))
        continue;
      if (isCloned(op))
        llvm::append_range(worklist, op->getOperands());
      else
        inputs.insert(next);
    }
  };
  for (Operation *op : ops) {
    for (OpOperand &operand : op->getOpOperands())
      if (!llvm::is_contained(rootDestinations, &operand))
        addInput(operand.get());
    op->walk([&](Operation *nested) {
      if (nested == op)
        return;
      for (Value operand : nested->getOperands())
        if (!op->isAncestor(operand.getParentRegion()->getParentOp()))
          addInput(operand);
    });
  }

  // Results start from fresh memory unless they update a tensor.
  SmallVector<Value> outputs;
  for (OpOperand *destination : rootDestinations) {
    Value value = destination->get();
    if (isCloned(value.getDefiningOp())) {
      auto type = cast<RankedTensorType>(value.getType());
      value =
          tensor::EmptyOp::create(rewriter, root->getLoc(), type, ValueRange());
    }
    outputs.push_back(value);
  }

  SmallVector<Location> locations;
  for (Operation *op : ops)
    locations.push_back(op->getLoc());
  auto dispatch = graph::DispatchOp::create(
      rewriter, rewriter.getFusedLoc(locations), inputs.getArrayRef(), outputs);
  SmallVector<std::string> names = nodeNames(locations);
  dispatch->setAttr(nodesAttrName, rewriter.getStrArrayAttr(llvm::map_to_vector(
                                       names, [](const std::string &name) {
                                         return StringRef(name);
                                       })));

  rewriter.setInsertionPointToStart(&dispatch.getBody().front());
  IRMapping mapping;
  for (auto [index, input] : llvm::enumerate(inputs))
    mapping.map(input, dispatch.getInputArgument(index));
  BodyBuilder body(rewriter, mapping);
  Operation *last = nullptr;
  for (Operation *op : ops) {
    if (op != root) {
      body.clone(op);
      continue;
    }
    // The root writes the dispatch's outputs; a fill before it does, too.
    for (auto [index, destination] : llvm::enumerate(rootDestinations)) {
      Value argument = dispatch.getOutputArgument(index);
      if (auto fill = destination->get().getDefiningOp<linalg::FillOp>()) {
        Value scalar = body.get(fill.getInputs()[0]);
        argument =
            linalg::FillOp::create(rewriter, fill.getLoc(), scalar, argument)
                .getResult(0);
      }
      mapping.map(destination->get(), argument);
    }
    last = body.clone(op);
  }
  graph::YieldOp::create(rewriter, root->getLoc(), last->getResults());
  rewriter.replaceAllOpUsesWith(root, dispatch.getResults());
  for (Operation *op : llvm::reverse(ops))
    rewriter.eraseOp(op);
  return dispatch;
}

tensor::InsertSliceOp tessera::expandPad(RewriterBase &rewriter,
                                         tensor::PadOp pad) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(pad);
  Location loc = pad.getLoc();
  RankedTensorType type = pad.getResultType();
  TypedAttr scalar;
  matchPattern(pad.getConstantPaddingValue(), m_Constant(&scalar));
  Value value = arith::ConstantOp::create(rewriter, loc, scalar);
  Value empty = tensor::EmptyOp::create(rewriter, loc, type, ValueRange());
  Value filled =
      linalg::FillOp::create(rewriter, loc, value, empty).getResult(0);
  SmallVector<OpFoldResult> sizes = llvm::map_to_vector(
      pad.getSourceType().getShape(), [&](int64_t extent) -> OpFoldResult {
        return rewriter.getIndexAttr(extent);
      });
  SmallVector<OpFoldResult> strides(type.getRank(), rewriter.getIndexAttr(1));
  auto insert =
      tensor::InsertSliceOp::create(rewriter, loc, pad.getSource(), filled,
                                    pad.getMixedLowPad(), sizes, strides);
  rewriter.replaceOp(pad, insert.getResult());
  return insert;
}
