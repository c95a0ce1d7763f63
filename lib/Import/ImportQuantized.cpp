//===- ImportQuantized.cpp - ONNX operators on quantised numbers ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products of 8-bit integers are summed in i32 exactly, as the specification
// says: (a - a's zero point) * (b - b's zero point).
//
//===----------------------------------------------------------------------===//

#include "ConstantMath.h"
#include "ElementFunctions.h"
#include "Float8.h"
#include "NodeImport.h"
#include "TensorBuilders.h"
#include "Window.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

static bool isByte(int32_t type) { return type == Int8 || type == Uint8; }
static bool isHalfByte(int32_t type) { return type == Int4 || type == Uint4; }

//===-- To and from integers ----------------------------------------------===//

/// Scale or zero point as it broadcasts to a value with `rank` dimensions: one
/// number, or one for each index of `axis`.
static tessera::Result<Value> alongAxis(ImplicitLocOpBuilder &b,
                                        Value parameter,
                                        ArrayRef<int64_t> shape, int64_t axis) {
  SmallVector<int64_t> own(shapeOf(parameter));
  if (product(own) == 1)
    return buildReshape(b, parameter, ArrayRef<int64_t>());
  if (own.size() != 1 || axis < 0 || own[0] != shape[axis])
    return Status(
        StatusCode::Unsupported,
        fmt::format("a scale or zero point has the shape {}; accepted "
                    "are one number, or one for each index of an axis",
                    shapeText(own)));
  SmallVector<int64_t> wide(shape.size(), 1);
  wide[axis] = own[0];
  return buildReshape(b, parameter, wide);
}

namespace {
/// A value and its parameters in shapes that broadcast.
struct Quantization {
  Value x, scale, zeroPoint;  ///< No zero point: null.
  SmallVector<int64_t> whole; ///< The value's shape; x may be split in blocks.
};
} // namespace

/// Operands 0 to 2: the value, its scale (one number, one for each index of an
/// axis, or one for each block along it) and its zero point.
static tessera::Result<Quantization> readQuantization(NodeImport &node, Value x,
                                                      Value scale) {
  Quantization read{x, scale, {}, SmallVector<int64_t>(shapeOf(x))};
  if (node.hasInput(2)) {
    TESSERA_ASSIGN_OR_RETURN(read.zeroPoint, node.storedInput(2));
  }
  SmallVector<int64_t> shape = read.whole;
  TESSERA_ASSIGN_OR_RETURN(int64_t block, node.intAttribute("block_size", 0));
  TESSERA_ASSIGN_OR_RETURN(int64_t given, node.intAttribute("axis", 1));
  int64_t rank = shape.size(), axis = given < 0 ? given + rank : given;
  if (block == 0) {
    // A scalar, or a vector with one scale, has no use for the axis.
    axis = axis >= 0 && axis < rank ? axis : -1;
    TESSERA_ASSIGN_OR_RETURN(read.scale, alongAxis(node.b, scale, shape, axis));
    if (read.zeroPoint) {
      TESSERA_ASSIGN_OR_RETURN(read.zeroPoint,
                               alongAxis(node.b, read.zeroPoint, shape, axis));
    }
    return read;
  }
  // Each block of elements along the axis has parameters of its own.
  if (axis < 0 || axis >= rank || block < 1 || shape[axis] % block != 0)
    return NodeImport::error(fmt::format("{} is not blocks of {} along axis {}",
                                         shapeText(shape), block, given));
  SmallVector<int64_t> blocks = shape, split;
  blocks[axis] = shape[axis] / block;
  if (shapeOf(scale) != ArrayRef(blocks) ||
      (read.zeroPoint && shapeOf(read.zeroPoint) != ArrayRef(blocks)))
    return NodeImport::error(
        fmt::format("the scale has the shape {}; accepted is {}",
                    shapeText(shapeOf(scale)), shapeText(blocks)));
  split = blocks;
  split.insert(split.begin() + axis + 1, block);
  blocks.insert(blocks.begin() + axis + 1, 1);
  read.x = buildReshape(node.b, x, split);
  read.scale = buildReshape(node.b, scale, blocks);
  if (read.zeroPoint)
    read.zeroPoint = buildReshape(node.b, read.zeroPoint, blocks);
  return read;
}

