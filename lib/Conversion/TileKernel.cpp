//===- TileKernel.cpp - A tile.kernel, analysed ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileKernel.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tessera {

class TileKernelAnalysis {
public:
  explicit TileKernelAnalysis(tile::KernelOp op) { kernel.op = op; }

  FailureOr<TileKernel> run();

private:
  LogicalResult visitBlock(Block &block, uint32_t node);
  LogicalResult visitLoop(scf::ForOp loop, uint32_t parent);
  LogicalResult visitAlloc(tile::AllocOp alloc, uint32_t parent);
  LogicalResult visitIndexOp(Operation &op, uint32_t parent);
  LogicalResult visitEngineOp(Operation &op, isa::Queue queue, uint32_t parent);
  FailureOr<LinearExpr> evaluate(Operation &op, AffineExpr expr,
                                 ValueRange operands, unsigned numDims,
                                 uint32_t parent);

  /// The linear expression of an index; constants need no definition.
  FailureOr<LinearExpr> indexOf(Value value, Operation &user);
  SymbolId newSymbol(KernelSymbol symbol) {
    kernel.symbols.push_back(symbol);
    return kernel.symbols.size() - 1;
  }
  uint32_t newNode(uint32_t parent, KernelNode node) {
    kernel.nodes.push_back(std::move(node));
    kernel.nodes[parent].body.push_back(kernel.nodes.size() - 1);
    return kernel.nodes.size() - 1;
  }
  /// Appends a scalar operation and gives the symbol of its result.
  LinearExpr scalar(Operation &op, isa::Opcode opcode, LinearExpr a,
                    LinearExpr b, uint32_t parent,
                    std::optional<int64_t> lowest = std::nullopt,
                    std::optional<int64_t> highest = std::nullopt);
  /// max(0, ceil(a / b)).
  LinearExpr ceilDivide(Operation &op, LinearExpr a, LinearExpr b,
                        uint32_t parent);
  FailureOr<LinearExpr> multiply(Operation &op, const LinearExpr &a,
                                 const LinearExpr &b, uint32_t parent);
  std::optional<int64_t> lowestOf(const LinearExpr &expr) const {
    return bound(expr, /*wantLowest=*/true);
  }
  std::optional<int64_t> bound(const LinearExpr &expr, bool wantLowest) const;
  LogicalResult requireNonNegative(Operation &op, const LinearExpr &expr);

  TileKernel kernel;
};

uint32_t TileKernel::depthOf(const LinearExpr &expr) const {
  uint32_t depth = 0;
  for (auto [symbol, coefficient] : expr.terms)
    depth = std::max(depth, symbols[symbol].depth);
  return depth;
}

FailureOr<View> TileKernel::getView(Value memref) const {
  auto type = cast<MemRefType>(memref.getType());
  View view;
  int64_t typeOffset;
  if (failed(type.getStridesAndOffset(view.strides, typeOffset)))
    return emitError(memref.getLoc(), "has no strided layout");
  view.shape = llvm::to_vector(type.getShape());

  Operation *definition = memref.getDefiningOp();
  if (!definition || llvm::isa<tile::AllocOp>(definition)) {
    view.root = memref;
    return view;
  }
  auto follow = [&](Value source) -> FailureOr<View> {
    FailureOr<View> result = getView(source);
    if (failed(result))
      return failure();
    view.root = result->root;
    view.offset = result->offset;
    return view;
  };
  return llvm::TypeSwitch<Operation *, FailureOr<View>>(definition)
      .Case<memref::SubViewOp>([&](memref::SubViewOp op) -> FailureOr<View> {
        FailureOr<View> source = getView(op.getSource());
        if (failed(source))
          return failure();
        view.root = source->root;
        view.offset = source->offset;
        for (auto [offset, stride] :
             llvm::zip_equal(op.getMixedOffsets(), source->strides)) {
          if (auto attribute = dyn_cast<Attribute>(offset))
            view.offset +=
                LinearExpr(cast<IntegerAttr>(attribute).getInt()) * stride;
          else
            view.offset += getIndex(cast<Value>(offset)) * stride;
        }
        return view;
      })
      .Case<memref::CastOp>([&](auto op) { return follow(op.getSource()); })
      .Case<memref::CollapseShapeOp>(
          [&](auto op) { return follow(op.getSrc()); })
      .Case<memref::ExpandShapeOp>([&](auto op) { return follow(op.getSrc()); })
      .Case<memref::TransposeOp>([&](auto op) { return follow(op.getIn()); })
      .Default([](Operation *op) -> FailureOr<View> {
        return op->emitError("is no view that a tile kernel may take");
      });
}

