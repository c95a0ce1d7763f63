//===- ImportFourier.cpp - ONNX DFT and STFT ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A discrete Fourier transform is a product with a constant matrix, which the
// matrix engine does; one over windows of a signal that overlap is a
// convolution. Numbers have one component, or two (real and imaginary) in their
// last dimension.
//
//===----------------------------------------------------------------------===//

#include "Expansion.h"
#include "TensorBuilders.h"
#include <cmath>
#include <fmt/format.h>
#include <numbers>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

namespace {
/// The transform of `points` numbers of which the first `given` are not 0.
struct Transform {
  int64_t points = 0, given = 0;
  int64_t components = 1; ///< Of each number given.
  int64_t results = 0;    ///< The first ones are computed.
  bool inverse = false;

  /// What component `d` of number `j` adds to component `c` of result `k`.
  double factor(int64_t k, int64_t c, int64_t j, int64_t d) const;
};
} // namespace

/// Matrices beyond this are no constants that a model should hold.
static constexpr int64_t maxFactors = int64_t(1) << 24;

/// The cosine of `part` of `whole` turns. Quarters are exact.
static double cosineOfTurns(int64_t part, int64_t whole) {
  part %= whole;
  if (4 * part % whole == 0) {
    constexpr double quarters[] = {1, 0, -1, 0};
    return quarters[4 * part / whole];
  }
  return std::cos(2 * std::numbers::pi * double(part) / double(whole));
}

double Transform::factor(int64_t k, int64_t c, int64_t j, int64_t d) const {
  int64_t part = int64_t(static_cast<__int128>(k) * j % points);
  double value = cosineOfTurns(part, points);
  if (c != d) {
    // sin x = cos(x - 1/4 turn), both over a whole of 4 * points.
    double sine = cosineOfTurns(4 * part + 3 * points, 4 * points);
    // (a + bi)(cos x + i sin x): the forward transform turns backwards.
    value = (c == 1) == inverse ? sine : -sine;
  }
  return inverse ? value / double(points) : value;
}

/// A known integer, and at least 1.
static tessera::Result<int64_t> countInput(NodeImport &node, size_t index,
                                           StringRef what) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> given,
                           node.integerInput(index));
  if (given.size() != 1 || given[0] < 1)
    return NodeImport::error(fmt::format(
        "operand {} ({}): accepted is one number from 1 on", index, what));
  return given[0];
}

static Status checkComponents(ArrayRef<int64_t> shape) {
  if (shape.size() < 2 || (shape.back() != 1 && shape.back() != 2))
    return NodeImport::error(
        fmt::format("operand 0 has the shape {}; accepted are two dimensions "
                    "or more, the last of 1 (real) or 2 (complex)",
                    shapeText(shape)));
  return Status::success();
}

static Status checkSize(const Transform &transform) {
  if (transform.given > maxFactors || transform.results > maxFactors ||
      transform.given * transform.results >
          maxFactors / (2 * transform.components))
    return NodeImport::error(
        fmt::format("a transform of {} numbers is a matrix of more than {} "
                    "factors; accepted are smaller ones",
                    transform.points, maxFactors));
  return Status::success();
}

