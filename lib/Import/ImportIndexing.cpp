//===- ImportIndexing.cpp - ONNX operators with computed positions --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scatter asks of every element of its result which update it takes: the last
// one whose position it is, or none.
//
//===----------------------------------------------------------------------===//

#include "ConstantMath.h"
#include "ElementFunctions.h"
#include "IndexBuilders.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

//===-- Gathers -----------------------------------------------------------===//

Status tessera::onnx::importGatherElements(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> shape, node.inputShape(0));
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> result, node.inputShape(1));
  int64_t rank = shape.size();
  TESSERA_ASSIGN_OR_RETURN(int64_t axis, node.intAttribute("axis", 0));
  TESSERA_ASSIGN_OR_RETURN(axis, node.axis(axis, rank, rank - 1));
  bool fits = result.size() == shape.size();
  for (int64_t dim = 0; fits && dim < rank; ++dim)
    fits = dim == axis || result[dim] <= shape[dim];
  if (!fits)
    return NodeImport::error(
        fmt::format("indices {} do not fit the data {} along axis {}",
                    shapeText(result), shapeText(shape), axis));
  TESSERA_ASSIGN_OR_RETURN(Value table, node.storedInput(0));
  TESSERA_ASSIGN_OR_RETURN(Value positions,
                           positionsInput(node, 1, shape[axis]));
  SmallVector<Coordinate> coordinates;
  for (int64_t dim = 0; dim < rank; ++dim)
    coordinates.push_back({dim == axis ? 0 : -1, dim});
  node.setResult(0,
                 buildRead(node.b, table, result, positions,
                           node.b.getMultiDimIdentityMap(rank), coordinates),
                 node.inputType(0));
  return Status::success();
}

/// The parts of index tuples, each as positions along its dimension of the
/// data.
static tessera::Result<SmallVector<Value>>
tuplePositions(NodeImport &node, ArrayRef<int64_t> extents) {
  SmallVector<Value> parts;
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> shape, node.inputShape(1));
  std::vector<int64_t> outer(shape.begin(), shape.end() - 1);
  int32_t type = node.inputType(1);
  if (type != Int64 && type != Int32)
    return NodeImport::error(
        fmt::format("operand 1 has elements of type {}; accepted are int64 and "
                    "int32",
                    elementTypeName(type)));
  std::optional<std::vector<int64_t>> known;
  if (const Tensor *constant = node.constantInput(1))
    known = constant->integers();
  for (size_t i = 0; i < extents.size(); ++i) {
    if (known) {
      std::vector<int64_t> own;
      for (size_t at = i; at < known->size(); at += extents.size()) {
        int64_t position = (*known)[at];
        if (position < -extents[i] || position >= extents[i])
          return NodeImport::error(fmt::format(
              "index {} is outside of the extent {}", position, extents[i]));
        own.push_back(position + (position < 0 ? extents[i] : 0));
      }
      parts.push_back(
          node.buildConstant(tensorOf(Int32, outer, ArrayRef(own))));
      continue;
    }
    TESSERA_ASSIGN_OR_RETURN(Value tuples, node.storedInput(1));
    TESSERA_ASSIGN_OR_RETURN(
        Value part,
        buildPick(node.b, tuples, shape.size() - 1, static_cast<int64_t>(i)));
    TESSERA_ASSIGN_OR_RETURN(
        part,
        buildPositions(node.b, buildReshape(node.b, part, outer), extents[i]));
    parts.push_back(part);
  }
  return parts;
}

