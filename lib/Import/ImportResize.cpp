//===- ImportResize.cpp - ONNX operators that weigh along an axis ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Interpolation and sums over neighbouring channels are products with a
// constant matrix along one axis, which the matrix engine computes.
//
//===----------------------------------------------------------------------===//

#include "ConstantMath.h"
#include "ElementFunctions.h"
#include "NodeImport.h"
#include "TensorBuilders.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

/// Matrices of weights are listed in full.
static constexpr int64_t maxWeights = int64_t(1) << 24;

/// result[.., o, ..] = sum over i of matrix[o][i] * value[.., i, ..] along
/// `dim`.
static tessera::Result<Value> buildAxisProduct(ImplicitLocOpBuilder &b,
                                               Value value, unsigned dim,
                                               ArrayRef<float> matrix,
                                               int64_t rows) {
  SmallVector<int64_t> shape(shapeOf(value));
  int64_t columns = shape[dim];
  auto type = RankedTensorType::get({rows, columns}, b.getF32Type());
  Value weights =
      arith::ConstantOp::create(b, DenseElementsAttr::get(type, matrix));
  size_t rank = shape.size();
  SmallVector<AffineExpr> source, target;
  for (size_t i = 0; i < rank; ++i) {
    source.push_back(b.getAffineDimExpr(i == dim ? rank : i));
    target.push_back(b.getAffineDimExpr(i));
  }
  SmallVector<AffineMap> maps{
      AffineMap::get(rank + 1, 0, source, b.getContext()),
      AffineMap::get(rank + 1, 0,
                     {b.getAffineDimExpr(dim), b.getAffineDimExpr(rank)},
                     b.getContext()),
      AffineMap::get(rank + 1, 0, target, b.getContext())};
  SmallVector<utils::IteratorType> iterators(rank + 1,
                                             utils::IteratorType::parallel);
  iterators.back() = utils::IteratorType::reduction;
  shape[dim] = rows;
  TESSERA_RETURN_IF_ERROR(checkShape(shape));
  Value init = buildFilled(b, shape, 0);
  return linalg::GenericOp::create(
             b, init.getType(), ValueRange{value, weights}, init, maps,
             iterators,
             [](OpBuilder &body, Location loc, ValueRange e) {
               Value product = arith::MulFOp::create(body, loc, e[0], e[1]);
               Value sum = arith::AddFOp::create(body, loc, e[2], product);
               linalg::YieldOp::create(body, loc, sum);
             })
      .getResult(0);
}

//===-- Resize ------------------------------------------------------------===//

namespace {
/// How positions in the result and the input correspond along an axis.
struct AxisScale {
  int64_t in, out;
  double scale;
  double start = 0, end = 1; ///< The region, for tf_crop_and_resize.
};

struct Interpolation {
  std::string mode, coordinates, nearest;
  double cubicCoefficient, outside;
  bool excludesOutside, antialias;
};
} // namespace

/// The position in the input that position `x` of the result shows.
static double sourcePosition(const Interpolation &how, const AxisScale &axis,
                             int64_t x) {
  double halfPixel = (x + 0.5) / axis.scale - 0.5;
  // The corners are those of the exact width, which may be no integer.
  if (how.coordinates == "align_corners")
    return axis.out == 1 ? 0 : x * (axis.in - 1.0) / (axis.scale * axis.in - 1);
  if (how.coordinates == "asymmetric")
    return x / axis.scale;
  if (how.coordinates == "pytorch_half_pixel")
    return axis.out > 1 ? halfPixel : 0;
  if (how.coordinates == "half_pixel_symmetric") {
    double adjustment = axis.out / (axis.scale * axis.in);
    return axis.in / 2.0 * (1 - adjustment) + halfPixel;
  }
  if (how.coordinates == "tf_half_pixel_for_nn")
    return (x + 0.5) / axis.scale;
  if (how.coordinates == "tf_crop_and_resize")
    return axis.out == 1 ? 0.5 * (axis.start + axis.end) * (axis.in - 1)
                         : axis.start * (axis.in - 1) +
                               x * (axis.end - axis.start) * (axis.in - 1) /
                                   (axis.out - 1.0);
  return halfPixel;
}

static int64_t nearestPosition(const Interpolation &how, const AxisScale &axis,
                               double position) {
  double rounded = how.nearest == "floor"  ? std::floor(position)
                   : how.nearest == "ceil" ? std::ceil(position)
                   : how.nearest == "round_prefer_ceil"
                       ? std::floor(position + 0.5)
                       : std::ceil(position - 0.5);
  return static_cast<int64_t>(
      std::clamp<double>(rounded, 0, static_cast<double>(axis.in - 1)));
}