/// round(x / scale) + zero point, saturated to the integer type.
static Value buildQuantized(ImplicitLocOpBuilder &b, Value x, Value scale,
                            Value zeroPoint, int32_t type) {
  Value shifted =
      math::RoundEvenOp::create(b, arith::DivFOp::create(b, x, scale));
  if (zeroPoint)
    shifted =
        arith::AddFOp::create(b, shifted, buildCast(b, zeroPoint, type, Float));
  bool isSigned = type == Int8 || type == Int4;
  double steps = isHalfByte(type) ? 16 : 256;
  double least = isSigned ? -steps / 2 : 0;
  // Exact: the bounds are small integers, and NaN does not matter.
  shifted = arith::MaxNumFOp::create(b, shifted, buildScalar(b, least));
  shifted =
      arith::MinNumFOp::create(b, shifted, buildScalar(b, least + steps - 1));
  return buildCast(b, shifted, Float, type);
}

/// An error unless the zero point, which only integers have a use for, is 0.
static Status checkNoZeroPoint(NodeImport &node) {
  if (!node.hasInput(2))
    return Status::success();
  const Tensor *zero = node.constantInput(2);
  if (zero && zero->numbers() &&
      llvm::all_of(*zero->numbers(), [](double v) { return v == 0; }))
    return Status::success();
  return NodeImport::error("has a zero point other than 0; accepted for float8 "
                           "is 0");
}

Status tessera::onnx::importQuantizeLinear(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(Value x, node.input(0));
  TESSERA_ASSIGN_OR_RETURN(Value scale, node.input(1));
  TESSERA_ASSIGN_OR_RETURN(int64_t given, node.intAttribute("output_dtype", 0));
  TESSERA_ASSIGN_OR_RETURN(int64_t saturate, node.intAttribute("saturate", 1));
  int32_t type = node.hasInput(2) ? node.inputType(2)
                 : given != 0     ? int32_t(given)
                                  : int32_t(Uint8);
  bool isFloat = float8Format(type).has_value();
  if (!isFloat && !isByte(type) && !isHalfByte(type))
    return {StatusCode::Unsupported,
            fmt::format("quantises to {}; accepted are int8, uint8, int4, "
                        "uint4 and the float8 types",
                        elementTypeName(type))};
  TESSERA_ASSIGN_OR_RETURN(Quantization q, readQuantization(node, x, scale));
  if (isFloat) {
    TESSERA_RETURN_IF_ERROR(checkNoZeroPoint(node));
    q.zeroPoint = {};
  }
  SmallVector<Value> operands{q.x, q.scale};
  if (q.zeroPoint)
    operands.push_back(q.zeroPoint);
  TESSERA_ASSIGN_OR_RETURN(
      Value result,
      buildElementwise(
          node.b, operands, node.b.getI8Type(),
          [&](ImplicitLocOpBuilder &b, ValueRange e) {
            return isFloat
                       ? buildCast(b, arith::DivFOp::create(b, e[0], e[1]),
                                   Float, type, saturate != 0)
                       : buildQuantized(b, e[0], e[1],
                                        e.size() > 2 ? e[2] : Value(), type);
          }));
  node.setResult(0, buildReshape(node.b, result, q.whole), type);
  return Status::success();
}

