//===- Lowering.cpp - Imported modules to the LLVM dialect
//------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "dialects/Graph/GraphDialect.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/FuncBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/ControlFlow/Transforms/BufferDeallocationOpInterfaceImpl.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Linalg/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/AllocationOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/BufferDeallocationOpInterfaceImpl.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/IR/TensorInferTypeOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;

void tessera::registerLoweringDialects(DialectRegistry &registry) {
  registry
      .insert<affine::AffineDialect, arith::ArithDialect,
              bufferization::BufferizationDialect, cf::ControlFlowDialect,
              func::FuncDialect, LLVM::LLVMDialect, linalg::LinalgDialect,
              memref::MemRefDialect, scf::SCFDialect, tensor::TensorDialect>();
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  bufferization::func_ext::registerBufferizableOpInterfaceExternalModels(
      registry);
  cf::registerBufferDeallocationOpInterfaceExternalModels(registry);
  linalg::registerBufferizableOpInterfaceExternalModels(registry);
  memref::registerAllocationOpInterfaceExternalModels(registry);
  scf::registerBufferDeallocationOpInterfaceExternalModels(registry);
  scf::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerInferTypeOpInterfaceExternalModels(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

std::vector<ElementsAttr> tessera::constantsToArguments(ModuleOp module) {
  constexpr int64_t fewElements = 16;
  auto function = module.lookupSymbol<func::FuncOp>("main");
  std::vector<ElementsAttr> constants;
  SmallVector<arith::ConstantOp> ops;
  function.walk([&](arith::ConstantOp op) {
    auto type = dyn_cast<RankedTensorType>(op.getType());
    auto value = dyn_cast<ElementsAttr>(op.getValue());
    if (type && value && type.getNumElements() > fewElements &&
        !value.isSplat() && type.getElementTypeBitWidth() % 8 == 0)
      ops.push_back(op);
  });
  for (arith::ConstantOp op : ops) {
    unsigned index = function.getNumArguments();
    (void)function.insertArgument(index, op.getType(), {}, op.getLoc());
    constants.push_back(cast<ElementsAttr>(op.getValue()));
    op.replaceAllUsesWith(static_cast<Value>(function.getArgument(index)));
    op.erase();
  }
  return constants;
}

//===-- Loops that the host vectorises ------------------------------------===//

/// Whether neighbouring values of dimension `dim` are neighbours in memory, or
/// read the same element.
static bool isUnitStride(AffineMap map, unsigned dim) {
  for (unsigned i = 0; i + 1 < map.getNumResults(); ++i)
    if (map.getResult(i).isFunctionOfDim(dim))
      return false;
  if (map.getNumResults() == 0)
    return true;
  AffineExpr last = map.getResults().back();
  if (!last.isFunctionOfDim(dim))
    return true;
  // dim, or dim + something without it.
  if (auto sum = dyn_cast<AffineBinaryOpExpr>(last);
      sum && sum.getKind() == AffineExprKind::Add) {
    AffineExpr self = getAffineDimExpr(dim, map.getContext());
    return (sum.getLHS() == self && !sum.getRHS().isFunctionOfDim(dim)) ||
           (sum.getRHS() == self && !sum.getLHS().isFunctionOfDim(dim));
  }
  return isa<AffineDimExpr>(last);
}

/// Puts the parallel loop over the result's last dimension inside the reduction
/// loops, where the host's vectoriser finds it. The order of a sum stays.
static void interchange(IRRewriter &rewriter, linalg::GenericOp op) {
  if (op.getNumReductionLoops() == 0 || op.getNumParallelLoops() == 0 ||
      op.getNumDpsInits() != 1)
    return;
  AffineMap out = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (out.getNumResults() == 0)
    return;
  auto inner = dyn_cast<AffineDimExpr>(out.getResults().back());
  if (!inner)
    return;
  unsigned dim = inner.getPosition();
  for (AffineMap map : op.getIndexingMapsArray())
    if (!isUnitStride(map, dim))
      return;
  SmallVector<unsigned> order, reductions;
  for (auto [i, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
    if (kind == utils::IteratorType::reduction)
      reductions.push_back(i);
    else if (i != dim)
      order.push_back(i);
  }
  llvm::append_range(order, reductions);
  order.push_back(dim);
  rewriter.setInsertionPoint(op);
  (void)linalg::interchangeGenericOp(rewriter, op, order);
}

/// Decomposes what linalg on tensors cannot express as loops.
static void decompose(ModuleOp module) {
  IRRewriter rewriter(module.getContext());
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (isa<graph::BatchNormOp, linalg::AggregatedOpInterface>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    rewriter.setInsertionPoint(op);
    if (auto norm = dyn_cast<graph::BatchNormOp>(op)) {
      rewriter.replaceOp(norm, norm.decompose(rewriter));
      continue;
    }
    auto aggregated = cast<linalg::AggregatedOpInterface>(op);
    FailureOr<SmallVector<Value>> values =
        aggregated.decomposeOperation(rewriter);
    if (succeeded(values))
      rewriter.replaceOp(op, *values);
  }
}

/// Copies become loops: the runtime library that copies strided memory is not
/// linked.
static void lowerCopies(ModuleOp module) {
  SmallVector<memref::CopyOp> copies;
  module.walk([&](memref::CopyOp op) { copies.push_back(op); });
  for (memref::CopyOp op : copies) {
    OpBuilder builder(op);
    auto type = cast<MemRefType>(op.getTarget().getType());
    AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
    SmallVector<utils::IteratorType> iterators(type.getRank(),
                                               utils::IteratorType::parallel);
    linalg::GenericOp::create(
        builder, op.getLoc(), op.getSource(), op.getTarget(),
        ArrayRef<AffineMap>{identity, identity}, iterators,
        [](OpBuilder &body, Location loc, ValueRange e) {
          linalg::YieldOp::create(body, loc, e[0]);
        });
    op.erase();
  }
}

/// Divisors that the host's instructions stop at: the device's quotient by 0 is
/// 0, that of the least integer by -1 itself, and a remainder is what the
/// quotient leaves.
static void guardDivisions(ModuleOp module) {
  SmallVector<Operation *> divisions;
  module.walk([&](Operation *op) {
    if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(
            op) &&
        op->getResult(0).getType().isSignlessInteger())
      divisions.push_back(op);
  });
  for (Operation *op : divisions) {
    OpBuilder builder(op);
    Location loc = op->getLoc();
    Value x = op->getOperand(0), y = op->getOperand(1);
    auto number = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(
          builder, loc, builder.getIntegerAttr(y.getType(), value));
    };
    auto equals = [&](int64_t value) -> Value {
      return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, y,
                                   number(value));
    };
    auto select = [&](Value condition, Value a, Value b) -> Value {
      return arith::SelectOp::create(builder, loc, condition, a, b);
    };
    bool isSigned = isa<arith::DivSIOp, arith::RemSIOp>(op);
    bool divides = isa<arith::DivSIOp, arith::DivUIOp>(op);
    Value isZero = equals(0), unsafe = isZero, isMinusOne;
    if (isSigned) {
      isMinusOne = equals(-1);
      unsafe = arith::OrIOp::create(builder, loc, isZero, isMinusOne);
    }
    Operation *safe = builder.clone(*op);
    safe->setOperand(1, select(unsafe, number(1), y));
    safe->moveBefore(op);
    // By 1 it gives x, or no remainder.
    Value result = safe->getResult(0);
    if (isSigned && divides)
      result =
          select(isMinusOne, arith::SubIOp::create(builder, loc, number(0), x),
                 result);
    result = select(isZero, divides ? number(0) : x, result);
    op->replaceAllUsesWith(ValueRange{result});
    op->erase();
  }
}