static double weightAt(const Interpolation &how, double distance) {
  double t = std::fabs(distance);
  if (how.mode == "linear")
    return std::max(0.0, 1 - t);
  double a = how.cubicCoefficient;
  if (t <= 1)
    return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? (((t - 5) * t + 8) * t - 4) * a : 0;
}

/// One row of weights for each position of the result.
static std::vector<float> interpolationMatrix(const Interpolation &how,
                                              const AxisScale &axis) {
  std::vector<float> matrix;
  double stretch = how.antialias ? std::min(axis.scale, 1.0) : 1.0;
  double reach = (how.mode == "linear" ? 1 : 2) / stretch;
  for (int64_t x = 0; x < axis.out; ++x) {
    double position = sourcePosition(how, axis, x);
    std::vector<double> row(axis.in, 0);
    double sum = 0;
    for (double at = std::ceil(position - reach); at <= position + reach;
         ++at) {
      double weight = weightAt(how, (at - position) * stretch);
      bool outside = at < 0 || at > static_cast<double>(axis.in - 1);
      if (outside && how.excludesOutside)
        continue;
      sum += weight;
      row[static_cast<int64_t>(std::clamp<double>(
          at, 0, static_cast<double>(axis.in - 1)))] += weight;
    }
    for (double weight : row)
      matrix.push_back(static_cast<float>(
          how.antialias || how.excludesOutside ? weight / sum : weight));
  }
  return matrix;
}

static tessera::Result<Interpolation> readInterpolation(NodeImport &node) {
  Interpolation how;
  bool old = node.opset < 11;
  TESSERA_ASSIGN_OR_RETURN(how.mode, node.stringAttribute("mode", "nearest"));
  TESSERA_ASSIGN_OR_RETURN(
      how.coordinates, node.stringAttribute("coordinate_transformation_mode",
                                            old ? "asymmetric" : "half_pixel"));
  TESSERA_ASSIGN_OR_RETURN(
      how.nearest, node.stringAttribute("nearest_mode",
                                        old ? "floor" : "round_prefer_floor"));
  TESSERA_ASSIGN_OR_RETURN(how.cubicCoefficient,
                           node.floatAttribute("cubic_coeff_a", -0.75f));
  TESSERA_ASSIGN_OR_RETURN(how.outside,
                           node.floatAttribute("extrapolation_value", 0));
  TESSERA_ASSIGN_OR_RETURN(how.excludesOutside,
                           node.flagAttribute("exclude_outside", false));
  TESSERA_ASSIGN_OR_RETURN(how.antialias,
                           node.flagAttribute("antialias", false));
  if (how.mode != "nearest" && how.mode != "linear" && how.mode != "cubic")
    return NodeImport::error(fmt::format(
        "attribute 'mode' is '{}'; accepted are nearest, linear and cubic",
        how.mode));
  const char *known[] = {"half_pixel",          "half_pixel_symmetric",
                         "asymmetric",          "pytorch_half_pixel",
                         "align_corners",       "tf_crop_and_resize",
                         "tf_half_pixel_for_nn"};
  if (!llvm::is_contained(known, StringRef(how.coordinates)))
    return Status(StatusCode::Unsupported,
                  fmt::format("attribute 'coordinate_transformation_mode' is "
                              "'{}', which is not supported",
                              how.coordinates));
  return how;
}

/// The numbers of a constant operand, or nothing if it is absent or empty.
static tessera::Result<std::optional<std::vector<double>>>
readNumbers(NodeImport &node, size_t index) {
  std::optional<std::vector<double>> numbers;
  if (!node.hasInput(index))
    return numbers;
  const Tensor *constant = node.constantInput(index);
  if (constant)
    numbers = constant->numbers();
  if (!numbers)
    return NodeImport::error(fmt::format(
        "operand {} decides the shape; accepted are constant numbers", index));
  if (numbers->empty())
    numbers.reset();
  return numbers;
}

