//===- CountWorkload.cpp - The work that a model asks for -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DataNeeds.h"
#include "LinalgStructure.h"
#include "TileProblem.h"
#include "WidenedFloats.h"
#include "dialects/Graph/GraphDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tessera/Transforms/Workload.h"
#include <set>

using namespace mlir;
using namespace tessera;

static uint64_t bytesOf(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped || !shaped.hasStaticShape() ||
      !shaped.getElementType().isIntOrFloat())
    return 0;
  return uint64_t(shaped.getNumElements()) *
         ((shaped.getElementTypeBitWidth() + 7) / 8);
}

/// Bytes of a model input or weight that the model cannot do without.
static uint64_t bytesRead(Value value, const DataNeeds &needs) {
  auto type = dyn_cast<ShapedType>(value.getType());
  if (!type || !type.hasStaticShape() || type.getNumElements() == 0 ||
      !type.getElementType().isIntOrFloat())
    return 0;
  return needs.elementsRead(value) * ((type.getElementTypeBitWidth() + 7) / 8);
}

static func::FuncOp findEntry(ModuleOp module) {
  if (auto entry = module.lookupSymbol<func::FuncOp>("main"))
    return entry;
  auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
  return functions.size() == 1 ? functions[0] : func::FuncOp();
}

static std::string joinedNames(Operation *op) {
  std::string result;
  for (const std::string &name : nodeNames({op->getLoc()}))
    result += (result.empty() ? "" : "+") + name;
  return result;
}

static uint64_t product(ArrayRef<int64_t> extents, ArrayRef<unsigned> dims) {
  uint64_t result = 1;
  for (unsigned dim : dims)
    result *= uint64_t(extents[dim]);
  return result;
}

/// Operand positions with sums of loops, as in a window.
static bool hasWindow(linalg::LinalgOp op) {
  return llvm::any_of(op.getIndexingMapsArray(), [](AffineMap map) {
    return !map.isProjectedPermutation(true);
  });
}

/// An element-wise operation that widens integers and may shift them.
static bool isIntegerWidening(linalg::LinalgOp op) {
  if (!llvm::isa<linalg::GenericOp>(op) || op.getNumDpsInputs() != 1 ||
      op.getNumDpsInits() != 1 || op.getNumReductionLoops() != 0)
    return false;
  bool widens = false;
  for (Operation &inner : op.getBlock()->without_terminator()) {
    widens |= llvm::isa<arith::ExtSIOp, arith::ExtUIOp>(inner);
    if (!llvm::isa<arith::ExtSIOp, arith::ExtUIOp, arith::SubIOp,
                   arith::ConstantOp>(inner))
      return false;
  }
  return widens;
}

