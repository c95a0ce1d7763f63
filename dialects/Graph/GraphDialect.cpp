//===- GraphDialect.cpp - The graph dialect -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Graph/GraphDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tessera::graph;

#include "dialects/Graph/GraphDialect.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Graph/GraphOps.cpp.inc"

void GraphDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Graph/GraphOps.cpp.inc"
      >();
}

/// graph.name is a string and graph.type a type; nothing else is ours.
static LogicalResult verifyBoundaryAttribute(Operation *op,
                                             NamedAttribute attribute) {
  if (attribute.getName() == nameAttrName) {
    if (!isa<StringAttr>(attribute.getValue()))
      return op->emitOpError() << "'" << nameAttrName << "' is a string";
    return success();
  }
  if (attribute.getName() == typeAttrName) {
    if (!isa<TypeAttr>(attribute.getValue()))
      return op->emitOpError() << "'" << typeAttrName << "' is a type";
    return success();
  }
  return op->emitOpError() << "no argument or result attribute '"
                           << attribute.getName().getValue() << "'";
}

LogicalResult GraphDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                     unsigned,
                                                     NamedAttribute attribute) {
  return verifyBoundaryAttribute(op, attribute);
}

LogicalResult
GraphDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned,
                                          NamedAttribute attribute) {
  return verifyBoundaryAttribute(op, attribute);
}

//===-- graph.batch_norm --------------------------------------------------===//

LogicalResult BatchNormOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  auto scale = cast<RankedTensorType>(getScale().getType());
  if (input.getRank() < 2)
    return emitOpError() << "input has rank " << input.getRank()
                         << ": dimension 1 is the channel, so at least 2";
  if (input.getDimSize(1) != scale.getDimSize(0))
    return emitOpError() << "input has " << input.getDimSize(1)
                         << " channels (dimension 1), scale has "
                         << scale.getDimSize(0);
  // The negation also refuses a NaN.
  if (!(getEpsilon().convertToFloat() >= 0))
    return emitOpError() << "epsilon is not negative";
  return success();
}

Value BatchNormOp::buildFactor(OpBuilder &builder) {
  Location loc = getLoc();
  auto type = cast<RankedTensorType>(getScale().getType());
  Value init = tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, getScale()),
      type.getElementType());
  SmallVector<AffineMap> maps(3, builder.getMultiDimIdentityMap(1));
  SmallVector<utils::IteratorType> iterators(1, utils::IteratorType::parallel);
  FloatAttr epsilon = getEpsilonAttr();
  return linalg::GenericOp::create(
             builder, loc, type, ValueRange{getScale(), getVariance()}, init,
             maps, iterators,
             [&](OpBuilder &body, Location loc, ValueRange args) {
               Value shift = arith::ConstantOp::create(body, loc, epsilon);
               Value sum = arith::AddFOp::create(body, loc, args[1], shift);
               Value root = math::SqrtOp::create(body, loc, sum);
               Value factor = arith::DivFOp::create(body, loc, args[0], root);
               linalg::YieldOp::create(body, loc, factor);
             })
      .getResult(0);
}

Value BatchNormOp::decompose(OpBuilder &builder) {
  Location loc = getLoc();
  auto type = cast<RankedTensorType>(getInput().getType());
  Value factor = buildFactor(builder);
  Value init = tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, getInput()),
      type.getElementType());
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  AffineMap channel =
      AffineMap::get(type.getRank(), 0, builder.getAffineDimExpr(1));
  SmallVector<AffineMap> maps{identity, channel, channel, channel, identity};
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, type,
             ValueRange{getInput(), getMean(), factor, getBias()}, init, maps,
             iterators,
             [](OpBuilder &body, Location loc, ValueRange args) {
               Value centred =
                   arith::SubFOp::create(body, loc, args[0], args[1]);
               Value scaled =
                   arith::MulFOp::create(body, loc, centred, args[2]);
               Value value = arith::AddFOp::create(body, loc, scaled, args[3]);
               linalg::YieldOp::create(body, loc, value);
             })
      .getResult(0);
}

//===-- graph.dispatch ----------------------------------------------------===//

void DispatchOp::build(OpBuilder &builder, OperationState &state,
                       ValueRange inputs, ValueRange outputs) {
  state.addOperands(inputs);
  state.addOperands(outputs);
  state.getOrAddProperties<Properties>().operandSegmentSizes = {
      static_cast<int32_t>(inputs.size()),
      static_cast<int32_t>(outputs.size())};
  state.addTypes(outputs.getTypes());
  Block &body = state.addRegion()->emplaceBlock();
  for (ValueRange values : {inputs, outputs})
    for (Value value : values)
      body.addArgument(value.getType(), value.getLoc());
}

LogicalResult DispatchOp::verify() {
  if (getOutputs().empty())
    return emitOpError("has no outputs: a group without results does nothing");
  return success();
}

LogicalResult DispatchOp::verifyRegions() {
  Block &body = getBody().front();
  if (body.getArgumentTypes() != getOperandTypes())
    return emitOpError() << "the body's arguments must have the types of the "
                            "inputs, then of the outputs";
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield)
    return emitOpError("the body must end in graph.yield");
  if (yield.getOperandTypes() != getResultTypes())
    return yield.emitOpError("must give one value for each result of the "
                             "graph.dispatch, of the same type");
  return success();
}
