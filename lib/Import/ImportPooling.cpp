//===- ImportPooling.cpp - ONNX pooling operators
//---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Expansion.h"
#include "NodeImport.h"
#include "TensorBuilders.h"
#include "Window.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <fmt/format.h>
#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

namespace {
/// An input [N, C, H, W] (or [N, C, W]) and the windows over it.
struct Pooling {
  Value input;
  Window window;
  SmallVector<int64_t> shape; ///< Of the result.
};
} // namespace

static tessera::Result<Pooling> readPooling(NodeImport &node, bool global) {
  Pooling pooling;
  TESSERA_ASSIGN_OR_RETURN(pooling.input, node.input(0));
  ArrayRef<int64_t> in = shapeOf(pooling.input);
  if (in.size() != 3 && in.size() != 4)
    return NodeImport::error(fmt::format("the input has the shape {}; accepted "
                                         "are one or two spatial dimensions",
                                         shapeText(in)));
  ArrayRef<int64_t> spatial = in.drop_front(2);
  std::vector<int64_t> kernel(spatial.begin(), spatial.end());
  if (!global) {
    TESSERA_ASSIGN_OR_RETURN(kernel, readKernelShape(node, spatial.size()));
  }
  TESSERA_ASSIGN_OR_RETURN(pooling.window, readWindow(node, spatial, kernel));
  const Window &window = pooling.window;
  for (unsigned dim = 0; dim < 2; ++dim) {
    int64_t reach = (window.kernel[dim] - 1) * window.dilations[dim] + 1;
    if (window.padsLow[dim] >= reach || window.padsHigh[dim] >= reach)
      return NodeImport::error("has padding as wide as the window; accepted is "
                               "less");
  }
  pooling.shape = {in[0], in[1]};
  pooling.shape.append(window.output.end() - spatial.size(),
                       window.output.end());
  TESSERA_RETURN_IF_ERROR(checkShape(pooling.shape));
  return pooling;
}

/// The maximum or sum over each window, as [N, C, H, W].
static Value buildPooling(ImplicitLocOpBuilder &b, const Pooling &pooling,
                          Reduction reduction) {
  const Window &window = pooling.window;
  bool sum = reduction == Reduction::Sum;
  float neutral = sum ? 0.0f : -std::numeric_limits<float>::infinity();
  Value input = buildReshape(b, pooling.input,
                             withTwoSpatialDims(shapeOf(pooling.input)));
  input = buildPad(b, input, 2, window.padsLow, window.fullPadsHigh(), neutral);
  Value kernel = buildEmpty(b, window.kernel);
  Value init = buildFilled(b, withTwoSpatialDims(pooling.shape), neutral);
  auto strides = b.getI64TensorAttr(window.strides);
  auto dilations = b.getI64TensorAttr(window.dilations);
  if (sum)
    return linalg::PoolingNchwSumOp::create(b, init.getType(),
                                            ValueRange{input, kernel}, init,
                                            strides, dilations)
        .getResult(0);
  return linalg::PoolingNchwMaxOp::create(b, init.getType(),
                                          ValueRange{input, kernel}, init,
                                          strides, dilations)
      .getResult(0);
}

/// Divides each sum by the number of elements in its window.
static tessera::Result<Value> buildAverage(ImplicitLocOpBuilder &b, Value sum,
                                           const Window &window,
                                           bool countPads) {
  SmallVector<int64_t> counts[2];
  bool uniform = true;
  for (unsigned dim = 0; dim < 2; ++dim)
    for (int64_t i = 0; i < window.output[dim]; ++i) {
      counts[dim].push_back(window.countInside(dim, i, countPads));
      uniform &= counts[dim].back() == counts[dim].front();
    }
  if (uniform) {
    int64_t count = counts[0][0] * counts[1][0];
    return buildElementwise(b, sum, [&](ImplicitLocOpBuilder &b, ValueRange e) {
      return buildDivision(b, e[0], count);
    });
  }
  constexpr int64_t maxWindows = int64_t(1) << 24;
  if (window.output[0] > maxWindows / window.output[1])
    return NodeImport::error("has more than 2^24 windows of different size");
  SmallVector<float> divisors;
  for (int64_t row : counts[0])
    for (int64_t column : counts[1])
      divisors.push_back(static_cast<float>(row * column));
  auto type = RankedTensorType::get(window.output, b.getF32Type());
  Value divisor = arith::ConstantOp::create(
      b, DenseElementsAttr::get(type, ArrayRef<float>(divisors)));
  return buildElementwise(b, {sum, divisor},
                          [](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                            return arith::DivFOp::create(b, e[0], e[1]);
                          });
}

