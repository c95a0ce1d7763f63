//===- ImportRegions.cpp - ONNX operators on patches and regions ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Expansion.h"
#include "TensorBuilders.h"
#include <cmath>
#include <fmt/format.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

/// A list of integers with `count` elements from `least` to 2^30.
static tessera::Result<std::vector<int64_t>>
boundedList(NodeImport &node, StringRef name, size_t count, int64_t byDefault,
            int64_t least) {
  TESSERA_ASSIGN_OR_RETURN(std::optional<std::vector<int64_t>> given,
                           node.intsAttribute(name));
  std::vector<int64_t> list =
      given ? *given : std::vector<int64_t>(count, byDefault);
  bool valid = list.size() == count;
  for (int64_t value : list)
    valid &= value >= least && value <= (int64_t(1) << 30);
  if (!valid)
    return NodeImport::error(fmt::format(
        "attribute '{}' is {}; accepted are {} numbers from {} to 2^30",
        name.str(), shapeText(list), count, least));
  return list;
}

//===-- RoiAlign ----------------------------------------------------------===//

namespace {

/// Pools samples of regions of the images [N, C, H, W].
class RoiAlign {
public:
  explicit RoiAlign(NodeImport &node) : node(node), e(node) {}
  Status import();

private:
  /// The samples along one axis, whose coordinates are columns `which` and
  /// `which` + 2 of the regions, in an image of `extent` pixels.
  struct Samples {
    std::string inside, low, high, lowWeight, highWeight;
  };
  Samples sample(int64_t which, int64_t extent, int64_t bins);
  std::string number(double value) { return e.scalar(value); }

  NodeImport &node;
  Expansion e;
  bool shifts = false;
  int64_t ratio = 0, regions = 0;
  float scale = 1;
};

} // namespace

RoiAlign::Samples RoiAlign::sample(int64_t which, int64_t extent,
                                   int64_t bins) {
  double offset = shifts ? 0.5 : 0;
  auto corner = [&](int64_t column) {
    std::string at = e.slice(node.node.inputs[1], 1, column, column + 1);
    at = e("Mul", {at, number(scale)});
    return offset == 0 ? at : e("Sub", {at, number(offset)});
  };
  std::string begin = corner(which);
  std::string size = e("Sub", {corner(which + 2), begin});
  if (!shifts)
    size = e("Max", {size, number(1)});
  std::string bin = e("Div", {size, number(static_cast<double>(bins))});
  // Where the samples are, in bins.
  std::vector<double> places;
  for (int64_t i = 0; i < bins; ++i)
    for (int64_t j = 0; j < ratio; ++j)
      places.push_back(static_cast<double>(i) + (j + 0.5) / ratio);
  std::string place =
      node.constant(tensorOf(Float, {1, bins * ratio}, ArrayRef(places)));
  std::string at = e("Add", {begin, e("Mul", {bin, place})});
  Samples samples;
  samples.inside =
      e("And", {e("GreaterOrEqual", {at, number(-1)}),
                e("LessOrEqual", {at, number(static_cast<double>(extent))})});
  // Beyond the first and the last pixel their own values count.
  double last = static_cast<double>(extent - 1);
  at = e("Min", {e("Max", {at, number(0)}), number(last)});
  samples.low = e("Floor", {at});
  samples.high = e("Min", {e("Add", {samples.low, number(1)}), number(last)});
  samples.highWeight = e("Sub", {at, samples.low});
  samples.lowWeight = e("Sub", {number(1), samples.highWeight});
  return samples;
}