static tessera::Result<SmallVector<AxisScale>>
readScales(NodeImport &node, ArrayRef<int64_t> shape) {
  int64_t rank = shape.size();
  std::optional<std::vector<double>> scales, sizes, region;
  if (node.hasAttribute("scales")) { // Upsample before operator set 9.
    auto found = node.node.attributes.find("scales");
    if (found->second.kind != onnx::Attribute::Kind::Floats)
      return NodeImport::error("attribute 'scales': accepted is a list of "
                               "floats");
    scales.emplace(found->second.floats.begin(), found->second.floats.end());
  } else if (node.opset < 11) {
    TESSERA_ASSIGN_OR_RETURN(scales, readNumbers(node, 1));
  } else {
    TESSERA_ASSIGN_OR_RETURN(region, readNumbers(node, 1));
    TESSERA_ASSIGN_OR_RETURN(scales, readNumbers(node, 2));
    TESSERA_ASSIGN_OR_RETURN(sizes, readNumbers(node, 3));
  }
  if (scales.has_value() == sizes.has_value())
    return NodeImport::error("needs either scales or sizes");
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  TESSERA_ASSIGN_OR_RETURN(std::optional<std::vector<int64_t>> given,
                           node.intsAttribute("axes"));
  if (given)
    axes = *given;
  for (int64_t &axis : axes) {
    TESSERA_ASSIGN_OR_RETURN(axis, node.axis(axis, rank, rank - 1));
  }
  const std::vector<double> &numbers = scales ? *scales : *sizes;
  if (numbers.size() != axes.size() ||
      (region && region->size() != 2 * axes.size()))
    return NodeImport::error(fmt::format("has {} scales or sizes for {} axes",
                                         numbers.size(), axes.size()));
  TESSERA_ASSIGN_OR_RETURN(
      std::string policy,
      node.stringAttribute("keep_aspect_ratio_policy", "stretch"));
  SmallVector<AxisScale> result;
  for (int64_t extent : shape)
    result.push_back({extent, extent, 1});
  std::optional<double> common;
  if (sizes && policy != "stretch")
    for (size_t i = 0; i < axes.size(); ++i) {
      double scale = numbers[i] / static_cast<double>(shape[axes[i]]);
      common = !common                  ? scale
               : policy == "not_larger" ? std::min(*common, scale)
                                        : std::max(*common, scale);
    }
  for (size_t i = 0; i < axes.size(); ++i) {
    AxisScale &axis = result[axes[i]];
    double extent = static_cast<double>(axis.in);
    axis.scale = common ? *common : scales ? numbers[i] : numbers[i] / extent;
    double out = common   ? std::floor(extent * *common + 0.5)
                 : scales ? std::floor(extent * numbers[i])
                          : numbers[i];
    // Positions are listed one by one.
    if (!(out >= 1 && out <= (1 << 24)))
      return NodeImport::error(
          fmt::format("makes the extent {}; accepted are 1 to 2^24", out));
    axis.out = static_cast<int64_t>(out);
    if (region) {
      axis.start = (*region)[i];
      axis.end = (*region)[i + axes.size()];
    }
  }
  return result;
}

/// Positions outside of the input show `outside`: tf_crop_and_resize has them.
static tessera::Result<Value> extrapolate(ImplicitLocOpBuilder &b,
                                          const Interpolation &how,
                                          ArrayRef<AxisScale> axes,
                                          Value value) {
  if (how.coordinates != "tf_crop_and_resize")
    return value;
  Type element = elementTypeOf(value);
  for (size_t dim = 0; dim < axes.size(); ++dim) {
    const AxisScale &axis = axes[dim];
    SmallVector<bool> inside;
    for (int64_t x = 0; x < axis.out; ++x) {
      double at = sourcePosition(how, axis, x);
      inside.push_back(at >= 0 && at <= static_cast<double>(axis.in - 1));
    }
    if (llvm::all_of(inside, [](bool is) { return is; }))
      continue;
    SmallVector<int64_t> along(axes.size(), 1);
    along[dim] = axis.out;
    Value mask = arith::ConstantOp::create(
        b, DenseElementsAttr::get(RankedTensorType::get(along, b.getI1Type()),
                                  ArrayRef<bool>(inside)));
    TESSERA_ASSIGN_OR_RETURN(
        value, buildElementwise(
                   b, {mask, value}, element,
                   [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                     return arith::SelectOp::create(
                         b, e[0], e[1], buildNumber(b, element, how.outside));
                   }));
  }
  return value;
}

Status tessera::onnx::importResize(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(Interpolation how, readInterpolation(node));
  bool nearest = how.mode == "nearest";
  Value value;
  if (nearest) {
    TESSERA_ASSIGN_OR_RETURN(value, node.storedInput(0));
  } else {
    TESSERA_ASSIGN_OR_RETURN(value, node.input(0));
  }
  TESSERA_ASSIGN_OR_RETURN(SmallVector<AxisScale> axes,
                           readScales(node, shapeOf(value)));
  for (size_t dim = 0; dim < axes.size(); ++dim) {
    const AxisScale &axis = axes[dim];
    bool crops = how.coordinates == "tf_crop_and_resize" &&
                 (axis.start != 0 || axis.end != 1);
    if (axis.in == axis.out && axis.scale == 1 && !crops)
      continue;
    if (!nearest && axis.out > maxWeights / axis.in)
      return {StatusCode::Unsupported,
              fmt::format("weighs {} elements for each of {}; accepted are up "
                          "to 2^24 weights",
                          axis.in, axis.out)};
    if (!nearest) {
      TESSERA_ASSIGN_OR_RETURN(
          value, buildAxisProduct(node.b, value, dim,
                                  interpolationMatrix(how, axis), axis.out));
      continue;
    }
    SmallVector<int64_t> positions;
    for (int64_t x = 0; x < axis.out; ++x)
      positions.push_back(
          nearestPosition(how, axis, sourcePosition(how, axis, x)));
    TESSERA_ASSIGN_OR_RETURN(value, buildPick(node.b, value, dim, positions));
  }
  TESSERA_ASSIGN_OR_RETURN(value, extrapolate(node.b, how, axes, value));
  if (nearest)
    node.setResult(0, value, node.inputType(0));
  else
    node.setResult(0, value);
  return Status::success();
}