/// The position of each window's first maximum among the input's elements.
static tessera::Result<Value> buildMaxPositions(ImplicitLocOpBuilder &b,
                                                const Pooling &pooling,
                                                Value maxima,
                                                bool columnMajor) {
  const Window &window = pooling.window;
  SmallVector<int64_t> in = withTwoSpatialDims(shapeOf(pooling.input)),
                       out(shapeOf(maxima));
  SmallVector<int64_t> high = window.fullPadsHigh();
  Value input =
      buildPad(b, buildReshape(b, pooling.input, in), 2, window.padsLow, high,
               -std::numeric_limits<float>::infinity());
  constexpr int64_t maxElements = int64_t(1) << 24;
  if (product(in) > std::numeric_limits<int32_t>::max() ||
      product(ArrayRef(shapeOf(input)).drop_front(2)) > maxElements)
    return Status(StatusCode::Unsupported,
                  "numbers the elements of an input with more than 2^24 in a "
                  "plane");
  // The number within the plane, for each element of the padded input.
  int64_t rows = shapeOf(input)[2], columns = shapeOf(input)[3];
  SmallVector<int32_t> numbers;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      int64_t y = row - window.padsLow[0], x = column - window.padsLow[1];
      numbers.push_back(
          static_cast<int32_t>(columnMajor ? x * in[2] + y : y * in[3] + x));
    }
  Type i32 = b.getI32Type();
  Value table = arith::ConstantOp::create(
      b, DenseElementsAttr::get(RankedTensorType::get({rows, columns}, i32),
                                ArrayRef<int32_t>(numbers)));
  // n, c, y, x, then the window's rows and columns.
  auto d = [&](unsigned dim) { return b.getAffineDimExpr(dim); };
  auto at = [&](unsigned dim) {
    return d(2 + dim) * window.strides[dim] +
           d(4 + dim) * window.dilations[dim];
  };
  MLIRContext *context = b.getContext();
  AffineMap result = AffineMap::get(6, 0, {d(0), d(1), d(2), d(3)}, context);
  SmallVector<AffineMap> maps{
      AffineMap::get(6, 0, {d(0), d(1), at(0), at(1)}, context), result,
      AffineMap::get(6, 0, {at(0), at(1)}, context),
      AffineMap::get(6, 0, {d(4), d(5)}, context), result};
  SmallVector<utils::IteratorType> iterators(6, utils::IteratorType::parallel);
  iterators[4] = iterators[5] = utils::IteratorType::reduction;
  constexpr int32_t none = std::numeric_limits<int32_t>::max();
  Value init = buildFilled(b, out, none, i32);
  Value inPlane =
      linalg::GenericOp::create(
          b, init.getType(),
          ValueRange{input, maxima, table, buildEmpty(b, window.kernel)}, init,
          maps, iterators,
          [&](OpBuilder &body, Location loc, ValueRange e) {
            ImplicitLocOpBuilder inner(loc, body);
            Value here = arith::CmpFOp::create(inner, arith::CmpFPredicate::OEQ,
                                               e[0], e[1]);
            Value number = arith::SelectOp::create(
                inner, here, e[2], buildNumber(inner, i32, none));
            linalg::YieldOp::create(
                inner, arith::MinSIOp::create(inner, e[4], number).getResult());
          })
          .getResult(0);
  SmallVector<int32_t> planes;
  for (int64_t plane = 0; plane < in[0] * in[1]; ++plane)
    planes.push_back(static_cast<int32_t>(plane * in[2] * in[3]));
  Value offsets = arith::ConstantOp::create(
      b,
      DenseElementsAttr::get(RankedTensorType::get({in[0], in[1], 1, 1}, i32),
                             ArrayRef<int32_t>(planes)));
  return buildElementwise(b, {inPlane, offsets}, b.getI64Type(),
                          [](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                            return arith::ExtSIOp::create(
                                b, b.getI64Type(),
                                arith::AddIOp::create(b, e[0], e[1]));
                          });
}

static Status importMax(NodeImport &node, bool global) {
  TESSERA_ASSIGN_OR_RETURN(Pooling pooling, readPooling(node, global));
  Value result = buildPooling(node.b, pooling, Reduction::Max);
  if (node.hasOutput(1)) {
    TESSERA_ASSIGN_OR_RETURN(bool columnMajor,
                             node.flagAttribute("storage_order", false));
    TESSERA_ASSIGN_OR_RETURN(
        Value positions,
        buildMaxPositions(node.b, pooling, result, columnMajor));
    node.setResult(1, buildReshape(node.b, positions, pooling.shape), Int64);
  }
  node.setResult(0, buildReshape(node.b, result, pooling.shape));
  return Status::success();
}

static Status importAverage(NodeImport &node, bool global) {
  TESSERA_ASSIGN_OR_RETURN(Pooling pooling, readPooling(node, global));
  TESSERA_ASSIGN_OR_RETURN(bool countPads,
                           node.flagAttribute("count_include_pad", false));
  // The counts are listed one by one.
  for (int64_t extent : pooling.window.output)
    if (extent > (int64_t(1) << 24))
      return NodeImport::error(fmt::format(
          "the result has the extent {}; accepted are up to 2^24", extent));
  Value sum = buildPooling(node.b, pooling, Reduction::Sum);
  TESSERA_ASSIGN_OR_RETURN(
      Value result, buildAverage(node.b, sum, pooling.window, countPads));
  node.setResult(0, buildReshape(node.b, result, pooling.shape));
  return Status::success();
}

Status tessera::onnx::importMaxPool(NodeImport &node) {
  TESSERA_RETURN_IF_ERROR(node.flagAttribute("storage_order", false).status());
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> own, node.inputShape(0));
  if (int32_t type = node.inputType(0); type == Uint8 || type == Int8) {
    // f32 holds every byte.
    Expansion e(node);
    Expansion::Names results =
        e.many("MaxPool",
               {e("Cast", {node.node.inputs[0]},
                  {{"to", attributeOf(int64_t(Float))}})},
               node.node.outputs.size(), node.node.attributes);
    e.result(0, e("Cast", {results[0]}, {{"to", attributeOf(int64_t(type))}}));
    if (results.size() > 1)
      e.result(1, results[1]);
    return e.status;
  }
  if (own.size() == 5 && !node.hasOutput(1))
    return importVolume(node);
  return importMax(node, false);
}

Status tessera::onnx::importAveragePool(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> own, node.inputShape(0));
  if (own.size() == 5)
    return importVolume(node);
  return importAverage(node, false);
}

Status tessera::onnx::importGlobalAveragePool(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> own, node.inputShape(0));
  if (own.size() > 4)
    return importGlobalPool(node);
  return importAverage(node, true);
}

Status tessera::onnx::importGlobalMaxPool(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> own, node.inputShape(0));
  if (own.size() > 4)
    return importGlobalPool(node);
  return importMax(node, true);
}
