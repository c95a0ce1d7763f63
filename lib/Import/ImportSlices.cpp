//===- ImportSlices.cpp - ONNX operators that pick and repeat elements ----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConstantMath.h"
#include "IndexBuilders.h"
#include "NodeImport.h"
#include "TensorBuilders.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

/// Constants that grow beyond this are repeated by the device.
static constexpr int64_t maxConstantElements = int64_t(1) << 20;
/// Positions are listed one by one.
static constexpr int64_t maxPositions = int64_t(1) << 24;

//===-- Positions along one dimension -------------------------------------===//

namespace {
/// `count` positions from `start`, `step` apart.
struct Run {
  int64_t start, step, count;
};
} // namespace

static Value buildSlice(ImplicitLocOpBuilder &b, Value value, unsigned dim,
                        Run run) {
  ArrayRef<int64_t> shape = shapeOf(value);
  SmallVector<OpFoldResult> offsets(shape.size(), b.getIndexAttr(0)),
      strides(shape.size(), b.getIndexAttr(1)), sizes;
  for (int64_t extent : shape)
    sizes.push_back(b.getIndexAttr(extent));
  offsets[dim] = b.getIndexAttr(run.start);
  strides[dim] = b.getIndexAttr(run.step);
  sizes[dim] = b.getIndexAttr(run.count);
  return tensor::ExtractSliceOp::create(b, value, offsets, sizes, strides);
}

/// The positions as few runs with steps of at least 1; a position that comes
/// again or before its predecessor starts a new one.
static SmallVector<Run> findRuns(ArrayRef<int64_t> positions) {
  SmallVector<Run> runs;
  for (int64_t position : positions) {
    if (!runs.empty()) {
      Run &run = runs.back();
      int64_t step = position - (run.start + run.step * (run.count - 1));
      if (run.count == 1 && step > 0)
        run.step = step;
      if (step == run.step && step > 0) {
        ++run.count;
        continue;
      }
    }
    runs.push_back({position, 1, 1});
  }
  return runs;
}

/// Pieces that one concatenation puts together.
static constexpr int64_t maxPieces = 256;

static Value concatenate(ImplicitLocOpBuilder &b, unsigned dim,
                         ArrayRef<Value> parts) {
  return parts.size() == 1
             ? parts.front()
             : tensor::ConcatOp::create(b, dim, parts).getResult();
}

/// From the last to the first. Many elements are a matrix of fewer rows and
/// columns, which are reversed one after the other.
static Value buildReversed(ImplicitLocOpBuilder &b, Value value, unsigned dim) {
  SmallVector<int64_t> shape(shapeOf(value));
  int64_t extent = shape[dim];
  constexpr int64_t columns = 32;
  if (extent <= columns) {
    SmallVector<Value> parts;
    for (int64_t at = extent; at-- > 0;)
      parts.push_back(buildSlice(b, value, dim, {at, 1, 1}));
    return concatenate(b, dim, parts);
  }
  int64_t rows = extent / columns, whole = rows * columns;
  SmallVector<Value> parts;
  if (whole < extent)
    parts.push_back(buildReversed(
        b, buildSlice(b, value, dim, {whole, 1, extent - whole}), dim));
  SmallVector<int64_t> matrix(shape);
  matrix[dim] = rows;
  matrix.insert(matrix.begin() + dim + 1, columns);
  Value main =
      whole == extent ? value : buildSlice(b, value, dim, {0, 1, whole});
  main = buildReversed(b, buildReshape(b, main, matrix), dim + 1);
  main = buildReversed(b, main, dim);
  shape[dim] = whole;
  parts.push_back(buildReshape(b, main, shape));
  return concatenate(b, dim, parts);
}

/// How positions repeat: every `count` of them lie `step` further than those
/// before, each within its own `step` elements.
struct Period {
  int64_t count, step;
};
static std::optional<Period> findPeriod(ArrayRef<int64_t> positions) {
  int64_t total = positions.size();
  for (int64_t count = 1; count <= std::min(maxPieces, total / 2); ++count) {
    int64_t step = positions[count] - positions[0];
    if (step < 1)
      continue;
    bool repeats = true;
    for (int64_t i = 0; repeats && i < total; ++i)
      repeats = positions[i] / step == i / count &&
                (i < count || positions[i] == positions[i - count] + step);
    if (repeats)
      return Period{count, step};
  }
  return std::nullopt;
}