Status RoiAlign::import() {
  TESSERA_ASSIGN_OR_RETURN(std::string mode,
                           node.stringAttribute("mode", "avg"));
  bool old = node.opset < 16;
  TESSERA_ASSIGN_OR_RETURN(
      std::string coordinates,
      node.stringAttribute("coordinate_transformation_mode",
                           old ? "output_half_pixel" : "half_pixel"));
  TESSERA_ASSIGN_OR_RETURN(int64_t rows, node.intAttribute("output_height", 1));
  TESSERA_ASSIGN_OR_RETURN(int64_t columns,
                           node.intAttribute("output_width", 1));
  TESSERA_ASSIGN_OR_RETURN(ratio, node.intAttribute("sampling_ratio", 0));
  TESSERA_ASSIGN_OR_RETURN(scale, node.floatAttribute("spatial_scale", 1));
  std::vector<int64_t> shape = e.shape(node.node.inputs[0]),
                       boxes = e.shape(node.node.inputs[1]);
  TESSERA_RETURN_IF_ERROR(e.status);
  if ((mode != "avg" && mode != "max") ||
      (coordinates != "half_pixel" && coordinates != "output_half_pixel"))
    return NodeImport::error(fmt::format(
        "has mode '{}' and coordinates '{}'; accepted are avg and max, and "
        "half_pixel and output_half_pixel",
        mode, coordinates));
  if (shape.size() != 4 || boxes.size() != 2 || boxes[1] != 4)
    return NodeImport::error(fmt::format(
        "images {} and regions {}: accepted are [N, C, H, W] and [R, 4]",
        shapeText(shape), shapeText(boxes)));
  if (ratio < 1)
    return {StatusCode::Unsupported,
            "the number of samples depends on the regions (sampling_ratio 0); "
            "accepted is a fixed one"};
  constexpr int64_t most = 1 << 12;
  if (rows < 1 || columns < 1 || rows > most || columns > most || ratio > most)
    return NodeImport::error(fmt::format(
        "has {} x {} bins with {} samples along each axis; accepted are up to "
        "4096",
        rows, columns, ratio));
  if (node.inputType(0) != Float || node.inputType(1) != Float)
    return {StatusCode::Unsupported, "has elements of type " +
                                         elementTypeName(node.inputType(0)) +
                                         "; accepted is float"};
  shifts = coordinates == "half_pixel";
  regions = boxes[0];
  Samples x = sample(0, shape[3], columns), y = sample(1, shape[2], rows);
  int64_t across = columns * ratio, down = rows * ratio;
  auto alongX = [&](const std::string &value) {
    return e.reshape(value, {regions, 1, across, 1});
  };
  auto alongY = [&](const std::string &value) {
    return e.reshape(value, {regions, down, 1, 1});
  };
  std::string full = e.integers({regions, down, across, 1});
  NewAttributes toWord{{"to", attributeOf(int64_t(Int32))}};
  auto spread = [&](const std::string &value) {
    return e("Expand", {e("Cast", {value}, toWord), full});
  };
  std::string batch =
      spread(e.reshape(node.node.inputs[2], {regions, 1, 1, 1}));
  std::string images = e.transpose(node.node.inputs[0], {0, 2, 3, 1}), result;
  std::string inside = e("And", {alongY(y.inside), alongX(x.inside)});
  for (auto [row, rowWeight] :
       {std::pair(y.low, y.lowWeight), std::pair(y.high, y.highWeight)})
    for (auto [column, columnWeight] :
         {std::pair(x.low, x.lowWeight), std::pair(x.high, x.highWeight)}) {
      std::string at =
          e.concat({batch, spread(alongY(row)), spread(alongX(column))}, 3);
      std::string weight = e("Mul", {alongY(rowWeight), alongX(columnWeight)});
      std::string part = e("Mul", {e("GatherND", {images, at}), weight});
      part = e("Where", {inside, part, number(0)});
      // The maximum is that of the weighted corners.
      result = result.empty()
                   ? part
                   : e(mode == "avg" ? "Add" : "Max", {result, part});
    }
  result = e.reshape(result, {regions, rows, ratio, columns, ratio, shape[1]});
  result =
      e(mode == "avg" ? "ReduceMean" : "ReduceMax",
        {result, e.integers({2, 4})}, {{"keepdims", attributeOf(int64_t(0))}});
  e.result(0, e.transpose(result, {0, 3, 1, 2}));
  return e.status;
}

Status tessera::onnx::importRoiAlign(NodeImport &node) {
  return RoiAlign(node).import();
}

//===-- AffineGrid --------------------------------------------------------===//

/// The positions that affine maps [N, 2, 3] or [N, 3, 4] give the elements of
/// an image or a volume.
Status tessera::onnx::importAffineGrid(NodeImport &node) {
  Expansion e(node);
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> size, node.integerInput(1));
  TESSERA_ASSIGN_OR_RETURN(bool corners,
                           node.flagAttribute("align_corners", false));
  std::vector<int64_t> maps = e.shape(node.node.inputs[0]);
  TESSERA_RETURN_IF_ERROR(e.status);
  size_t rank = size.size() - std::min<size_t>(2, size.size());
  if ((rank != 2 && rank != 3) ||
      maps != std::vector<int64_t>{size[0], int64_t(rank), int64_t(rank) + 1})
    return NodeImport::error(
        fmt::format("maps {} and size {} do not fit: accepted are [N, 2, 3] "
                    "and [N, C, H, W], or [N, 3, 4] and [N, C, D, H, W]",
                    shapeText(maps), shapeText(size)));
  std::vector<int64_t> spatial(size.begin() + 2, size.end());
  TESSERA_RETURN_IF_ERROR(checkShape(spatial));
  int64_t count = product(spatial);
  constexpr int64_t most = int64_t(1) << 22;
  if (count > most)
    return {StatusCode::Unsupported,
            fmt::format("has a grid of {} positions; accepted are up to 2^22",
                        count)};
  // Each position with its last coordinate first, and a 1.
  std::vector<double> positions;
  for (int64_t at = 0; at < count; ++at) {
    int64_t rest = at;
    for (size_t i = rank; i-- > 0;) {
      int64_t extent = spatial[i], index = rest % extent;
      rest /= extent;
      positions.push_back(corners ? extent == 1 ? -1
                                                : 2.0 * index / (extent - 1) - 1
                                  : (2.0 * index + 1) / extent - 1);
    }
    positions.push_back(1);
  }
  int32_t type = node.inputType(0);
  std::string grid = node.constant(
      tensorOf(Float, {count, int64_t(rank) + 1}, ArrayRef(positions)));
  if (type != Float)
    grid = e("Cast", {grid}, {{"to", attributeOf(int64_t(type))}});
  std::string result =
      e("MatMul", {grid, e.transpose(node.node.inputs[0], {0, 2, 1})});
  std::vector<int64_t> shape{size[0]};
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  shape.push_back(rank);
  e.result(0, e.reshape(result, shape));
  return e.status;
}