Status tessera::onnx::importDft(NodeImport &node) {
  Expansion e(node);
  std::string x = node.node.inputs[0];
  std::vector<int64_t> shape = e.shape(x);
  TESSERA_RETURN_IF_ERROR(e.status);
  TESSERA_RETURN_IF_ERROR(checkComponents(shape));
  int64_t rank = shape.size(), axis = node.opset < 20 ? 1 : -2;
  if (node.opset < 20) {
    TESSERA_ASSIGN_OR_RETURN(axis, node.intAttribute("axis", axis));
  } else if (node.hasInput(2)) {
    TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> given, node.integerInput(2));
    if (given.size() != 1)
      return NodeImport::error("operand 2 (axis): accepted is one number");
    axis = given[0];
  }
  TESSERA_ASSIGN_OR_RETURN(axis, node.axis(axis, rank, rank - 2));
  TESSERA_ASSIGN_OR_RETURN(bool oneSided,
                           node.flagAttribute("onesided", false));
  Transform transform;
  TESSERA_ASSIGN_OR_RETURN(transform.inverse,
                           node.flagAttribute("inverse", false));
  transform.components = shape.back();
  if (oneSided && (transform.inverse || transform.components != 1))
    return NodeImport::error("is one-sided; accepted is that of real numbers, "
                             "not inverse");
  transform.points = shape[axis];
  if (node.hasInput(1)) {
    TESSERA_ASSIGN_OR_RETURN(transform.points,
                             countInput(node, 1, "dft_length"));
  }
  transform.given = std::min(shape[axis], transform.points);
  transform.results = oneSided ? transform.points / 2 + 1 : transform.points;
  TESSERA_RETURN_IF_ERROR(checkSize(transform));
  std::vector<double> factors;
  for (int64_t j = 0; j < transform.given; ++j)
    for (int64_t d = 0; d < transform.components; ++d)
      for (int64_t k = 0; k < transform.results; ++k)
        for (int64_t c = 0; c < 2; ++c)
          factors.push_back(transform.factor(k, c, j, d));
  int64_t rows = transform.given * transform.components,
          columns = transform.results * 2;

  if (transform.given != shape[axis])
    x = e.slice(x, axis, 0, transform.given);
  // The axis goes beside the components, and both into one dimension.
  std::vector<int64_t> order, back(rank), outer;
  for (int64_t dim = 0; dim < rank - 1; ++dim)
    if (dim != axis) {
      order.push_back(dim);
      outer.push_back(shape[dim]);
    }
  order.insert(order.end(), {axis, rank - 1});
  for (int64_t dim = 0; dim < rank; ++dim)
    back[order[dim]] = dim;
  x = e.transpose(x, order);
  x = e.reshape(x, {product(outer), rows});
  std::string matrix = node.constant(
      tensorOf(Float, {rows, columns}, ArrayRef<double>(factors)));
  int32_t type = node.inputType(0);
  matrix = e("Cast", {matrix}, {{"to", attributeOf(int64_t(type))}});
  std::string y = e("MatMul", {x, matrix});
  outer.insert(outer.end(), {transform.results, 2});
  e.result(0, e.transpose(e.reshape(y, outer), back));
  return e.status;
}

Status tessera::onnx::importStft(NodeImport &node) {
  Expansion e(node);
  std::string x = node.node.inputs[0];
  std::vector<int64_t> shape = e.shape(x);
  TESSERA_RETURN_IF_ERROR(e.status);
  TESSERA_RETURN_IF_ERROR(checkComponents(shape));
  if (shape.size() != 3)
    return NodeImport::error(
        fmt::format("operand 0 has the shape {}; accepted is [batch, length, "
                    "1 or 2]",
                    shapeText(shape)));
  TESSERA_ASSIGN_OR_RETURN(bool oneSided, node.flagAttribute("onesided", true));
  TESSERA_ASSIGN_OR_RETURN(int64_t step, countInput(node, 1, "frame_step"));
  int64_t length = 0;
  if (node.hasInput(3)) {
    TESSERA_ASSIGN_OR_RETURN(length, countInput(node, 3, "frame_length"));
  }
  if (node.hasInput(2)) {
    std::vector<int64_t> window = e.shape(node.node.inputs[2]);
    TESSERA_RETURN_IF_ERROR(e.status);
    if (window.size() != 1 || (length && window[0] != length))
      return NodeImport::error(
          fmt::format("operand 2 (window) has the shape {}; accepted is one "
                      "number for each position of a frame",
                      shapeText(window)));
    length = window[0];
  }
  Transform transform;
  transform.points = transform.given = length;
  transform.components = shape[2];
  transform.results = oneSided ? length / 2 + 1 : length;
  if (length < 1 || length > shape[1])
    return NodeImport::error(
        fmt::format("frames of {} in a signal of {}; accepted is a window or a "
                    "frame_length from 1 on that fits",
                    length, shape[1]));
  if (oneSided && transform.components != 1)
    return NodeImport::error("is one-sided; accepted is that of real numbers");
  TESSERA_RETURN_IF_ERROR(checkSize(transform));
  std::vector<double> factors;
  for (int64_t k = 0; k < transform.results; ++k)
    for (int64_t c = 0; c < 2; ++c)
      for (int64_t d = 0; d < transform.components; ++d)
        for (int64_t j = 0; j < length; ++j)
          factors.push_back(transform.factor(k, c, j, d));
  int64_t channels = transform.results * 2;
  std::string filters =
      node.constant(tensorOf(Float, {channels, transform.components, length},
                             ArrayRef<double>(factors)));
  int32_t type = node.inputType(0);
  filters = e("Cast", {filters}, {{"to", attributeOf(int64_t(type))}});
  if (node.hasInput(2))
    filters = e("Mul", {filters, node.node.inputs[2]});
  std::string y =
      e("Conv", {e.transpose(x, {0, 2, 1}), filters},
        {{"strides", attributeOf(std::vector<int64_t>{step})},
         {"kernel_shape", attributeOf(std::vector<int64_t>{length})}});
  int64_t frames = (shape[1] - length) / step + 1;
  e.result(0, e.reshape(e.transpose(y, {0, 2, 1}),
                        {shape[0], frames, transform.results, 2}));
  return e.status;
}