tessera::Result<Value> tessera::onnx::buildPick(ImplicitLocOpBuilder &b,
                                                Value value, unsigned dim,
                                                ArrayRef<int64_t> positions) {
  SmallVector<int64_t> shape(shapeOf(value));
  int64_t extent = shape[dim], count = positions.size();
  // Each element several times in a row.
  if (count % extent == 0 && count != extent) {
    int64_t times = count / extent;
    bool repeats = true;
    for (int64_t i = 0; i < count; ++i)
      repeats &= positions[i] == i / times;
    if (repeats) {
      SmallVector<int64_t> split(shape), wide;
      split.insert(split.begin() + dim + 1, 1);
      wide = split;
      wide[dim + 1] = times;
      shape[dim] = count;
      TESSERA_ASSIGN_OR_RETURN(
          Value repeated,
          buildBroadcast(b, buildReshape(b, value, split), wide));
      return buildReshape(b, repeated, shape);
    }
  }
  // Backwards in equal steps.
  SmallVector<int64_t> backwards(llvm::reverse(positions));
  if (SmallVector<Run> runs = findRuns(backwards);
      runs.size() == 1 && count > 2)
    return buildReversed(b, buildSlice(b, value, dim, runs.front()), dim);
  SmallVector<Run> runs = findRuns(positions);
  if (static_cast<int64_t>(runs.size()) <= maxPieces) {
    SmallVector<Value> parts;
    for (const Run &run : runs)
      parts.push_back(run.start == 0 && run.step == 1 && run.count == extent
                          ? value
                          : buildSlice(b, value, dim, run));
    return concatenate(b, dim, parts);
  }
  if (std::optional<Period> period = findPeriod(positions)) {
    int64_t whole = std::min(count / period->count, extent / period->step);
    int64_t inside = whole * period->count, used = whole * period->step;
    SmallVector<int64_t> matrix(shape);
    matrix[dim] = whole;
    matrix.insert(matrix.begin() + dim + 1, period->step);
    Value main =
        used == extent ? value : buildSlice(b, value, dim, {0, 1, used});
    TESSERA_ASSIGN_OR_RETURN(
        main, buildPick(b, buildReshape(b, main, matrix), dim + 1,
                        positions.take_front(period->count)));
    shape[dim] = inside;
    SmallVector<Value> parts{buildReshape(b, main, shape)};
    if (inside < count) {
      TESSERA_ASSIGN_OR_RETURN(
          Value rest, buildPick(b, value, dim, positions.drop_front(inside)));
      parts.push_back(rest);
    }
    return concatenate(b, dim, parts);
  }
  // In no order: read as if the positions were computed.
  SmallVector<int32_t> numbers(positions.begin(), positions.end());
  Value table = arith::ConstantOp::create(
      b, DenseElementsAttr::get(RankedTensorType::get(count, b.getI32Type()),
                                ArrayRef<int32_t>(numbers)));
  shape[dim] = count;
  int64_t rank = shape.size();
  SmallVector<Coordinate> coordinates;
  for (int64_t i = 0; i < rank; ++i)
    coordinates.push_back(i == dim ? Coordinate{0, 0} : Coordinate{-1, i});
  return buildRead(
      b, value, shape, table,
      AffineMap::get(rank, 0, b.getAffineDimExpr(dim), b.getContext()),
      coordinates);
}

/// The tensor with the given positions along `dim`.
static Tensor pickConstant(const Tensor &tensor, int64_t dim,
                           ArrayRef<int64_t> positions) {
  SmallVector<int64_t> own = shapeOf(tensor), strides = rowMajorStrides(own),
                       shape = own;
  shape[dim] = positions.size();
  return gatherElements(tensor, shape, [&](ArrayRef<int64_t> index) {
    int64_t position = 0;
    for (size_t i = 0; i < own.size(); ++i)
      position +=
          strides[i] *
          (static_cast<int64_t>(i) == dim ? positions[index[i]] : index[i]);
    return position;
  });
}

