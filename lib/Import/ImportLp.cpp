//===- ImportLp.cpp - ONNX operators on p-norms ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Expansion.h"
#include "TensorBuilders.h"
#include "Window.h"
#include <fmt/format.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

namespace {

/// The parts of (sum |x|^p)^(1/p).
class Norm {
public:
  Norm(Expansion &e, int64_t p, int32_t type) : e(e), p(p), type(type) {}
  std::string terms(const std::string &x) {
    std::string size = e("Abs", {x});
    return p == 1 ? size : e("Pow", {size, e.scalar(double(p), type)});
  }
  std::string root(const std::string &sum) {
    if (p == 1)
      return sum;
    return p == 2 ? e("Sqrt", {sum})
                  : e("Pow", {sum, e.scalar(1 / double(p), type)});
  }

private:
  Expansion &e;
  int64_t p;
  int32_t type;
};

} // namespace

static tessera::Result<int64_t> readP(NodeImport &node, int64_t most) {
  TESSERA_ASSIGN_OR_RETURN(int64_t p, node.intAttribute("p", 2));
  if (p < 1 || p > most)
    return NodeImport::error(
        fmt::format("attribute 'p' is {}; accepted are 1 to {}", p, most));
  return p;
}

/// x divided by its norm along the axis; 0 where that is 0.
Status tessera::onnx::importLpNormalization(NodeImport &node) {
  Expansion e(node);
  const std::string &x = node.node.inputs[0];
  int64_t rank = e.shape(x).size();
  TESSERA_RETURN_IF_ERROR(e.status);
  TESSERA_ASSIGN_OR_RETURN(int64_t axis, node.intAttribute("axis", -1));
  TESSERA_ASSIGN_OR_RETURN(axis, node.axis(axis, rank, rank - 1));
  TESSERA_ASSIGN_OR_RETURN(int64_t p, readP(node, 2));
  int32_t type = node.inputType(0);
  std::string norm = e(p == 1 ? "ReduceL1" : "ReduceL2", {x, e.integers(axis)});
  std::string divisor = e("Where", {e("Equal", {norm, e.scalar(0, type)}),
                                    e.scalar(1, type), norm});
  e.result(0, e("Div", {x, divisor}));
  return e.status;
}

Status tessera::onnx::importGlobalLpPool(NodeImport &node) {
  Expansion e(node);
  size_t rank = e.shape(node.node.inputs[0]).size();
  TESSERA_RETURN_IF_ERROR(e.status);
  TESSERA_ASSIGN_OR_RETURN(int64_t p, readP(node, 64));
  Norm norm(e, p, node.inputType(0));
  std::vector<int64_t> axes;
  for (size_t i = 2; i < rank; ++i)
    axes.push_back(i);
  if (axes.empty())
    return NodeImport::error("the input has no spatial dimension");
  e.result(0, norm.root(e("ReduceSum", {norm.terms(node.node.inputs[0]),
                                        e.integers(axes)})));
  return e.status;
}

/// The sums of the windows are those of a convolution of each channel with
/// ones.
Status tessera::onnx::importLpPool(NodeImport &node) {
  Expansion e(node);
  std::vector<int64_t> shape = e.shape(node.node.inputs[0]);
  TESSERA_RETURN_IF_ERROR(e.status);
  TESSERA_ASSIGN_OR_RETURN(int64_t p, readP(node, 64));
  size_t rank = shape.size() - std::min<size_t>(2, shape.size());
  if (rank < 1 || rank > 3)
    return NodeImport::error(
        fmt::format("input {}: accepted are one to three spatial dimensions",
                    shapeText(shape)));
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> kernel,
                           readKernelShape(node, rank));
  TESSERA_ASSIGN_OR_RETURN(bool ceil, node.flagAttribute("ceil_mode", false));
  NewAttributes attributes = node.node.attributes;
  attributes.erase("p");
  attributes.erase("ceil_mode");
  std::vector<int64_t> ones{1, 1}, planes{shape[0] * shape[1], 1};
  ones.insert(ones.end(), kernel.begin(), kernel.end());
  TESSERA_RETURN_IF_ERROR(checkShape(ones));
  planes.insert(planes.end(), shape.begin() + 2, shape.end());
  Norm norm(e, p, node.inputType(0));
  std::string terms = e.reshape(norm.terms(node.node.inputs[0]), planes);
  if (ceil) {
    // Zeros behind for the last windows that reach beyond.
    if (rank == 3)
      return {StatusCode::Unsupported,
              "has three spatial dimensions with ceil_mode; accepted is 0"};
    TESSERA_ASSIGN_OR_RETURN(
        Window window, readWindow(node, ArrayRef(shape).drop_front(2), kernel));
    std::vector<int64_t> amounts(2 * (rank + 2), 0);
    for (size_t i = 0; i < rank; ++i)
      amounts[rank + 4 + i] = window.beyond[i + 2 - rank];
    terms = e("Pad", {terms, e.integers(amounts)});
  }
  std::string kernelOfOnes =
      e("Expand", {e.scalar(1, node.inputType(0)), e.integers(ones)});
  std::string sums = e("Conv", {terms, kernelOfOnes}, attributes);
  std::vector<int64_t> result = e.shape(sums);
  TESSERA_RETURN_IF_ERROR(e.status);
  result[0] = shape[0];
  result[1] = shape[1];
  e.result(0, e.reshape(norm.root(sums), result));
  return e.status;
}
