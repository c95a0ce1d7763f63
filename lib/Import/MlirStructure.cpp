//===- MlirStructure.cpp - What stands around the tensors -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tools that write linalg put more than operations on tensors into a module:
// functions that call each other, counted loops, assertions that a position is
// inside of its tensor (one outside is the nearest one here, whatever the
// assertion says), the seed of random numbers that nothing draws.
//
//===----------------------------------------------------------------------===//

#include "MlirImport.h"
#include "TensorBuilders.h"
#include "mlir/Conversion/TosaToSCF/TosaToSCF.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MLProgram/IR/MLProgram.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include <fmt/format.h>

using namespace mlir;
using namespace tessera;

/// Bodies are copied once for each iteration.
static constexpr uint64_t maxIterations = 4096;

/// Unrolls loops whose bounds are constants, outer ones first. What is no such
/// loop stays, to be refused.
static Status unrollLoops(func::FuncOp entry) {
  auto next = [&]() -> scf::ForOp {
    scf::ForOp found;
    entry.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
      if (!loop.getStaticTripCount())
        return WalkResult::advance();
      found = loop;
      return WalkResult::interrupt();
    });
    return found;
  };
  uint64_t total = 0;
  while (scf::ForOp loop = next()) {
    uint64_t count = loop.getStaticTripCount()->getZExtValue();
    std::string place = placeOf(loop.getLoc());
    total += count;
    if (total > maxIterations || failed(loopUnrollFull(loop)))
      return {StatusCode::Unsupported,
              fmt::format("'scf.for' ({}): runs {} times; accepted are {} "
                          "iterations of all loops together",
                          place, count, maxIterations)};
  }
  return Status::success();
}

/// Rounds numbers of double precision that are constants: exporters keep those
/// of the source language, and round them where they are used.
static void foldTruncations(func::FuncOp entry) {
  entry.walk([](arith::TruncFOp op) {
    FloatAttr number;
    auto type = dyn_cast<FloatType>(op.getType());
    if (!type || !matchPattern(op.getIn(), m_Constant(&number)))
      return;
    APFloat value = number.getValue();
    bool losesInfo;
    value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                  &losesInfo);
    OpBuilder builder(op);
    Value rounded = arith::ConstantOp::create(
        builder, op.getLoc(), builder.getFloatAttr(type, value));
    op.replaceAllUsesWith(rounded);
    op.erase();
  });
}

void tessera::clampPositions(func::FuncOp entry) {
  entry.walk([](tensor::ExtractOp op) {
    for (auto [dim, operand] : llvm::enumerate(op.getIndicesMutable())) {
      auto cast = operand.get().getDefiningOp<arith::IndexCastOp>();
      int64_t extent = op.getTensor().getType().getDimSize(dim);
      if (!cast || !cast.getIn().getType().isSignlessInteger() ||
          ShapedType::isDynamic(extent))
        continue;
      ImplicitLocOpBuilder b(op.getLoc(), op);
      auto number = [&](int64_t value) {
        return arith::ConstantOp::create(
            b, b.getIntegerAttr(cast.getIn().getType(), value));
      };
      Value inside = arith::MaxSIOp::create(b, cast.getIn(), number(0));
      if (llvm::isIntN(cast.getIn().getType().getIntOrFloatBitWidth(),
                       extent - 1))
        inside = arith::MinSIOp::create(b, inside, number(extent - 1));
      operand.set(arith::IndexCastOp::create(b, b.getIndexType(), inside));
      if (cast.use_empty())
        cast.erase();
    }
  });
}

/// Computes both branches of a condition that an element decides, and takes one
/// result of each.
static void flattenConditions(func::FuncOp entry) {
  SmallVector<scf::IfOp> ops;
  // Inner ones first.
  entry.walk([&](scf::IfOp op) { ops.push_back(op); });
  for (scf::IfOp op : ops) {
    auto truth = op.getCondition().getDefiningOp<tensor::ExtractOp>();
    auto isStatic = [](Type type) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      return tensor && tensor.hasStaticShape();
    };
    if (!truth || !truth.getIndices().empty() || op->getParentOp() != entry ||
        !llvm::all_of(op.getResultTypes(), isStatic))
      continue;
    SmallVector<SmallVector<Value>> results;
    for (Region *region : {&op.getThenRegion(), &op.getElseRegion()}) {
      if (region->empty())
        continue;
      Block &block = region->front();
      results.emplace_back(block.getTerminator()->getOperands());
      block.getTerminator()->erase();
      op->getBlock()->getOperations().splice(op->getIterator(),
                                             block.getOperations());
    }
    ImplicitLocOpBuilder b(op.getLoc(), op);
    for (OpResult result : op.getResults()) {
      Value chosen = *onnx::buildElementwise(
          b,
          {truth.getTensor(), results[0][result.getResultNumber()],
           results[1][result.getResultNumber()]},
          getElementTypeOrSelf(result.getType()),
          [](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
            return arith::SelectOp::create(b, e[0], e[1], e[2]);
          });
      result.replaceAllUsesWith(chosen);
    }
    op.erase();
  }
}

Status tessera::flattenMlir(ModuleOp module, func::FuncOp entry) {
  PassManager conversion(module.getContext());
  conversion.addNestedPass<func::FuncOp>(createTosaToSCFPass());
  bool isTosa = false;
  module.walk(
      [&](Operation *op) { isTosa |= isa<tosa::IfOp, tosa::WhileOp>(op); });
  if (isTosa && failed(conversion.run(module)))
    return {StatusCode::Unsupported, "TOSA's control flow cannot be lowered"};
  bool calls = false, structured = false, isDouble = false;
  SmallVector<Operation *> dropped;
  module.walk([&](Operation *op) {
    calls |= isa<func::CallOp>(op);
    structured |= isa<scf::ForOp, scf::IfOp>(op);
    isDouble |= isa<arith::TruncFOp>(op) && op->getOperand(0).getType().isF64();
    auto global = dyn_cast<ml_program::GlobalOp>(op);
    if (isa<cf::AssertOp>(op) ||
        (global && SymbolTable::symbolKnownUseEmpty(global, module)))
      dropped.push_back(op);
  });
  for (Operation *op : dropped)
    op->erase();
  if (!calls && !structured && !isDouble) {
    return Status::success();
  }
  // What cannot be inlined is refused where it stands.
  ScopedDiagnosticHandler quiet(module.getContext(),
                                [](Diagnostic &) { return success(); });
  if (calls) {
    entry.setPublic();
    for (auto function : module.getOps<func::FuncOp>())
      if (function != entry)
        function.setPrivate();
    PassManager inlining(module.getContext());
    inlining.addPass(createInlinerPass());
    inlining.addPass(createSymbolDCEPass());
    (void)inlining.run(module);
  }
  PassManager folding(module.getContext());
  folding.addPass(createCanonicalizerPass());
  (void)folding.run(module);
  TESSERA_RETURN_IF_ERROR(unrollLoops(entry));
  flattenConditions(entry);
  (void)folding.run(module);
  foldTruncations(entry);
  return Status::success();
}