/// A result that is operand 0 with the given positions along `dim`.
static Status pick(NodeImport &node, size_t result, int64_t dim,
                   ArrayRef<int64_t> positions) {
  if (const Tensor *constant = node.constantInput(0)) {
    node.setConstant(result, pickConstant(*constant, dim, positions));
    return Status::success();
  }
  if (positions.empty()) { // Without elements it is known.
    TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> shape, node.inputShape(0));
    shape[dim] = 0;
    node.setConstant(result,
                     tensorOf(node.inputType(0), shape, ArrayRef<int64_t>()));
    return Status::success();
  }
  TESSERA_ASSIGN_OR_RETURN(Value value, node.storedInput(0));
  TESSERA_ASSIGN_OR_RETURN(Value picked,
                           buildPick(node.b, value, dim, positions));
  node.setResult(result, picked, node.inputType(0));
  return Status::success();
}

//===-- Slice and Split ---------------------------------------------------===//

namespace {
struct SliceBounds {
  std::vector<int64_t> starts, ends, axes, steps;
};
} // namespace

static tessera::Result<SliceBounds> readSliceBounds(NodeImport &node,
                                                    int64_t rank) {
  SliceBounds bounds;
  std::optional<std::vector<int64_t>> starts, ends, axes, steps;
  if (node.opset < 10) {
    TESSERA_ASSIGN_OR_RETURN(starts, node.intsAttribute("starts"));
    TESSERA_ASSIGN_OR_RETURN(ends, node.intsAttribute("ends"));
    TESSERA_ASSIGN_OR_RETURN(axes, node.intsAttribute("axes"));
  } else {
    TESSERA_ASSIGN_OR_RETURN(starts, node.integerInput(1));
    TESSERA_ASSIGN_OR_RETURN(ends, node.integerInput(2));
    if (node.hasInput(3)) {
      TESSERA_ASSIGN_OR_RETURN(axes, node.integerInput(3));
    }
    if (node.hasInput(4)) {
      TESSERA_ASSIGN_OR_RETURN(steps, node.integerInput(4));
    }
  }
  if (!starts || !ends)
    return NodeImport::error("has no starts or ends");
  size_t count = starts->size();
  if (!axes) {
    axes.emplace(count);
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (!steps)
    steps.emplace(count, 1);
  if (ends->size() != count || axes->size() != count || steps->size() != count)
    return NodeImport::error("has lists of starts, ends, axes and steps of "
                             "different lengths");
  for (int64_t &axis : *axes) {
    TESSERA_ASSIGN_OR_RETURN(axis, node.axis(axis, rank, rank - 1));
  }
  for (int64_t step : *steps)
    if (step == 0)
      return NodeImport::error("has a step of 0");
  return SliceBounds{*starts, *ends, *axes, *steps};
}

/// The positions of a slice along a dimension.
static SmallVector<int64_t> slicePositions(int64_t start, int64_t end,
                                           int64_t step, int64_t extent) {
  // Counted from the end if negative, then clamped to where the walk can be.
  auto resolve = [&](int64_t at, int64_t low, int64_t high) {
    if (at < 0)
      at = std::max(at, -extent - 1) + extent;
    return std::clamp(at, low, high);
  };
  SmallVector<int64_t> positions;
  if (extent == 0)
    return positions;
  if (step > 0) {
    end = resolve(end, 0, extent);
    step = std::min(step, extent);
    for (int64_t at = resolve(start, 0, extent); at < end; at += step)
      positions.push_back(at);
  } else {
    end = resolve(end, -1, extent - 1);
    step = std::max(step, -extent);
    for (int64_t at = resolve(start, -1, extent - 1); at > end; at += step)
      positions.push_back(at);
  }
  return positions;
}

Status tessera::onnx::importSlice(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> shape, node.inputShape(0));
  TESSERA_ASSIGN_OR_RETURN(SliceBounds bounds,
                           readSliceBounds(node, shape.size()));
  std::optional<Tensor> tensor;
  Value value;
  if (const Tensor *constant = node.constantInput(0)) {
    tensor = *constant;
  } else {
    TESSERA_ASSIGN_OR_RETURN(value, node.storedInput(0));
  }
  for (size_t i = 0; i < bounds.axes.size(); ++i) {
    int64_t dim = bounds.axes[i];
    SmallVector<int64_t> positions = slicePositions(
        bounds.starts[i], bounds.ends[i], bounds.steps[i], shape[dim]);
    if (tensor) {
      tensor = pickConstant(*tensor, dim, positions);
    } else if (positions.empty()) {
      // Without elements it is known.
      tensor.emplace();
      tensor->elementType = node.inputType(0);
      tensor->shape.assign(shape.begin(), shape.end());
      tensor->shape[dim] = 0;
      tensor->data = std::make_shared<const std::string>();
    } else {
      TESSERA_ASSIGN_OR_RETURN(value, buildPick(node.b, value, dim, positions));
    }
    shape[dim] = positions.size();
  }
  if (tensor)
    node.setConstant(0, std::move(*tensor));
  else
    node.setResult(0, value, node.inputType(0));
  return Status::success();
}