//===-- Patches -----------------------------------------------------------===//

/// Cut or padded with zeros, evenly on both sides.
Status tessera::onnx::importCenterCropPad(NodeImport &node) {
  Expansion e(node);
  std::string value = node.node.inputs[0];
  std::vector<int64_t> shape = e.shape(value);
  TESSERA_RETURN_IF_ERROR(e.status);
  int64_t rank = shape.size();
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> wanted, node.integerInput(1));
  TESSERA_ASSIGN_OR_RETURN(std::optional<std::vector<int64_t>> axes,
                           node.intsAttribute("axes"));
  if (!axes) {
    axes.emplace();
    for (int64_t i = 0; i < rank; ++i)
      axes->push_back(i);
  }
  if (axes->size() != wanted.size())
    return NodeImport::error(
        fmt::format("has {} extents for {} axes", wanted.size(), axes->size()));
  std::vector<int64_t> pads(2 * rank, 0);
  for (size_t i = 0; i < wanted.size(); ++i) {
    TESSERA_ASSIGN_OR_RETURN(int64_t axis,
                             node.axis((*axes)[i], rank, rank - 1));
    int64_t extent = shape[axis];
    if (wanted[i] < 1)
      return NodeImport::error(fmt::format(
          "makes the extent {}; accepted is at least 1", wanted[i]));
    if (wanted[i] <= extent) {
      int64_t begin = (extent - wanted[i]) / 2;
      if (wanted[i] < extent)
        value = e.slice(value, axis, begin, begin + wanted[i]);
    } else {
      pads[axis] = (wanted[i] - extent) / 2;
      pads[rank + axis] = wanted[i] - extent - pads[axis];
    }
  }
  if (llvm::any_of(pads, [](int64_t pad) { return pad != 0; }))
    value = e("Pad", {value, e.integers(pads)});
  e.result(0, value);
  return e.status;
}