Status tessera::onnx::importGatherND(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> shape, node.inputShape(0));
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> indices, node.inputShape(1));
  TESSERA_ASSIGN_OR_RETURN(int64_t batch, node.intAttribute("batch_dims", 0));
  int64_t rank = shape.size(), indexRank = indices.size();
  if (batch < 0 || batch >= std::min(rank, indexRank) ||
      !llvm::equal(ArrayRef(shape).take_front(batch),
                   ArrayRef(indices).take_front(batch)) ||
      indices.back() < 1 || batch + indices.back() > rank)
    return NodeImport::error(fmt::format(
        "indices {} do not fit the data {} with {} batch dimensions",
        shapeText(indices), shapeText(shape), batch));
  int64_t picked = indices.back(), outer = indexRank - 1;
  TESSERA_ASSIGN_OR_RETURN(Value table, node.storedInput(0));
  TESSERA_ASSIGN_OR_RETURN(
      SmallVector<Value> positions,
      tuplePositions(node, ArrayRef(shape).slice(batch, picked)));
  SmallVector<int64_t> result(indices.begin(), indices.end() - 1);
  result.append(shape.begin() + batch + picked, shape.end());
  TESSERA_RETURN_IF_ERROR(checkShape(result));
  SmallVector<Coordinate> coordinates;
  for (int64_t dim = 0; dim < rank; ++dim)
    coordinates.push_back(dim < batch ? Coordinate{-1, dim}
                          : dim < batch + picked
                              ? Coordinate{int(dim - batch), 0}
                              : Coordinate{-1, outer + dim - batch - picked});
  AffineMap map = AffineMap::get(result.size(), 0,
                                 node.b.getMultiDimIdentityMap(result.size())
                                     .getResults()
                                     .take_front(outer),
                                 node.b.getContext());
  SmallVector<AffineMap> maps(positions.size(), map);
  node.setResult(0,
                 buildRead(node.b, table, result, positions, maps, coordinates),
                 node.inputType(0));
  return Status::success();
}

//===-- Scatters ----------------------------------------------------------===//

namespace {
/// A scatter along one axis: data, and updates and positions of one shape, or
/// positions along the axis alone.
struct Scatter {
  int64_t axis;
  Value data, positions, updates;
  int32_t type;
  std::string reduction;
};
} // namespace

/// What the updates come to at every position of the data's axis: `term` of
/// whether the update is for it, the update, and its number.
static Value collect(
    ImplicitLocOpBuilder &b, const Scatter &scatter, Type element,
    double neutral, bool reads,
    llvm::function_ref<Value(ImplicitLocOpBuilder &, Value isHere, Value update,
                             Value number)>
        term,
    llvm::function_ref<Value(ImplicitLocOpBuilder &, Value, Value)> combine) {
  SmallVector<int64_t> shape(reads ? shapeOf(scatter.updates)
                                   : shapeOf(scatter.positions));
  int64_t axis = reads || shape.size() != 1 ? scatter.axis : 0;
  int64_t rank = shape.size();
  // The last loop is over the updates along the axis.
  SmallVector<AffineExpr> at;
  for (int64_t dim = 0; dim < rank; ++dim)
    at.push_back(b.getAffineDimExpr(dim == axis ? rank : dim));
  AffineMap update = AffineMap::get(rank + 1, 0, at, b.getContext());
  AffineMap position = update;
  if (static_cast<int64_t>(shapeOf(scatter.positions).size()) != rank)
    position = AffineMap::get(rank + 1, 0, b.getAffineDimExpr(rank));
  AffineMap result = AffineMap::get(
      rank + 1, 0, b.getMultiDimIdentityMap(rank).getResults(), b.getContext());
  SmallVector<int64_t> target(shape);
  target[axis] = shapeOf(scatter.data)[scatter.axis];
  Value init = buildFilled(b, target, neutral, element);
  SmallVector<Value> inputs{scatter.positions};
  SmallVector<AffineMap> maps{position};
  if (reads) {
    inputs.push_back(scatter.updates);
    maps.push_back(update);
  }
  maps.push_back(result);
  return buildReduced(
      b, inputs, init, maps, rank,
      [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
        Value isHere = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, e[0],
                                             buildLoopIndex(b, axis));
        return combine(
            b, e.back(),
            term(b, isHere, reads ? e[1] : Value(), buildLoopIndex(b, rank)));
      });
}

/// The tensor grown to the data's shape by elements that change nothing.
static Value grow(ImplicitLocOpBuilder &b, Value value, ArrayRef<int64_t> shape,
                  double neutral) {
  SmallVector<int64_t> low(shape.size(), 0), high;
  for (size_t i = 0; i < shape.size(); ++i)
    high.push_back(shape[i] - shapeOf(value)[i]);
  return buildPad(b, value, 0, low, high, neutral);
}