//===-- Pipeline ----------------------------------------------------------===//

namespace {
/// Runs passes and keeps the first error's text.
class PassRunner {
public:
  explicit PassRunner(ModuleOp module) : module(module) {}
  Status run(StringRef what, llvm::function_ref<void(OpPassManager &)> fill) {
    std::string text;
    ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &d) {
      if (text.empty() && d.getSeverity() == DiagnosticSeverity::Error)
        text = d.str();
      return success();
    });
    PassManager manager(module.getContext());
    fill(manager);
    if (succeeded(manager.run(module)))
      return Status::success();
    return {StatusCode::Unsupported,
            "host reference: " + what.str() + " failed: " + text};
  }

private:
  ModuleOp module;
};
} // namespace

/// A tensor without elements is nothing to pass: bare pointers have no form for
/// it.
static void dropEmptyTensors(func::FuncOp function) {
  auto isEmpty = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape() && tensor.getNumElements() == 0;
  };
  Block &block = function.getBody().front();
  auto end = cast<func::ReturnOp>(block.getTerminator());
  for (unsigned i = end.getNumOperands(); i-- > 0;)
    if (isEmpty(end.getOperand(i).getType())) {
      end->eraseOperand(i);
      (void)function.eraseResult(i);
    }
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  for (unsigned i = block.getNumArguments(); i-- > 0;) {
    BlockArgument argument = block.getArgument(i);
    if (!isEmpty(argument.getType()))
      continue;
    auto type = cast<RankedTensorType>(argument.getType());
    argument.replaceAllUsesWith(
        tensor::EmptyOp::create(builder, argument.getLoc(), type.getShape(),
                                type.getElementType())
            .getResult());
    (void)function.eraseArgument(i);
  }
}