/// The element type that memory holds of a value: behind a widening, which an
/// engine does while it reads.
static Type storedElementType(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (linalgOp && (isFloatWidening(linalgOp) || isIntegerWidening(linalgOp)))
      return getElementTypeOrSelf(linalgOp.getDpsInputOperand(0)->get());
    if (llvm::isa<arith::ExtFOp>(op))
      return getElementTypeOrSelf(op->getOperand(0));
    if (!(linalgOp && isCopy(linalgOp)) &&
        !llvm::isa<tensor::PadOp, tensor::ExtractSliceOp, tensor::ExpandShapeOp,
                   tensor::CollapseShapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return getElementTypeOrSelf(value);
}

static OperatorRecord countLinalg(linalg::LinalgOp op) {
  OperatorRecord record;
  record.name = joinedNames(op);
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  record.format = formatOf(getElementTypeOrSelf(
      op.getNumDpsInputs() ? op.getDpsInputOperand(0)->get().getType()
                           : op.getDpsInitOperand(0)->get().getType()));
  uint64_t points = 1;
  for (int64_t extent : extents)
    points *= uint64_t(extent);
  if (std::optional<ShiftedContraction> shifted = matchShiftedContraction(op)) {
    const Contraction *contraction = &shifted->loops;
    record.kind = hasWindow(op) ? "conv" : "matmul";
    Type a = storedElementType(op.getDpsInputOperand(shifted->a)->get());
    Type b = storedElementType(op.getDpsInputOperand(shifted->b)->get());
    if (a == b || llvm::isa<IntegerType>(a))
      record.format = formatOf(a);
    record.m = product(extents, contraction->m);
    record.n = product(extents, contraction->n);
    record.k = product(extents, contraction->k);
    record.batch = product(extents, contraction->batch);
    // A product of a matrix and a vector may run on either engine.
    record.eitherEngine = record.m == 1 || record.n == 1;
    if (record.eitherEngine) {
      record.elements = points;
      record.aluOps = 1; // One multiply-add for each point.
    }
    return record;
  }
  bool reduces = op.getNumReductionLoops() != 0;
  record.kind = reduces ? (hasWindow(op) ? "pool" : "reduce") : "elementwise";
  BodyOperations count = countOperations(*op.getBlock());
  record.elements = points;
  for (auto [extent, kind] :
       llvm::zip_equal(extents, op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction)
      record.k = std::max<uint64_t>(record.k, 1) * uint64_t(extent);
  record.aluOps = count.alu;
  record.sfuOps = count.sfu;
  return record;
}

/// Maximum, difference and exponential, sum, quotient.
static OperatorRecord countSoftmax(linalg::SoftmaxOp op) {
  OperatorRecord record;
  record.name = joinedNames(op);
  record.kind = "softmax";
  auto type = cast<ShapedType>(op.getInput().getType());
  record.format = formatOf(type.getElementType());
  record.elements = uint64_t(type.getNumElements());
  record.k = uint64_t(type.getDimSize(op.getDimension()));
  record.aluOps = 3;
  record.sfuOps = 2;
  return record;
}

namespace {
/// Which operators each value depends on through operations that are not
/// counted themselves.
class Producers {
public:
  /// Of everything that `op` reads, inside its regions too; ascending.
  std::vector<uint32_t> readBy(Operation *op) const {
    std::set<uint32_t> result;
    auto add = [&](Value value) {
      auto found = byValue.find(value);
      if (found != byValue.end())
        result.insert(found->second.begin(), found->second.end());
    };
    llvm::for_each(op->getOperands(), add);
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    llvm::for_each(captured, add);
    return {result.begin(), result.end()};
  }
  void define(Operation *op, std::vector<uint32_t> producers) {
    for (Value result : op->getResults())
      byValue[result] = producers;
  }

private:
  llvm::DenseMap<Value, std::vector<uint32_t>> byValue;
};
} // namespace

/// Adds one record, if the operation computes, or its constant's bytes.
static void countOperation(Operation *op, const DataNeeds &needs,
                           Workload &workload) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    // A splat needs no memory: it becomes part of what uses it.
    if (!llvm::isa<SplatElementsAttr>(constant.getValue()))
      workload.compulsoryBytes += bytesRead(constant.getResult(), needs);
  } else if (auto softmax = dyn_cast<linalg::SoftmaxOp>(op)) {
    workload.operators.push_back(countSoftmax(softmax));
  } else if (auto norm = dyn_cast<graph::BatchNormOp>(op)) {
    OperatorRecord record;
    record.name = joinedNames(op);
    record.kind = "batch_norm";
    record.elements = uint64_t(norm.getType().getNumElements());
    record.aluOps = 2;
    workload.operators.push_back(record);
  } else if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    if (llvm::isa<linalg::FillOp>(op) || isCopy(linalgOp))
      return;
    workload.operators.push_back(countLinalg(linalgOp));
  } else if (OpTrait::hasElementwiseMappableTraits(op) &&
             op->getNumResults() == 1 &&
             llvm::isa<RankedTensorType>(op->getResult(0).getType())) {
    OperatorRecord record;
    record.name = joinedNames(op);
    record.kind = "elementwise";
    auto type = cast<ShapedType>(op->getResult(0).getType());
    record.format = formatOf(type.getElementType());
    record.elements =
        type.hasStaticShape() ? uint64_t(type.getNumElements()) : 0;
    bool special = llvm::isa<math::MathDialect>(op->getDialect()) ||
                   llvm::isa<arith::DivFOp>(op);
    (special ? record.sfuOps : record.aluOps) = 1;
    workload.operators.push_back(record);
  }
}

/// Bytes of the tensors that an operation reads, once each, and of its results.
static uint64_t operandBytes(Operation *op) {
  llvm::SmallPtrSet<Value, 8> read;
  uint64_t bytes = 0;
  auto linalgOp = llvm::dyn_cast<linalg::LinalgOp>(op);
  for (OpOperand &operand : op->getOpOperands()) {
    // An initial value that nothing reads is only a place.
    if (linalgOp && linalgOp.isDpsInit(&operand) &&
        !linalgOp.payloadUsesValueFromOperand(&operand))
      continue;
    if (read.insert(operand.get()).second)
      bytes += bytesOf(operand.get().getType());
  }
  for (Type type : op->getResultTypes())
    bytes += bytesOf(type);
  return bytes;
}

Workload tessera::countWorkload(ModuleOp module) {
  Workload workload;
  func::FuncOp entry = findEntry(module);
  if (!entry || entry.isExternal())
    return workload;
  DataNeeds needs(entry);
  for (BlockArgument input : entry.getArguments())
    workload.compulsoryBytes += bytesRead(input, needs);
  for (Type type : entry.getResultTypes())
    workload.compulsoryBytes += bytesOf(type);
  Producers producers;
  entry.walk([&](Operation *op) {
    if (!needs.isLive(op))
      return;
    size_t counted = workload.operators.size();
    countOperation(op, needs, workload);
    std::vector<uint32_t> read = producers.readBy(op);
    if (workload.operators.size() == counted) {
      producers.define(op, std::move(read));
      return;
    }
    workload.operators.back().producers = std::move(read);
    workload.operandBytes.push_back(operandBytes(op));
    producers.define(op, {uint32_t(counted)});
  });
  return workload;
}