FailureOr<LinearExpr> TileKernelAnalysis::indexOf(Value value,
                                                  Operation &user) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return LinearExpr(constant.getSExtValue());
  auto known = kernel.indices.find(value);
  if (known != kernel.indices.end())
    return known->second;
  return user.emitError("uses an index that no scalar operation of the kernel "
                        "computes");
}

std::optional<int64_t> TileKernelAnalysis::bound(const LinearExpr &expr,
                                                 bool wantLowest) const {
  int64_t total = expr.constant;
  for (auto [symbol, coefficient] : expr.terms) {
    const KernelSymbol &info = kernel.symbols[symbol];
    auto extreme = (coefficient > 0) == wantLowest ? info.lowest : info.highest;
    if (!extreme)
      return std::nullopt;
    total += coefficient * *extreme;
  }
  return total;
}

LogicalResult TileKernelAnalysis::requireNonNegative(Operation &op,
                                                     const LinearExpr &expr) {
  auto lowest = lowestOf(expr);
  if (lowest && *lowest >= 0)
    return success();
  return op.emitError("divides an index that may be negative; the scalar unit "
                      "divides unsigned numbers");
}

LinearExpr TileKernelAnalysis::scalar(Operation &op, isa::Opcode opcode,
                                      LinearExpr a, LinearExpr b,
                                      uint32_t parent,
                                      std::optional<int64_t> lowest,
                                      std::optional<int64_t> highest) {
  KernelSymbol symbol;
  symbol.kind = KernelSymbol::Kind::Scalar;
  symbol.depth = kernel.nodes[parent].depth;
  symbol.lowest = lowest;
  symbol.highest = highest;
  SymbolId result = newSymbol(symbol);
  KernelNode node;
  node.kind = KernelNode::Kind::Scalar;
  node.op = &op;
  node.opcode = opcode;
  node.result = result;
  node.a = std::move(a);
  node.b = std::move(b);
  newNode(parent, std::move(node));
  return LinearExpr::ofSymbol(result);
}

LinearExpr TileKernelAnalysis::ceilDivide(Operation &op, LinearExpr a,
                                          LinearExpr b, uint32_t parent) {
  if (b == LinearExpr(1))
    return a; // A loop with a negative count is skipped.
  LinearExpr clamped =
      scalar(op, isa::Opcode::MAX, a + b - LinearExpr(1), 0, parent, 0);
  return scalar(op, isa::Opcode::DIVU, clamped, b, parent, 0);
}

FailureOr<LinearExpr> TileKernelAnalysis::multiply(Operation &op,
                                                   const LinearExpr &a,
                                                   const LinearExpr &b,
                                                   uint32_t parent) {
  if (b.isConstant())
    return a * b.constant;
  if (a.isConstant())
    return b * a.constant;
  auto lowA = lowestOf(a), lowB = lowestOf(b);
  bool isPositive = lowA && lowB && *lowA >= 0 && *lowB >= 0;
  return scalar(op, isa::Opcode::MUL, a, b, parent,
                isPositive ? std::optional<int64_t>(0) : std::nullopt);
}