Status tessera::onnx::importSplit(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> shape, node.inputShape(0));
  int64_t rank = shape.size();
  TESSERA_ASSIGN_OR_RETURN(int64_t axis, node.intAttribute("axis", 0));
  TESSERA_ASSIGN_OR_RETURN(axis, node.axis(axis, rank, rank - 1));
  std::optional<std::vector<int64_t>> sizes;
  if (node.opset < 13) {
    TESSERA_ASSIGN_OR_RETURN(sizes, node.intsAttribute("split"));
  } else if (node.hasInput(1)) {
    TESSERA_ASSIGN_OR_RETURN(sizes, node.integerInput(1));
  }
  int64_t parts = node.node.outputs.size();
  TESSERA_ASSIGN_OR_RETURN(int64_t given,
                           node.intAttribute("num_outputs", parts));
  if (given != parts)
    return NodeImport::error(
        fmt::format("attribute 'num_outputs' is {}, but there are {} outputs",
                    given, parts));
  if (!sizes) {
    int64_t size = (shape[axis] + parts - 1) / parts;
    sizes.emplace(parts, size);
    sizes->back() = shape[axis] - size * (parts - 1);
  }
  int64_t sum = 0;
  bool fits = static_cast<int64_t>(sizes->size()) == parts;
  for (int64_t size : *sizes) {
    fits &= size >= 0 && size <= shape[axis];
    sum += size;
  }
  if (!fits || sum != shape[axis])
    return NodeImport::error(
        fmt::format("the parts {} do not make the extent {}", shapeText(*sizes),
                    shape[axis]));
  int64_t start = 0;
  for (int64_t i = 0; i < parts; ++i) {
    SmallVector<int64_t> positions((*sizes)[i]);
    std::iota(positions.begin(), positions.end(), start);
    start += (*sizes)[i];
    if (node.hasOutput(i))
      TESSERA_RETURN_IF_ERROR(pick(node, i, axis, positions));
  }
  return Status::success();
}

//===-- Gather ------------------------------------------------------------===//

/// By indices that the model computes.
static Status gatherComputed(NodeImport &node, ArrayRef<int64_t> shape,
                             int64_t axis) {
  TESSERA_ASSIGN_OR_RETURN(Value table, node.storedInput(0));
  TESSERA_ASSIGN_OR_RETURN(Value positions,
                           positionsInput(node, 1, shape[axis]));
  ArrayRef<int64_t> own = shapeOf(positions);
  SmallVector<int64_t> result(shape.take_front(axis));
  llvm::append_range(result, own);
  llvm::append_range(result, shape.drop_front(axis + 1));
  TESSERA_RETURN_IF_ERROR(checkShape(result));
  ImplicitLocOpBuilder &b = node.b;
  int64_t indexRank = own.size(), rank = shape.size();
  SmallVector<AffineExpr> at;
  for (int64_t i = 0; i < indexRank; ++i)
    at.push_back(b.getAffineDimExpr(axis + i));
  AffineMap map = AffineMap::get(result.size(), 0, at, b.getContext());
  SmallVector<Coordinate> coordinates;
  for (int64_t dim = 0; dim < rank; ++dim)
    coordinates.push_back(dim < axis    ? Coordinate{-1, dim}
                          : dim == axis ? Coordinate{0, 0}
                                        : Coordinate{-1, dim + indexRank - 1});
  node.setResult(0, buildRead(b, table, result, positions, map, coordinates),
                 node.inputType(0));
  return Status::success();
}