Status tessera::onnx::importDequantizeLinear(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(Value x, node.storedInput(0));
  TESSERA_ASSIGN_OR_RETURN(Value scale, node.input(1));
  int32_t type = node.inputType(0);
  bool isFloat = float8Format(type).has_value();
  if (!isFloat && !isByte(type) && !isHalfByte(type) && type != Int32)
    return {StatusCode::Unsupported,
            fmt::format("has elements of type {}; accepted are int8, uint8, "
                        "int4, uint4, int32 and the float8 types",
                        elementTypeName(type))};
  if (const Tensor *constant = node.constantInput(0); constant && isFloat) {
    // f32 holds them exactly.
    SmallVector<int64_t> shape(constant->shape.begin(), constant->shape.end());
    std::vector<double> numbers = *constant->numbers();
    x = node.buildConstant(tensorOf(Float, shape, ArrayRef<double>(numbers)));
    type = Float;
  }
  TESSERA_ASSIGN_OR_RETURN(Quantization q, readQuantization(node, x, scale));
  if (isFloat) {
    TESSERA_RETURN_IF_ERROR(checkNoZeroPoint(node));
    q.zeroPoint = {};
  }
  SmallVector<Value> operands{q.x, q.scale};
  if (q.zeroPoint)
    operands.push_back(q.zeroPoint);
  TESSERA_ASSIGN_OR_RETURN(
      Value result,
      buildElementwise(node.b, operands,
                       [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                         if (isFloat)
                           return arith::MulFOp::create(
                               b, buildCast(b, e[0], type, Float), e[1]);
                         // (x - zero point) * scale.
                         Value number = buildCast(b, e[0], type, Int32);
                         if (e.size() > 2)
                           number = arith::SubIOp::create(
                               b, number, buildCast(b, e[2], type, Int32));
                         return arith::MulFOp::create(
                             b, buildCast(b, number, Int32, Float), e[1]);
                       }));
  node.setResult(0, buildReshape(node.b, result, q.whole));
  return Status::success();
}

Status tessera::onnx::importDynamicQuantizeLinear(NodeImport &node) {
  ImplicitLocOpBuilder &b = node.b;
  TESSERA_ASSIGN_OR_RETURN(Value x, node.input(0));
  Value flat = buildReshape(b, x, {product(shapeOf(x))});
  // The range holds 0.
  auto bound = [&](Reduction reduction) {
    return buildReduction(b, flat, 0, reduction);
  };
  Value low = bound(Reduction::Min), high = bound(Reduction::Max);
  TESSERA_ASSIGN_OR_RETURN(
      Value scale,
      buildElementwise(
          b, {low, high}, [](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
            Value zero = buildScalar(b, 0);
            Value least = arith::MinimumFOp::create(b, e[0], zero);
            Value greatest = arith::MaximumFOp::create(b, e[1], zero);
            return arith::DivFOp::create(
                b, arith::SubFOp::create(b, greatest, least),
                buildScalar(b, 255));
          }));
  TESSERA_ASSIGN_OR_RETURN(
      Value zeroPoint,
      buildElementwise(
          b, {low, scale}, b.getI8Type(),
          [](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
            Value zero = buildScalar(b, 0);
            Value least = arith::MinimumFOp::create(b, e[0], zero);
            Value quotient = arith::DivFOp::create(
                b, arith::SubFOp::create(b, zero, least), e[1]);
            quotient = arith::MaxNumFOp::create(b, quotient, zero);
            quotient =
                arith::MinNumFOp::create(b, quotient, buildScalar(b, 255));
            return buildCast(b, math::RoundEvenOp::create(b, quotient), Float,
                             Uint8);
          }));
  TESSERA_ASSIGN_OR_RETURN(
      Value result, buildElementwise(b, {x, scale, zeroPoint}, b.getI8Type(),
                                     [](ImplicitLocOpBuilder &b, ValueRange e) {
                                       return buildQuantized(b, e[0], e[1],
                                                             e[2], Uint8);
                                     }));
  node.setResult(0, result, Uint8);
  if (node.hasOutput(1))
    node.setResult(1, scale, Float);
  if (node.hasOutput(2))
    node.setResult(2, zeroPoint, Uint8);
  return Status::success();
}

//===-- Sums of products --------------------------------------------------===//

namespace {
/// A factor of a product: signed bytes, less a zero point.
struct Factor {
  Value value;
  Value zeroPoint;   ///< i32 that broadcasts; null for a known one.
  int64_t known = 0; ///< The zero point, if it is one known number.
};
} // namespace

