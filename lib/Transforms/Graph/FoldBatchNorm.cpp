//===- FoldBatchNorm.cpp - Batch norms into convolutions
//--------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Graph/GraphConstants.h"
#include "dialects/Graph/GraphDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tessera/Transforms/GraphPasses.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>

namespace tessera {
#define GEN_PASS_DEF_FOLDBATCHNORM
#include "lib/Transforms/Graph/GraphPasses.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
/// What a batch norm can be folded into: a convolution whose weights have the
/// channel as their first dimension, and the bias added to it, if any.
struct Target {
  linalg::LinalgOp convolution;
  linalg::GenericOp biasAdd;
  SmallVector<float> weights, bias; ///< No bias: empty.
};

struct Parameters {
  SmallVector<float> scale, bias, mean, variance;
  float epsilon;
};
} // namespace

static std::optional<SmallVector<float>> floatsOf(Value value) {
  ElementsAttr constant = graph::getConstant(value);
  return constant ? graph::getFloats(constant) : std::nullopt;
}

static std::optional<Parameters> readParameters(graph::BatchNormOp op) {
  auto scale = floatsOf(op.getScale()), bias = floatsOf(op.getBias()),
       mean = floatsOf(op.getMean()), variance = floatsOf(op.getVariance());
  if (!scale || !bias || !mean || !variance)
    return std::nullopt;
  return Parameters{*scale, *bias, *mean, *variance,
                    op.getEpsilon().convertToFloat()};
}

/// Whether the operation adds operand 1, indexed by dimension 1, to operand 0.
static bool isBiasAdd(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 ||
      op.getNumReductionLoops() != 0)
    return false;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  AffineMap channel =
      AffineMap::get(op.getNumLoops(), 0, getAffineDimExpr(1, op.getContext()));
  if (!maps[0].isIdentity() || maps[1] != channel || !maps[2].isIdentity())
    return false;
  Block &body = op.getRegion().front();
  auto yield = cast<linalg::YieldOp>(body.getTerminator());
  auto add = yield.getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!add || &body.front() != add)
    return false;
  Value x = body.getArgument(0), y = body.getArgument(1);
  return (add.getLhs() == x && add.getRhs() == y) ||
         (add.getLhs() == y && add.getRhs() == x);
}

static bool isZeroFilled(Value value) {
  auto fill = value.getDefiningOp<linalg::FillOp>();
  return fill && matchPattern(fill.value(), m_AnyZeroFloat());
}

static std::optional<Target> findTarget(graph::BatchNormOp op) {
  Target target;
  Value input = op.getInput();
  if (!input.hasOneUse())
    return std::nullopt;
  if (auto add = input.getDefiningOp<linalg::GenericOp>()) {
    if (!isBiasAdd(add) || !add.getInputs()[0].hasOneUse())
      return std::nullopt;
    std::optional<SmallVector<float>> bias = floatsOf(add.getInputs()[1]);
    if (!bias)
      return std::nullopt;
    target.biasAdd = add;
    target.bias = *bias;
    input = add.getInputs()[0];
  }
  Operation *convolution = input.getDefiningOp();
  if (!isa_and_nonnull<linalg::Conv2DNchwFchwOp,
                       linalg::DepthwiseConv2DNchwChwOp>(convolution))
    return std::nullopt;
  target.convolution = cast<linalg::LinalgOp>(convolution);
  std::optional<SmallVector<float>> weights =
      floatsOf(convolution->getOperand(1));
  if (!weights || !isZeroFilled(convolution->getOperand(2)))
    return std::nullopt;
  target.weights = *weights;
  return target;
}

/// Replaces `op` by the convolution with new weights and a bias. The bias keeps
/// the batch norm's location.
static void foldInto(Target &target, const Parameters &parameters,
                     graph::BatchNormOp op) {
  size_t channels = parameters.scale.size();
  size_t perChannel = target.weights.size() / channels;
  SmallVector<float> bias(channels);
  for (size_t c = 0; c < channels; ++c) {
    float shifted = parameters.variance[c] + parameters.epsilon;
    float factor = parameters.scale[c] / std::sqrt(shifted);
    for (size_t i = 0; i < perChannel; ++i)
      target.weights[c * perChannel + i] *= factor;
    float centred =
        (target.bias.empty() ? 0.0f : target.bias[c]) - parameters.mean[c];
    float scaled = centred * factor;
    bias[c] = scaled + parameters.bias[c];
  }

  Operation *convolution = target.convolution;
  OpBuilder builder(convolution);
  OpOperand &weights = convolution->getOpOperand(1);
  Operation *oldWeights = weights.get().getDefiningOp();
  auto weightType = cast<RankedTensorType>(weights.get().getType());
  auto biasType = cast<RankedTensorType>(op.getScale().getType());
  std::string name = "weights";
  if (auto node = convolution->getLoc()->findInstanceOf<NameLoc>())
    name = node.getName().str();
  weights.set(arith::ConstantOp::create(
      builder, convolution->getLoc(), weightType,
      graph::makeConstant(weightType, ArrayRef<float>(target.weights),
                          name + ".folded")));
  if (isOpTriviallyDead(oldWeights))
    oldWeights->erase();

  builder.setInsertionPoint(op);
  Value biasValue = arith::ConstantOp::create(
      builder, op.getLoc(), biasType,
      graph::makeConstant(biasType, ArrayRef<float>(bias), name + ".bias"));
  auto type = cast<RankedTensorType>(op.getType());
  Value init = tensor::EmptyOp::create(builder, op.getLoc(), type.getShape(),
                                       type.getElementType());
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  AffineMap channel =
      AffineMap::get(type.getRank(), 0, builder.getAffineDimExpr(1));
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  auto sum = linalg::GenericOp::create(
      builder, op.getLoc(), type,
      ValueRange{convolution->getResult(0), biasValue}, init,
      ArrayRef<AffineMap>{identity, channel, identity}, iterators,
      [](OpBuilder &body, Location loc, ValueRange e) {
        Value value = arith::AddFOp::create(body, loc, e[0], e[1]);
        linalg::YieldOp::create(body, loc, value);
      });
  op.replaceAllUsesWith(sum.getResult(0));
}

/// Erases the batch norm, and what only it used.
static void eraseWithOperands(Operation *op) {
  // What is in the list has not been erased: it is on it once.
  llvm::SetVector<Operation *> candidates;
  candidates.insert(op);
  while (!candidates.empty()) {
    Operation *next = candidates.pop_back_val();
    if (!isOpTriviallyDead(next))
      continue;
    for (Value operand : next->getOperands())
      if (Operation *definition = operand.getDefiningOp())
        candidates.insert(definition);
    next->erase();
  }
}

namespace {
struct FoldBatchNorm : tessera::impl::FoldBatchNormBase<FoldBatchNorm> {
  void runOnOperation() override {
    SmallVector<graph::BatchNormOp> norms;
    getOperation().walk([&](graph::BatchNormOp op) { norms.push_back(op); });
    for (graph::BatchNormOp op : norms) {
      std::optional<Target> target = findTarget(op);
      std::optional<Parameters> parameters = readParameters(op);
      if (target && parameters) {
        foldInto(*target, *parameters, op);
      } else {
        OpBuilder builder(op);
        op.replaceAllUsesWith(op.decompose(builder));
      }
      eraseWithOperands(op);
    }
  }
};
} // namespace