FailureOr<LinearExpr> TileKernelAnalysis::evaluate(Operation &op,
                                                   AffineExpr expr,
                                                   ValueRange operands,
                                                   unsigned numDims,
                                                   uint32_t parent) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return LinearExpr(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return indexOf(operands[dim.getPosition()], op);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return indexOf(operands[numDims + symbol.getPosition()], op);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  auto lhs = evaluate(op, binary.getLHS(), operands, numDims, parent);
  auto rhs = evaluate(op, binary.getRHS(), operands, numDims, parent);
  if (failed(lhs) || failed(rhs))
    return failure();
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return *lhs + *rhs;
  case AffineExprKind::Mul:
    return multiply(op, *lhs, *rhs, parent);
  case AffineExprKind::Mod:
    if (failed(requireNonNegative(op, *lhs)))
      return failure();
    return scalar(op, isa::Opcode::REMU, *lhs, *rhs, parent, 0,
                  rhs->isConstant() ? std::optional(rhs->constant - 1)
                                    : std::nullopt);
  case AffineExprKind::FloorDiv:
    if (failed(requireNonNegative(op, *lhs)))
      return failure();
    return scalar(op, isa::Opcode::DIVU, *lhs, *rhs, parent, 0,
                  bound(*lhs, false));
  case AffineExprKind::CeilDiv:
    if (failed(requireNonNegative(op, *lhs)))
      return failure();
    return scalar(op, isa::Opcode::DIVU, *lhs + *rhs - LinearExpr(1), *rhs,
                  parent, 0);
  default:
    return op.emitError("has an affine expression that the scalar unit cannot "
                        "compute");
  }
}

LogicalResult TileKernelAnalysis::visitIndexOp(Operation &op, uint32_t parent) {
  auto define = [&](FailureOr<LinearExpr> expr) -> LogicalResult {
    if (failed(expr))
      return failure();
    kernel.indices[op.getResult(0)] = *expr;
    return success();
  };
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op))
    return define(evaluate(op, apply.getAffineMap().getResult(0),
                           apply.getMapOperands(),
                           apply.getAffineMap().getNumDims(), parent));
  if (llvm::isa<tile::CoreIdOp, tile::NumCoresOp>(op)) {
    KernelSymbol symbol;
    symbol.kind = llvm::isa<tile::CoreIdOp>(op) ? KernelSymbol::Kind::CoreId
                                                : KernelSymbol::Kind::NumCores;
    symbol.lowest = llvm::isa<tile::CoreIdOp>(op) ? 0 : 1;
    for (SymbolId id = 0; id < kernel.symbols.size(); ++id)
      if (kernel.symbols[id].kind == symbol.kind)
        return define(LinearExpr::ofSymbol(id));
    return define(LinearExpr::ofSymbol(newSymbol(symbol)));
  }
  if (op.getNumOperands() != 2 || op.getNumResults() != 1 ||
      !op.getResult(0).getType().isIndex())
    return op.emitError("'")
           << op.getName() << "' cannot be computed by the scalar unit";
  auto lhs = indexOf(op.getOperand(0), op), rhs = indexOf(op.getOperand(1), op);
  if (failed(lhs) || failed(rhs))
    return failure();
  auto onNonNegative = [&](isa::Opcode opcode) -> LogicalResult {
    if (failed(requireNonNegative(op, *lhs)) ||
        failed(requireNonNegative(op, *rhs)))
      return failure();
    return define(scalar(op, opcode, *lhs, *rhs, parent, 0));
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<arith::AddIOp>([&](auto) { return define(*lhs + *rhs); })
      .Case<arith::SubIOp>([&](auto) { return define(*lhs - *rhs); })
      .Case<arith::MulIOp>(
          [&](auto) { return define(multiply(op, *lhs, *rhs, parent)); })
      .Case<arith::MinSIOp>([&](auto) {
        auto low = lowestOf(*lhs), otherLow = lowestOf(*rhs);
        auto lowest = low && otherLow ? std::optional(std::min(*low, *otherLow))
                                      : std::nullopt;
        auto highest = bound(*lhs, /*wantLowest=*/false);
        if (auto other = bound(*rhs, /*wantLowest=*/false);
            !highest || (other && *other < *highest))
          highest = other;
        return define(
            scalar(op, isa::Opcode::MIN, *lhs, *rhs, parent, lowest, highest));
      })
      .Case<arith::MaxSIOp>([&](auto) {
        auto lowest = lowestOf(*lhs);
        if (auto other = lowestOf(*rhs); !lowest || (other && *other > *lowest))
          lowest = other;
        return define(scalar(op, isa::Opcode::MAX, *lhs, *rhs, parent, lowest));
      })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(
          [&](auto) { return onNonNegative(isa::Opcode::DIVU); })
      .Case<arith::RemSIOp, arith::RemUIOp>(
          [&](auto) { return onNonNegative(isa::Opcode::REMU); })
      .Case<arith::CeilDivSIOp, arith::CeilDivUIOp>([&](auto) -> LogicalResult {
        if (failed(requireNonNegative(op, *lhs)) ||
            failed(requireNonNegative(op, *rhs)))
          return failure();
        return define(ceilDivide(op, *lhs, *rhs, parent));
      })
      .Default([&](Operation *) {
        return op.emitError("'")
               << op.getName() << "' cannot be computed by the scalar unit";
      });
}