/// Each element of the data replaced by its last update.
static tessera::Result<Value> replace(ImplicitLocOpBuilder &b,
                                      const Scatter &scatter) {
  ArrayRef<int64_t> shape = shapeOf(scatter.data);
  Type i32 = b.getI32Type();
  Value winner = collect(
      b, scatter, i32, std::numeric_limits<int32_t>::min(), /*reads=*/false,
      [&](ImplicitLocOpBuilder &b, Value isHere, Value, Value number) -> Value {
        return arith::SelectOp::create(
            b, isHere, number,
            buildNumber(b, i32, std::numeric_limits<int32_t>::min()));
      },
      [](ImplicitLocOpBuilder &b, Value old, Value term) -> Value {
        return arith::MaxSIOp::create(b, old, term);
      });
  int64_t rank = shape.size();
  bool shared = shapeOf(winner).size() == 1 && rank != 1;
  if (!shared)
    winner = grow(b, winner, shape, -1);
  TESSERA_ASSIGN_OR_RETURN(
      Value number,
      buildElementwise(
          b, winner, i32, [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
            return arith::MaxSIOp::create(b, e[0], buildNumber(b, i32, 0));
          }));
  AffineMap identity = b.getMultiDimIdentityMap(rank);
  AffineMap map =
      shared ? AffineMap::get(rank, 0, b.getAffineDimExpr(scatter.axis))
             : identity;
  // Beside the axis, what lies beyond the updates has none: any will do.
  Value updates = grow(
      b, scatter.updates,
      [&] {
        SmallVector<int64_t> wide(shape);
        wide[scatter.axis] = shapeOf(scatter.updates)[scatter.axis];
        return wide;
      }(),
      0);
  SmallVector<Coordinate> coordinates;
  for (int64_t dim = 0; dim < rank; ++dim)
    coordinates.push_back({dim == scatter.axis ? 0 : -1, dim});
  Value update = buildRead(b, updates, shape, number, map, coordinates);
  if (shared) {
    SmallVector<int64_t> wide(rank, 1);
    wide[scatter.axis] = shape[scatter.axis];
    winner = buildReshape(b, winner, wide);
  }
  return buildElementwise(
      b, {winner, scatter.data, update}, elementTypeOf(scatter.data),
      [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
        Value none = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, e[0],
                                           buildNumber(b, i32, 0));
        return arith::SelectOp::create(b, none, e[1], e[2]);
      });
}

/// Each element of the data combined with all of its updates.
static tessera::Result<Value> combineAll(NodeImport &node,
                                         const Scatter &scatter) {
  ImplicitLocOpBuilder &b = node.b;
  StringRef op = scatter.reduction == "add"   ? "Add"
                 : scatter.reduction == "max" ? "Max"
                                              : "Min";
  Type element = elementTypeOf(scatter.data);
  bool isFloat = isa<FloatType>(element);
  double highest = isFloat
                       ? std::numeric_limits<double>::infinity()
                       : std::ldexp(1.0, element.getIntOrFloatBitWidth() - 1);
  double neutral = op == "Add"   ? 0
                   : op == "Max" ? -highest
                   : isFloat     ? highest
                                 : highest - 1;
  bool known = true;
  auto apply = [&](ImplicitLocOpBuilder &b, Value x, Value y) -> Value {
    Value value = buildBinary(op, scatter.type, b, x, y);
    known &= value != nullptr;
    return value ? value : x;
  };
  Value sum = collect(
      b, scatter, element, neutral, /*reads=*/true,
      [&](ImplicitLocOpBuilder &b, Value isHere, Value update, Value) -> Value {
        return arith::SelectOp::create(b, isHere, update,
                                       buildNumber(b, element, neutral));
      },
      apply);
  sum = grow(b, sum, shapeOf(scatter.data), neutral);
  TESSERA_ASSIGN_OR_RETURN(
      Value result,
      buildElementwise(b, {scatter.data, sum}, element,
                       [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                         return apply(b, e[0], e[1]);
                       }));
  if (!known)
    return Status(StatusCode::Unsupported,
                  fmt::format("combines elements of type {}",
                              elementTypeName(scatter.type)));
  return result;
}