/// Operand `index` with the zero point of operand `zeroIndex`. Unsigned bytes
/// become signed by flipping the highest bit, which is a shift by 128 of them
/// and of the zero point.
static tessera::Result<Factor> readFactor(NodeImport &node, size_t index,
                                          size_t zeroIndex, int64_t axis) {
  Factor factor;
  TESSERA_ASSIGN_OR_RETURN(factor.value, node.storedInput(index));
  int32_t type = node.inputType(index);
  if (!isByte(type))
    return NodeImport::error(
        fmt::format("operand {} has elements of type {}; accepted are int8 and "
                    "uint8",
                    index, elementTypeName(type)));
  ImplicitLocOpBuilder &b = node.b;
  int64_t shift = type == Uint8 ? 128 : 0;
  if (!node.hasInput(zeroIndex)) {
    factor.known = -shift;
  } else if (const Tensor *constant = node.constantInput(zeroIndex);
             constant && constant->elementCount() == 1 &&
             constant->elementType == type) {
    factor.known = static_cast<int64_t>(constant->numbers()->front()) - shift;
  } else {
    if (node.inputType(zeroIndex) != type)
      return NodeImport::error("has a zero point of another type");
    TESSERA_ASSIGN_OR_RETURN(Value zeroPoint, node.storedInput(zeroIndex));
    TESSERA_ASSIGN_OR_RETURN(
        factor.zeroPoint,
        buildElementwise(b, zeroPoint, b.getI32Type(),
                         [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                           Value wide = buildCast(b, e[0], type, Int32);
                           return arith::SubIOp::create(
                               b, wide, buildNumber(b, b.getI32Type(), shift));
                         }));
    TESSERA_ASSIGN_OR_RETURN(
        factor.zeroPoint,
        alongAxis(b, factor.zeroPoint, shapeOf(factor.value), axis));
  }
  if (shift != 0) {
    TESSERA_ASSIGN_OR_RETURN(
        factor.value,
        buildElementwise(b, factor.value, b.getI8Type(),
                         [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                           return arith::XOrIOp::create(
                               b, e[0], buildNumber(b, b.getI8Type(), -128));
                         }));
  }
  return factor;
}

/// The element as i32 less the known zero point.
static Value widen(ImplicitLocOpBuilder &b, Value element, int64_t zeroPoint) {
  Value wide = arith::ExtSIOp::create(b, b.getI32Type(), element);
  return zeroPoint == 0
             ? wide
             : arith::SubIOp::create(b, wide,
                                     buildNumber(b, b.getI32Type(), zeroPoint))
                   .getResult();
}

/// a * b - (row's or column's correction), where `sums` runs over the other
/// factor's sums.
static tessera::Result<Value> subtractProduct(ImplicitLocOpBuilder &b,
                                              Value total, Value zeroPoint,
                                              Value sums) {
  return buildElementwise(b, {total, zeroPoint, sums}, b.getI32Type(),
                          [](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                            return arith::SubIOp::create(
                                b, e[0], arith::MulIOp::create(b, e[1], e[2]));
                          });
}

