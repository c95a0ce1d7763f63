//===- FoldConstantLayouts.cpp - Layouts of constants
//-----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Graph/ConstantLayout.h"
#include "dialects/Graph/GraphConstants.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tessera/Transforms/GraphPasses.h"
#include "llvm/ADT/SetVector.h"

namespace tessera {
#define GEN_PASS_DEF_FOLDCONSTANTLAYOUTS
#include "lib/Transforms/Graph/GraphPasses.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
struct FoldConstantLayouts
    : tessera::impl::FoldConstantLayoutsBase<FoldConstantLayouts> {
  void runOnOperation() override {
    SmallVector<Operation *> layouts;
    getOperation().walk([&](Operation *op) {
      if (isa<linalg::TransposeOp, tensor::ExpandShapeOp,
              tensor::CollapseShapeOp>(op))
        layouts.push_back(op);
    });
    // Program order: a chain folds from its start.
    for (Operation *op : layouts)
      fold(op);
  }

  void fold(Operation *op) {
    Value source = op->getOperand(0);
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    ElementsAttr constant = graph::getConstant(source);
    if (!constant || !type)
      return;
    ElementsAttr folded;
    auto resource = dyn_cast<DenseResourceElementsAttr>(constant);
    if (!isa<linalg::TransposeOp>(op) && resource) {
      // The same bytes in the same order.
      folded = DenseResourceElementsAttr::get(type, resource.getRawHandle());
    } else {
      std::optional<SmallVector<char>> bytes = graph::getBytes(constant);
      if (!bytes)
        return;
      if (auto transpose = dyn_cast<linalg::TransposeOp>(op))
        bytes = graph::transposeBytes(*bytes, type.getElementTypeBitWidth() / 8,
                                      constant.getShapedType().getShape(),
                                      transpose.getPermutation());
      StringRef name = resource ? resource.getRawHandle().getKey() : "constant";
      folded = graph::makeConstant(type, *bytes, name);
    }
    OpBuilder builder(op);
    op->getResult(0).replaceAllUsesWith(
        arith::ConstantOp::create(builder, op->getLoc(), type, folded));
    llvm::SetVector<Operation *> definitions;
    for (Value operand : op->getOperands())
      if (Operation *definition = operand.getDefiningOp())
        definitions.insert(definition);
    op->erase();
    for (Operation *definition : definitions)
      if (isOpTriviallyDead(definition))
        definition->erase();
  }
};
} // namespace