//===-- Sums along an axis ------------------------------------------------===//

Status tessera::onnx::importLrn(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(Value value, node.input(0));
  TESSERA_ASSIGN_OR_RETURN(float alpha, node.floatAttribute("alpha", 1e-4f));
  TESSERA_ASSIGN_OR_RETURN(float beta, node.floatAttribute("beta", 0.75f));
  TESSERA_ASSIGN_OR_RETURN(float bias, node.floatAttribute("bias", 1));
  TESSERA_ASSIGN_OR_RETURN(int64_t size, node.intAttribute("size", 0));
  if (shapeOf(value).size() < 2 || size < 1)
    return NodeImport::error("needs a channel dimension and a size of at "
                             "least 1");
  int64_t channels = shapeOf(value)[1];
  if (channels > 4096)
    return {StatusCode::Unsupported,
            fmt::format("has {} channels; accepted are up to 4096", channels)};
  int64_t before = (size - 1) / 2, after = size - 1 - before;
  std::vector<float> matrix;
  for (int64_t o = 0; o < channels; ++o)
    for (int64_t i = 0; i < channels; ++i)
      matrix.push_back(i >= o - before && i <= o + after);
  TESSERA_ASSIGN_OR_RETURN(
      Value squares,
      buildElementwise(node.b, value,
                       [](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                         return arith::MulFOp::create(b, e[0], e[0]);
                       }));
  TESSERA_ASSIGN_OR_RETURN(
      Value sums, buildAxisProduct(node.b, squares, 1, matrix, channels));
  TESSERA_ASSIGN_OR_RETURN(
      Value result,
      buildElementwise(
          node.b, {value, sums},
          [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
            Value scaled = arith::MulFOp::create(
                b, e[1], buildScalar(b, alpha / static_cast<float>(size)));
            Value base = arith::AddFOp::create(b, scaled, buildScalar(b, bias));
            Value power = buildConstantPower(b, base, beta);
            if (!power)
              power = buildPower(b, base, buildScalar(b, beta));
            return arith::DivFOp::create(b, e[0], power);
          }));
  node.setResult(0, result);
  return Status::success();
}

Status tessera::onnx::importTrilu(NodeImport &node) {
  if (const Tensor *constant = node.constantInput(0);
      constant && constant->elementCount() == 0) {
    node.forwardInput();
    return Status::success();
  }
  TESSERA_ASSIGN_OR_RETURN(Value value, node.storedInput(0));
  TESSERA_ASSIGN_OR_RETURN(bool upper, node.flagAttribute("upper", true));
  int64_t diagonal = 0;
  if (node.hasInput(1)) {
    TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> k, node.integerInput(1));
    if (k.size() != 1)
      return NodeImport::error("operand 1: accepted is one number");
    diagonal = k[0];
  }
  SmallVector<int64_t> shape(shapeOf(value));
  if (shape.size() < 2)
    return NodeImport::error("the input is no matrix");
  int64_t rows = shape.end()[-2], columns = shape.back();
  constexpr int64_t maxElements = int64_t(1) << 24;
  if (rows > maxElements / columns)
    return {StatusCode::Unsupported, "has matrices of more than 2^24 elements"};
  SmallVector<bool> kept;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      kept.push_back(upper ? j - i >= diagonal : j - i <= diagonal);
  auto type = RankedTensorType::get({rows, columns}, node.b.getI1Type());
  Value mask = arith::ConstantOp::create(
      node.b, DenseElementsAttr::get(type, ArrayRef<bool>(kept)));
  Type element = elementTypeOf(value);
  TESSERA_ASSIGN_OR_RETURN(
      Value result,
      buildElementwise(node.b, {mask, value}, element,
                       [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                         return arith::SelectOp::create(
                             b, e[0], e[1], buildNumber(b, element, 0));
                       }));
  node.setResult(0, result, node.inputType(0));
  return Status::success();
}