Status tessera::onnx::importGather(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> shape, node.inputShape(0));
  int64_t rank = shape.size();
  TESSERA_ASSIGN_OR_RETURN(int64_t axis, node.intAttribute("axis", 0));
  TESSERA_ASSIGN_OR_RETURN(axis, node.axis(axis, rank, rank - 1));
  const Tensor *indices = node.constantInput(1);
  if (!indices)
    return gatherComputed(node, shape, axis);
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> positions,
                           node.integerInput(1));
  for (int64_t &position : positions) {
    if (position < -shape[axis] || position >= shape[axis])
      return NodeImport::error(fmt::format(
          "index {} is outside of the extent {}", position, shape[axis]));
    if (position < 0)
      position += shape[axis];
  }
  SmallVector<int64_t> result(shape.begin(), shape.begin() + axis);
  llvm::append_range(result, shapeOf(*indices));
  result.append(shape.begin() + axis + 1, shape.end());
  TESSERA_RETURN_IF_ERROR(pick(node, 0, axis, positions));
  node.reshapeResult(0, result);
  return Status::success();
}

//===-- Pad, Expand, Tile -------------------------------------------------===//

/// The position in the input that shows at `at`, which may lie outside.
static int64_t reflected(StringRef mode, int64_t at, int64_t extent) {
  if (mode == "edge")
    return std::clamp<int64_t>(at, 0, extent - 1);
  int64_t period = mode == "wrap" ? extent : 2 * (extent - 1);
  if (period == 0)
    return 0;
  at = ((at % period) + period) % period;
  return at < extent ? at : period - at;
}

Status tessera::onnx::importPad(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> shape, node.inputShape(0));
  int64_t rank = shape.size();
  TESSERA_ASSIGN_OR_RETURN(std::string mode,
                           node.stringAttribute("mode", "constant"));
  std::vector<int64_t> pads, axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  double element = 0;
  if (node.opset < 11) {
    TESSERA_ASSIGN_OR_RETURN(std::optional<std::vector<int64_t>> given,
                             node.intsAttribute("pads"));
    TESSERA_ASSIGN_OR_RETURN(element, node.floatAttribute("value", 0));
    if (!given)
      return NodeImport::error("has no attribute 'pads'");
    pads = *given;
  } else {
    TESSERA_ASSIGN_OR_RETURN(pads, node.integerInput(1));
    if (node.hasInput(2)) {
      const Tensor *value = node.constantInput(2);
      std::optional<std::vector<double>> numbers;
      if (value && value->elementCount() == 1)
        numbers = value->numbers();
      if (!numbers)
        return {StatusCode::Unsupported,
                "operand 2: accepted is a constant with one number"};
      element = numbers->front();
    }
    if (node.hasInput(3)) {
      TESSERA_ASSIGN_OR_RETURN(axes, node.integerInput(3));
      for (int64_t &axis : axes) {
        TESSERA_ASSIGN_OR_RETURN(axis, node.axis(axis, rank, rank - 1));
      }
    }
  }
  if (pads.size() != 2 * axes.size())
    return NodeImport::error(fmt::format("has {} pads; accepted are {} here",
                                         pads.size(), 2 * axes.size()));
  if (mode != "constant" && mode != "edge" && mode != "reflect" &&
      mode != "wrap")
    return NodeImport::error(fmt::format(
        "attribute 'mode' is '{}'; accepted are constant, edge, reflect and "
        "wrap",
        mode));
  SmallVector<int64_t> low(rank, 0), high(rank, 0);
  constexpr int64_t maxPad = int64_t(1) << 30;
  for (size_t i = 0; i < axes.size(); ++i) {
    low[axes[i]] = pads[i];
    high[axes[i]] = pads[i + axes.size()];
    if (std::abs(pads[i]) > maxPad || std::abs(pads[i + axes.size()]) > maxPad)
      return NodeImport::error("has a pad beyond 2^30");
    shape[axes[i]] += pads[i] + pads[i + axes.size()];
  }
  TESSERA_RETURN_IF_ERROR(checkShape(shape));
  for (int64_t extent : shape)
    if (mode != "constant" && extent > maxPositions)
      return NodeImport::error(
          fmt::format("makes the extent {}; accepted are up to 2^24", extent));
  TESSERA_ASSIGN_OR_RETURN(Value value, node.storedInput(0));
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t extent = shapeOf(value)[dim];
    SmallVector<int64_t> positions;
    if (mode == "constant") {
      // What is cut off; the rest is padded below.
      if (low[dim] >= 0 && high[dim] >= 0)
        continue;
      for (int64_t at = std::max<int64_t>(0, -low[dim]);
           at < extent + std::min<int64_t>(0, high[dim]); ++at)
        positions.push_back(at);
      if (positions.empty())
        return {StatusCode::Unsupported, "cuts every element of a dimension"};
    } else {
      if (low[dim] == 0 && high[dim] == 0)
        continue;
      for (int64_t at = -low[dim]; at < extent + high[dim]; ++at)
        positions.push_back(reflected(mode, at, extent));
    }
    TESSERA_ASSIGN_OR_RETURN(value, buildPick(node.b, value, dim, positions));
  }
  if (mode == "constant") {
    for (int64_t &amount : low)
      amount = std::max<int64_t>(amount, 0);
    for (int64_t &amount : high)
      amount = std::max<int64_t>(amount, 0);
    value = buildPad(node.b, value, 0, low, high, element);
  }
  node.setResult(0, value, node.inputType(0));
  return Status::success();
}