/// The product [..., M, K] x [..., K, N] of factors, batches broadcast.
static tessera::Result<Value> multiply(ImplicitLocOpBuilder &b, Factor left,
                                       Factor right) {
  SmallVector<int64_t> a(shapeOf(left.value)), c(shapeOf(right.value));
  if (a.size() < 2 || c.size() < 2 || a.back() != c.end()[-2])
    return NodeImport::error(fmt::format("operands {} and {} do not multiply",
                                         shapeText(a), shapeText(c)));
  size_t batchRank = std::max(a.size(), c.size()) - 2;
  SmallVector<int64_t> shape(batchRank, 1);
  for (ArrayRef<int64_t> own : {ArrayRef<int64_t>(a), ArrayRef<int64_t>(c)})
    for (size_t i = 0; i + 2 < own.size(); ++i) {
      int64_t &extent = shape[batchRank + 2 - own.size() + i];
      if (own[i] != 1 && extent != 1 && own[i] != extent)
        return NodeImport::error(fmt::format(
            "operands {} and {} do not multiply", shapeText(a), shapeText(c)));
      extent = std::max(extent, own[i]);
    }
  shape.append({a.end()[-2], c.back()});
  TESSERA_RETURN_IF_ERROR(checkShape(shape));
  size_t dims = batchRank + 3;
  auto mapOf = [&](ArrayRef<int64_t> own, unsigned row, unsigned column) {
    SmallVector<AffineExpr> indices;
    size_t skipped = batchRank + 2 - own.size();
    for (size_t i = 0; i + 2 < own.size(); ++i)
      indices.push_back(own[i] == shape[skipped + i]
                            ? b.getAffineDimExpr(skipped + i)
                            : b.getAffineConstantExpr(0));
    indices.append({b.getAffineDimExpr(row), b.getAffineDimExpr(column)});
    return AffineMap::get(dims, 0, indices, b.getContext());
  };
  SmallVector<AffineMap> maps{mapOf(a, dims - 3, dims - 1),
                              mapOf(c, dims - 1, dims - 2),
                              mapOf(shape, dims - 3, dims - 2)};
  SmallVector<utils::IteratorType> iterators(dims,
                                             utils::IteratorType::parallel);
  iterators.back() = utils::IteratorType::reduction;
  Value init = buildFilled(b, shape, 0, b.getI32Type());
  Value total = linalg::GenericOp::create(
                    b, init.getType(), ValueRange{left.value, right.value},
                    init, maps, iterators,
                    [&](OpBuilder &body, Location loc, ValueRange e) {
                      ImplicitLocOpBuilder inner(loc, body);
                      Value product = arith::MulIOp::create(
                          inner, widen(inner, e[0], left.known),
                          widen(inner, e[1], right.known));
                      Value sum = arith::AddIOp::create(inner, e[2], product);
                      linalg::YieldOp::create(inner, sum);
                    })
                    .getResult(0);
  // Zero points that are computed or many: corrected by the other's sums, in
  // which the other's own zero point counts.
  auto sumsOf = [&](Factor factor, bool columns) -> tessera::Result<Value> {
    TESSERA_ASSIGN_OR_RETURN(
        Value wide,
        buildElementwise(b, factor.value, b.getI32Type(),
                         [&](ImplicitLocOpBuilder &b, ValueRange e) {
                           return widen(b, e[0], factor.known);
                         }));
    SmallVector<int64_t> own(shapeOf(wide));
    size_t dim = own.size() - (columns ? 2 : 1);
    own[dim] = 1;
    return buildReshape(b, buildReduction(b, wide, dim, Reduction::Sum), own);
  };
  if (right.zeroPoint) {
    TESSERA_ASSIGN_OR_RETURN(Value sums, sumsOf(left, false));
    TESSERA_ASSIGN_OR_RETURN(total,
                             subtractProduct(b, total, right.zeroPoint, sums));
  }
  if (left.zeroPoint) {
    TESSERA_ASSIGN_OR_RETURN(Value sums, sumsOf(right, true));
    TESSERA_ASSIGN_OR_RETURN(total,
                             subtractProduct(b, total, left.zeroPoint, sums));
    if (right.zeroPoint) {
      // The product of both was taken away twice for each of the K products.
      TESSERA_ASSIGN_OR_RETURN(
          total,
          buildElementwise(b, {total, left.zeroPoint, right.zeroPoint},
                           b.getI32Type(),
                           [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                             Value both = arith::MulIOp::create(
                                 b, arith::MulIOp::create(b, e[1], e[2]),
                                 buildNumber(b, b.getI32Type(), a.back()));
                             return arith::AddIOp::create(b, e[0], both);
                           }));
    }
  }
  return total;
}