/// Each element of the data times all of its updates, one after the other.
static tessera::Result<Value> multiplyAll(NodeImport &node,
                                          const Scatter &scatter) {
  ImplicitLocOpBuilder &b = node.b;
  constexpr int64_t maxFactors = 256;
  ArrayRef<int64_t> shape = shapeOf(scatter.data);
  int64_t count = shapeOf(scatter.updates)[scatter.axis];
  if (count > maxFactors)
    return Status(StatusCode::Unsupported,
                  fmt::format("multiplies {} updates along the axis; accepted "
                              "are up to {}",
                              count, maxFactors));
  Type element = elementTypeOf(scatter.data);
  bool shared = shapeOf(scatter.positions).size() != shape.size();
  Value result = scatter.data;
  for (int64_t i = 0; i < count; ++i) {
    TESSERA_ASSIGN_OR_RETURN(Value update,
                             buildPick(b, scatter.updates, scatter.axis, i));
    TESSERA_ASSIGN_OR_RETURN(
        Value position,
        buildPick(b, scatter.positions, shared ? 0 : scatter.axis, i));
    if (shared)
      position =
          buildReshape(b, position, SmallVector<int64_t>(shape.size(), 1));
    SmallVector<int64_t> wide(shapeOf(update));
    wide[scatter.axis] = shape[scatter.axis];
    bool known = true;
    TESSERA_ASSIGN_OR_RETURN(
        Value factor,
        buildElementwise(
            b, {position, update, buildEmpty(b, wide, element)}, element,
            [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
              Value isHere =
                  arith::CmpIOp::create(b, arith::CmpIPredicate::eq, e[0],
                                        buildLoopIndex(b, scatter.axis));
              return arith::SelectOp::create(b, isHere, e[1],
                                             buildNumber(b, element, 1));
            }));
    factor = grow(b, factor, shape, 1);
    TESSERA_ASSIGN_OR_RETURN(
        result,
        buildElementwise(b, {result, factor}, element,
                         [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                           Value value =
                               buildBinary("Mul", scatter.type, b, e[0], e[1]);
                           known &= value != nullptr;
                           return value ? value : e[0];
                         }));
    if (!known)
      return Status(StatusCode::Unsupported,
                    fmt::format("multiplies elements of type {}",
                                elementTypeName(scatter.type)));
  }
  return result;
}

static tessera::Result<Value> apply(NodeImport &node, const Scatter &scatter) {
  if (scatter.reduction == "none")
    return replace(node.b, scatter);
  return scatter.reduction == "mul" ? multiplyAll(node, scatter)
                                    : combineAll(node, scatter);
}

/// The result of a scatter of constants, which replaces elements.
static std::optional<Tensor> foldScatter(NodeImport &node, bool isElements) {
  const Tensor *data = node.constantInput(0), *indices = node.constantInput(1),
               *updates = node.constantInput(2);
  if (!data || !indices || !updates || !indices->integers() ||
      data->elementType != updates->elementType || isElements)
    return std::nullopt;
  SmallVector<int64_t> shape = shapeOf(*data), strides = rowMajorStrides(shape);
  int64_t picked = indices->shape.empty() ? 0 : indices->shape.back();
  if (picked < 1 || picked > static_cast<int64_t>(shape.size()))
    return std::nullopt;
  std::vector<int64_t> tuples = *indices->integers();
  uint64_t run = elementBytes(data->elementType) *
                 product(ArrayRef(shape).drop_front(picked));
  std::string bytes = *data->data;
  if (updates->data->size() != tuples.size() / picked * run)
    return std::nullopt;
  for (size_t i = 0; i < tuples.size() / picked; ++i) {
    int64_t at = 0;
    for (int64_t dim = 0; dim < picked; ++dim) {
      int64_t index = tuples[i * picked + dim];
      if (index < -shape[dim] || index >= shape[dim])
        return std::nullopt;
      at += (index < 0 ? index + shape[dim] : index) * strides[dim];
    }
    bytes.replace(at * elementBytes(data->elementType), run, *updates->data,
                  i * run, run);
  }
  Tensor result = *data;
  result.data = std::make_shared<const std::string>(std::move(bytes));
  return result;
}