LogicalResult TileKernelAnalysis::visitLoop(scf::ForOp loop, uint32_t parent) {
  if (loop.getNumRegionIterArgs() != 0)
    return loop.emitError("a tile kernel's loop carries no values");
  auto lower = indexOf(loop.getLowerBound(), *loop);
  auto upper = indexOf(loop.getUpperBound(), *loop);
  auto step = indexOf(loop.getStep(), *loop);
  if (failed(lower) || failed(upper) || failed(step))
    return failure();

  LinearExpr span = *upper - *lower, count;
  if (span.isConstant() && step->isConstant()) {
    if (span.constant <= 0)
      return success(); // Never runs.
    count = (span.constant + step->constant - 1) / step->constant;
  } else {
    count = ceilDivide(*loop, span, *step, parent);
  }
  KernelNode node;
  node.op = loop;
  node.depth = kernel.nodes[parent].depth + 1;
  node.count = count;
  if (node.depth > isa::maxLoopDepth)
    return loop.emitError("loops are nested more than ")
           << isa::maxLoopDepth << " deep";
  KernelSymbol symbol;
  symbol.kind = KernelSymbol::Kind::LoopIndex;
  symbol.index = kernel.nodes.size();
  symbol.depth = node.depth;
  if (count.isConstant())
    symbol.highest = count.constant - 1;
  node.index = newSymbol(symbol);
  uint32_t index = newNode(parent, std::move(node));

  LinearExpr iteration = LinearExpr::ofSymbol(kernel.nodes[index].index);
  auto offset = multiply(*loop, iteration, *step, index);
  if (failed(offset))
    return failure();
  kernel.indices[loop.getInductionVar()] = *lower + *offset;
  return visitBlock(*loop.getBody(), index);
}

LogicalResult TileKernelAnalysis::visitAlloc(tile::AllocOp alloc,
                                             uint32_t parent) {
  auto type = cast<MemRefType>(alloc.getType());
  LocalBuffer buffer;
  buffer.op = alloc;
  buffer.space = *tile::getSpace(type);
  int64_t elements = 1; // Up to the last one, with what lies between rows.
  for (auto [extent, stride] :
       llvm::zip_equal(type.getShape(), type.getStridesAndOffset().first))
    elements += (extent - 1) * stride;
  buffer.bytes = elements * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  buffer.home = parent;
  buffer.depth = parent == 0 ? 1 : alloc.getDepth();
  // A boolean takes a byte.
  if (type.getElementTypeBitWidth() % 8 != 0 &&
      !type.getElementType().isInteger(1))
    return alloc.emitError("elements of type ")
           << type.getElementType() << " are not whole bytes";
  if (buffer.depth > isa::maxSemaphoreStep)
    return alloc.emitError("depth ")
           << buffer.depth << " is beyond " << isa::maxSemaphoreStep;
  if (buffer.depth > 1) {
    for (const SlotCounter &counter : kernel.slotCounters)
      if (counter.loop == parent && counter.depth == buffer.depth)
        buffer.slot = counter.symbol;
    if (!buffer.slot) {
      KernelSymbol symbol;
      symbol.kind = KernelSymbol::Kind::Slot;
      symbol.index = kernel.slotCounters.size();
      symbol.depth = kernel.nodes[parent].depth;
      symbol.highest = buffer.depth - 1;
      buffer.slot = newSymbol(symbol);
      kernel.slotCounters.push_back({parent, buffer.depth, *buffer.slot});
    }
  }
  kernel.bufferNumbers[alloc.getBuffer()] = kernel.buffers.size();
  kernel.buffers.push_back(buffer);
  return success();
}