/// The axis of a matrix operand along which it may have several zero points.
static tessera::Result<int64_t> matrixAxis(NodeImport &node, size_t index,
                                           int64_t fromEnd) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> shape, node.inputShape(index));
  return static_cast<int64_t>(shape.size()) - fromEnd;
}

Status tessera::onnx::importMatMulInteger(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(int64_t rows, matrixAxis(node, 0, 2));
  TESSERA_ASSIGN_OR_RETURN(int64_t columns, matrixAxis(node, 1, 1));
  TESSERA_ASSIGN_OR_RETURN(Factor left, readFactor(node, 0, 2, rows));
  TESSERA_ASSIGN_OR_RETURN(Factor right, readFactor(node, 1, 3, columns));
  TESSERA_ASSIGN_OR_RETURN(Value result, multiply(node.b, left, right));
  node.setResult(0, result, Int32);
  return Status::success();
}

/// The convolution of factors whose zero points are known.
static tessera::Result<Value>
convolveKnown(NodeImport &node, const Factor &image, const Factor &weights) {
  ImplicitLocOpBuilder &b = node.b;
  SmallVector<int64_t> in(shapeOf(image.value)), filter(shapeOf(weights.value));
  TESSERA_ASSIGN_OR_RETURN(int64_t group, node.intAttribute("group", 1));
  if ((in.size() != 3 && in.size() != 4) || filter.size() != in.size() ||
      group < 1 || in[1] % group != 0 || filter[0] % group != 0 ||
      in[1] / group != filter[1])
    return NodeImport::error(fmt::format(
        "input {}, weights {} and group {} do not fit: accepted are one or two "
        "spatial dimensions and weights [F, C / group, ...]",
        shapeText(in), shapeText(filter), group));
  TESSERA_ASSIGN_OR_RETURN(Window window,
                           readWindow(node, ArrayRef(in).drop_front(2),
                                      ArrayRef(filter).drop_front(2)));
  SmallVector<int64_t> shape{in[0], filter[0]};
  shape.append(window.output.end() - (in.size() - 2), window.output.end());
  TESSERA_RETURN_IF_ERROR(checkShape(shape));
  SmallVector<int64_t> in4 = withTwoSpatialDims(in),
                       filter4 = withTwoSpatialDims(filter);
  Value padded =
      buildPad(b, buildReshape(b, image.value, in4), 2, window.padsLow,
               window.padsHigh, static_cast<double>(image.known));
  SmallVector<int64_t> padded4(shapeOf(padded));
  padded = buildReshape(
      b, padded, {in4[0], group, in4[1] / group, padded4[2], padded4[3]});
  Value kernel = buildReshape(
      b, weights.value,
      {group, filter4[0] / group, filter4[1], filter4[2], filter4[3]});
  // n, g, f, oh, ow, c, kh, kw
  auto d = [&](unsigned dim) { return b.getAffineDimExpr(dim); };
  auto at = [&](unsigned out, unsigned tap, unsigned dim) {
    return d(out) * window.strides[dim] + d(tap) * window.dilations[dim];
  };
  SmallVector<AffineMap> maps{
      AffineMap::get(8, 0, {d(0), d(1), d(5), at(3, 6, 0), at(4, 7, 1)},
                     b.getContext()),
      AffineMap::get(8, 0, {d(1), d(2), d(5), d(6), d(7)}, b.getContext()),
      AffineMap::get(8, 0, {d(0), d(1), d(2), d(3), d(4)}, b.getContext())};
  SmallVector<utils::IteratorType> iterators(8, utils::IteratorType::parallel);
  for (unsigned dim : {5, 6, 7})
    iterators[dim] = utils::IteratorType::reduction;
  Value init = buildFilled(
      b,
      {in4[0], group, filter4[0] / group, window.output[0], window.output[1]},
      0, b.getI32Type());
  Value result =
      linalg::GenericOp::create(
          b, init.getType(), ValueRange{padded, kernel}, init, maps, iterators,
          [&](OpBuilder &body, Location loc, ValueRange e) {
            ImplicitLocOpBuilder inner(loc, body);
            Value product =
                arith::MulIOp::create(inner, widen(inner, e[0], image.known),
                                      widen(inner, e[1], weights.known));
            Value sum = arith::AddIOp::create(inner, e[2], product);
            linalg::YieldOp::create(inner, sum);
          })
          .getResult(0);
  return buildReshape(b, result, shape);
}