Status tessera::onnx::importScatter(NodeImport &node) {
  bool isElements = node.node.opType != "ScatterND";
  Scatter scatter;
  TESSERA_ASSIGN_OR_RETURN(scatter.reduction,
                           node.stringAttribute("reduction", "none"));
  if (scatter.reduction != "none" && scatter.reduction != "add" &&
      scatter.reduction != "mul" && scatter.reduction != "max" &&
      scatter.reduction != "min")
    return NodeImport::error(fmt::format(
        "attribute 'reduction' is '{}'; accepted are none, add, mul, max and "
        "min",
        scatter.reduction));
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> shape, node.inputShape(0));
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> indices, node.inputShape(1));
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> updates, node.inputShape(2));
  int64_t rank = shape.size();
  auto mismatch = [&] {
    return NodeImport::error(
        fmt::format("indices {} and updates {} do not fit the data {}",
                    shapeText(indices), shapeText(updates), shapeText(shape)));
  };
  if (node.inputType(0) != node.inputType(2))
    return NodeImport::error(
        fmt::format("has data of type {} and updates of type {}",
                    elementTypeName(node.inputType(0)),
                    elementTypeName(node.inputType(2))));
  if (scatter.reduction == "none")
    if (std::optional<Tensor> folded = foldScatter(node, isElements)) {
      node.setConstant(0, std::move(*folded));
      return Status::success();
    }
  // Floats are combined as f32.
  bool combines = scatter.reduction != "none";
  scatter.type = node.inputType(0);
  auto operand = [&](size_t index) {
    bool narrow = scatter.type == Float16 || scatter.type == BFloat16;
    return combines && narrow ? node.input(index) : node.storedInput(index);
  };
  TESSERA_ASSIGN_OR_RETURN(scatter.data, operand(0));
  TESSERA_ASSIGN_OR_RETURN(scatter.updates, operand(2));
  int32_t stored = scatter.type;
  if (isa<FloatType>(elementTypeOf(scatter.data)) && combines)
    scatter.type = Float;
  if (isElements) {
    TESSERA_ASSIGN_OR_RETURN(scatter.axis, node.intAttribute("axis", 0));
    TESSERA_ASSIGN_OR_RETURN(scatter.axis,
                             node.axis(scatter.axis, rank, rank - 1));
    bool fits = indices == updates && indices.size() == shape.size();
    for (int64_t dim = 0; fits && dim < rank; ++dim)
      fits = dim == scatter.axis || indices[dim] <= shape[dim];
    if (!fits)
      return mismatch();
    TESSERA_ASSIGN_OR_RETURN(scatter.positions,
                             positionsInput(node, 1, shape[scatter.axis]));
  } else {
    int64_t picked = indices.empty() ? 0 : indices.back();
    if (picked < 1 || picked > rank)
      return mismatch();
    SmallVector<int64_t> expected(indices.begin(), indices.end() - 1);
    expected.append(shape.begin() + picked, shape.end());
    if (!llvm::equal(expected, updates))
      return mismatch();
    ArrayRef<int64_t> front = ArrayRef(shape).take_front(picked);
    int64_t rows = product(front),
            rest = product(ArrayRef(shape).drop_front(picked));
    int64_t count = product(ArrayRef(indices).drop_back());
    if (rows > std::numeric_limits<int32_t>::max())
      return {StatusCode::Unsupported, "scatters over more than 2^31 elements"};
    TESSERA_ASSIGN_OR_RETURN(SmallVector<Value> parts,
                             tuplePositions(node, front));
    // Row-major positions in what the tuples pick from.
    SmallVector<int64_t> strides = rowMajorStrides(front);
    Type i32 = node.b.getI32Type();
    Value linear;
    for (int64_t i = 0; i < picked; ++i) {
      SmallVector<Value> operands{buildReshape(node.b, parts[i], count)};
      if (linear)
        operands.push_back(linear);
      TESSERA_ASSIGN_OR_RETURN(
          linear,
          buildElementwise(
              node.b, operands, i32,
              [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                Value scaled = arith::MulIOp::create(
                    b, e[0],
                    buildNumber(b, i32, static_cast<double>(strides[i])));
                return e.size() == 1
                           ? scaled
                           : arith::AddIOp::create(b, scaled, e[1]).getResult();
              }));
    }
    scatter.axis = 0;
    scatter.positions = linear;
    scatter.data = buildReshape(node.b, scatter.data, {rows, rest});
    scatter.updates = buildReshape(node.b, scatter.updates, {count, rest});
  }
  TESSERA_ASSIGN_OR_RETURN(Value result, apply(node, scatter));
  result = buildReshape(node.b, result, shape);
  if (combines && stored != scatter.type)
    node.setResult(0, result);
  else
    node.setResult(0, result, stored);
  return Status::success();
}