Status tessera::lowerToHost(ModuleOp module) {
  PassRunner passes(module);
  if (auto function = module.lookupSymbol<func::FuncOp>("main"))
    dropEmptyTensors(function);
  decompose(module);
  TESSERA_RETURN_IF_ERROR(
      passes.run("generalisation", [](OpPassManager &manager) {
        OpPassManager &function = manager.nest<func::FuncOp>();
        function.addPass(createConvertElementwiseToLinalgPass());
        function.addPass(createLinalgGeneralizeNamedOpsPass());
      }));
  IRRewriter rewriter(module.getContext());
  SmallVector<linalg::GenericOp> generics;
  module.walk([&](linalg::GenericOp op) { generics.push_back(op); });
  for (linalg::GenericOp op : generics)
    interchange(rewriter, op);

  TESSERA_RETURN_IF_ERROR(
      passes.run("bufferisation", [](OpPassManager &manager) {
        bufferization::OneShotBufferizePassOptions bufferize;
        bufferize.bufferizeFunctionBoundaries = true;
        bufferize.functionBoundaryTypeConversion =
            bufferization::LayoutMapOption::IdentityLayoutMap;
        manager.addPass(bufferization::createEmptyTensorToAllocTensorPass());
        manager.addPass(bufferization::createOneShotBufferizePass(bufferize));
        bufferization::BufferResultsToOutParamsPassOptions results;
        results.modifyPublicFunctions = true;
        // Copied, not built in place: one value may be returned twice, and an
        // argument or a constant may be a result.
        results.hoistStaticAllocs = false;
        manager.addPass(
            bufferization::createBufferResultsToOutParamsPass(results));
        bufferization::buildBufferDeallocationPipeline(manager);
      }));
  lowerCopies(module);
  guardDivisions(module);

  // Conversions to and from bf16 in integer arithmetic: instructions for them
  // are not on every host, and take subnormals for zero.
  RewritePatternSet conversions(module.getContext());
  arith::populateExpandBFloat16Patterns(conversions);
  if (failed(applyPatternsGreedily(module, std::move(conversions))))
    return tessera::Status(StatusCode::Internal,
                           "host reference: conversions to bf16 do not expand");

  return passes.run("lowering to LLVM", [](OpPassManager &manager) {
    manager.nest<func::FuncOp>().addPass(createConvertLinalgToLoopsPass());
    manager.addPass(createConvertBufferizationToMemRefPass());
    manager.addPass(memref::createExpandStridedMetadataPass());
    manager.addPass(createLowerAffinePass());
    manager.addPass(createLoopInvariantCodeMotionPass());
    manager.addPass(createSCFToControlFlowPass());
    manager.addPass(createConvertMathToLLVMPass());
    manager.addPass(createConvertMathToLibmPass());
    manager.addPass(createArithToLLVMConversionPass());
    manager.addPass(createFinalizeMemRefToLLVMConversionPass());
    manager.addPass(createConvertControlFlowToLLVMPass());
    ConvertFuncToLLVMPassOptions function;
    function.useBarePtrCallConv = true;
    manager.addPass(createConvertFuncToLLVMPass(function));
    manager.addPass(createReconcileUnrealizedCastsPass());
    manager.addPass(createCanonicalizerPass());
    manager.addPass(createCSEPass());
  });
}