/// Bytes that are all 1, in the shape of a factor.
static Factor onesLike(ImplicitLocOpBuilder &b, const Factor &factor,
                       bool oneBatch) {
  SmallVector<int64_t> shape(shapeOf(factor.value));
  if (oneBatch)
    shape[0] = 1;
  Factor ones;
  ones.value = buildFilled(b, shape, 1, b.getI8Type());
  return ones;
}

/// The convolution of factors. With x and w less their zero points a and c, and
/// sums over the taps inside of the image:
/// sum (x - a)(w - c) = sum xw - a sum w - c sum x + ac sum 1.
static tessera::Result<Value> convolve(NodeImport &node, Factor image,
                                       Factor weights) {
  if (!image.zeroPoint && !weights.zeroPoint)
    return convolveKnown(node, image, weights);
  ImplicitLocOpBuilder &b = node.b;
  Type i32 = b.getI32Type();
  auto zeroOf = [&](const Factor &factor) -> Value {
    if (factor.zeroPoint)
      return factor.zeroPoint;
    auto scalar = RankedTensorType::get({}, i32);
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(scalar, int32_t(factor.known)));
  };
  Value imageZero = zeroOf(image), weightsZero = zeroOf(weights);
  // One for each filter, which is dimension 1 of the result.
  if (shapeOf(imageZero).size() != 0 && product(shapeOf(imageZero)) != 1)
    return Status(StatusCode::Unsupported,
                  "has a zero point of the image for each channel; accepted is "
                  "one number");
  imageZero = buildReshape(b, imageZero, ArrayRef<int64_t>());
  if (product(shapeOf(weightsZero)) != 1) {
    SmallVector<int64_t> along(shapeOf(image.value).size() - 1, 1);
    along[0] = shapeOf(weights.value)[0];
    weightsZero = buildReshape(b, weightsZero, along);
  } else {
    weightsZero = buildReshape(b, weightsZero, ArrayRef<int64_t>());
  }
  Factor x{image.value, Value(), 0}, w{weights.value, Value(), 0};
  Factor imageOnes = onesLike(b, image, true),
         weightsOnes = onesLike(b, weights, false);
  TESSERA_ASSIGN_OR_RETURN(Value products, convolveKnown(node, x, w));
  TESSERA_ASSIGN_OR_RETURN(Value ofWeights, convolveKnown(node, imageOnes, w));
  TESSERA_ASSIGN_OR_RETURN(Value ofImage, convolveKnown(node, x, weightsOnes));
  TESSERA_ASSIGN_OR_RETURN(Value taps,
                           convolveKnown(node, imageOnes, weightsOnes));
  // sum xw - a (sum w - c sum 1) - c sum x
  TESSERA_ASSIGN_OR_RETURN(
      Value first,
      buildElementwise(b, {ofWeights, weightsZero, taps, imageZero}, i32,
                       [](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                         Value rest = arith::SubIOp::create(
                             b, e[0], arith::MulIOp::create(b, e[1], e[2]));
                         return arith::MulIOp::create(b, rest, e[3]);
                       }));
  return buildElementwise(b, {products, first, ofImage, weightsZero}, i32,
                          [](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                            return arith::SubIOp::create(
                                b, arith::SubIOp::create(b, e[0], e[1]),
                                arith::MulIOp::create(b, e[2], e[3]));
                          });
}

Status tessera::onnx::importConvInteger(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(Factor image, readFactor(node, 0, 2, -1));
  TESSERA_ASSIGN_OR_RETURN(Factor weights, readFactor(node, 1, 3, 0));
  TESSERA_ASSIGN_OR_RETURN(Value result, convolve(node, image, weights));
  node.setResult(0, result, Int32);
  return Status::success();
}