LogicalResult TileKernelAnalysis::visitEngineOp(Operation &op, isa::Queue queue,
                                                uint32_t parent) {
  KernelNode node;
  node.kind = KernelNode::Kind::Engine;
  node.op = &op;
  node.queue = queue;
  newNode(parent, std::move(node));
  if (auto load = dyn_cast<tile::LoadOp>(op); load && load.getSharedAttr())
    kernel.buffers[kernel.getBuffer(tile::getBase(load.getTarget()))].group =
        load.getSharedAttr();
  // Indices that are constants have no definition of their own.
  for (Value operand : op.getOperands())
    if (operand.getType().isIndex()) {
      auto index = indexOf(operand, op);
      if (failed(index))
        return failure();
      kernel.indices[operand] = *index;
    }
  return success();
}

LogicalResult TileKernelAnalysis::visitBlock(Block &block, uint32_t node) {
  for (Operation &op : block.without_terminator()) {
    LogicalResult result =
        llvm::TypeSwitch<Operation *, LogicalResult>(&op)
            .Case<scf::ForOp>([&](auto loop) { return visitLoop(loop, node); })
            .Case<tile::AllocOp>(
                [&](auto alloc) { return visitAlloc(alloc, node); })
            .Case<tile::LoadOp, tile::FillOp>(
                [&](auto) { return visitEngineOp(op, isa::Queue::Ld, node); })
            .Case<tile::StoreOp>(
                [&](auto) { return visitEngineOp(op, isa::Queue::St, node); })
            .Case<tile::MmaOp>(
                [&](auto) { return visitEngineOp(op, isa::Queue::Mx, node); })
            .Case<tile::MapOp>(
                [&](auto) { return visitEngineOp(op, isa::Queue::Vx, node); })
            .Case<memref::SubViewOp, memref::CastOp, memref::CollapseShapeOp,
                  memref::ExpandShapeOp, memref::TransposeOp>([&](auto) {
              for (Value operand : op.getOperands())
                if (operand.getType().isIndex()) {
                  auto index = indexOf(operand, op);
                  if (failed(index))
                    return LogicalResult(failure());
                  kernel.indices[operand] = *index;
                }
              return LogicalResult(success());
            })
            .Case<arith::ConstantOp>([](auto) { return success(); })
            .Default([&](Operation *) { return visitIndexOp(op, node); });
    if (failed(result))
      return failure();
  }
  return success();
}

FailureOr<TileKernel> TileKernelAnalysis::run() {
  KernelNode root;
  root.op = kernel.op;
  root.count = 1;
  kernel.nodes.push_back(root);
  for (BlockArgument argument : kernel.op.getBody().getArguments()) {
    KernelSymbol symbol;
    symbol.kind = KernelSymbol::Kind::Argument;
    symbol.index = argument.getArgNumber();
    kernel.arguments.push_back(newSymbol(symbol));
  }
  if (failed(visitBlock(kernel.op.getBody().front(), 0)))
    return failure();
  return std::move(kernel);
}

FailureOr<TileKernel> TileKernel::analyse(tile::KernelOp op) {
  return TileKernelAnalysis(op).run();
}

} // namespace tessera