/// Adds up the columns of patches where they lie in the image.
Status tessera::onnx::importCol2Im(NodeImport &node) {
  Expansion e(node);
  std::vector<int64_t> shape = e.shape(node.node.inputs[0]);
  TESSERA_RETURN_IF_ERROR(e.status);
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> image, node.integerInput(1));
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> block, node.integerInput(2));
  size_t rank = image.size();
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> strides,
                           boundedList(node, "strides", rank, 1, 1));
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> dilations,
                           boundedList(node, "dilations", rank, 1, 1));
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> pads,
                           boundedList(node, "pads", 2 * rank, 0, 0));
  auto misfit = [&] {
    return NodeImport::error(fmt::format(
        "patches {} of {} do not fit the image {}: accepted are [N, C * "
        "elements of a patch, patches]",
        shapeText(shape), shapeText(block), shapeText(image)));
  };
  if (rank < 1 || block.size() != rank || shape.size() != 3)
    return misfit();
  TESSERA_RETURN_IF_ERROR(checkShape(image));
  TESSERA_RETURN_IF_ERROR(checkShape(block));
  int64_t taps = product(block);
  std::vector<int64_t> full(rank), counts(rank);
  for (size_t i = 0; i < rank; ++i) {
    full[i] = image[i] + pads[i] + pads[rank + i];
    int64_t room = full[i] - (dilations[i] * (block[i] - 1) + 1);
    if (room < 0)
      return misfit();
    counts[i] = room / strides[i] + 1;
  }
  constexpr int64_t mostTaps = 1024;
  if (shape[1] % taps != 0 || product(counts) != shape[2])
    return misfit();
  if (taps > mostTaps)
    return {StatusCode::Unsupported,
            fmt::format("has patches of {} elements; accepted are up to {}",
                        taps, mostTaps)};
  int64_t channels = shape[1] / taps;
  std::vector<int64_t> split{shape[0], channels, taps}, own{shape[0], channels};
  split.insert(split.end(), counts.begin(), counts.end());
  own.insert(own.end(), counts.begin(), counts.end());
  std::string columns = e.reshape(node.node.inputs[0], split), result;
  for (int64_t tap = 0; tap < taps && e.ok(); ++tap) {
    std::string part = e.reshape(e.slice(columns, 2, tap, tap + 1), own);
    std::vector<int64_t> extents = own, amounts(2 * (rank + 2), 0);
    int64_t rest = tap;
    for (size_t i = rank; i-- > 0;) {
      int64_t offset = rest % block[i] * dilations[i];
      rest /= block[i];
      size_t dim = 2 + i;
      // Zeros between the elements, as many as the patches are apart.
      if (strides[i] > 1 && extents[dim] > 1) {
        std::vector<int64_t> apart = extents;
        apart.insert(apart.begin() + dim + 1, 1);
        std::vector<int64_t> between(2 * apart.size(), 0);
        between[apart.size() + dim + 1] = strides[i] - 1;
        part = e("Pad", {e.reshape(part, apart), e.integers(between)});
        extents[dim] *= strides[i];
        part = e.reshape(part, extents);
        extents[dim] -= strides[i] - 1;
        part = e.slice(part, dim, 0, extents[dim]);
      }
      amounts[dim] = offset;
      amounts[rank + 2 + dim] = full[i] - offset - extents[dim];
    }
    if (llvm::any_of(amounts, [](int64_t pad) { return pad != 0; }))
      part = e("Pad", {part, e.integers(amounts)});
    result = tap == 0 ? part : e("Add", {result, part});
  }
  for (size_t i = 0; i < rank; ++i)
    if (pads[i] != 0 || pads[rank + i] != 0)
      result = e.slice(result, 2 + i, pads[i], pads[i] + image[i]);
  e.result(0, result);
  return e.status;
}

//===-- Caches ------------------------------------------------------------===//

/// A cache with new entries from a position of each batch on.
Status tessera::onnx::importTensorScatter(NodeImport &node) {
  Expansion e(node);
  const std::vector<std::string> &inputs = node.node.inputs;
  std::vector<int64_t> cache = e.shape(inputs[0]), update = e.shape(inputs[1]);
  TESSERA_RETURN_IF_ERROR(e.status);
  int64_t rank = cache.size();
  TESSERA_ASSIGN_OR_RETURN(int64_t axis, node.intAttribute("axis", -2));
  TESSERA_ASSIGN_OR_RETURN(axis, node.axis(axis, rank, rank - 1));
  TESSERA_ASSIGN_OR_RETURN(std::string mode,
                           node.stringAttribute("mode", "linear"));
  if (mode != "linear" && mode != "circular")
    return NodeImport::error(fmt::format(
        "attribute 'mode' is '{}'; accepted are linear and circular", mode));
  std::vector<int64_t> expected = cache;
  if (axis > 0 && update.size() == cache.size())
    expected[axis] = update[axis];
  if (axis == 0 || update != expected || update[axis] > cache[axis])
    return NodeImport::error(
        fmt::format("cache {} and update {} do not fit along axis {}",
                    shapeText(cache), shapeText(update), axis));
  int64_t length = cache[axis], count = update[axis];
  // Which entry of the update each place of the cache takes.
  std::vector<int64_t> places(length), along(rank, 1), lead(rank, 1);
  for (int64_t i = 0; i < length; ++i)
    places[i] = i;
  along[axis] = length;
  lead[0] = cache[0];
  NewAttributes toWord{{"to", attributeOf(int64_t(Int32))}};
  auto word = [&](int64_t value) {
    return node.constant(tensorOf(Int32, {}, ArrayRef<int64_t>{value}));
  };
  std::string entry = node.constant(tensorOf(Int32, along, ArrayRef(places)));
  if (node.hasInput(2)) {
    std::string begin = e("Cast", {e.reshape(inputs[2], lead)}, toWord);
    entry = e("Sub", {entry, begin});
    if (mode == "circular")
      entry = e("Where", {e("Less", {entry, word(0)}),
                          e("Add", {entry, word(length)}), entry});
  }
  std::string isNew = e("And", {e("GreaterOrEqual", {entry, word(0)}),
                                e("Less", {entry, word(count)})});
  std::string at = e("Min", {e("Max", {entry, word(0)}), word(count - 1)});
  at = e("Expand", {at, e.integers(cache)});
  std::string taken =
      e("GatherElements", {inputs[1], at}, {{"axis", attributeOf(axis)}});
  e.result(0, e("Where", {isNew, taken, inputs[0]}));
  return e.status;
}