/// The shape that a shape broadcasts to together with another.
static tessera::Result<SmallVector<int64_t>>
joinShapes(ArrayRef<int64_t> own, ArrayRef<int64_t> wanted) {
  SmallVector<int64_t> shape(std::max(own.size(), wanted.size()), 1);
  for (ArrayRef<int64_t> part : {own, wanted})
    for (size_t i = 0; i < part.size(); ++i) {
      int64_t &extent = shape[shape.size() - part.size() + i];
      if (part[i] != 1 && extent != 1 && extent != part[i])
        return NodeImport::error(fmt::format(
            "{} does not expand to {}", shapeText(own), shapeText(wanted)));
      if (part[i] != 1)
        extent = part[i];
    }
  return shape;
}

Status tessera::onnx::importExpand(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> own, node.inputShape(0));
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> wanted, node.integerInput(1));
  TESSERA_ASSIGN_OR_RETURN(SmallVector<int64_t> shape, joinShapes(own, wanted));
  TESSERA_RETURN_IF_ERROR(checkShape(shape));
  if (const Tensor *constant = node.constantInput(0);
      constant && product(shape) <= maxConstantElements) {
    SmallVector<int64_t> strides = rowMajorStrides(own);
    size_t skipped = shape.size() - own.size();
    node.setConstant(
        0, gatherElements(*constant, shape, [&](ArrayRef<int64_t> index) {
          int64_t position = 0;
          for (size_t i = 0; i < own.size(); ++i)
            if (own[i] != 1)
              position += strides[i] * index[skipped + i];
          return position;
        }));
    return Status::success();
  }
  TESSERA_ASSIGN_OR_RETURN(Value value, node.storedInput(0));
  TESSERA_ASSIGN_OR_RETURN(Value result, buildBroadcast(node.b, value, shape));
  node.setResult(0, result, node.inputType(0));
  return Status::success();
}

Status tessera::onnx::importTile(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> own, node.inputShape(0));
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> repeats, node.integerInput(1));
  if (repeats.size() != own.size())
    return NodeImport::error(fmt::format("has {} repeats; accepted are {} here",
                                         repeats.size(), own.size()));
  SmallVector<int64_t> split, wide, shape;
  for (size_t i = 0; i < own.size(); ++i) {
    if (repeats[i] < 1 || repeats[i] > (int64_t(1) << 30))
      return NodeImport::error(fmt::format("repeats a dimension {} times; "
                                           "accepted are 1 to 2^30",
                                           repeats[i]));
    split.append({1, own[i]});
    wide.append({repeats[i], own[i]});
    shape.push_back(repeats[i] * own[i]);
  }
  TESSERA_RETURN_IF_ERROR(checkShape(shape));
  if (const Tensor *constant = node.constantInput(0);
      constant && product(shape) <= maxConstantElements) {
    SmallVector<int64_t> strides = rowMajorStrides(own);
    node.setConstant(
        0, gatherElements(*constant, shape, [&](ArrayRef<int64_t> index) {
          int64_t position = 0;
          for (size_t i = 0; i < own.size(); ++i)
            position += strides[i] * (index[i] % own[i]);
          return position;
        }));
    return Status::success();
  }
  TESSERA_ASSIGN_OR_RETURN(Value value, node.storedInput(0));
  TESSERA_ASSIGN_OR_RETURN(
      Value repeated,
      buildBroadcast(node.b, buildReshape(node.b, value, split), wide));
  node.setResult(0, buildReshape(node.b, repeated, shape), node.inputType(0));
  return Status::success();
}