/// The i32 sums times the product of scales, quantised again. Operands `first`
/// on: the scales of the two factors, of the result, and its zero point.
static Status requantize(NodeImport &node, Value sums, size_t leftScale,
                         size_t rightScale, size_t outScale, int64_t axis) {
  ImplicitLocOpBuilder &b = node.b;
  SmallVector<int64_t> shape(shapeOf(sums));
  Value scales[3];
  size_t indices[] = {leftScale, rightScale, outScale};
  for (size_t i = 0; i < 3; ++i) {
    TESSERA_ASSIGN_OR_RETURN(scales[i], node.input(indices[i]));
    TESSERA_ASSIGN_OR_RETURN(scales[i], alongAxis(b, scales[i], shape, axis));
  }
  int32_t type = node.inputType(outScale + 1);
  TESSERA_ASSIGN_OR_RETURN(Value zeroPoint, node.storedInput(outScale + 1));
  if (!isByte(type))
    return NodeImport::error("has a result that is neither int8 nor uint8");
  TESSERA_ASSIGN_OR_RETURN(zeroPoint, alongAxis(b, zeroPoint, shape, axis));
  TESSERA_ASSIGN_OR_RETURN(
      Value factor,
      buildElementwise(b, scales,
                       [](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                         return arith::DivFOp::create(
                             b, arith::MulFOp::create(b, e[0], e[1]), e[2]);
                       }));
  TESSERA_ASSIGN_OR_RETURN(
      Value result,
      buildElementwise(b, {sums, factor, zeroPoint}, b.getI8Type(),
                       [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                         Value scaled = arith::MulFOp::create(
                             b, buildCast(b, e[0], Int32, Float), e[1]);
                         return buildQuantized(b, scaled, buildScalar(b, 1),
                                               e[2], type);
                       }));
  node.setResult(0, result, type);
  return Status::success();
}

Status tessera::onnx::importQLinearMatMul(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(int64_t rows, matrixAxis(node, 0, 2));
  TESSERA_ASSIGN_OR_RETURN(int64_t columns, matrixAxis(node, 3, 1));
  TESSERA_ASSIGN_OR_RETURN(Factor left, readFactor(node, 0, 2, rows));
  TESSERA_ASSIGN_OR_RETURN(Factor right, readFactor(node, 3, 5, columns));
  TESSERA_ASSIGN_OR_RETURN(Value sums, multiply(node.b, left, right));
  int64_t axis = static_cast<int64_t>(shapeOf(sums).size()) - 1;
  return requantize(node, sums, 1, 4, 6, axis);
}

Status tessera::onnx::importQLinearConv(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(Factor image, readFactor(node, 0, 2, -1));
  TESSERA_ASSIGN_OR_RETURN(Factor weights, readFactor(node, 3, 5, 0));
  // Several equal zero points, one for each filter, are one.
  if (const Tensor *zeros = node.constantInput(5);
      zeros && weights.zeroPoint && zeros->elementCount() > 1) {
    std::vector<double> numbers = *zeros->numbers();
    if (llvm::all_equal(numbers)) {
      weights.zeroPoint = Value();
      weights.known = static_cast<int64_t>(numbers.front()) -
                      (zeros->elementType == Uint8 ? 128 : 0);
    }
  }
  TESSERA_ASSIGN_OR_RETURN(Value sums, convolve(node, image, weights));
  if (node.hasInput(8)) {
    TESSERA_ASSIGN_OR_RETURN(Value bias, node.storedInput(8));
    if (node.inputType(8) != Int32 ||
        shapeOf(bias) != ArrayRef(shapeOf(sums)[1]))
      return NodeImport::error("operand 8: accepted is one int32 for each "
                               "filter");
    sums = buildAlongDim(node.b, sums, bias, 1,
                         [](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                           return arith::AddIOp::create(b, e[0], e[1]);
                         });
  }
  return requantize(node, sums, 1, 4, 6, 1);
}