//===-- OneHot ------------------------------------------------------------===//

Status tessera::onnx::importOneHot(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> shape, node.inputShape(0));
  const Tensor *depthTensor = node.constantInput(1);
  std::optional<std::vector<double>> depths;
  if (depthTensor && depthTensor->elementCount() == 1)
    depths = depthTensor->numbers();
  if (!depths || !(depths->front() >= 1 && depths->front() < 0x1p30))
    return NodeImport::error("operand 1 (depth): accepted is a constant from 1 "
                             "to 2^30");
  int64_t depth = static_cast<int64_t>(depths->front());
  int64_t rank = shape.size();
  TESSERA_ASSIGN_OR_RETURN(int64_t axis, node.intAttribute("axis", -1));
  TESSERA_ASSIGN_OR_RETURN(axis, node.axis(axis, rank + 1, rank));
  TESSERA_ASSIGN_OR_RETURN(Value indices, node.storedInput(0));
  TESSERA_ASSIGN_OR_RETURN(Value values, node.storedInput(2));
  if (shapeOf(values) != ArrayRef<int64_t>(2))
    return NodeImport::error("operand 2 (values): accepted are two elements");
  SmallVector<int64_t> result(shape.begin(), shape.end());
  result.insert(result.begin() + axis, depth);
  TESSERA_RETURN_IF_ERROR(checkShape(result));
  ImplicitLocOpBuilder &b = node.b;
  Type element = elementTypeOf(values), i32 = b.getI32Type();
  SmallVector<AffineExpr> at;
  for (int64_t dim = 0; dim <= rank; ++dim)
    if (dim != axis)
      at.push_back(b.getAffineDimExpr(dim));
  AffineMap indexMap = AffineMap::get(rank + 1, 0, at, b.getContext());
  SmallVector<Value> operands{indices};
  SmallVector<AffineMap> maps{indexMap};
  for (int64_t which : {0, 1}) {
    TESSERA_ASSIGN_OR_RETURN(Value value, buildPick(b, values, 0, which));
    operands.push_back(value);
    maps.push_back(AffineMap::get(rank + 1, 0, b.getAffineConstantExpr(0)));
  }
  maps.push_back(b.getMultiDimIdentityMap(rank + 1));
  int32_t indexType = node.inputType(0);
  node.setResult(
      0,
      buildReduced(b, operands, buildEmpty(b, result, element), maps, {},
                   [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                     using P = arith::CmpIPredicate;
                     // In the index's own type, if it is wide: nothing may
                     // wrap.
                     Value index = e[0];
                     if (isa<FloatType>(index.getType()))
                       index = buildCast(b, index, indexType, Int32);
                     else if (index.getType().getIntOrFloatBitWidth() < 32)
                       index = buildCast(b, index, indexType, Int32);
                     Type type = index.getType();
                     Value isNegative = arith::CmpIOp::create(
                         b, P::slt, index, buildNumber(b, type, 0));
                     Value wrapped = arith::SelectOp::create(
                         b, isNegative,
                         arith::AddIOp::create(
                             b, index,
                             buildNumber(b, type, static_cast<double>(depth))),
                         index);
                     Value position = buildLoopIndex(b, axis);
                     if (type != i32)
                       position = arith::ExtSIOp::create(b, type, position);
                     return arith::SelectOp::create(
                         b, arith::CmpIOp::create(b, P::eq, wrapped, position),
                         e[2], e[1]);
                   }),
      node.inputType(2));
  return Status::success();
}
