//===- ImportGridSample.cpp - ONNX GridSample -----------------------------===//
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

namespace {

/// Samples images [N, C, H, W] at the positions of a grid [N, y, x, 2].
class GridSample {
public:
  explicit GridSample(NodeImport &node) : node(node), e(node) {}
  Status import();

private:
  std::string number(double value) { return e.scalar(value); }
  /// Coordinate `which` (0: x, 1: y) of the grid, in pixels.
  std::string coordinate(int64_t which);
  /// Mirrored at the borders until inside.
  std::string reflect(const std::string &at, int64_t extent);
  std::string clamp(const std::string &at, double low, double high) {
    return e("Min", {e("Max", {at, number(low)}), number(high)});
  }
  /// The pixels at whole positions.
  std::string pixels(std::string x, std::string y);
  /// The weight of each of the taps `first` on along a coordinate.
  std::vector<std::string> weights(const std::string &fraction);

  NodeImport &node;
  Expansion e;
  std::string mode, padding, images;
  bool alignCorners = false;
  std::vector<int64_t> shape, grid;
};

} // namespace

std::string GridSample::reflect(const std::string &at, int64_t extent) {
  double low = alignCorners ? 0 : -0.5;
  double span = alignCorners ? extent - 1.0 : static_cast<double>(extent);
  if (span == 0)
    return e("Mul", {at, number(0)});
  // How often the span fits tells the direction in which it is walked.
  std::string from = e("Abs", {e("Sub", {at, number(low)})});
  std::string times = e("Floor", {e("Div", {from, number(span)})});
  std::string rest = e("Sub", {from, e("Mul", {times, number(span)})});
  std::string half = e("Mul", {times, number(0.5)});
  std::string isEven = e("Equal", {e("Floor", {half}), half});
  return e("Where", {isEven, e("Add", {rest, number(low)}),
                     e("Sub", {number(low + span), rest})});
}

std::string GridSample::coordinate(int64_t which) {
  int64_t extent = shape[which == 0 ? 3 : 2];
  std::string at = e.slice(node.node.inputs[1], 3, which, which + 1);
  at = e("Add", {at, number(1)});
  if (alignCorners)
    at = e("Mul", {at, number((extent - 1) / 2.0)});
  else
    at = e("Sub", {e("Mul", {at, number(extent / 2.0)}), number(0.5)});
  if (mode == "nearest")
    at = e("Round", {at});
  if (padding == "border")
    return clamp(at, 0, static_cast<double>(extent - 1));
  if (padding == "reflection") {
    double low = alignCorners ? 0 : -0.5;
    double high = alignCorners ? extent - 1.0 : extent - 0.5;
    std::string outside = e(
        "Or", {e("Less", {at, number(low)}), e("Greater", {at, number(high)})});
    return e("Where", {outside, reflect(at, extent), at});
  }
  return at;
}

std::string GridSample::pixels(std::string x, std::string y) {
  double right = static_cast<double>(shape[3] - 1),
         bottom = static_cast<double>(shape[2] - 1);
  std::string inside;
  if (padding == "zeros") {
    auto within = [&](const std::string &at, double last) {
      return e("And", {e("GreaterOrEqual", {at, number(0)}),
                       e("LessOrEqual", {at, number(last)})});
    };
    inside = e("And", {within(x, right), within(y, bottom)});
  } else if (padding == "reflection") {
    auto mirrored = [&](const std::string &at, int64_t extent, double last) {
      std::string outside = e(
          "Or", {e("Less", {at, number(0)}), e("Greater", {at, number(last)})});
      return e("Where", {outside, reflect(at, extent), at});
    };
    x = mirrored(x, shape[3], right);
    y = mirrored(y, shape[2], bottom);
  }
  NewAttributes toWord{{"to", attributeOf(int64_t(Int32))}};
  std::string tuples = e.concat({e("Cast", {clamp(y, 0, bottom)}, toWord),
                                 e("Cast", {clamp(x, 0, right)}, toWord)},
                                3);
  std::string found = e("GatherND", {images, tuples},
                        {{"batch_dims", attributeOf(int64_t(1))}});
  return inside.empty() ? found : e("Where", {inside, found, number(0)});
}