/// Blocks of a [N, C, H, W] tensor between depth and space.
Status tessera::onnx::importBlocks(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(Value value, node.storedInput(0));
  SmallVector<int64_t> in(shapeOf(value));
  TESSERA_ASSIGN_OR_RETURN(int64_t block, node.intAttribute("blocksize", 0));
  TESSERA_ASSIGN_OR_RETURN(std::string mode,
                           node.stringAttribute("mode", "DCR"));
  bool toSpace = node.node.opType == "DepthToSpace";
  if (in.size() != 4 || block < 1 || block > (1 << 15) ||
      (toSpace ? in[1] % (block * block) != 0
               : in[2] % block != 0 || in[3] % block != 0))
    return NodeImport::error(
        fmt::format("the shape {} has no blocks of {}", shapeText(in), block));
  if (mode != "DCR" && mode != "CRD")
    return NodeImport::error(fmt::format(
        "attribute 'mode' is '{}'; accepted are DCR and CRD", mode));
  ImplicitLocOpBuilder &b = node.b;
  if (toSpace) {
    int64_t depth = in[1] / (block * block);
    bool columnsFirst = mode == "DCR";
    value = columnsFirst
                ? buildTranspose(
                      b,
                      buildReshape(b, value,
                                   {in[0], block, block, depth, in[2], in[3]}),
                      {0, 3, 4, 1, 5, 2})
                : buildTranspose(
                      b,
                      buildReshape(b, value,
                                   {in[0], depth, block, block, in[2], in[3]}),
                      {0, 1, 4, 2, 5, 3});
    value =
        buildReshape(b, value, {in[0], depth, in[2] * block, in[3] * block});
  } else {
    int64_t rows = in[2] / block, columns = in[3] / block;
    value = buildReshape(b, value, {in[0], in[1], rows, block, columns, block});
    value = buildTranspose(b, value, {0, 3, 5, 1, 2, 4});
    value =
        buildReshape(b, value, {in[0], in[1] * block * block, rows, columns});
  }
  node.setResult(0, value, node.inputType(0));
  return Status::success();
}

//===-- Made of constants -------------------------------------------------===//

Status tessera::onnx::importConstantOfShape(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> shape, node.integerInput(0));
  Tensor element = tensorOf(Float, {1}, ArrayRef<double>{0.0});
  if (auto found = node.node.attributes.find("value");
      found != node.node.attributes.end()) {
    if (found->second.kind != onnx::Attribute::Kind::Tensor ||
        found->second.tensorValue.elementCount() != 1)
      return NodeImport::error("attribute 'value': accepted is a tensor with "
                               "one element");
    element = found->second.tensorValue;
  }
  constexpr int64_t maxElements = int64_t(1) << 24;
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent < 0 || (extent != 0 && count > maxElements / extent))
      return NodeImport::error(fmt::format(
          "the shape {} has negative extents or more than 2^24 elements",
          shapeText(shape)));
    count *= extent;
  }
  node.setConstant(
      0, gatherElements(element, shape, [](ArrayRef<int64_t>) { return 0; }));
  return Status::success();
}

Status tessera::onnx::importRange(NodeImport &node) {
  std::vector<double> numbers[3];
  for (size_t i = 0; i < 3; ++i) {
    const Tensor *constant = node.constantInput(i);
    std::optional<std::vector<double>> value;
    if (constant && constant->elementCount() == 1)
      value = constant->numbers();
    if (!value)
      return NodeImport::error(
          fmt::format("operand {}: accepted is a constant with one number", i));
    numbers[i] = *value;
  }
  double start = numbers[0][0], limit = numbers[1][0], step = numbers[2][0];
  double count = std::ceil((limit - start) / step);
  if (!(count <= static_cast<double>(maxConstantElements)))
    return NodeImport::error("has no end, or more than 2^20 elements");
  int64_t length = std::max<int64_t>(0, static_cast<int64_t>(count));
  std::vector<double> elements;
  for (int64_t i = 0; i < length; ++i)
    elements.push_back(start + static_cast<double>(i) * step);
  node.setConstant(
      0, tensorOf(node.inputType(0), length, ArrayRef<double>(elements)));
  return Status::success();
}

Status tessera::onnx::importSize(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> shape, node.inputShape(0));
  node.setConstant(0, tensorOf(Int64, {}, ArrayRef<int64_t>{product(shape)}));
  return Status::success();
}