std::vector<std::string> GridSample::weights(const std::string &fraction) {
  std::string rest = e("Sub", {number(1), fraction});
  if (mode == "bilinear")
    return {rest, fraction};
  // Cubic convolution with a = -0.75, by the distance of each tap.
  constexpr double a = -0.75;
  auto polynomial = [&](const std::string &t, double c3, double c2, double c1,
                        double c0) {
    std::string sum = e("Add", {e("Mul", {t, number(c3)}), number(c2)});
    sum = e("Add", {e("Mul", {t, sum}), number(c1)});
    return e("Add", {e("Mul", {t, sum}), number(c0)});
  };
  auto far = [&](const std::string &t) {
    return polynomial(e("Add", {t, number(1)}), a, -5 * a, 8 * a, -4 * a);
  };
  auto near = [&](const std::string &t) {
    return polynomial(t, a + 2, -(a + 3), 0, 1);
  };
  return {far(fraction), near(fraction), near(rest), far(rest)};
}

Status GridSample::import() {
  TESSERA_ASSIGN_OR_RETURN(mode, node.stringAttribute("mode", "bilinear"));
  // Names changed with version 20.
  if (mode == "linear")
    mode = "bilinear";
  if (mode == "cubic")
    mode = "bicubic";
  TESSERA_ASSIGN_OR_RETURN(padding,
                           node.stringAttribute("padding_mode", "zeros"));
  TESSERA_ASSIGN_OR_RETURN(alignCorners,
                           node.flagAttribute("align_corners", false));
  if ((mode != "nearest" && mode != "bilinear" && mode != "bicubic") ||
      (padding != "zeros" && padding != "border" && padding != "reflection"))
    return NodeImport::error(
        fmt::format("has mode '{}' and padding '{}'; accepted are nearest, "
                    "linear and cubic, and zeros, border and reflection",
                    mode, padding));
  shape = e.shape(node.node.inputs[0]);
  grid = e.shape(node.node.inputs[1]);
  TESSERA_RETURN_IF_ERROR(e.status);
  if (shape.size() != 4 || grid.size() != 4 || grid[3] != 2 ||
      grid[0] != shape[0])
    return NodeImport::error(fmt::format(
        "images {} and grid {} do not fit: accepted are [N, C, H, W] and "
        "[N, h, w, 2]",
        shapeText(shape), shapeText(grid)));
  if (node.inputType(0) != Float || node.inputType(1) != Float)
    return {StatusCode::Unsupported, "samples elements of type " +
                                         elementTypeName(node.inputType(0)) +
                                         "; accepted is float"};
  images = e.transpose(node.node.inputs[0], {0, 2, 3, 1});
  std::string x = coordinate(0), y = coordinate(1), result;
  if (mode == "nearest") {
    result = pixels(x, y);
  } else {
    int64_t first = mode == "bilinear" ? 0 : -1;
    std::string left = e("Floor", {x}), top = e("Floor", {y});
    std::vector<std::string> across = weights(e("Sub", {x, left})),
                             down = weights(e("Sub", {y, top}));
    for (size_t i = 0; i < down.size(); ++i)
      for (size_t j = 0; j < across.size(); ++j) {
        auto tap = [&](const std::string &base, size_t step) {
          double offset = static_cast<double>(first + int64_t(step));
          return offset == 0 ? base : e("Add", {base, number(offset)});
        };
        std::string part = e("Mul", {pixels(tap(left, j), tap(top, i)),
                                     e("Mul", {down[i], across[j]})});
        result = result.empty() ? part : e("Add", {result, part});
      }
  }
  e.result(0, e.transpose(result, {0, 3, 1, 2}));
  return e.status;
}

Status tessera::onnx::importGridSample(NodeImport &node) {
  return GridSample(node).import();
}
